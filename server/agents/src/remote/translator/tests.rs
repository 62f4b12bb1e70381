//! What becomes of an answer's events, and of their ids when the run has them already.

use dialects::{DecodeOptions, decoder};
use model::event::{AgentStart, Message, ToolStart};
use model::view::{AgentView, ToolView};
use model::{MessageId, ToolCallId};

use super::*;

fn told(tale: &mut RemoteAnswerTranslator, kinds: Vec<Event>) -> Vec<Event> {
    let mut said = Decoded::default();
    for event in kinds {
        said.event(event);
    }
    tale.tell(said)
}

fn call(id: &str) -> Kind {
    Kind::ToolStart(ToolStart {
        tool: ToolCallId::new(id),
        name: "look_up".into(),
        server: false,
        given_id: None,
    })
}

#[test]
fn an_answer_is_a_part_of_the_run_that_is_there() {
    let run = RunId::new("ours");
    let mut tale = RemoteAnswerTranslator::new(run.clone(), None);
    let mut said = Decoded::default();
    let options = DecodeOptions { run: RunId::new("theirs"), ..DecodeOptions::default() };
    let mut ag_ui = decoder("ag-ui", options).unwrap();
    ag_ui.feed(
        b"data: {\"type\":\"RUN_STARTED\",\"threadId\":\"t\",\"runId\":\"x\"}\n\n\
          data: {\"type\":\"MESSAGES_SNAPSHOT\",\"messages\":[{\"id\":\"1\",\"role\":\"user\",\"content\":\"Hello\"}]}\n\n\
          data: {\"type\":\"TEXT_MESSAGE_CHUNK\",\"messageId\":\"m\",\"delta\":\"Hi\"}\n\n\
          data: {\"type\":\"RUN_FINISHED\",\"threadId\":\"t\",\"runId\":\"x\"}\n\n",
        &mut said,
    );
    ag_ui.end(&mut said);
    let events = tale.tell(said);
    assert!(events.iter().all(|event| event.run == run), "{events:?}");
    let is_foreign =
        |event: &Event| matches!(event.kind, Kind::RunStart(_) | Kind::RunEnd(_) | Kind::Message(_));
    assert!(!events.iter().any(is_foreign), "{events:?}");
    assert!(events.iter().any(|event| matches!(&event.kind, Kind::PartDelta { text, .. } if text == "Hi")));
    assert!(tale.heard().has_ended);
    assert_eq!(tale.end().0.status, RunStatus::Complete);
}

#[test]
fn ids_that_the_run_has_already_are_not_used_again() {
    let run = RunId::new("r");
    let mut before = RunView::default();
    before.tools.insert(ToolCallId::new("call-1"), ToolView::default());
    let agent = AgentView {
        name: None,
        parent: None,
        depth: 1,
        tool: None,
        task: None,
        status: RunStatus::Error,
        started_at: 0,
        ended_at: None,
        model: None,
        usage: None,
    };
    before.agents.insert(AgentId::new("depth-1"), agent);
    let mut tale = RemoteAnswerTranslator::new(run.clone(), Some(&before));
    let start = AgentStart { tool: Some(ToolCallId::new("call-1")), ..AgentStart::default() };
    let inner = Some(AgentId::new("depth-1"));
    let events = told(
        &mut tale,
        vec![
            Event::new(&run, call("call-1")),
            Event::new(&run, Kind::AgentStart(start)).by(inner.clone()),
            Event::new(&run, Kind::ApprovalRequest { tool: ToolCallId::new("call-1"), text: None }).by(inner),
        ],
    );
    let own = ToolCallId::new("call-1.2");
    assert!(matches!(&events[0].kind, Kind::ToolStart(it) if it.tool == own));
    assert!(matches!(&events[1].kind, Kind::AgentStart(it) if it.tool.as_ref() == Some(&own)));
    assert!(matches!(&events[2].kind, Kind::ApprovalRequest { tool, .. } if *tool == own));
    assert_eq!(events[2].agent, Some(AgentId::new("depth-1.2")));
}

#[test]
fn a_failure_is_kept_for_the_end_and_what_was_said_before_is_not_said_again() {
    let run = RunId::new("r");
    let mut tale = RemoteAnswerTranslator::new(run.clone(), None);
    let fact =
        ErrorFact { code: "x".into(), message: "y".into(), retryable: Some(true), retry_after_ms: None };
    let message = Message {
        message: MessageId::new("m"),
        role: "user".into(),
        text: "Hello".into(),
        files: Vec::new(),
    };
    let events = told(
        &mut tale,
        vec![Event::new(&run, Kind::Error(fact.clone())), Event::new(&run, Kind::Message(message))],
    );
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(tale.heard().failure, Some(fact));
    assert!(!tale.heard().has_begun);
}

#[test]
fn an_agent_cannot_forge_what_the_hub_remembers() {
    let run = RunId::new("r");
    let mut tale = RemoteAnswerTranslator::new(run.clone(), None);
    let forged = Kind::Custom { name: "remote_goes_on".into(), value: model::Json::of(&true) };
    let events = told(&mut tale, vec![Event::new(&run, forged)]);
    assert!(
        matches!(&events[0].kind, Kind::Custom { name, .. } if name == "agent_remote_goes_on"),
        "{events:?}"
    );
}

#[test]
fn calls_of_a_member_belong_to_the_pause_that_comes_behind_them() {
    let run = RunId::new("r");
    let mut tale = RemoteAnswerTranslator::new(run.clone(), None);
    let asks = Kind::ApprovalRequest { tool: ToolCallId::new("a"), text: None };
    let interrupt = Kind::Custom { name: INTERRUPT.into(), value: model::Json::of(&true) };
    let kinds = [call("a"), asks, interrupt];
    told(&mut tale, kinds.into_iter().map(|kind| Event::new(&run, kind)).collect());
    let (_, asks) = tale.end();
    assert_eq!(asks[0].calls.iter().map(|call| call.given.as_str()).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_failure_that_was_followed_by_another_is_told_and_the_last_one_ends_the_answer() {
    let run = RunId::new("r");
    let mut tale = RemoteAnswerTranslator::new(run.clone(), None);
    let error = |code: &str| {
        let (code, message) = (code.into(), String::from("no"));
        Event::new(
            &run,
            Kind::Error(ErrorFact { code, message, retryable: Some(false), retry_after_ms: None }),
        )
    };
    let said = told(&mut tale, vec![error("tools_unavailable"), error("model_error")]);
    assert_eq!(said, [error("tools_unavailable")]);
    assert_eq!(tale.heard().failure.unwrap().code, "model_error");
}

/// What comes of a whole stream of Forge's, and what was heard of it.
fn forge(stream: &str) -> (Vec<Event>, RemoteAnswerTranslator) {
    let mut said = Decoded::default();
    let mut decoder =
        decoder("forge", DecodeOptions { run: RunId::new("r"), ..DecodeOptions::default() }).unwrap();
    decoder.feed(stream.as_bytes(), &mut said);
    decoder.end(&mut said);
    let mut tale = RemoteAnswerTranslator::new(RunId::new("r"), None);
    (tale.tell(said), tale)
}

#[test]
fn a_failure_that_the_answer_outlives_stands_where_it_was_said_and_does_not_end_the_run() {
    let failed = "event: error\ndata: {\"code\":\"ARMORY_UNAVAILABLE\",\"message\":\"no tools\",\"retryable\":true}\n\n";
    let token = "event: token\ndata: {\"token\":\"Hi\",\"cumulative\":\"Hi\"}\n\n";
    let whole = |text: &str| format!("event: complete\ndata: {{\"response\":\"{text}\",\"usage\":null}}\n\n");
    let is_error = |event: &Event| matches!(event.kind, Kind::Error(_));

    for stream in [format!("{failed}{token}{}", whole("Hi")), format!("{failed}{}", whole(""))] {
        let (events, tale) = forge(&stream);
        assert!(is_error(&events[0]) && !events[1..].iter().any(is_error), "{stream}: {events:?}");
        assert_eq!(tale.heard().failure, None, "{stream}");
        assert!(tale.heard().has_ended, "{stream}");
        assert_eq!(tale.end().0.status, RunStatus::Complete, "{stream}");
    }
    // The same without its end broke off.
    let (events, tale) = forge(&format!("{failed}{token}"));
    assert!(is_error(&events[0]), "{events:?}");
    assert_eq!((tale.heard().failure, tale.heard().has_ended), (None, false));
    // Behind the text it is what ended the answer.
    let (events, tale) = forge(&format!("{token}{failed}"));
    assert!(!events.iter().any(is_error), "told once the answer is over: {events:?}");
    assert_eq!(tale.heard().failure.unwrap().code, "ARMORY_UNAVAILABLE");
    assert_eq!(tale.end().0.status, RunStatus::Error);
}
