//! What a file of streaming settings means, and what is said of one that does not fit.

use serde_json::json;

use super::*;

/// A file with every key that there is.
const FILE: &str = r#"
schema_version: "1.0.0"

streaming_config:
  tool_batch_size: 3 # calls
  tool_batch_delay: 0.25 # seconds

  tool_parse_buffer_max: 2048 # bytes
  text_buffer_max: 4096 # bytes

  formats:
    xml:
      tag_open: "<call>"
      tag_close: "</call>"
      attributes: [id, name]

    json:
      schema:
        type: object
        required: [type, name, input]
        properties:
          type: { const: "tool_use" }
          id: { type: string }
          name: { type: string }
          input: { type: object }
"#;

fn of_file(yaml: &str) -> Result<StreamingSettings, String> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("streaming.yaml");
    std::fs::write(&file, yaml).unwrap();
    StreamingSettings::of(&json!(file.to_str().unwrap()))
}

#[test]
fn a_file_of_streaming_settings_is_read_with_all_that_it_says() {
    let expected = StreamingSettings {
        batch_calls: Some(3),
        batch_ms: Some(250),
        text_bytes_max: Some(4_096),
        text_rules: TextRules { bytes_max: 2_048, element: Some("call".to_owned()) },
    };
    assert_eq!(of_file(FILE).unwrap(), expected);
    let table = json!({
        "tool_batch_size": 3, "tool_batch_delay": 0.25, "tool_parse_buffer_max": 2048, "text_buffer_max": 4096,
        "formats": {"xml": {"tag_open": "<call>"}},
    });
    assert_eq!(StreamingSettings::of(&table).unwrap(), expected, "the same as a table");
    let plan = expected.plan(Plan::new("m"));
    assert_eq!((plan.batch_calls, plan.batch_ms, plan.text_bytes_max), (3, 250, 4_096));
    assert_eq!(StreamingSettings::default().plan(Plan::new("m")), Plan::new("m"));
}

#[test]
fn settings_of_streaming_that_do_not_fit_are_refused_with_file_key_and_what_is_allowed() {
    for (from, to, why) in [
        (
            "tool_batch_size: 3",
            "tool_batch_size: 0",
            "streaming.yaml, at \"tool_batch_size\": 0 does not fit; allowed is a whole number of calls from 1 to 256",
        ),
        ("tool_batch_size: 3", "tool_batch_size: five", "at \"tool_batch_size\": \"five\" does not fit"),
        (
            "tool_batch_size: 3",
            "tool_batch_sice: 3",
            "at \"tool_batch_sice\": there is no such key; allowed are tool_batch_size, tool_batch_delay,",
        ),
        (
            "0.25",
            "-1",
            "at \"tool_batch_delay\": -1 does not fit; allowed is a number of seconds from 0 to 60",
        ),
        (
            "4096",
            "10485761",
            "at \"text_buffer_max\": 10485761 does not fit; allowed is a whole number of bytes from 1 to 10485760",
        ),
        ("2048", "1.5", "at \"tool_parse_buffer_max\": 1.5 does not fit"),
        ("\"<call>\"", "call", "at \"tag_open\": \"call\" does not fit; allowed is \"<NAME>\""),
        (
            "\"</call>\"",
            "\"</other>\"",
            "at \"tag_close\": \"</other>\" does not fit; allowed is \"</call>\"",
        ),
        (
            "[id, name]",
            "[id, tool]",
            "at \"attributes\": [\"id\",\"tool\"] does not fit; allowed is a list of id and name",
        ),
        (
            "const: \"tool_use\"",
            "const: \"function\"",
            "at \"type\": {\"const\":\"function\"} does not fit; allowed is {\"const\": \"tool_use\"}",
        ),
        ("required: [type, name, input]", "required: [args]", "at \"required\": [\"args\"] does not fit"),
        ("xml:", "yaml:", "at \"yaml\": there is no such key; allowed are xml, json"),
        ("\"1.0.0\"", "\"2.0.0\"", "at \"schema_version\": \"2.0.0\" does not fit; allowed is \"1.0.0\""),
        (
            "streaming_config:",
            "streaming:",
            "at \"streaming\": there is no such key; allowed are schema_version, streaming_config",
        ),
    ] {
        assert!(FILE.contains(from), "{from}");
        let error = of_file(&FILE.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(why) && error.contains("streaming.yaml"), "{to}: {error}");
    }
    let error = StreamingSettings::of(&json!({"tool_batch_size": 1000})).unwrap_err();
    assert!(error.starts_with("[agents.NAME], at \"tool_batch_size\": 1000 does not fit"), "{error}");
    assert!(
        StreamingSettings::of(&json!("/nowhere/streaming.yaml"))
            .unwrap_err()
            .starts_with("/nowhere/streaming.yaml: ")
    );
    assert!(
        of_file("schema_version: \"1.0.0\"").unwrap_err().ends_with("there is no \"streaming_config\" in it")
    );
}
