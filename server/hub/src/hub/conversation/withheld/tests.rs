//! Tests of what is withheld: numbers, claims and acks stay what they are.

use event_log::MemoryLog;
use model::frame::Durability;
use model::{ConversationId, Epoch, PublisherId};
use redact::{Builtin, MarkKey, Redactor};

use super::*;
use crate::hub::{FrameNumbering, Numbers};

fn redactor() -> Redactor {
    Redactor::new(MarkKey::new([7; 32]), Builtin::default(), &[]).unwrap()
}

fn conversation() -> Conversation {
    Conversation::new(ConversationId::parse("c").unwrap(), Epoch::new("e"))
}

fn delta(publisher: &str, number: u64, run: &str, text: &str) -> Publication {
    let line = format!(r#"{{"k":"part.delta","run":"{run}","part":"p","text":"{text}"}}"#);
    let numbering = FrameNumbering {
        publisher: PublisherId::new(publisher),
        epoch: 1,
        numbers: Numbers::Events { first: number, last: number },
    };
    Publication {
        numbering: Some(numbering),
        level: Durability::Memory,
        ..Publication::of(vec![Envelope::received(&line).unwrap()])
    }
}

/// The text of the part of `run`.
fn text(conversation: &Conversation, run: &str) -> String {
    conversation.read_view(|view| {
        let run = view.runs.get(&RunId::new(run));
        run.and_then(|run| run.parts.values().next())
            .map(|part| part.body.text.to_string())
            .unwrap_or_default()
    })
}

#[test]
fn i9_i10_what_may_end_within_a_secret_waits_without_a_number_and_is_taken_once() {
    let (conversation, log, redactor) = (conversation(), MemoryLog::default(), redactor());
    let append = |mut it| conversation.append(&mut it, 1, &log, Some(&redactor)).unwrap();
    assert_eq!(append(delta("a", 1, "r", "see ")).withheld, None);
    let first = append(delta("a", 2, "r", "sk-proj-a1B2c3D4"));
    let ticket = first.withheld.unwrap();
    assert_eq!((conversation.head(), ticket.get()), (1, None), "nothing of it has a number");
    assert!(conversation.keep_marks().iter().all(|mark| mark.seq == 1), "and none was told to the log");
    // What comes again is a duplicate that waits too, and what is left out is a gap.
    let again = append(delta("a", 2, "r", "sk-proj-a1B2c3D4"));
    assert!(again.duplicate && again.withheld.unwrap().get().is_none());
    assert!(conversation.append(&mut delta("a", 4, "r", "x"), 1, &log, Some(&redactor)).is_err());
    // Another publisher in another run goes on, one in the same run waits behind.
    assert_eq!(append(delta("b", 1, "other", "hello")).withheld, None);
    assert!(append(delta("b", 2, "r", "e5F6g7H8i9J0")).withheld.is_some());
    let last = append(delta("a", 3, "r", " ok"));
    assert_eq!(last.withheld, None);
    assert!(ticket.get().is_some());
    let text = text(&conversation, "r");
    assert!(text.starts_with("see [redacted:openai-key:") && text.ends_with("] ok"), "{text}");
    let events = conversation.page(0, 100).unwrap().envelopes;
    assert!(events.iter().zip(1..).all(|(envelope, seq)| envelope.seq == seq), "I1");
    assert!(events.iter().all(|it| !serde_json::to_string(it).unwrap().contains("c3D4")));
}

#[test]
fn i7_what_waits_too_long_is_taken_for_a_secret() {
    let (conversation, log, redactor) = (conversation(), MemoryLog::default(), redactor());
    let append = |mut it, now| conversation.append(&mut it, now, &log, Some(&redactor)).unwrap();
    append(delta("a", 1, "r", "sk-proj-a1B2"), 10);
    let early = conversation.release_texts(9 + WITHHELD_MS, WithheldScope::Overdue, &log, &redactor);
    assert_eq!((early.any, early.next), (false, Some(10 + WITHHELD_MS)));
    assert!(conversation.release_texts(10 + WITHHELD_MS, WithheldScope::Overdue, &log, &redactor).any);
    append(delta("a", 2, "r", "c3D4 and"), 20);
    let text = text(&conversation, "r");
    assert!(text.starts_with("[redacted:openai-key:") && text.ends_with("] and"), "{text}");
}

#[test]
fn i7_so_many_publications_wait_and_no_more() {
    let (conversation, log, redactor) = (conversation(), MemoryLog::default(), redactor());
    for number in 1..=2 * WITHHELD_MAX as u64 {
        let mut next = delta("a", number, &format!("r{number}"), "sk-proj-a1B2");
        conversation.append(&mut next, 1, &log, Some(&redactor)).unwrap();
        assert!(conversation.state.lock().withheld.len() <= WITHHELD_MAX);
    }
}

impl Conversation {
    fn keep_marks(&self) -> Vec<PublisherMark> {
        self.state.lock().marks_without_withheld()
    }
}
