use clap::CommandFactory as _;

use super::*;

fn parse(line: &str) -> Result<Args, clap::Error> {
    Args::try_parse_from(std::iter::once("fanlight").chain(line.split_whitespace()))
}

#[test]
fn the_declaration_is_sound() {
    Args::command().debug_assert();
}

#[test]
fn fold_takes_a_dialect_and_the_short_form() {
    let Command::Fold(fold) = parse("fold --dialect fanlight --summary").expect("valid").command;
    assert_eq!(fold.dialect, "fanlight");
    assert!(fold.summary);
}

#[test]
fn an_unknown_dialect_is_a_usage_error_that_names_the_known_ones() {
    let error = parse("fold --dialect smoke-signals").expect_err("no such dialect");
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("fanlight"), "{error}");
}
