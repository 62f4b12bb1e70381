//! Answers of all kinds, as facts of the run that they belong to.

use serde_json::json;

use crate::answer::RunContinuation;
use crate::{AnswerEnd, AnswerSummary, CallContext, CallJoiner, ModelApi, ModelRequest};
use dialects::Decoded;
use model::event::{ErrorFact, Kind, RunStatus};

/// The kinds of the events of an answer to a call, and what was heard.
fn answered(api: ModelApi, status: u16, body: &str, ending: AnswerEnd) -> (Vec<Kind>, AnswerSummary) {
    let request =
        ModelRequest::read(api, "/", br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#);
    let call = CallContext {
        upstream: "u",
        caller: 1,
        conversation: None,
        session: None,
        attempts_before: None,
        parent: None,
        name: "c1",
        at: 1,
    };
    let mut placement = CallJoiner::default().place(&call, &request);
    let mut out = Decoded::default();
    placement.answer.begin(status, Some(8_000));
    for byte in body.as_bytes().chunks(1) {
        placement.answer.feed(byte, &mut out);
    }
    let heard = placement.answer.end(ending, &mut out).unwrap();
    let run = placement.run;
    assert!(out.envelopes.iter().all(|envelope| envelope.event.run == run));
    (out.envelopes.into_iter().map(|envelope| envelope.event.kind).collect(), heard)
}

fn errors(kinds: &[Kind]) -> Vec<&ErrorFact> {
    let errors = kinds.iter().filter_map(|kind| match kind {
        Kind::Error(fact) => Some(fact),
        _ => None,
    });
    errors.collect()
}

const TEXT: &str = "data: {\"id\":\"x\",\"model\":\"m-2\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"}}]}\n\n";
const CALL: &str = "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n";
const STOP: &str = "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[test]
fn neither_the_beginning_nor_the_end_of_the_run_is_told() {
    let (kinds, heard) = answered(ModelApi::OpenAiChat, 200, &[TEXT, STOP].concat(), AnswerEnd::Whole);
    assert_eq!(heard.verdict, RunContinuation::Ends(RunStatus::Complete));
    assert!(!kinds.iter().any(|kind| matches!(kind, Kind::RunStart(_) | Kind::RunEnd(_))));
    let models = kinds.iter().filter_map(|kind| match kind {
        Kind::RunUpdate(update) => update.model.as_deref(),
        _ => None,
    });
    assert_eq!(
        models.collect::<Vec<_>>(),
        ["m-2"],
        "the model that answers is another than the one that was asked"
    );
    let (_, heard) =
        answered(ModelApi::OpenAiChat, 200, &[CALL, "data: [DONE]\n\n"].concat(), AnswerEnd::Whole);
    assert_eq!((heard.verdict, heard.calls.len()), (RunContinuation::GoesOn, 1));
}

#[test]
fn an_answer_that_breaks_off_is_named_and_nothing_of_it_is_lost() {
    let cut = ErrorFact {
        code: "upstream_cut".into(),
        message: "cut".into(),
        retryable: Some(true),
        retry_after_ms: None,
    };
    let (kinds, heard) = answered(ModelApi::OpenAiChat, 200, TEXT, AnswerEnd::Failed(cut));
    assert_eq!(heard.verdict, RunContinuation::Ends(RunStatus::Error));
    assert!(kinds.iter().any(|kind| matches!(kind, Kind::PartDelta { text, .. } if text == "Hello")));
    assert!(!kinds.iter().any(|kind| matches!(kind, Kind::Anomaly(_))), "it was named already");
    assert_eq!(errors(&kinds).iter().map(|fact| fact.code.as_str()).collect::<Vec<_>>(), ["upstream_cut"]);

    let (kinds, heard) = answered(ModelApi::OpenAiChat, 200, TEXT, AnswerEnd::Whole);
    assert_eq!(heard.verdict, RunContinuation::Ends(RunStatus::Interrupted));
    assert_eq!((errors(&kinds)[0].code.as_str(), errors(&kinds)[0].retryable), ("truncated", Some(true)));

    let (kinds, heard) = answered(ModelApi::OpenAiChat, 200, TEXT, AnswerEnd::Cancelled);
    assert_eq!((heard.verdict, errors(&kinds).len()), (RunContinuation::Ends(RunStatus::Cancelled), 0));

    // A caller that hangs up after the end, as some do, has cancelled nothing.
    let (_, heard) = answered(ModelApi::OpenAiChat, 200, &[TEXT, STOP].concat(), AnswerEnd::Cancelled);
    assert_eq!(heard.verdict, RunContinuation::Ends(RunStatus::Complete));
}

#[test]
fn failures_have_the_words_of_the_vendor_and_what_the_head_said() {
    let body = json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } })
        .to_string();
    let (kinds, heard) = answered(ModelApi::Anthropic, 429, &body, AnswerEnd::Whole);
    assert_eq!(heard.verdict, RunContinuation::Ends(RunStatus::Error));
    let told = errors(&kinds);
    assert_eq!((told.len(), told[0].message.as_str()), (1, "slow down"));
    assert!(told[0].may_pass() && told[0].retry_after_ms == Some(8_000));
    for (api, status, body) in [
        (ModelApi::OpenAiChat, 502, "<html>Bad gateway</html>"),
        (ModelApi::Anthropic, 401, ""),
        (ModelApi::Gemini, 500, "nonsense"),
        (ModelApi::OllamaChat, 404, ""),
    ] {
        let (kinds, heard) = answered(api, status, body, AnswerEnd::Whole);
        assert_eq!(heard.verdict, RunContinuation::Ends(RunStatus::Error), "{body}");
        let told = errors(&kinds);
        assert_eq!((told.len(), told[0].code.as_str()), (1, format!("http_{status}").as_str()), "{kinds:?}");
        assert_eq!(told[0].retryable, Some(status >= 500));
    }
}

#[test]
fn garbage_is_survived_and_named() {
    for body in ["", "<html>hi</html>", "\u{1}\u{2}", "{}", "data: {}\n\n", "null"] {
        for api in [
            ModelApi::OpenAiChat,
            ModelApi::OpenAiResponses,
            ModelApi::Anthropic,
            ModelApi::Gemini,
            ModelApi::OllamaChat,
            ModelApi::Cohere,
        ] {
            let (kinds, heard) = answered(api, 200, body, AnswerEnd::Whole);
            assert_ne!(heard.verdict, RunContinuation::GoesOn);
            if heard.verdict != RunContinuation::Ends(RunStatus::Complete) {
                assert_eq!(errors(&kinds).len(), 1, "{api:?} {body:?}: {kinds:?}");
            }
        }
    }
}

#[test]
fn the_id_of_an_answer_is_heard_streamed_or_not() {
    let whole =
        json!({ "id": "resp_7", "object": "response", "status": "completed", "model": "m", "output": [] });
    let (_, heard) = answered(ModelApi::OpenAiResponses, 200, &whole.to_string(), AnswerEnd::Whole);
    assert_eq!(heard.response.as_deref(), Some("resp_7"));
    let event = json!({ "type": "response.completed", "response": whole }).to_string();
    let stream = format!("event: response.completed\ndata: {event}\n\n");
    let (_, heard) = answered(ModelApi::OpenAiResponses, 200, &stream, AnswerEnd::Whole);
    assert_eq!(heard.response.as_deref(), Some("resp_7"));
}
