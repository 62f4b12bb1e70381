//! What conversations are called, and what is left out of their names.

use super::*;

#[test]
fn instructions_in_the_middle_are_no_title() {
    let mut world = World::default();
    let how = How { api: ModelApi::Anthropic, ..How::default() };
    let content = json!([{ "type": "text", "text": "<system-reminder>It is noon.</system-reminder>" },
        { "type": "text", "text": "Hi" }]);
    let messages = json!([{ "role": "user", "content": content },
        { "role": "system", "content": "Available agent types for the Agent tool: many" }]);
    world.ask(&how, &json!({ "model": "m", "messages": messages }));
    assert_eq!(world.only().title.as_deref(), Some("Hi"));
}

#[test]
fn what_is_asked_now_is_the_title_and_not_an_example_before_it() {
    let mut world = World::default();
    world.chat(&json!([
        system("s"),
        user("Change the greeting."),
        assistant("Ok, I will."),
        user("I switched to a new code base."),
        assistant("Ok."),
        user("Fix the build.")
    ]));
    assert_eq!(world.only().title.as_deref(), Some("Fix the build."));
    // Results are no question.
    let mut world = World::default();
    world.chat(&json!([user("Weather?"), called(&[PARIS]), gave(PARIS.0, "sun")]));
    assert_eq!(world.only().title.as_deref(), Some("Weather?"));
}

#[test]
fn a_session_that_begins_with_a_request_for_a_title_is_named_by_the_question() {
    let mut world = World::default();
    let how = How { session: Some("ses_de6c91855ffexTmQKqQzCazvnG"), ..How::default() };
    let asks = json!([
        system("You are a title generator."),
        user("Generate a title for this conversation:\n"),
        user("Fix it.")
    ]);
    let first = world.ask(&how, &json!({ "model": "m", "messages": asks }));
    assert_eq!(world.only().title, None);
    world.answer(first, &says("Repairs"));
    let tool = json!([{ "type": "function", "function": { "name": "x", "parameters": {} } }]);
    let body = |text: &str| json!({ "model": "m", "tools": tool, "messages": [system("s"), user(text)] });
    let main = world.ask(&how, &body("Fix it."));
    assert_eq!(world.only().title.as_deref(), Some("Fix it."));
    world.answer(main, &says("done"));
    // A sub-agent of the session changes nothing.
    world.ask(&how, &body("A part of it."));
    assert_eq!(world.only().title.as_deref(), Some("Fix it."));
}
