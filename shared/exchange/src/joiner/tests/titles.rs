//! What conversations are called, and what is left out of their names.

use model::flow::turns;
use model::view::RunView;

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

/// What opencode sends before it asks: the request for a title, with the question behind it.
fn title_request() -> Value {
    let asks = [
        system("You are a title generator."),
        user("Generate a title for this conversation:\n"),
        user("Fix it."),
    ];
    json!({ "model": "small", "messages": asks })
}

/// What it asks next, with tools.
fn main_request(text: &str) -> Value {
    let tool = json!([{ "type": "function", "function": { "name": "x", "parameters": {} } }]);
    json!({ "model": "m", "tools": tool, "messages": [system("s"), user(text)] })
}

const OPENCODE: How<'static> = How {
    api: ModelApi::OpenAiChat,
    conversation: None,
    session: Some("ses_de6c91855ffexTmQKqQzCazvnG"),
    attempts_before: None,
    caller: 1,
    parent: None,
};

#[test]
fn a_request_for_a_title_gives_it_and_is_no_turn_of_the_conversation() {
    let mut world = World::default();
    let first = world.ask(&OPENCODE, &title_request());
    assert_eq!(world.only().title.as_deref(), Some("Fix it."), "until the model has made one");
    world.answer(first, &says("<think>Hm.</think>\n\"Repair of the build\"\n"));
    assert_eq!(world.only().title.as_deref(), Some("Repair of the build"));
    assert_eq!(messages(world.only()), []);
    assert_eq!(turns(world.only()), []);
    let main = world.ask(&OPENCODE, &main_request("Fix it."));
    let told = [("system".to_owned(), "s".to_owned()), ("user".to_owned(), "Fix it.".to_owned())];
    assert_eq!(messages(world.only()), told);
    world.answer(main, &says("done"));
    // A sub-agent of the session changes nothing.
    world.ask(&OPENCODE, &main_request("A part of it."));
    let view = world.only();
    assert_eq!(view.title.as_deref(), Some("Repair of the build"));
    // The call is counted: its run is there, with its model.
    let (made, work) = (runs(view)[0], runs(view)[1]);
    assert_eq!((made.status, made.model.as_deref(), made.items.len()), (RunStatus::Complete, Some("m"), 0));
    assert!(made.makes_title() && !work.makes_title());
    assert_eq!(work.answer(), "done");
}

#[test]
fn a_title_that_comes_while_the_agent_works_leads_nothing() {
    let mut world = World::default();
    let main = world.ask(&OPENCODE, &main_request("Fix it."));
    let title = world.ask(&OPENCODE, &title_request());
    assert_eq!(world.only().newest_run().and_then(|run| run.name.as_deref()), None);
    world.answer(main, &says("done"));
    world.answer(title, &says("Repair"));
    assert_eq!(world.only().title.as_deref(), Some("Repair"));
    assert_eq!(world.only().newest_run().map(RunView::answer).as_deref(), Some("done"));
    assert_eq!(messages(world.only()).len(), 2);
}

#[test]
fn a_title_that_cannot_be_made_leaves_the_question_and_says_why() {
    let mut world = World::default();
    let first = world.ask(&OPENCODE, &title_request());
    let answer = first.answer;
    world.answer_with(answer, 500, &json!({ "error": { "message": "no" } }), AnswerEnd::Whole);
    let view = world.only();
    assert_eq!(view.title.as_deref(), Some("Fix it."));
    assert!(view.runs[0].error.is_some() && !view.runs[0].makes_title(), "a failure is shown");
}

#[test]
fn who_asks_for_a_title_outside_of_a_session_asks_a_question() {
    let mut world = World::default();
    let asked = world.ask(&How::default(), &title_request());
    world.answer(asked, &says("Repair"));
    assert_eq!(messages(world.only()).len(), 3);
    assert_eq!(runs(world.only())[0].answer(), "Repair");
}
