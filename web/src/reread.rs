//! A stream that was read in a wrong dialect, read again in the right one from what the hub kept of it.
//!
//! A decoder keeps what it does not know as raw events, so most of a stream in another dialect is there: one raw event for each of its
//! events. What the wrong decoder took for something it knows, such as a failure, is not.

use model::anomaly::AnomalyCode;
use model::dialect::DECODED;
use model::view::{NoteBody, RunView, View};

/// What stands before the name of a dialect in the text of a warning.
const LOOKS_LIKE: &str = "it looks like ";

/// What stands before the name of the dialect that was tried, in the text of a warning.
const NOTHING_IS: &str = "nothing in the stream is ";

/// What a warning of `view` says about a stream that was not in `dialect`; `None` if there is no such warning among the first. A warning
/// names no run, so the dialect tells whether it can be about one.
pub fn warning<'a>(view: &'a View, dialect: &str) -> Option<&'a str> {
    let is_about = |detail: &str| {
        let named = detail.strip_prefix(NOTHING_IS).and_then(|rest| rest.split(';').next());
        named == Some(dialect)
    };
    let mut first = view.anomalies.first.iter().filter(|it| it.code == AnomalyCode::WrongDialect);
    first.find(|it| is_about(&it.detail)).map(|it| it.detail.as_str())
}

/// The dialect that the stream is in by `warning`; `None` if the warning names none that can be decoded.
pub fn right_dialect(warning: &str) -> Option<&'static str> {
    let (_, named) = warning.rsplit_once(LOOKS_LIKE)?;
    DECODED.iter().find(|known| **known == named).copied()
}

/// The raw events that `run` holds of its stream, one in a line; `None` if it holds none. Those of which only the beginning was kept are
/// left out.
pub fn kept_stream(run: &RunView) -> Option<String> {
    let dialect = run.dialect.as_deref()?;
    let mut stream = String::new();
    for note in &run.notes {
        if let NoteBody::Raw { name, value } = &note.body
            && name == dialect
            && value.as_str().starts_with(['{', '['])
        {
            // Line ends between the tokens of JSON would end the event.
            stream.extend(value.as_str().chars().filter(|it| !matches!(it, '\n' | '\r')));
            stream.push('\n');
        }
    }
    (!stream.is_empty()).then_some(stream)
}

/// The command that publishes what it reads to the hub at `origin` in the right dialect, for a shell.
pub fn command(origin: &str, dialect: &str, conversation: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '/' | ':');
    let name = if conversation.chars().all(is_plain) {
        conversation.to_owned()
    } else {
        format!("'{}'", conversation.replace('\'', r"'\''"))
    };
    format!("fanlight tee --url {origin} --dialect {dialect} --conversation={name}")
}

#[cfg(test)]
mod tests {
    //! What is said and kept of a stream in another dialect.

    use model::fold::fold;

    use super::*;

    fn view(lines: &[&str]) -> View {
        let mut view = View::default();
        for (seq, line) in (1..).zip(lines) {
            let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
            (event["seq"], event["at"]) = (seq.into(), 1.into());
            fold(&mut view, &serde_json::from_value(event).unwrap(), &mut |_| {});
        }
        view
    }

    #[test]
    fn the_right_dialect_is_the_one_that_the_warning_names() {
        assert_eq!(
            right_dialect("nothing in the stream is openai-chat; it looks like anthropic"),
            Some("anthropic")
        );
        assert_eq!(right_dialect("nothing in the stream is gemini; it looks like an HTML page"), None);
        assert_eq!(right_dialect("nothing in the stream is gemini; it is compressed with gzip"), None);
        let view = view(&[
            r#"{"k":"anomaly","code":"truncated","detail":"x"}"#,
            r#"{"k":"anomaly","code":"wrong_dialect","detail":"nothing in the stream is ollama; it looks like codex"}"#,
        ]);
        assert_eq!(warning(&view, "ollama"), Some("nothing in the stream is ollama; it looks like codex"));
        assert_eq!(warning(&view, "codex"), None, "a run in another dialect has nothing to do with it");
        assert_eq!(warning(&View::default(), "ollama"), None);
    }

    #[test]
    fn the_command_names_any_conversation() {
        let command = |name| command("http://127.0.0.1:4600", "codex", name);
        let start = "fanlight tee --url http://127.0.0.1:4600 --dialect codex --conversation=";
        assert_eq!(command("a-b.1"), format!("{start}a-b.1"));
        assert_eq!(command("-x"), format!("{start}-x"));
        assert_eq!(command("a b's"), format!(r"{start}'a b'\''s'"));
    }

    #[test]
    fn what_is_kept_of_the_stream_is_one_event_in_a_line() {
        let view = view(&[
            r#"{"k":"run.start","run":"r","dialect":"ollama"}"#,
            "{\"k\":\"raw\",\"run\":\"r\",\"name\":\"ollama\",\"value\":{\"type\":\n \"a\"}}",
            r#"{"k":"raw","run":"r","name":"other","value":{"type":"b"}}"#,
            r#"{"k":"raw","run":"r","name":"ollama","value":"cut"}"#,
            r#"{"k":"raw","run":"r","name":"ollama","value":{"type":"c\n"}}"#,
            r#"{"k":"run.start","run":"empty","dialect":"ollama"}"#,
        ]);
        let kept: Vec<_> = view.runs.values().map(kept_stream).collect();
        let stream = kept.first().unwrap().as_deref().unwrap();
        let lines: Vec<serde_json::Value> =
            stream.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, [serde_json::json!({"type": "a"}), serde_json::json!({"type": "c\n"})]);
        assert_eq!(kept.get(1), Some(&None));
    }
}
