//! Claude Code, as it prints with `--output-format stream-json`: one object a line. A run goes from `init` to
//! `result`.
//!
//! ```text
//! {"type":"system","subtype":"init","session_id":"s","model":"claude","tools":["Bash"]}
//! {"type":"assistant","message":{"id":"msg_1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}
//! {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"main.py"}]}}
//! {"type":"assistant","message":{"id":"msg_2","content":[{"type":"text","text":"One file."}]}}
//! {"type":"result","subtype":"success","is_error":false,"result":"One file.","total_cost_usd":0.01,"usage":{…}}
//! ```
//!
//! | line | becomes |
//! |---|---|
//! | `system` | start, sub-agents, status lines: see `system` and `task` |
//! | `assistant` | content blocks as in Anthropic messages; each line has one block, the lines of a message share its id |
//! | `user` | results of calls; other text is a message, or the task of a sub-agent |
//! | `stream_event` | the same content in deltas, if partial messages were asked for: see `live` |
//! | `control_request`, `control_response` | approval requests and answers: see `control` |
//! | `tool_progress` | progress of a call |
//! | `rate_limit_event` | a custom event `rate_limit` |
//! | `tool_use_summary` | a status |
//! | `result` | the end of the run, with tokens and cost |
//! | `keep_alive` | nothing |
//! | anything else | raw |
//!
//! Lines of sub-agents name the call that started them (`parent_tool_use_id`). With partial messages each
//! text comes as deltas, then whole, and at the end once more in the result; it is written once. Whether a
//! run failed is in `is_error`, not in the subtype. Tokens on assistant lines are a snapshot of the beginning
//! of the message, so those of the run are taken from `result`. Lines that are no JSON are ignored; without
//! `result` the run is interrupted.

use compact_str::CompactString;

use super::fault::fault;
use super::field::{ForeignField, ForeignFields};
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, Kind, PartKind, RunStatus};
use model::json::Json;

mod control;
mod live;
mod seen;
mod system;
mod tally;
mod task;
mod work;

use super::anthropic::AnthropicTokens;
pub(super) use work::{ClaudeLine, ClaudeStream};

/// The name of the dialect.
pub const NAME: &str = "claude-code";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::records(ClaudeCodeMeaning(ClaudeStream::new(NAME, options))))
}

/// The meaning of the lines; the state is shared with the dialect of transcripts.
#[derive(Debug)]
struct ClaudeCodeMeaning(ClaudeStream);

impl ObjectMeaning for ClaudeCodeMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.0.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let fields = ForeignFields::of(whole);
        let by = fields.get("parent_tool_use_id").words().unwrap_or_default();
        let said = ClaudeLine { fields: &fields, by: &by };
        let kind = fields.get("type").word().unwrap_or_default();
        match &*kind {
            "assistant" if !self.0.is_repeated(&fields) => self.0.assistant(said, out),
            "user" if !self.0.is_repeated(&fields) => self.user(said, out),
            "assistant" | "user" | "keep_alive" | "" => {}
            "stream_event" => self.0.stream_event(said, out),
            "result" => self.result(&fields, out),
            "system" => self.0.system(said, whole, out),
            "control_request" => self.0.control_request(&fields, whole, out),
            "control_response" => self.0.control_response(&fields, out),
            "tool_progress" => self.0.tool_progress(&fields, out),
            // The beginning of a run may be told before `init`; what comes between two runs has no place.
            _ if !self.0.writer.is_running() && self.0.writer.has_begun() => {}
            _ => self.other(&kind, &fields, whole, out),
        }
    }

    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        self.0.begin(None, out);
        self.0.writer.fail(fault(whole), out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.0.break_off(out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.0.writer
    }
}

impl ClaudeCodeMeaning {
    /// Takes a user line: what is no result of a call is a message, or the task of a sub-agent.
    fn user(&mut self, line: ClaudeLine<'_, '_>, out: &mut Decoded) {
        let text = self.0.user(line, out);
        if text.is_empty() {
            return;
        }
        if line.by.is_empty() {
            let is_meta = line.fields.any(&["isSynthetic", "isMeta"]).is_true();
            let role = if is_meta { "system" } else { "user" };
            match line.fields.get("uuid").word() {
                Some(id) => self.0.writer.message_as(&id, role, &text, out),
                None => self.0.writer.message(role, &text, out),
            }
            self.0.begin(None, out);
        } else {
            // What an agent is told first is what it is to do.
            self.0.begin(None, out);
            self.0.agent(line.by, Some(&text), out);
        }
    }

    /// Takes a line of a type that is neither a message nor about the run.
    fn other(&mut self, kind: &str, fields: &ForeignFields<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        self.0.begin(None, out);
        let writer = &self.0.writer;
        match kind {
            "rate_limit_event" => writer.custom("rate_limit", fields.get("rate_limit_info"), None, out),
            "tool_use_summary" => {
                let text = fields.get("summary").words().unwrap_or_default().into_owned();
                self.0.status(&text, out);
            }
            "error" => self.0.trouble = Some(fault(whole)),
            _ => writer.raw(whole, None, out),
        }
    }

    /// Takes the end of the run. Whether it failed is in `is_error`, whatever the subtype says. The text is
    /// written only if the main agent has said nothing: commands of the program itself answer only here.
    fn result(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        self.0.begin(None, out);
        let subtype = fields.get("subtype").word().unwrap_or_default();
        let is_odd = subtype.starts_with("error");
        let is_error =
            if fields.get("is_error").is_some() { fields.get("is_error").is_true() } else { is_odd };
        let text = fields.get("result").text().unwrap_or_default();
        let said =
            fields.pick(&["num_turns", "duration_ms", "duration_api_ms", "total_cost_usd", "modelUsage"]);
        if let Some(value) = Json::parse(&said).filter(|_| said != "{}") {
            self.0.writer.push(Kind::Custom { name: CompactString::const_new("result"), value }, out);
        }
        if fields.get("permission_denials").is_truthy() {
            self.0.writer.custom("permission_denials", fields.get("permission_denials"), None, out);
        }
        if is_error {
            let known = self.0.trouble.take();
            self.0.writer.fail(failure(fields, &subtype, known), out);
        } else if !self.0.has_text && !text.is_empty() && self.0.writer.has_room(out) {
            // Commands of the program itself answer only here.
            self.0.writer.whole_part(PartKind::Text, &text, false, None, out);
        }
        let mut counts = AnthropicTokens::default();
        counts.update(fields.get("usage"));
        let mut usage = counts.usage();
        if let Some(usage) = &mut usage {
            usage.cost = fields.get("total_cost_usd").dollars();
        }
        let reason = fields.get("stop_reason").word().map(|reason| CompactString::new(&reason));
        let reason = reason.or_else(|| self.0.stop_reason.take()).filter(|_| !is_odd);
        let status = match (is_error, &*subtype) {
            (true, _) => RunStatus::Error,
            (false, "error_during_execution") => RunStatus::Cancelled,
            (false, _) => RunStatus::Complete,
        };
        let ending = RunEnding {
            status: Some(status),
            finish_reason: reason.or_else(|| Some(CompactString::new(&subtype)).filter(|it| !it.is_empty())),
            usage,
            ..RunEnding::default()
        };
        self.0.close(ending, fields.get("deferred_tool_use").is_truthy(), out);
    }
}

/// Why the run failed: what the result says, else what was said before it (`known`).
fn failure(fields: &ForeignFields<'_>, subtype: &str, known: Option<ErrorFact>) -> ErrorFact {
    let told = fields.get("result").word().map(std::borrow::Cow::into_owned).or_else(|| {
        let errors: Vec<_> =
            fields.get("errors").list().into_iter().filter_map(ForeignField::words).collect();
        Some(errors.join("; ")).filter(|errors| !errors.is_empty())
    });
    let message = told.or_else(|| known.as_ref().map(|known| known.message.clone()));
    let retryable = known.as_ref().and_then(|known| known.retryable);
    let code = if subtype.starts_with("error") {
        CompactString::new(subtype)
    } else {
        known.map_or(CompactString::const_new("error"), |known| known.code)
    };
    let message = message.unwrap_or_else(|| code.to_string());
    ErrorFact { code, message, retryable, retry_after_ms: None }
}

#[cfg(test)]
mod tests;
