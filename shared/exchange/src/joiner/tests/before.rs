//! What a conversation is known by from before: the hub has it already, from another life or another publisher.

use super::*;

#[test]
fn a_named_conversation_that_the_hub_has_already_is_not_told_its_history_again() {
    let mut world = World::default();
    let how = How { conversation: Some("mine"), ..How::default() };
    let body = json!({ "model": "m", "messages": [system("s"), user("one"), assistant("1"), user("two")] });
    let first = world.ask(&how, &body);
    assert_eq!(first.history, 0..3, "all but the news");
    assert_eq!(messages(world.only()).len(), 4);
    let body = json!({ "model": "m", "messages": [user("other"), assistant("x"), user("more")] });
    let second = world.ask(&how, &body);
    assert_eq!(second.why, PlacementReason::New);
    assert_eq!(messages(world.only()).len(), 5, "only the news of another loop");
    let unnamed = world.ask(&How::default(), &body);
    assert_eq!(unnamed.history, 0..0);
    assert_eq!(messages(world.view(&unnamed.conversation)).len(), 3);
}

#[test]
fn after_a_restart_a_named_conversation_gets_its_results_all_the_same() {
    let mut world = World::default();
    let how = How { conversation: Some("mine"), ..How::default() };
    let body = |messages: Value| json!({ "model": "m", "messages": messages });
    let first = world.ask(&how, &body(json!([system("s"), user("go")])));
    world.answer(first, &calls(&[PARIS]));
    world.restart();
    world.wait(400);
    let second =
        world.ask(&how, &body(json!([system("s"), user("go"), called(&[PARIS]), gave(PARIS.0, "sun")])));
    assert_eq!(second.why, PlacementReason::Awaited);
    world.answer(second, &says("Sun."));
    world.restart();
    let history = json!([
        system("s"),
        user("go"),
        called(&[PARIS]),
        gave(PARIS.0, "sun"),
        assistant("Sun."),
        user("Ah.")
    ]);
    let third = world.ask(&how, &body(history));
    assert_eq!(third.why, PlacementReason::New);
    world.answer(third, &says("Yes."));
    let view = world.only();
    assert_eq!(runs(view).iter().map(|run| run.answer()).collect::<Vec<_>>(), ["Sun.", "Yes."]);
    assert_eq!((tools(view).len(), tools(view)[0].1.latency_ms()), (1, Some(400)));
    let told: Vec<_> = messages(view).into_iter().map(|(_, text)| text).collect();
    assert_eq!(told, ["s", "go", "Ah."]);
    assert_eq!(view.anomalies.total, 0, "{:?}", view.anomalies);
}

#[test]
fn what_a_conversation_has_from_before_is_not_told_again() {
    let mut world = World::default();
    let how = How { conversation: Some("mine"), ..How::default() };
    let body = |messages: &[Value]| json!({ "model": "m", "messages": messages });
    let mut history = vec![system("s"), user("one")];
    let first = world.ask(&how, &body(&history));
    world.answer(first, &says("1"));
    let said = |world: &World| messages(world.only()).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    for (number, (prompt, told)) in [("s", &[][..]), ("s", &[]), ("other", &["other"])].iter().enumerate() {
        // Forgotten by a stop, and by time.
        if number == 0 {
            world.restart();
        } else {
            world.wait(LOOP_REMEMBERED_MS);
        }
        let before = said(&world);
        history[0] = system(prompt);
        let news = format!("turn {number}");
        history.extend([assistant("1"), user(&news)]);
        let next = world.ask(&how, &body(&history));
        assert_eq!(next.why, PlacementReason::New);
        world.answer(next, &says("1"));
        let new = told.iter().copied().chain([news.as_str()]);
        assert_eq!(said(&world), before.iter().map(String::as_str).chain(new).collect::<Vec<_>>());
    }
    assert_eq!(runs(world.only()).len(), 4);
    assert_eq!(world.only().title.as_deref(), Some("one"));
}

#[test]
fn a_conversation_with_calls_from_before_is_not_told_its_prompt_again() {
    let mut world = World::default();
    let how = How { conversation: Some("mine"), ..How::default() };
    let body = |messages: Value| json!({ "model": "m", "messages": messages });
    let first = world.ask(&how, &body(json!([system("s"), user("go")])));
    world.answer(first, &calls(&[PARIS]));
    world.restart();
    let second = world.ask(&how, &body(json!([system("s"), user("something else")])));
    assert_eq!((second.why, second.is_new), (PlacementReason::New, false));
    world.answer(second, &says("1"));
    let told: Vec<_> = messages(world.only()).into_iter().map(|(_, text)| text).collect();
    assert_eq!(told, ["s", "go", "something else"]);
}

#[test]
fn results_in_a_history_are_said_by_tools_whatever_message_they_stand_in() {
    let mut world = World::default();
    let how = How { api: ModelApi::Anthropic, ..How::default() };
    let made = json!([{ "type": "tool_use", "id": "toolu_01Abc234", "name": "a", "input": {} }]);
    let back = json!([{ "type": "tool_result", "tool_use_id": "toolu_01Abc234", "content": "sun" },
        { "type": "text", "text": "Mind the time." }]);
    let messages = json!([{ "role": "user", "content": "go" }, { "role": "assistant", "content": made },
        { "role": "user", "content": back }]);
    world.ask(&how, &json!({ "model": "m", "messages": messages }));
    let told = super::messages(world.only());
    assert_eq!(
        told[2..],
        [("tool".to_owned(), "sun".to_owned()), ("user".to_owned(), "Mind the time.".to_owned())]
    );
}

#[test]
fn a_conversation_that_is_only_looked_at_is_told_its_history() {
    let mut world = World::default();
    world.views.insert(String::from("mine"), model::view::View::default());
    let how = How { conversation: Some("mine"), ..How::default() };
    let body = json!({ "model": "m", "messages": [user("one"), assistant("1"), user("two")] });
    let placement = world.ask(&how, &body);
    world.answer(placement, &says("2"));
    assert_eq!(messages(world.only()).len(), 3);
}
