//! Frameworks that loop through text: the answer comes back in other words. The bodies are those that `CrewAI`,
//! smolagents and `LlamaIndex` send, shortened.

use super::*;

const LOOKS: &str = "Thought: look\nAction: get_weather\nAction Input: {\"city\": \"Lisbon\"}";

/// A loop that was asked `go`, answered `text`, and goes on with `back` (an assistant turn, then others).
fn goes_on(world: &mut World, text: &str, back: &[Value]) -> crate::Placement {
    let first = world.chat(&json!([system("s"), user("go")]));
    world.answer(first, &says(text));
    let mut history = vec![system("s"), user("go")];
    history.extend_from_slice(back);
    world.chat(&Value::from(history))
}

#[test]
fn an_answer_with_the_result_behind_it_goes_on_in_its_run() {
    let mut world = World::default();
    let observed = format!("{LOOKS}\nObservation: 21 in Lisbon");
    let analyze = user("Analyze the tool result.");
    let second = goes_on(&mut world, LOOKS, &[assistant(&observed), analyze.clone()]);
    assert_eq!((second.why, second.is_new), (PlacementReason::Retold, false));
    world.answer(second, &says("Thought: I know\nFinal Answer: 21"));
    let view = world.only();
    assert_eq!((runs(view).len(), runs(view)[0].status), (1, RunStatus::Complete));
    let told = messages(view);
    assert_eq!(told[2], ("tool".to_owned(), "Observation: 21 in Lisbon".to_owned()));
    assert_eq!(told[3], ("user".to_owned(), "Analyze the tool result.".to_owned()));
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
    // The next turn of the user, with the last answer as it was.
    let third = world.chat(&json!([
        system("s"),
        user("go"),
        assistant(&observed),
        analyze,
        assistant("Thought: I know\nFinal Answer: 21"),
        user("And Rome?")
    ]));
    assert_eq!(third.why, PlacementReason::History);
    world.answer(third, &says("22"));
    assert_eq!(runs(world.only()).len(), 2);
}

#[test]
fn an_answer_that_is_printed_anew_goes_on_in_its_run() {
    let mut world = World::default();
    let printed = LOOKS.replace('"', "'");
    let back = [assistant(&printed), user("Observation: 21 in Lisbon")];
    let second = goes_on(&mut world, LOOKS, &back);
    assert_eq!(second.why, PlacementReason::Retold);
    world.answer(second, &says("Answer: 21"));
    assert_eq!(runs(world.only()).len(), 1);
}

#[test]
fn calls_that_come_back_as_text_are_over_and_their_run_goes_on() {
    let mut world = World::default();
    let first = world.chat(&json!([system("s"), user("go")]));
    world.answer(first, &calls(&[PARIS, ROME]));
    world.wait(300);
    let text = format!(
        "Calling tools:\n[{{'id': '{}', 'type': 'function', 'function': {{'name': 'weather', 'arguments': {{'city': 'Paris'}}}}}}, {{'id': '{}', 'type': 'function', 'function': {{'name': 'weather', 'arguments': {{'city': 'Rome'}}}}}}]",
        PARIS.0, ROME.0
    );
    let mut history = vec![system("s"), user("go"), assistant(&text), user("Observation:\nsun\nrain")];
    let second = world.chat(&Value::from(history.clone()));
    assert_eq!(second.why, PlacementReason::Retold);
    assert!(tools(world.only()).iter().all(|(_, tool)| tool.state == ToolState::Complete));
    assert_eq!(tools(world.only())[0].1.latency_ms(), Some(300));
    let last = ("call_c6hL4pS7zNw2", "weather", r#"{"city": "Oslo"}"#);
    world.answer(second, &calls(&[last]));
    assert_eq!(runs(world.only()).len(), 1);
    // The next task stands in the message with the last result.
    let text = text.replace(PARIS.0, last.0);
    history.extend([assistant(&text), user("Observation:\n21\nNew task:\nAgain?")]);
    let third = world.chat(&Value::from(history));
    assert_eq!(third.why, PlacementReason::Retold);
    world.answer(third, &says("done"));
    let view = world.only();
    assert_eq!(runs(view).len(), 2);
    assert!(runs(view).iter().all(|run| run.status == RunStatus::Complete));
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
}

#[test]
fn a_call_that_was_the_answer_comes_back_as_text_before_a_next_run() {
    for next in ["Observation:\n21\nNew task:\nAgain?", "Again?"] {
        let mut world = World::default();
        let offered =
            json!([{ "type": "function", "function": { "name": "final_answer", "parameters": {} } }]);
        let body = |messages: Value| json!({ "model": "m", "tools": offered, "messages": messages });
        let first = world.ask(&How::default(), &body(json!([user("go")])));
        let last = ("call_d5jM6qT9yPx3", "final_answer", r#"{"answer": "21"}"#);
        world.answer(first, &calls(&[last]));
        let text =
            format!("Calling tools:\n[{{'id': '{}', 'function': {{'name': 'final_answer'}}}}]", last.0);
        let second = world.ask(&How::default(), &body(json!([user("go"), assistant(&text), user(next)])));
        assert_eq!(second.why, PlacementReason::Retold);
        world.answer(second, &says("done"));
        let view = world.only();
        assert_eq!((runs(view).len(), tools(view)[0].1.state), (2, ToolState::Complete), "{next}");
        assert_eq!(view.anomalies.total, 0, "{next}: {:?}", view.anomalies);
    }
}

#[test]
fn an_answer_that_only_begins_alike_is_another_loop() {
    for other in [
        LOOKS.replace("Lisbon", "Lisboners"),
        LOOKS.replace("Lisbon", "Rome"),
        String::from("Thought: look"),
        String::from("Nothing of that."),
    ] {
        let mut world = World::default();
        let second = goes_on(&mut world, LOOKS, &[assistant(&other), user("Observation: 21")]);
        assert_eq!(second.why, PlacementReason::New, "{other}");
    }
    // The ids of another loop's calls.
    let mut world = World::default();
    let first = world.chat(&json!([user("go")]));
    world.answer(first, &calls(&[PARIS]));
    let text = format!("Calling tools:\n[{{'id': '{}0', 'name': 'weather'}}]", PARIS.0);
    let second = world.chat(&json!([user("go"), assistant(&text), user("Observation:\nsun")]));
    assert_eq!(second.why, PlacementReason::New);
}

#[test]
fn loops_that_begin_alike_are_never_mixed_by_words() {
    let printed = |text: &str| text.replace('"', "'");
    let other = LOOKS.replace("Lisbon", "Rome");
    let begin = json!([system("s"), user("go")]);
    let back =
        |text: &str, seen: &str| json!([system("s"), user("go"), assistant(&printed(text)), user(seen)]);
    // Two that say different things are told apart.
    let mut world = World::default();
    let (one, two) = (world.chat(&begin), world.chat(&begin));
    let (first, second) = (one.conversation.clone(), two.conversation.clone());
    world.answer(one, &says(LOOKS));
    world.answer(two, &says(&other));
    let on = world.chat(&back(&other, "Observation: 2"));
    assert_eq!((on.why, &on.conversation), (PlacementReason::Retold, &second));
    let on = world.chat(&back(LOOKS, "Observation: 1"));
    assert_eq!((on.why, &on.conversation), (PlacementReason::Retold, &first));
    // Two that say the same cannot be: neither is joined.
    let mut world = World::default();
    let (one, two) = (world.chat(&begin), world.chat(&begin));
    world.answer(one, &says(LOOKS));
    world.answer(two, &says(LOOKS));
    assert_eq!(world.chat(&back(LOOKS, "Observation: 1")).why, PlacementReason::New);
    // Other instructions, other tools, another key: another agent that was asked the same.
    let mut world = World::default();
    let first = world.chat(&begin);
    world.answer(first, &says(LOOKS));
    let mut strange = back(LOOKS, "Observation: 1");
    let tool = json!([{ "type": "function", "function": { "name": "x", "parameters": {} } }]);
    let body = json!({ "model": "m", "messages": strange.clone(), "tools": tool });
    assert_eq!(world.ask(&How::default(), &body).why, PlacementReason::New);
    let body = json!({ "model": "m", "messages": strange.clone() });
    assert_eq!(world.ask(&How { caller: 2, ..How::default() }, &body).why, PlacementReason::New);
    strange[0] = system("other");
    assert_eq!(world.chat(&strange).why, PlacementReason::New);
}

#[test]
fn an_answer_that_another_one_begins_with_does_not_take_its_next_request() {
    let mut world = World::default();
    let (brief, long) = ("Thought: look", LOOKS);
    let observed = format!("{long}\nObservation: 21 in Lisbon");
    // The agent whose answer goes on failed to be heard to its end.
    let second = goes_on(&mut world, brief, &[assistant(&observed), user("Go on.")]);
    assert_eq!(second.why, PlacementReason::New);
    // What a front end puts behind each answer is none of a framework's either.
    let mut world = World::default();
    let second = goes_on(&mut world, "No", &[assistant("No, made by a model"), user("And now?")]);
    assert_eq!(second.why, PlacementReason::New);
}

#[test]
fn i7_so_much_is_compared_for_one_request_and_no_more() {
    // Each call is looked for in the whole text.
    for (count, why) in [(24, PlacementReason::Retold), (28, PlacementReason::New)] {
        let mut world = World::default();
        let ids: Vec<String> = (0..count).map(|at| format!("call_{at:012}")).collect();
        let written: Vec<_> = ids.iter().map(|id| (id.as_str(), "weather", "{}")).collect();
        let first = world.chat(&json!([system("s"), user("go")]));
        world.answer(first, &calls(&written));
        let text = format!("Calling tools: {} {}", ids.join(" weather "), "word ".repeat(32_000));
        let next = world.chat(&json!([system("s"), user("go"), assistant(&text), user("Observation: 21")]));
        assert_eq!(next.why, why, "{count}");
    }
}

/// What smolagents' `ToolCallingAgent` puts behind the last words in the place of an answer whose tool raised an exception.
fn raised(before: &str, tool: &str, city: &str) -> String {
    format!(
        "{before}\nError:\nError executing tool '{tool}' with arguments {{'city': '{city}'}}: ValueError: no such city\nPlease try again or use another tool\nNow let's retry: take care not to repeat previous errors!\n"
    )
}

#[test]
fn a_tool_that_raised_has_failed_and_its_run_goes_on() {
    let mut world = World::default();
    let first = world.chat(&json!([system("s"), user("New task:\nWeather?")]));
    world.answer(first, &calls(&[PARIS]));
    world.wait(300);
    let grown = raised("New task:\nWeather?", "weather", "Paris");
    let second = world.chat(&json!([system("s"), user(&grown)]));
    assert_eq!((second.why, second.is_new), (PlacementReason::ToolFailed, false));
    let tool = tools(world.only())[0].1.clone();
    assert_eq!((tool.state, tool.latency_ms()), (ToolState::Error, Some(300)));
    let told = tool.result.as_ref().unwrap().to_text().into_owned();
    assert!(told.starts_with("Error executing tool 'weather'") && told.contains("no such city"), "{told}");
    // It fails again, and then a call brings its result as text.
    let again = ("call_c6hL4pS7zNw2", "weather", r#"{"city": "Oslo"}"#);
    world.answer(second, &calls(&[again]));
    let grown = raised(&grown, "weather", "Oslo");
    let third = world.chat(&json!([system("s"), user(&grown)]));
    assert_eq!(third.why, PlacementReason::ToolFailed);
    world.answer(third, &calls(&[ROME]));
    let text = format!("Calling tools:\n[{{'id': '{}', 'function': {{'name': 'weather'}}}}]", ROME.0);
    let history = json!([system("s"), user(&grown), assistant(&text), user("Observation:\nrain")]);
    let fourth = world.chat(&history);
    assert_eq!(fourth.why, PlacementReason::Retold);
    world.answer(fourth, &says("rain"));
    let view = world.only();
    let states: Vec<_> = tools(view).iter().map(|(_, tool)| tool.state).collect();
    assert_eq!(states, [ToolState::Error, ToolState::Error, ToolState::Complete]);
    assert_eq!((runs(view).len(), runs(view)[0].status), (1, RunStatus::Complete));
    let said: Vec<_> = messages(view).into_iter().map(|(_, text)| text).collect();
    assert_eq!(said, ["s", "New task:\nWeather?", "Observation:\nrain"]);
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
}

#[test]
fn a_request_that_grew_is_another_loop_unless_it_names_a_tool_that_was_called_there() {
    let begin = || json!([system("s"), user("Weather?")]);
    for (grown, instructions) in [
        ("Weather?\nAnd Rome?".to_owned(), "s"),
        (raised("Weather?", "look_up", "Paris"), "s"),
        (raised("Weather? Now!", "weather", "Paris"), "s"),
        (raised("Weather?", "weather", "Paris"), "others"),
    ] {
        let mut world = World::default();
        let first = world.chat(&begin());
        world.answer(first, &calls(&[PARIS]));
        let second = world.chat(&json!([system(instructions), user(&grown)]));
        assert_eq!(second.why, PlacementReason::New, "{grown}");
    }
    // Two that wait for the same tool cannot be told apart, and of an answer without calls no tool can have failed.
    let mut world = World::default();
    let (one, two) = (world.chat(&begin()), world.chat(&begin()));
    world.answer(one, &calls(&[PARIS]));
    world.answer(two, &calls(&[ROME]));
    let grown = json!([system("s"), user(&raised("Weather?", "weather", "Paris"))]);
    assert_eq!(world.chat(&grown).why, PlacementReason::New);
    let mut world = World::default();
    let first = world.chat(&begin());
    world.answer(first, &says("sunny"));
    assert_eq!(world.chat(&grown).why, PlacementReason::New);
}
