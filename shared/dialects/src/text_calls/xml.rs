//! Reads calls as elements: `<tool_use id="…" name="…">{…}</tool_use>`, with the fields as attributes, as
//! elements inside, or as one JSON object.
//!
//! ```text
//! <tool_use id="c1" name="add">{"a": 1}</tool_use>                    attributes; the body has the arguments
//! <tool_use><name>add</name><input><a>1</a></input></tool_use>        an element for each field and argument
//! <tool_use><tool_name>add</tool_name><a>1</a></tool_use>             other elements are the arguments
//! <tool_use>{"name": "add", "arguments": {"a": 1}}</tool_use>         one JSON object
//! <tool_use name="now"/>                                              no arguments
//! ```
//!
//! This is not XML: a closing tag inside of a JSON string belongs to the string, bodies may be wrapped in
//! CDATA, and JSON is unescaped only if it is none as it stands.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::{CandidateVerdict, TextCall};
use crate::field::ForeignField;
use crate::framing::{JsonNesting, excerpt};
use crate::markup::{attribute, unescape};

/// The default elements of calls.
const ELEMENTS: [&str; 2] = ["tool_use", "tool_call"];

/// The size of the longest opening tag, in bytes: it contains an id and a name. A longer one is text.
const TAG_BYTES_MAX: usize = 4 << 10;

/// The elements of calls, with their tags. They are made once for a text and shared by all candidates.
#[derive(Debug)]
pub(super) struct CallElements(Vec<CallElement>);

/// The tags of one element.
#[derive(Debug)]
struct CallElement {
    /// The beginning of the opening tag, up to the end of its name.
    open: String,
    /// The closing tag, as a whole.
    close: String,
}

impl CallElements {
    /// The element with this name, or the default ones.
    pub(super) fn new(name: Option<&str>) -> Self {
        let element = |name: &str| CallElement { open: format!("<{name}"), close: format!("</{name}>") };
        Self(name.map_or_else(|| ELEMENTS.into_iter().map(element).collect(), |name| vec![element(name)]))
    }
}

/// A candidate that begins with `<`: an element that is open, as far as that is known.
#[derive(Debug)]
pub(super) struct XmlCall {
    elements: Arc<CallElements>,
    /// The number of bytes of the candidate that were examined; no byte is examined twice.
    scanned: usize,
    /// What is known of its opening tag.
    tag: OpeningTag,
    /// What is known of the text behind that.
    body: ElementBody,
}

/// What is known of the opening tag. `which` is the index of the element.
#[derive(Debug, Default)]
enum OpeningTag {
    /// It is not known whether there is an opening tag.
    #[default]
    Unknown,
    /// The name of the tag is complete, its end is not received yet. `quote` is the quote that is open, `before` the byte before the next one.
    Open { which: usize, quote: Option<u8>, before: u8 },
    /// The tag is complete and `len` bytes long.
    Whole { which: usize, len: usize },
}

/// What is known of the text after the opening tag.
#[derive(Debug, Default)]
struct ElementBody {
    /// The brackets of the body, if that is JSON.
    nesting: JsonNesting,
    /// There was a byte that is not white space.
    begun: bool,
    /// The body begins with a bracket.
    is_json: bool,
    /// There was a line end in a JSON string: the text cannot be parsed any more.
    is_broken: bool,
    /// Where a closing tag inside of a JSON string ends. It may be the end of a broken call.
    maybe: Option<usize>,
}

impl XmlCall {
    /// A candidate for one of these elements, before any text.
    pub(super) fn new(elements: Arc<CallElements>) -> Self {
        Self { elements, scanned: 0, tag: OpeningTag::default(), body: ElementBody::default() }
    }

    /// Examines what `held`, which begins with `<`, has beyond what was examined before.
    ///
    /// `held` is the whole candidate so far, not longer than the limit of calls.
    pub(super) fn look(&mut self, held: &str) -> CandidateVerdict {
        if matches!(self.tag, OpeningTag::Unknown) {
            match self.elements.begun(held) {
                TagMatch::Other => return CandidateVerdict::Text(1),
                TagMatch::Maybe => return CandidateVerdict::Open,
                TagMatch::Is { which, len } => {
                    self.scanned = len;
                    self.tag = OpeningTag::Open { which, quote: None, before: 0 };
                }
            }
        }
        if let Some(verdict) = self.look_at_tag(held) {
            return verdict;
        }
        let OpeningTag::Whole { which, len } = self.tag else { return CandidateVerdict::Open };
        let elements = Arc::clone(&self.elements);
        let Some(CallElement { close, .. }) = elements.0.get(which) else { return CandidateVerdict::Open };
        for (at, byte) in held.bytes().enumerate().skip(self.scanned) {
            self.scanned = at.saturating_add(1);
            self.body.push(byte);
            let ends = byte == b'>'
                && held.get(len..self.scanned).is_some_and(|body| body.ends_with(close.as_str()));
            if ends && let Some(verdict) = self.close(held, close, len) {
                return verdict;
            }
        }
        CandidateVerdict::Open
    }

    /// Examines the opening tag. Gives a verdict if that is the whole element or too long, and nothing
    /// otherwise.
    fn look_at_tag(&mut self, held: &str) -> Option<CandidateVerdict> {
        let OpeningTag::Open { which, quote, before } = &mut self.tag else { return None };
        for (at, byte) in held.bytes().enumerate().skip(self.scanned) {
            self.scanned = at.saturating_add(1);
            match (byte, *quote) {
                (b'>', None) if *before == b'/' => {
                    let tag = held.get(..at).unwrap_or_default();
                    return Some(CandidateVerdict::Calls(self.scanned, vec![read(tag, "")]));
                }
                (b'>', None) => {
                    self.tag = OpeningTag::Whole { which: *which, len: self.scanned };
                    return None;
                }
                (b'"' | b'\'', None) if *before == b'=' => *quote = Some(byte),
                (_, Some(open)) if open == byte => *quote = None,
                _ => {}
            }
            *before = byte;
            if self.scanned > TAG_BYTES_MAX {
                return Some(CandidateVerdict::Text(self.scanned));
            }
        }
        None
    }

    /// Decides about a closing tag, whose last byte was just examined. `len` is the length of the opening
    /// tag. Nothing if it may be part of the arguments.
    fn close(&mut self, held: &str, close: &str, len: usize) -> Option<CandidateVerdict> {
        let end = self.scanned;
        let tag = held.get(..len.saturating_sub(1)).unwrap_or_default();
        let body = held.get(len..end.saturating_sub(close.len())).unwrap_or_default();
        match (read(tag, body), self.body.maybe) {
            (Ok(call), _) => Some(CandidateVerdict::Calls(end, vec![Ok(call)])),
            // Arguments may contain tags: only a second closing tag shows that the first one was meant.
            (Err(_), None) if self.body.may_go_on() => {
                self.body.maybe = Some(end);
                None
            }
            (Err(message), maybe) => Some(CandidateVerdict::Broken(maybe.unwrap_or(end), message)),
        }
    }

    /// Decides at the end of the text: why the call is broken, or nothing if it was none, and up to which
    /// byte.
    pub(super) fn at_end(&self, held: &str) -> (Option<String>, usize) {
        match (&self.tag, self.body.maybe) {
            (OpeningTag::Unknown, _) => (None, held.len()),
            // A tag that is never closed is not the beginning of a call.
            (OpeningTag::Open { .. }, _) => {
                (Some(String::from("the text ended inside of a call")), held.len())
            }
            (OpeningTag::Whole { .. }, Some(maybe)) => {
                (Some(String::from("a string in the call never ends")), maybe)
            }
            (OpeningTag::Whole { .. }, None) => {
                (Some(String::from("the text ended inside of a call")), held.len())
            }
        }
    }
}

impl ElementBody {
    /// Examines one byte of the body.
    fn push(&mut self, byte: u8) {
        if !self.begun && !byte.is_ascii_whitespace() {
            self.begun = true;
            self.is_json = matches!(byte, b'{' | b'[');
        }
        if self.is_json {
            self.is_broken |= byte == b'\n' && self.nesting.is_in_string();
            self.nesting.push(byte);
        }
    }

    /// Whether the last byte is inside of a JSON string that can still end: then a closing tag may be part of
    /// it.
    fn may_go_on(&self) -> bool {
        self.is_json && !self.is_broken && self.nesting.is_in_string()
    }
}

/// Whether a candidate begins with the tag of a call.
enum TagMatch {
    /// The text is another tag, or no tag.
    Other,
    /// The text is the beginning of such a tag.
    Maybe,
    /// The text is the tag of this element; `len` is where its name ends.
    Is { which: usize, len: usize },
}

impl CallElements {
    /// Whether `held` begins with an opening tag.
    fn begun(&self, held: &str) -> TagMatch {
        for (which, CallElement { open, .. }) in self.0.iter().enumerate() {
            match held.strip_prefix(open.as_str()) {
                Some("") => return TagMatch::Maybe,
                Some(rest) if rest.starts_with(|c: char| c == '>' || c == '/' || c.is_ascii_whitespace()) => {
                    return TagMatch::Is { which, len: open.len() };
                }
                Some(_) => return TagMatch::Other,
                None if open.starts_with(held) => return TagMatch::Maybe,
                None => {}
            }
        }
        TagMatch::Other
    }
}

/// The fields of a call that is one JSON object, in the spellings of models: `name` or `tool_name`; `input`,
/// `arguments` or `parameters`, as an object or its text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct JsonCallFields<'a> {
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    tool_name: ForeignField<'a>,
    #[serde(borrow)]
    input: ForeignField<'a>,
    #[serde(borrow)]
    arguments: ForeignField<'a>,
    #[serde(borrow)]
    parameters: ForeignField<'a>,
}

/// Reads a call from `tag` (without its `>`) and `body`. Fails with the reason why it is none.
/// The name comes from the attribute, then from an element or the object; the same holds for the id.
fn read(tag: &str, body: &str) -> Result<TextCall, String> {
    let id = attribute(tag, "id").unwrap_or_default();
    let name = attribute(tag, "name").filter(|name| !name.trim().is_empty());
    let body = body.trim();
    let body =
        body.strip_prefix("<![CDATA[").and_then(|body| body.strip_suffix("]]>")).unwrap_or(body).trim();
    if !body.is_empty() && body.starts_with('<') {
        return read_elements(&id, name, body);
    }
    if let Some(name) = name {
        return Ok(TextCall {
            id: id.into_owned(),
            name: name.trim().to_owned(),
            arguments: arguments(body)?,
        });
    }
    let plain = json(body).ok_or("the call is not a JSON object")?;
    let object: JsonCallFields<'_> = ForeignField::parse(&plain).unwrap_or_default().object();
    let name = object.name.word().or_else(|| object.tool_name.word()).ok_or("the call has no name")?;
    let inputs = [object.input, object.arguments, object.parameters];
    let input = inputs.into_iter().find(|input| input.is_some()).unwrap_or_default();
    let id = if id.is_empty() { object.id.words().unwrap_or_default() } else { id };
    let input = input.text().unwrap_or_else(|| Cow::Borrowed(input.as_json_text()));
    Ok(TextCall { id: id.into_owned(), name: name.trim().to_owned(), arguments: arguments(&input)? })
}

/// Reads a call whose fields are elements. Elements that are no field are arguments, unless one of the fields
/// has the arguments. Fails if there is no name, or text between the elements.
fn read_elements(id: &str, name: Option<Cow<'_, str>>, body: &str) -> Result<TextCall, String> {
    let mut call =
        TextCall { id: id.to_owned(), name: name.unwrap_or_default().into_owned(), arguments: String::new() };
    let mut rest = serde_json::Map::new();
    for (element, inside) in elements(body)? {
        match element {
            "id" if call.id.is_empty() => call.id = unescape(inside.trim()).into_owned(),
            "name" | "tool_name" if call.name.is_empty() => {
                call.name = unescape(inside.trim()).into_owned();
            }
            "input" | "arguments" | "parameters" if call.arguments.is_empty() => {
                call.arguments = arguments(inside.trim())?;
            }
            _ => {
                rest.insert(element.to_owned(), value(inside));
            }
        }
    }
    if call.name.is_empty() {
        return Err(String::from("the call has no name"));
    }
    if call.arguments.is_empty() {
        call.arguments = serde_json::Value::Object(rest).to_string();
    }
    Ok(call)
}

/// The elements that `body` consists of: names and contents. Fails at text between them. An element ends at
/// the first closing tag with its name, so the same element cannot be inside of itself.
fn elements(body: &str) -> Result<Vec<(&str, &str)>, String> {
    let (mut found, mut rest) = (Vec::new(), body.trim());
    while !rest.is_empty() {
        let odd = || format!("no element: {}", excerpt(rest));
        let (tag, after) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')).ok_or_else(odd)?;
        let name = tag.split_ascii_whitespace().next().unwrap_or_default();
        if name.is_empty() || name.starts_with('/') {
            return Err(odd());
        }
        let close = format!("</{name}>");
        let (inside, after) = after.split_once(&close).ok_or_else(odd)?;
        found.push((name, inside));
        rest = after.trim_start();
    }
    Ok(found)
}

/// Reads arguments from `text`: a JSON object, an element for each, or nothing (also `null`), which gives
/// `{}`. Fails for anything else.
fn arguments(text: &str) -> Result<String, String> {
    if text.is_empty() || text == "null" {
        return Ok(String::from("{}"));
    }
    if text.starts_with('<') {
        let fields = elements(text)?.into_iter().map(|(name, inside)| (name.to_owned(), value(inside)));
        return Ok(serde_json::Value::Object(fields.collect()).to_string());
    }
    json(text).map(Cow::into_owned).ok_or_else(|| String::from("the arguments are not a JSON object"))
}

/// `text` as a JSON object, unescaped if it needs that.
fn json(text: &str) -> Option<Cow<'_, str>> {
    let is_object = |text: &str| ForeignField::parse(text).is_some_and(ForeignField::is_object);
    if is_object(text) {
        return Some(Cow::Borrowed(text));
    }
    Some(unescape(text)).filter(|plain| is_object(plain))
}

/// The value of an argument in an element of its own. XML has no types: only what is clearly JSON is read as
/// such.
fn value(inside: &str) -> serde_json::Value {
    let text = unescape(inside.trim());
    let is_json = text.starts_with(['{', '[']);
    let json = is_json.then(|| serde_json::from_str(&text).ok()).flatten();
    json.unwrap_or_else(|| serde_json::Value::String(text.into_owned()))
}
