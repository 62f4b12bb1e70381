//! Calls as JSON objects of the type `tool_use`, or arrays of them. Text is full of brackets: what cannot be
//! a call is let go as text as early as that shows, and what turns out to be other JSON is text too.
//!
//! ```text
//! {"type": "tool_use", "id": "c1", "name": "add", "input": {"a": 1}}       a call; the keys in any order
//! [{"type": "tool_use", "name": "a"}, {"type": "tool_use", "name": "b"}]   two calls
//! {"city": "Oslo"}                                                        text, known from the first key on
//! {"name": "Oslo"}                                                        text, known at its end
//! ```

use serde::Deserialize;

use super::{CandidateVerdict, TextCall};
use crate::field::ForeignField;
use crate::framing::JsonNesting;

/// The keys that a call may begin with.
const KEYS: [&str; 4] = ["type", "id", "name", "input"];

/// The type of a call, as JSON.
const TYPE: &str = "\"tool_use\"";

/// The size of the longest head of a call, up to the end of its first key, in bytes. A longer head is text.
const HEAD_BYTES_MAX: usize = 256;

/// A candidate that begins with a bracket: an object or array that is open.
#[derive(Debug, Default)]
pub(super) struct JsonCandidate {
    /// The number of bytes that were examined.
    scanned: usize,
    /// The first key is one that a call has.
    has_head: bool,
    /// The brackets of what was examined.
    nesting: JsonNesting,
}

/// The fields of an object that may be a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonCallObject<'a> {
    #[serde(borrow, rename = "type")]
    kind: ForeignField<'a>,
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    input: ForeignField<'a>,
}

impl JsonCandidate {
    /// Examines what `held`, which begins with a bracket, has beyond what was examined before.
    /// `held` is the whole candidate so far, not longer than the limit of calls.
    pub(super) fn look(&mut self, held: &str) -> CandidateVerdict {
        if !self.has_head {
            match head(held) {
                Some(true) => self.has_head = true,
                Some(false) => return CandidateVerdict::Text(1),
                None if held.len() >= HEAD_BYTES_MAX => return CandidateVerdict::Text(1),
                None => return CandidateVerdict::Open,
            }
        }
        for (at, byte) in held.bytes().enumerate().skip(self.scanned) {
            self.scanned = at.saturating_add(1);
            if byte == b'\n' && self.nesting.is_in_string() {
                // A string that does not end on its line is not JSON. Waiting for its end would keep back all
                // that follows.
                return self.broken(held, at, "a string in the call never ends");
            }
            self.nesting.push(byte);
            if self.nesting.is_whole() {
                return self.whole(held);
            }
        }
        CandidateVerdict::Open
    }

    /// Whether `held` is certainly a call: its first key is that of a call, and the type is in it.
    pub(super) fn is_sure(&self, held: &str) -> bool {
        self.has_head && memchr::memmem::find(held.as_bytes(), TYPE.as_bytes()).is_some()
    }

    /// The verdict on a candidate that cannot be read from `used` on: a broken call if it is certainly one,
    /// text otherwise.
    fn broken(&self, held: &str, used: usize, message: &str) -> CandidateVerdict {
        match held.get(..used) {
            Some(text) if self.is_sure(text) => CandidateVerdict::Broken(used, message.to_owned()),
            _ => CandidateVerdict::Text(used),
        }
    }

    /// The verdict on a complete object or array. If one item of an array is a call, the other ones are
    /// broken calls.
    fn whole(&self, held: &str) -> CandidateVerdict {
        let text = held.get(..self.scanned).unwrap_or_default();
        let Some(value) = ForeignField::parse(text) else {
            return self.broken(held, self.scanned, "the call is not JSON");
        };
        let objects: Vec<JsonCallObject<'_>> = value.list().into_iter().map(ForeignField::object).collect();
        if !objects.iter().any(JsonCallObject::is_call) {
            return CandidateVerdict::Text(self.scanned);
        }
        CandidateVerdict::Calls(self.scanned, objects.iter().map(JsonCallObject::call).collect())
    }

    /// Decides at the end of the text: why the call is broken, or nothing if it was none, and up to which
    /// byte.
    pub(super) fn at_end(&self, held: &str) -> (Option<String>, usize) {
        (self.is_sure(held).then(|| String::from("the text ended inside of a call")), held.len())
    }
}

impl JsonCallObject<'_> {
    /// Whether the type is `tool_use`.
    fn is_call(&self) -> bool {
        self.kind.text().is_some_and(|kind| kind == "tool_use")
    }

    /// The call. Fails with the reason: no name, or arguments that are no object.
    fn call(&self) -> Result<TextCall, String> {
        if !self.is_call() {
            return Err(String::from("an item of the list is no call"));
        }
        let name = self.name.word().ok_or("the call has no name")?;
        let arguments = match (self.input.is_object(), self.input.is_some()) {
            (true, _) => self.input.as_json_text(),
            (false, false) => "{}",
            (false, true) => return Err(String::from("the input of the call is no object")),
        };
        let id = self.id.words().unwrap_or_default();
        Ok(TextCall { id: id.into_owned(), name: name.into_owned(), arguments: arguments.to_owned() })
    }
}

/// Whether `held` begins like a call: an object, or a list of objects, with a key that calls have. Nothing as
/// long as that is open.
fn head(held: &str) -> Option<bool> {
    let mut rest = held.get(..held.floor_char_boundary(HEAD_BYTES_MAX))?;
    if let Some(list) = rest.strip_prefix('[') {
        rest = list.trim_ascii_start();
        if rest.is_empty() {
            return None;
        }
    }
    let Some(object) = rest.strip_prefix('{') else { return Some(false) };
    let object = object.trim_ascii_start();
    if object.is_empty() {
        return None;
    }
    let Some(key) = object.strip_prefix('"') else { return Some(false) };
    match key.split_once('"') {
        Some((key, _)) => Some(KEYS.contains(&key)),
        None if KEYS.iter().any(|known| known.starts_with(key)) => None,
        None => Some(false),
    }
}
