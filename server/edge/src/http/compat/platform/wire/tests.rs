//! What is read out of bodies of several versions.

use model::ToolCallId;
use serde_json::{Value, json};

use super::{RunRequest, Strategy, consents};
use agents::Answer;

fn ask(more: Value) -> Result<RunRequest, String> {
    let mut body = json!({"assistant_id": "helper"});
    let Value::Object(more) = more else { panic!("{more} is no object") };
    body.as_object_mut().unwrap().extend(more);
    RunRequest::of(&body).map_err(|fault| fault.detail)
}

#[test]
fn messages_are_heard_in_every_shape() {
    let constructor = json!({"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "HumanMessage"],
        "kwargs": {"content": [{"type": "text", "text": "b"}, {"type": "image", "metadata": {"name": "cat.png"}}], "id": "m2"}});
    let all = json!([{"type": "human", "id": "m1", "content": "a"}, constructor, {"role": "user", "content": "c"},
        {"type": "tool", "id": "do-not-render-1", "tool_call_id": "c", "content": "Successfully handled tool call."},
        {"type": "ai", "content": "d"}, "e", {"type": "human", "content": ""}]);
    let asked = ask(json!({"input": {"messages": all, "userRole": "admin"}})).unwrap();
    let said: Vec<_> = asked
        .messages
        .iter()
        .map(|it| (it.id.as_ref().map(|id| id.as_str().to_owned()), it.role.as_str(), it.text.as_str()))
        .collect();
    let id = |id: &str| Some(id.to_owned());
    let expected = [
        (id("m1"), "user", "a"),
        (id("m2"), "user", "b\n[image: cat.png]"),
        (None, "user", "c"),
        (None, "assistant", "d"),
        (None, "user", "e"),
    ];
    assert_eq!(said, expected);
    assert_eq!(asked.left_out, ["[image: cat.png]", "input.userRole"]);
    assert_eq!(asked.modes, ["values"]);
    assert_eq!((asked.strategy, asked.stops_on_hang_up), (Strategy::Enqueue, false));
}

#[test]
fn what_is_wrong_is_named() {
    for (body, named) in [
        (json!({"assistant_id": null}), "assistant_id"),
        (json!({"input": "x"}), "input:"),
        (json!({"stream_mode": ["values", "noise"]}), "noise"),
        (json!({"multitask_strategy": "both"}), "both"),
        (json!({"checkpoint": 7}), "checkpoint:"),
        (json!({"command": {"goto": "tools"}}), "command.goto"),
    ] {
        let why = ask(body.clone()).unwrap_err();
        assert!(why.contains(named), "{body}: {why}");
    }
    let long = "y".repeat(crate::threads::METADATA_BYTES_MAX);
    for metadata in [json!([]), json!({"x": long})] {
        assert!(super::metadata(&json!({"metadata": metadata})).unwrap_err().detail.contains("metadata"));
    }
    assert!(super::metadata(&json!({"metadata": {"x": 1}})).is_ok());
}

#[test]
fn decisions_are_read_in_the_words_of_each_page() {
    let two = [ToolCallId::new("c1"), ToolCallId::new("c2")];
    let yes = || Answer::Yes { arguments: None };
    let no = |why: Option<&str>| Answer::No { why: why.map(str::to_owned) };
    let edited = || Answer::Yes { arguments: Some("{\"a\":1}".to_owned()) };
    for (resume, first, second) in [
        (json!(true), yes(), yes()),
        (json!("reject"), no(None), no(None)),
        (json!("not today"), no(Some("not today")), no(Some("not today"))),
        (json!([{"type": "accept", "args": null}]), yes(), yes()),
        (
            json!({"decisions": [{"type": "approve"}, {"type": "reject", "message": "too far"}]}),
            yes(),
            no(Some("too far")),
        ),
        (
            json!([{"type": "edit", "args": {"action": "x", "args": {"a": 1}}}, {"type": "ignore"}]),
            edited(),
            no(None),
        ),
        (
            json!({"c1": {"type": "edit", "edited_action": {"name": "x", "args": {"a": 1}}}, "c2": {"type": "response", "args": "Oslo"}}),
            edited(),
            no(Some("Oslo")),
        ),
        (json!({"c1": {"decisions": [true, {"approved": false, "reason": "no"}]}}), yes(), no(Some("no"))),
    ] {
        let said: Vec<_> = consents(&resume, &two)
            .unwrap_or_else(|fault| panic!("{resume}: {}", fault.detail))
            .into_iter()
            .map(|consent| consent.answer)
            .collect();
        assert_eq!(said, [first, second], "{resume}");
    }
    let one = consents(&json!({"c2": true}), &two).unwrap();
    assert_eq!((one.len(), &one[0].tool), (1, &two[1]));
    for wrong in [json!({"decisions": []}), json!([true, true, true]), json!({"type": "later"}), json!(7)] {
        assert!(consents(&wrong, &two).is_err(), "{wrong}");
    }
}
