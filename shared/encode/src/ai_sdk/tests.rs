//! Tests of the AI SDK's stream.

use crate::tests::encoded;

#[test]
fn parts_calls_and_the_end_have_their_own_words() {
    let stream = encoded(
        "ai-sdk",
        r#"
        {"k":"run.start","run":"r"}
        {"k":"part.start","run":"r","part":"p","kind":"thinking"}
        {"k":"part.delta","run":"r","part":"p","text":"Hm"}
        {"k":"part.end","run":"r","part":"p"}
        {"k":"tool.start","run":"r","tool":"t","name":"ls"}
        {"k":"tool.args","run":"r","tool":"t","text":"{\"a\":1}"}
        {"k":"tool.call","run":"r","tool":"t"}
        {"k":"tool.result","run":"r","tool":"t","output":[1]}
        {"k":"run.end","run":"r","status":"complete","finish_reason":"end_turn"}
        "#,
    );
    let expected = r#"data: {"type":"start","messageId":"r"}
data: {"type":"start-step"}
data: {"type":"reasoning-start","id":"p"}
data: {"type":"reasoning-delta","id":"p","delta":"Hm"}
data: {"type":"reasoning-end","id":"p"}
data: {"type":"tool-input-start","toolCallId":"t","toolName":"ls","dynamic":true}
data: {"type":"tool-input-delta","toolCallId":"t","inputTextDelta":"{\"a\":1}"}
data: {"type":"tool-input-available","toolCallId":"t","toolName":"ls","dynamic":true,"input":{"a":1}}
data: {"type":"tool-output-available","toolCallId":"t","output":[1],"dynamic":true}
data: {"type":"finish-step"}
data: {"type":"finish","finishReason":"stop"}
data: [DONE]"#;
    assert_eq!(stream.trim_end().replace("\n\n", "\n"), expected);
}

#[test]
fn a_text_that_was_replaced_stands_as_a_part_of_its_own() {
    let stream = encoded(
        "ai-sdk",
        r#"
        {"k":"run.start","run":"r"}
        {"k":"part.delta","run":"r","part":"p","text":"one"}
        {"k":"part.replace","run":"r","part":"p","text":"one two"}
        {"k":"part.replace","run":"r","part":"p","text":"three"}
        "#,
    );
    let deltas: Vec<_> = stream.lines().filter(|line| line.contains("text-delta")).collect();
    assert_eq!(
        deltas,
        [
            r#"data: {"type":"text-delta","id":"p","delta":"one"}"#,
            r#"data: {"type":"text-delta","id":"p","delta":" two"}"#,
            r#"data: {"type":"text-delta","id":"p-1","delta":"three"}"#
        ]
    );
    assert!(!stream.contains("DONE"), "the run never ended");
}
