//! Seed 4: how threads end, what they spent, and what a model is told of its calls: as the document says it, and as the
//! program that the document is about writes it.

use encode::reconstruct::{UnfinishedCalls, openai};
use model::event::RunStatus;
use serde_json::{Value, json};

use super::rye::{jsonl, line};
use super::{accepted, assert_means, encoded, native, read, view};

/// A line as the program writes it, with its thread around it.
fn wrapped(kind: &str, payload: &Value) -> Value {
    json!({"timestamp": 1_893_456_007, "thread_id": "t", "event_type": kind, "payload": payload})
}

fn call(id: &str) -> Value {
    line("tool_call_start", &json!({"tool": "read", "call_id": id, "input": {}}))
}

fn answer(id: &str, output: &str) -> Value {
    line("tool_call_result", &json!({"call_id": id, "output": output}))
}

fn told_the_model(text: &str) -> Value {
    line("cognition_in", &json!({"role": "tool", "text": text}))
}

#[test]
fn a_transcript_that_ends_with_a_whole_answer_is_complete() {
    let begin =
        [line("cognition_out_delta", &json!({"text": "All ", "turn": 1})), call("c"), answer("c", "x")];
    for end in [
        json!({"text": "All is said.", "is_partial": false}),
        json!({"text": "All is said.", "turn": 1, "tool_count": 1}),
    ] {
        let lines = [&begin[..], &[line("cognition_out", &end)]].concat();
        let (envelopes, told) = accepted("rye", &jsonl(&lines));
        assert!(told.ends_with("r1 run.end status=\"complete\"\n"), "{told}");
        let made =
            serde_json::to_string(&openai::request(&view(&envelopes), UnfinishedCalls::LeaveOut)).unwrap();
        assert!(made.contains("All is said.") && !made.contains("interrupted"), "{made}");
        // What goes on behind it has to end as well.
        for more in [call("d"), line("cognition_in", &json!({"role": "user", "text": "And?"}))] {
            let (envelopes, told) = read("rye", &jsonl(&[lines.clone(), vec![more]].concat()));
            assert!(told.contains("anomaly code=\"truncated\""), "{told}");
            assert_eq!(view(&envelopes).runs[0].status, RunStatus::Interrupted);
        }
    }
    let (_, told) = read("rye", &jsonl(&begin));
    assert!(told.contains("anomaly code=\"truncated\""), "{told}");
    // Another thread's answer is not the end of this one.
    let child = json!({"thread_id": "u", "event_type": "cognition_out", "payload": {"text": "Found."}});
    let (_, told) = read("rye", &jsonl(&[wrapped("thread_started", &json!({"directive": "d"})), child]));
    assert!(told.contains("anomaly code=\"truncated\""), "{told}");
}

#[test]
fn a_thread_that_failed_says_why_and_what_it_spent() {
    let spent = json!({"turns": 2, "input_tokens": 60, "output_tokens": 7, "spend": 0.0425});
    let envelopes = assert_means(
        "rye",
        &jsonl(&[
            line("cognition_out", &json!({"text": "Begun"})),
            line("thread_error", &json!({"cost": spent})),
        ]),
        r#"
        r1 run.start dialect="rye"
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="Begun"
        r1 part.end p1
        r1 custom name="cost" value={"input_tokens":60,"output_tokens":7,"spend":0.0425,"turns":2}
        r1 run.end status="error" usage={"cached_tokens":0,"cost":{"amount":"0.0425","currency":"USD"},"input_tokens":60,"output_tokens":7,"reasoning_tokens":0}
    "#,
    );
    let run = &view(&envelopes).runs[0];
    assert_eq!((run.status, run.error.as_ref()), (RunStatus::Error, None));
    assert_eq!(run.usage.unwrap().cost.unwrap().amount(), "0.0425");

    let why = json!({"error_code": "llm_call_failed", "detail": "it took too long"});
    for thread_error in [line("thread_error", &why), wrapped("thread_error", &why)] {
        let view = view(&accepted("rye", &jsonl(&[thread_error])).0);
        let error = view.runs[0].error.as_ref().unwrap();
        assert_eq!((error.code.as_str(), error.message.as_str()), ("llm_call_failed", "it took too long"));
    }
    // Money alone is told too, and what was told is written as it was.
    let spent = line("thread_completed", &json!({"cost": {"spend": "1e-3"}}));
    let envelopes = accepted("rye", &jsonl(&[spent])).0;
    assert_eq!(view(&envelopes).runs[0].usage.unwrap().cost.unwrap().amount(), "0.001");
    assert!(encoded("rye", &envelopes).contains(r#""spend":0.001}"#), "{}", encoded("rye", &envelopes));
    let euros = r#"{"k":"run.end","status":"complete","usage":{"input_tokens":1,"output_tokens":1,"cost":{"amount":"1","currency":"EUR"}}}"#;
    assert!(!encoded("rye", &native(euros)).contains("spend"), "Rye counts dollars");
}

#[test]
fn what_a_model_is_told_of_a_call_is_its_result_and_no_message() {
    let answers = |lines: &[Value]| {
        let (envelopes, told) = accepted("rye", &jsonl(lines));
        assert!(!told.contains(" message "), "{told}");
        let run = view(&envelopes).runs[0].clone();
        let text = |id: &str| {
            run.tools
                .get(&model::ToolCallId::new(id))?
                .result
                .as_ref()
                .map(|json| json.to_text().into_owned())
        };
        (text("c"), text("d"), told.matches("tool.result").count(), told.matches(" raw ").count())
    };
    let end = line("cognition_out", &json!({"text": "So it is."}));
    let (c, d) = (Some("one".to_owned()), Some("two".to_owned()));
    // The program says both: the result of each call, and what it tells the model last.
    let both =
        [call("c"), answer("c", "one"), call("d"), answer("d", "two"), told_the_model("two"), end.clone()];
    assert_eq!(answers(&both), (c.clone(), d.clone(), 2, 0));
    // Without the former the latter is the result of the call before it.
    let alone = [call("c"), answer("c", "one"), call("d"), told_the_model("two"), end.clone()];
    assert_eq!(answers(&alone), (c.clone(), d, 2, 0));
    // A failed call has an output as well, which is what the model is told.
    let failed =
        line("tool_call_result", &json!({"call_id": "c", "output": "{'error': 'no'}", "error": "no"}));
    let failed = [call("c"), failed, told_the_model("{'error': 'no'}"), end.clone()];
    assert_eq!(answers(&failed), (Some("no".to_owned()), None, 1, 0));
    // What fits no call is kept as it came.
    assert_eq!(answers(&[call("c"), answer("c", "one"), told_the_model("three"), end]), (c, None, 1, 1));
}

#[test]
fn reasoning_is_written_as_it_comes_and_whole_where_it_breaks_off() {
    let begun = r#"
        {"k":"run.start"}
        {"k":"part.start","part":"t","kind":"thinking"}
        {"k":"part.delta","part":"t","text":"First "}
        {"k":"part.delta","part":"t","text":"this."}
    "#;
    let payloads = |more: &str| {
        let said = encoded("rye", &native(&format!("{begun}{more}")));
        let lines = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let lines = lines.filter(|line| line["event_type"] == "cognition_reasoning");
        lines.map(|line| line["payload"].clone()).collect::<Vec<_>>()
    };
    let pieces = [json!({"text": "First "}), json!({"text": "this."})];
    assert_eq!(payloads(""), pieces, "before it has ended");
    assert_eq!(payloads(r#"{"k":"part.end","part":"t"}"#), pieces);
    let whole = json!({"text": "First this.", "is_partial": true, "was_interrupted": true});
    let broken = payloads(r#"{"k":"run.end","status":"interrupted"}"#);
    assert_eq!(broken, [&pieces[..], &[whole]].concat());
    let lines = encoded("rye", &native(&format!("{begun}{}", r#"{"k":"run.end","status":"interrupted"}"#)));
    let read_again = read("rye", &lines).0;
    assert_eq!(view(&read_again).runs[0].thinking(), "First this.", "and is read as it was");
}
