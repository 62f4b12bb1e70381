//! Encodes AG-UI as its clients verify it: one run at a time, all that is opened in a run is closed before
//! the run ends, and ids are never used again. Sub-agents need a client of protocol 1.0; runs without them
//! work with older ones.
//!
//! | fact | becomes |
//! |---|---|
//! | a run starts, is complete or cancelled | `RUN_STARTED`, `RUN_FINISHED` with usage and, if it was cancelled or waits for a person, an `outcome` |
//! | a run failed or broke off | `RUN_ERROR` |
//! | text, refusal | `TEXT_MESSAGE_START`, `_CONTENT`, `_END` |
//! | reasoning | `REASONING_START`, `REASONING_MESSAGE_*`, `REASONING_END` |
//! | a call, its result | `TOOL_CALL_START`, `_ARGS`, `_END`, `TOOL_CALL_RESULT` |
//! | a message of the history | `TEXT_MESSAGE_*` with its role |
//! | a sub-agent | `SUBAGENT_STARTED`, `SUBAGENT_FINISHED` or `SUBAGENT_ERROR`; its events have a `subagentRunId` |
//! | `state_snapshot`, `state_delta`, `messages_snapshot` | the event of that name |
//! | status, failure, file, progress, output, consent, other custom events | `CUSTOM` |
//! | a raw event | `RAW` |
//!
//! Messages and results that come between two runs wait for the next one, since nothing may stand outside of
//! a run. The stream has no terminator.
//!
//! ```text
//! data: {"type":"RUN_STARTED","threadId":"talk","runId":"r1"}
//! data: {"type":"TEXT_MESSAGE_START","messageId":"p1","role":"assistant"}
//! data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"p1","delta":"Noon."}
//! data: {"type":"TEXT_MESSAGE_END","messageId":"p1"}
//! data: {"type":"RUN_FINISHED","threadId":"talk","runId":"r1","usage":[{"inputTokens":12,"outputTokens":3,"totalTokens":15}]}
//! ```

use std::collections::HashSet;

use compact_str::CompactString;

use super::names::UniqueIds;
use super::{
    Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, ObjectWriter, PartStep, RunSequencer,
    ToolStep, data_event,
};
use model::Json;
use model::event::{Message, PartKind, RunStatus, ToolState, Usage};
use model::ids::{AgentId, ToolCallId};
use model::view::{AgentView, PartView, RunView, ToolView};

mod calls;

/// The most messages and results that wait for the next run (I7); further ones are left out.
const WAITING_MAX: usize = 1000;

/// An encoder for one stream.
pub(super) fn encoder(options: &EncodeOptions) -> Box<dyn Encode> {
    let thread = if options.conversation.is_empty() { "conversation" } else { options.conversation.as_str() };
    let run = options.caller.as_ref().and_then(|caller| caller.run.clone());
    Box::new(RunSequencer::new(FactEncoder::new(AgUiEncoder {
        thread: thread.to_owned(),
        run,
        ..AgUiEncoder::default()
    })))
}

/// The state of one stream.
#[derive(Debug, Default)]
struct AgUiEncoder {
    /// The id of the thread: the name of the conversation.
    thread: String,
    /// The id that the caller gave to the run; nothing for the run's own id.
    run: Option<CompactString>,
    /// A run is open.
    is_open: bool,
    /// The ids of messages, unique in the stream.
    parts: UniqueIds,
    /// The ids of calls, unique in the stream.
    calls: UniqueIds,
    /// The ids of the messages that are open.
    said: HashSet<String>,
    /// The ids of the calls whose arguments are open.
    written: HashSet<String>,
    /// The sub-agents of this run that have begun, and those of them that have ended.
    begun: HashSet<AgentId>,
    done: HashSet<AgentId>,
    /// Encoded events that wait for the next run.
    waiting: Vec<Vec<u8>>,
    /// The number of ids that were made for replaced parts.
    minted: u64,
}

impl FactSink for AgUiEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        match fact {
            Fact::Message(message) => self.message(message, out),
            Fact::RunStart => self.start(scene, out),
            Fact::Tool(id, tool, ToolStep::Result { again: false }) => self.result(scene, id, tool, out),
            _ if !self.is_open => {}
            Fact::RunEnd => self.end_run(scene, out),
            Fact::AgentStart(id, agent) => self.start_agent(id, agent, out),
            Fact::AgentEnd(id, agent) => self.end_agent(id, agent, out),
            Fact::Part(id, part, step) => {
                let id = self.parts.of(scene.run_id, id.as_str());
                self.part(scene, &id, part, step, out);
            }
            Fact::Tool(id, tool, step) => self.call(scene, id, tool, step, out),
            Fact::Status(text) => custom(scene, "status", &Json::string(text), out),
            Fact::Error(error) => custom(scene, "error", &Json::of(error), out),
            Fact::Custom("state_snapshot", value) => event(scene, "STATE_SNAPSHOT", out, |event| {
                event.put("snapshot", value);
            }),
            Fact::Custom("state_delta", value) => event(scene, "STATE_DELTA", out, |event| {
                event.put("delta", value);
            }),
            Fact::Custom("messages_snapshot", value) => event(scene, "MESSAGES_SNAPSHOT", out, |event| {
                event.put("messages", value);
            }),
            Fact::Custom(name, value) => custom(scene, name, value, out),
            Fact::Raw(name, value) => event(scene, "RAW", out, |event| {
                event.put("event", value).put("source", name);
            }),
            Fact::RunUpdate => {}
        }
    }

    fn end(&mut self, _out: &mut Vec<u8>) {}
}

impl AgUiEncoder {
    /// Begins a run, with what has waited for it.
    fn start(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        self.is_open = true;
        (self.begun, self.done) = (HashSet::new(), HashSet::new());
        data_event(out, |event| {
            event.put("type", "RUN_STARTED").put("threadId", &self.thread);
            event.put("runId", self.run.as_deref().unwrap_or(scene.run_id.as_str()));
        });
        for event in self.waiting.drain(..) {
            out.extend_from_slice(&event);
        }
    }

    /// Writes encoded events now or when the next run begins: the protocol allows none outside of a run.
    fn tell_in_run(&mut self, events: Vec<u8>, out: &mut Vec<u8>) {
        if self.is_open {
            out.extend_from_slice(&events);
        } else if self.waiting.len() < WAITING_MAX {
            self.waiting.push(events);
        }
    }

    /// Writes a message of the history. Other roles and empty messages are left out.
    fn message(&mut self, message: &Message, out: &mut Vec<u8>) {
        let role = message.role.as_str();
        if !matches!(role, "user" | "system" | "developer" | "assistant") || message.text.is_empty() {
            return;
        }
        let id = message.message.as_str();
        let mut events = Vec::new();
        data_event(&mut events, |event| {
            event.put("type", "TEXT_MESSAGE_START").put("messageId", id).put("role", role);
        });
        data_event(&mut events, |event| {
            event.put("type", "TEXT_MESSAGE_CONTENT").put("messageId", id).put("delta", &message.text);
        });
        data_event(&mut events, |event| {
            event.put("type", "TEXT_MESSAGE_END").put("messageId", id);
        });
        self.tell_in_run(events, out);
    }

    /// Writes one step of a part.
    fn part(
        &mut self,
        scene: &FactContext<'_>,
        id: &str,
        part: &PartView,
        step: PartStep<'_>,
        out: &mut Vec<u8>,
    ) {
        if part.kind == PartKind::File {
            if let PartStep::End = step {
                custom(scene, "file", &Json::string(&part.body.text), out);
            }
            return;
        }
        let is_thinking = part.kind == PartKind::Thinking;
        match step {
            PartStep::Start => self.open(scene, id, is_thinking, out),
            PartStep::Delta(text) if self.said.contains(id) => {
                let kind = if is_thinking { "REASONING_MESSAGE_CONTENT" } else { "TEXT_MESSAGE_CONTENT" };
                event(scene, kind, out, |event| {
                    event.put("messageId", id).put("delta", text);
                });
            }
            PartStep::Delta(_) => {}
            PartStep::Replaced => {
                // The protocol cannot take back what was written: the new text becomes a message of its own.
                self.close(scene, id, is_thinking, out);
                if !part.body.text.is_empty() {
                    self.minted = self.minted.saturating_add(1);
                    let again = format!("{id}-{}", self.minted);
                    self.open(scene, &again, is_thinking, out);
                    self.part(scene, &again, part, PartStep::Delta(&part.body.text), out);
                    self.close(scene, &again, is_thinking, out);
                }
            }
            PartStep::End => self.close(scene, id, is_thinking, out),
        }
    }

    /// Begins a message, unless it is open.
    fn open(&mut self, scene: &FactContext<'_>, id: &str, is_thinking: bool, out: &mut Vec<u8>) {
        if !self.said.insert(id.to_owned()) {
            return;
        }
        if is_thinking {
            event(scene, "REASONING_START", out, |event| {
                event.put("messageId", id);
            });
        }
        let (kind, role) = if is_thinking {
            ("REASONING_MESSAGE_START", "reasoning")
        } else {
            ("TEXT_MESSAGE_START", "assistant")
        };
        event(scene, kind, out, |event| {
            event.put("messageId", id).put("role", role);
        });
    }

    /// Ends a message, if it is open.
    fn close(&mut self, scene: &FactContext<'_>, id: &str, is_thinking: bool, out: &mut Vec<u8>) {
        if !self.said.remove(id) {
            return;
        }
        let kinds: &[&str] =
            if is_thinking { &["REASONING_MESSAGE_END", "REASONING_END"] } else { &["TEXT_MESSAGE_END"] };
        for kind in kinds {
            event(scene, kind, out, |event| {
                event.put("messageId", id);
            });
        }
    }

    /// Writes that a sub-agent begins, once in a run.
    fn start_agent(&mut self, id: &AgentId, agent: &AgentView, out: &mut Vec<u8>) {
        if !self.begun.insert(id.clone()) {
            return;
        }
        data_event(out, |event| {
            event.put("type", "SUBAGENT_STARTED").put("subagentRunId", id.as_str());
            event.put("name", agent.name.as_deref().unwrap_or(id.as_str()));
            event.put_some("description", agent.task.as_ref());
            let parent = agent.parent.as_ref().filter(|parent| self.begun.contains(*parent) && *parent != id);
            event.put_some("parentSubagentRunId", parent).put_some("parentToolCallId", agent.tool.as_ref());
        });
    }

    /// Writes that a sub-agent has ended, once, and only if it began in this run.
    fn end_agent(&mut self, id: &AgentId, agent: &AgentView, out: &mut Vec<u8>) {
        if !self.begun.contains(id) || !self.done.insert(id.clone()) {
            return;
        }
        data_event(out, |event| {
            let is_fine = matches!(agent.status, RunStatus::Complete | RunStatus::Running);
            event.put("type", if is_fine { "SUBAGENT_FINISHED" } else { "SUBAGENT_ERROR" });
            event.put("subagentRunId", id.as_str());
            if !is_fine {
                event.put("message", word(agent.status)).put("code", word(agent.status));
            }
        });
    }

    /// Ends the run: well if it is complete or cancelled, else with an error.
    fn end_run(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        self.is_open = false;
        let run = scene.run;
        (self.said, self.written) = (HashSet::new(), HashSet::new());
        if matches!(run.status, RunStatus::Complete | RunStatus::Cancelled) {
            let waiting = run.tools.iter().filter(|(_, tool)| tool.state == ToolState::Approval);
            let asked: Vec<Json> = waiting
                .map(|(id, tool)| interrupt(id, &self.calls.of(scene.run_id, id.as_str()), tool))
                .collect();
            return data_event(out, |event| {
                event.put("type", "RUN_FINISHED").put("threadId", &self.thread);
                event.put("runId", self.run.as_deref().unwrap_or(scene.run_id.as_str()));
                outcome(run, &asked, event);
                usage(run, event);
            });
        }
        data_event(out, |event| {
            let (code, message) = match &run.error {
                Some(error) if run.status == RunStatus::Error => {
                    (error.code.as_str(), error.message.as_str())
                }
                _ => (word(run.status), word(run.status)),
            };
            event.put("type", "RUN_ERROR").put("message", message).put("code", code);
            usage(run, event);
        });
    }
}

/// A status in one word, as code and message of an error.
fn word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "running",
        RunStatus::Complete => "complete",
        RunStatus::Error => "error",
        RunStatus::Cancelled => "cancelled",
        RunStatus::Interrupted => "interrupted",
    }
}

/// Writes the outcome of a run that was cancelled or waits for a person.
fn outcome(run: &RunView, asked: &[Json], event: &mut ObjectWriter<'_>) {
    if run.status == RunStatus::Cancelled {
        event.nest("outcome", |outcome| {
            outcome.put("type", "cancelled");
        });
        return;
    }
    if !asked.is_empty() {
        event.nest("outcome", |outcome| {
            outcome.put("type", "interrupt").put("interrupts", asked);
        });
    }
}

/// A call that waits for a person's consent, as an interrupt of the run. The answer names `id`; `written` is
/// what `TOOL_CALL_START` called it, which differs where another run of the thread had the same id.
fn interrupt(id: &ToolCallId, written: &str, tool: &ToolView) -> Json {
    let mut out = Vec::new();
    ObjectWriter::write(&mut out, |interrupt| {
        interrupt.put("id", id.as_str()).put("reason", "tool_call").put("toolCallId", written);
        interrupt.put_some("message", tool.question.as_ref());
        interrupt.put("responseSchema", &answer_schema());
    });
    Json::parse(&String::from_utf8_lossy(&out)).unwrap_or_else(|| Json::of(&()))
}

/// The JSON schema of the answer to an interrupt.
fn answer_schema() -> Json {
    Json::of(&serde_json::json!({
        "type": "object",
        "properties": {
            "approved": {"type": "boolean"},
            "editedArgs": {"type": "object"},
            "reason": {"type": "string"},
        },
        "required": ["approved"],
    }))
}

/// Writes the tokens of the run, if they are known.
fn usage(run: &RunView, event: &mut ObjectWriter<'_>) {
    let Some(Usage { input_tokens, output_tokens, reasoning_tokens, cached_tokens, .. }) = run.usage else {
        return;
    };
    event.nest_one("usage", |usage| {
        usage.put_some("model", run.model.as_ref()).put("inputTokens", &input_tokens);
        usage.put("outputTokens", &output_tokens);
        usage.put("totalTokens", &input_tokens.saturating_add(output_tokens));
        usage.put_some("reasoningTokens", Some(reasoning_tokens).filter(|count| *count > 0));
        usage.put_some("cachedInputTokens", Some(cached_tokens).filter(|count| *count > 0));
    });
}

/// Writes a custom event.
fn custom(scene: &FactContext<'_>, name: &str, value: &Json, out: &mut Vec<u8>) {
    event(scene, "CUSTOM", out, |event| {
        event.put("name", name).put("value", value);
    });
}

/// Writes an event of the agent that the context names.
fn event(scene: &FactContext<'_>, kind: &str, out: &mut Vec<u8>, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    data_event(out, |event| {
        event.put("type", kind);
        fill(event);
        event.put_some("subagentRunId", scene.agent);
    });
}

#[cfg(test)]
mod tests;
