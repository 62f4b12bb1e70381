//! A text of a view that grows, and that copies of the view share until one of them grows.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text of which a copy costs nothing: copies share its bytes. The first [`SharedText::push_str`] after a copy was made copies the
/// bytes of this one text, so that the other copies stay as they are.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::rc_buffer, reason = "it grows in place while nobody shares it")]
pub struct SharedText(Option<Arc<String>>);

impl SharedText {
    /// The whole text as it is now.
    pub fn as_str(&self) -> &str {
        self.0.as_deref().map_or("", String::as_str)
    }

    /// Whether another copy shares its bytes at present.
    pub fn is_shared(&self) -> bool {
        self.0.as_ref().is_some_and(|text| Arc::strong_count(text) > 1)
    }

    /// Appends `text`; copies the bytes first where a copy of this text shares them.
    pub fn push_str(&mut self, text: &str) {
        if !text.is_empty() {
            Arc::make_mut(self.0.get_or_insert_default()).push_str(text);
        }
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self((!text.is_empty()).then(|| Arc::new(text)))
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl PartialEq<str> for SharedText {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for SharedText {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for SharedText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for SharedText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::SharedText;

    #[test]
    fn a_copy_shares_the_bytes_until_one_of_them_grows() {
        let mut text = SharedText::from("one");
        let copy = text.clone();
        assert_eq!(text.as_str().as_ptr(), copy.as_str().as_ptr());
        assert!(text.is_shared() && copy.is_shared());
        text.push_str(" two");
        assert!(!text.is_shared() && !copy.is_shared());
        assert_eq!((&*text, &*copy), ("one two", "one"));
    }

    #[test]
    fn equality_is_that_of_the_text() {
        let mut grown = SharedText::default();
        grown.push_str("");
        assert_eq!(grown, SharedText::from(""));
        grown.push_str("a");
        assert_eq!(grown, SharedText::from(String::from("a")));
        assert!(grown == "a" && grown != *"b");
    }

    #[test]
    fn it_is_a_string_in_json() {
        let text: SharedText = serde_json::from_str("\"a\\nb\"").unwrap();
        assert_eq!((text.as_str(), serde_json::to_string(&text).unwrap().as_str()), ("a\nb", "\"a\\nb\""));
    }
}
