//! As much of RFC 6455 as a load needs: the upgrade, masked frames out, frames in.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::Outcome;

/// A frame of text.
pub const TEXT: u8 = 1;
/// A frame of bytes.
pub const BINARY: u8 = 2;
/// The end of the connection.
pub const CLOSE: u8 = 8;
/// A question whether the other is there.
pub const PING: u8 = 9;
/// The answer to that.
pub const PONG: u8 = 10;

const MASK: [u8; 4] = [0x5A, 0x17, 0xC3, 0x3D];

/// Appends a client's frame, masked as the standard wants it.
pub fn write_frame(out: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    out.push(0x80 | opcode);
    match payload.len() {
        short @ 0..126 => out.push(0x80 | short as u8),
        medium @ 126..=0xFFFF => {
            out.push(0xFE);
            out.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            out.push(0xFF);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&MASK);
    out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, key)| byte ^ key));
}

/// Appends a server's frame.
pub fn write_server_frame(out: &mut Vec<u8>, payload: &[u8]) {
    out.push(0x80 | TEXT);
    match payload.len() {
        short @ 0..126 => out.push(short as u8),
        medium @ 126..=0xFFFF => {
            out.push(126);
            out.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            out.push(127);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
}

/// The first frame of a server in `bytes`: opcode, payload, length in all; nothing when it is not whole.
pub fn read_frame(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let opcode = bytes.first()? & 0x0F;
    let (start, length): (usize, usize) = match bytes.get(1)? & 0x7F {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => (10, u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?) as usize),
        short => (2, usize::from(short)),
    };
    Some((opcode, bytes.get(start..start.checked_add(length)?)?, start + length))
}

/// A blocking WebSocket, for what comes before the stream.
#[derive(Debug)]
pub struct Socket {
    /// The connection.
    pub stream: TcpStream,
    /// What arrived and was not taken yet.
    pub unread: Vec<u8>,
}

impl Socket {
    /// Connects and upgrades.
    pub fn open(at: SocketAddr, path: &str, subprotocol: Option<&str>) -> Outcome<Self> {
        let mut stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        let subprotocol =
            subprotocol.map(|name| format!("Sec-WebSocket-Protocol: {name}\r\n")).unwrap_or_default();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n{subprotocol}\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut socket = Self { stream, unread: Vec::new() };
        let end = loop {
            if let Some(end) = memchr::memmem::find(&socket.unread, b"\r\n\r\n") {
                break end + 4;
            }
            socket.fill()?;
        };
        if !socket.unread.starts_with(b"HTTP/1.1 101") {
            let answer = String::from_utf8_lossy(&socket.unread[..end]).into_owned();
            return Err(format!("{at}{path} did not upgrade: {answer}").into());
        }
        socket.unread.drain(..end);
        Ok(socket)
    }

    /// Reads some more bytes.
    pub fn fill(&mut self) -> Outcome<usize> {
        let mut bytes = [0; 16 << 10];
        let count = self.stream.read(&mut bytes)?;
        if count == 0 {
            return Err("the server closed the connection".into());
        }
        self.unread.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    /// Sends one frame.
    pub fn send(&mut self, opcode: u8, payload: &[u8]) -> Outcome<()> {
        let mut out = Vec::new();
        write_frame(&mut out, opcode, payload);
        Ok(self.stream.write_all(&out)?)
    }

    /// Takes frames until one of them is the one that is waited for.
    pub fn wait_for(&mut self, mut is_it: impl FnMut(&[u8]) -> bool) -> Outcome<()> {
        loop {
            while let Some((opcode, payload, length)) = read_frame(&self.unread) {
                if opcode == CLOSE {
                    return Err(format!("closed: {}", String::from_utf8_lossy(payload)).into());
                }
                let found = is_it(payload);
                self.unread.drain(..length);
                if found {
                    return Ok(());
                }
            }
            self.fill()?;
        }
    }
}
