//! One welcomed WebSocket that does not block.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;

use crate::load::Outcome;
use crate::load::native::{HELLO, head, is_kind};
use crate::load::websocket::{CLOSE, PING, PONG, Socket, TEXT, read_frame, write_frame};

/// A connection, with what is not taken and not written yet.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) stream: mio::net::TcpStream,
    unread: Vec<u8>,
    pub(super) unwritten: Vec<u8>,
    pub(super) is_closed: bool,
}

impl Connection {
    /// Connects and is welcomed.
    pub(super) fn open(at: SocketAddr) -> Outcome<Self> {
        let mut socket = Socket::open(at, "/v1/ws", Some("fanlight.v1"))?;
        socket.send(TEXT, HELLO)?;
        socket.wait_for(|payload| is_kind(head(payload), b"welcome"))?;
        socket.stream.set_nonblocking(true)?;
        let stream = mio::net::TcpStream::from_std(socket.stream);
        Ok(Self { stream, unread: socket.unread, unwritten: Vec::new(), is_closed: false })
    }

    /// Reads what is there.
    pub(super) fn read(&mut self, bytes: &mut [u8]) {
        loop {
            match self.stream.read(bytes) {
                Ok(count @ 1..) => {
                    self.unread.extend_from_slice(&bytes[..count]);
                    if count < bytes.len() {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                _ => {
                    self.is_closed = true;
                    return;
                }
            }
        }
    }

    /// Writes what the socket takes.
    pub(super) fn flush(&mut self) {
        while !self.unwritten.is_empty() {
            match self.stream.write(&self.unwritten) {
                Ok(count @ 1..) => drop(self.unwritten.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                _ => {
                    self.is_closed = true;
                    return;
                }
            }
        }
    }

    /// Gives each whole frame to `each`, and answers what wants an answer.
    pub(super) fn take(&mut self, mut each: impl FnMut(&[u8])) {
        let mut at = 0;
        while let Some((opcode, payload, length)) = read_frame(&self.unread[at..]) {
            match opcode {
                CLOSE => self.is_closed = true,
                PING => write_frame(&mut self.unwritten, PONG, payload),
                _ if is_kind(head(payload), b"hb") => {
                    write_frame(&mut self.unwritten, TEXT, br#"{"t":"hb_ack","at":{}}"#);
                }
                _ => each(payload),
            }
            at += length;
        }
        self.unread.drain(..at);
    }
}
