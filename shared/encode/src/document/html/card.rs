//! Writes a tool call as a card: one line with its state, and the content inside.
//!
//! ```text
//! <details class="card" data-state="complete">
//!   <summary>  icon · name · arguments · size of the result · time
//!   Input      the arguments, if there are any
//!   Output     the result, or Error; else a line that says that there is none
//!   Files, Embeds
//!   footer     how long it was queued and ran, how much was left out, the id of the call
//! ```
//!
//! An event that has no form of its own is a card too, with its name and its whole value.

use super::escape::text;
use super::{element, icon, tool_icon};
use crate::document::facts;
use model::event::ToolState;
use model::flow::OverlapGroup;
use model::format;
use model::ids::ToolCallId;
use model::json::Json;
use model::preview::{self, TokenKind, pretty};
use model::view::ToolView;

/// The largest JSON that is coloured, in bytes: each token becomes an element.
///
/// Larger JSON is written as it is, without indentation.
const PAINTED_BYTES_MAX: usize = 64 << 10;

/// Writes the card of a call. The calls of a group that ran in parallel are enclosed together, with the time
/// that they took.
///
/// The first call of the group opens the enclosing element and the last one closes it. The calls of a group
/// are neighbours in their lane, so the elements are balanced. The time is known once all of them are over:
/// how long they took together by the clock, and the sum of their times.
pub(super) fn put_call(id: &ToolCallId, tool: &ToolView, bracket: Option<OverlapGroup>, out: &mut String) {
    if let Some(bracket) = bracket.filter(|bracket| bracket.is_first) {
        let times = bracket.took.map(|(wall, sum)| {
            format!(" · {} wall, {} in sum", format::duration(wall), format::duration(sum))
        });
        out.push_str("<div class=\"par\">");
        element(
            "div",
            "meta num",
            &format!("{} in parallel{}", bracket.size, times.unwrap_or_default()),
            out,
        );
    }
    put_card(id, tool, out);
    if bracket.is_some_and(|bracket| bracket.is_last) {
        out.push_str("</div>\n");
    }
}

/// Writes one card. Its footer always has the id of the call; the question to a person is there only while
/// the call waits for consent.
fn put_card(id: &ToolCallId, tool: &ToolView, out: &mut String) {
    let output = facts::output(tool);
    let (shape, class) = tool_icon(tool.state);
    out.push_str(&["<details class=\"card\" data-state=\"", tool.state.as_str(), "\"><summary>"].concat());
    out.push_str(&icon(shape, class));
    element("span", "nm", &facts::tool_name(tool), out);
    element("span", "pv", &facts::arguments(tool), out);
    let word = if tool.state == ToolState::Complete { "meta" } else { class };
    element("span", &format!("st num {word}"), &facts::state(tool, output.as_ref()), out);
    element("span", "tm num", &facts::latency(tool).unwrap_or_default(), out);
    out.push_str(&[&icon("right", "chevron"), "</summary>"].concat());
    out.push_str("<div class=\"body\">");
    if let Some(question) = tool.question.as_deref().filter(|_| tool.state == ToolState::Approval) {
        element("p", "ask appr", &format!("Waits for approval: {question}"), out);
    }
    let arguments = tool.arguments.text.trim();
    if !arguments.is_empty() && arguments != "{}" {
        put_block("Input", arguments, out);
    }
    match &output {
        Some(output) => put_block(if tool.is_error { "Error" } else { "Output" }, &output.text, out),
        None if tool.state == ToolState::Complete => element("p", "none meta", "completed", out),
        None => element("p", "none meta", "No result was recorded.", out),
    }
    for (word, json) in [("Files", &tool.files), ("Embeds", &tool.embeds)] {
        if let Some(json) = json {
            put_block(word, json.as_str(), out);
        }
    }
    out.push_str("<div class=\"foot meta num\">");
    for fact in facts::timing(tool) {
        element("span", "", &fact, out);
    }
    element("span", "id", id.as_str(), out);
    out.push_str("</div></div></details>\n");
}

/// Writes an event that has no form of its own.
pub(super) fn put_event(name: &str, value: &Json, out: &mut String) {
    out.push_str("<details class=\"card event\"><summary>");
    out.push_str(&icon("dot", "gone"));
    element("span", "nm", &preview::one_line(name), out);
    element("span", "pv", &preview::one_line(value.as_str()), out);
    out.push_str(
        &[
            "<span class=\"st\"></span><span></span>",
            &icon("right", "chevron"),
            "</summary><div class=\"body\">",
        ]
        .concat(),
    );
    put_pre(value.as_str(), out);
    out.push_str("</div></details>\n");
}

/// Writes a labelled block of text or JSON.
fn put_block(word: &str, content: &str, out: &mut String) {
    element("div", "tab", word, out);
    put_pre(content, out);
}

/// Writes a text unchanged; JSON is indented and coloured.
///
/// JSON is only what parses as an object or an array and is not larger than `PAINTED_BYTES_MAX`.
fn put_pre(content: &str, out: &mut String) {
    out.push_str("<pre class=\"pre\">");
    let is_json = content.trim_start().starts_with(['{', '[']) && Json::parse(content).is_some();
    if !is_json || content.len() > PAINTED_BYTES_MAX {
        // HTML drops a line end at the beginning of a `pre`, so it is written twice.
        out.push_str(if content.starts_with('\n') { "\n" } else { "" });
        text(content, out);
    } else {
        for token in pretty(content) {
            match token.kind {
                TokenKind::Plain => text(&token.text, out),
                TokenKind::Key => element("span", "k", &token.text, out),
                TokenKind::Text => element("span", "s", &token.text, out),
                TokenKind::Word => element("span", "v", &token.text, out),
            }
        }
    }
    out.push_str("</pre>");
}
