//! Tests of texts that the environment fills.

use super::*;

#[test]
fn a_variable_that_has_nothing_is_replaced_where_something_else_is_said() {
    let filled = |text: &str| Filled::new(text).and_then(|it| it.filled());
    assert_eq!(
        filled("${FANLIGHT_IS_NEVER_SET:-ws://localhost:8080/events}?x").unwrap(),
        "ws://localhost:8080/events?x"
    );
    assert_eq!(filled("a${FANLIGHT_IS_NEVER_SET:-}b").unwrap(), "ab");
    assert_eq!(filled("${PATH:-other}").unwrap(), std::env::var("PATH").unwrap());
    assert_eq!(
        filled("${FANLIGHT_IS_NEVER_SET}").unwrap_err(),
        "the environment variable FANLIGHT_IS_NEVER_SET is not set"
    );
    assert_eq!(filled("x ${A B}").unwrap_err(), "has ${A B}, which is not the name of a variable");
    assert_eq!(filled("x ${A").unwrap_err(), "has ${ without }");
}
