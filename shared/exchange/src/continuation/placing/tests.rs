//! Tests of what of a history is new.

use compact_str::CompactString;
use model::event::{Event, Kind, Message, RunEnd, RunStart};
use model::{Envelope, MessageId, RunId};

use super::*;

/// A conversation: `u:text` is a message, `r:name` a run that is complete, `f:name` one that failed.
fn view(items: &[&str]) -> View {
    let mut view = View::default();
    for (number, item) in items.iter().enumerate() {
        let (kind, text) = item.split_once(':').unwrap();
        let mut add = |run: &RunId, kind: Kind| {
            let seq = view.seq + 1;
            let envelope = Envelope {
                event: Event::new(run, kind),
                seq,
                at: 1,
                producer_at: None,
                publisher: None,
                by_hub: false,
            };
            model::fold::fold(&mut view, &envelope, &mut |_change| {});
        };
        if kind == "u" {
            let message = MessageId::new(&number.to_string());
            add(
                &RunId::none(),
                Kind::Message(Message {
                    message,
                    role: "user".into(),
                    text: text.to_owned(),
                    files: Vec::new(),
                }),
            );
            continue;
        }
        let run = RunId::new(text);
        let status = if kind == "r" { RunStatus::Complete } else { RunStatus::Error };
        add(&run, Kind::RunStart(RunStart::default()));
        add(&run, Kind::RunEnd(RunEnd { status, ..RunEnd::default() }));
    }
    view
}

/// What a caller sends: `u:text`, `a:text`, `s:text`.
fn told(messages: &[&str]) -> Vec<Spoken> {
    let role = |kind: &str| match kind {
        "u" => CompactString::const_new("user"),
        "a" => CompactString::const_new("assistant"),
        _ => CompactString::const_new("system"),
    };
    let spoken = |message: &&str| {
        let (kind, text) = message.split_once(':').unwrap();
        Spoken { id: None, role: role(kind), text: text.to_owned(), files: Vec::new() }
    };
    messages.iter().map(spoken).collect()
}

fn run(name: &str, from: usize) -> Placing {
    Placing::Before(TopItem::Run(name.into()), from)
}

#[test]
fn a_history_that_has_grown_goes_on() {
    let known = view(&["u:One", "r:1"]);
    assert_eq!(
        place(&known, &told(&["s:Be brief", "u:One", "a:x", "u:Two"]), (Extent::Perhaps, false)),
        Placing::Rest(3)
    );
    assert_eq!(
        place(&known, &told(&["u:Two"]), (Extent::Perhaps, false)),
        Placing::Rest(0),
        "the history is left to the hub"
    );
    assert_eq!(
        place(&View::default(), &told(&["s:Be brief", "u:One"]), (Extent::Perhaps, false)),
        Placing::Rest(1)
    );
}

#[test]
fn what_failed_may_be_asked_again_and_what_was_answered_is_forked() {
    let twice = told(&["u:One"]);
    assert_eq!(place(&view(&["u:One", "f:1"]), &twice, (Extent::Perhaps, false)), Placing::Rest(1));
    assert_eq!(place(&view(&["u:One", "r:1"]), &twice, (Extent::Perhaps, false)), run("1", 1));
    assert_eq!(
        place(&view(&["u:One", "r:1"]), &twice, (Extent::Perhaps, true)),
        Placing::Rest(1),
        "it brought results"
    );
    assert_eq!(
        place(&view(&["u:One", "r:1", "u:Two", "r:2"]), &twice, (Extent::Perhaps, false)),
        run("1", 1)
    );
}

#[test]
fn a_history_that_went_another_way_is_forked_where_it_did() {
    let known = view(&["u:One", "r:1", "u:Two", "r:2"]);
    let edited = place(&known, &told(&["u:One", "a:x", "u:Zwei"]), (Extent::Perhaps, false));
    assert_eq!(edited, Placing::Before(TopItem::Message("2".into()), 2));
    let other = place(&known, &told(&["u:Eins", "a:x", "u:Zwei"]), (Extent::Perhaps, false));
    assert_eq!(other, Placing::Before(TopItem::Message("0".into()), 0));
}

#[test]
fn a_first_question_that_was_edited_is_a_fork_where_the_caller_sends_all_that_was_said() {
    let known = view(&["u:One", "r:1", "u:Two", "r:2"]);
    let edited = told(&["s:Be brief", "u:Eins"]);
    assert_eq!(place(&known, &edited, (Extent::Perhaps, false)), Placing::Rest(1), "it may be the next one");
    let first = Placing::Before(TopItem::Message("0".into()), 1);
    assert_eq!(place(&known, &edited, (Extent::All, false)), first);
    assert_eq!(place(&View::default(), &edited, (Extent::All, false)), Placing::Rest(1));
}
