//! The viewers: many sockets on few threads, cheap enough that a server keeps its share of a small machine. What each
//! one gets is counted and checked.

use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};

use crate::Outcome;
use crate::arm::{Arm, Coverage, Server};
use tests::load::clock::Clock;
use tests::load::event::Scan;
use tests::load::histogram::Histogram;
use tests::load::websocket::{CLOSE, PING, PONG, Socket, read_frame, write_frame};

/// What the threads of one row share.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Deliveries so far.
    pub(crate) delivered: AtomicU64,
    /// Events of each conversation, once the publisher is done.
    pub(crate) events: AtomicU64,
    /// Nobody waits any longer.
    pub(crate) is_over: AtomicBool,
    /// Latencies count for events that were sent from here on.
    pub(crate) count_from: AtomicU64,
}

impl Default for Progress {
    fn default() -> Self {
        let unknown = || AtomicU64::new(u64::MAX);
        let (delivered, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { delivered, events: unknown(), is_over, count_from: unknown() }
    }
}

/// What one viewer got.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The events.
    pub(crate) scan: Scan,
    /// Where it stands, for arms with positions.
    pub(crate) position: u64,
    /// Frames that did not join on to the position.
    pub(crate) gaps: u64,
    /// Snapshots after the first.
    pub(crate) snapshots: u64,
    is_new: bool,
}

impl Seen {
    /// A record of nothing received yet, for texts of `text_bytes`.
    pub(crate) fn new(text_bytes: usize) -> Self {
        Self { scan: Scan::new(text_bytes), position: 0, gaps: 0, snapshots: 0, is_new: true }
    }

    /// Takes the whole frames in `bytes`; tells `each` the send times of new events; appends answers to `answers`.
    /// Returns the length of what was taken.
    pub(crate) fn take(
        &mut self,
        arm: &dyn Arm,
        bytes: &[u8],
        answers: &mut Vec<u8>,
        each: &mut impl FnMut(u64),
    ) -> Outcome<usize> {
        let mut at = 0;
        while let Some((opcode, payload, length)) = read_frame(&bytes[at..]) {
            at += length;
            match opcode {
                CLOSE => return Err("closed".into()),
                PING => write_frame(answers, PONG, payload),
                _ => self.take_message(arm, payload, each),
            }
            if let Some(answer) = arm.answer(payload, self.position) {
                answers.extend_from_slice(&answer);
            }
        }
        Ok(at)
    }

    fn take_message(&mut self, arm: &dyn Arm, payload: &[u8], each: &mut impl FnMut(u64)) {
        match arm.coverage(payload) {
            Coverage::None => {}
            Coverage::Events(from, to) => {
                self.gaps += u64::from(from != self.position + 1);
                self.position = to;
            }
            Coverage::Snapshot(position) => {
                self.snapshots += u64::from(!self.is_new);
                self.is_new = false;
                self.position = position;
                self.take_snapshot(payload, each);
                return;
            }
        }
        self.scan.take(payload, each);
    }

    /// A snapshot repeats all events: those that were seen before do not count again.
    fn take_snapshot(&mut self, payload: &[u8], each: &mut impl FnMut(u64)) {
        let mut whole = self.scan.again();
        let (mut number, known) = (0, self.scan.next);
        whole.take(payload, &mut |micros| {
            number += 1;
            if number > known {
                each(micros);
            }
        });
        self.scan.wrong += u64::from(whole.next < known);
        self.scan.next = whole.next.max(known);
    }
}

/// One viewer of the benchmark, with its socket.
#[derive(Debug)]
pub(crate) struct Viewer {
    stream: mio::net::TcpStream,
    unread: Vec<u8>,
    /// What it got.
    pub(crate) seen: Seen,
    /// The server closed it.
    pub(crate) is_closed: bool,
}

/// Connections that are made at the same time: some servers take a tenth of a second to answer one.
const AT_ONCE: u64 = 16;

/// Connects and subscribes `count` viewers, spread evenly over the conversations.
pub(crate) fn connect(
    arm: &dyn Arm,
    server: &Server,
    count: u64,
    conversations: u64,
    text_bytes: usize,
) -> Outcome<Vec<Viewer>> {
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..AT_ONCE)
            .map(|first| {
                let numbers = (first..count).step_by(AT_ONCE as usize);
                let subscribed = move |number| subscribe(arm, server, number % conversations, text_bytes);
                scope.spawn(move || numbers.map(subscribed).collect::<Outcome<Vec<_>>>())
            })
            .collect();
        let mut viewers = Vec::new();
        for part in parts {
            viewers.extend(part.join().map_err(|_panic| "a viewer failed to connect")??);
        }
        Ok(viewers)
    })
}

/// One viewer that is subscribed, as far as the server tells.
fn subscribe(arm: &dyn Arm, server: &Server, conversation: u64, text_bytes: usize) -> Outcome<Viewer> {
    let mut socket = join(arm, server, arm.subscribe(conversation), conversation)?;
    let mut seen = Seen::new(text_bytes);
    if let Some(is_subscribed) = arm.is_subscribed() {
        // What comes before may hold the position.
        socket.wait_for(|payload| {
            seen.take_message(arm, payload, &mut |_| {});
            is_subscribed(payload)
        })?;
    }
    socket.stream.set_nonblocking(true)?;
    let stream = mio::net::TcpStream::from_std(socket.stream);
    Ok(Viewer { stream, unread: socket.unread, seen, is_closed: false })
}

/// Connects one viewer and asks with these frames for a conversation, without waiting for the answer.
pub(crate) fn join(
    arm: &dyn Arm,
    server: &Server,
    frames: Vec<(u8, Vec<u8>)>,
    conversation: u64,
) -> Outcome<Socket> {
    let (path, subprotocol) = arm.view_path(conversation);
    let mut socket = Socket::open(server.view, &path, subprotocol)?;
    let mut request = Vec::new();
    for (opcode, payload) in frames {
        write_frame(&mut request, opcode, &payload);
    }
    socket.stream.write_all(&request)?;
    Ok(socket)
}

/// Reads until each of `viewers` has everything, or until it is over. Returns the latencies in microseconds.
pub(crate) fn watch(
    arm: &dyn Arm,
    viewers: &mut [Viewer],
    clock: Clock,
    progress: &Progress,
) -> Outcome<Histogram> {
    let mut poll = Poll::new()?;
    for (token, viewer) in viewers.iter_mut().enumerate() {
        poll.registry().register(&mut viewer.stream, Token(token), Interest::READABLE)?;
    }
    let mut reader =
        Reader { clock, latencies: Histogram::new(), bytes: vec![0; 256 << 10], answers: Vec::new() };
    let mut happened = Events::with_capacity(1024);
    let mut again: Vec<usize> = (0..viewers.len()).collect();
    while !progress.is_over.load(Ordering::Relaxed) && !is_complete(viewers, progress) {
        let patience = if again.is_empty() { Duration::from_millis(50) } else { Duration::ZERO };
        poll.poll(&mut happened, Some(patience))?;
        let ready = std::mem::take(&mut again);
        let mut delivered = 0;
        for token in ready.into_iter().chain(happened.iter().map(|event| event.token().0)) {
            let known = viewers[token].seen.scan.next;
            if !viewers[token].read(arm, &mut reader, progress.count_from.load(Ordering::Relaxed)) {
                again.push(token);
            }
            delivered += viewers[token].seen.scan.next - known;
        }
        progress.delivered.fetch_add(delivered, Ordering::Relaxed);
    }
    for viewer in viewers.iter_mut() {
        poll.registry().deregister(&mut viewer.stream)?;
    }
    Ok(reader.latencies)
}

fn is_complete(viewers: &[Viewer], progress: &Progress) -> bool {
    let events = progress.events.load(Ordering::Relaxed);
    events != u64::MAX && viewers.iter().all(|viewer| viewer.is_closed || viewer.seen.scan.next >= events)
}

struct Reader {
    clock: Clock,
    latencies: Histogram,
    bytes: Vec<u8>,
    answers: Vec<u8>,
}

impl Viewer {
    /// Takes what arrived; false when there may be more.
    fn read(&mut self, arm: &dyn Arm, reader: &mut Reader, count_from: u64) -> bool {
        for _ in 0..4 {
            let count = match self.stream.read(&mut reader.bytes) {
                Ok(count @ 1..) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                _ => {
                    self.is_closed = true;
                    return true;
                }
            };
            self.take(arm, reader, count, count_from);
            // A short read of a stream means that there is no more: epoll(7), question 9.
            if count < reader.bytes.len() {
                return true;
            }
        }
        false
    }

    fn take(&mut self, arm: &dyn Arm, reader: &mut Reader, count: usize, count_from: u64) {
        let now = reader.clock.micros();
        let latencies = &mut reader.latencies;
        let mut each = |micros: u64| {
            if micros >= count_from {
                latencies.add(now.saturating_sub(micros));
            }
        };
        let arrived = &reader.bytes[..count];
        let taken = if self.unread.is_empty() {
            let taken = self.seen.take(arm, arrived, &mut reader.answers, &mut each);
            self.unread.extend_from_slice(&arrived[*taken.as_ref().unwrap_or(&count)..]);
            taken.map(|_| 0)
        } else {
            self.unread.extend_from_slice(arrived);
            self.seen.take(arm, &self.unread, &mut reader.answers, &mut each)
        };
        match taken {
            Ok(taken) => drop(self.unread.drain(..taken)),
            Err(_) => self.is_closed = true,
        }
        if !reader.answers.is_empty() {
            // A socket that takes no answer now will be closed by its server; that shows in the figures.
            self.is_closed |= self.stream.write_all(&reader.answers).is_err();
            reader.answers.clear();
        }
    }
}
