//! Reads foreign JSON: only the fields that are needed, and without failing on a type that the dialect does
//! not allow. A provider that sends `null`, a number as a string or an object instead of a string must not
//! cost the rest of a frame.
//!
//! A struct names the fields of an object, each a [`ForeignField`] that borrows its JSON from the frame.
//! Parsing into the struct checks the syntax of the whole object once; each field is read only when somebody
//! asks for it:
//!
//! ```text
//! #[derive(Default, Deserialize)]
//! #[serde(default)]
//! struct Delta<'a> {
//!     #[serde(borrow)]
//!     content: ForeignField<'a>,
//! }
//! delta.content.text()      Some("Hi") for "Hi"; nothing for null, 7 or {"a":1}
//! delta.content.words()     Some("Hi"), nothing, Some("7"), Some("{\"a\":1}")
//! ```

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

mod quick;
mod shape;

#[cfg(test)]
pub(crate) use shape::tests as shape_tests;
pub(crate) use shape::{Gap, Shapes};

use super::framing::JsonNesting;
use model::event::{Cost, Currency};
use model::json::Json;
use model::limits::JSON_DEPTH_MAX;

/// How many fields an object is expected to have when its fields are collected.
const USUAL_FIELDS: usize = 12;

/// A field of a foreign object: its JSON as it was received. Absent and `null` are the same. It borrows from
/// the frame and is as cheap to copy as a reference.
#[derive(Debug, Clone, Copy, Default)]
pub struct ForeignField<'a>(Option<&'a str>);

impl<'de: 'a, 'a> Deserialize<'de> for ForeignField<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> serde::de::Visitor<'de> for Visitor<'a> {
            type Value = ForeignField<'a>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("option")
            }
            fn visit_none<E>(self) -> Result<ForeignField<'a>, E> {
                Ok(ForeignField(None))
            }
            fn visit_unit<E>(self) -> Result<ForeignField<'a>, E> {
                Ok(ForeignField(None))
            }
            fn visit_some<D: serde::Deserializer<'de>>(self, value: D) -> Result<ForeignField<'a>, D::Error> {
                <&'a RawValue>::deserialize(value).map(|raw| ForeignField(Some(raw.get())))
            }
            // The text of a value that was checked already: only [`quick`] passes it.
            fn visit_borrowed_str<E>(self, raw: &'de str) -> Result<ForeignField<'a>, E> {
                Ok(ForeignField::of_checked(raw))
            }
        }
        deserializer.deserialize_option(Visitor(std::marker::PhantomData))
    }
}

/// The object `text` with the fields that `T` names, each a [`ForeignField`]. Errors are those of `serde_json`.
pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    T::deserialize(quick::ObjectText::of(text)).or_else(|_unusual| serde_json::from_str(text))
}

impl<'a> ForeignField<'a> {
    /// A value that was checked.
    fn of_checked(raw: &'a str) -> Self {
        Self((raw != "null").then_some(raw))
    }

    /// A text that [`read`] took: nothing of it is checked again. That takes lists too, for which the fields count in
    /// the order of the type.
    pub(crate) fn parse_read(text: &'a str) -> Self {
        Self(Some(text.trim_matches([' ', '\n', '\t', '\r'])))
    }

    /// `text` as a field; nothing if it is not one JSON value. `null` gives a field that is absent.
    pub fn parse(text: &'a str) -> Option<Self> {
        if let Some(value) = quick::value(text) {
            return Some(Self::of_checked(value));
        }
        serde_json::from_str(text).ok()
    }

    /// The JSON of the field; empty if it is absent.
    fn raw(self) -> &'a str {
        self.0.unwrap_or("")
    }

    /// Whether the field is present and not `null`.
    pub fn is_some(self) -> bool {
        self.0.is_some()
    }

    /// Whether the field is present and not `null`, `false`, 0 or empty.
    pub fn is_truthy(self) -> bool {
        !matches!(self.raw(), "" | "false" | "0" | "\"\"" | "{}" | "[]")
    }

    /// Whether the field is a string.
    pub(crate) fn is_text(self) -> bool {
        self.raw().starts_with('"')
    }

    /// Whether the field is an object.
    pub fn is_object(self) -> bool {
        self.raw().starts_with('{')
    }

    /// Whether the field is a list.
    pub fn is_list(self) -> bool {
        self.raw().starts_with('[')
    }

    /// Whether the field is `true`.
    pub fn is_true(self) -> bool {
        self.raw() == "true"
    }

    /// The content of a string; nothing for any other type. It borrows unless the string has escapes. Half of
    /// a surrogate pair, which JSON allows and Rust does not, becomes U+FFFD.
    pub fn text(self) -> Option<Cow<'a, str>> {
        let inner = self.raw().strip_prefix('"')?.strip_suffix('"')?;
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Some(Cow::Borrowed(inner));
        }
        let whole = serde_json::from_str::<String>(self.raw());
        Some(Cow::Owned(whole.unwrap_or_else(|_lone_surrogate| lossy(self.raw()))))
    }

    /// The content of a string that is not empty.
    pub fn word(self) -> Option<Cow<'a, str>> {
        self.text().filter(|text| !text.is_empty())
    }

    /// The content of a string, or the JSON of any other value; nothing if it is empty.
    pub fn words(self) -> Option<Cow<'a, str>> {
        match self.text() {
            Some(text) => Some(text).filter(|text| !text.is_empty()),
            None => self.0.map(Cow::Borrowed),
        }
    }

    /// A count: a number, or a number in a string. Fractions are cut off, negative numbers give nothing.
    /// For token counts and lengths: some servers send `12.0` or `"12"`. Numbers above the largest `u64` give
    /// that.
    pub(crate) fn count(self) -> Option<u64> {
        let raw = self.0?;
        if let Ok(number) = raw.parse() {
            return Some(number);
        }
        let text = raw.trim_matches('"');
        text.parse().ok().or_else(|| {
            let number: f64 = text.parse().ok()?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
            (number.is_finite() && number >= 0.0).then_some(number as u64)
        })
    }

    /// A boolean; nothing for any other type. [`ForeignField::is_true`] cannot tell `false` from absent.
    pub(crate) fn switch(self) -> Option<bool> {
        match self.raw() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// An amount of US dollars: a number, or one written as a string; nothing for what is neither.
    pub(crate) fn dollars(self) -> Option<Cost> {
        let text = self.raw().trim_matches('"');
        let number = || text.parse().ok().and_then(|number| Cost::of_number(number, Currency::USD));
        Cost::parse(text, Currency::USD).or_else(number)
    }

    /// A number in thousandths of its unit, cut off: seconds as milliseconds. Negative numbers give nothing.
    pub(crate) fn thousandths(self) -> Option<u64> {
        let number: f64 = self.raw().trim_matches('"').parse().ok()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
        (number.is_finite() && number >= 0.0).then_some((number * 1000.0) as u64)
    }

    /// The fields of an object that `T` names. All are absent if the field is not an object.
    ///
    /// An object whose syntax is broken cannot be here, since its frame was parsed; should `T` refuse it for
    /// another reason, all fields are absent too.
    pub fn object<T: Deserialize<'a> + Default>(self) -> T {
        if !self.is_object() {
            return T::default();
        }
        let quick = T::deserialize(quick::ObjectText::of_checked(self.raw()));
        quick.or_else(|_unusual| serde_json::from_str(self.raw())).unwrap_or_default()
    }

    /// All fields of an object, to look them up by name; none if the field is not an object.
    pub fn fields(self) -> ForeignFields<'a> {
        ForeignFields::of(self)
    }

    /// The items of a list; a single object counts as a list of one.
    ///
    /// Any other type gives no items.
    pub fn list(self) -> Vec<Self> {
        if self.is_list() {
            self.items()
        } else if self.is_object() {
            vec![self]
        } else {
            Vec::new()
        }
    }

    /// The items of the list that this is.
    fn items(self) -> Vec<Self> {
        self.quick_items().unwrap_or_else(|| serde_json::from_str(self.raw()).unwrap_or_default())
    }

    /// The items of a list that is usual.
    fn quick_items(self) -> Option<Vec<Self>> {
        let mut members = quick::Members::of_checked_list(self.raw())?;
        let mut items = Vec::new();
        while let Some(item) = members.item().ok()? {
            items.push(Self::of_checked(item));
        }
        Some(items)
    }

    /// The fields of an object that is usual, with their names.
    fn quick_entries<N: From<&'a str>>(self) -> Option<Vec<(N, Self)>> {
        let mut members = quick::Members::of_checked_object(self.raw())?;
        let mut entries = Vec::with_capacity(USUAL_FIELDS);
        while let Some(name) = members.name().ok()? {
            entries.push((N::from(name), Self::of_checked(members.value().ok()?)));
        }
        Some(entries)
    }

    /// The strings of a list that are not empty; nothing for any other type.
    pub fn list_of_texts(self) -> Vec<String> {
        if !self.is_list() {
            return Vec::new();
        }
        self.items().into_iter().filter_map(Self::word).map(Cow::into_owned).collect()
    }

    /// The fields of an object with their names, in the order of the text, a repeated name each time; none
    /// for any other type.
    pub(crate) fn entries(self) -> Vec<(String, Self)> {
        struct EntriesVisitor<'a>(Vec<(String, ForeignField<'a>)>);
        impl<'de: 'a, 'a> Deserialize<'de> for EntriesVisitor<'a> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor<'a>(std::marker::PhantomData<&'a ()>);
                impl<'de: 'a, 'a> serde::de::Visitor<'de> for Visitor<'a> {
                    type Value = EntriesVisitor<'a>;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<EntriesVisitor<'a>, A::Error> {
                        let mut entries = Vec::new();
                        while let Some(entry) = map.next_entry()? {
                            entries.push(entry);
                        }
                        Ok(EntriesVisitor(entries))
                    }
                }
                deserializer.deserialize_map(Visitor(std::marker::PhantomData))
            }
        }
        if let Some(entries) = self.quick_entries() {
            entries
        } else if self.is_object() {
            serde_json::from_str::<EntriesVisitor<'a>>(self.raw())
                .map(|entries| entries.0)
                .unwrap_or_default()
        } else {
            Vec::new()
        }
    }

    /// The field as JSON to pass on, unchanged. A value that nests deeper than [`JSON_DEPTH_MAX`] becomes a
    /// string; an absent one becomes `null`.
    pub fn json(self) -> Json {
        match self.0 {
            None => Json::of(&()),
            Some(raw) if is_too_deep(raw) => Json::string(raw),
            Some(raw) => Json::of_valid(raw),
        }
    }

    /// The text of the JSON, unchanged; empty if the field is absent.
    pub fn as_json_text(self) -> &'a str {
        self.raw()
    }
}

/// The fields of an object by name, for dialects whose producers use different names. Case and underscores
/// make no difference: `messageId` finds `message_id` too. Each look-up is a pass over all fields, which are
/// few.
#[derive(Debug, Default)]
pub struct ForeignFields<'a>(Vec<(Cow<'a, str>, ForeignField<'a>)>);

impl<'a> ForeignFields<'a> {
    /// The fields of `object`; none if it is not an object.
    pub(crate) fn of(object: ForeignField<'a>) -> Self {
        object.quick_entries().map_or_else(|| object.object(), Self)
    }

    /// The field `name`; of several the first that is not `null`; absent if there is none.
    pub fn get(&self, name: &str) -> ForeignField<'a> {
        let named =
            |(known, field): &&(Cow<'_, str>, ForeignField<'a>)| field.is_some() && is_same_name(known, name);
        self.0.iter().find(named).map_or(ForeignField::default(), |(_, field)| *field)
    }

    /// The first of the fields `names` that is present, in the order of `names`; absent if none is.
    pub fn any(&self, names: &[&str]) -> ForeignField<'a> {
        names.iter().map(|name| self.get(name)).find(|field| field.is_some()).unwrap_or_default()
    }

    /// The field with exactly this name; of several the last, as most readers of JSON do. Absent if there is
    /// none.
    pub(crate) fn last(&self, name: &str) -> ForeignField<'a> {
        self.0
            .iter()
            .rev()
            .find(|(known, _)| known == name)
            .map_or(ForeignField::default(), |(_, field)| *field)
    }

    /// All fields of the object, with their names.
    pub fn into_all(self) -> impl Iterator<Item = (Cow<'a, str>, ForeignField<'a>)> {
        self.0.into_iter()
    }

    /// A JSON object of those fields among `names` that are present, under these names.
    pub(crate) fn pick(&self, names: &[&str]) -> String {
        let there = names.iter().map(|name| (name, self.get(name))).filter(|(_, field)| field.is_some());
        let written: Vec<_> =
            there.map(|(name, field)| format!("\"{name}\":{}", field.as_json_text())).collect();
        format!("{{{}}}", written.join(","))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ForeignFields<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct NameVisitor<'a>(#[serde(borrow)] Cow<'a, str>);
        struct Visitor<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> serde::de::Visitor<'de> for Visitor<'a> {
            type Value = ForeignFields<'a>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<ForeignFields<'a>, A::Error> {
                let mut fields = Vec::new();
                while let Some((NameVisitor(name), field)) = map.next_entry()? {
                    fields.push((name, field));
                }
                Ok(ForeignFields(fields))
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}

/// Whether two names differ only in case and underscores.
fn is_same_name(one: &str, other: &str) -> bool {
    one == other || plain(one).eq(plain(other))
}

/// A name in lower case and without underscores, byte by byte.
fn plain(name: &str) -> impl Iterator<Item = u8> + '_ {
    name.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase())
}

/// `text` as JSON to pass on; as a string if it nests too deep, nothing if it is not JSON.
pub(crate) fn json_within_depth(text: &str) -> Option<Json> {
    if is_too_deep(text) {
        return Some(Json::string(text));
    }
    Json::parse(text)
}

/// Whether `text` nests deeper than [`JSON_DEPTH_MAX`].
pub(crate) fn is_too_deep(text: &str) -> bool {
    // Nearly every text has fewer brackets than that, also counted with those inside of strings.
    let brackets = text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if brackets <= JSON_DEPTH_MAX {
        return false;
    }
    usize::try_from(JsonNesting::of(text).deepest()).unwrap_or(usize::MAX) > JSON_DEPTH_MAX
}

/// The content of a JSON string with half a surrogate pair in it, which servers produce by cutting text
/// between the halves. The half becomes U+FFFD. `raw` is the string with its quotes; it is valid JSON.
fn lossy(raw: &str) -> String {
    struct ByteStringVisitor(Vec<u8>);
    impl<'de> Deserialize<'de> for ByteStringVisitor {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl serde::de::Visitor<'_> for Visitor {
                type Value = ByteStringVisitor;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a string")
                }
                fn visit_bytes<E>(self, bytes: &[u8]) -> Result<ByteStringVisitor, E> {
                    Ok(ByteStringVisitor(bytes.to_vec()))
                }
            }
            deserializer.deserialize_bytes(Visitor)
        }
    }
    let bytes = serde_json::from_str::<ByteStringVisitor>(raw).map(|bytes| bytes.0).unwrap_or_default();
    let mut text = String::with_capacity(bytes.len());
    for piece in bytes.utf8_chunks() {
        text.push_str(piece.valid());
        // The three bytes of half a pair come as three pieces; only the first becomes a character.
        if piece.invalid().first().is_some_and(|byte| *byte == 0xED) {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

#[cfg(test)]
mod tests;
