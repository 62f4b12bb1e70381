//! `fanlight fold` from bytes to its two shapes.

use super::*;

fn fold_text(input: &[u8], summary: bool) -> serde_json::Value {
    let mut written = Vec::new();
    let args = FoldArgs { dialect: "fanlight".parse().expect("a dialect"), text_calls: false, summary };
    run(&args, input, ResultOutput::to(&mut written)).expect("folds");
    assert_eq!(written.last(), Some(&b'\n'));
    serde_json::from_slice(&written).expect("one JSON value")
}

#[test]
fn nothing_folds_to_an_empty_view() {
    let view = fold_text(b"", false);
    assert_eq!(view["seq"], 0);
    let short = fold_text(b"", true);
    assert_eq!(short["runs"], serde_json::json!([]));
    assert_eq!(short["messages"], serde_json::json!([]));
    assert_eq!(short["anomalies"], serde_json::json!([]));
}

/// Hands out one byte at a time, and is interrupted before each.
struct Trickle<'a>(&'a [u8], bool);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
        self.0 = rest;
        buffer[0] = *first;
        Ok(1)
    }
}

#[test]
fn input_in_single_bytes_folds_to_the_same() {
    let input = "{\"k\":\"message\",\"message\":\"m1\",\"role\":\"user\",\"text\":\"Grüße ☕\"}\n\
                 {\"k\":\"run.start\",\"run\":\"r1\",\"at\":5}\n{\"k\":\"run.end\",\"run\":\"r1\",\"at\":9}\n";
    let whole = folded(&"fanlight".parse().expect("a dialect"), false, input.as_bytes()).expect("folds");
    let pieces = folded(&"fanlight".parse().expect("a dialect"), false, Trickle(input.as_bytes(), false))
        .expect("folds");
    assert_eq!(whole, pieces);
}

#[test]
fn a_reader_that_has_gone_is_told_apart_from_a_full_disk() {
    struct Gone(std::io::ErrorKind);
    impl Write for Gone {
        fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let args = FoldArgs { dialect: "fanlight".parse().expect("a dialect"), text_calls: false, summary: true };
    let gone = run(&args, &b""[..], ResultOutput::to(Gone(std::io::ErrorKind::BrokenPipe)));
    assert!(matches!(gone, Err(CommandError::NobodyReads)));
    let full = run(&args, &b""[..], ResultOutput::to(Gone(std::io::ErrorKind::StorageFull)));
    assert!(matches!(full, Err(CommandError::Failed { .. })));
}

#[test]
fn a_latency_is_what_the_recording_says_or_nothing() {
    let call = |times: [&str; 2], took: &str| {
        format!(
            "{{\"k\":\"run.start\",\"run\":\"r\"}}\n{{\"k\":\"tool.call\",\"run\":\"r\",\"tool\":\"t\"{}}}\n\
             {{\"k\":\"tool.result\",\"run\":\"r\",\"tool\":\"t\",\"output\":1{took}{}}}\n",
            times[0], times[1]
        )
    };
    let latency =
        |input: String| fold_text(input.as_bytes(), true)["runs"][0]["tool_calls"][0]["latency_ms"].clone();
    assert_eq!(latency(call(["", ""], "")), serde_json::Value::Null);
    assert_eq!(latency(call(["", ""], ",\"exec_ms\":7")), 7);
    assert_eq!(latency(call([",\"at\":1000", ",\"at\":1240"], "")), 240);
}
