//! Tool calls that a model writes into its text because its server knows no better: `<tool_use>` elements, and JSON
//! objects or arrays of them. [`TextCalls`] takes the text as it comes and tells plain text, whole calls and broken
//! ones apart, in their order. Where the text is cut does not matter; each byte costs O(1).
//!
//! ```text
//! <tool_use id="c1" name="get_weather">{"city": "Oslo"}</tool_use>
//! <tool_use><name>get_weather</name><input>{"city": "Oslo"}</input></tool_use>
//! {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Oslo"}}
//! ```
//!
//! A call that is over its limit ([`TextRules::bytes_max`]) is told as broken and let go; what follows is read as usual.

use std::sync::Arc;

use model::limits::TEXT_CALL_BYTES_MAX;

mod json;
pub(super) mod stream;
mod xml;

use json::JsonCandidate;
use xml::{CallElements, XmlCall};

/// How calls are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextForm {
    /// As `<tool_use>` or `<tool_call>` elements.
    Xml,
    /// As JSON objects of the type `tool_use`, or arrays of them.
    Json,
    /// Either.
    #[default]
    Both,
}

/// What may be set about calls in text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRules {
    /// Longest call, in bytes: [`TEXT_CALL_BYTES_MAX`] unless it is said.
    pub bytes_max: usize,
    /// The name of the element that holds a call, in place of `tool_use` and `tool_call`.
    pub element: Option<String>,
}

impl Default for TextRules {
    fn default() -> Self {
        Self { bytes_max: TEXT_CALL_BYTES_MAX, element: None }
    }
}

/// A call, written as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextCall {
    /// The id that the model gave it; empty when it gave none.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, a JSON object.
    pub arguments: String,
}

/// Something that was found in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextCallToken<'a> {
    /// Text that belongs to no call. How it falls into pieces depends on how it came.
    Text(&'a str),
    /// A call, ready to be executed.
    Call(TextCall),
    /// What looked like a call is none.
    Error {
        /// Why.
        message: String,
        /// What was written, up to the longest call.
        written: &'a str,
    },
}

/// Finds calls in a text that is still being written.
#[derive(Debug)]
pub struct TextCalls {
    form: TextForm,
    bytes_max: usize,
    elements: Arc<CallElements>,
    /// The end of the text that came, from the mark on that may begin a call.
    held: String,
    open: Option<CallCandidate>,
}

/// What stands in [`TextCalls::held`].
#[derive(Debug)]
enum CallCandidate {
    Xml(XmlCall),
    Json(JsonCandidate),
}

/// What a candidate turns out to be. Lengths are bytes from its beginning.
enum CandidateVerdict {
    /// More text has to come.
    Open,
    /// Plain text, at least up to here; what follows has to be looked at.
    Text(usize),
    /// Calls and broken ones, up to here.
    Calls(usize, Vec<Result<TextCall, String>>),
    /// Broken, up to here.
    Broken(usize, String),
}

impl CallCandidate {
    /// It is over the limit.
    fn too_long(&self, within: &str, bytes_max: usize) -> CandidateVerdict {
        match self {
            Self::Json(call) if !call.is_sure(within) => CandidateVerdict::Text(within.len()),
            _ => CandidateVerdict::Broken(within.len(), format!("a call of more than {bytes_max} bytes")),
        }
    }
}

impl TextCalls {
    /// Finds calls of that form, written as usual.
    pub fn new(form: TextForm) -> Self {
        Self::by(form, &TextRules::default())
    }

    /// The same by rules that were set.
    pub fn by(form: TextForm, rules: &TextRules) -> Self {
        let elements = Arc::new(CallElements::new(rules.element.as_deref()));
        Self { form, bytes_max: rules.bytes_max.max(1), elements, held: String::new(), open: None }
    }

    /// Goes on with `text`.
    pub fn feed(&mut self, text: &str, take: &mut dyn FnMut(TextCallToken<'_>)) {
        let mut held = std::mem::take(&mut self.held);
        held.push_str(text);
        let settled = self.settle(&held, take);
        held.drain(..settled);
        self.held = held;
    }

    /// The text is over: a call that is still open will not be whole any more.
    pub fn end(&mut self, take: &mut dyn FnMut(TextCallToken<'_>)) {
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_str();
        while let Some(open) = self.open.take() {
            let (broken, len) = match &open {
                CallCandidate::Xml(call) => call.at_end(rest),
                CallCandidate::Json(call) => call.at_end(rest),
            };
            let (written, after) = rest.split_at_checked(len).unwrap_or((rest, ""));
            match broken {
                Some(message) => take(TextCallToken::Error { message, written }),
                None => plain(written, take),
            }
            rest = after.get(self.settle(after, take)..).unwrap_or_default();
        }
    }

    /// Settles as much of `held` as can be settled; how many bytes that were. What is left is the open candidate.
    fn settle(&mut self, held: &str, take: &mut dyn FnMut(TextCallToken<'_>)) -> usize {
        let mut rest = held;
        loop {
            let Some(open) = &mut self.open else {
                rest = self.outside(rest, take);
                if rest.is_empty() {
                    return held.len();
                }
                continue;
            };
            // What lies behind the limit must not matter, else it would matter how the text was cut.
            let within = rest.get(..rest.floor_char_boundary(self.bytes_max)).unwrap_or_default();
            let verdict = match open {
                CallCandidate::Xml(call) => call.look(within),
                CallCandidate::Json(call) => call.look(within),
            };
            let verdict = match verdict {
                CandidateVerdict::Open if within.len() < rest.len() => open.too_long(within, self.bytes_max),
                verdict => verdict,
            };
            let used = match &verdict {
                CandidateVerdict::Open => return held.len().saturating_sub(rest.len()),
                CandidateVerdict::Text(used)
                | CandidateVerdict::Calls(used, _)
                | CandidateVerdict::Broken(used, _) => *used,
            };
            self.open = None;
            let (written, after) = rest.split_at_checked(used).unwrap_or((rest, ""));
            rest = after;
            match verdict {
                CandidateVerdict::Calls(_, calls) => calls.into_iter().for_each(|call| {
                    take(match call {
                        Ok(call) => TextCallToken::Call(call),
                        Err(message) => TextCallToken::Error { message, written },
                    });
                }),
                CandidateVerdict::Broken(_, message) => take(TextCallToken::Error { message, written }),
                CandidateVerdict::Text(_) | CandidateVerdict::Open => plain(written, take),
            }
        }
    }

    /// Gives plain text up to the next mark; what comes from there on is a candidate.
    fn outside<'a>(&mut self, text: &'a str, take: &mut dyn FnMut(TextCallToken<'_>)) -> &'a str {
        let bytes = text.as_bytes();
        let mark = match self.form {
            TextForm::Xml => memchr::memchr(b'<', bytes),
            TextForm::Json => memchr::memchr2(b'{', b'[', bytes),
            TextForm::Both => memchr::memchr3(b'<', b'{', b'[', bytes),
        };
        let (before, rest) = text.split_at_checked(mark.unwrap_or(text.len())).unwrap_or((text, ""));
        plain(before, take);
        self.open = match rest.bytes().next() {
            Some(b'<') => Some(CallCandidate::Xml(XmlCall::new(Arc::clone(&self.elements)))),
            Some(_) => Some(CallCandidate::Json(JsonCandidate::default())),
            None => None,
        };
        rest
    }
}

/// Text that belongs to no call.
fn plain(text: &str, take: &mut dyn FnMut(TextCallToken<'_>)) {
    if !text.is_empty() {
        take(TextCallToken::Text(text));
    }
}

#[cfg(test)]
mod tests;
