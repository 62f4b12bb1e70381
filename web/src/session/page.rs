//! The page of the conversations as the session's listener, and the time that the way to the hub takes.

use leptos::prelude::WithUntracked as _;
use model::frame::{ClientFrame, ServerFrame, parse_server_with};

use super::Listener;
use crate::browser;
use crate::link::{Input, Status};
use crate::modules;
use crate::store::Store;

/// How often the way to the hub and back is measured, in milliseconds.
const MEASURE_MS: i32 = 10_000;

/// The store as the session's listener, and what it asks for.
#[derive(Clone, Copy)]
pub(crate) struct PageListener {
    /// The store that takes the frames.
    pub(crate) store: Store,
    /// Whether the page shows the list of conversations; the bare page does not subscribe to it.
    pub(crate) with_fleet: bool,
}

impl Listener for PageListener {
    fn connect_to(self, send: impl Fn(ClientFrame) + 'static, wake: impl Fn() + 'static) {
        self.store.link.connect_to(send, wake);
    }

    fn subscriptions(self) -> Vec<ClientFrame> {
        self.store.subscriptions(self.with_fleet)
    }

    fn hear(self, text: &str) -> Option<(Input, Option<ClientFrame>)> {
        let frame = match parse_server_with(text, modules::read_view) {
            Ok(frame) => frame,
            Err(error) => {
                web_sys::console::warn_1(&format!("a frame of the hub cannot be read: {error}").into());
                return None;
            }
        };
        let input = match &frame {
            ServerFrame::Welcome(welcome) => Input::Welcomed { hb_ms: welcome.hb_ms },
            ServerFrame::Bye { reconnect, retry_ms, reason, .. } => {
                Input::Bye { reconnect: *reconnect, retry_ms: *retry_ms, reason: reason.to_string() }
            }
            _ => Input::Heard,
        };
        Some((input, self.store.take(frame)))
    }

    fn disconnected(self) {
        self.store.disconnected();
    }

    fn set_status(self, status: Status) {
        self.store.link.set_status(status);
    }
}

/// Measures the way to the hub and back from now on, by requests to `/healthz`, while the page is connected
/// and visible. Sockets have no pings that a page may send.
pub(crate) fn measure(store: Store) {
    browser::after(MEASURE_MS / 10, move || measure_once(store));
    browser::every(MEASURE_MS, move || measure_once(store));
}

/// Measures once; a request that fails makes the time unknown.
fn measure_once(store: Store) {
    if store.link.status.with_untracked(|status| *status != Status::Up) || browser::document().hidden() {
        return;
    }
    leptos::task::spawn_local(async move {
        let from = browser::now_ms();
        let is_there = browser::fetch_text("/healthz").await.is_ok();
        store.link.measured(from, is_there);
    });
}
