//! Tool calls that a model writes into its text because its server knows no better: `<tool_use>` elements,
//! and JSON objects or arrays of them. [`TextCalls`] takes the text as it comes and tells plain text, whole
//! calls and broken ones apart, in their order. Where the text is cut does not matter; each byte costs O(1).
//!
//! ```text
//! <tool_use id="c1" name="get_weather">{"city": "Oslo"}</tool_use>
//! <tool_use><name>get_weather</name><input>{"city": "Oslo"}</input></tool_use>
//! {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Oslo"}}
//! ```
//!
//! Text from a mark (`<`, `{`, `[`) on is a candidate and is held back until it is known what it is; all
//! other text is passed on at once. A call that is over its limit ([`TextRules::bytes_max`]) is reported as
//! broken and let go; what follows is read as usual.
//!
//! `stream` applies it to the texts of any decoder; the hub's own agents use it directly, to execute a call
//! while the model still writes.

use std::sync::Arc;

use model::limits::TEXT_CALL_BYTES_MAX;

mod json;
pub(super) mod stream;
mod xml;

use json::JsonCandidate;
use xml::{CallElements, XmlCall};

/// The form of calls in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextForm {
    /// `<tool_use>` or `<tool_call>` elements.
    Xml,
    /// JSON objects of the type `tool_use`, or arrays of them.
    Json,
    /// Elements and JSON objects.
    #[default]
    Both,
}

/// The rules for calls in text. They are settings of the user, not of a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRules {
    /// The size of the longest call, in bytes; [`TEXT_CALL_BYTES_MAX`] by default. It bounds what is held
    /// back (I7). 0 counts as 1.
    pub bytes_max: usize,
    /// The name of the element that contains a call, instead of `tool_use` and `tool_call`.
    pub element: Option<String>,
}

impl Default for TextRules {
    fn default() -> Self {
        Self { bytes_max: TEXT_CALL_BYTES_MAX, element: None }
    }
}

/// A complete call, as it was written in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextCall {
    /// The id that the model wrote; empty if it wrote none.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments: the text of a JSON object, `{}` if the call has none.
    pub arguments: String,
}

/// A piece of the text, as it was recognized. It is valid during the call of `take`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextCallToken<'a> {
    /// Text that belongs to no call; never empty.
    Text(&'a str),
    /// A call, ready to be executed.
    Call(TextCall),
    /// Text that looked like a call but is none.
    Error {
        /// Why it is no call.
        message: String,
        /// The text, up to the size of the longest call.
        written: &'a str,
    },
}

/// Finds calls in a text that is still being written. One is for one text; dropping it loses what it holds
/// back, so call [`TextCalls::end`] first.
#[derive(Debug)]
pub struct TextCalls {
    /// The form of the calls, which decides which marks begin a candidate.
    form: TextForm,
    /// The size of the longest call, in bytes, at least 1.
    bytes_max: usize,
    /// The elements that contain calls, shared with the candidates.
    elements: Arc<CallElements>,
    /// The end of the received text, from the mark on that may begin a call.
    held: String,
    /// The candidate with which `held` begins; nothing if `held` is empty.
    open: Option<CallCandidate>,
}

/// The kind of the text in [`TextCalls::held`].
#[derive(Debug)]
enum CallCandidate {
    /// The candidate begins with `<`.
    Xml(XmlCall),
    /// The candidate begins with a bracket.
    Json(JsonCandidate),
}

/// What a candidate is, as its reader decided. Lengths are in bytes from the beginning of the candidate.
enum CandidateVerdict {
    /// The candidate is not known before more text is received.
    Open,
    /// Plain text, at least up to here; what follows has to be examined.
    Text(usize),
    /// Calls and broken ones, up to here; an array has several. A broken one has the reason.
    Calls(usize, Vec<Result<TextCall, String>>),
    /// One broken call, up to here, with the reason.
    Broken(usize, String),
}

impl CallCandidate {
    /// The verdict on a candidate that is larger than the limit: broken if it is certainly a call, text
    /// otherwise.
    fn too_long(&self, within: &str, bytes_max: usize) -> CandidateVerdict {
        match self {
            Self::Json(call) if !call.is_sure(within) => CandidateVerdict::Text(within.len()),
            _ => CandidateVerdict::Broken(within.len(), format!("a call of more than {bytes_max} bytes")),
        }
    }
}

impl TextCalls {
    /// Finds calls of this form, by the default rules.
    pub fn new(form: TextForm) -> Self {
        Self::by(form, &TextRules::default())
    }

    /// Finds calls of this form, by these rules.
    pub fn by(form: TextForm, rules: &TextRules) -> Self {
        let elements = Arc::new(CallElements::new(rules.element.as_deref()));
        Self { form, bytes_max: rules.bytes_max.max(1), elements, held: String::new(), open: None }
    }

    /// Takes more text and passes what is recognized to `take`. At most [`TextRules::bytes_max`] bytes are
    /// held back afterwards.
    pub fn feed(&mut self, text: &str, take: &mut dyn FnMut(TextCallToken<'_>)) {
        let mut held = std::mem::take(&mut self.held);
        held.push_str(text);
        let settled = self.settle(&held, take);
        held.drain(..settled);
        self.held = held;
    }

    /// Takes the end of the text: a call that is still open is an error.
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

    /// Decides about as much of `held` as possible, and returns how many bytes that are. The rest is the open
    /// candidate.
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
            // What is after the limit must not matter: otherwise the result would depend on how the text was
            // cut.
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

    /// Passes plain text up to the next mark to `take`; from there on the text is a candidate.
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

/// Passes text that belongs to no call to `take`, unless it is empty.
fn plain(text: &str, take: &mut dyn FnMut(TextCallToken<'_>)) {
    if !text.is_empty() {
        take(TextCallToken::Text(text));
    }
}

#[cfg(test)]
mod tests;
