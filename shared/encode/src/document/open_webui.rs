//! Conversations as Open WebUI shows them: Markdown with one `<details>` block for each call and each piece of reasoning.
//!
//! Open WebUI reads each block by itself and never brings two together by their id, so a block cannot be completed, only
//! written again. Content is therefore always made as a whole: a call that is done stands where the pending one stood.
//!
//! A block must begin a line, its opening tag ends at the first `>` and an attribute at the first `"`, with no line end in
//! between, and it ends where as many blocks have ended as have begun. So all that models and tools wrote is escaped until
//! it has none of these, and texts between blocks cannot begin one.
//!
//! ```text
//! <details type="reasoning" done="true" duration="2">
//! <summary>Thought for 2 seconds</summary>
//! &gt; the thinking
//! </details>
//!
//! <details type="tool_calls" done="true" id="call_1" name="search" arguments="{&quot;q&quot;:&quot;moon&quot;}">
//! <summary>Tool Executed</summary>
//! the result as JSON, escaped
//! </details>
//!
//! The answer
//! ```
//!
//! A call is `done` when its state is final or its run is over; until then it has neither result nor files.
//! Of sub-agents only the calls are shown, with the name of the agent in front; their texts, thinking and
//! failures, and events with a name of their own, are left out.

use serde::{Deserialize, Serialize};

use super::facts;
use super::markdown::tame::tame;
use model::event::{PartKind, ToolState};
use model::flow::{ConversationSection, turns};
use model::format;
use model::json::Json;
use model::preview;
use model::view::{Item, NoteBody, PartView, RunView, ToolView, View};

mod chat;
mod live;

pub use chat::chat;
pub use live::OpenWebUiStream;
pub(crate) use live::encoder;

/// The place where the result of a call is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultForm {
    /// In the attribute `result`, for Open WebUI up to 0.8.
    Attributes,
    /// In the body of the block, for Open WebUI from 0.9 on.
    #[default]
    Body,
}

/// The options of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenWebUiOptions {
    /// The place where results are written.
    pub form: ResultForm,
    /// The size up to which results and arguments are shown completely, in bytes. Longer ones are cut.
    pub bytes_max: usize,
}

impl Default for OpenWebUiOptions {
    fn default() -> Self {
        Self { form: ResultForm::default(), bytes_max: usize::MAX }
    }
}

/// The content of the message that `run` becomes.
///
/// Items are in the order of the run. `options` says where results are and how long they may be.
pub fn content(run: &RunView, options: OpenWebUiOptions) -> String {
    stretch(run, &run.items, options)
}

/// All answers of `view` as one content. The messages of users after the first answer are quoted.
/// Messages with any other role than `user`, and those before the first run, are left out.
pub fn transcript(view: &View, options: OpenWebUiOptions) -> String {
    let mut out = String::new();
    let mut has_begun = false;
    for turn in turns(view) {
        match turn {
            ConversationSection::Run(part) => {
                let items = part.run.items.get(part.items.clone()).unwrap_or_default();
                let content = stretch(part.run, items, options);
                if !content.trim().is_empty() {
                    line(&mut out);
                    out.push_str(&content);
                }
                has_begun = true;
            }
            ConversationSection::Message(_, message) if has_begun && message.role == "user" => {
                line(&mut out);
                for said in tame(&message.text).lines() {
                    out.push_str(&["> ", said, "\n"].concat());
                }
            }
            ConversationSection::Message(..) => {}
        }
    }
    out
}

/// The content of some items of `run`.
fn stretch(run: &RunView, items: &[Item], options: OpenWebUiOptions) -> String {
    let mut out = String::new();
    // One answer may consist of several parts: they are one text until a block comes in between.
    let mut text = String::new();
    for item in items {
        let block = match item {
            Item::Part(id) => match run.parts.get(id).filter(|part| part.agent.is_none()) {
                None => continue,
                Some(part) if part.kind == PartKind::Thinking => reasoning(part, run, options.form),
                Some(part) if part.kind == PartKind::File => file(&part.body.text),
                Some(part) => {
                    text.push_str(&part.body.text);
                    continue;
                }
            },
            Item::Tool(id) => match run.tools.get(id) {
                None => continue,
                Some(tool) => call(id.as_str(), tool, run, options),
            },
            Item::Note(number) => match run.notes.get(*number).map(|note| (&note.agent, &note.body)) {
                Some((None, NoteBody::Error(error))) => {
                    let text = preview::one_line(&format!("**Error** {}: {}", error.code, error.message));
                    format!("> {}\n", tame(&text))
                }
                _ => continue,
            },
            Item::Agent(_) => continue,
        };
        put_text(&std::mem::take(&mut text), &mut out);
        line(&mut out);
        out.push_str(&block);
    }
    put_text(&text, &mut out);
    out
}

/// Writes a text of the model as a paragraph of its own, tamed so that it cannot begin a block.
fn put_text(text: &str, out: &mut String) {
    if !text.trim().is_empty() {
        line(out);
        out.push_str(&tame(text));
    }
}

/// Begins a new paragraph, unless the content is empty.
fn line(out: &mut String) {
    if !out.is_empty() {
        out.push_str(if out.ends_with('\n') { "\n" } else { "\n\n" });
    }
}

/// The block of a call. Calls of sub-agents have the name of the agent in front.
///
/// Arguments are empty while the model still writes them: a piece of JSON cannot be shown. Final ones are
/// written as they came, on one line if they are JSON. Files and embeds are attributes in both forms.
fn call(id: &str, tool: &ToolView, run: &RunView, options: OpenWebUiOptions) -> String {
    // A call that is not final when the run is over is not executed any more.
    let is_done = tool.state.is_final() || !run.is_running();
    let name = facts::tool_name(tool);
    let agent = tool.agent.as_ref().and_then(|id| run.agents.get(id).map(|agent| (id, agent)));
    let name = match agent {
        Some((id, agent)) => format!("{}: {name}", facts::agent_name(id.as_str(), agent)),
        None => name,
    };
    let arguments = &tool.arguments.text;
    let arguments = match tool.state {
        ToolState::Writing if !is_done => String::new(),
        _ => Json::parse(arguments).map_or_else(|| arguments.to_string(), |json| json.as_str().to_owned()),
    };
    let mut tag = format!("<details type=\"tool_calls\" done=\"{is_done}\"");
    put_attribute("id", id, &mut tag);
    put_attribute("name", &name, &mut tag);
    put_attribute("arguments", &shortened(&arguments, options.bytes_max), &mut tag);
    let result = is_done.then(|| result(tool, options.bytes_max));
    if let Some(result) = result.as_ref().filter(|_| options.form == ResultForm::Attributes) {
        put_attribute("result", result, &mut tag);
    }
    for (word, json) in [("files", &tool.files), ("embeds", &tool.embeds)] {
        if let Some(json) = json.as_ref().filter(|_| is_done) {
            put_attribute(word, json.as_str(), &mut tag);
        }
    }
    let summary = if is_done { "Tool Executed" } else { "Executing..." };
    let body = match result.filter(|_| options.form == ResultForm::Body) {
        Some(result) => format!("{}\n", escaped(&result)),
        None => String::new(),
    };
    format!("{tag}>\n<summary>{summary}</summary>\n{body}</details>\n")
}

/// The result of a call as JSON. A text becomes a JSON string, which Open WebUI shows as text.
/// A call that neither gave a result nor printed anything has a word for its state. A failure is a text that
/// begins with `Error: `. A result that was cut is a string, since its beginning is no JSON.
fn result(tool: &ToolView, bytes_max: usize) -> String {
    let said = |text: &str| Json::string(text).as_str().to_owned();
    let Some(output) = facts::output(tool) else {
        return match tool.state {
            ToolState::Complete => said("completed"),
            ToolState::Error => said("Error"),
            ToolState::Pending | ToolState::Approval => said("not executed"),
            state => said(state.as_str()),
        };
    };
    let text = shortened(&output.text, bytes_max);
    if tool.is_error {
        return said(&failed(&text));
    }
    match &tool.result {
        Some(json) if text.len() == output.text.len() && tool.left_out() == 0 => json.as_str().to_owned(),
        _ => said(&text),
    }
}

/// A failure in the form of Open WebUI's pipes; some tools already use that form.
fn failed(text: &str) -> String {
    if text.starts_with("Error: ") { text.to_owned() } else { format!("Error: {text}") }
}

/// The beginning of a long text, with the size of the rest.
///
/// The cut is at the bound of a character, at or before `bytes_max`.
fn shortened(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let mut end = bytes_max;
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    let rest = text.len().saturating_sub(end) as u64;
    format!("{}… ({} more)", text.get(..end).unwrap_or_default(), format::bytes(rest))
}

/// The block of a piece of thinking, with its duration once it is over.
///
/// Each line is quoted. The duration is the publisher's, else measured by the hub, in whole seconds. Thinking
/// of a run that is over without an end of its own is `done`, without a duration if none is known.
fn reasoning(part: &PartView, run: &RunView, form: ResultForm) -> String {
    let lines = tame(&part.body.text);
    let mut body = String::with_capacity(lines.len());
    for line in lines.trim_end().lines() {
        match form {
            // Open WebUI reads it as Markdown without unescaping it.
            ResultForm::Attributes => body.push_str(&["> ", &line.replace('<', "&lt;"), "\n"].concat()),
            // Open WebUI unescapes it first, then reads it as Markdown.
            ResultForm::Body => body.push_str(&["&gt; ", &escaped(line), "\n"].concat()),
        }
    }
    let measured = part.ended_at.map(|end| end.saturating_sub(part.started_at));
    let Some(ms) = part.duration_ms.or(measured).filter(|_| part.ended_at.is_some() || !run.is_running())
    else {
        let done = if run.is_running() { "false" } else { "true" };
        return format!(
            "<details type=\"reasoning\" done=\"{done}\">\n<summary>Thinking…</summary>\n{body}</details>\n"
        );
    };
    let seconds = ms.saturating_add(500) / 1000;
    format!(
        "<details type=\"reasoning\" done=\"true\" duration=\"{seconds}\">\n\
         <summary>Thought for {seconds} seconds</summary>\n{body}</details>\n"
    )
}

/// An image whose content is in its URL is shown, anything else is a link; nothing if the link is not safe.
fn file(url: &str) -> String {
    let url = url.trim();
    if super::html::is_picture(url) {
        return format!("![image]({url})\n");
    }
    match preview::safe_link(url) {
        Some(url) => format!("[File](<{}>)\n", url.replace(['<', '>', '\\'], "")),
        None => String::new(),
    }
}

/// Appends an attribute to an opening tag. `name` must come from this crate; `value` is escaped.
fn put_attribute(name: &str, value: &str, tag: &mut String) {
    tag.push(' ');
    tag.push_str(name);
    tag.push_str("=\"");
    tag.push_str(&escaped(value));
    tag.push('"');
}

/// `text` with every character escaped that ends an attribute, a tag or a line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(text.len() / 8));
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("&#10;"),
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            '\u{2028}' => out.push_str("&#8232;"),
            '\u{2029}' => out.push_str("&#8233;"),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}
