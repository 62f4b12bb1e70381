//! What people make of a conversation to keep their list in order: a title that they gave, whether it is pinned or archived, tags,
//! a note, and what they think of its runs. Only the hub writes these events, when somebody gives it the command `label` or `rate`.
//!
//! ```json
//! {"k": "label", "title": "Nightly import", "pinned": true, "tags": ["import", "prod"], "by": "ann"}
//! ```

use compact_str::CompactString;
use serde::Serialize;

use super::Rating;
use crate::limits::{
    LABEL_NOTE_BYTES_MAX, LABEL_TAG_CHARS_MAX, LABEL_TAGS_MAX, LABEL_TITLE_BYTES_MAX, NAME_BYTES_MAX,
};

/// A change of the labels of a conversation. Fields that are absent stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabelChange {
    /// The title that somebody gives it; empty to go back to the title that its runs say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether the conversation is pinned: it stands before the others in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<bool>,
    /// Whether the conversation is archived: the list leaves it out unless it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// All tags of the conversation, in order: single words, at most [`LABEL_TAGS_MAX`].
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<String>>"))]
    pub tags: Option<Vec<CompactString>>,
    /// A note about the conversation; empty for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A rating of a run or a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<Rating>,
    /// The name of the principal who changed it, where the hub knows names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub by: Option<CompactString>,
}

/// Why a change is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The change has no field that changes anything.
    #[error("it changes nothing: give at least one of `title`, `pinned`, `archived`, `tags` and `note`")]
    Nothing,
    /// A text is too long.
    #[error("`{field}` has {bytes} bytes, the limit is {max}")]
    TooLong {
        /// The name of the field that is too long.
        field: &'static str,
        /// The length of the text, in bytes.
        bytes: usize,
        /// The limit of its length, in bytes.
        max: usize,
    },
    /// A rating names neither a run nor a message, or both.
    #[error("a rating needs `run` or `message`, and not both")]
    RatesNothing,
    /// There are too many tags; the value is their number.
    #[error("`tags` has {0} tags, the limit is {LABEL_TAGS_MAX}")]
    TooManyTags(usize),
    /// A tag is not a single word; the value is its beginning.
    #[error(
        "`tags` has {0:?}, which is no tag: 1 to {LABEL_TAG_CHARS_MAX} characters without spaces and commas"
    )]
    BadTag(String),
}

impl LabelChange {
    /// Checks what somebody wants, and tidies it: spaces around texts go, a title becomes one line, and each tag comes once.
    pub fn checked(mut self) -> Result<Self, LabelError> {
        if self == (Self { by: self.by.clone(), ..Self::default() }) {
            return Err(LabelError::Nothing);
        }
        if let Some(rating) = &mut self.rating {
            rating.check()?;
        }
        if let Some(title) = &mut self.title {
            *title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            fits("title", title, LABEL_TITLE_BYTES_MAX)?;
        }
        if let Some(note) = &mut self.note {
            *note = note.trim().to_owned();
            fits("note", note, LABEL_NOTE_BYTES_MAX)?;
        }
        if let Some(tags) = self.tags.take() {
            let tags = distinct(tags.iter().map(|tag| CompactString::new(tag.trim())));
            if let Some(bad) = tags.iter().find(|tag| !is_tag(tag)) {
                return Err(LabelError::BadTag(bad.chars().take(40).collect()));
            }
            if tags.len() > LABEL_TAGS_MAX {
                return Err(LabelError::TooManyTags(tags.len()));
            }
            self.tags = Some(tags);
        }
        Ok(self)
    }

    /// Cuts texts that are too long, and drops tags that are not valid, whoever made the change. Calls `say` with a text for each field that was over
    /// its bound.
    pub(crate) fn cut(&mut self, mut say: impl FnMut(String)) {
        let bytes =
            |field: &str, bytes: usize, max: usize| format!("{field}: {bytes} bytes, the limit is {max}");
        let texts = [
            ("title", &mut self.title, LABEL_TITLE_BYTES_MAX),
            ("note", &mut self.note, LABEL_NOTE_BYTES_MAX),
        ];
        for (field, text, max) in texts {
            if let Some(text) = text.as_mut().filter(|text| text.len() > max) {
                say(bytes(field, text.len(), max));
                *text = beginning(text, max).to_owned();
            }
        }
        if let Some(by) = self.by.as_mut().filter(|by| by.len() > NAME_BYTES_MAX) {
            say(bytes("by", by.len(), NAME_BYTES_MAX));
            *by = beginning(by, NAME_BYTES_MAX).into();
        }
        if let Some(rating) = &mut self.rating {
            rating.cut(&mut say);
        }
        if let Some(tags) = &mut self.tags {
            if tags.len() > LABEL_TAGS_MAX {
                say(format!("tags: {}, the limit is {LABEL_TAGS_MAX}", tags.len()));
            }
            *tags = distinct(tags.drain(..).filter(|tag| is_tag(tag)));
            tags.truncate(LABEL_TAGS_MAX);
        }
    }
}

/// Whether `text` can be a tag: one word that is not too long.
pub fn is_tag(text: &str) -> bool {
    let is_apart = |letter: char| letter.is_whitespace() || letter.is_control() || letter == ',';
    !text.is_empty() && text.chars().count() <= LABEL_TAG_CHARS_MAX && !text.contains(is_apart)
}

/// The tags without repetitions, each where it first came.
fn distinct(tags: impl Iterator<Item = CompactString>) -> Vec<CompactString> {
    let mut distinct: Vec<CompactString> = Vec::new();
    for tag in tags {
        if !distinct.contains(&tag) {
            distinct.push(tag);
        }
    }
    distinct
}

/// Fails if `text` has more than `max` bytes.
pub(super) fn fits(field: &'static str, text: &str, max: usize) -> Result<(), LabelError> {
    let bytes = text.len();
    if bytes > max { Err(LabelError::TooLong { field, bytes, max }) } else { Ok(()) }
}

/// At most the first `bytes` of `text`, cut between characters.
pub(super) fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    //! Tests of the bounds and of what is tidied.

    use super::*;
    use crate::RunId;
    use crate::event::{Kind, bound, parse_event};
    use crate::limits::RATING_WHY_BYTES_MAX;

    fn tags(tags: &[&str]) -> LabelChange {
        LabelChange {
            tags: Some(tags.iter().map(|tag| CompactString::new(tag)).collect()),
            ..LabelChange::default()
        }
    }

    #[test]
    fn a_change_is_tidied() {
        let change = LabelChange {
            title: Some("  two\n words ".into()),
            note: Some(" n\nm \n".into()),
            ..tags(&[" a", "b", "a "])
        };
        let change = change.checked().unwrap();
        assert_eq!((change.title.as_deref(), change.note.as_deref()), (Some("two words"), Some("n\nm")));
        assert_eq!(
            change,
            LabelChange { title: change.title.clone(), note: change.note.clone(), ..tags(&["a", "b"]) }
        );
    }

    #[test]
    fn a_change_that_is_too_large_is_refused_by_the_name_of_its_field() {
        let why = |change: LabelChange| change.checked().unwrap_err().to_string();
        let many: Vec<String> = (0..=LABEL_TAGS_MAX).map(|number| format!("t{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(why(tags(&many)), "`tags` has 17 tags, the limit is 16");
        assert!(why(tags(&["two words"])).starts_with("`tags` has \"two words\""));
        assert!(why(tags(&["x".repeat(LABEL_TAG_CHARS_MAX + 1).as_str()])).contains("1 to 64 characters"));
        assert!(
            tags(&["ü".repeat(LABEL_TAG_CHARS_MAX).as_str()]).checked().is_ok(),
            "characters are counted, not bytes"
        );
        let long = |bytes| Some("x".repeat(bytes));
        let title = LabelChange { title: long(LABEL_TITLE_BYTES_MAX + 1), ..LabelChange::default() };
        assert_eq!(why(title), "`title` has 801 bytes, the limit is 800");
        let note = LabelChange { note: long(LABEL_NOTE_BYTES_MAX + 1), ..LabelChange::default() };
        assert_eq!(why(note), "`note` has 4097 bytes, the limit is 4096");
        assert_eq!(
            LabelChange { by: Some("ann".into()), ..LabelChange::default() }.checked(),
            Err(LabelError::Nothing)
        );
    }

    #[test]
    fn a_rating_names_one_thing_and_gives_a_short_reason() {
        let rate = |rating: Rating| LabelChange { rating: Some(rating), ..LabelChange::default() }.checked();
        let of_run = Rating { run: Some(RunId::new("r")), ..Rating::default() };
        let rating =
            Rating { good: Some(true), why: Some("  right ".into()), by: Some("x".into()), ..of_run.clone() };
        let rated = rate(rating.clone()).unwrap().rating.unwrap();
        assert_eq!(rated, Rating { why: Some("right".into()), by: None, ..rating });
        assert_eq!(rate(Rating::default()), Err(LabelError::RatesNothing));
        let both = Rating { message: Some(crate::MessageId::new("m")), ..of_run.clone() };
        assert_eq!(rate(both), Err(LabelError::RatesNothing));
        let long = Rating { why: Some("x".repeat(RATING_WHY_BYTES_MAX + 1)), ..of_run };
        assert_eq!(rate(long).unwrap_err().to_string(), "`why` has 1025 bytes, the limit is 1024");
    }

    #[test]
    fn i7_a_label_over_its_bounds_is_cut_and_named() {
        let tags: Vec<String> = (0..20).map(|number| format!("t{number}")).collect();
        let event = serde_json::json!({
            "k": "label", "title": "é".repeat(LABEL_TITLE_BYTES_MAX), "note": "é".repeat(LABEL_NOTE_BYTES_MAX),
            "tags": tags, "by": "é".repeat(NAME_BYTES_MAX),
            "rating": {"run": "r", "good": true, "why": "é".repeat(RATING_WHY_BYTES_MAX)}
        });
        let mut event = parse_event(&event.to_string()).unwrap();
        let said = serde_json::to_string(&bound(&mut event)).unwrap();
        for field in [
            "title: 1600 bytes",
            "note: 8192 bytes",
            "by: 2048 bytes",
            "tags: 20, the limit is 16",
            "why: 2048 bytes",
        ] {
            assert!(said.contains(field), "{field}: {said}");
        }
        let Kind::Label(change) = &event.kind else { panic!("{event:?}") };
        assert_eq!(change.tags.as_ref().map(Vec::len), Some(LABEL_TAGS_MAX));
        assert_eq!(change.title.as_ref().map(String::len), Some(LABEL_TITLE_BYTES_MAX));
        assert_eq!(bound(&mut event), None);
    }
}
