//! Tests of what is said, and when.

use super::*;

fn row(name: &str, approvals: u64) -> ConversationRow {
    row_at(name, approvals, 1)
}

fn row_at(name: &str, approvals: u64, at: u64) -> ConversationRow {
    let row = format!(
        r#"{{"conversation":"{name}","title":null,"state":"running","activity":null,"epoch":"e","head":1,
        "started_at":1,"ended_at":null,"at":{at},"runs":1,"tools":0,"failed":0,"approvals":{approvals},"agents":0,"anomalies":0}}"#
    );
    serde_json::from_str(&row).unwrap()
}

#[test]
fn one_message_is_said_in_three_seconds() {
    let mut speech = Speech::default();
    assert_eq!(speech.next(0), Next::Rest);
    for words in ["a", "a", "b", ""] {
        speech.add(words.to_owned(), About::Here);
    }
    assert_eq!(speech.next(10), Next::Say("a".to_owned()));
    assert_eq!(speech.next(11), Next::Wait(2_999));
    assert_eq!(speech.next(3_010), Next::Say("b".to_owned()));
    assert_eq!(speech.next(3_011), Next::Rest);
    // The clock may be set back; then it waits no longer than that.
    speech.add("c".to_owned(), About::Here);
    assert_eq!(speech.next(5), Next::Wait(GAP_MS));
    assert_eq!(speech.next(5 + GAP_MS), Next::Say("c".to_owned()));
}

#[test]
fn what_happened_in_a_conversation_is_not_said_in_another_one() {
    let mut speech = Speech::default();
    for (words, about) in
        [("said", About::Here), ("Copied", About::ReaderAction), ("look failed", About::Here)]
    {
        speech.add(words.to_owned(), about);
    }
    assert_eq!(speech.next(0), Next::Say("said".to_owned()));
    speech.leave();
    assert_eq!(speech.next(GAP_MS), Next::Say("Copied".to_owned()));
    assert_eq!(speech.next(GAP_MS * 2), Next::Rest);
}

#[test]
fn of_too_many_messages_the_newest_are_said() {
    let mut speech = Speech::default();
    for n in 0..10 {
        speech.add(n.to_string(), About::Here);
    }
    let said: Vec<Next> = (0..5).map(|n| speech.next(n * GAP_MS)).collect();
    let say = |words: &str| Next::Say(words.to_owned());
    assert_eq!(said, [say("6"), say("7"), say("8"), say("9"), Next::Rest]);
}

#[test]
fn only_what_begins_to_wait_is_said() {
    let mut asking = Asking::default();
    assert_eq!(asking.hear([row("old", 1)].iter(), None), None, "it is there to be read");
    let more = [row("old", 1), row("a", 1), row("b", 0)];
    assert_eq!(asking.hear(more.iter(), None), Some("Needs approval: a".to_owned()));
    assert_eq!(asking.hear(more.iter(), None), None);
    assert_eq!(
        asking.hear([row("old", 2), row("b", 1)].iter(), None),
        Some("2 conversations need approval".to_owned())
    );
    assert_eq!(asking.hear([row("old", 1), row("b", 1)].iter(), None), None);
}

#[test]
fn rows_that_only_come_into_the_list_are_no_news() {
    let (mut asking, end) = (Asking::default(), |name: &str, at| (at, ConversationId::parse(name).unwrap()));
    let newest = [row_at("a", 0, 90), row_at("b", 1, 50)];
    assert_eq!(asking.hear(newest.iter(), Some(&end("b", 50))), None);
    // The reader pages on, twice.
    let [a, b] = newest;
    let paged = [a.clone(), b.clone(), row_at("c", 2, 50), row_at("d", 0, 40)];
    assert_eq!(asking.hear(paged.iter(), Some(&end("d", 40))), None);
    let paged = [a.clone(), b.clone(), row_at("e", 1, 30)];
    assert_eq!(asking.hear(paged.iter(), Some(&end("e", 30))), None);
    // On a new socket there are only the newest again, and one of the others asks.
    let woken = [row_at("d", 1, 95), a.clone(), b.clone()];
    assert_eq!(asking.hear(woken.iter(), Some(&end("b", 50))), Some("Needs approval: d".to_owned()));
    assert_eq!(asking.hear([a, b, row_at("c", 2, 50)].iter(), Some(&end("c", 50))), None, "paged to again");
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
