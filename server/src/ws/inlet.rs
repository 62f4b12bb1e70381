//! The reading end of one socket. An idle socket holds almost no buffer: reads go through one large buffer of the
//! thread, and only what is not used up at once is kept.

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use shared::limits::INBOUND_FRAME_BYTES_MAX;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig, WebSocketContext};
use tokio_tungstenite::tungstenite::{Error, error::CapacityError};

use crate::fanout::Outbox;

/// Bytes that one call of the kernel reads at most.
const READ: usize = 64 << 10;

/// What the protocol machine keeps for itself on an idle socket.
const KEPT: usize = 256;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ]);
}

/// What came.
#[derive(Debug)]
pub(super) enum Inbound {
    /// A text frame.
    Text(tokio_tungstenite::tungstenite::Utf8Bytes),
    /// Nothing for now.
    Nothing,
    /// A frame over the limit.
    TooLarge,
    /// Something that is no frame of this protocol.
    Bad(&'static str),
    /// The peer closed, or is gone.
    Closed,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Inlet {
    socket: Arc<TcpStream>,
    context: WebSocketContext,
    ahead: Ahead,
}

/// Bytes that were read and not used yet.
#[derive(Debug, Default)]
struct Ahead {
    bytes: Vec<u8>,
    used: usize,
}

impl Inlet {
    /// Of `socket`. Begins with `first`, which came with the upgrade.
    pub(super) fn new(socket: Arc<TcpStream>, first: &[u8]) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(KEPT)
            .write_buffer_size(0)
            .max_message_size(Some(INBOUND_FRAME_BYTES_MAX))
            .max_frame_size(Some(INBOUND_FRAME_BYTES_MAX));
        let context = WebSocketContext::new(Role::Server, Some(config));
        Self { socket, context, ahead: Ahead { bytes: first.to_vec(), used: 0 } }
    }

    /// Whether bytes wait here that the kernel does not know of any more.
    pub(super) fn has_ahead(&self) -> bool {
        !self.ahead.bytes.is_empty()
    }

    /// Throws away what comes, for a peer whose frames cannot be read any more. True once it has closed.
    pub(super) fn discard(&mut self) -> bool {
        self.ahead = Ahead::default();
        SCRATCH.with_borrow_mut(|scratch| {
            loop {
                match self.socket.try_read(scratch) {
                    Ok(0) => return true,
                    Ok(_) => {}
                    Err(error) => return error.kind() != ErrorKind::WouldBlock,
                }
            }
        })
    }

    /// The next text frame, as far as it is there. Answers to pings and closes are queued in `outbox`.
    pub(super) fn next(&mut self, outbox: &Outbox) -> Inbound {
        loop {
            let mut half = Half { socket: &self.socket, outbox, ahead: &mut self.ahead };
            match self.context.read(&mut half) {
                Ok(Message::Text(text)) => return Inbound::Text(text),
                Ok(Message::Binary(_)) => return Inbound::Bad("binary frames are not spoken here"),
                // A close is answered by the next read, which then says that all is over.
                Ok(_) => {}
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Inbound::Nothing,
                Err(Error::Capacity(CapacityError::MessageTooLong { .. })) => return Inbound::TooLarge,
                Err(Error::Protocol(_)) => return Inbound::Bad("not a WebSocket frame"),
                Err(Error::Utf8(_)) => return Inbound::Bad("a text frame that is no UTF-8"),
                Err(_) => return Inbound::Closed,
            }
        }
    }
}

/// The socket as the protocol machine sees it.
struct Half<'a> {
    socket: &'a TcpStream,
    outbox: &'a Outbox,
    ahead: &'a mut Ahead,
}

impl Read for Half<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if !self.ahead.bytes.is_empty() {
            return Ok(self.ahead.take(into));
        }
        if into.len() >= READ {
            return self.socket.try_read(into);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let count = self.socket.try_read(scratch)?;
            let came = scratch.get(..count).unwrap_or_default();
            let (now, later) = came.split_at(count.min(into.len()));
            for (to, from) in into.iter_mut().zip(now) {
                *to = *from;
            }
            self.ahead.bytes.extend_from_slice(later);
            Ok(now.len())
        })
    }
}

impl Ahead {
    fn take(&mut self, into: &mut [u8]) -> usize {
        let left = self.bytes.get(self.used..).unwrap_or_default();
        let count = left.len().min(into.len());
        if let (Some(into), Some(from)) = (into.get_mut(..count), left.get(..count)) {
            into.copy_from_slice(from);
        }
        self.used += count;
        if self.used >= self.bytes.len() {
            *self = Self::default();
        }
        count
    }
}

impl Write for Half<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.outbox.queue([Bytes::copy_from_slice(bytes)]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
