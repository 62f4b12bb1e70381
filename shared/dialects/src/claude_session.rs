//! Claude Code's transcripts, as they are on disk (`~/.claude/projects/…/*.jsonl`): one object a line, with
//! times. A run goes from a prompt of the user to the next.
//!
//! ```text
//! {"type":"user","uuid":"u1","timestamp":"2026-08-04T10:00:00Z","message":{"role":"user","content":"List the files."}}
//! {"type":"assistant","uuid":"u2","parentUuid":"u1","message":{"id":"msg_1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}],"usage":{}}}
//! {"type":"user","uuid":"u3","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"main.py"}]}}
//! {"type":"assistant","isSidechain":true,"agentId":"a1","uuid":"u4","message":{"content":[{"type":"text","text":"I am a sub-agent."}]}}
//! {"type":"summary","summary":"Listing files","leafUuid":"u4"}
//! ```
//!
//! | line | becomes |
//! |---|---|
//! | `user` | a message that begins a run; results of calls; an interruption, which cancels the run |
//! | `assistant` | content blocks as in Anthropic messages |
//! | `summary`, `custom-title`, `ai-title` | the title of the run |
//! | `progress` | lines of sub-agents, hooks, progress of calls |
//! | `system` | as in the program's output; `turn_duration` ends a run that is whole |
//! | `queue-operation` | a status |
//! | `attachment` | a custom event |
//! | `file-history-snapshot`, `mode`, `last-prompt`, … | nothing |
//! | anything else | raw, inside of a run |
//!
//! A transcript has no end. A run is complete if its last word is text and no call waits for a result;
//! otherwise it is interrupted. Resumed files repeat earlier lines, which are written once. Sub-agents are
//! between the lines of the main agent (side chains) or in files of their own. Tokens are those of each
//! message, by the last line that has them; there is no cost.

use compact_str::CompactString;

use super::anthropic::{AnthropicBlock, AnthropicTokens};
use super::claude_code::{ClaudeLine, ClaudeStream};
use super::fault::fault;
use super::field::{ForeignField, ForeignFields};
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{Kind, RunStatus, RunUpdate};

mod chains;

use chains::SideChains;

/// The name of the dialect.
pub const NAME: &str = "claude-session";

/// A decoder for one transcript.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::records(ClaudeSessionMeaning {
        work: ClaudeStream::new(NAME, options),
        chains: SideChains::default(),
        title: None,
        usage: (CompactString::default(), AnthropicTokens::default()),
        turn: RunProgress::default(),
        last: None,
    }))
}

/// The meaning of the lines; what an agent does is shared with the dialect of the program's output.
#[derive(Debug)]
struct ClaudeSessionMeaning {
    /// What agents do, and where the events are written.
    work: ClaudeStream,
    /// Assigns the lines of side chains to their sub-agents.
    chains: SideChains,
    /// The title of the session, until a run has it.
    title: Option<String>,
    /// The id of the newest message of the main agent, and its tokens, which are not written yet.
    usage: (CompactString, AnthropicTokens),
    /// The progress of the open run.
    turn: RunProgress,
    /// When the line before this one happened, in milliseconds since 1970.
    last: Option<u64>,
}

/// The progress of a run, to decide whether it was complete when the next one begins.
#[derive(Debug, Default, Clone, Copy)]
struct RunProgress {
    /// The main agent has done something.
    has_begun: bool,
    /// The last that the main agent did was to write text.
    is_answered: bool,
    /// The last that agents on side chains did was to write text; a file of their own has no other agents.
    is_answered_aside: bool,
}

impl ObjectMeaning for ClaudeSessionMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.work.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let fields = ForeignFields::of(whole);
        let time = fields.get("timestamp").time();
        self.last = self.work.now;
        self.work.now = time.or(self.work.now);
        self.work.writer.set_time(time);
        let kind = fields.get("type").word().unwrap_or_default();
        match &*kind {
            "user" | "assistant" => {
                let by = self.chains.of(&fields, &self.work);
                self.said(&kind, ClaudeLine { fields: &fields, by: &by }, out);
            }
            "summary" | "custom-title" | "ai-title" => {
                let title = fields.any(&["customTitle", "aiTitle", "summary"]).word();
                self.title = title.map(std::borrow::Cow::into_owned).or_else(|| self.title.take());
                self.tell_title(out);
            }
            "progress" => self.progress(&fields, out),
            "system" => self.system(&fields, whole, out),
            // Between two runs there is nothing that they could belong to; the program's own notes are about files.
            _ if !self.work.writer.is_running() => {}
            "queue-operation" => {
                if let Some(text) = fields.get("content").word() {
                    self.work.status(&format!("queued: {text}"), out);
                }
            }
            "attachment" => self.work.writer.custom("attachment", fields.get("attachment"), None, out),
            "file-history-snapshot"
            | "last-prompt"
            | "mode"
            | "permission-mode"
            | "attribution-snapshot"
            | "agent-name"
            | "agent-color"
            | "tag"
            | "" => {}
            _ => self.work.writer.raw(whole, None, out),
        }
    }

    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        self.work.begin(None, out);
        self.work.writer.fail(fault(whole), out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        if self.is_whole() || self.work.trouble.is_some() {
            return self.end_turn(out);
        }
        self.flush_usage(out);
        self.work.break_off(out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.work.writer
    }
}

impl ClaudeSessionMeaning {
    /// Takes a line of a user or an assistant, wherever it is: at the top, or in a `progress` line.
    fn said(&mut self, kind: &str, line: ClaudeLine<'_, '_>, out: &mut Decoded) {
        if self.work.is_repeated(line.fields) {
            return;
        }
        if kind == "assistant" {
            return self.assistant(line, out);
        }
        let text = self.work.user(line, out);
        let has_results = text.is_empty();
        if line.by.is_empty() {
            self.turn.is_answered &= !has_results;
            self.user(line.fields, &text, out);
        } else {
            self.turn.is_answered_aside = false;
            self.begin(out);
            // What an agent is told first is what it is to do.
            self.work.agent(line.by, Some(&text).filter(|text| !text.is_empty()).map(String::as_str), out);
        }
    }

    /// Makes sure that a run is open, with its title.
    fn begin(&mut self, out: &mut Decoded) {
        if !self.work.writer.is_running() {
            self.turn = RunProgress::default();
        }
        self.work.begin(None, out);
        self.tell_title(out);
    }

    /// Writes the title, once a run is open.
    fn tell_title(&mut self, out: &mut Decoded) {
        if self.work.writer.is_running()
            && let Some(title) = self.title.take()
        {
            let update = RunUpdate { title: Some(title), ..RunUpdate::default() };
            self.work.writer.push(Kind::RunUpdate(update), out);
        }
    }

    /// Takes an assistant line: its content, its tokens, and whether it is an answer.
    fn assistant(&mut self, line: ClaudeLine<'_, '_>, out: &mut Decoded) {
        self.begin(out);
        let message = ForeignFields::of(line.fields.get("message"));
        if line.by.is_empty() {
            self.count(&message, out);
        }
        self.work.assistant(line, out);
        let last =
            message.get("content").list().last().map(|block| block.object::<AnthropicBlock<'_>>().kind);
        let is_text = message.get("content").word().is_some()
            || last.and_then(ForeignField::text).is_some_and(|kind| kind == "text");
        let is_answered =
            is_text && message.get("stop_reason").word().is_none_or(|reason| reason != "tool_use");
        if line.by.is_empty() {
            (self.turn.has_begun, self.turn.is_answered) = (true, is_answered);
        } else {
            self.turn.is_answered_aside = is_answered;
        }
    }

    /// Notes the tokens of a message. Its lines repeat them; the last counts.
    fn count(&mut self, message: &ForeignFields<'_>, out: &mut Decoded) {
        let id = message.get("id").text().unwrap_or_default();
        if self.usage.0 != *id {
            self.flush_usage(out);
            self.usage.0 = CompactString::new(&id);
        }
        self.usage.1.update(message.get("usage"));
    }

    /// Writes the tokens of the newest message, since another one begins or the run ends.
    fn flush_usage(&mut self, out: &mut Decoded) {
        let usage = std::mem::take(&mut self.usage.1).usage();
        if usage.is_some() && self.work.writer.is_running() {
            self.work.writer.push(Kind::RunUpdate(RunUpdate { usage, ..RunUpdate::default() }), out);
        }
    }

    /// Takes a text of the user, or one that the program wrote in the user's place: a note of the program, an
    /// interruption, or a prompt, which ends the run before it.
    fn user(&mut self, fields: &ForeignFields<'_>, text: &str, out: &mut Decoded) {
        if text.is_empty() {
            return;
        }
        let is_meta = fields.any(&["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"]).is_true();
        let start = text.trim_start();
        if is_meta || start.starts_with("<local-command-") {
            return self.message("system", fields, text, out);
        }
        if start.starts_with("[Request interrupted by user") {
            self.message("user", fields, text, out);
            self.flush_usage(out);
            let ending = RunEnding { status: Some(RunStatus::Cancelled), ..RunEnding::default() };
            return self.work.close(ending, false, out);
        }
        if self.turn.has_begun {
            // It was over before the user thought of the next prompt.
            self.work.writer.set_time(self.last);
            self.end_turn(out);
            self.work.writer.set_time(self.work.now);
        }
        self.message("user", fields, text, out);
        // A command may be one of the program itself, which no model answers.
        if !start.starts_with("<command-") {
            self.begin(out);
        }
    }

    /// Writes a message under the id of its line.
    fn message(&mut self, role: &str, fields: &ForeignFields<'_>, text: &str, out: &mut Decoded) {
        match fields.get("uuid").word() {
            Some(id) => self.work.writer.message_as(&id, role, text, out),
            None => self.work.writer.message(role, text, out),
        }
    }

    /// Whether the run is complete, as far as the lines show.
    fn is_whole(&self) -> bool {
        let is_answered =
            if self.turn.has_begun { self.turn.is_answered } else { self.turn.is_answered_aside };
        is_answered && self.work.calls.is_empty() && self.work.trouble.is_none()
    }

    /// Ends the run, since another one begins or the program says that the turn is over.
    fn end_turn(&mut self, out: &mut Decoded) {
        self.flush_usage(out);
        if self.work.trouble.is_some() {
            return self.work.break_off(out);
        }
        let status = if self.is_whole() { RunStatus::Complete } else { RunStatus::Interrupted };
        let finish_reason = self.work.stop_reason.take();
        self.work.close(
            RunEnding { status: Some(status), finish_reason, ..RunEnding::default() },
            false,
            out,
        );
    }

    /// Takes a system line.
    fn system(&mut self, fields: &ForeignFields<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        match fields.get("subtype").word().as_deref() {
            Some("turn_duration") if self.is_whole() => self.end_turn(out),
            Some("turn_duration") => {}
            Some("local_command") => {
                let text = fields.get("content").words().unwrap_or_default();
                self.message("system", fields, &text, out);
            }
            _ if !self.work.writer.is_running() => {}
            _ => self.work.system(ClaudeLine { fields, by: "" }, whole, out),
        }
    }

    /// Takes a `progress` line of newer versions: what happens inside of a call.
    fn progress(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        let told = ForeignFields::of(fields.get("data"));
        let call = fields.any(&["parentToolUseID", "toolUseID"]).words().unwrap_or_default();
        match told.get("type").word().as_deref() {
            Some("agent_progress") => {
                let line = ForeignFields::of(told.get("message"));
                let kind = line.get("type").word().unwrap_or_default();
                if matches!(&*kind, "user" | "assistant") && !call.is_empty() {
                    self.said(&kind, ClaudeLine { fields: &line, by: &call }, out);
                }
            }
            Some("hook_progress") if self.work.writer.is_running() => {
                let name = told.any(&["hookName", "hookEvent"]).words().unwrap_or_default();
                self.work.status(&format!("hook {name}"), out);
            }
            Some("bash_progress" | "mcp_progress") if self.work.calls.contains_key(&*call) => {
                self.work.executes(&call, out);
                let text = told.any(&["output", "message", "progressMessage"]).text().unwrap_or_default();
                let last = text.lines().last().unwrap_or_default();
                self.work.writer.progress(&call, last, None, out);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
