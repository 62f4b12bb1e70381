//! Reading native events: one flat object with every field there is, then the kind picks its own. This is several
//! times faster than serde's tagged and flattened forms, and the only place that decides what a native event may be.
//!
//! ```json
//! {"k": "part.delta", "run": "r", "part": "p", "off": 3, "text": "lo", "seq": 7, "at": 1795300000000}
//! ```
//!
//! Texts are borrowed from the line where they have no escapes. A field of a known kind that has another type
//! than ours fails the event; a kind of a later version is kept whole, whatever its fields are.

use std::borrow::Cow;

use compact_str::CompactString;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::file;
use super::{
    AgentEnd, AgentStart, ErrorFact, Event, Kind, LabelChange, Message, Origin, PartEnd, PartKind, ResultRef,
    RunEnd, RunStart, RunStatus, RunUpdate, ToolProgress, ToolResult, ToolStart, ToolState, ToolStateChange,
    Unknown, Usage,
};
use crate::anomaly::{Anomaly, AnomalyCode};
use crate::ids::{AgentId, MessageId, PartId, RunId, ToolCallId};
use crate::json::Json;
use crate::limits::NUMBER_MAX;

/// Why a piece of JSON is no event.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// The text is not a JSON object, or a field has the wrong type.
    #[error("not a valid event: {0}")]
    Json(#[from] serde_json::Error),
    /// The kind cannot do without a field.
    #[error("a {kind} event needs the field {field:?}")]
    Missing {
        /// The kind of the event.
        kind: String,
        /// The name of the missing field.
        field: &'static str,
    },
    /// A number is larger than [`NUMBER_MAX`].
    #[error("the field {field:?} has the number {number}, the largest that is taken is {NUMBER_MAX}")]
    Number {
        /// The name of the field.
        field: &'static str,
        /// The number in the field.
        number: u64,
    },
}

/// All fields of all kinds and of the envelope. Most are absent from any one event; [`WireEvent::take_kind`]
/// moves those of its kind out.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of some kind, none is a state")]
pub(crate) struct WireEvent<'a> {
    /// The kind, as `part.delta`.
    #[serde(borrow)]
    k: Cow<'a, str>,
    /// Of the envelope: the seq, set by the hub.
    pub(crate) seq: Option<u64>,
    /// Of the envelope: when the hub took the event, in milliseconds since 1970.
    pub(crate) at: Option<u64>,
    /// Of the envelope: when it happened, by the publisher's clock.
    pub(crate) producer_at: Option<u64>,
    /// Of the envelope: the id of the publisher.
    pub(crate) publisher: Option<crate::ids::PublisherId>,
    /// Of the envelope: whether the hub itself wrote it.
    #[serde(default)]
    pub(crate) by_hub: bool,
    /// The run that the event belongs to; some kinds have none.
    run: Option<RunId>,
    /// The sub-agent that the event belongs to.
    agent: Option<AgentId>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    off: Option<u64>,
    part: Option<PartId>,
    tool: Option<ToolCallId>,
    message: Option<Cow<'a, str>>,
    kind: Option<PartKind>,
    name: Option<CompactString>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    state: Option<ToolState>,
    status: Option<RunStatus>,
    model: Option<CompactString>,
    dialect: Option<CompactString>,
    host: Option<CompactString>,
    title: Option<String>,
    finish_reason: Option<CompactString>,
    usage: Option<Usage>,
    parent: Option<AgentId>,
    depth: Option<u32>,
    role: Option<CompactString>,
    len: Option<u64>,
    hash: Option<CompactString>,
    duration_ms: Option<u64>,
    #[serde(default)]
    hidden: bool,
    signature: Option<String>,
    #[serde(default)]
    server: bool,
    given_id: Option<CompactString>,
    queued_ms: Option<u64>,
    exec_ms: Option<u64>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(default)]
    is_error: bool,
    #[serde(borrow)]
    files: Option<&'a RawValue>,
    #[serde(borrow)]
    embeds: Option<&'a RawValue>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
    current: Option<u64>,
    total: Option<u64>,
    phase: Option<CompactString>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    code: Option<CompactString>,
    detail: Option<String>,
    retryable: Option<bool>,
    retry_after_ms: Option<u64>,
    approved: Option<bool>,
    since: Option<u64>,
    #[serde(default)]
    lost: bool,
    #[serde(rename = "ref")]
    reference: Option<ResultRef>,
    tokens: Option<u64>,
    #[serde(borrow)]
    from: Option<&'a RawValue>,
    #[serde(borrow)]
    pinned: Option<&'a RawValue>,
    #[serde(borrow)]
    archived: Option<&'a RawValue>,
    #[serde(borrow)]
    tags: Option<&'a RawValue>,
    #[serde(borrow)]
    note: Option<&'a RawValue>,
    #[serde(borrow)]
    rating: Option<&'a RawValue>,
    #[serde(borrow)]
    by: Option<&'a RawValue>,
}

/// The event that `json` holds. Fields that the kind does not know are ignored; a kind that is not known is
/// kept whole. Fails if it is no JSON object, a field has the wrong type, or the kind cannot do without a
/// field that is missing.
pub fn parse_event(json: &str) -> Result<Event, EventError> {
    parse_wire(json).map(|(event, _)| event)
}

/// The event, and the fields of its envelope as far as they were there.
pub(crate) fn parse_wire(json: &str) -> Result<(Event, WireEvent<'_>), EventError> {
    parse_checked(json, |_wire| Ok(()))
}

/// Reads an event from outside the hub: refuses numbers over [`NUMBER_MAX`].
pub(crate) fn parse_received(json: &str) -> Result<(Event, WireEvent<'_>), EventError> {
    let (event, wire) = parse_checked(json, WireEvent::check_numbers)?;
    if let Kind::Fork { from } = &event.kind
        && from.seq > NUMBER_MAX
    {
        return Err(EventError::Number { field: "from.seq", number: from.seq });
    }
    Ok((event, wire))
}

/// Reads `json` and has `check` look at its fields before any is taken out.
fn parse_checked<'a>(
    json: &'a str,
    check: impl Fn(&WireEvent<'a>) -> Result<(), EventError>,
) -> Result<(Event, WireEvent<'a>), EventError> {
    let mut wire: WireEvent<'a> = match serde_json::from_str(json) {
        Ok(wire) => wire,
        Err(error) => {
            let (event, wire) = unknown_with_other_types(json, error)?;
            check(&wire)?;
            return Ok((event, wire));
        }
    };
    check(&wire)?;
    let known = if is_known(&wire.k) { wire.take_kind()? } else { None };
    let kind = known.map_or_else(|| unknown(json), Ok)?;
    let event = Event { kind, run: wire.run.take().unwrap_or_else(RunId::none), agent: wire.agent.take() };
    Ok((event, wire))
}

/// Only what every event has; for kinds of later versions whose fields may have other types than ours.
#[derive(Deserialize)]
struct EventHeader {
    k: String,
    seq: Option<u64>,
    at: Option<u64>,
    producer_at: Option<u64>,
    publisher: Option<crate::ids::PublisherId>,
    run: Option<RunId>,
    agent: Option<AgentId>,
}

/// Reads an event of a kind that is not known and whose fields have other types than ours. Of a known kind it
/// is `error`, with which reading failed.
fn unknown_with_other_types(
    json: &str,
    error: serde_json::Error,
) -> Result<(Event, WireEvent<'_>), EventError> {
    let Ok(envelope) = serde_json::from_str::<EventHeader>(json) else { return Err(error.into()) };
    if is_known(&envelope.k) {
        return Err(error.into());
    }
    let run = envelope.run.unwrap_or_else(RunId::none);
    let event = Event { kind: unknown(json)?, run, agent: envelope.agent };
    let mut wire: WireEvent<'_> = serde_json::from_str(r#"{"k":""}"#)?;
    (wire.seq, wire.at, wire.producer_at) = (envelope.seq, envelope.at, envelope.producer_at);
    wire.publisher = envelope.publisher;
    Ok((event, wire))
}

/// An event of a kind that is not known, with all fields that are not of the envelope.
fn unknown(json: &str) -> Result<Kind, EventError> {
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json)?;
    let k = match fields.remove("k") {
        Some(serde_json::Value::String(k)) => CompactString::from(k),
        _ => CompactString::default(),
    };
    for name in ["seq", "at", "producer_at", "publisher", "by_hub", "run", "agent"] {
        fields.remove(name);
    }
    Ok(Kind::Unknown(Unknown { k, fields }))
}

/// The kinds of this version.
pub const KNOWN: [&str; 28] = [
    "fork",
    "label",
    "run.start",
    "run.update",
    "run.stalled",
    "run.end",
    "agent.start",
    "agent.end",
    "message",
    "part.start",
    "part.delta",
    "part.replace",
    "part.end",
    "tool.start",
    "tool.args",
    "tool.call",
    "tool.state",
    "tool.output",
    "tool.result",
    "tool.progress",
    "status",
    "error",
    "approval.request",
    "approval.answer",
    "custom",
    "raw",
    "rate",
    "anomaly",
];

/// Whether this version knows the kind.
fn is_known(k: &str) -> bool {
    KNOWN.contains(&k)
}

impl WireEvent<'_> {
    /// The error for a field that the kind cannot do without.
    fn missing(&self, field: &'static str) -> EventError {
        EventError::Missing { kind: self.k.clone().into_owned(), field }
    }

    /// Moves the fields of a kind out; `None` if no arm names it, so that it is kept whole. The most frequent kinds come first.
    fn take_kind(&mut self) -> Result<Option<Kind>, EventError> {
        Ok(Some(match &*self.k {
            "part.delta" => Kind::PartDelta { part: self.part()?, off: self.off, text: self.compact_text()? },
            "tool.args" => Kind::ToolArgs { tool: self.tool()?, off: self.off, text: self.compact_text()? },
            "tool.output" => {
                Kind::ToolOutput { tool: self.tool()?, off: self.off, text: self.compact_text()? }
            }
            k if k.starts_with("tool.") || k.starts_with("approval.") => return self.take_tool_kind(),
            k if k.starts_with("run.") || k.starts_with("agent.") => return Ok(self.take_run_kind()),
            _ => return self.take_other_kind(),
        }))
    }

    /// Refuses numbers over [`NUMBER_MAX`]. Before the kind is taken out.
    fn check_numbers(&self) -> Result<(), EventError> {
        let usage = self.usage.unwrap_or_default();
        let fields = [
            ("seq", self.seq),
            ("at", self.at),
            ("producer_at", self.producer_at),
            ("off", self.off),
            ("len", self.len),
            ("duration_ms", self.duration_ms),
            ("queued_ms", self.queued_ms),
            ("exec_ms", self.exec_ms),
            ("current", self.current),
            ("total", self.total),
            ("retry_after_ms", self.retry_after_ms),
            ("since", self.since),
            ("tokens", self.tokens),
            ("ref.bytes", self.reference.as_ref().map(|reference| reference.bytes)),
            ("usage.input_tokens", Some(usage.input_tokens)),
            ("usage.output_tokens", Some(usage.output_tokens)),
            ("usage.reasoning_tokens", Some(usage.reasoning_tokens)),
            ("usage.cached_tokens", Some(usage.cached_tokens)),
        ];
        let over = fields.into_iter().find_map(|(field, number)| {
            let number = number.filter(|number| *number > NUMBER_MAX)?;
            Some(EventError::Number { field, number })
        });
        over.map_or(Ok(()), Err)
    }

    /// The kinds `run.…` and `agent.…`, which need no field.
    fn take_run_kind(&mut self) -> Option<Kind> {
        Some(match &*self.k {
            "run.start" => Kind::RunStart(RunStart {
                model: self.model.take(),
                dialect: self.dialect.take(),
                title: self.title.take(),
                name: self.name.take(),
                host: self.host.take(),
            }),
            "run.update" => Kind::RunUpdate(RunUpdate {
                model: self.model.take(),
                title: self.title.take(),
                finish_reason: self.finish_reason.take(),
                usage: self.usage,
            }),
            "run.end" => Kind::RunEnd(RunEnd {
                status: self.status.unwrap_or(RunStatus::Complete),
                finish_reason: self.finish_reason.take(),
                usage: self.usage,
                lost: self.lost,
            }),
            "run.stalled" => Kind::RunStalled { since: self.since.unwrap_or_default() },
            "agent.start" => Kind::AgentStart(AgentStart {
                name: self.name.take(),
                parent: self.parent.take(),
                depth: self.depth,
                tool: self.tool.take(),
                text: self.text.take().map(Cow::into_owned),
                model: self.model.take(),
                usage: self.usage,
            }),
            "agent.end" => Kind::AgentEnd(AgentEnd {
                status: self.status.unwrap_or(RunStatus::Complete),
                model: self.model.take(),
                usage: self.usage,
            }),
            _ => return None,
        })
    }

    /// The kinds `tool.…` and `approval.…`, which all need `tool`.
    fn take_tool_kind(&mut self) -> Result<Option<Kind>, EventError> {
        let tool = self.tool()?;
        let text = self.text.take().map(Cow::into_owned);
        let (queued_ms, exec_ms) = (self.queued_ms, self.exec_ms);
        Ok(Some(match &*self.k {
            "tool.start" => Kind::ToolStart(ToolStart {
                tool,
                name: self.name.take().unwrap_or_default(),
                server: self.server,
                given_id: self.given_id.take(),
            }),
            "tool.call" => Kind::ToolCall {
                tool,
                name: self.name.take(),
                arguments: self.arguments.take().map(arguments_text),
            },
            "tool.state" => {
                let state = self.state.ok_or_else(|| self.missing("state"))?;
                Kind::ToolState(ToolStateChange { tool, state, queued_ms, exec_ms })
            }
            "tool.result" => Kind::ToolResult(ToolResult {
                tool,
                output: self.output.map_or_else(|| Json::string(""), Json::from_raw),
                is_error: self.is_error,
                queued_ms,
                exec_ms,
                files: self.files.map(Json::from_raw),
                embeds: self.embeds.map(Json::from_raw),
                reference: self.reference.take(),
            }),
            "tool.progress" => {
                let (current, total, phase) = (self.current, self.total, self.phase.take());
                Kind::ToolProgress(ToolProgress {
                    tool,
                    text,
                    current,
                    total,
                    phase,
                    data: self.data.map(Json::from_raw),
                })
            }
            "approval.request" => Kind::ApprovalRequest { tool, text },
            "approval.answer" => {
                Kind::ApprovalAnswer { tool, approved: self.approved.unwrap_or(false), text }
            }
            _ => return Ok(None),
        }))
    }

    /// Takes the fields of the kinds that the other functions do not handle.
    fn take_other_kind(&mut self) -> Result<Option<Kind>, EventError> {
        Ok(Some(match &*self.k {
            "message" => Kind::Message(Message {
                message: MessageId::new(&self.message.take().ok_or_else(|| self.missing("message"))?),
                role: self.role.take().unwrap_or_else(|| CompactString::const_new("user")),
                text: self.owned_text()?,
                files: file::read(self.files)?,
            }),
            "part.start" => Kind::PartStart { part: self.part()?, kind: self.kind.unwrap_or(PartKind::Text) },
            "part.replace" => Kind::PartReplace { part: self.part()?, text: self.owned_text()? },
            "part.end" => Kind::PartEnd(PartEnd {
                part: self.part()?,
                len: self.len,
                hash: self.hash.take(),
                duration_ms: self.duration_ms,
                hidden: self.hidden,
                signature: self.signature.take(),
            }),
            "fork" => {
                let from = self.from.ok_or_else(|| self.missing("from"))?;
                Kind::Fork { from: serde_json::from_str::<Origin>(from.get())? }
            }
            "label" => Kind::Label(Box::new(LabelChange {
                title: self.title.take(),
                pinned: typed(self.pinned)?,
                archived: typed(self.archived)?,
                tags: typed(self.tags)?,
                note: typed(self.note)?,
                rating: typed(self.rating)?,
                by: typed(self.by)?,
            })),
            "status" => Kind::Status { text: self.owned_text()? },
            "error" => Kind::Error(ErrorFact {
                code: self.code.take().unwrap_or_else(|| CompactString::const_new("error")),
                message: self.message.take().map(Cow::into_owned).unwrap_or_default(),
                retryable: self.retryable,
                retry_after_ms: self.retry_after_ms,
            }),
            "anomaly" => {
                let name = serde_json::Value::String(self.code.take().unwrap_or_default().into());
                // A code of a later version still says that something was odd.
                let code = serde_json::from_value(name).unwrap_or(AnomalyCode::Malformed);
                Kind::Anomaly(Anomaly { code, detail: self.detail.take().unwrap_or_default() })
            }
            "rate" => Kind::Rate { tokens: self.tokens.unwrap_or(0) },
            "custom" => {
                let name = self.name.take().ok_or_else(|| self.missing("name"))?;
                Kind::Custom { name, value: self.value() }
            }
            "raw" => Kind::Raw { name: self.name.take().unwrap_or_default(), value: self.value() },
            _ => return Ok(None),
        }))
    }

    /// The value, as JSON; `null` if it is missing.
    fn value(&self) -> Json {
        self.value.map_or_else(|| Json::of(&()), Json::from_raw)
    }

    /// The part, which must be there; likewise the three below.
    fn part(&mut self) -> Result<PartId, EventError> {
        self.part.take().ok_or_else(|| self.missing("part"))
    }

    fn tool(&mut self) -> Result<ToolCallId, EventError> {
        self.tool.take().ok_or_else(|| self.missing("tool"))
    }

    fn compact_text(&mut self) -> Result<CompactString, EventError> {
        self.text.take().map(CompactString::from).ok_or_else(|| self.missing("text"))
    }

    fn owned_text(&mut self) -> Result<String, EventError> {
        self.text.take().map(Cow::into_owned).ok_or_else(|| self.missing("text"))
    }
}

/// A field that only one kind has. Other kinds may have one of that name and of any type, which is ignored.
fn typed<T: serde::de::DeserializeOwned>(raw: Option<&RawValue>) -> Result<Option<T>, EventError> {
    Ok(raw.map(|raw| serde_json::from_str(raw.get())).transpose()?)
}

/// Arguments may be given as text (what models write) or as JSON.
fn arguments_text(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_not_a_string| raw.get().to_owned())
}
