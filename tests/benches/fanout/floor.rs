//! The floor: a server that does nothing but write the ready frame to each viewer with one call. It shows what the
//! kernel alone costs, so that figures of different machines can be compared. With `batched` all events of 5 ms go to
//! a viewer in one write.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use crate::Outcome;
use tests::load::websocket::write_server_frame;

const VIEWERS: Token = Token(0);
const PUBLISHERS: Token = Token(1);
const EVENTS: Token = Token(2);
const BATCH: Duration = Duration::from_millis(5);
/// What a viewer that does not read may have waiting here; more is dropped.
const WAITING_BYTES_MAX: usize = 64 << 10;
const BATCHED_WAITING_BYTES_MAX: usize = 8 << 20;

struct Viewer {
    stream: TcpStream,
    waiting: Vec<u8>,
}

impl Viewer {
    /// Writes `frame` with one call, unless something waits already.
    fn write(&mut self, frame: &[u8], waiting_max: usize) -> bool {
        let mut rest = frame;
        if self.flush() {
            let count = self.stream.write(frame).unwrap_or(0);
            rest = &frame[count..];
        }
        let is_begun = rest.len() < frame.len();
        if is_begun || self.waiting.len() + rest.len() <= waiting_max {
            self.waiting.extend_from_slice(rest);
        }
        self.waiting.is_empty()
    }

    /// Writes what waits; says whether nothing is left.
    fn flush(&mut self) -> bool {
        while !self.waiting.is_empty() {
            match self.stream.write(&self.waiting) {
                Ok(count) if count > 0 => drop(self.waiting.drain(..count)),
                _ => return false,
            }
        }
        true
    }
}

#[derive(Default)]
struct Conversation {
    viewers: Vec<Viewer>,
    batch: Vec<u8>,
}

struct Floor {
    conversations: HashMap<u16, Conversation>,
    waiting_max: usize,
    is_batched: bool,
    /// Since when a batch is open.
    opened: Option<Instant>,
    has_waiting: bool,
}

/// Serves until it is ended. Prints the two ports: viewers' and publisher's.
pub(crate) fn serve(is_batched: bool) -> Outcome<()> {
    let mut poll = Poll::new()?;
    let mut viewers = listener()?;
    let mut publishers = listener()?;
    poll.registry().register(&mut viewers, VIEWERS, Interest::READABLE)?;
    poll.registry().register(&mut publishers, PUBLISHERS, Interest::READABLE)?;
    crate::say(format_args!("{} {}", viewers.local_addr()?.port(), publishers.local_addr()?.port()));
    let waiting_max = if is_batched { BATCHED_WAITING_BYTES_MAX } else { WAITING_BYTES_MAX };
    let conversations = HashMap::new();
    let mut floor = Floor { conversations, waiting_max, is_batched, opened: None, has_waiting: false };
    let mut publisher: Option<mio::net::TcpStream> = None;
    let mut unread = Vec::new();
    let mut bytes = vec![0; 256 << 10];
    let mut happened = Events::with_capacity(64);
    loop {
        poll.poll(&mut happened, floor.patience())?;
        for event in &happened {
            match event.token() {
                VIEWERS => floor.accept(&viewers)?,
                PUBLISHERS => {
                    if let Ok((mut stream, _)) = publishers.accept() {
                        poll.registry().register(&mut stream, EVENTS, Interest::READABLE)?;
                        publisher = Some(stream);
                    }
                }
                _ => {
                    while let Some(Ok(count @ 1..)) = publisher.as_mut().map(|stream| stream.read(&mut bytes))
                    {
                        unread.extend_from_slice(&bytes[..count]);
                        floor.take(&mut unread);
                        if count < bytes.len() {
                            break;
                        }
                    }
                }
            }
        }
        floor.tick();
    }
}

fn listener() -> Outcome<mio::net::TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    Ok(mio::net::TcpListener::from_std(listener))
}

impl Floor {
    fn patience(&self) -> Option<Duration> {
        let batch = self.opened.map(|opened| BATCH.saturating_sub(opened.elapsed()));
        if self.has_waiting { Some(Duration::from_millis(1)) } else { batch }
    }

    fn accept(&mut self, viewers: &mio::net::TcpListener) -> Outcome<()> {
        loop {
            match viewers.accept() {
                Ok((stream, _)) => self.welcome(stream.into())?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn welcome(&mut self, mut stream: TcpStream) -> Outcome<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        let mut request = Vec::new();
        let mut bytes = [0; 1024];
        while !request.ends_with(b"\r\n\r\n") {
            let count = stream.read(&mut bytes)?;
            request.extend_from_slice(&bytes[..count]);
            if count == 0 {
                return Ok(());
            }
        }
        let digits = request.iter().skip("GET /".len()).take_while(|byte| byte.is_ascii_digit());
        let conversation = digits.fold(0, |sum: u16, byte| sum * 10 + u16::from(byte - b'0'));
        // The answer to the one key that the load sends.
        stream.write_all(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
              Sec-WebSocket-Accept: zOd5/Bn7BEl5PqEmkD7rXS6gAFU=\r\n\r\n",
        )?;
        stream.set_nonblocking(true)?;
        let viewer = Viewer { stream, waiting: Vec::new() };
        self.conversations.entry(conversation).or_default().viewers.push(viewer);
        Ok(())
    }

    /// Takes whole events: conversation and length in two bytes each, then the event.
    fn take(&mut self, unread: &mut Vec<u8>) {
        let mut at = 0;
        let mut frame = Vec::new();
        while let Some(&[c0, c1, l0, l1]) = unread.get(at..at + 4) {
            let end = at + 4 + usize::from(u16::from_be_bytes([l0, l1]));
            let Some(event) = unread.get(at + 4..end) else { break };
            let conversation = self.conversations.entry(u16::from_be_bytes([c0, c1])).or_default();
            if self.is_batched {
                write_server_frame(&mut conversation.batch, event);
                self.opened.get_or_insert_with(Instant::now);
            } else {
                frame.clear();
                write_server_frame(&mut frame, event);
                for viewer in &mut conversation.viewers {
                    self.has_waiting |= !viewer.write(&frame, self.waiting_max);
                }
            }
            at = end;
        }
        unread.drain(..at);
        if self.opened.is_some_and(|opened| opened.elapsed() >= BATCH) {
            self.write_batches();
        }
    }

    fn write_batches(&mut self) {
        self.opened = None;
        #[expect(clippy::iter_over_hash_type, reason = "conversations are independent")]
        for conversation in self.conversations.values_mut() {
            if !conversation.batch.is_empty() {
                for viewer in &mut conversation.viewers {
                    self.has_waiting |= !viewer.write(&conversation.batch, self.waiting_max);
                }
                conversation.batch.clear();
            }
        }
    }

    fn tick(&mut self) {
        if self.opened.is_some_and(|opened| opened.elapsed() >= BATCH) {
            self.write_batches();
        }
        if self.has_waiting {
            let mut viewers =
                self.conversations.values_mut().flat_map(|conversation| &mut conversation.viewers);
            self.has_waiting = viewers.by_ref().fold(false, |waits, viewer| waits | !viewer.flush());
        }
    }
}
