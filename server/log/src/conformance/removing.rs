//! Cases of removed conversations, attached results, and retention.

use super::material::{BEGIN, append, append_with, events, id, read, settle, sized, stored};
use super::{LogUnderTest, cases};
use crate::{Attachment, LogError, Retention};

cases! {
    Passing:
        a_conversation_that_went_is_gone,
        a_name_begins_anew,
        others_stay,
        removing_what_is_not_there_is_nothing,
        a_purge_ends_and_takes_nothing_of_others,
        a_result_is_kept_beside_its_event,
        a_result_is_of_its_conversation_alone,
        a_result_goes_with_its_conversation;
    Lasting:
        a_removal_overtakes_nothing,
        a_large_result_is_kept_over_a_restart,
        a_rule_without_bounds_lets_all_stay,
        what_was_silent_too_long_goes,
        of_too_many_those_go_that_were_silent_longest,
        of_too_much_those_go_that_were_silent_longest,
        nothing_goes_that_is_held,
        so_many_go_at_once_and_no_more;
}

fn a_conversation_that_went_is_gone(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 30));
    trial.log().remove(&id("c"));
    settle(trial.log());
    assert_eq!(trial.log().read(&id("c"), 0, 10), Err(LogError::Unknown));
    assert!(trial.log().load(&id("c")).expect("readable").is_none());
    assert_eq!(trial.log().count(), 0);
}

fn a_name_begins_anew(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 30));
    trial.log().remove(&id("c"));
    append(trial.log(), "c", 0, &sized(1, 2, 9));
    settle(trial.log());
    assert_eq!(read(trial.log(), "c", 0), sized(1, 2, 9));
    assert_eq!(trial.log().count(), 1);
}

fn others_stay(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 3));
    append(trial.log(), "d", 0, &events(1, 4));
    trial.log().remove(&id("c"));
    settle(trial.log());
    assert_eq!(read(trial.log(), "d", 0), events(1, 4));
}

fn removing_what_is_not_there_is_nothing(trial: &mut LogUnderTest<'_>) {
    trial.log().remove(&id("x"));
    append(trial.log(), "c", 0, &events(1, 3));
    trial.log().remove(&id("x"));
    settle(trial.log());
    assert_eq!((trial.log().count(), read(trial.log(), "c", 0)), (1, events(1, 3)));
}

fn a_purge_ends_and_takes_nothing_of_others(trial: &mut LogUnderTest<'_>) {
    append(trial.log(), "c", 0, &events(1, 30));
    append(trial.log(), "d", 0, &events(1, 4));
    trial.log().remove(&id("c"));
    let purge = trial.log().purge(&id("c"));
    append(trial.log(), "c", 0, &sized(1, 2, 9));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(crate::purged(trial.log(), purge)).expect("purged");
    settle(trial.log());
    assert_eq!((read(trial.log(), "c", 0), read(trial.log(), "d", 0)), (sized(1, 2, 9), events(1, 4)));
}

/// Appends an event with a result.
fn attach(trial: &LogUnderTest<'_>, name: &str, after: u64, hash: &str, json: &str) {
    append_with(trial.log(), name, after, &events(after + 1, after + 1), |append| {
        append.attachments.push(Attachment { hash: hash.into(), json: json.into() });
    });
}

/// The result with this hash.
fn result(trial: &LogUnderTest<'_>, name: &str, hash: &str) -> Option<String> {
    trial.log().attachment(&id(name), hash).expect("readable").map(|json| json.to_string())
}

fn a_result_is_kept_beside_its_event(trial: &mut LogUnderTest<'_>) {
    attach(trial, "c", 0, "00ff", r#"{"rows":[1,2]}"#);
    attach(trial, "c", 1, "00ff", r#"{"rows":[1,2]}"#);
    attach(trial, "c", 2, "11ff", "\"a\\u0000b 漢\"");
    assert_eq!(result(trial, "c", "00ff").as_deref(), Some(r#"{"rows":[1,2]}"#));
    assert_eq!(result(trial, "c", "11ff").as_deref(), Some("\"a\\u0000b 漢\""));
    assert_eq!(result(trial, "c", "0000"), None);
    assert_eq!(result(trial, "x", "00ff"), None);
}

fn a_result_is_of_its_conversation_alone(trial: &mut LogUnderTest<'_>) {
    attach(trial, "c", 0, "00ff", "1");
    attach(trial, "d", 0, "00ff", "2");
    assert_eq!(
        (result(trial, "c", "00ff").as_deref(), result(trial, "d", "00ff").as_deref()),
        (Some("1"), Some("2"))
    );
}

fn a_result_goes_with_its_conversation(trial: &mut LogUnderTest<'_>) {
    attach(trial, "c", 0, "00ff", "1");
    trial.log().remove(&id("c"));
    settle(trial.log());
    assert_eq!(result(trial, "c", "00ff"), None);
    append(trial.log(), "c", 0, &events(1, 1));
    settle(trial.log());
    assert_eq!(result(trial, "c", "00ff"), None);
}

fn a_removal_overtakes_nothing(trial: &mut LogUnderTest<'_>) {
    for round in 1..20 {
        append(trial.log(), "c", 0, &events(1, round));
        if round % 3 == 0 {
            settle(trial.log());
        }
        trial.log().remove(&id("c"));
    }
    append(trial.log(), "c", 0, &events(1, 7));
    settle(trial.log());
    assert_eq!((read(trial.log(), "c", 0), trial.log().count()), (events(1, 7), 1));
    trial.restart();
    assert_eq!((read(trial.log(), "c", 0), trial.log().count()), (events(1, 7), 1));
}

fn a_large_result_is_kept_over_a_restart(trial: &mut LogUnderTest<'_>) {
    let json = format!("[{}]", "\"result\",".repeat(300_000).trim_end_matches(','));
    attach(trial, "c", 0, "00ff", &json);
    trial.restart();
    assert_eq!(result(trial, "c", "00ff"), Some(json));
}

/// Appends ten conversations with texts of `bytes` bytes; `c0` has been silent for the longest time.
fn ten(trial: &LogUnderTest<'_>, bytes: usize) {
    for n in 0..10 {
        let mut envelope = model::Envelope::clone(&super::material::status(1, "x".repeat(bytes)));
        envelope.at = BEGIN + n;
        append(trial.log(), &format!("c{n}"), 0, &[envelope.into()]);
    }
    settle(trial.log());
}

/// The conversations that expire by `rule` at the time of the newest event, while `held` is in use.
fn expired(trial: &LogUnderTest<'_>, rule: Retention, held: &str) -> Vec<String> {
    let going = trial.log().expired(&rule, BEGIN + 9, &|name| name.as_str() == held).expect("readable");
    going.into_iter().map(|name| name.to_string()).collect()
}

fn a_rule_without_bounds_lets_all_stay(trial: &mut LogUnderTest<'_>) {
    assert!(expired(trial, Retention { conversations: Some(0), ..Retention::default() }, "").is_empty());
    ten(trial, 10);
    assert!(expired(trial, Retention::default(), "").is_empty());
    let wide = Retention { age_ms: Some(1_000), bytes: Some(1 << 40), conversations: Some(10) };
    assert!(expired(trial, wide, "").is_empty());
}

fn what_was_silent_too_long_goes(trial: &mut LogUnderTest<'_>) {
    ten(trial, 10);
    let rule = Retention { age_ms: Some(6), ..Retention::default() };
    assert_eq!(expired(trial, rule, ""), ["c0", "c1", "c2"]);
}

fn of_too_many_those_go_that_were_silent_longest(trial: &mut LogUnderTest<'_>) {
    ten(trial, 10);
    let rule = Retention { conversations: Some(7), ..Retention::default() };
    assert_eq!(expired(trial, rule, ""), ["c0", "c1", "c2"]);
    for name in ["c0", "c1", "c2"] {
        trial.log().remove(&id(name));
    }
    settle(trial.log());
    assert!(expired(trial, rule, "").is_empty());
}

fn of_too_much_those_go_that_were_silent_longest(trial: &mut LogUnderTest<'_>) {
    ten(trial, 200_000);
    assert_eq!(expired(trial, Retention { bytes: Some(0), ..Retention::default() }, "").len(), 10);
    let some = expired(trial, Retention { bytes: Some(1_200_000), ..Retention::default() }, "");
    assert!((2..=8).contains(&some.len()), "{some:?}");
    assert_eq!(some.first().map(String::as_str), Some("c0"));
}

fn nothing_goes_that_is_held(trial: &mut LogUnderTest<'_>) {
    ten(trial, 10);
    let rule = Retention { conversations: Some(7), ..Retention::default() };
    assert_eq!(expired(trial, rule, "c1"), ["c0", "c2", "c3"]);
}

fn so_many_go_at_once_and_no_more(trial: &mut LogUnderTest<'_>) {
    for n in 0..250 {
        append(trial.log(), &format!("c{n:03}"), 0, &events(1, 1));
    }
    settle(trial.log());
    let going = expired(trial, Retention { conversations: Some(0), ..Retention::default() }, "");
    assert!((1..250).contains(&going.len()), "{}", going.len());
    stored(trial.log(), trial.log().sync());
}
