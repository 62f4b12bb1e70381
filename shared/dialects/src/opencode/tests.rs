//! Counts of the decoder. What streams mean is tested on fixtures, in the package `tests`.

use super::tokens;
use crate::field::ForeignField;

#[test]
fn cached_tokens_were_read_too_and_reasoning_is_counted_once() {
    let count = |json| {
        ForeignField::parse(json).and_then(tokens).map(|usage| (usage.input_tokens, usage.output_tokens))
    };
    let older = r#"{"input":2,"output":78,"reasoning":10,"cache":{"read":100,"write":30}}"#;
    assert_eq!(count(older), Some((132, 78)));
    let newer = r#"{"total":220,"input":2,"output":78,"reasoning":10,"cache":{"read":100,"write":30}}"#;
    assert_eq!(count(newer), Some((132, 88)));
    assert_eq!(count("{}"), None);
}
