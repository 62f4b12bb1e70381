//! Reading frames. As with events, one flat object with every field there is, then the type picks its own.
//!
//! ```json
//! {"t": "sub", "sub": 1, "conv": "report", "have": "e1:204", "level": "parts"}
//! {"t": "batch", "sub": 1, "from": 205, "to": 206, "ts": 1795300000000, "ev": [{"k": "…"}, {"k": "…"}]}
//! ```
//! Fields that are not known are ignored on both sides. A frame of a client of an unknown type is an error; of a newer hub it is [`ServerFrame::Unknown`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use compact_str::CompactString;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Ack, BearerToken, ClientFrame, ConversationRow, Durability, Limits, LogHealth, Pub, ServerFrame,
    SilenceThresholds, SnapshotReason, SubMode, SubscriptionId, SubscriptionOptions, Welcome, are_numbered,
};
use crate::code::ErrorCode;
use crate::command::Command;
use crate::envelope::Envelope;
use crate::event::EventError;
use crate::ids::{ConversationId, PublisherId};
use crate::lens::{Agents, Kinds, Lens};
use crate::limits::{EVENTS_PER_PUBLISH_MAX, MIN_INTERVAL_MS_MAX};
use crate::position::{Epoch, Position, Seq};
use crate::view::View;

mod error;

pub use error::ClientFrameError;

/// All fields of all frames of clients.
#[derive(Deserialize)]
struct WireClientFrame<'a> {
    #[serde(borrow)]
    t: Cow<'a, str>,
    sub: Option<SubscriptionId>,
    #[serde(borrow)]
    conv: Option<Cow<'a, str>>,
    have: Option<Position>,
    #[serde(borrow)]
    level: Option<Cow<'a, str>>,
    agents: Option<Agents>,
    kinds: Option<Vec<CompactString>>,
    #[serde(default)]
    min_interval_ms: u64,
    #[serde(default)]
    newest: u64,
    window: Option<CompactString>,
    limit: Option<u64>,
    #[serde(default)]
    versions: Vec<CompactString>,
    client: Option<CompactString>,
    token: Option<BearerToken>,
    #[serde(default)]
    at: BTreeMap<SubscriptionId, Seq>,
    id: Option<u64>,
    pid: Option<PublisherId>,
    #[serde(default)]
    pepoch: u64,
    #[serde(default)]
    pfirst: u64,
    #[serde(default)]
    pseq: u64,
    durability: Option<Durability>,
    #[serde(borrow, default)]
    events: Vec<&'a RawValue>,
    #[serde(borrow)]
    command: Option<&'a RawValue>,
}

/// The frame of a client that `text` holds. Events of a `pub` are parsed as well: one that is none fails the
/// frame.
pub fn parse_client(text: &str) -> Result<ClientFrame, ClientFrameError> {
    let mut wire: WireClientFrame<'_> = serde_json::from_str(text)?;
    match &*wire.t {
        "hello" => {
            Ok(ClientFrame::Hello { versions: wire.versions, client: wire.client, token: wire.token.take() })
        }
        "sub" => Ok(ClientFrame::Sub {
            sub: wire.sub()?,
            conv: wire.conversation()?,
            have: wire.have.take(),
            wish: wire.wish()?,
        }),
        "watch" => Ok(ClientFrame::Watch { sub: wire.sub()?, limit: wire.limit }),
        "unsub" => Ok(ClientFrame::Unsub { sub: wire.sub()? }),
        "resync" => Ok(ClientFrame::Resync { sub: wire.sub()? }),
        "hb_ack" => Ok(ClientFrame::HbAck { at: wire.at }),
        "pub" => wire.publication().map(ClientFrame::Pub),
        "command" => wire.command(),
        other => Err(ClientFrameError::UnknownType(other.chars().take(40).collect())),
    }
}

impl WireClientFrame<'_> {
    /// The error for a field that the frame cannot do without.
    fn missing(&self, field: &'static str) -> ClientFrameError {
        ClientFrameError::Missing { frame: self.t.clone().into_owned(), field }
    }

    /// The subscription, which must be there.
    fn sub(&self) -> Result<SubscriptionId, ClientFrameError> {
        self.sub.ok_or_else(|| self.missing("sub"))
    }

    /// The conversation, which must be there and have a valid name.
    fn conversation(&self) -> Result<ConversationId, ClientFrameError> {
        let name = self.conv.as_ref().ok_or_else(|| self.missing("conv"))?;
        ConversationId::parse(name).map_err(|error| ClientFrameError::Conversation {
            sub: self.sub,
            id: self.id,
            error,
        })
    }

    /// What a `sub` asks for: the lens, how seldom it wants frames, at most every [`MIN_INTERVAL_MS_MAX`], and how
    /// much of the newest part.
    fn wish(&mut self) -> Result<SubscriptionOptions, ClientFrameError> {
        let sub = self.sub;
        let wrong = |error: &dyn std::fmt::Display| ClientFrameError::Wish { sub, why: error.to_string() };
        let level = self.level.as_deref().map(str::parse).transpose();
        let kinds = self.kinds.take().map(|words| Kinds::of(words.iter().map(CompactString::as_str)));
        let lens = Lens {
            level: level.map_err(|error| wrong(&error))?.unwrap_or_default(),
            agents: self.agents.take(),
            kinds: kinds.transpose().map_err(|error| wrong(&error))?,
            window: None,
        };
        let ms = u16::try_from(self.min_interval_ms).ok().filter(|ms| *ms <= MIN_INTERVAL_MS_MAX);
        let min_interval_ms =
            ms.ok_or_else(|| wrong(&format!("min_interval_ms is at most {MIN_INTERVAL_MS_MAX}")))?;
        Ok(SubscriptionOptions { lens, min_interval_ms, newest: self.newest, window: self.window.take() })
    }

    /// A command with its conversation. Each error names the command, as far as its id can be read, so that
    /// the answer finds who waits for it.
    fn command(self) -> Result<ClientFrame, ClientFrameError> {
        let raw = self.command.ok_or_else(|| self.missing("command"))?.get();
        let command: Command = serde_json::from_str(raw).map_err(|error| ClientFrameError::Command {
            id: id_of(raw),
            code: ErrorCode::BadRequest,
            why: format!("no command: {error}"),
        })?;
        let conv = self.conversation().map_err(|error| ClientFrameError::Command {
            id: command.id.clone(),
            code: error.code(),
            why: error.to_string(),
        })?;
        Ok(ClientFrame::Command { conv, command })
    }

    /// The events of a `pub`. With `pfirst` the events are numbered one by one, and there must be as many
    /// numbers as events; without it the frame has one number.
    fn publication(mut self) -> Result<Pub, ClientFrameError> {
        let id = self.id.unwrap_or(0);
        let conv = self.conversation()?;
        if self.events.len() > EVENTS_PER_PUBLISH_MAX {
            return Err(ClientFrameError::TooManyEvents { id, count: self.events.len() });
        }
        let (first, last, count) = (self.pfirst, self.pseq, self.events.len());
        if first > 0 && !are_numbered(first, last, count) {
            return Err(ClientFrameError::Numbering { id, first, last, count });
        }
        let events = self.events.iter().enumerate();
        let events = events.map(|(index, raw)| {
            Envelope::received(raw.get()).map_err(|error| ClientFrameError::Event { id, index, error })
        });
        let events = events.collect::<Result<_, _>>()?;
        let (pepoch, durability) = (self.pepoch, self.durability);
        Ok(Pub { id, conv, pid: self.pid.take(), pepoch, pfirst: first, pseq: last, durability, events })
    }
}

/// The id of a command that cannot be read otherwise; empty where it has none.
fn id_of(raw: &str) -> CompactString {
    #[derive(Deserialize)]
    struct SubscriptionName {
        id: CompactString,
    }
    serde_json::from_str(raw).map_or_else(|_| CompactString::default(), |named: SubscriptionName| named.id)
}

/// Why a text is no frame of a hub.
#[derive(Debug, thiserror::Error)]
pub enum ServerFrameError {
    /// The text is not a JSON object, or a field has the wrong type.
    #[error("not a valid frame: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is missing.
    #[error("the frame lacks the field {0:?}")]
    Missing(&'static str),
    /// An event is none.
    #[error("event {index} of the frame: {error}")]
    Event {
        /// The index of the event in the frame, from 0.
        index: usize,
        /// What is wrong with it.
        error: EventError,
    },
}

/// All fields of all frames of hubs.
#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of some frame, none is a state")]
struct WireServerFrame<'a> {
    #[serde(borrow)]
    t: Cow<'a, str>,
    sub: Option<SubscriptionId>,
    epoch: Option<Epoch>,
    mode: Option<SubMode>,
    why: Option<SnapshotReason>,
    head: Option<Seq>,
    seq: Option<Seq>,
    #[serde(borrow)]
    state: Option<&'a RawValue>,
    from: Option<Seq>,
    to: Option<Seq>,
    ts: Option<u64>,
    #[serde(borrow, default)]
    ev: Vec<&'a RawValue>,
    #[serde(default)]
    full: bool,
    #[serde(default)]
    more: bool,
    #[serde(default)]
    behind_events: u64,
    #[serde(default)]
    behind_ms: u64,
    #[serde(default)]
    viewers: u64,
    #[serde(default)]
    names: Vec<CompactString>,
    #[serde(default)]
    total: u64,
    #[serde(default)]
    rows: Vec<ConversationRow>,
    #[serde(default)]
    gone: Vec<ConversationId>,
    #[serde(default)]
    heads: BTreeMap<SubscriptionId, (Epoch, Seq)>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
    #[serde(default)]
    reconnect: bool,
    #[serde(default)]
    retry_ms: u64,
    reason: Option<CompactString>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    events: u64,
    #[serde(default)]
    duplicate: bool,
    durability: Option<Durability>,
    message: Option<String>,
    expected: Option<u64>,
    version: Option<CompactString>,
    session: Option<CompactString>,
    hb_ms: Option<u64>,
    log: Option<LogHealth>,
    since: Option<u64>,
    detail: Option<String>,
    limits: Option<Limits>,
    #[serde(default)]
    silence: SilenceThresholds,
    #[serde(default)]
    features: Vec<CompactString>,
}

/// The frame of a hub that `text` holds. `read_view` reads the JSON of a snapshot's view, which the page has in a module of its own.
pub fn parse_server_with(
    text: &str,
    read_view: impl FnOnce(&str) -> Result<Box<View>, serde_json::Error>,
) -> Result<ServerFrame, ServerFrameError> {
    let wire: WireServerFrame<'_> = serde_json::from_str(text)?;
    match &*wire.t {
        "batch" => wire.batch(),
        "done" => Ok(ServerFrame::Done(serde_json::from_str(text)?)),
        "refused" => refused(text),
        "snap" => Ok(ServerFrame::Snap {
            sub: need(wire.sub, "sub")?,
            epoch: need(wire.epoch, "epoch")?,
            seq: need(wire.seq, "seq")?,
            more: wire.more,
            state: read_view(need(wire.state, "state")?.get())?,
        }),
        "subbed" => Ok(ServerFrame::Subbed {
            sub: need(wire.sub, "sub")?,
            epoch: need(wire.epoch, "epoch")?,
            mode: need(wire.mode, "mode")?,
            why: wire.why,
            head: need(wire.head, "head")?,
        }),
        "live" => Ok(ServerFrame::Live { sub: need(wire.sub, "sub")?, seq: need(wire.seq, "seq")? }),
        "fleet" => Ok(ServerFrame::Fleet {
            sub: need(wire.sub, "sub")?,
            full: wire.full,
            rows: wire.rows,
            gone: wire.gone,
            total: wire.total,
            ts: wire.ts.unwrap_or(0),
        }),
        "lag" => Ok(ServerFrame::Lag {
            sub: need(wire.sub, "sub")?,
            state: serde_json::from_str(need(wire.state, "state")?.get())?,
            behind_events: wire.behind_events,
            behind_ms: wire.behind_ms,
        }),
        "presence" => {
            let (sub, viewers, names) = (need(wire.sub, "sub")?, wire.viewers, wire.names);
            Ok(ServerFrame::Presence { sub, viewers, names })
        }
        "hb" => Ok(ServerFrame::Hb { ts: wire.ts.unwrap_or(0), heads: wire.heads }),
        "health" => {
            let (log, since, detail) = (need(wire.log, "log")?, wire.since, wire.detail);
            Ok(ServerFrame::Health { log, since, detail })
        }
        "welcome" | "bye" | "ack" | "error" => wire.control(),
        _ => Ok(ServerFrame::Unknown),
    }
}

/// The refusal of a command. It is read by itself: its id is a text, that of other frames a number.
fn refused(text: &str) -> Result<ServerFrame, ServerFrameError> {
    #[derive(Deserialize)]
    struct RefusedCommand {
        id: CompactString,
        code: ErrorCode,
        message: String,
    }
    let RefusedCommand { id, code, message } = serde_json::from_str(text)?;
    Ok(ServerFrame::Refused { id, code, message })
}

/// The value of a field that must be there.
fn need<T>(field: Option<T>, name: &'static str) -> Result<T, ServerFrameError> {
    field.ok_or(ServerFrameError::Missing(name))
}

impl WireServerFrame<'_> {
    /// A stretch of events: those from `from` to `to`, of which a lens or conflation may have left some out.
    fn batch(self) -> Result<ServerFrame, ServerFrameError> {
        let ev = self.ev.iter().enumerate();
        let ev = ev.map(|(index, raw)| {
            Envelope::parse(raw.get()).map_err(|error| ServerFrameError::Event { index, error })
        });
        Ok(ServerFrame::Batch {
            sub: need(self.sub, "sub")?,
            from: need(self.from, "from")?,
            to: need(self.to, "to")?,
            ts: self.ts.unwrap_or(0),
            ev: ev.collect::<Result<_, _>>()?,
        })
    }

    /// The frames about the socket itself.
    fn control(self) -> Result<ServerFrame, ServerFrameError> {
        Ok(match &*self.t {
            "welcome" => ServerFrame::Welcome(Welcome {
                version: need(self.version, "version")?,
                session: self.session.unwrap_or_default(),
                ts: self.ts.unwrap_or(0),
                hb_ms: need(self.hb_ms, "hb_ms")?,
                limits: self.limits.unwrap_or_default(),
                features: self.features,
                silence: self.silence,
            }),
            "bye" => ServerFrame::Bye {
                code: serde_json::from_str(need(self.code, "code")?.get())?,
                reconnect: self.reconnect,
                retry_ms: self.retry_ms,
                reason: self.reason.unwrap_or_default(),
            },
            "ack" => ServerFrame::Ack(Ack {
                id: serde_json::from_str(need(self.id, "id")?.get())?,
                epoch: need(self.epoch, "epoch")?,
                seq: need(self.seq, "seq")?,
                events: self.events,
                duplicate: self.duplicate,
                durability: need(self.durability, "durability")?,
            }),
            _ => ServerFrame::Error {
                sub: self.sub,
                id: self.id.map(|id| serde_json::from_str(id.get())).transpose()?,
                code: serde_json::from_str(need(self.code, "code")?.get())?,
                message: self.message.unwrap_or_default(),
                expected: self.expected,
            },
        })
    }
}
