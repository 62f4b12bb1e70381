//! Tests of what is said, and when.

use super::*;

fn row(name: &str, approvals: u64) -> ConversationRow {
    let row = format!(
        r#"{{"conversation":"{name}","title":null,"state":"running","activity":null,"epoch":"e","head":1,
        "started_at":1,"ended_at":null,"at":1,"runs":1,"tools":0,"failed":0,"approvals":{approvals},"agents":0,"anomalies":0}}"#
    );
    serde_json::from_str(&row).unwrap()
}

#[test]
fn one_message_is_said_in_three_seconds() {
    let mut speech = Speech::default();
    assert_eq!(speech.next(0), Next::Rest);
    for words in ["a", "a", "b", ""] {
        speech.add(words.to_owned());
    }
    assert_eq!(speech.next(10), Next::Say("a".to_owned()));
    assert_eq!(speech.next(11), Next::Wait(2_999));
    assert_eq!(speech.next(3_010), Next::Say("b".to_owned()));
    assert_eq!(speech.next(3_011), Next::Rest);
    // The clock may be set back; then it waits no longer than that.
    speech.add("c".to_owned());
    assert_eq!(speech.next(5), Next::Wait(GAP_MS));
}

#[test]
fn of_too_many_messages_the_newest_are_said() {
    let mut speech = Speech::default();
    for n in 0..10 {
        speech.add(n.to_string());
    }
    let said: Vec<Next> = (0..5).map(|n| speech.next(n * GAP_MS)).collect();
    let say = |words: &str| Next::Say(words.to_owned());
    assert_eq!(said, [say("6"), say("7"), say("8"), say("9"), Next::Rest]);
}

#[test]
fn only_what_begins_to_wait_is_said() {
    let mut asking = Asking::default();
    assert_eq!(asking.hear([row("old", 1)].iter()), None, "it is there to be read");
    let more = [row("old", 1), row("a", 1), row("b", 0)];
    assert_eq!(asking.hear(more.iter()), Some("Needs approval: a".to_owned()));
    assert_eq!(asking.hear(more.iter()), None);
    assert_eq!(
        asking.hear([row("old", 2), row("b", 1)].iter()),
        Some("2 conversations need approval".to_owned())
    );
    assert_eq!(asking.hear([row("old", 1), row("b", 1)].iter()), None);
}

#[test]
fn going_from_a_conversation_that_runs_to_one_that_is_over_ends_nothing() {
    assert!(has_ended(Some(&("a", true)), &("a", false)));
    assert!(!has_ended(Some(&("a", true)), &("b", false)));
    assert!(!has_ended(Some(&("a", false)), &("a", false)) && !has_ended(None, &("a", false)));
    assert!(!has_ended(Some(&("a", true)), &("a", true)));
}

#[test]
fn a_failure_says_how_long_it_took() {
    assert_eq!(failure("run_sql", Some(4_020)), "run_sql failed after 4 seconds");
    assert_eq!(failure("run_sql", Some(61_000)), "run_sql failed after 1 minute 1 second");
    assert_eq!(failure("run_sql", Some(3_600_000)), "run_sql failed after 1 hour");
    assert_eq!(failure("run_sql", Some(300)), "run_sql failed");
    assert_eq!(failure("run_sql", None), "run_sql failed");
}
