//! What stands in the place of a secret, and the redactor, which puts it there.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use model::Json;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::base64;
use crate::find::{Builtin, Finder, Found, KindIndex, Part, Wanted};
use crate::patterns::{PatternError, Patterns};
use crate::plain::Plain;
use crate::verdict::End;

/// The key of the hashes in marks. Who has it can test whether a text that they guess is the one behind a mark.
#[derive(Clone)]
pub struct MarkKey([u8; 32]);

impl MarkKey {
    /// Makes a key of random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(random)
    }
}

impl fmt::Debug for MarkKey {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("MarkKey(…)")
    }
}

/// Puts marks such as `[redacted:openai-key:1a2b3c4d]` in the place of secrets. Equal secrets have equal marks under one key. Shared by
/// all that is published; it only counts.
#[derive(Debug)]
pub struct Redactor {
    finder: Finder,
    key: MarkKey,
    /// The name of each kind.
    names: Vec<String>,
    counts: Vec<AtomicU64>,
}

/// The texts as which a value stands in what is stored: as it is, as a string of JSON, as a string of JSON in a string of JSON, and in
/// base64 wherever it begins there.
pub fn spellings(value: &str) -> Vec<String> {
    let inside = |text: &str| {
        let json = Json::string(text);
        let text = json.as_str().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        text.unwrap_or_default().to_owned()
    };
    let once = inside(value);
    let mut all = vec![value.to_owned(), inside(&once), once];
    let encoded = base64::encoded(value.as_bytes()).into_iter().filter(|it| it.letters.len() >= 8);
    all.extend(encoded.filter_map(|it| String::from_utf8(it.letters).ok()));
    all.sort();
    all.dedup();
    all
}

/// Whether one of `spellings` stands in `bytes`.
pub fn holds_any(bytes: &[u8], spellings: &[String]) -> bool {
    spellings.iter().any(|spelling| memchr::memmem::find(bytes, spelling.as_bytes()).is_some())
}

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where it begins in the text, in bytes.
    pub at: usize,
    /// The name of its kind.
    pub rule: String,
    /// What stands in its place.
    pub mark: String,
}

impl Redactor {
    /// One for these kinds and the operator's patterns, whose kinds are called `pattern-1` and so on.
    pub fn new(key: MarkKey, builtin: Builtin, patterns: &[String]) -> Result<Self, PatternError> {
        let finder = Finder::new(builtin, Patterns::parse(patterns)?);
        let own = (1..=patterns.len()).map(|number| format!("pattern-{number}"));
        let names: Vec<String> = finder.names().iter().map(|name| (*name).to_owned()).chain(own).collect();
        let counts = names.iter().map(|_| AtomicU64::new(0)).collect();
        Ok(Self { finder, key, names, counts })
    }

    /// One that finds one value alone, in every spelling of [`spellings`].
    pub fn of_value(key: MarkKey, value: &str) -> Result<Self, PatternError> {
        let none = Builtin { keys: Wanted::No, cards: Wanted::No, email: Wanted::No };
        let finder = Finder::new(none, Patterns::literal(&spellings(value))?);
        Ok(Self { finder, key, names: vec!["erased".to_owned()], counts: vec![AtomicU64::new(0)] })
    }

    /// How many secrets of each kind were marked since the start.
    pub fn counts(&self) -> impl Iterator<Item = (&str, u64)> {
        self.names.iter().zip(&self.counts).map(|(name, count)| (&**name, count.load(Ordering::Relaxed)))
    }

    pub(crate) fn find(&self, plain: &Plain<'_>, part: Part, end: End) -> Option<Found> {
        self.finder.find(plain, part, end)
    }

    /// Whether no secret begins in `piece`, as [`Finder::is_quiet`] tells it.
    pub(crate) fn is_quiet(&self, before: &[u8], piece: &[u8]) -> bool {
        self.finder.is_quiet(before, piece)
    }

    /// The mark for a secret, which is counted.
    pub(crate) fn mark(&self, kind: KindIndex, value: &[u8]) -> String {
        if let Some(count) = self.counts.get(kind) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.mark_of(kind, value)
    }

    fn mark_of(&self, kind: KindIndex, value: &[u8]) -> String {
        let name = self.names.get(kind).map_or("secret", |name| name);
        // However it is written: a card with and without spaces is one, and so is a key in lines of any length.
        let canonical: Vec<u8> = match name {
            crate::rules::CARD => value.iter().copied().filter(u8::is_ascii_digit).collect(),
            crate::rules::PRIVATE_KEY => value.iter().copied().filter(u8::is_ascii_alphanumeric).collect(),
            _ => value.to_vec(),
        };
        let [a, b, c, d, ..] = hmac(&self.key.0, &canonical);
        format!("[redacted:{name}:{a:02x}{b:02x}{c:02x}{d:02x}]")
    }

    /// `text` with marks in the place of its secrets; nothing where it has none.
    pub fn text(&self, text: &str) -> Option<String> {
        let mut out: Option<String> = None;
        let mut done = 0;
        self.each(text, |from, to, kind, value| {
            let out = out.get_or_insert_default();
            out.push_str(text.get(done..from).unwrap_or_default());
            out.push_str(&self.mark(kind, value));
            done = to;
        });
        let mut out = out?;
        out.push_str(text.get(done..).unwrap_or_default());
        Some(out)
    }

    /// What is found in `text`; nothing is counted.
    pub fn findings(&self, text: &str) -> Vec<Finding> {
        let mut all = Vec::new();
        self.each(text, |at, _to, kind, value| {
            let rule = self.names.get(kind).cloned().unwrap_or_default();
            all.push(Finding { at, rule, mark: self.mark_of(kind, value) });
        });
        all
    }

    fn each(&self, text: &str, mut tell: impl FnMut(usize, usize, KindIndex, &[u8])) {
        let plain = Plain::of(text, End::Last);
        let mut part = Part { from: 0, floor: 0 };
        while let Some(Found::Secret { from, to, kind, value }) = self.find(&plain, part, End::Last) {
            tell(plain.given_at(from), plain.given_at(to), kind, &value);
            part = Part { from: to, floor: to };
        }
    }

    /// Marks the secrets in a text that may be JSON, and keeps it JSON then. `None` if there are none.
    pub fn json_text(&self, text: &str) -> Option<String> {
        let marked = self.text(text)?;
        let broke = Json::parse(text).is_some() && Json::parse(&marked).is_none();
        if !broke {
            return Some(marked);
        }
        // A secret stood outside of strings, as a number.
        let mut value: Value = serde_json::from_str(text).ok()?;
        self.value(&mut value);
        Some(value.to_string())
    }

    /// Marks the secrets in JSON text, in place.
    pub fn json(&self, json: &mut Json) {
        if let Some(marked) = self.json_text(json.as_str()) {
            // What is nested too deep to be read as values and has a secret outside of its strings: all of it goes.
            *json = Json::parse(&marked).unwrap_or_else(|| Json::string(&marked));
        }
    }

    /// Marks the secrets in a tree of values, names of fields among them.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(marked) = self.text(text) {
                    *text = marked;
                }
            }
            Value::Number(number) => {
                if let Some(marked) = self.text(&number.to_string()) {
                    *value = Value::String(marked);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(fields) => self.fields(fields),
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Marks the secrets in the fields of an object, in their names too.
    pub fn fields(&self, fields: &mut serde_json::Map<String, Value>) {
        for value in fields.values_mut() {
            self.value(value);
        }
        if fields.keys().any(|name| self.text(name).is_some()) {
            let all = std::mem::take(fields).into_iter();
            fields.extend(all.map(|(name, value)| (self.text(&name).unwrap_or(name), value)));
            return;
        }
        // A value that is known by the name of its field.
        for (name, value) in fields {
            let Value::String(text) = value else { continue };
            let both = format!("{name}: {text}");
            let Some(marked) = self.text(&both) else { continue };
            if let Some(marked) = marked.strip_prefix(&format!("{name}: ")) {
                marked.clone_into(text);
            }
        }
    }

    /// `text` as it may be shown.
    pub fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.text(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

/// HMAC with SHA-256 (RFC 2104) under a key of half a block.
fn hmac(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    let block = |pad: u8| {
        let mut block = [pad; 64];
        block.iter_mut().zip(key).for_each(|(byte, of_key)| *byte ^= of_key);
        block
    };
    let inner = Sha256::new().chain_update(block(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(block(0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
pub(crate) mod tests;
