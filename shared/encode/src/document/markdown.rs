//! Writes a conversation as Markdown: each step where it happened, or all of them in one block with one line
//! for each.
//!
//! ```text
//! # Title of the conversation
//!
//! ## User
//! What a person asked
//!
//! ## Assistant
//! *name · model · complete · 4 s · 1.2k tokens in · 300 out*
//! <details> <summary>Thought for 2 s</summary>  > the thinking      </details>
//! <details> <summary>✓ search · moon · text · 3.4 KB · 0.3 s</summary>
//!     Arguments, result, files, times                               </details>
//! <details> <summary>↳ helper · complete · 2 tools</summary>
//!     its task, and all that it did                                 </details>
//! The answer
//! ```
//!
//! Messages of a user or assistant have a heading; those with any other role are closed blocks. Texts of
//! models and messages stay Markdown, made safe by [`tame::tame`]; arguments, results and printed output are
//! code; names and other single lines have every sign of Markdown escaped. The heads of blocks are HTML,
//! where Markdown has no meaning. The brackets of calls that ran in parallel are not shown here, and with
//! [`StepsLayout::OneBlock`] [`brief`] says what else is left out.

use std::io::{self, Write};

use super::outline::{AgentBlock, OutlineBlock, OutlineRun, OutlineSection, outline};
use super::pieces::PieceWriter;
use super::{StepsLayout, facts};
use model::event::{ErrorFact, PartKind, ToolState};
use model::format;
use model::json::Json;
use model::preview::{self, PREVIEW_CHARS, cut, pretty};
use model::view::{MessageView, PartView, ToolView, View};

mod brief;
pub(super) mod tame;

use tame::{code, plain, tame};

/// Writes the whole document to `to`, in pieces: a title, then each section of the outline. `name` is the title of a
/// conversation without one. Fails as `to` does.
pub(super) fn write(view: &View, name: &str, steps: StepsLayout, to: &mut dyn Write) -> io::Result<()> {
    let mut out = PieceWriter::new(to);
    out.text.push_str(&["# ", &inline(&facts::title(view, name)), "\n"].concat());
    for section in outline(view) {
        match section {
            OutlineSection::Message(message) => put_message(message, &mut out.text),
            OutlineSection::Run(run) => put_run(&run, steps, &mut out.text),
        }
        out.write_full_piece()?;
    }
    out.finish()
}

/// Writes a message of the history: under a heading if a user or the assistant said it, else in a closed
/// block with its role as the head.
fn put_message(message: &MessageView, out: &mut String) {
    match message.role.as_str() {
        "user" => heading("User", out),
        "assistant" => heading("Assistant", out),
        role => {
            let mut inner = String::new();
            paragraph(&tame(&message.text), &mut inner);
            details(&preview::one_line(role), &inner, out);
            return;
        }
    }
    paragraph(&tame(&message.text), out);
    for attached in &message.files {
        let name = inline(&preview::one_line(&attached.name));
        paragraph(&format!("*File: {name}, {}*", format::bytes(attached.bytes)), out);
    }
}

/// Writes a heading of the second level.
fn heading(text: &str, out: &mut String) {
    out.push_str("\n## ");
    out.push_str(&inline(text));
    out.push('\n');
}

/// Writes a section of a run: its facts, its steps in the chosen layout, its answer. How the run ended, and
/// its failure if no step shows that, come only with its last section.
fn put_run(section: &OutlineRun<'_>, steps: StepsLayout, out: &mut String) {
    heading("Assistant", out);
    paragraph(&format!("*{}*", inline(&facts::run(section.run).join(" · "))), out);
    match steps {
        StepsLayout::Each => put_blocks(&section.steps, out),
        StepsLayout::OneBlock if section.steps.is_empty() => {}
        StepsLayout::OneBlock => brief::put_steps(section, out),
    }
    put_blocks(&section.answer, out);
    if section.is_last {
        if let Some(error) = facts::untold_error(section.run) {
            put_error(error, out);
        }
        if let Some(end) = facts::end(section.run) {
            paragraph(&format!("*{end}.*"), out);
        }
    }
}

/// Writes blocks in full, in their order, and those of sub-agents inside of them.
fn put_blocks(blocks: &[OutlineBlock<'_>], out: &mut String) {
    for block in blocks {
        match block {
            OutlineBlock::Part(part) => put_part(part, out),
            OutlineBlock::Thinking(part) => {
                let mut inner = String::new();
                if !part.body.text.trim().is_empty() {
                    paragraph(&quoted(&tame(&part.body.text)), &mut inner);
                }
                details(&facts::thought(part), &inner, out);
            }
            OutlineBlock::Call(_, tool, _) => put_call(tool, out),
            OutlineBlock::Agent(agent) => put_agent(agent, out),
            OutlineBlock::Error(error) => put_error(error, out),
            OutlineBlock::Event(name, value) => details(&preview::one_line(name), &laid_out(value), out),
        }
    }
}

/// Writes a text, a refusal or a file, and how many bytes of it were left out.
fn put_part(part: &PartView, out: &mut String) {
    let text = &part.body.text;
    match part.kind {
        PartKind::File => paragraph(&file(text), out),
        PartKind::Refusal => paragraph(&tame(&format!("**Refused:** {}", text.trim_start())), out),
        PartKind::Text | PartKind::Thinking => paragraph(&tame(text), out),
    }
    if part.body.cut > 0 {
        paragraph(&format!("*{} left out.*", format::bytes(part.body.cut)), out);
    }
}

/// A link to a file; a file whose content is in its URL is only named.
fn file(url: &str) -> String {
    if let Some(url) = preview::safe_link(url) {
        return format!("[File](<{}>)", url.replace(['<', '>', '\\'], ""));
    }
    let kind = url.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next()).unwrap_or("unknown");
    format!("*File: {}, {}*", inline(&preview::one_line(kind)), format::bytes(url.len() as u64))
}

/// Writes a call as a closed block. Its head says state, name, arguments in one line, size of the result and
/// time; inside are the question to a person (only while the call waits for consent), arguments, result,
/// files and embeds. The times are repeated inside if there is more than one fact about them.
fn put_call(tool: &ToolView, out: &mut String) {
    let output = facts::output(tool);
    let mut head = vec![format!("{} {}", facts::sign(tool.state), facts::tool_name(tool))];
    head.extend(Some(facts::arguments(tool)).filter(|arguments| !arguments.is_empty()));
    head.push(facts::state(tool, output.as_ref()));
    head.extend(facts::latency(tool));
    let mut inner = String::new();
    if let Some(question) = tool.question.as_deref().filter(|_| tool.state == ToolState::Approval) {
        paragraph(&format!("**Waits for approval:** {}", inline(&preview::one_line(question))), &mut inner);
    }
    let arguments = tool.arguments.text.trim();
    if !arguments.is_empty() && arguments != "{}" {
        paragraph("Arguments", &mut inner);
        inner.push('\n');
        inner.push_str(&text_or_json(arguments));
    }
    if let Some(output) = output {
        paragraph(if tool.is_error { "Error" } else { "Result" }, &mut inner);
        inner.push('\n');
        inner.push_str(&if output.is_json { text_or_json(&output.text) } else { code("", &output.text) });
    }
    for (word, json) in [("Files", &tool.files), ("Embeds", &tool.embeds)] {
        if let Some(json) = json {
            paragraph(word, &mut inner);
            inner.push_str(&laid_out(json));
        }
    }
    let timing = facts::timing(tool);
    if timing.len() > 1 {
        paragraph(&format!("*{}*", timing.join(" · ")), &mut inner);
    }
    details(&head.join(" · "), &inner, out);
}

/// Writes a sub-agent as a closed block, with its task as a quote and then all that it did.
fn put_agent(agent: &AgentBlock<'_>, out: &mut String) {
    let mut head = vec![format!("↳ {}", facts::agent_name(agent.id.as_str(), agent.known))];
    head.extend(facts::agent(agent.known, agent.counts));
    let mut inner = String::new();
    if let Some(task) = agent.known.task.as_deref().filter(|task| !task.trim().is_empty()) {
        paragraph(&quoted(&tame(task)), &mut inner);
    }
    put_blocks(&agent.blocks, &mut inner);
    details(&head.join(" · "), &inner, out);
}

/// Writes a failure as a quote: its code, its message as one paragraph, and whether it can be tried again.
fn put_error(error: &ErrorFact, out: &mut String) {
    let (code, message) = (inline(&preview::one_line(&error.code)), inline(&one_paragraph(&error.message)));
    let retry = facts::retry(error);
    let retry = if retry.is_empty() { retry } else { format!("\n\n*{retry}.*") };
    paragraph(&quoted(&format!("**{code}** {message}{retry}")), out);
}

/// Writes a block that is closed at first. The head is HTML, so that Markdown in it is only text.
fn details(head: &str, inner: &str, out: &mut String) {
    out.push_str("\n<details>\n<summary>");
    out.push_str(&super::html::escape::label(head));
    out.push_str("</summary>\n");
    out.push_str(inner);
    out.push_str("\n</details>\n");
}

/// Writes `markdown` as blocks of their own, separated from what is around them.
fn paragraph(markdown: &str, out: &mut String) {
    let markdown = markdown.trim_end();
    if markdown.trim().is_empty() {
        return;
    }
    out.push('\n');
    out.push_str(markdown);
    out.push('\n');
}

/// `markdown` as a quote: the mark before each line, also before empty ones, so that it stays one quote.
fn quoted(markdown: &str) -> String {
    let lines = markdown.trim_end().lines();
    lines.flat_map(|line| ["> ", line, "\n"]).collect()
}

/// `text` as one line, with everything escaped that has a meaning in Markdown.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '\n' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// `text` with each run of white space as one space. Unlike a preview it is not cut.
fn one_paragraph(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A block of code: laid out as JSON if `text` is an object or an array, else unchanged.
fn text_or_json(text: &str) -> String {
    match Json::parse(text) {
        Some(json) if text.starts_with(['{', '[']) => laid_out(&json).trim_start().to_owned(),
        _ => code("", text),
    }
}

/// JSON as an indented block of code, after an empty line.
fn laid_out(json: &Json) -> String {
    let laid_out: String = pretty(json.as_str()).into_iter().map(|token| token.text).collect();
    format!("\n{}", code("json", &laid_out))
}

/// The beginning of a text in one line, as a preview, escaped.
///
/// At most `PREVIEW_CHARS` characters and an ellipsis of three dots. Only a first piece of a long text is
/// looked at.
fn beginning(text: &str) -> String {
    let line = one_paragraph(text.get(..PREVIEW_CHARS.saturating_mul(8)).unwrap_or(text));
    match cut(&line, PREVIEW_CHARS) {
        (start, true) => format!("{}...", inline(start)),
        (whole, false) => inline(whole),
    }
}
