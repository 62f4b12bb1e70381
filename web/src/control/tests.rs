//! Tests of commands and their answers, drafts, turns.

use model::event::RunStatus;
use model::{Envelope, Position};

use super::*;
use crate::search::help_of;

fn view(lines: &[&str]) -> View {
    let mut view = View::default();
    for (seq, line) in (1..).zip(lines) {
        let mut envelope = Envelope::parse(line).unwrap();
        (envelope.seq, envelope.at) = (seq, 1_000 + seq);
        model::fold::fold(&mut view, &envelope, &mut |_| {});
    }
    view
}

fn conversation(name: &str) -> ConversationId {
    ConversationId::parse(name).unwrap()
}

fn say(text: &str) -> CommandAction {
    CommandAction::Say { agent: "helper".into(), text: text.to_owned(), files: Vec::new() }
}

fn done(id: &str) -> ServerFrame {
    let after = Position { epoch: model::Epoch::new("e"), seq: 1 };
    ServerFrame::Done(Done { id: id.into(), conversation: conversation("c"), run: None, after })
}

fn refused(id: &str, code: ErrorCode) -> ServerFrame {
    ServerFrame::Refused { id: id.into(), code, message: "no agent is named that.".to_owned() }
}

const HELLO: &str = r#"{"k":"message","message":"m1","role":"user","text":"Hello"}"#;
const RUN: [&str; 6] = [
    r#"{"k":"run.start","run":"r","dialect":"runner","name":"helper","by_hub":true}"#,
    r#"{"k":"tool.call","run":"r","tool":"t","name":"look","arguments":"{}"}"#,
    r#"{"k":"tool.result","run":"r","tool":"t","output":"no","is_error":true,"exec_ms":1200}"#,
    r#"{"k":"part.start","run":"r","part":"p","kind":"text"}"#,
    r#"{"k":"part.delta","run":"r","part":"p","text":"Hi."}"#,
    r#"{"k":"run.end","run":"r","status":"complete"}"#,
];

#[test]
fn what_is_said_is_shown_until_the_true_message_is_there() {
    let (c, mut control) = (conversation("c"), Control::default());
    let before = view(&[HELLO]);
    let at = At::Composer(c.clone());
    control.give(at.clone(), c.clone(), "1", say("Hello"), &before);
    assert_eq!(control.unheard(&c, &before), ["Hello"], "the one that was there is another one");
    assert!(control.is_waiting(&at));
    let came = control.take(&done("1")).unwrap();
    assert!(came.at == at && came.done.is_some() && !control.is_waiting(&at));
    assert_eq!(control.unheard(&c, &before), ["Hello"], "its event is still on the way");
    let after = view(&[HELLO, &HELLO.replace("m1", "m2")]);
    assert_eq!(control.unheard(&c, &after), Vec::<String>::new());
    control.give(at, c, "2", say("Bye"), &after);
    assert_eq!(control.given.len(), 1);
}

#[test]
fn what_has_no_answer_is_said_again_and_what_has_one_is_not() {
    let (c, mut control) = (conversation("c"), Control::default());
    let at = At::Composer(c.clone());
    let frame = control.give(at.clone(), c, "1", say("Hello"), &View::default());
    assert_eq!(control.again(), [frame]);
    control.take(&done("1"));
    assert_eq!(control.again(), []);
    assert_eq!(control.take(&done("1")).map(|came| came.at), Some(at), "it came twice");
    assert_eq!(control.take(&done("9")), None);
    assert_eq!(control.take(&ServerFrame::Unknown), None);
}

#[test]
fn what_is_refused_is_told_where_it_was_given_and_the_text_comes_back() {
    let (c, mut control) = (conversation("c"), Control::default());
    let at = At::Composer(c.clone());
    control.give(at.clone(), c.clone(), "1", say("Hello"), &View::default());
    control.keep_draft(Some(&c), "and more");
    let came = control.take(&refused("1", ErrorCode::UnknownAgent));
    assert_eq!(came, Some(CommandOutcome { at: at.clone(), done: None }));
    let told = control.trouble(&at).unwrap();
    let words = "No agent is named that. Choose another agent.";
    assert_eq!(help_of(told), (words, Some("/help/protocol#code-unknown_agent")));
    assert_eq!(control.draft(Some(&c)), "Hello\n\nand more");
    assert_eq!(control.unheard(&c, &View::default()), Vec::<String>::new());
    control.give(at.clone(), c.clone(), "2", say("Hello"), &View::default());
    assert_eq!(control.trouble(&at), None);
    let run = At::Run(RunId::new("r"));
    control.give(run.clone(), c, "3", CommandAction::Stop { run: None }, &View::default());
    control.take(&refused("3", ErrorCode::Internal));
    assert_eq!(control.trouble(&run).map(|told| help_of(told).0), Some("No agent is named that."));
    control.give(run.clone(), conversation("c"), "4", CommandAction::Stop { run: None }, &View::default());
    control.take(&refused("4", ErrorCode::ConsentMismatch));
    assert_eq!(control.trouble(&run), Some("The arguments changed; look again."));
}

#[test]
fn drafts_are_kept_for_each_conversation() {
    let (c, mut control) = (conversation("c"), Control::default());
    control.keep_draft(Some(&c), "one");
    control.keep_draft(None, "new");
    assert_eq!((control.draft(Some(&c)), control.draft(None)), ("one".to_owned(), "new".to_owned()));
    control.keep_draft(Some(&c), "");
    assert_eq!(control.draft(Some(&c)), "");
    for n in 0..=DRAFTS_MAX {
        control.keep_draft(Some(&conversation(&n.to_string())), "x");
    }
    assert_eq!(control.drafts.len(), DRAFTS_MAX);
}

#[test]
fn who_answers_is_who_was_chosen_then_who_answered_last_then_the_first() {
    let all = agents(
        r#"{"agents":[{"name":"a","kind":"runner","dialect":"runner","model":"m"},{"name":"helper","kind":"runner","dialect":"runner"}]}"#,
    );
    assert_eq!(all.len(), 2);
    let (empty, used) = (View::default(), view(&RUN));
    assert_eq!(answers(&all, Some("helper"), &empty), Some("helper"));
    assert_eq!(answers(&all, Some("gone"), &used), Some("helper"));
    assert_eq!(answers(&all, None, &empty), Some("a"));
    assert_eq!(answers(&[], None, &used), None);
    assert_eq!(agents("<html>"), []);
    assert_eq!(going(&used, &all), None);
    let goes_on = view(&RUN[..2]);
    assert_eq!(going(&goes_on, &all), Some(&RunId::new("r")));
    let far = [Agent { dialect: "agno".to_owned(), ..all[1].clone() }];
    assert_eq!(going(&goes_on, &far), None, "a run of another one of that name");
    let forged = RUN[0].replace(r#","by_hub":true"#, "");
    let forged = view(&[&forged, RUN[1]]);
    assert!(!is_ours(&forged.runs[0], &all) && !is_own(&forged.runs[0]), "anybody can use its name");
    assert_eq!(
        (going(&forged, &all), answers(&all, None, &forged)),
        (None, None),
        "nobody is chosen by their names"
    );
    assert_eq!(answers(&all, Some("a"), &forged), Some("a"));
    assert_eq!(used.runs[0].status, RunStatus::Complete);
}

#[test]
fn edited_arguments_are_an_object() {
    assert!(edited(r#"{"a":1}"#).is_ok());
    assert_eq!(edited("[1]"), Err("Arguments must be an object: {…}".to_owned()));
    assert!(edited(r#"{"a":}"#).unwrap_err().contains("column 6"));
}

#[test]
fn the_answer_to_a_question_is_json_or_words() {
    let asks = |dialect: &str, tool: &str| {
        let run =
            format!(r#"{{"k":"run.start","run":"r","name":"far","dialect":"{dialect}","by_hub":true}}"#);
        is_question(&view(&[&run]).runs[0], &ToolCallId::new(tool))
    };
    assert!(asks("langgraph", "question-i1"));
    assert!(!asks("langgraph", "call_1"), "a tool may be called question");
    assert!(!asks("runner", "question-i1"));
    assert_eq!(answer("{\"age\": 7}"), serde_json::json!({"age": 7}));
    assert_eq!(answer(" forty-two \n"), serde_json::json!("forty-two"));
}

#[test]
fn a_turn_is_what_was_asked_and_all_that_came_of_it() {
    let lines: Vec<&str> = [HELLO].into_iter().chain(RUN).collect();
    let two = r#"{"k":"message","message":"m2","role":"user","text":"And?"}"#;
    let view = view(&[lines.as_slice(), &[two]].concat());
    let (m1, m2) = (MessageId::new("m1"), MessageId::new("m2"));
    assert_eq!(turn(&view, &m1), "**user**\n\nHello\n\n**helper**\n\n- `look` (error, 1.2 s)\n\nHi.\n");
    assert_eq!(turn(&view, &m2), "**user**\n\nAnd?\n");
    assert_eq!((turn_after(&view, &m1), turn_after(&view, &m2)), (Some(m2), None));
}

#[test]
fn what_was_said_inside_a_run_belongs_to_its_turn() {
    let lines = [
        HELLO,
        r#"{"k":"run.start","run":"r","dialect":"runner","name":"helper","by_hub":true}"#,
        r#"{"k":"message","message":"m2","role":"user","text":"Shorter!","run":"r"}"#,
        r#"{"k":"part.delta","run":"r","part":"p","text":"Hi."}"#,
        r#"{"k":"run.end","run":"r","status":"complete"}"#,
        r#"{"k":"message","message":"m3","role":"user","text":"And?"}"#,
    ];
    let view = view(&lines);
    let inside = "**helper**\n\nHi.\n\n**user**\n\nShorter!\n";
    assert_eq!(turn(&view, &MessageId::new("m1")), format!("**user**\n\nHello\n\n{inside}"));
    assert_eq!(turn(&view, &MessageId::new("m2")), inside);
}

#[test]
fn a_new_conversation_is_named_after_what_is_said() {
    let name = |text: &str| name_for("", text, 36 * 36 * 36 + 1).unwrap().to_string();
    assert_eq!(name("How did revenue change, and why?"), "how-did-revenue-change-and-1001");
    assert_eq!(name("…"), "1001");
    assert_eq!(name("größe 漢字/x"), "größe-漢字-x-1001");
    assert!(name(&"ﷺ".repeat(500)).len() < 120);
}

#[test]
fn a_new_conversation_begins_as_the_grant_of_the_reader_says() {
    let name = name_for("team-", "Hello there", 0).unwrap();
    assert_eq!(name.to_string(), "team-hello-there-0000");
}
