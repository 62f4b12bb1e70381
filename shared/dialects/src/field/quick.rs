//! Divides an object or a list into its fields without a copy and in one pass, several times faster than a general
//! reader. It takes nothing that `serde_json` would refuse; what is unusual (deep nesting, escapes in a name, another
//! type where an object is expected) it leaves to that. So whoever calls it tries `serde_json` afterwards, and gets
//! the same values and the same errors as without it.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

use crate::scan::{checked_end, colon_end, special, value_end, white};

/// The text is none of what is read here. It says nothing more, since the general reader follows.
#[derive(Debug)]
pub(super) struct Unusual;

impl fmt::Display for Unusual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unusual")
    }
}

impl std::error::Error for Unusual {}

impl serde::de::Error for Unusual {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// The value that `text` is, without white space around it; nothing if it is unusual.
pub(super) fn value(text: &str) -> Option<&str> {
    let begin = white(text.as_bytes(), 0);
    let end = value_end(text.as_bytes(), begin)?;
    if white(text.as_bytes(), end) == text.len() { text.get(begin..end) } else { None }
}

/// The members of one object or list, in order. Of a text that was not checked, each is checked as it is passed.
pub(super) struct Members<'a> {
    text: &'a str,
    /// Finds the end of a value.
    value_end: fn(&[u8], usize) -> Option<usize>,
    /// The place of the next byte.
    at: usize,
    /// The bracket that ends it.
    end: u8,
    /// No member was passed yet.
    is_first: bool,
}

impl<'a> Members<'a> {
    /// The fields of the object that `text` is; nothing if it begins with something else.
    fn of_object(text: &'a str) -> Option<Self> {
        Self::within(text, b'{', b'}', value_end)
    }

    /// The fields of the object that `text` is, which was checked; nothing if it begins with something else.
    pub(super) fn of_checked_object(text: &'a str) -> Option<Self> {
        Self::within(text, b'{', b'}', checked_end)
    }

    /// The items of the list that `text` is, which was checked; nothing if it begins with something else.
    pub(super) fn of_checked_list(text: &'a str) -> Option<Self> {
        Self::within(text, b'[', b']', checked_end)
    }

    fn within(
        text: &'a str,
        begin: u8,
        end: u8,
        value_end: fn(&[u8], usize) -> Option<usize>,
    ) -> Option<Self> {
        let at = white(text.as_bytes(), 0);
        (text.as_bytes().get(at) == Some(&begin)).then_some(Self {
            text,
            value_end,
            at: at.saturating_add(1),
            end,
            is_first: true,
        })
    }

    /// Goes to the next member; false after the last one, behind which nothing may stand.
    fn advance(&mut self) -> Result<bool, Unusual> {
        let bytes = self.text.as_bytes();
        self.at = white(bytes, self.at);
        let next = *bytes.get(self.at).ok_or(Unusual)?;
        if next == self.end {
            let rest = white(bytes, self.at.saturating_add(1));
            return if rest == bytes.len() { Ok(false) } else { Err(Unusual) };
        }
        if !std::mem::take(&mut self.is_first) {
            if next != b',' {
                return Err(Unusual);
            }
            self.at = white(bytes, self.at.saturating_add(1));
        }
        Ok(true)
    }

    /// The next name; nothing after the last field. Its value must be taken before the next one.
    pub(super) fn name(&mut self) -> Result<Option<&'a str>, Unusual> {
        if !self.advance()? {
            return Ok(None);
        }
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'"') {
            return Err(Unusual);
        }
        let begin = self.at.saturating_add(1);
        // An escape in a name is unusual.
        let end = special(bytes, begin).filter(|end| bytes.get(*end) == Some(&b'"')).ok_or(Unusual)?;
        self.at = colon_end(bytes, end.saturating_add(1)).ok_or(Unusual)?;
        self.text.get(begin..end).map(Some).ok_or(Unusual)
    }

    /// The value at this place, as it stands there.
    pub(super) fn value(&mut self) -> Result<&'a str, Unusual> {
        let begin = white(self.text.as_bytes(), self.at);
        self.at = (self.value_end)(self.text.as_bytes(), begin).ok_or(Unusual)?;
        self.text.get(begin..self.at).ok_or(Unusual)
    }

    /// The next item; nothing after the last one.
    pub(super) fn item(&mut self) -> Result<Option<&'a str>, Unusual> {
        if self.advance()? { self.value().map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Unusual;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Unusual> {
        let Some(name) = self.name()? else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::<Unusual>::new(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Unusual> {
        seed.deserialize(MemberText(self.value()?))
    }
}

/// An object whose fields a type names.
pub(super) struct ObjectText<'a>(Option<Members<'a>>);

impl<'a> ObjectText<'a> {
    /// The object that `text` is, perhaps.
    pub(super) fn of(text: &'a str) -> Self {
        Self(Members::of_object(text))
    }

    /// The object that `text` is, which was checked.
    pub(super) fn of_checked(text: &'a str) -> Self {
        Self(Members::of_checked_object(text))
    }
}

impl<'de> Deserializer<'de> for ObjectText<'de> {
    type Error = Unusual;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        let mut fields = self.0.ok_or(Unusual)?;
        let value = visitor.visit_map(&mut fields)?;
        // Unless it is at its end, what follows was not checked.
        if fields.at == white_end(fields.text) { Ok(value) } else { Err(Unusual) }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The text of one value: a [`super::ForeignField`] takes it as it is, and what nobody asks for is passed over.
struct MemberText<'a>(&'a str);

impl<'de> Deserializer<'de> for MemberText<'de> {
    type Error = Unusual;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unusual> {
        Err(Unusual)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}

/// The place of the last byte of `text` that is not white space.
fn white_end(text: &str) -> usize {
    text.trim_end_matches([' ', '\n', '\t', '\r']).len().saturating_sub(1)
}

#[cfg(test)]
mod tests;
