//! Writes a conversation as one HTML file: without scripts, without anything that is loaded, with a policy
//! that would forbid both, and with every text escaped. It looks like the web interface, with `<details>`
//! where that has buttons.
//!
//! ```text
//! <html>
//!   <head>     policy, title, the style sheet
//!   <body>     the sprite of icons
//!     <header> title · date · runs · calls
//!     <main>
//!       <div class="user">                 a message of a user
//!       <section class="turn">             a section of a run
//!         <details class="steps">          its steps: thinking, cards of calls and of sub-agents, failures
//!         <div class="ans">                its answer
//!         <div class="end">                how it ended, its model, time and usage
//! ```
//!
//! Two things keep a hostile text harmless. Every text goes through [`escape`], and Markdown is written from
//! the parser's events by [`prose`], which knows a fixed set of elements. And the policy in the head allows
//! this one style sheet, images in `data:` addresses, and nothing else: should an escape be missing, its
//! markup cannot run or load anything. Classes and names of icons are written without escaping and must be
//! constants of this crate.

use std::io::{self, Write};

use super::outline::{AgentBlock, OutlineBlock, OutlineRun, OutlineSection, outline};
use super::pieces::PieceWriter;
use super::{StepsLayout, facts};
use model::event::{ErrorFact, MessageFile, PartKind, RunStatus, ToolState};
use model::format;
use model::preview;
use model::view::{MessageView, PartView, RunView, View};

mod card;
pub(super) mod escape;
mod prose;

use escape::{label, text};

/// The style sheet. It is copied into the file without any change, since its hash is in the policy.
const STYLE: &str = include_str!("html/style.css");

/// The SHA-256 of [`STYLE`] in Base64: the policy of the file allows only this style. A test prints the
/// expected value when the style changes.
const STYLE_HASH: &str = "fAB28jewkG3QHVfax848Fa5JK8BihvsYLTWazIvtdtA=";

/// The icons of a document, as one SVG sprite. It stands once at the beginning of the body; [`icon`] refers
/// to it.
const SPRITE: &str = include_str!("html/sprite.svg");

/// Writes the whole file to `to`, in pieces. `name` is the title of a conversation without one. Fails as `to` does.
pub(super) fn write(view: &View, name: &str, steps: StepsLayout, to: &mut dyn Write) -> io::Result<()> {
    let title = label(&facts::title(view, name));
    let mut out = PieceWriter::new(to);
    out.text.push_str(
        &[
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-",
            STYLE_HASH,
            "'; img-src data:; base-uri 'none'; form-action 'none'\">\n",
            "<meta name=\"referrer\" content=\"no-referrer\">\n",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
            "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
            &title,
            "</title>\n<style>",
            STYLE,
            "</style>\n</head>\n<body>\n",
            SPRITE,
            "<header>",
            &icon("fan", "run"),
            "<h1>",
            &title,
            "</h1>",
        ]
        .concat(),
    );
    element("span", "meta num", &about(view), &mut out.text);
    out.text.push_str("</header>\n<main>\n");
    for section in outline(view) {
        match section {
            OutlineSection::Message(message) => put_message(message, &mut out.text),
            OutlineSection::Run(run) => put_run(&run, steps, &mut out.text),
        }
        out.write_full_piece()?;
    }
    out.text.push_str("</main>\n</body>\n</html>\n");
    out.finish()
}

/// When the conversation began, and how many runs and calls it has.
fn about(view: &View) -> String {
    let first =
        view.runs.values().map(|run| run.started_at).chain(view.messages.values().map(|message| message.at));
    let began = first.filter(|at| *at > 0).min().map(format::date);
    let tools: usize = view.runs.values().map(|run| run.tools.len()).sum();
    let tools = (tools > 0).then(|| format::counted(tools, "tool"));
    let runs = (view.runs.len() > 1).then(|| format::counted(view.runs.len(), "run"));
    began.into_iter().chain(runs).chain(tools).collect::<Vec<_>>().join(" · ")
}

/// Writes a message of the history: a user's as plain text, the assistant's as Markdown, one of any other
/// role in a closed block with its role and its first line as the head.
fn put_message(message: &MessageView, out: &mut String) {
    match message.role.as_str() {
        "user" => {
            out.push_str("<div class=\"user\">");
            text(&message.text, out);
            message.files.iter().for_each(|attached| put_attached(attached, out));
            out.push_str("</div>\n");
        }
        "assistant" => put_prose(&message.text, out),
        role => {
            out.push_str("<details class=\"think\"><summary>");
            out.push_str(
                &[&icon("right", "chevron"), "<span>", &label(&preview::one_line(role)), "</span>"].concat(),
            );
            element("span", "pv", &preview::one_line(&message.text), out);
            out.push_str("</summary><div class=\"think-text\">");
            text(&message.text, out);
            out.push_str("</div></details>\n");
        }
    }
}

/// Writes a section of a run: its steps, its answer, and how the run ended if this is its last section. The
/// steps have a block of their own only where a call or a sub-agent is among them; it is closed at first with
/// [`StepsLayout::OneBlock`].
fn put_run(section: &OutlineRun<'_>, steps: StepsLayout, out: &mut String) {
    let run = section.run;
    out.push_str("<section class=\"turn\">\n");
    let has_calls = section.flow.tools > 0 || section.flow.agents > 0;
    if !has_calls {
        put_blocks(&section.steps, out);
    } else if !section.steps.is_empty() {
        out.push_str(match steps {
            StepsLayout::Each => "<details class=\"steps\" open><summary>",
            StepsLayout::OneBlock => "<details class=\"steps\"><summary>",
        });
        out.push_str(&icon("right", "chevron"));
        element("span", "", &facts::steps(&section.flow), out);
        element("span", "meta num", &facts::steps_more(&section.flow, run), out);
        out.push_str("</summary>\n");
        put_blocks(&section.steps, out);
        out.push_str("</details>\n");
    }
    put_blocks(&section.answer, out);
    if section.is_last {
        put_end(run, out);
    }
    out.push_str("</section>\n");
}

/// Writes how a run ended: its failure if no step has shown that, a word and an icon unless it is complete,
/// and its facts.
fn put_end(run: &RunView, out: &mut String) {
    if let Some(error) = facts::untold_error(run) {
        put_error(error, out);
    }
    out.push_str("<div class=\"end meta num\">");
    if let Some(word) = facts::end(run) {
        let (shape, class) = status_icon(run.status);
        out.push_str(&[&icon(shape, class), "<span>", word, "</span>"].concat());
    }
    element("span", "", &facts::run(run).join(" · "), out);
    out.push_str("</div>\n");
}

/// Writes blocks in their order, and those of sub-agents inside of them.
fn put_blocks(blocks: &[OutlineBlock<'_>], out: &mut String) {
    for block in blocks {
        match block {
            OutlineBlock::Part(part) => put_part(part, out),
            OutlineBlock::Thinking(part) => put_thinking(part, out),
            OutlineBlock::Call(id, tool, bracket) => card::put_call(id, tool, *bracket, out),
            OutlineBlock::Agent(agent) => put_agent(agent, out),
            OutlineBlock::Error(error) => put_error(error, out),
            OutlineBlock::Event(name, value) => card::put_event(name, value, out),
        }
    }
}

/// Writes a text, a refusal or a file, and how many bytes of it were left out.
fn put_part(part: &PartView, out: &mut String) {
    match part.kind {
        PartKind::File => put_file(&part.body.text, out),
        PartKind::Refusal => {
            out.push_str(&["<div class=\"refusal\">", &icon("slash", "gone")].concat());
            put_prose(&part.body.text, out);
            out.push_str("</div>\n");
        }
        PartKind::Text | PartKind::Thinking => put_prose(&part.body.text, out),
    }
    if part.body.cut > 0 {
        element("div", "meta", &format!("{} left out", format::bytes(part.body.cut)), out);
    }
}

/// Writes Markdown in a block of its own; nothing for a blank text.
fn put_prose(markdown: &str, out: &mut String) {
    if !markdown.trim().is_empty() {
        out.push_str("<div class=\"ans\">");
        prose::put(markdown, out);
        out.push_str("</div>\n");
    }
}

/// Writes a piece of thinking as a closed block with its duration as the head. The text in it is plain, not
/// Markdown. A piece without text, such as thinking that the provider hides, is one line.
fn put_thinking(part: &PartView, out: &mut String) {
    if part.body.text.trim().is_empty() {
        element("div", "think", &facts::thought(part), out);
        out.push('\n');
        return;
    }
    out.push_str("<details class=\"think\"><summary>");
    out.push_str(&icon("right", "chevron"));
    element("span", "num", &facts::thought(part), out);
    out.push_str("</summary><div class=\"think-text\">");
    text(&part.body.text, out);
    out.push_str("</div></details>\n");
}

/// Writes a file: an image whose bytes are in its URL is shown, anything else is a link if its scheme is
/// safe.
fn put_file(url: &str, out: &mut String) {
    let url = url.trim();
    if is_picture(url) {
        out.push_str(&["<img class=\"file\" alt=\"\" src=\"", url, "\">\n"].concat());
    } else if let Some(url) = preview::safe_link(url) {
        out.push_str("<p>");
        prose::open_link(&url, out);
        text(&url, out);
        out.push_str("</a></p>\n");
    } else {
        element("p", "meta", &format!("A file that is not shown ({})", format::bytes(url.len() as u64)), out);
    }
}

/// Writes a file of a message: an image as such, if its contents are here, and its name and size.
fn put_attached(file: &MessageFile, out: &mut String) {
    let url = file.data.as_deref().map(|data| ["data:", &file.mime, ";base64,", data].concat());
    if let Some(url) = url.filter(|url| is_picture(url)) {
        put_file(&url, out);
    }
    let name = preview::one_line(&file.name);
    element("p", "meta", &format!("{name} ({})", format::bytes(file.bytes)), out);
}

/// Whether `url` consists of an image in Base64, of a type that cannot contain a script.
///
/// SVG is not among them. What passes has only letters, digits and `+/=` after its type, so it needs no
/// escaping in an attribute.
pub(super) fn is_picture(url: &str) -> bool {
    let kinds = [
        "data:image/png;base64,",
        "data:image/jpeg;base64,",
        "data:image/gif;base64,",
        "data:image/webp;base64,",
    ];
    let bytes = kinds.iter().find_map(|kind| url.strip_prefix(kind));
    bytes.is_some_and(|bytes| bytes.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b)))
}

/// Writes a sub-agent as an open card: state, name, task and facts in one line, all that it did inside.
fn put_agent(agent: &AgentBlock<'_>, out: &mut String) {
    let (shape, class) = status_icon(agent.known.status);
    out.push_str("<details class=\"card sub\" open><summary>");
    out.push_str(&icon(shape, class));
    element("span", "nm", &facts::agent_name(agent.id.as_str(), agent.known), out);
    element("span", "pv task", &agent.known.task.as_deref().map(preview::one_line).unwrap_or_default(), out);
    element("span", "st meta num", &facts::agent(agent.known, agent.counts).join(" · "), out);
    out.push_str(
        &["<span></span>", &icon("right", "chevron"), "</summary>\n<div class=\"inner\">\n"].concat(),
    );
    put_blocks(&agent.blocks, out);
    out.push_str("</div></details>\n");
}

/// Writes a failure: its code, its whole message, and whether it can be tried again.
fn put_error(error: &ErrorFact, out: &mut String) {
    out.push_str(&["<div class=\"failure\">", &icon("cross", "err"), "<div><div>"].concat());
    element("span", "err what", &error.code, out);
    out.push(' ');
    text(&error.message, out);
    out.push_str("</div>");
    element("div", "meta num", &facts::retry(error), out);
    out.push_str("</div></div>\n");
}

/// Writes an element that contains only text.
///
/// `name` and `class` are not escaped: they must come from this crate. An empty class is left out.
fn element(name: &str, class: &str, content: &str, out: &mut String) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    out.push_str(&["<", name, &class, ">"].concat());
    text(content, out);
    out.push_str(&["</", name, ">"].concat());
}

/// An icon of the sprite. Names and classes are not escaped: they must come from this crate.
fn icon(name: &str, class: &str) -> String {
    format!("<svg class=\"{class}\" aria-hidden=\"true\"><use href=\"#{name}\"/></svg>")
}

/// The name and the class of the icon for a state.
fn tool_icon(state: ToolState) -> (&'static str, &'static str) {
    match state {
        ToolState::Writing => ("dots", "pend"),
        ToolState::Pending => ("clock", "pend"),
        ToolState::Approval => ("hand", "appr"),
        ToolState::Executing => ("ring", "run"),
        ToolState::Complete => ("check", "ok"),
        ToolState::Error => ("cross", "err"),
        ToolState::Cancelled => ("slash", "gone"),
        ToolState::Interrupted => ("broken", "slow"),
    }
}

/// The name and the class of the icon for the status of a run or a sub-agent.
fn status_icon(status: RunStatus) -> (&'static str, &'static str) {
    match status {
        RunStatus::Running => ("ring", "run"),
        RunStatus::Complete => ("check", "ok"),
        RunStatus::Error => ("cross", "err"),
        RunStatus::Cancelled => ("slash", "gone"),
        RunStatus::Interrupted => ("broken", "slow"),
    }
}
