//! A made-up socket: a buffer between the hub and one viewer that can stall, swallow and break.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, IoSlice, Result};

use model::frame::{ServerFrame, parse_server};
use parking_lot::Mutex;

use hub::Transport;

/// The fate of bytes that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Fate {
    /// The bytes arrive, as far as there is room.
    #[default]
    Arrive,
    /// The bytes are taken and never arrive: the peer is gone, and nobody knows yet.
    Vanish,
    /// The connection is known to be broken.
    Break,
}

/// A socket in memory whose fate the simulation decides.
#[derive(Debug)]
pub(super) struct MadeUp {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The fate of bytes from now on.
    fate: Fate,
    /// How many bytes it holds that were not read yet.
    room: usize,
    /// What the hub has written and the viewer has not taken.
    sent: VecDeque<u8>,
    /// What the viewer took out of the buffer and did not use yet.
    received: Vec<u8>,
}

impl MadeUp {
    /// With room for so many bytes that were not read yet.
    pub(super) fn new(room: usize) -> Self {
        Self {
            state: Mutex::new(State {
                fate: Fate::Arrive,
                room,
                sent: VecDeque::new(),
                received: Vec::new(),
            }),
        }
    }

    pub(super) fn meet(&self, fate: Fate) {
        let mut state = self.state.lock();
        state.fate = fate;
        if fate != Fate::Arrive {
            state.sent.clear();
        }
    }

    /// The next frame, if it has arrived as a whole.
    pub(super) fn read(&self) -> Option<ServerFrame> {
        let mut state = self.state.lock();
        let State { sent, received, .. } = &mut *state;
        received.extend(sent.drain(..));
        let (head, len) = match *received.get(1)? {
            126 => (4, usize::from(u16::from_be_bytes(received.get(2..4)?.try_into().unwrap()))),
            127 => {
                (10, usize::try_from(u64::from_be_bytes(received.get(2..10)?.try_into().unwrap())).unwrap())
            }
            len => (2, usize::from(len)),
        };
        let text = received.get(head..head + len)?;
        assert_eq!(received[0], 0x81, "a whole text frame");
        let frame = parse_server(std::str::from_utf8(text).unwrap()).unwrap();
        received.drain(..head + len);
        Some(frame)
    }
}

impl Transport for MadeUp {
    fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        let mut state = self.state.lock();
        match state.fate {
            Fate::Break => Err(Error::from(ErrorKind::BrokenPipe)),
            Fate::Vanish => Ok(bytes.len()),
            Fate::Arrive => {
                // A frame can be larger than the buffer: it goes through it in pieces.
                let taken = state.room.saturating_sub(state.sent.len()).min(bytes.len());
                state.sent.extend(&bytes[..taken]);
                if taken == 0 { Err(Error::from(ErrorKind::WouldBlock)) } else { Ok(taken) }
            }
        }
    }

    fn try_write_vectored(&self, pieces: &[IoSlice<'_>]) -> Result<usize> {
        let mut taken = 0;
        for piece in pieces {
            match self.try_write(piece) {
                Ok(now) => taken += now,
                Err(error) if taken == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(taken)
    }
}
