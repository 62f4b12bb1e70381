//! Client frames: what the hub does for each.
//!
//! | frame | answer |
//! |---|---|
//! | `hello` | `welcome`, or a close; a later one renews the token |
//! | `sub` | `subbed` and what follows, or `error` |
//! | `watch` | `fleet`, now and after changes, or `error` |
//! | `unsub` | nothing |
//! | `resync` | the snapshot |
//! | `hb_ack` | nothing; a subscription that stays behind begins again |
//! | `pub` | `ack` at the durability that was asked for (I9), or `error` |
//! | `command` | `done` or `refused` |
//!
//! A frame that cannot be read is answered with an error that names the place, and the socket stays open.
//! Before `hello` it closes the socket.

use access::Admission;
use std::sync::atomic::Ordering;

use compact_str::CompactString;
use event_log::Health;
use event_log::priority::{ThreadPriority, run_at_priority_if_large};
use model::code::{CloseCode, ErrorCode};
use model::frame::{
    Ack, BearerToken, ClientFrame, Durability, Limits, LogHealth, Pub, ServerFrame, SubscriptionId, VERSION,
    Welcome, parse_client,
};
use model::limits::LARGE_BODY_BYTES;

use super::SocketKind;
use super::admission::Greeted;
use super::connection::Connection;
use crate::sharing::FEATURE;
use event_log::clock;
use hub::{FrameNumbering, Numbers, Publication, beginning};

/// The features that the hub offers beyond the core of the protocol.
const FEATURES: [&str; 5] = ["publish", "watch", "lens", "newest", "commands"];

impl Connection {
    /// Takes one text frame.
    pub(super) fn take(&mut self, text: &str) {
        self.frames = self.frames.saturating_add(1);
        // A frame of a megabyte takes milliseconds: other sockets go on meanwhile.
        let frame = run_at_priority_if_large(
            ThreadPriority::Asked,
            text.len() as u64,
            LARGE_BODY_BYTES as u64,
            || parse_client(text),
        );
        if let Ok(frame) = &frame
            && self.greeted
            && !self.may_have_taken(frame)
        {
            return;
        }
        match frame {
            Ok(ClientFrame::Hello { versions, client, token }) => {
                self.hello(&versions, client.as_deref(), token.as_ref());
            }
            _ if !self.greeted => self.close(CloseCode::BadFrame, "the first frame must be hello"),
            Ok(ClientFrame::Sub { sub, conv, have, wish }) => {
                self.subscribe(sub, &conv, have.as_ref(), &wish);
            }
            Ok(ClientFrame::Watch { sub, limit }) => self.watch(sub, limit),
            Ok(ClientFrame::Unsub { sub }) => self.unsubscribe(sub),
            Ok(ClientFrame::Resync { sub }) => self.resync(sub),
            Ok(ClientFrame::HbAck { at }) => {
                self.unanswered = 0;
                self.revive(&at);
            }
            Ok(ClientFrame::Pub(publication)) => self.publish(publication),
            Ok(ClientFrame::Command { conv, command }) => {
                if let Some(who) = &self.admission {
                    let who = (Admission::clone(who), self.beginner());
                    let commands = self.publishing.commands(&self.shared.hub);
                    commands.carry_out(&self.shared, &self.outbox, who, (conv, command));
                }
            }
            Err(error) => {
                if let Some(id) = error.command() {
                    let (id, code, message) = (id.clone(), error.code(), error.to_string());
                    return self.queue(&ServerFrame::Refused { id, code, message });
                }
                let (sub, id) = error.about();
                let (code, message) = (error.code(), error.to_string());
                self.queue(&ServerFrame::Error { sub, id, code, message, expected: None });
            }
        }
    }

    /// Answers `hello` with `welcome`, or closes the socket.
    fn hello(&mut self, versions: &[impl AsRef<str>], client: Option<&str>, token: Option<&BearerToken>) {
        if self.greeted {
            return self.renew_token(token);
        }
        if !versions.iter().any(|version| version.as_ref() == VERSION) {
            return self.close(CloseCode::NoCommonVersion, "this hub speaks version 1");
        }
        tracing::debug!(client, "hello");
        self.greet(token);
    }

    /// Lets in a client that waits for the key of its token, if the keys were looked for since it said `hello`.
    pub(super) fn greet_later(&mut self) {
        if let Some(hello) = self.unknown_key.take_if(|hello| hello.0 != self.shared.gate.changes()) {
            let (_, token) = *hello;
            if self.greeted {
                self.renew_token(Some(&token));
            } else {
                self.greet(Some(&token));
            }
        }
    }

    /// Lets a client in and welcomes it, or closes the socket, or puts that off until the key of its token was looked for.
    fn greet(&mut self, token: Option<&BearerToken>) {
        let changes = self.shared.gate.changes();
        match self.let_in(token) {
            Greeted::Yes => {}
            Greeted::No => return,
            Greeted::Later => {
                self.unknown_key = token.map(|token| Box::new((changes, token.clone())));
                return;
            }
        }
        self.greeted = true;
        self.inlet.greeted();
        self.welcome();
        self.log_turns = self.shared.log_turns.load(Ordering::Relaxed);
        let health = self.health();
        if !matches!(health, ServerFrame::Health { log: LogHealth::Well, .. }) {
            self.queue(&health);
        }
    }

    /// Takes the token of a later `hello` in place of what the client was let in by, and welcomes it again, or closes the socket, or puts
    /// that off until the key of the token was looked for. Without a token, or without access control, there is nothing to renew.
    fn renew_token(&mut self, token: Option<&BearerToken>) {
        let is_renewable = self.shared.gate.is_on() && self.kind == SocketKind::Client;
        let Some(token) = token.filter(|_| is_renewable) else {
            let why = "hello came before; another one with a token renews that of a hub with access control";
            return self.refuse(None, ErrorCode::BadRequest, why.to_owned());
        };
        let changes = self.shared.gate.changes();
        match self.let_stay(token) {
            Greeted::Yes => self.welcome(),
            Greeted::No => {}
            Greeted::Later => self.unknown_key = Some(Box::new((changes, token.clone()))),
        }
    }

    /// Tells the client that it is let in.
    fn welcome(&self) {
        let session = clock::fresh_name();
        tracing::debug!(%session, "welcome");
        self.queue(&ServerFrame::Welcome(Welcome {
            version: VERSION.into(),
            session,
            ts: clock::now_ms(),
            hb_ms: u64::try_from(self.shared.config.heartbeat.as_millis()).unwrap_or(u64::MAX),
            limits: Limits::default(),
            features: self.features(),
            silence: self.shared.config.silence,
        }));
    }

    /// What the hub offers to this client.
    fn features(&self) -> Vec<CompactString> {
        let of_hubs = (self.kind == SocketKind::Hub).then_some(FEATURE);
        FEATURES.into_iter().chain(of_hubs).map(Into::into).collect()
    }

    /// Tells the client that the log has stopped or resumed writing, if it does not know.
    pub(super) fn tell_health(&mut self) {
        let turns = self.shared.log_turns.load(Ordering::Relaxed);
        if turns != self.log_turns && self.greeted {
            self.log_turns = turns;
            self.queue(&self.health());
        }
    }

    /// The present health of the log.
    fn health(&self) -> ServerFrame {
        match &self.shared.hub.log().progress().borrow().health {
            Health::Well => ServerFrame::Health { log: LogHealth::Well, since: None, detail: None },
            Health::Failing(fault) => {
                let is_full = fault.code == "disk_full";
                let log = if is_full { LogHealth::DiskFull } else { LogHealth::DiskFailing };
                let detail = Some(fault.what.to_string());
                ServerFrame::Health { log, since: Some(fault.since), detail }
            }
        }
    }

    /// Queues an error that tells the client what was refused.
    pub(super) fn refuse(&self, sub: Option<SubscriptionId>, code: ErrorCode, message: String) {
        self.queue(&ServerFrame::Error { sub, id: None, code, message, expected: None });
    }

    /// Publishes the events of a frame, or passes it on to the hub that has the conversation. A socket that
    /// is lost leaves its runs as they are, because their publisher may come back on another one;
    /// `hub::orphans` deals with those that do not.
    fn publish(&mut self, frame: Pub) {
        if !self.may_publish(frame.id) {
            return;
        }
        if self.shared.peers.is_some() && self.kind == SocketKind::Client {
            let found = self.shared.hub.in_memory(&frame.conv);
            // A frame must not overtake one that waits.
            if self.publishing.is_queued() || found.is_none_or(|found| found.is_followed()) {
                let (ownership, hub) = (&self.shared.ownership, &self.shared.hub);
                return self.publishing.pass(ownership, &self.outbox, hub, frame);
            }
        }
        self.publish_here(frame);
    }

    /// Publishes the events of a frame to a conversation of this hub. The ack is queued at once for `memory`,
    /// otherwise when the log has come so far. Viewers are woken after the whole turn of reading.
    pub(super) fn publish_here(&mut self, frame: Pub) {
        let id = frame.id;
        let numbers = Numbers::of(frame.pfirst, frame.pseq);
        let numbering = frame.pid.map(|publisher| FrameNumbering { publisher, epoch: frame.pepoch, numbers });
        let offered = self.shared.hub.log().durability();
        let level = frame.durability.unwrap_or(offered.min(Durability::Stored));
        if level > offered {
            let (code, offered) = (ErrorCode::DurabilityUnavailable, offered.as_str());
            let message = format!("the log of this hub offers {offered} at most");
            return self.queue(&ServerFrame::Error {
                sub: None,
                id: Some(id),
                code,
                message,
                expected: None,
            });
        }
        let speaker = self.publishing.speaks_in(&self.shared.hub, &frame.conv);
        let publication = Publication { numbering, level, speaker, ..Publication::of(frame.events) };
        let rule = self.beginner_of(&frame.conv);
        let published = beginning::under_now(rule, || self.shared.hub.publish(&frame.conv, publication));
        match published {
            Ok(appended) => {
                self.publishing.published_to(&self.shared.hub, frame.conv);
                let ack = Ack {
                    id,
                    epoch: appended.position.epoch.clone(),
                    seq: appended.position.seq,
                    events: appended.events,
                    duplicate: appended.duplicate,
                    durability: level,
                };
                if level == Durability::Memory {
                    self.queue(&ServerFrame::Ack(ack));
                } else {
                    self.publishing.owe(&self.shared.hub, appended, ack);
                }
            }
            Err(error) => {
                let (code, expected, message) = (error.code(), error.expected(), error.to_string());
                self.queue(&ServerFrame::Error { sub: None, id: Some(id), code, message, expected });
            }
        }
    }
}
