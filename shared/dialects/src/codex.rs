//! Codex (`codex exec --json`): one object a line, with threads, turns and items. A turn is a run. Items are
//! texts, in one piece or in deltas, and what the agent executes, which starts, grows and completes.
//!
//! ```text
//! {"type":"thread.started","thread_id":"t1"}
//! {"type":"turn.started"}
//! {"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"ls","status":"in_progress"}}
//! {"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls","aggregated_output":"main.py\n","exit_code":0,"status":"completed"}}
//! {"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"One file."}}
//! {"type":"turn.completed","usage":{"input_tokens":90,"cached_input_tokens":10,"output_tokens":8}}
//! ```
//!
//! | line | becomes |
//! |---|---|
//! | `thread.started` | a custom event `thread` in the next run |
//! | `turn.started` | the start of a run, unless a warning has started it: Codex writes some before its first turn |
//! | `item.*` | parts and calls: see `items` |
//! | `turn.completed` | the run is complete, with its tokens |
//! | `turn.failed` | a failure, and the end of the run |
//! | `turn.aborted`, `.interrupted`, `.cancelled` | the run is cancelled |
//! | `error` | a status; a failure only if nothing follows it |
//! | `request_user_input` | a call that asks a person |
//! | anything else | raw, inside of a run |
//!
//! A turn that was interrupted has no end in the stream, so a run without one is interrupted. Other lines of
//! the program are ignored.

use compact_str::CompactString;
use serde::Deserialize;

use super::fault::fault;
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, Kind, PartKind, RunStatus, Usage};
use model::json::Json;

mod agents;
mod call;
mod items;

use items::{CodexItems, ItemPhase};

/// The name of the dialect.
pub const NAME: &str = "codex";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::records(CodexMeaning {
        writer: EventWriter::new(NAME, options),
        thread: None,
        items: CodexItems::default(),
        trouble: None,
        is_foretold: false,
    }))
}

/// The meaning of the lines.
#[derive(Debug)]
struct CodexMeaning {
    writer: EventWriter,
    /// What was said of the thread, until a run has it.
    thread: Option<Json>,
    /// The items of the open turn.
    items: CodexItems,
    /// The last notice of an error that nothing came after: perhaps why the stream breaks off.
    trouble: Option<ErrorFact>,
    /// The open run has nothing but warnings that came before its `turn.started`.
    is_foretold: bool,
}

/// One line of `codex exec --json` or of an app server.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: ForeignField<'a>,
    #[serde(borrow)]
    item: ForeignField<'a>,
    #[serde(borrow)]
    item_id: ForeignField<'a>,
    #[serde(borrow)]
    delta: ForeignField<'a>,
    #[serde(borrow)]
    usage: ForeignField<'a>,
    #[serde(borrow)]
    error: ForeignField<'a>,
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    call_id: ForeignField<'a>,
    /// What a person is asked, in `request_user_input`.
    #[serde(borrow)]
    questions: ForeignField<'a>,
}

impl ObjectMeaning for CodexMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        let said: CodexLine<'_> = match crate::field::read(text) {
            Ok(said) => said,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let whole = ForeignField::parse_read(text);
        let kind = said.kind.word().unwrap_or_default();
        match &*kind {
            "thread.started" | "session.created" => {
                self.break_off(out);
                self.thread = Some(whole.json());
            }
            "turn.started" => {
                if !std::mem::take(&mut self.is_foretold) {
                    self.break_off(out);
                }
                self.begin(out);
            }
            "item.started" => self.item(ItemPhase::Started, said.item, out),
            "item.updated" => self.item(ItemPhase::Updated, said.item, out),
            "item.completed" => self.item(ItemPhase::Completed, said.item, out),
            "turn.completed" => self.completed(said.usage, out),
            "turn.failed" => {
                self.fail(if said.error.is_some() { said.error } else { whole }, out);
                self.close(RunEnding::default(), out);
            }
            "turn.aborted" | "turn.interrupted" | "turn.cancelled" => {
                self.begin(out);
                self.close(RunEnding { status: Some(RunStatus::Cancelled), ..RunEnding::default() }, out);
            }
            "error" => self.notice(whole, out),
            "request_user_input" => self.ask(&said, out),
            "" if !self.writer.is_running() => {}
            _ => self.other(&kind, &said, whole, out),
        }
    }

    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        self.begin(out);
        self.writer.fail(fault(whole), out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.break_off(out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl CodexMeaning {
    /// Makes sure that a run is open, and writes what was said of its thread.
    fn begin(&mut self, out: &mut Decoded) {
        self.writer.begin(None, out);
        if let Some(value) = self.thread.take() {
            self.writer.push(Kind::Custom { name: CompactString::const_new("thread"), value }, out);
        }
    }

    /// Takes a line about an item.
    fn item(&mut self, phase: ItemPhase, item: ForeignField<'_>, out: &mut Decoded) {
        let is_warning = item.is_object() && item.fields().get("type").word().as_deref() == Some("error");
        self.is_foretold = is_warning && (self.is_foretold || !self.writer.is_running());
        self.begin(out);
        self.trouble = None;
        self.items.take(phase, item, &mut self.writer, out);
    }

    /// Takes a notice of an error. It may pass: a lost connection is reported and then made again. Only the
    /// end of the stream shows which it was.
    fn notice(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        // Between two turns there is nothing that it could be about.
        if !self.writer.is_running() && self.writer.has_begun() && self.thread.is_none() {
            return;
        }
        self.begin(out);
        let fact = fault(whole);
        self.writer.push(Kind::Status { text: fact.message.clone() }, out);
        self.trouble = Some(fact);
    }

    /// Takes a question to a person.
    fn ask(&mut self, said: &CodexLine<'_>, out: &mut Decoded) {
        self.begin(out);
        let id = said.call_id.words().or_else(|| said.id.words()).unwrap_or_default();
        self.items.ask(&id, said.questions, &mut self.writer, out);
    }

    /// Takes deltas of items, and what this version does not know.
    fn other(&mut self, kind: &str, said: &CodexLine<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        self.begin(out);
        let item = kind.strip_prefix("item.").and_then(|rest| rest.strip_suffix(".delta"));
        let part = match item {
            Some("plan" | "agent_message") => PartKind::Text,
            Some("reasoning") => PartKind::Thinking,
            _ => return self.writer.raw(whole, None, out),
        };
        let (id, delta) = (said.item_id.words().unwrap_or_default(), said.delta.text().unwrap_or_default());
        self.items.delta(&id, part, &delta, &mut self.writer, out);
    }

    /// Ends the turn as complete. A question that a person was asked has been answered.
    fn completed(&mut self, usage: ForeignField<'_>, out: &mut Decoded) {
        self.begin(out);
        self.items.answered(&mut self.writer, out);
        let told = usage.fields();
        let count = |name| told.get(name).count().unwrap_or(0);
        let usage = usage.is_object().then(|| Usage {
            input_tokens: count("input_tokens"),
            output_tokens: count("output_tokens"),
            reasoning_tokens: count("reasoning_output_tokens"),
            cached_tokens: count("cached_input_tokens"),
            cost: None,
        });
        self.close(RunEnding { status: Some(RunStatus::Complete), usage, ..RunEnding::default() }, out);
    }

    /// Ends the open turn since no more comes of it, though it did not say so: with the last notice of an
    /// error as its failure, else as interrupted.
    fn break_off(&mut self, out: &mut Decoded) {
        if let Some(fact) = self.trouble.take()
            && self.writer.is_running()
        {
            self.writer.fail(fact, out);
        }
        self.close(RunEnding::default(), out);
    }

    /// Ends the open items and the run.
    fn close(&mut self, ending: RunEnding, out: &mut Decoded) {
        self.trouble = None;
        self.is_foretold = false;
        self.items.close(&mut self.writer, out);
        self.writer.end(ending, out);
    }
}

#[cfg(test)]
mod tests;
