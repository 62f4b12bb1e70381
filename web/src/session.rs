//! The session: one socket for the page, opened again when it is lost, and every frame handed to whoever listens: the store of
//! the conversations' page, or the rows of the operator's pages.
//!
//! ```text
//! window: online, focus, visible, a timer          Listener (a Copy handle)
//!                              │ Input                  ▲ frames, status
//!                              ▼                        │
//! Socket ── SocketEvent ──▶  step ──▶ Link (state machine, without browser)
//!   ▲                          │ Act
//!   └───── Connect, Drop ──────┴─ Hello, Subscribe ──▶ send
//! ```
//!
//! [`Link`] decides when to connect, when a silent socket counts as lost, and how long to wait before the
//! next attempt. A subscription resumes from the last position that the listener has, so that nothing is
//! missing after a lost connection (I2).

use std::cell::RefCell;
use std::rc::Rc;

use model::frame::{ClientFrame, VERSION};
use web_sys::Event;

use crate::browser;
use crate::link::{Act, Input, Link, Status};

pub(crate) mod page;
mod socket;

use socket::{Socket, SocketEvent};

/// Whoever is told what the hub says: a handle of the page's state. The session calls it, never the other way
/// round, except through the two functions of [`connect_to`](Self::connect_to).
pub(crate) trait Listener: Copy + 'static {
    /// Is given the ways to the session: to send a frame, and to try to connect now.
    fn connect_to(self, send: impl Fn(ClientFrame) + 'static, wake: impl Fn() + 'static);

    /// The frames to send on a new socket, once the hub has welcomed the page.
    fn subscriptions(self) -> Vec<ClientFrame>;

    /// Takes a frame as it came: what it means for the link, and the answer to send. `None` if it cannot be
    /// read; it is then left out.
    fn hear(self, text: &str) -> Option<(Input, Option<ClientFrame>)>;

    /// Notes that the socket is gone, or is about to be replaced.
    fn disconnected(self);

    /// Is given the state of the connection after each input, whether it changed or not.
    fn set_status(self, status: Status);
}

/// How often the connection's state machine is given the time, in milliseconds.
const TICK_MS: i32 = 250;

/// The owner of the socket. It lives as long as the page.
pub(crate) struct Session<L> {
    /// The state machine of the connection.
    link: Link,
    /// The socket; `None` while there is none.
    socket: Option<Socket>,
    /// The number of the newest socket; events of older ones are ignored.
    serial: u32,
    /// The listener, which is told what happens.
    listener: L,
}

/// The session, shared by its listeners.
type Shared<L> = Rc<RefCell<Session<L>>>;

/// Connects, and stays connected for as long as the page is open.
pub(crate) fn start<L: Listener>(listener: L) {
    let session = Rc::new(RefCell::new(Session { link: Link::default(), socket: None, serial: 0, listener }));
    let sending = Rc::clone(&session);
    let waking = Rc::clone(&session);
    listener.connect_to(move |frame| sending.borrow().send(&frame), move || step(&waking, Input::Wake));
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
}

/// Whether the hub is on the same machine, so that it needs no network.
fn is_local() -> bool {
    let host = browser::window().location().hostname().unwrap_or_default();
    matches!(host.as_str(), "localhost" | "127.0.0.1" | "[::1]")
}

/// Passes an input to the connection's state machine, and does what it returns. The listener is told the
/// status after the session is free again, so that it may send.
fn step<L: Listener>(session: &Shared<L>, input: Input) {
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
            for frame in it.listener.subscriptions() {
                it.send(&frame);
            }
        }
        Act::Drop => it.lose(),
    }
    let status = it.link.status(now);
    let listener = it.listener;
    drop(it);
    listener.set_status(status);
}

/// Handles an event of the socket with the number `serial`. Events of an older socket are ignored.
fn hear<L: Listener>(session: &Shared<L>, serial: u32, word: SocketEvent) {
    if session.borrow().serial != serial {
        return;
    }
    match word {
        SocketEvent::Open => step(session, Input::Opened),
        SocketEvent::Closed { code, reason } => step(session, Input::Closed { code, reason }),
        SocketEvent::Text(text) => take(session, &text),
    }
}

/// Passes a frame to the listener and to the state machine, and sends the answer.
fn take<L: Listener>(session: &Shared<L>, text: &str) {
    let listener = session.borrow().listener;
    let Some((input, answer)) = listener.hear(text) else { return };
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

impl<L: Listener> Session<L> {
    /// Sends a frame, if the session is open; a hello also before.
    fn send(&self, frame: &ClientFrame) {
        let is_hello = matches!(frame, ClientFrame::Hello { .. });
        if let Some(socket) = self.socket.as_ref().filter(|_| is_hello || self.link.is_up()) {
            socket.send(&serde_json::to_string(frame).unwrap_or_default());
        }
    }

    /// Drops the socket, which closes it, and tells the listener.
    fn lose(&mut self) {
        self.socket = None;
        self.listener.disconnected();
    }
}
