//! Tests of the places at which a history may have been answered.

use super::*;

/// `u:text`, `a:text`, `s:text`.
fn told(messages: &[&str]) -> Vec<Spoken> {
    let spoken = |message: &&str| {
        let (kind, text) = message.split_once(':').unwrap();
        let role = match kind {
            "u" => "user",
            "a" => "assistant",
            _ => "system",
        };
        Spoken { id: None, role: role.into(), text: text.to_owned(), files: Vec::new() }
    };
    messages.iter().map(spoken).collect()
}

/// The clue of a history that answers `messages` so.
fn clue(messages: &[&str], answer: Option<&str>) -> Clue {
    Clue { asked: asked("helper", &told(messages)).0, answer: answer.map(str::to_owned) }
}

#[test]
fn a_history_was_answered_at_its_last_answer_or_at_questions_that_have_none() {
    let clues = |messages: &[&str]| clues("helper", &told(messages));
    assert_eq!(clues(&["s:Be brief", "u:One"]), [], "whoever begins continues nothing");
    let one = clue(&["u:One"], Some("Anx"));
    let again = clue(&["u:One", "a:An x", "u:Two"], None);
    assert_eq!(clues(&["s:Be brief", "u:One", "a:An x", "u:Two"]), [again.clone(), one.clone()]);
    let third = clue(&["u:One", "a:An x", "u:Two", "u:Three"], None);
    assert_eq!(clues(&["u:One", "a:An x", "u:Two", "u:Three"]), [third, again, one]);
    assert_eq!(clues(&["u:One", "u:Two"]), [clue(&["u:One"], None)], "the first was stopped");
    assert_eq!(clues(&["u:One", "a:I", "a:ask"]), [clue(&["u:One"], Some("Iask"))], "with results of calls");
}

#[test]
fn of_many_questions_without_an_answer_the_newest_are_looked_at() {
    let many: Vec<String> = (0..100).map(|number| format!("u:{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let clues = clues("helper", &told(&many));
    assert_eq!(clues.len(), UNANSWERED_MAX);
    assert_eq!(clues.first(), Some(&clue(&many[..99], None)));
}

#[test]
fn white_space_tells_nothing_apart_and_agents_do() {
    let (one, before) = asked("helper", &told(&["u:On e", "a:I as"]));
    assert_eq!((one, before.as_str()), (asked("helper", &told(&["u:One"])).0, "Ias"));
    assert_ne!(one, asked("other", &told(&["u:One"])).0);
}
