//! The store of the link: the ways to the session, how the socket stands, and what the hub said of itself and of the watchers.
//!
//! Written by the session (status, ways, round trip) and by whoever routes frames (log, watchers, mark). It knows nothing of
//! conversations, panels, commands and replays; what it decides is in [`crate::link`], without a browser.

use leptos::prelude::*;
use model::frame::{ClientFrame, LogHealth, ServerFrame};

use crate::browser;
use crate::link::{Status, is_still_told, log_after, round_trip};

/// How long the page says that the link came back, in milliseconds.
const MARK_MS: i32 = 10_000;

/// A handle; copies are the same store.
#[derive(Clone, Copy)]
pub(crate) struct LinkStore {
    ports: StoredValue<Option<Ports>, LocalStorage>,
    /// How the link stands.
    pub(crate) status: RwSignal<Status>,
    /// Why the hub's log cannot write, and since when.
    pub(crate) log: RwSignal<Option<(LogHealth, u64)>>,
    /// What is told of the link's return.
    pub(crate) mark: RwSignal<Option<String>>,
    /// How many watch the conversation, as the hub last said.
    pub(crate) viewers: RwSignal<u64>,
    /// From a request to its answer, in milliseconds.
    pub(crate) rtt_ms: RwSignal<Option<u64>>,
}

/// The ways to the session, which components do not see.
struct Ports {
    send: Box<dyn Fn(ClientFrame)>,
    wake: Box<dyn Fn()>,
}

impl LinkStore {
    pub(super) fn new() -> Self {
        Self {
            ports: StoredValue::new_local(None),
            status: RwSignal::new(Status::Connecting),
            log: RwSignal::new(None),
            mark: RwSignal::new(None),
            viewers: RwSignal::new(0),
            rtt_ms: RwSignal::new(None),
        }
    }

    /// Names the ways to the session.
    pub(crate) fn connect_to(self, send: impl Fn(ClientFrame) + 'static, wake: impl Fn() + 'static) {
        self.ports.set_value(Some(Ports { send: Box::new(send), wake: Box::new(wake) }));
    }

    /// Sends frames; where there is no session, none.
    pub(super) fn send(self, frames: Vec<ClientFrame>) {
        self.ports.with_value(|ports| {
            if let Some(ports) = ports {
                frames.into_iter().for_each(&ports.send);
            }
        });
    }

    /// Tries to connect now.
    pub(crate) fn retry_now(self) {
        self.ports.with_value(|ports| {
            if let Some(ports) = ports {
                (ports.wake)();
            }
        });
    }

    /// Says how the link stands.
    pub(crate) fn set_status(self, status: Status) {
        if self.status.with_untracked(|known| *known != status) {
            self.status.set(status);
        }
    }

    /// Whether the hub hears what is commanded. Tracks that.
    pub(crate) fn is_up(self) -> bool {
        self.status.with(|status| *status == Status::Up)
    }

    /// The way to the hub and back was measured.
    pub(crate) fn measured(self, asked_ms: u64, is_answered: bool) {
        self.rtt_ms.set(round_trip(asked_ms, browser::now_ms(), is_answered));
    }

    /// Takes what a frame says of the hub's log.
    pub(super) fn hear(self, frame: &ServerFrame) {
        let known = self.log.get_untracked();
        let failing = log_after(known, frame, browser::now_ms());
        if known != failing {
            self.log.set(failing);
        }
    }

    /// Tells for a while that the link came back.
    pub(super) fn tell_mark(self, words: String) {
        self.mark.set(Some(words.clone()));
        browser::after(MARK_MS, move || {
            if self.mark.with_untracked(|told| is_still_told(told.as_deref(), &words)) {
                self.mark.set(None);
            }
        });
    }
}
