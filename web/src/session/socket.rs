//! The browser's WebSocket; nothing else uses it.

use model::frame::SUBPROTOCOL;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{CloseEvent, Event, MessageEvent, WebSocket};

use crate::browser;

/// An event of a socket.
pub(super) enum SocketEvent {
    /// The socket was opened.
    Open,
    /// A text frame arrived.
    Text(String),
    /// The socket was closed, or could not be opened.
    Closed {
        /// The close code of the socket.
        code: u16,
        /// The reason in the close frame; may be empty.
        reason: String,
    },
}

/// A socket. Dropping it closes it, and its events are no longer reported. The closures are kept as long as
/// it, since the browser calls them.
pub(super) struct Socket {
    inner: WebSocket,
    _open: Closure<dyn FnMut(Event)>,
    _message: Closure<dyn FnMut(MessageEvent)>,
    _close: Closure<dyn FnMut(CloseEvent)>,
}

impl Socket {
    /// Opens a socket to the hub from which the page was loaded. `None` if the browser refuses.
    pub(super) fn open(hear: impl Fn(SocketEvent) + Clone + 'static) -> Option<Self> {
        let url = browser::origin().replacen("http", "ws", 1);
        let socket = WebSocket::new_with_str(&format!("{url}/v1/ws"), SUBPROTOCOL).ok()?;
        let on_open = hear.clone();
        let open = Closure::new(move |_: Event| on_open(SocketEvent::Open));
        let on_message = hear.clone();
        let message = Closure::new(move |event: MessageEvent| {
            if let Some(text) = event.data().as_string() {
                on_message(SocketEvent::Text(text));
            }
        });
        let close = Closure::new(move |event: CloseEvent| {
            hear(SocketEvent::Closed { code: event.code(), reason: event.reason() });
        });
        socket.set_onopen(Some(open.as_ref().unchecked_ref()));
        socket.set_onmessage(Some(message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(close.as_ref().unchecked_ref()));
        Some(Self { inner: socket, _open: open, _message: message, _close: close })
    }

    /// Sends a frame. A frame that cannot be sent is lost with the socket, whose end is reported with
    /// [`SocketEvent::Closed`].
    pub(super) fn send(&self, text: &str) {
        drop(self.inner.send_with_str(text));
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.inner.set_onopen(None);
        self.inner.set_onmessage(None);
        self.inner.set_onclose(None);
        drop(self.inner.close());
    }
}
