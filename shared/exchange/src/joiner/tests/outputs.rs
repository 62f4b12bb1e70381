//! Loops that end with a call: its arguments are the answer, and no request follows.

use super::*;
use model::limits::OUTPUT_AWAITED_MS;

const ANSWER: (&str, &str, &str) = ("call_c6hL4oS7zNu2", "final_result", r#"{"sky":"sun"}"#);
const REPORT: (&str, &str, &str) = ("call_d5iM5pT6aOt3", "Report", r#"{"sky":"sun"}"#);

/// A request whose answer must call one of `tools`, each a name and a description.
fn requires(messages: &Value, tools: &[(&str, &str)]) -> Value {
    let tool = |(name, description): &(&str, &str)| {
        let schema = json!({ "type": "object" });
        json!({ "type": "function", "function": { "name": name, "description": description, "parameters": schema } })
    };
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    json!({ "model": "m", "messages": messages, "tools": tools, "tool_choice": "required" })
}

fn states(world: &World) -> Vec<ToolState> {
    tools(world.only()).iter().map(|(_, tool)| tool.state).collect()
}

#[test]
fn a_tool_that_frameworks_offer_for_their_result_ends_the_run_at_once() {
    let described = "City: The final response which ends this conversation";
    for (name, description) in [("final_result", ""), ("final_result_City", ""), ("City", described)] {
        let mut world = World::default();
        let offered = [("weather", "Looks."), (name, description)];
        let first = world.ask(&How::default(), &requires(&json!([user("go")]), &offered));
        assert!(world.answer(first, &calls(&[PARIS])).waits, "{name}");
        assert_eq!(states(&world), [ToolState::Executing]);
        world.wait(OUTPUT_AWAITED_MS * 5);
        assert!(runs(world.only())[0].is_running(), "all other tools are executed");
        let history = json!([user("go"), called(&[PARIS]), gave(PARIS.0, "sun")]);
        let second = world.ask(&How::default(), &requires(&history, &offered));
        assert!(!world.answer(second, &calls(&[(ANSWER.0, name, ANSWER.2)])).waits);
        assert_eq!(runs(world.only())[0].status, RunStatus::Complete, "{name}");
        assert_eq!(states(&world), [ToolState::Complete; 2]);
        world.wait(RESULTS_AWAITED_MS * 2);
        assert_eq!(runs(world.only())[0].status, RunStatus::Complete, "{name}");
        // The framework writes a result for the sake of the form, and the user goes on.
        let mut next = history.as_array().unwrap().clone();
        next.extend([called(&[(ANSWER.0, name, ANSWER.2)]), gave(ANSWER.0, "Processed."), user("And Rome?")]);
        let third = world.ask(&How::default(), &requires(&Value::from(next), &offered));
        world.answer(third, &calls(&[("call_e4jN6qU5bPs4", name, "{}")]));
        let view = world.only();
        let all: Vec<_> = runs(view).iter().map(|run| run.status).collect();
        assert_eq!(all, [RunStatus::Complete; 2], "{name}");
        assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
    }
}

#[test]
fn where_only_a_call_can_end_the_run_one_that_was_never_executed_is_its_end_after_a_second() {
    let mut world = World::default();
    let offered = [("weather", "Looks."), ("Report", "A report.")];
    let first = world.ask(&How::default(), &requires(&json!([user("go")]), &offered));
    assert!(world.answer(first, &calls(&[PARIS])).waits);
    world.wait(OUTPUT_AWAITED_MS / 2);
    let history = json!([user("go"), called(&[PARIS]), gave(PARIS.0, "sun")]);
    let second = world.ask(&How::default(), &requires(&history, &offered));
    // What was executed once is executed again.
    assert!(world.answer(second, &calls(&[ROME])).waits);
    assert_eq!(states(&world), [ToolState::Complete, ToolState::Executing]);
    world.wait(OUTPUT_AWAITED_MS * 5);
    assert!(runs(world.only())[0].is_running());
    let mut next = history.as_array().unwrap().clone();
    next.extend([called(&[ROME]), gave(ROME.0, "rain")]);
    let third = world.ask(&How::default(), &requires(&Value::from(next), &offered));
    assert!(world.answer(third, &calls(&[REPORT])).waits);
    world.wait(OUTPUT_AWAITED_MS - 1);
    assert!(runs(world.only())[0].is_running());
    world.wait(1);
    assert_eq!(runs(world.only())[0].status, RunStatus::Complete);
    assert_eq!(states(&world), [ToolState::Complete; 3]);
    world.wait(RESULTS_AWAITED_MS * 2);
    assert_eq!((runs(world.only()).len(), runs(world.only())[0].status), (1, RunStatus::Complete));
}

#[test]
fn a_run_that_was_taken_for_over_goes_on_with_the_result() {
    let mut world = World::default();
    let offered = [("weather", "Looks."), ("Report", "A report.")];
    let first = world.ask(&How::default(), &requires(&json!([user("go")]), &offered));
    world.answer(first, &calls(&[PARIS]));
    world.wait(OUTPUT_AWAITED_MS);
    assert_eq!(runs(world.only())[0].status, RunStatus::Complete);
    world.wait(OUTPUT_AWAITED_MS * 30);
    let history = json!([user("go"), called(&[PARIS]), gave(PARIS.0, "sun")]);
    let second = world.ask(&How::default(), &requires(&history, &offered));
    assert!(runs(world.only())[0].is_running());
    world.answer(second, &calls(&[REPORT]));
    world.wait(OUTPUT_AWAITED_MS);
    let view = world.only();
    assert_eq!((runs(view).len(), runs(view)[0].status), (1, RunStatus::Complete));
    assert_eq!(tools(view)[0].1.result.as_ref().unwrap().to_text(), "sun");
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
}

#[test]
fn calls_that_need_not_be_the_end_are_waited_for() {
    let offered = [("weather", "Looks."), ("Report", "A report.")];
    let two = calls(&[PARIS, ROME]);
    let mut free = requires(&json!([user("go")]), &offered);
    free["tool_choice"] = json!("auto");
    for (request, answer) in [(requires(&json!([user("go")]), &offered), &two), (free, &calls(&[PARIS]))] {
        let mut world = World::default();
        let first = world.ask(&How::default(), &request);
        assert!(world.answer(first, answer).waits);
        world.wait(OUTPUT_AWAITED_MS * 5);
        assert!(runs(world.only())[0].is_running());
        world.wait(RESULTS_AWAITED_MS);
        assert_eq!(runs(world.only())[0].status, RunStatus::Interrupted);
    }
}

#[test]
fn every_vendor_has_a_word_for_a_call_that_must_be() {
    for (api, choice) in [
        (ModelApi::OpenAiChat, json!({ "tool_choice": "required" })),
        (ModelApi::OpenAiChat, json!({ "tool_choice": "any" })),
        (
            ModelApi::OpenAiResponses,
            json!({ "tool_choice": { "type": "allowed_tools", "mode": "required" } }),
        ),
        (ModelApi::Anthropic, json!({ "tool_choice": { "type": "any" } })),
        (ModelApi::Gemini, json!({ "toolConfig": { "functionCallingConfig": { "mode": "ANY" } } })),
    ] {
        assert!(ModelRequest::read(api, "/", choice.to_string().as_bytes()).required, "{choice}");
    }
    for choice in [json!({ "tool_choice": "auto" }), json!({ "tool_choice": { "type": "tool" } }), json!({})]
    {
        assert!(
            !ModelRequest::read(ModelApi::Anthropic, "/", choice.to_string().as_bytes()).required,
            "{choice}"
        );
    }
}
