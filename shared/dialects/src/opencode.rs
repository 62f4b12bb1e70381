//! `OpenCode`: the event stream of its server (`GET /event`), and what `opencode run --format json` prints.
//! The stream has the events of all sessions: one that works is a run, those below it are its sub-agents.
//!
//! ```text
//! data: {"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"busy"}}}
//! data: {"type":"message.updated","properties":{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant","modelID":"m"}}}
//! data: {"type":"message.part.updated","properties":{"part":{"id":"prt_1","messageID":"msg_2","sessionID":"ses_1","type":"text","text":"Hi"}}}
//! data: {"type":"session.idle","properties":{"sessionID":"ses_1"}}
//!
//! {"type":"text","timestamp":1770000000000,"sessionID":"ses_1","part":{"id":"prt_1","type":"text","text":"Hi"}}      printed
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `session.created`, `.updated` | the title of the run, the parent of a session |
//! | `session.status` | `busy` begins a run or a sub-agent, `retry` is a status |
//! | `session.idle` | the end of the run or of the sub-agent |
//! | `session.error` | a failure; an abort cancels the run |
//! | `message.updated` | who writes a message, its model and finish reason |
//! | `message.part.updated`, `.delta` | texts (`texts`), calls (`tools`), files, tokens of steps |
//! | `message.removed`, `message.part.removed` | texts are taken back |
//! | `permission.*`, `question.*` | approval requests and answers: see `asks` |
//! | `session.diff`, `todo.updated`, `file.edited` | custom events |
//! | `server.*`, `lsp.*` and others around the sessions | nothing |
//! | anything else | raw, inside of a run |
//!
//! Texts came in three ways over the versions: cumulative with the delta beside it, whole once more at the
//! end, or deltas alone. So what is new is found by comparing texts. A stream without `session.idle` leaves
//! the run interrupted; what the command prints is complete after a step that no other follows.

use compact_str::CompactString;
use indexmap::IndexMap;

use super::fault::fault;
use super::field::{ForeignField, ForeignFields};
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, Kind, RunStatus, RunUpdate, Usage};
use model::ids::AgentId;
use model::limits::ITEMS_PER_RUN_MAX;

mod asks;
mod messages;
mod sessions;
mod texts;
mod tools;

use asks::PendingQuestions;
use messages::OpenCodeMessages;
use sessions::OpenCodeSessions;
use texts::OpenCodeTexts;
use tools::OpenCodeCalls;

/// The name of the dialect.
pub const NAME: &str = "opencode";

/// Most sessions, messages and questions that are remembered (I7).
const REMEMBERED_MAX: usize = 10_000;

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(OpenCodeMeaning {
        writer: EventWriter::new(NAME, options),
        sessions: OpenCodeSessions::default(),
        messages: OpenCodeMessages::default(),
        texts: OpenCodeTexts::default(),
        tools: OpenCodeCalls::default(),
        asks: PendingQuestions::default(),
        steps: IndexMap::new(),
        finish_reason: None,
        is_cancelled: false,
        is_done: false,
        now: 0,
    }))
}

/// The meaning of one stream of events.
#[derive(Debug)]
struct OpenCodeMeaning {
    writer: EventWriter,
    /// The sessions, and what they are in the open run.
    sessions: OpenCodeSessions,
    /// Knows who writes each message.
    messages: OpenCodeMessages,
    /// The texts of the open run.
    texts: OpenCodeTexts,
    /// The calls of the open run.
    tools: OpenCodeCalls,
    /// What persons were asked.
    asks: PendingQuestions,
    /// The ids of the steps whose tokens were counted.
    steps: IndexMap<CompactString, ()>,
    /// Why the main agent stopped last.
    finish_reason: Option<CompactString>,
    /// Somebody stopped the run.
    is_cancelled: bool,
    /// The last step said that no other follows. Only what the command prints ends that way.
    is_done: bool,
    /// The latest time that the stream has named, in milliseconds since 1970.
    now: u64,
}

impl ObjectMeaning for OpenCodeMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, _name: &str, text: &str, out: &mut Decoded) {
        let whole = ForeignField::parse(text).filter(|whole| whole.is_object());
        let Some(whole) = whole else {
            let detail = format!("line {line}: not a valid event: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let event = ForeignFields::of(whole);
        // The stream of a server for several folders wraps each event.
        let payload = event.get("payload");
        if payload.is_object() {
            return self.event(payload, &ForeignFields::of(payload), out);
        }
        self.event(whole, &event, out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        let is_done = self.is_done;
        self.close(is_done, out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl OpenCodeMeaning {
    /// Takes one event, of the stream or of the command.
    fn event(&mut self, whole: ForeignField<'_>, event: &ForeignFields<'_>, out: &mut Decoded) {
        let kind = event.get("type").text().unwrap_or_default();
        let properties = ForeignFields::of(event.get("properties"));
        if event.get("part").is_object() || event.get("sessionID").is_some() {
            return self.printed(&kind, event, out);
        }
        match &*kind {
            "session.created" | "session.updated" => {
                self.sessions.learn(properties.get("info"), &mut self.writer, out);
            }
            "session.status" => self.status(&properties, out),
            "session.idle" => self.idle(&session_of(&properties), out),
            "session.error" => self.failed(&session_of(&properties), properties.get("error"), out),
            "message.updated" => self.message(properties.get("info"), out),
            "message.removed" => {
                let id = properties.get("messageID").words().unwrap_or_default();
                self.texts.remove_message(&id, &self.writer, out);
            }
            "message.part.updated" => self.part(properties.get("part"), &properties, out),
            "message.part.delta" => self.delta(&properties, out),
            "message.part.removed" => {
                let id = properties.get("partID").words().unwrap_or_default();
                self.texts.remove(&id, &self.writer, out);
            }
            "permission.asked" | "permission.updated" | "question.asked" => {
                let agent = self.agent(&session_of(&properties), out);
                let value = event.get("properties");
                self.asks.ask(&kind, value, agent.as_ref(), &mut self.writer, out);
            }
            "permission.replied" | "question.replied" | "question.rejected" => {
                self.asks.answer(&kind, &properties, &mut self.tools, &mut self.writer, out);
            }
            "" if event.any(&["error", "name", "message"]).is_truthy() => self.fail(whole, out),
            _ => self.other(&kind, whole, event.get("properties"), out),
        }
    }

    /// Takes an event that begins nothing.
    fn other(&mut self, kind: &str, whole: ForeignField<'_>, value: ForeignField<'_>, out: &mut Decoded) {
        // What goes on around the sessions.
        const AROUND: [&str; 13] = [
            "server.",
            "lsp.",
            "installation.",
            "ide.",
            "tui.",
            "pty.",
            "vcs.",
            "file.watcher.",
            "project.",
            "mcp.",
            "worktree.",
            "workspace.",
            "session.deleted",
        ];
        if !self.writer.is_running() || AROUND.iter().any(|prefix| kind.starts_with(prefix)) {
            return;
        }
        let session = session_of(&ForeignFields::of(value));
        let agent = self.sessions.agent_of(&session);
        match kind {
            "session.diff" if ForeignFields::of(value).get("diff").is_truthy() => {
                self.writer.custom("diff", value, agent.as_ref(), out);
            }
            "session.diff" => {}
            "session.compacted" => {
                self.writer.push_by(agent.as_ref(), Kind::Status { text: String::from("compacted") }, out);
            }
            "todo.updated" => {
                self.writer.custom("todo", ForeignFields::of(value).get("todos"), agent.as_ref(), out);
            }
            "file.edited" => self.writer.custom("file_edited", value, agent.as_ref(), out),
            _ => self.writer.raw(whole, agent.as_ref(), out),
        }
    }

    /// Takes a line of the command: a part that is whole, or an error.
    fn printed(&mut self, kind: &str, event: &ForeignFields<'_>, out: &mut Decoded) {
        let session = session_of(event);
        self.clock(event.get("timestamp"));
        if kind == "step_start" {
            if self.is_done && !self.sessions.is_owner(&session) {
                self.close(true, out);
            }
            self.is_done = false;
        }
        match kind {
            "error" => self.failed(&session, event.get("error"), out),
            _ => self.part(event.get("part"), event, out),
        }
        if kind == "step_finish" {
            let reason = ForeignFields::of(event.get("part")).get("reason").word();
            self.is_done = reason.as_deref() != Some("tool-calls");
        }
    }

    /// Takes how a session stands.
    fn status(&mut self, properties: &ForeignFields<'_>, out: &mut Decoded) {
        let session = session_of(properties);
        let status = ForeignFields::of(properties.get("status"));
        match status.get("type").text().as_deref() {
            Some("idle") => self.idle(&session, out),
            Some("retry") => {
                let agent = self.agent(&session, out);
                let message = status.get("message").words().unwrap_or_default();
                let text = format!("attempt {}: {message}", status.get("attempt").count().unwrap_or(0));
                self.writer.push_by(agent.as_ref(), Kind::Status { text }, out);
            }
            Some("busy") => {
                self.agent(&session, out);
                self.sessions.set_busy(&session);
            }
            _ => {}
        }
    }

    /// Takes that a session is done; the run ends if no session at the top works any more.
    fn idle(&mut self, session: &str, out: &mut Decoded) {
        if let Some(agent) = self.sessions.agent_of(session) {
            self.texts.end_of(&agent, &self.writer, out);
        }
        if self.writer.is_running() && self.sessions.rest(session, &mut self.writer, out) {
            self.close(true, out);
        }
    }

    /// The sub-agent that a session is in the open run, which begins if none is open; nothing for the main
    /// agent.
    fn agent(&mut self, session: &str, out: &mut Decoded) -> Option<AgentId> {
        if !self.writer.is_running() {
            self.writer.begin(None, out);
            self.messages.begin();
            self.is_cancelled = false;
        }
        self.sessions.enter(session, &mut self.writer, out)
    }

    /// Writes the failure of a session. The failure of a sub-agent does not fail the run; an abort cancels it.
    fn failed(&mut self, session: &str, error: ForeignField<'_>, out: &mut Decoded) {
        if !error.is_truthy() {
            return;
        }
        let agent = self.agent(session, out);
        let shape = ForeignFields::of(error);
        let name = shape.get("name").word();
        if name.as_deref() == Some("MessageAbortedError") {
            if agent.is_none() {
                self.is_cancelled = true;
            }
            return;
        }
        let inner = ForeignFields::of(shape.get("data"));
        let fact = match inner.get("message").word().or_else(|| shape.get("message").word()) {
            Some(message) => ErrorFact {
                code: name.map_or_else(|| CompactString::const_new("error"), CompactString::new),
                message: message.into_owned(),
                retryable: inner.get("isRetryable").switch(),
                retry_after_ms: None,
            },
            None => fault(error),
        };
        if let Some(agent) = agent {
            // The run around it may well go on.
            if self.sessions.fail(session) {
                self.writer.push_by(Some(&agent), Kind::Error(fact), out);
            }
            return;
        }
        self.writer.fail(fact, out);
    }

    /// Takes what is known of a message. Messages of a run that is over are sent again and begin none.
    fn message(&mut self, info: ForeignField<'_>, out: &mut Decoded) {
        let info = ForeignFields::of(info);
        let id = info.get("id").words().unwrap_or_default();
        let is_assistant = info.get("role").text().is_some_and(|role| role == "assistant");
        let time = ForeignFields::of(info.get("time"));
        let is_whole = time.get("completed").is_some();
        if !is_assistant {
            return self.messages.user(&id);
        }
        if !self.messages.may_speak(&id, self.writer.is_running(), is_whole) {
            return;
        }
        self.clock(time.any(&["completed", "created"]));
        let session = session_of(&info);
        let agent = self.agent(&session, out);
        self.messages.assistant(&id);
        if agent.is_none() {
            self.writer.begin(info.any(&["modelID", "model"]).text().as_deref(), out);
            if let Some(reason) = info.get("finish").word() {
                self.finish_reason = Some(CompactString::new(&reason));
            }
        }
        self.failed(&session, info.get("error"), out);
    }

    /// Takes a part of a message, as it is now.
    fn part(&mut self, whole: ForeignField<'_>, around: &ForeignFields<'_>, out: &mut Decoded) {
        let part = ForeignFields::of(whole);
        let message = part.get("messageID").words().unwrap_or_default();
        let session = part.get("sessionID").words().unwrap_or_else(|| session_of(around).into()).into_owned();
        let kind = part.get("type").text().unwrap_or_default();
        if self.messages.is_user(&message) {
            return self.user_part(&kind, whole, &part, &session, out);
        }
        if !self.messages.may_speak(&message, self.writer.is_running(), false) {
            return;
        }
        let time = ForeignFields::of(part.get("time"));
        self.clock(time.any(&["end", "start"]));
        let agent = self.agent(&session, out);
        self.messages.assistant(&message);
        match &*kind {
            "text" | "reasoning" => {
                self.texts.update(&part, around, agent.as_ref(), &mut self.writer, out);
            }
            "tool" => {
                let state = ForeignFields::of(part.get("state"));
                let time = ForeignFields::of(state.get("time"));
                self.clock(time.any(&["end", "start"]));
                self.tools.update(&part, agent.as_ref(), &mut self.writer, out);
                self.sessions.link(&session, &part, &mut self.writer, out);
            }
            "step-finish" => self.step(&part, agent.as_ref(), out),
            "step-start" | "snapshot" => {}
            "file" => {
                let id = part.get("id").words().unwrap_or_default();
                let url = part.get("url").words().unwrap_or_default();
                self.texts.file(&id, &url, agent.as_ref(), &mut self.writer, out);
            }
            "retry" => {
                let error = ForeignFields::of(part.get("error"));
                let data = ForeignFields::of(error.get("data"));
                let message = data.any(&["message"]).words().or_else(|| error.get("message").words());
                let attempt = part.get("attempt").count().unwrap_or(0);
                let text = format!("attempt {attempt}: {}", message.unwrap_or_default());
                self.writer.push_by(agent.as_ref(), Kind::Status { text }, out);
            }
            "compaction" => {
                let text = String::from("compaction");
                self.writer.push_by(agent.as_ref(), Kind::Status { text }, out);
            }
            "patch" | "subtask" | "agent" => self.writer.custom(&kind, whole, agent.as_ref(), out),
            _ => self.writer.raw(whole, agent.as_ref(), out),
        }
    }

    /// Takes a part of what somebody asked. It begins a run, of which it is the first thing to know.
    fn user_part(
        &mut self,
        kind: &str,
        whole: ForeignField<'_>,
        part: &ForeignFields<'_>,
        session: &str,
        out: &mut Decoded,
    ) {
        let is_made_up = part.get("synthetic").is_true() || part.get("ignored").is_true();
        let id = part.get("id").words().unwrap_or_default();
        let text = part.get("text").text().unwrap_or_default();
        let content = if kind == "text" { &*text } else { whole.as_json_text() };
        if is_made_up || content.is_empty() || !self.messages.is_news(&id, content) {
            return;
        }
        let agent = self.agent(session, out);
        match (kind, agent) {
            ("text", None) => self.writer.message_as(&id, "user", &text, out),
            // What a sub-agent is asked is its task.
            ("text", Some(_)) => self.sessions.set_task(session, &text, &mut self.writer, out),
            ("file", agent) => self.writer.custom("attachment", whole, agent.as_ref(), out),
            (_, agent) => self.writer.custom(kind, whole, agent.as_ref(), out),
        }
    }

    /// Takes more of a text.
    fn delta(&mut self, properties: &ForeignFields<'_>, out: &mut Decoded) {
        let message = properties.get("messageID").words().unwrap_or_default();
        let is_text = properties.get("field").text().is_none_or(|field| field == "text");
        if !is_text || self.messages.is_user(&message) {
            return;
        }
        if self.messages.may_speak(&message, self.writer.is_running(), false) {
            let agent = self.agent(&session_of(properties), out);
            self.messages.assistant(&message);
            self.texts.delta(properties, agent.as_ref(), &mut self.writer, out);
        }
    }

    /// Takes the end of a model call: its tokens count once, however often it is sent.
    fn step(&mut self, part: &ForeignFields<'_>, agent: Option<&AgentId>, out: &mut Decoded) {
        let id = CompactString::new(part.get("id").words().unwrap_or_default());
        if agent.is_none()
            && let Some(reason) = part.get("reason").word()
        {
            self.finish_reason = Some(CompactString::new(&reason));
        }
        let has_room = self.steps.len() < ITEMS_PER_RUN_MAX;
        let is_new = id.is_empty() || (has_room && self.steps.insert(id, ()).is_none());
        if let Some(mut usage) = tokens(part.get("tokens")).filter(|_| is_new) {
            // It says 0 where it does not know, too.
            usage.cost = part.get("cost").dollars().filter(|cost| cost.picos() > 0);
            let update = RunUpdate { usage: Some(usage), ..RunUpdate::default() };
            self.writer.push_by(agent, Kind::RunUpdate(update), out);
        }
    }

    /// Sets the time of the next events. Times are not in order, and the clock never goes back.
    fn clock(&mut self, time: ForeignField<'_>) {
        if let Some(time) = time.count() {
            self.now = self.now.max(time);
            self.writer.set_time(Some(self.now));
        }
    }

    /// Ends the run, if one is open, and forgets all that is about it.
    fn close(&mut self, is_whole: bool, out: &mut Decoded) {
        if !self.writer.is_running() {
            return;
        }
        self.texts.end_all(&self.writer, out);
        self.tools.begin();
        self.asks.begin();
        self.sessions.begin();
        self.steps.clear();
        self.is_done = false;
        let status = std::mem::take(&mut self.is_cancelled).then_some(RunStatus::Cancelled);
        let finish_reason = self.finish_reason.take();
        self.writer.end(RunEnding { is_whole, status, finish_reason, ..RunEnding::default() }, out);
    }
}

/// The session that an event is about.
fn session_of(event: &ForeignFields<'_>) -> String {
    event.get("sessionID").words().unwrap_or_default().into_owned()
}

/// The tokens of a model call. The dialect's `input` leaves out what went through the cache, that of the
/// event model does not; newer versions leave reasoning out of `output`, which shows in their total.
fn tokens(value: ForeignField<'_>) -> Option<Usage> {
    let told = ForeignFields::of(value);
    let cache = ForeignFields::of(told.get("cache"));
    let count = |field: ForeignField<'_>| field.count().unwrap_or(0);
    let (input, output) = (told.get("input").count()?, count(told.get("output")));
    let (read, written) = (count(cache.get("read")), count(cache.get("write")));
    let reasoning = count(told.get("reasoning"));
    let input = input.saturating_add(read).saturating_add(written);
    let sum = input.saturating_add(output).saturating_add(reasoning);
    let is_apart = told.get("total").count() == Some(sum);
    let output = if is_apart { output.saturating_add(reasoning) } else { output };
    Some(Usage {
        input_tokens: input,
        output_tokens: output,
        reasoning_tokens: reasoning,
        cached_tokens: read,
        cost: None,
    })
}

#[cfg(test)]
mod tests;
