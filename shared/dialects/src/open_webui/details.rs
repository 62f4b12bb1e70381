//! `<details>` blocks: calls, reasoning, and code that was run.
//!
//! ```text
//! <details type="tool_calls" done="true" id="c1" name="now" arguments="&quot;{}&quot;" result="&quot;noon&quot;">     up to 0.6
//! <details type="tool_calls" done="true" id="c1" name="now" arguments="{}"> <summary>…</summary> &quot;noon&quot; </details>     newer
//! <details type="reasoning" done="true" duration="3"> <summary>…</summary> > Hm. </details>
//! <details type="code_interpreter" done="true" output="…"> <summary>…</summary> ```python … ``` </details>
//! ```
//!
//! Older servers put the result of a call into an attribute, newer ones into the body; both are escaped as
//! HTML. A result that begins with `Error: ` is a failure. Any other `<details>` is text.

use std::borrow::Cow;

use super::page::{MessageCall, OpenWebUiMessage};
use crate::Decoded;
use crate::field::{ForeignField, json_within_depth};
use crate::markup::{attribute, unescape};
use crate::writer::{CallOutcome, EventWriter};
use model::json::Json;

/// How the result of a call begins that failed.
const FAILED: &str = "Error: ";

/// The opening tag of a block.
#[derive(Debug)]
pub(super) struct DetailsTag<'a> {
    /// The tag, with its attributes as they are written.
    tag: &'a str,
    kind: DetailsKind,
}

/// What a block is.
#[derive(Debug, Clone, Copy)]
enum DetailsKind {
    /// A call, and its result once it is done.
    Call,
    /// Reasoning, in quoted lines.
    Reasoning,
    /// Code that was run, and its output.
    Code,
}

/// Whether the tag is that of a block, and not of any `<details>` that a text may have.
pub(super) fn is_block(tag: &str) -> bool {
    DetailsTag::read(tag).is_some()
}

impl<'a> DetailsTag<'a> {
    /// Reads a tag; nothing if it is not that of a block.
    pub(super) fn read(tag: &'a str) -> Option<Self> {
        let kind = match &*attribute(tag, "type")? {
            "tool_calls" => DetailsKind::Call,
            "reasoning" => DetailsKind::Reasoning,
            "code_interpreter" => DetailsKind::Code,
            _ => return None,
        };
        Some(Self { tag, kind })
    }

    /// Writes what the block with this body says.
    pub(super) fn tell(
        &self,
        body: &str,
        page: &mut OpenWebUiMessage,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let is_done = attribute(self.tag, "done").is_none_or(|done| done == "true");
        let body = without_summary(body);
        match self.kind {
            DetailsKind::Call => page.call(self.call(is_done, body), w, out),
            DetailsKind::Reasoning => page.thought(&quoted(body), is_done, w, out),
            DetailsKind::Code => page.call(self.code(is_done, body), w, out),
        }
    }

    /// An attribute, unescaped; empty without one.
    fn attribute(&self, name: &str) -> Cow<'a, str> {
        attribute(self.tag, name).unwrap_or_default()
    }

    /// The call of a block. It has an outcome only if it is done.
    fn call(&self, is_done: bool, body: &'a str) -> MessageCall<'a> {
        let result = attribute(self.tag, "result").filter(|result| !result.is_empty());
        let result = result.unwrap_or_else(|| unescape(body.trim()));
        let json = |name| {
            attribute(self.tag, name)
                .and_then(|value| Json::parse(&value))
                .filter(|json| json.as_str() != "\"\"")
        };
        let outcome = CallOutcome { files: json("files"), embeds: json("embeds"), ..outcome_of(&result) };
        MessageCall {
            id: self.attribute("id"),
            name: self.attribute("name"),
            arguments: plain(self.attribute("arguments")),
            outcome: is_done.then_some(outcome),
        }
    }

    /// The call of `code_interpreter` of a block, with the code as its argument.
    fn code(&self, is_done: bool, body: &'a str) -> MessageCall<'a> {
        let (lang, code) = fenced(body);
        let arguments = serde_json::json!({ "lang": lang, "code": unescape(code) }).to_string();
        let output = self.attribute("output");
        MessageCall {
            id: self.attribute("id"),
            name: Cow::Borrowed("code_interpreter"),
            arguments: Cow::Owned(arguments),
            outcome: is_done.then(|| CallOutcome::of(json_or_text(&output))),
        }
    }
}

/// The arguments themselves, since some servers write them as JSON twice.
fn plain(arguments: Cow<'_, str>) -> Cow<'_, str> {
    match ForeignField::parse(&arguments).and_then(ForeignField::text) {
        Some(inner) => Cow::Owned(inner.into_owned()),
        None => arguments,
    }
}

/// The outcome of a call that is over. Pipes write a failure as a result that begins with `Error: `.
fn outcome_of(result: &str) -> CallOutcome {
    let output = json_or_text(result);
    match output.to_text().strip_prefix(FAILED) {
        Some(why) => CallOutcome::error(Json::string(why)),
        None => CallOutcome::of(output),
    }
}

/// A text as JSON, or as a string if it is none.
fn json_or_text(text: &str) -> Json {
    json_within_depth(text).unwrap_or_else(|| Json::string(text))
}

/// The body after its summary.
fn without_summary(body: &str) -> &str {
    body.split_once("</summary>").map_or(body, |(_, rest)| rest).trim_matches(['\n', '\r'])
}

/// The text of lines that are quoted with `>`.
fn quoted(body: &str) -> String {
    let lines =
        body.lines().map(|line| line.strip_prefix("> ").or_else(|| line.strip_prefix('>')).unwrap_or(line));
    unescape(&lines.collect::<Vec<_>>().join("\n")).into_owned()
}

/// The language of a fence and the code in it.
fn fenced(body: &str) -> (&str, &str) {
    let Some((_, rest)) = body.split_once("```") else { return ("", body.trim()) };
    let (lang, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    (lang.trim(), rest.rsplit_once("```").map_or(rest, |(code, _)| code).trim_end_matches('\n'))
}
