//! The store of the connection: the way to the session, the status, and what the hub reported about itself
//! and the viewers.
//!
//! It is written by the session (status, way, round trip) and by [`super::Store`], which routes frames to it
//! (log, viewers, mark). It does not know conversations, panels, commands and replays. The rules are in
//! [`crate::link`], which does not use the browser.

use leptos::prelude::*;
use model::frame::{ClientFrame, LogHealth, ServerFrame};

use crate::browser;
use crate::link::{Status, is_still_told, log_after, round_trip};

/// How long the notice of a reconnection is shown, in milliseconds.
const MARK_MS: i32 = 10_000;

/// A handle; all copies refer to the same store, which lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct LinkStore {
    /// How the session is reached; `None` in the store of a conversation beside another, which has none.
    ports: StoredValue<Option<Ports>, LocalStorage>,
    /// The status of the connection.
    pub(crate) status: RwSignal<Status>,
    /// Why the hub's log cannot write, and since when, in milliseconds since 1970; `None` while it writes.
    pub(crate) log: RwSignal<Option<(LogHealth, u64)>>,
    /// The notice of a reconnection, while it is shown: how many events were missed, or that the history was
    /// reloaded.
    pub(crate) mark: RwSignal<Option<String>>,
    /// The number of viewers of the conversation, as reported last.
    pub(crate) viewers: RwSignal<u64>,
    /// Their names, each once and in order; empty where the hub does not tell them.
    pub(crate) viewer_names: RwSignal<Vec<String>>,
    /// The round-trip time to the hub, in milliseconds; `None` until it was measured, and if the last
    /// measurement failed.
    pub(crate) rtt_ms: RwSignal<Option<u64>>,
}

/// The functions of the session, which components do not see.
struct Ports {
    send: Box<dyn Fn(ClientFrame)>,
    wake: Box<dyn Fn()>,
}

impl LinkStore {
    /// A store without a session.
    pub(super) fn new() -> Self {
        Self {
            ports: StoredValue::new_local(None),
            status: RwSignal::new(Status::Connecting),
            log: RwSignal::new(None),
            mark: RwSignal::new(None),
            viewers: RwSignal::new(0),
            viewer_names: RwSignal::new(Vec::new()),
            rtt_ms: RwSignal::new(None),
        }
    }

    /// Sets the functions of the session: one that sends a frame, and one that wakes the connection.
    pub(crate) fn connect_to(self, send: impl Fn(ClientFrame) + 'static, wake: impl Fn() + 'static) {
        self.ports.set_value(Some(Ports { send: Box::new(send), wake: Box::new(wake) }));
    }

    /// Sends frames. Without a session they are dropped.
    pub(super) fn send(self, frames: Vec<ClientFrame>) {
        self.ports.with_value(|ports| {
            if let Some(ports) = ports {
                frames.into_iter().for_each(&ports.send);
            }
        });
    }

    /// Connects now instead of waiting.
    pub(crate) fn retry_now(self) {
        self.ports.with_value(|ports| {
            if let Some(ports) = ports {
                (ports.wake)();
            }
        });
    }

    /// Sets the status of the connection.
    pub(crate) fn set_status(self, status: Status) {
        if self.status.with_untracked(|known| *known != status) {
            self.status.set(status);
        }
    }

    /// Whether the page is connected, so that commands arrive. Tracks that.
    pub(crate) fn is_up(self) -> bool {
        self.status.with(|status| *status == Status::Up)
    }

    /// Notes a request that measured the round trip: it began at `asked_ms`.
    pub(crate) fn measured(self, asked_ms: u64, is_answered: bool) {
        self.rtt_ms.set(round_trip(asked_ms, browser::now_ms(), is_answered));
    }

    /// Takes what a frame reports about the hub's log.
    pub(super) fn hear(self, frame: &ServerFrame) {
        let known = self.log.get_untracked();
        let failing = log_after(known, frame, browser::now_ms());
        if known != failing {
            self.log.set(failing);
        }
    }

    /// Shows the notice of a reconnection for a while.
    pub(super) fn tell_mark(self, words: String) {
        self.mark.set(Some(words.clone()));
        browser::after(MARK_MS, move || {
            if self.mark.with_untracked(|told| is_still_told(told.as_deref(), &words)) {
                self.mark.set(None);
            }
        });
    }
}
