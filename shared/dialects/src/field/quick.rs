//! Divides an object or a list into its fields without a copy and in one pass, several times faster than a general
//! reader. It takes nothing that `serde_json` would refuse; what is unusual (deep nesting, escapes in a name, another
//! type where an object is expected) it leaves to that. So whoever calls it tries `serde_json` afterwards, and gets
//! the same values and the same errors as without it.

use std::fmt;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};

/// How deep values may nest here. Each level is a bit of a number.
const DEPTH_MAX: u32 = 60;

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

/// The members of one object or list, in order. Each is checked as it is passed.
pub(super) struct Members<'a> {
    text: &'a str,
    /// The place of the next byte.
    at: usize,
    /// The bracket that ends it.
    end: u8,
    /// No member was passed yet.
    is_first: bool,
}

impl<'a> Members<'a> {
    /// The fields of the object that `text` is; nothing if it begins with something else.
    pub(super) fn of_object(text: &'a str) -> Option<Self> {
        Self::within(text, b'{', b'}')
    }

    /// The items of the list that `text` is; nothing if it begins with something else.
    pub(super) fn of_list(text: &'a str) -> Option<Self> {
        Self::within(text, b'[', b']')
    }

    fn within(text: &'a str, begin: u8, end: u8) -> Option<Self> {
        let at = white(text.as_bytes(), 0);
        (text.as_bytes().get(at) == Some(&begin)).then_some(Self {
            text,
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
        let begin = self.at.saturating_add(1);
        let (quote, end) = name_end(self.text.as_bytes(), self.at).ok_or(Unusual)?;
        self.at = end;
        let name = self.text.get(begin..quote).ok_or(Unusual)?;
        if name.bytes().any(|byte| byte == b'\\') { Err(Unusual) } else { Ok(Some(name)) }
    }

    /// The value at this place, as it stands there.
    pub(super) fn value(&mut self) -> Result<&'a str, Unusual> {
        let begin = white(self.text.as_bytes(), self.at);
        self.at = value_end(self.text.as_bytes(), begin).ok_or(Unusual)?;
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
pub(super) struct ObjectText<'a>(pub(super) &'a str);

impl<'de> Deserializer<'de> for ObjectText<'de> {
    type Error = Unusual;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unusual> {
        let mut fields = Members::of_object(self.0).ok_or(Unusual)?;
        let value = visitor.visit_map(&mut fields)?;
        // Unless it is at its end, what follows was not checked.
        if fields.at == white_end(self.0) { Ok(value) } else { Err(Unusual) }
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

/// The first place from `at` on that has no white space.
fn white(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
        at = at.saturating_add(1);
    }
    at
}

/// The places of the last quote of the name that begins at `at`, and behind its colon.
fn name_end(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let end = string_end(bytes, at.saturating_add(1))?;
    let colon = white(bytes, end);
    (bytes.get(colon) == Some(&b':')).then(|| (end.saturating_sub(1), colon.saturating_add(1)))
}

/// The place behind the value that begins at `at`; nothing if it is not valid, or nests too deep.
pub(super) fn value_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    // The innermost bracket is the lowest bit: 1 for an object.
    let (mut objects, mut depth) = (0_u64, 0_u32);
    loop {
        at = white(bytes, at);
        match *bytes.get(at)? {
            b'"' => at = string_end(bytes, at.saturating_add(1))?,
            open @ (b'{' | b'[') => {
                let is_object = open == b'{';
                at = white(bytes, at.saturating_add(1));
                if bytes.get(at) == Some(if is_object { &b'}' } else { &b']' }) {
                    at = at.saturating_add(1);
                } else if depth >= DEPTH_MAX {
                    return None;
                } else {
                    depth = depth.saturating_add(1);
                    objects = (objects << 1) | u64::from(is_object);
                    if is_object {
                        (_, at) = name_end(bytes, at)?;
                    }
                    continue;
                }
            }
            _ => at = scalar_end(bytes, at)?,
        }
        loop {
            if depth == 0 {
                return Some(at);
            }
            at = white(bytes, at);
            let (byte, is_object) = (*bytes.get(at)?, objects & 1 == 1);
            at = at.saturating_add(1);
            if byte == b',' {
                if is_object {
                    (_, at) = name_end(bytes, white(bytes, at))?;
                }
                break;
            }
            if byte != if is_object { b'}' } else { b']' } {
                return None;
            }
            depth = depth.saturating_sub(1);
            objects >>= 1;
        }
    }
}

/// The place behind the string whose first byte after the quote is at `at`.
pub(super) fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    loop {
        // Eight bytes at once: the highest bit of a byte says that it is a quote, a backslash or below 0x20. Only the
        // lowest such bit is sure, and that is the one that counts.
        if let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*eight);
            let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
            let quotes = is_zero(word ^ (ONES * 0x22));
            let escapes = is_zero(word ^ (ONES * 0x5C));
            let controls = word.wrapping_sub(ONES * 0x20) & !word;
            let found = (quotes | escapes | controls) & HIGHS;
            if found == 0 {
                at = at.saturating_add(8);
                continue;
            }
            at = at.saturating_add(usize::try_from(found.trailing_zeros() / 8).unwrap_or(0));
        }
        match *bytes.get(at)? {
            b'"' => return Some(at.saturating_add(1)),
            b'\\' => at = escape_end(bytes, at.saturating_add(1))?,
            0..0x20 => return None,
            _ => at = at.saturating_add(1),
        }
    }
}

/// The place behind the escape whose byte after the backslash is at `at`.
fn escape_end(bytes: &[u8], at: usize) -> Option<usize> {
    match *bytes.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at.saturating_add(1)),
        b'u' => {
            let digits = bytes.get(at.saturating_add(1)..at.saturating_add(5))?;
            digits.iter().all(u8::is_ascii_hexdigit).then(|| at.saturating_add(5))
        }
        _ => None,
    }
}

/// The place behind the number or word that begins at `at`.
fn scalar_end(bytes: &[u8], at: usize) -> Option<usize> {
    let word: &[u8] = match bytes.get(at)? {
        b'n' => b"null",
        b't' => b"true",
        b'f' => b"false",
        _ => return number_end(bytes, at),
    };
    let end = at.saturating_add(word.len());
    (bytes.get(at..end)? == word).then_some(end)
}

/// The place behind the number that begins at `at`.
fn number_end(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = |at: usize| {
        let count = bytes.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then(|| at.saturating_add(count))
    };
    let begin = if bytes.get(at) == Some(&b'-') { at.saturating_add(1) } else { at };
    let mut at = digits(begin)?;
    if bytes.get(begin) == Some(&b'0') && at > begin.saturating_add(1) {
        return None;
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(at.saturating_add(1))?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at = at.saturating_add(1);
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at = at.saturating_add(1);
        }
        at = digits(at)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests;
