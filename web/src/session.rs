//! The session with the hub: one socket for the page, opened again when it is lost. Every frame is passed to
//! the store.

use std::cell::RefCell;
use std::rc::Rc;

use model::frame::{ClientFrame, ServerFrame, VERSION, parse_server};
use web_sys::Event;

use crate::browser;
use crate::link::{Act, Input, Link, Status};
use crate::store::Store;
use leptos::prelude::WithUntracked as _;

mod socket;

use socket::{Socket, Word};

/// How often the connection's state machine is given the time, in milliseconds.
const TICK_MS: i32 = 250;

/// How often the round-trip time is measured, in milliseconds.
const MEASURE_MS: i32 = 10_000;

/// The owner of the socket.
pub(crate) struct Session {
    link: Link,
    socket: Option<Socket>,
    /// The number of the newest socket; events of older ones are ignored.
    serial: u32,
    store: Store,
    /// Whether the page needs the list of conversations.
    with_fleet: bool,
}

/// The session, shared by its listeners.
type Shared = Rc<RefCell<Session>>;

/// Connects, and stays connected for as long as the page is open.
pub(crate) fn start(store: Store, with_fleet: bool) {
    let session =
        Rc::new(RefCell::new(Session { link: Link::default(), socket: None, serial: 0, store, with_fleet }));
    let sending = Rc::clone(&session);
    let waking = Rc::clone(&session);
    store.link.connect_to(move |frame| sending.borrow().send(&frame), move || step(&waking, Input::Wake));
    let hears = |name: &'static str, input: Input| {
        let session = Rc::clone(&session);
        browser::listen(&browser::window(), name, move |_: Event| step(&session, input.clone()));
    };
    hears("online", Input::Wake);
    hears("focus", Input::Wake);
    if !is_local() {
        hears("offline", Input::Offline);
    }
    let seen = Rc::clone(&session);
    browser::listen(&browser::document(), "visibilitychange", move |_: Event| {
        if !browser::document().hidden() {
            step(&seen, Input::Wake);
        }
    });
    step(&session, Input::Start);
    browser::every(TICK_MS, move || step(&session, Input::Tick));
    browser::after(MEASURE_MS / 10, move || measure(store));
    browser::every(MEASURE_MS, move || measure(store));
}

/// Measures the round-trip time while the page is visible. A page cannot send WebSocket pings, so it makes a
/// request.
fn measure(store: Store) {
    if store.link.status.with_untracked(|status| *status != Status::Up) || browser::document().hidden() {
        return;
    }
    leptos::task::spawn_local(async move {
        let from = browser::now_ms();
        let is_there = browser::fetch_text("/healthz").await.is_ok();
        store.link.measured(from, is_there);
    });
}

/// Whether the hub is on the same machine, so that it needs no network.
fn is_local() -> bool {
    let host = browser::window().location().hostname().unwrap_or_default();
    matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]")
}

/// Passes an input to the connection's state machine, and does what it returns.
fn step(session: &Shared, input: Input) {
    let mut it = session.borrow_mut();
    let now = browser::now_ms();
    if matches!(input, Input::Closed { .. }) {
        it.lose();
    }
    match it.link.step(input, now, browser::random()) {
        Act::Rest => {}
        Act::Connect => {
            it.lose();
            it.serial = it.serial.wrapping_add(1);
            let serial = it.serial;
            let heard = Rc::clone(session);
            it.socket = Socket::open(move |word| hear(&heard, serial, word));
        }
        Act::Hello => {
            // The cookie identifies the reader.
            let (versions, client) = (vec![VERSION.into()], Some("page".into()));
            let hello = ClientFrame::Hello { versions, client, token: None };
            it.send(&hello);
        }
        Act::Subscribe => {
            for frame in it.store.subscriptions(it.with_fleet) {
                it.send(&frame);
            }
        }
        Act::Drop => it.lose(),
    }
    let status = it.link.status(now);
    let store = it.store;
    drop(it);
    store.link.set_status(status);
}

/// Handles an event of the socket with the number `serial`.
fn hear(session: &Shared, serial: u32, word: Word) {
    if session.borrow().serial != serial {
        return;
    }
    match word {
        Word::Open => step(session, Input::Opened),
        Word::Closed { code, reason } => step(session, Input::Closed { code, reason }),
        Word::Text(text) => match parse_server(&text) {
            Ok(frame) => take(session, frame),
            Err(error) => {
                web_sys::console::warn_1(&format!("a frame of the hub cannot be read: {error}").into());
            }
        },
    }
}

/// Passes a frame to the store and to the state machine, and sends the answer.
fn take(session: &Shared, frame: ServerFrame) {
    let input = match &frame {
        ServerFrame::Welcome(welcome) => Input::Welcomed { hb_ms: welcome.hb_ms },
        ServerFrame::Bye { reconnect, retry_ms, reason, .. } => {
            Input::Bye { reconnect: *reconnect, retry_ms: *retry_ms, reason: reason.to_string() }
        }
        _ => Input::Heard,
    };
    let store = session.borrow().store;
    let answer = store.take(frame);
    if input == Input::Heard {
        // The common case: the status does not change.
        session.borrow_mut().link.step(input, browser::now_ms(), 0);
    } else {
        step(session, input);
    }
    if let Some(answer) = answer {
        session.borrow().send(&answer);
    }
}

impl Session {
    /// Sends a frame, if the session is open; a hello also before.
    fn send(&self, frame: &ClientFrame) {
        let is_hello = matches!(frame, ClientFrame::Hello { .. });
        if let Some(socket) = self.socket.as_ref().filter(|_| is_hello || self.link.is_up()) {
            socket.send(&serde_json::to_string(frame).unwrap_or_default());
        }
    }

    /// Drops the socket.
    fn lose(&mut self) {
        self.socket = None;
        self.store.disconnected();
    }
}
