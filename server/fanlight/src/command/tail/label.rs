//! What people made of a conversation, as one line.

use model::event::LabelChange;

/// The line of a change: who, and what; `label` without anything that changed.
pub(super) fn line(change: &LabelChange) -> String {
    let LabelChange { title, pinned, archived, tags, note, rating, by } = change;
    let mut words = Vec::new();
    let yes = |is_on: bool, on: &str, off: &str| if is_on { on.to_owned() } else { off.to_owned() };
    words.extend(title.as_deref().map(|title| {
        if title.trim().is_empty() {
            "title taken back".to_owned()
        } else {
            format!("title \u{201c}{title}\u{201d}")
        }
    }));
    words.extend(pinned.map(|is_on| yes(is_on, "pinned", "no longer pinned")));
    words.extend(archived.map(|is_on| yes(is_on, "archived", "unarchived")));
    words.extend(tags.as_ref().map(|tags| {
        if tags.is_empty() { "no tags".to_owned() } else { format!("tags {}", tags.join(", ")) }
    }));
    words.extend(note.as_deref().map(|note| {
        let first = note.lines().next().unwrap_or_default();
        if first.trim().is_empty() { "no note".to_owned() } else { format!("note: {first}") }
    }));
    words.extend(rating.as_ref().map(|rating| {
        let run = rating.run.as_ref().map(|run| format!("run {}", run.as_str()));
        let of =
            run.or_else(|| rating.message.as_ref().map(|message| format!("message {}", message.as_str())));
        let word = rating.good.map_or("rating taken back", |good| if good { "good" } else { "bad" });
        let why = rating.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{} {word}{why}", of.unwrap_or_default())
    }));
    let by = by.as_deref().unwrap_or("label");
    if words.is_empty() { by.to_owned() } else { format!("{by}: {}", words.join(" · ")) }
}

#[cfg(test)]
mod tests {
    //! Tests of the words.

    use model::Kind;
    use model::event::parse_event;

    use super::*;

    fn of(event: &str) -> String {
        let Kind::Label(change) = parse_event(event).unwrap().kind else { panic!("no label") };
        line(&change)
    }

    #[test]
    fn a_change_is_said_in_a_line() {
        assert_eq!(
            of(
                r#"{"k":"label","title":"Import","pinned":true,"tags":["a","b"],"note":"one\ntwo","by":"ann"}"#
            ),
            "ann: title \u{201c}Import\u{201d} · pinned · tags a, b · note: one"
        );
        assert_eq!(
            of(r#"{"k":"label","title":"","archived":false,"tags":[],"note":""}"#),
            "label: title taken back · unarchived · no tags · no note"
        );
        assert_eq!(
            of(r#"{"k":"label","rating":{"run":"r7","good":false,"why":"wrong table"},"by":"bob"}"#),
            "bob: run r7 bad: wrong table"
        );
        assert_eq!(of(r#"{"k":"label","rating":{"message":"m"}}"#), "label: message m rating taken back");
        assert_eq!(of(r#"{"k":"label"}"#), "label");
    }
}
