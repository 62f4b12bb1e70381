//! The reading end of one socket. An idle socket holds almost no buffer: reads go through one large buffer
//! per thread, and only bytes that are not used at once are kept.
//!
//! One turn of reading is bounded, whatever a peer sends. Each frame is returned to the socket's task, which
//! checks whether answers wait, and a turn ends after [`TURN_BYTES_MAX`] bytes even if they contain no whole
//! frame. Frames may be empty, so the turn of a peer that sends no text is only [`WORDLESS_TURN_BYTES_MAX`]
//! bytes long, and a turn that took long for so few is followed by a rest: see [`Inlet::end_turn`].

use std::cell::RefCell;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::limits::{HELLO_BYTES_MAX, INBOUND_BYTES_WITHOUT_TEXT_MAX, INBOUND_FRAME_BYTES_MAX};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig, WebSocketContext};
use tokio_tungstenite::tungstenite::{Error, error::CapacityError};

use hub::Outbox;

/// Most bytes that one call of the kernel reads.
const READ: usize = 64 << 10;

/// Most bytes that one turn reads.
const TURN_BYTES_MAX: u32 = 64 << 10;

/// Most bytes of a turn after a whole turn without text: empty frames take a hundred times as long for each
/// byte as a large frame.
const WORDLESS_TURN_BYTES_MAX: u32 = 8 << 10;

/// A turn without text that takes less of a core is not followed by a rest. Copying the bytes of a large frame takes a tenth of it.
const WORDLESS_TURN_FREE: Duration = Duration::from_micros(50);

/// How many times as long as a turn without text the rest after it is: such a peer has an eleventh of a core at most.
const WORDLESS_REST_TIMES: u32 = 10;

/// The longest rest after a turn without text.
const WORDLESS_REST_MAX: Duration = Duration::from_millis(10);

/// How many bytes of buffer the WebSocket library keeps for an idle socket.
const KEPT: usize = 128;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ]);
}

/// The result of reading one frame.
#[derive(Debug)]
pub(super) enum FrameRead {
    /// A text frame with its text.
    Text(tokio_tungstenite::tungstenite::Utf8Bytes),
    /// A ping, a pong or a close. Its answer is queued.
    Control,
    /// No whole frame has come.
    Nothing,
    /// The frame is over the limit.
    TooLarge,
    /// [`INBOUND_BYTES_WITHOUT_TEXT_MAX`] bytes came without a text frame.
    Idle,
    /// The bytes are not a frame of this protocol, for this reason.
    Bad(&'static str),
    /// The peer has closed, or is gone.
    Closed,
}

/// Reads frames from one socket. Owned by its connection.
#[derive(Debug)]
pub(super) struct Inlet {
    socket: Arc<TcpStream>,
    context: WebSocketContext,
    /// Bytes from the socket that are not used yet.
    ahead: Ahead,
    /// How many bytes may still be read in this turn; at 0 the turn is over.
    turn: u32,
    /// How many bytes were read since the last text frame.
    without_text: u32,
    /// How many bytes were read since somebody asked.
    came: u32,
    /// Until when nothing is read, in milliseconds after the socket was opened; 0 where it is read. Kept here, where it costs an idle
    /// socket no memory.
    pub(super) rests_until: u32,
}

/// A turn of reading from a peer that has sent no text for a whole turn.
#[derive(Debug)]
pub(super) struct WordlessTurn {
    /// What this thread had used of a core then.
    began: Duration,
}

/// Bytes that were read and are not used yet.
#[derive(Debug, Default)]
struct Ahead {
    bytes: Vec<u8>,
    /// The number of those bytes that were used.
    used: usize,
}

impl Inlet {
    /// Reads from `socket`, after the bytes in `first`, which came with the upgrade. A frame may have [`HELLO_BYTES_MAX`] bytes until
    /// [`Inlet::greeted`].
    pub(super) fn new(socket: Arc<TcpStream>, first: &[u8]) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(KEPT)
            .write_buffer_size(0)
            .max_message_size(Some(HELLO_BYTES_MAX))
            .max_frame_size(Some(HELLO_BYTES_MAX));
        let context = WebSocketContext::new(Role::Server, Some(config));
        let ahead = Ahead { bytes: first.to_vec(), used: 0 };
        Self { socket, context, ahead, turn: TURN_BYTES_MAX, without_text: 0, came: 0, rests_until: 0 }
    }

    /// From now on a frame may have [`INBOUND_FRAME_BYTES_MAX`] bytes.
    pub(super) fn greeted(&mut self) {
        self.context.set_config(|config| {
            config.max_message_size = Some(INBOUND_FRAME_BYTES_MAX);
            config.max_frame_size = Some(INBOUND_FRAME_BYTES_MAX);
        });
    }

    /// Begins a turn of reading. If it is one without text so far, the answer is for [`Inlet::end_turn`].
    pub(super) fn begin_turn(&mut self) -> Option<WordlessTurn> {
        let is_wordless = self.without_text >= TURN_BYTES_MAX;
        self.turn = if is_wordless { WORDLESS_TURN_BYTES_MAX } else { TURN_BYTES_MAX };
        is_wordless.then(|| WordlessTurn { began: thread_time() })
    }

    /// Ends a turn that began without text. After one in which nothing but empty or tiny frames can have come, since it took long and brought
    /// no text, the socket is to be left alone for [`WORDLESS_REST_TIMES`] times as long as the turn took: that is the answer.
    pub(super) fn end_turn(&self, turn: &WordlessTurn) -> Option<Duration> {
        let took = thread_time().saturating_sub(turn.began);
        let rests = took > WORDLESS_TURN_FREE && self.without_text >= TURN_BYTES_MAX;
        rests.then(|| took.saturating_mul(WORDLESS_REST_TIMES).min(WORDLESS_REST_MAX))
    }

    /// Whether the turn ended by its bound.
    pub(super) fn is_cut_short(&self) -> bool {
        self.turn == 0
    }

    /// Whether bytes wait here, of which the kernel no longer knows.
    pub(super) fn has_ahead(&self) -> bool {
        !self.ahead.bytes.is_empty()
    }

    /// How many bytes were read since the last time that this was asked, if they are at least `least`; they are asked for once.
    pub(super) fn came(&mut self, least: u32) -> Option<u32> {
        (self.came >= least).then(|| std::mem::take(&mut self.came))
    }

    /// Discards what comes, for a peer whose frames can no longer be read. True once the peer has closed.
    pub(super) fn discard(&mut self) -> bool {
        self.ahead = Ahead::default();
        SCRATCH.with_borrow_mut(|scratch| {
            while self.turn > 0 {
                match self.socket.try_read(scratch) {
                    Ok(0) => return true,
                    Ok(count) => self.turn = self.turn.saturating_sub(bytes(count)),
                    Err(error) => return error.kind() != ErrorKind::WouldBlock,
                }
            }
            false
        })
    }

    /// Reads the next frame if it is there and within the turn. Never waits. Answers to pings and closes are
    /// queued in `outbox`.
    pub(super) fn next(&mut self, outbox: &Outbox) -> FrameRead {
        let before = self.turn;
        let turn = &mut self.turn;
        let mut half = Half { socket: &self.socket, outbox, ahead: &mut self.ahead, turn };
        let read = self.context.read(&mut half);
        let count = before.saturating_sub(self.turn);
        self.without_text = self.without_text.saturating_add(count);
        self.came = self.came.saturating_add(count);
        match read {
            Ok(Message::Text(text)) => {
                self.without_text = 0;
                FrameRead::Text(text)
            }
            Ok(Message::Binary(_)) => FrameRead::Bad("binary frames are not spoken here"),
            Ok(_) | Err(Error::Io(_)) if self.without_text > bytes(INBOUND_BYTES_WITHOUT_TEXT_MAX) => {
                FrameRead::Idle
            }
            // A close is answered by the next read, which then returns an error.
            Ok(_) => FrameRead::Control,
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => FrameRead::Nothing,
            Err(Error::Capacity(CapacityError::MessageTooLong { .. })) => FrameRead::TooLarge,
            Err(Error::Protocol(_)) => FrameRead::Bad("not a WebSocket frame"),
            Err(Error::Utf8(_)) => FrameRead::Bad("a text frame that is not UTF-8"),
            Err(_) => FrameRead::Closed,
        }
    }
}

/// How much of a core this thread has used; where the system does not say so, the time.
fn thread_time() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::try_from(now).unwrap_or_default()
}

/// A number of bytes as it is counted here; all of them are far smaller than what has room.
fn bytes(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The socket as the WebSocket library sees it.
struct Half<'a> {
    socket: &'a TcpStream,
    outbox: &'a Outbox,
    ahead: &'a mut Ahead,
    /// The bytes that may still be read, see [`Inlet::turn`].
    turn: &'a mut u32,
}

impl Read for Half<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if *self.turn == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = self.read_on(into)?;
        *self.turn = self.turn.saturating_sub(bytes(count));
        Ok(count)
    }
}

impl Half<'_> {
    /// Reads bytes that were kept, otherwise from the socket.
    fn read_on(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
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
    /// Takes bytes that were kept.
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

#[cfg(test)]
mod tests;
