//! Bernard: an agent that answers as a chat completion and executes its calls itself. Results come as deltas of the role
//! `tool`, and between the chunks stand objects that say how far a tool is. They name the tool, not the call: the newest
//! call of that tool without a result is meant.
//!
//! Its own page reads another stream: SSE events with messages of its graph in them, each with all its text so far.

use std::collections::BTreeSet;

use compact_str::CompactString;
use serde::Deserialize;

use super::agents::{Unanswered, unwrapped};
use super::field::Field;
use super::objects::{Meaning, Objects};
use super::openai_chat::Chat;
use super::writer::Writer;
use super::{Decode, DecodeOptions, Decoded};
use crate::event::{Kind, ToolProgress, ToolState};

mod messages;

use messages::Messages;

/// The name of the dialect.
pub const NAME: &str = "bernard";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(Objects::new(Bernard {
        chat: Chat::new(NAME, options),
        messages: Messages::default(),
        open: Unanswered::default(),
        running: BTreeSet::new(),
    }))
}

#[derive(Debug)]
struct Bernard {
    chat: Chat,
    messages: Messages,
    open: Unanswered,
    /// Calls of which progress was told.
    running: BTreeSet<CompactString>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Field<'a>,
    #[serde(borrow, rename = "data")]
    payload: Field<'a>,
    #[serde(borrow)]
    error: Field<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Progress<'a> {
    #[serde(borrow, rename = "_type")]
    kind: Field<'a>,
    #[serde(borrow)]
    tool: Field<'a>,
    #[serde(borrow)]
    phase: Field<'a>,
    #[serde(borrow)]
    message: Field<'a>,
}

impl Meaning for Bernard {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let begin = out.envelopes.len();
        let whole = Field::parse(text).unwrap_or_default();
        let (kind, payload) = unwrapped(name, whole);
        let shape: Line<'_> = whole.object();
        match &*kind {
            _ if shape.kind.text().is_some_and(|kind| kind == "tool_progress") => {
                self.progress(shape.payload, out);
            }
            "messages/partial" | "messages/complete" | "messages" => {
                self.chat.writer().begin(None, out);
                self.messages.partial(payload, self.chat.writer(), out);
            }
            "tool_result" => {
                self.chat.writer().begin(None, out);
                self.messages.results(payload, self.chat.writer(), out);
            }
            "custom" if payload.object::<Progress<'_>>().kind.is_some() => self.progress(payload, out),
            "error" => self.fail(if shape.error.is_some() { whole } else { payload }, out),
            "done" => self.done(out),
            _ => self.chat.object(line, name, text, out),
        }
        self.follow(begin, out);
    }

    fn fail(&mut self, whole: Field<'_>, out: &mut Decoded) {
        self.chat.fail(whole, out);
    }

    fn done(&mut self, out: &mut Decoded) {
        self.messages.close(true, self.chat.writer(), out);
        self.chat.done(out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.messages.close(false, self.chat.writer(), out);
        self.chat.finish(out);
    }

    fn writer(&mut self) -> &mut Writer {
        self.chat.writer()
    }
}

impl Bernard {
    /// Looks which calls were made and answered by what was written from `begin` on.
    fn follow(&mut self, begin: usize, out: &Decoded) {
        for envelope in out.envelopes.iter().skip(begin) {
            match &envelope.event.kind {
                Kind::ToolStart(start) => self.open.add(start.tool.as_str(), &start.name),
                Kind::ToolCall { tool, name: Some(name), .. } => self.open.add(tool.as_str(), name),
                Kind::ToolResult(result) => {
                    self.open.remove(result.tool.as_str());
                    self.running.remove(result.tool.as_str());
                }
                Kind::RunEnd(_) => {
                    self.open = Unanswered::default();
                    self.running.clear();
                }
                _ => {}
            }
        }
    }

    fn progress(&mut self, payload: Field<'_>, out: &mut Decoded) {
        let progress: Progress<'_> = payload.object();
        let (name, phase) =
            (progress.tool.words().unwrap_or_default(), progress.phase.words().unwrap_or_default());
        let message = progress.message.words().unwrap_or(phase);
        self.chat.writer().begin(None, out);
        // Who says how far a tool is has the whole call already.
        self.chat.settle(out);
        self.messages.settle(self.chat.writer(), out);
        let writer = self.chat.writer();
        let Some(id) = self.open.newest(&name) else {
            return writer.push(Kind::Status { text: format!("{name}: {message}") }, out);
        };
        let (count, text) = count(&message);
        let (current, total) = count.unzip();
        let text = Some(text.to_owned()).filter(|text| !text.is_empty());
        if self.running.insert(id.clone()) {
            writer.state(id, ToolState::Executing, None, out);
        }
        let tool = writer.tool_id(id);
        writer.push(Kind::ToolProgress(ToolProgress { tool, text, current, total }), out);
    }
}

/// "2/3: Found 10 results" counts units done and in all; the rest is the text.
fn count(message: &str) -> (Option<(u64, u64)>, &str) {
    let counted = || {
        let (numbers, text) = message.split_once(':').unwrap_or((message, ""));
        let (current, total) = numbers.split_once('/')?;
        Some(((current.trim().parse().ok()?, total.trim().parse().ok()?), text.trim_start()))
    };
    counted().map_or((None, message), |(count, text)| (Some(count), text))
}
