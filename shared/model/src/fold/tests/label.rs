//! What becomes of labels: the last change of each field counts, within the bounds.

use proptest::prelude::*;

use super::view_of;
use crate::event::{Kind, LabelChange, Rating};
use crate::ids::RunId;
use crate::limits::{LABEL_NOTE_BYTES_MAX, LABEL_TAGS_MAX, RATINGS_MAX};
use crate::testkit::{folded, history};
use crate::view::ConversationLabels;

proptest! {
    /// Of each field of a label the last change counts, whatever else happens in between.
    #[test]
    fn the_last_change_of_each_field_of_a_label_counts(history in history(1..120)) {
        let mut wanted = ConversationLabels::default();
        for envelope in &history {
            let Kind::Label(change) = &envelope.event.kind else { continue };
            let LabelChange { title, pinned, archived, tags, note, rating, by } = LabelChange::clone(change);
            let mut ratings = std::mem::take(&mut wanted.ratings);
            if let Some(rating) = rating {
                let place = ratings.iter().position(|other| other.is_of_same(&rating));
                let rated = rating.good.map(|_| Rating { by: by.clone(), ..rating });
                match place {
                    Some(place) => drop(ratings.splice(place..=place, rated).collect::<Vec<_>>()),
                    None => ratings.extend(rated),
                }
            }
            let text = |text: String| (!text.is_empty()).then_some(text);
            wanted = ConversationLabels {
                title: title.map_or(wanted.title, text),
                pinned: pinned.unwrap_or(wanted.pinned),
                archived: archived.unwrap_or(wanted.archived),
                tags: tags.unwrap_or(wanted.tags),
                note: note.map_or(wanted.note, text),
                ratings,
                by,
            };
        }
        prop_assert_eq!(folded(&history).label, wanted);
    }
}

#[test]
fn a_title_that_somebody_gave_counts_before_that_of_the_runs_until_it_is_taken_back() {
    let lines = r#"
        {"k":"label","title":"mine","by":"ann"}
        {"k":"run.start","run":"r","title":"theirs"}
        {"k":"status","run":"r","text":"x","tags":"of another type","pinned":[],"by":{"a":1}}
    "#;
    let view = view_of(lines);
    assert_eq!((view.headline().as_deref(), view.title.as_deref()), (Some("mine"), Some("theirs")));
    assert_eq!((view.runs.len(), view.anomalies.total, view.label.by.as_deref()), (1, 0, Some("ann")));
    let view = view_of(&format!("{lines}\n{}", r#"{"k":"label","title":"  "}"#));
    assert_eq!((view.headline().as_deref(), view.label.is_clear()), (Some("theirs"), true));
}

#[test]
fn i7_so_many_runs_are_rated_and_no_more_and_each_rating_can_be_taken_back() {
    let rate = |number: usize, good: &str| {
        format!("{{\"k\":\"label\",\"rating\":{{\"run\":\"r{number}\"{good}}}}}\n")
    };
    let many: String = (0..RATINGS_MAX + 9).map(|number| rate(number, ",\"good\":true")).collect();
    let label = view_of(&many).label;
    assert_eq!(label.ratings.len(), RATINGS_MAX);
    assert!(label.rating_of_run(&RunId::new("r0")).is_some());
    let label = view_of(&format!("{many}{}", rate(0, ""))).label;
    assert_eq!((label.ratings.len(), label.rating_of_run(&RunId::new("r0"))), (RATINGS_MAX - 1, None));
}

#[test]
fn i7_a_label_from_elsewhere_is_folded_within_its_bounds() {
    let tags: Vec<String> = (0..99).map(|number| format!("t{number}")).chain(["a b".to_owned()]).collect();
    let line = serde_json::json!({"k": "label", "note": "x".repeat(1 << 20), "tags": tags}).to_string();
    let label = view_of(&line).label;
    assert_eq!((label.note.unwrap().len(), label.tags.len()), (LABEL_NOTE_BYTES_MAX, LABEL_TAGS_MAX));
}
