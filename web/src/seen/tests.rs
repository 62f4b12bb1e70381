//! Tests of what counts as seen.

use super::*;

fn id(name: &str) -> ConversationId {
    ConversationId::parse(name).unwrap()
}

fn row(name: &str, head: u64, at: u64) -> ConversationRow {
    let row = format!(
        r#"{{"conversation":"{name}","title":null,"state":"error","activity":null,"epoch":"e","head":{head},
        "started_at":1,"ended_at":2,"at":{at},"runs":1,"tools":0,"failed":0,"approvals":0,"agents":0,"anomalies":0}}"#
    );
    serde_json::from_str(&row).unwrap()
}

fn position(seq: u64) -> Position {
    Position { epoch: Epoch::new("e"), seq }
}

#[test]
fn what_came_since_is_unread_and_a_failure_is_known_once_it_was_seen() {
    let mut seen = Seen::parse(None, 1_000);
    assert!(!seen.is_unread(&row("old", 5, 900)), "it was there before the reader");
    assert!(!seen.knows_end(&row("old", 5, 900)), "nobody has looked");
    assert!(seen.is_unread(&row("new", 5, 1_100)));
    assert!(seen.see(&id("new"), &position(5), 1_100));
    assert!(!seen.see(&id("new"), &position(5), 1_100));
    assert!(!seen.is_unread(&row("new", 5, 1_100)) && seen.knows_end(&row("new", 5, 1_100)));
    assert!(seen.is_unread(&row("new", 6, 1_200)) && !seen.knows_end(&row("new", 6, 1_200)));
    // After an unclean stop it goes on in another life; nothing came.
    let again = ConversationRow { epoch: Epoch::new("f"), ..row("new", 9, 1_100) };
    assert!(!seen.is_unread(&again));
}

#[test]
fn it_is_read_as_it_was_kept() {
    let mut seen = Seen::parse(None, 7);
    seen.see(&id("größe \"x\""), &position(3), 9);
    assert_eq!(Seen::parse(Some(&seen.text()), 99), seen);
    assert_eq!(Seen::parse(Some("no such thing"), 99), Seen { from: 99, ..Seen::default() });
}

#[test]
fn the_newest_are_remembered_and_what_is_older_counts_as_seen() {
    let mut seen = Seen::parse(None, 0);
    for n in 0..=SEEN_MAX as u64 {
        seen.see(&id(&n.to_string()), &position(1), 100 + n);
    }
    assert_eq!(seen.places.len(), SEEN_MAX);
    assert!(seen.knows_end(&row("0", 1, 100)) && !seen.is_unread(&row("0", 1, 100)));
    assert!(!seen.knows_end(&row("other", 1, 101)) && seen.is_unread(&row("0", 2, 700)));
}

#[test]
fn two_pages_of_one_reader_forget_nothing_of_each_other() {
    let (mut one, mut other) = (Seen::parse(None, 10), Seen::parse(None, 20));
    one.see(&id("a"), &position(5), 50);
    other.see(&id("a"), &position(3), 30);
    other.see(&id("b"), &position(1), 40);
    one.join(other);
    assert!(!one.is_unread(&row("a", 5, 50)) && !one.is_unread(&row("b", 1, 40)));
    assert_eq!(one.from, 10);
}
