//! The rules, one test each.

use serde_json::{Value, json};

use super::PlacementReason;
use crate::{AnswerEnd, ModelApi, ModelRequest};
use model::event::{RunStatus, ToolState};
use model::limits::{LOOP_REMEMBERED_MS, LOOPS_REMEMBERED_MAX, RESULTS_AWAITED_MS};
use model::view::NoteBody;

mod again;
mod before;
mod beside;
mod outputs;
mod random;
mod retold;
mod titles;
mod world;

use world::{How, World, assistant, called, calls, gave, messages, runs, says, system, tools, user};

const PARIS: (&str, &str, &str) = ("call_a8fK2mQ9xLw0", "weather", r#"{"city": "Paris"}"#);
const ROME: (&str, &str, &str) = ("call_b7gJ3nR8yMv1", "weather", r#"{"city": "Rome"}"#);

fn first_run(world: &World) -> model::RunId {
    world.only().runs.keys().next().unwrap().clone()
}

fn fact(code: &str) -> model::event::ErrorFact {
    model::event::ErrorFact {
        code: code.into(),
        message: code.into(),
        retryable: Some(true),
        retry_after_ms: None,
    }
}

#[test]
fn calls_of_one_loop_are_one_conversation_with_one_run_for_each_turn_of_the_user() {
    let mut world = World::default();
    let mut history = vec![system("Be brief."), user("Weather in Paris and Rome?")];
    let first = world.chat(&Value::from(history.clone()));
    assert!(first.is_new && first.why == PlacementReason::New);
    world.wait(100);
    let placed = world.answer(first, &calls(&[PARIS, ROME]));
    assert!(placed.waits);
    assert!(tools(world.only()).iter().all(|(_, tool)| tool.state == ToolState::Executing));
    world.wait(2_500);
    // Clients write arguments anew.
    history.push(called(&[(PARIS.0, PARIS.1, r#"{"city":"Paris"}"#), ROME]));
    history.extend([gave(PARIS.0, "sunny"), gave(ROME.0, "rain")]);
    let second = world.chat(&Value::from(history.clone()));
    assert_eq!((second.why, second.is_new), (PlacementReason::Awaited, false));
    let placed = world.answer(second, &says("Sunny and rain."));
    assert!(!placed.waits);
    history.extend([assistant("Sunny and rain."), user("Thanks!")]);
    let third = world.chat(&Value::from(history));
    assert_eq!(third.why, PlacementReason::History);
    world.answer(third, &says("You are welcome."));

    let view = world.only();
    let told = tools(view);
    assert_eq!(told.len(), 2, "each call once");
    for (_, tool) in &told {
        assert_eq!((tool.state, tool.latency_ms()), (ToolState::Complete, Some(2_500)));
    }
    assert_eq!(told[0].1.result.as_ref().unwrap().to_text(), "sunny");
    assert_eq!(told[1].1.result.as_ref().unwrap().to_text(), "rain");
    let runs = runs(view);
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run.status == RunStatus::Complete));
    assert_eq!(runs[0].answer(), "Sunny and rain.");
    let said: Vec<_> = messages(view).into_iter().map(|(_, text)| text).collect();
    assert_eq!(said, ["Be brief.", "Weather in Paris and Rome?", "Thanks!"]);
    assert_eq!(view.title.as_deref(), Some("Weather in Paris and Rome?"));
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
}

#[test]
fn a_conversation_that_is_named_wins_and_holds_several_loops() {
    let mut world = World::default();
    let how = How { conversation: Some("mine"), ..How::default() };
    let body = |text: &str| json!({ "model": "m", "messages": [user(text)] });
    let one = world.ask(&how, &body("one"));
    let two = world.ask(&how, &body("two"));
    assert!(one.is_new && !two.is_new);
    assert_ne!(one.run, two.run);
    world.answer(one, &calls(&[PARIS]));
    world.answer(two, &says("2"));
    let on = json!({ "model": "m", "messages": [user("one"), called(&[PARIS]), gave(PARIS.0, "sun")] });
    let on = world.ask(&how, &on);
    world.answer(on, &says("1"));
    let view = world.only();
    assert_eq!(runs(view).iter().map(|run| run.answer()).collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(tools(view)[0].1.state, ToolState::Complete);
}

#[test]
fn a_session_names_the_conversation_when_nobody_else_has_it() {
    let mut world = World::default();
    let session = "0b6e9a54-7c3d-4e1f-9a2b-3c4d5e6f7a8b";
    let with = How { session: Some(session), ..How::default() };
    let body = json!({ "model": "m", "messages": [user("hi")] });
    let one = world.ask(&with, &body);
    assert_eq!(one.conversation.as_str(), format!("openai-{session}"));
    let in_body = json!({ "model": "m", "max_tokens": 1, "messages": [user("hi")],
        "metadata": { "user_id": format!("user_af3_account__session_{session}") } });
    let two = world.ask(&How { api: ModelApi::Anthropic, ..How::default() }, &in_body);
    assert_eq!(two.conversation, one.conversation);
    let three = world.ask(&How { session: Some("1"), ..How::default() }, &body);
    assert_ne!(three.conversation, one.conversation, "a word that others may have names nothing");
}

#[test]
fn the_answer_that_a_request_names_says_where_it_belongs() {
    let mut world = World::default();
    let how = How { api: ModelApi::OpenAiResponses, ..How::default() };
    let output = |id: &str, items: Value| json!({ "id": id, "object": "response", "status": "completed", "model": "m", "output": items });
    let text = |text: &str| {
        json!([{ "type": "message", "id": "m", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }] }])
    };
    let first = world.ask(&how, &json!({ "model": "m", "input": "weather?" }));
    let made = json!([{ "type": "function_call", "id": "fc_1", "call_id": "call_0", "name": "weather",
        "arguments": "{}", "status": "completed" }]);
    world.answer(first, &output("resp_1", made));
    world.wait(70);
    let second = world.ask(
        &how,
        &json!({ "model": "m", "previous_response_id": "resp_1",
        "input": [{ "type": "function_call_output", "call_id": "call_0", "output": "sun" }] }),
    );
    assert_eq!(second.why, PlacementReason::Previous);
    world.answer(second, &output("resp_2", text("Sun.")));
    let third = world.ask(&how, &json!({ "model": "m", "previous_response_id": "resp_2", "input": "and?" }));
    world.answer(third, &output("resp_3", text("Nothing.")));
    let view = world.only();
    assert_eq!(runs(view).len(), 2);
    assert_eq!(tools(view)[0].1.latency_ms(), Some(70));

    let branch =
        world.ask(&how, &json!({ "model": "m", "previous_response_id": "resp_2", "input": "else?" }));
    assert_eq!(branch.why, PlacementReason::Fork);
    assert_eq!(branch.fork_of.unwrap().messages, 4);
    let lost = world.ask(&how, &json!({ "model": "m", "previous_response_id": "resp_9", "input": "hm" }));
    assert_eq!(lost.why, PlacementReason::New);
}

#[test]
fn loops_that_begin_alike_are_told_apart_by_the_ids_of_their_calls() {
    let mut world = World::default();
    let begin = json!([system("s"), user("go")]);
    let one = world.chat(&begin);
    let two = world.chat(&begin);
    assert_ne!(one.conversation, two.conversation);
    let (first, second) = (one.conversation.clone(), two.conversation.clone());
    world.answer(one, &calls(&[PARIS]));
    let other = (ROME.0, PARIS.1, PARIS.2);
    world.answer(two, &calls(&[other]));
    let mut back = |call: (&str, &str, &str)| {
        let messages = json!([system("s"), user("go"), called(&[call]), gave(call.0, "x")]);
        let placement = world.chat(&messages);
        let conversation = placement.conversation.clone();
        world.answer(placement, &says("done"));
        conversation
    };
    assert_eq!(back(other), second);
    assert_eq!(back(PARIS), first);
}

#[test]
fn a_history_with_the_ids_of_another_loop_is_no_continuation() {
    let mut world = World::default();
    let known = world.chat(&json!([user("go")]));
    let conversation = known.conversation.clone();
    world.answer(known, &calls(&[PARIS]));
    let stranger = (ROME.0, PARIS.1, PARIS.2);
    let strange = world.chat(&json!([user("go"), called(&[stranger]), gave(stranger.0, "x")]));
    assert_ne!(strange.conversation, conversation);
    assert_eq!(messages(world.view(&strange.conversation)).len(), 3, "the history is told");
}

#[test]
fn ids_that_repeat_or_are_missing_are_told_apart_and_matched_by_name_and_order() {
    let mut world = World::default();
    let call = ("call_0", "weather", r#"{"city":"Paris"}"#);
    let mut history = vec![user("go")];
    for round in 0..3 {
        let placement = world.chat(&Value::from(history.clone()));
        world.answer(placement, &calls(&[call]));
        world.wait(10);
        history.extend([called(&[call]), gave("call_0", &format!("result {round}"))]);
    }
    let last = world.chat(&Value::from(history));
    world.answer(last, &says("done"));
    let results: Vec<_> = tools(world.only())
        .iter()
        .map(|(_, tool)| tool.result.as_ref().unwrap().to_text().into_owned())
        .collect();
    assert_eq!(results, ["result 0", "result 1", "result 2"]);
    assert_eq!(runs(world.only())[0].tools.keys().nth(1).unwrap().as_str(), "call_0.2");

    let mut world = World::default();
    let how = How { api: ModelApi::Gemini, ..How::default() };
    let ask = json!([{ "role": "user", "parts": [{ "text": "both" }] }]);
    let first = world.ask(&how, &json!({ "contents": ask }));
    let parts = json!([{ "functionCall": { "name": "a", "args": {} } }, { "functionCall": { "name": "b", "args": { "x": 1 } } }]);
    world.answer(
        first,
        &json!({ "candidates": [{ "content": { "role": "model", "parts": parts },
        "finishReason": "STOP", "index": 0 }] }),
    );
    let back = json!([{ "functionResponse": { "name": "b", "response": { "error": "no" } } },
        { "functionResponse": { "name": "a", "response": { "output": 1 } } }]);
    let second = world.ask(
        &how,
        &json!({ "contents": [ask[0], { "role": "model", "parts": parts },
        { "role": "user", "parts": back }] }),
    );
    assert_eq!(second.why, PlacementReason::History);
    let told = tools(world.only());
    assert_eq!(told[0].1.state, ToolState::Complete);
    assert_eq!((told[1].0.as_str(), told[1].1.state), ("b", ToolState::Error));
}

#[test]
fn ids_that_the_client_made_up_are_matched_by_the_place_of_the_calls() {
    let mut world = World::default();
    let first = world.chat(&json!([user("go")]));
    world.answer(first, &calls(&[("0", "a", "{}"), ("1", "b", "{}")]));
    let back = json!([
        user("go"),
        called(&[("own-1", "a", "{}"), ("own-2", "b", "{}")]),
        gave("own-2", "B"),
        gave("own-1", "A")
    ]);
    let second = world.chat(&back);
    assert_eq!(second.why, PlacementReason::History);
    let told = tools(world.only());
    assert_eq!(told[0].1.result.as_ref().unwrap().to_text(), "A");
    assert_eq!(told[1].1.result.as_ref().unwrap().to_text(), "B");
}

#[test]
fn results_that_never_come_are_given_up_and_named_and_may_come_after_all() {
    let mut world = World::default();
    let first = world.chat(&json!([user("go")]));
    world.answer(first, &calls(&[PARIS]));
    world.wait(RESULTS_AWAITED_MS - 1);
    assert!(runs(world.only())[0].is_running());
    world.wait(1);
    let run = runs(world.only())[0];
    assert_eq!(
        (run.status, run.error.as_ref().unwrap().code.as_str()),
        (RunStatus::Interrupted, "no_result")
    );
    assert_eq!(tools(world.only())[0].1.state, ToolState::Interrupted);
    world.wait(1_000);
    let late = world.chat(&json!([user("go"), called(&[PARIS]), gave(PARIS.0, "sun")]));
    world.answer(late, &says("Sun."));
    let view = world.only();
    let run = runs(view)[0];
    assert_eq!((run.status, run.error.as_ref()), (RunStatus::Complete, None));
    assert_eq!(tools(view)[0].1.latency_ms(), Some(RESULTS_AWAITED_MS + 1_000));
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
}

#[test]
fn a_user_who_does_not_wait_for_results_leaves_the_calls_interrupted() {
    let mut world = World::default();
    let first = world.chat(&json!([user("go")]));
    world.answer(first, &calls(&[PARIS, ROME]));
    let on = json!([user("go"), called(&[PARIS, ROME]), gave(PARIS.0, "sun"), user("never mind")]);
    let run = first_run(&world);
    let second = world.chat(&on);
    assert_eq!(second.ended, Some(run));
    world.answer(second, &says("Fine."));
    let view = world.only();
    assert_eq!(tools(view)[0].1.state, ToolState::Complete);
    assert_eq!(tools(view)[1].1.state, ToolState::Interrupted);
    let runs = runs(view);
    assert_eq!((runs[0].status, runs[1].status), (RunStatus::Interrupted, RunStatus::Complete));
}

#[test]
fn what_the_loop_itself_says_with_results_is_said_inside_the_run() {
    let mut world = World::default();
    let how = How { api: ModelApi::Anthropic, ..How::default() };
    let ask = json!({ "role": "user", "content": "go" });
    let made = json!([{ "type": "tool_use", "id": "toolu_01Abc234", "name": "a", "input": {} }]);
    let first = world.ask(&how, &json!({ "model": "m", "messages": [ask] }));
    world.answer(
        first,
        &json!({ "id": "msg", "type": "message", "role": "assistant", "model": "m",
        "content": made, "stop_reason": "tool_use", "usage": { "input_tokens": 1, "output_tokens": 1 } }),
    );
    let back = json!([{ "type": "tool_result", "tool_use_id": "toolu_01Abc234", "content": "no", "is_error": true },
        { "type": "text", "text": "Mind the time." }]);
    let second = world.ask(
        &how,
        &json!({ "model": "m",
        "messages": [ask, { "role": "assistant", "content": made }, { "role": "user", "content": back }] }),
    );
    assert_eq!(second.why, PlacementReason::Awaited);
    let view = world.only();
    assert_eq!(runs(view).len(), 1);
    assert_eq!(tools(view)[0].1.state, ToolState::Error);
    assert!(view.messages.values().nth(1).unwrap().within.is_some());
}

#[test]
fn a_request_that_was_not_read_has_a_run_all_the_same() {
    let mut world = World::default();
    let request = ModelRequest::unread(ModelApi::OpenAiChat, "/v1/chat/completions", "over 32 MiB");
    let one = world.place(&How::default(), &request);
    let two = world.place(&How::default(), &request);
    assert_ne!(one.conversation, two.conversation);
    assert_eq!(world.view(&one.conversation).anomalies.total, 1);
    let conversation = one.conversation.clone();
    world.answer(one, &calls(&[PARIS]));
    // The ids of its calls are known even so.
    let on = world.chat(&json!([user("long"), called(&[PARIS]), gave(PARIS.0, "sun")]));
    assert_eq!((on.why, on.conversation), (PlacementReason::Awaited, conversation));
}

#[test]
fn another_key_never_joins() {
    let mut world = World::default();
    let first = world.chat(&json!([user("go")]));
    let conversation = first.conversation.clone();
    world.answer(first, &calls(&[PARIS]));
    let body = json!({ "model": "m", "messages": [user("go"), called(&[PARIS]), gave(PARIS.0, "x")] });
    let other = world.ask(&How { caller: 2, ..How::default() }, &body);
    assert_ne!(other.conversation, conversation);
}

#[test]
fn a_parent_is_named_where_the_call_proves_it() {
    let mut world = World::default();
    let how = How { parent: Some("main/run-1/call-7"), ..How::default() };
    let child = world.ask(&how, &json!({ "model": "m", "messages": [user("part of it")] }));
    let view = world.view(&child.conversation);
    assert!(matches!(&runs(view)[0].notes[0].body, NoteBody::Custom { name, .. } if name == "parent"));
}

#[test]
fn i7_what_is_remembered_is_bounded_in_number_and_age() {
    let mut world = World::default();
    let open = world.chat(&json!([user("waits")]));
    let conversation = open.conversation.clone();
    world.answer(open, &calls(&[PARIS]));
    for number in 0..LOOPS_REMEMBERED_MAX {
        world.now += 1;
        let placement = world.chat(&json!([user(&number.to_string())]));
        world.answer(placement, &says("ok"));
    }
    assert_eq!(world.joiner.remembered(), LOOPS_REMEMBERED_MAX);
    world.wait(1);
    assert_eq!(runs(world.view(&conversation))[0].status, RunStatus::Interrupted, "the forgotten is over");
    world.wait(LOOP_REMEMBERED_MS);
    assert_eq!(world.joiner.remembered(), 0);
}

#[test]
fn the_hub_stops_and_what_waits_is_interrupted() {
    let mut world = World::default();
    let first = world.chat(&json!([user("go")]));
    let late = world.chat(&json!([user("late")]));
    world.answer(first, &calls(&[PARIS]));
    let closed = world.joiner.close();
    assert_eq!(closed.len(), 2);
    let placed = world.answer(late, &says("x"));
    assert!(!placed.waits);
    assert!(runs(world.view(&placed.conversation))[0].status == RunStatus::Complete);
}

#[test]
fn a_call_that_the_request_asks_for_by_name_is_the_answer_itself() {
    let mut world = World::default();
    let choice = json!({ "type": "function", "function": { "name": "weather" } });
    let body = json!({ "model": "m", "messages": [user("go")], "tool_choice": choice });
    let first = world.ask(&How::default(), &body);
    let placed = world.answer(first, &calls(&[PARIS]));
    assert!(!placed.waits);
    assert_eq!(runs(world.only())[0].status, RunStatus::Complete);
    assert_eq!(tools(world.only())[0].1.state, ToolState::Pending);
    world.wait(30);
    let on = world.chat(&json!([user("go"), called(&[PARIS]), gave(PARIS.0, "sun")]));
    assert!(runs(world.only())[0].is_running());
    world.answer(on, &says("Sun."));
    assert_eq!(tools(world.only())[0].1.latency_ms(), Some(30));
    assert_eq!(runs(world.only()).len(), 1);
}

#[test]
fn a_loop_goes_on_before_the_body_of_its_answer_is_over() {
    let mut world = World::default();
    let mut first = world.chat(&json!([user("go")]));
    let call = json!({ "index": 0, "id": PARIS.0, "type": "function",
        "function": { "name": PARIS.1, "arguments": PARIS.2 } });
    let chunk = |delta: Value, finish: Value| json!({ "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    let called_it = chunk(json!({ "tool_calls": [call] }), Value::Null);
    let stream =
        format!("data: {called_it}\n\ndata: {}\n\ndata: [DONE]\n\n", chunk(json!({}), json!("tool_calls")));
    assert!(world.settle(&mut first.answer, &stream).waits);
    let second = world.chat(&json!([user("go"), called(&[PARIS]), gave(PARIS.0, "sun")]));
    assert_eq!((second.why, &second.run), (PlacementReason::Awaited, &first.run));
    let mut late = dialects::Decoded::default();
    assert!(first.answer.end(AnswerEnd::Failed(fact("upstream_cut")), &mut late).is_none());
    assert!(late.envelopes.is_empty(), "{late:?}");
    world.answer(second, &says("Sun."));
    assert_eq!((runs(world.only()).len(), runs(world.only())[0].status), (1, RunStatus::Complete));
    assert_eq!(world.only().anomalies.total, 0, "{:?}", world.only().anomalies);
}

#[test]
fn a_run_that_was_only_found_is_not_ended_by_who_forgets_it() {
    let how = How { conversation: Some("mine"), ..How::default() };
    let body = |messages: Value| json!({ "model": "m", "messages": messages });
    let recalled = |messages: Value| {
        let mut world = World::default();
        let first = world.ask(&how, &body(json!([user("go")])));
        world.answer(first, &calls(&[PARIS]));
        // Somebody else's, for whom this joiner is another one.
        world.joiner = crate::CallJoiner::default();
        let second = world.ask(&how, &body(messages));
        world.answer(second, &says("1"));
        world.restart();
        world
    };
    let world = recalled(json!([user("something else")]));
    assert!(runs(world.only())[0].is_running());
    assert_eq!(runs(world.only())[1].status, RunStatus::Complete);
    // Whoever brings its results makes it the joiner's.
    let world = recalled(json!([user("go"), called(&[PARIS]), gave(PARIS.0, "sun")]));
    assert_eq!((runs(world.only()).len(), runs(world.only())[0].status), (1, RunStatus::Complete));
}
