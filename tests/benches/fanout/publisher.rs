//! The publisher: one connection, events evenly spread over time and over the conversations.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::Outcome;
use memchr::memmem;

use crate::arm::{AckMark, Arm};
use crate::viewer::Progress;
use tests::load::clock::Clock;
use tests::load::event::Event;
use tests::load::websocket::{PING, PONG, Socket, read_frame, write_frame};

/// What to publish.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    /// How many conversations take turns.
    pub(crate) conversations: u64,
    /// Events of each conversation per second; 0 for as fast as the server takes them.
    pub(crate) rate: u64,
    /// Events of each conversation in all.
    pub(crate) events: u64,
    /// Length of an event's text.
    pub(crate) text_bytes: usize,
}

/// Events that are due within this time go out together, in microseconds.
const TICK: u64 = 1_000;
const WRITE_BYTES: usize = 64 << 10;

/// Publishes from the time `start` on, says so in `progress` when all is written, and keeps the connection until it is
/// over: a server may still be reading. Returns what the server complained about, if it did.
pub(crate) fn publish(
    arm: &dyn Arm,
    socket: Socket,
    program: &Program,
    start: (Clock, u64),
    progress: &Progress,
) -> Outcome<Option<String>> {
    let Socket { mut stream, unread } = socket;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    let reading = stream.try_clone()?;
    let drain = Drain {
        answers: Mutex::new(Vec::new()),
        complaint: Mutex::new(None),
        acked: AtomicU64::new(0),
        is_over: &progress.is_over,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| drain.run(arm, reading, unread));
        send(arm, &mut stream, program, start, &drain)?;
        let total = program.events * program.conversations;
        let is_acked = || drain.acked.load(Ordering::Relaxed) >= total;
        if arm.acks().is_some() && !start.0.wait_for(10, is_acked) {
            let acked = drain.acked.load(Ordering::Relaxed);
            drain.complain(|| format!("{} events without an ack", total - acked));
        }
        progress.events.store(program.events, Ordering::Relaxed);
        Ok::<_, crate::Failure>(())
    })?;
    Ok(drain.complaint.into_inner().unwrap_or_default())
}

fn send(
    arm: &dyn Arm,
    stream: &mut TcpStream,
    program: &Program,
    (clock, start): (Clock, u64),
    drain: &Drain<'_>,
) -> Outcome<()> {
    let total = program.events * program.conversations;
    let per_second = program.rate * program.conversations;
    let (mut out, mut scratch) = (Vec::new(), Vec::new());
    let ahead = arm.acks().map_or(u64::MAX, |acks| acks.ahead);
    let mut sent = 0;
    clock.wait_until(start);
    while sent < total {
        let micros = clock.micros();
        let due = if per_second == 0 { total } else { (micros - start) * per_second / 1_000_000 + 1 };
        drain.take_answers(&mut out);
        let may = drain.acked.load(Ordering::Relaxed).saturating_add(ahead);
        while sent < due.min(total).min(may) && out.len() < WRITE_BYTES {
            let (conversation, number) = (sent % program.conversations, sent / program.conversations);
            let event = Event { conversation, number, micros, text_bytes: program.text_bytes };
            scratch.clear();
            arm.publish(&event, &mut scratch, &mut out);
            sent += 1;
        }
        stream.write_all(&out)?;
        out.clear();
        if sent >= may {
            clock.wait_until(micros + TICK / 10);
        } else if sent >= due {
            let next = start + (sent * 1_000_000).checked_div(per_second).unwrap_or(0);
            clock.wait_until(next.max(micros + TICK));
        }
    }
    Ok(())
}

/// Reads what the server sends to the publisher, so that it is never held up by that.
struct Drain<'a> {
    /// Answers to heartbeats, to be written between two events.
    answers: Mutex<Vec<u8>>,
    complaint: Mutex<Option<String>>,
    /// Acks, of servers whose acks are awaited.
    acked: AtomicU64,
    is_over: &'a AtomicBool,
}

impl Drain<'_> {
    fn run(&self, arm: &dyn Arm, mut stream: TcpStream, mut unread: Vec<u8>) {
        let mut bytes = vec![0; 64 << 10];
        while !self.is_over.load(Ordering::Relaxed) {
            let count = match stream.read(&mut bytes) {
                Ok(count @ 1..) => count,
                Ok(_) => return,
                // The time limit: look whether it is over.
                Err(_) => continue,
            };
            if let Some(mark) = arm.acks() {
                unread.extend_from_slice(&bytes[..count]);
                self.count(&mark, &mut unread);
                continue;
            }
            if !arm.publishes_in_frames() {
                continue;
            }
            unread.extend_from_slice(&bytes[..count]);
            let mut at = 0;
            while let Some((opcode, payload, length)) = read_frame(&unread[at..]) {
                self.take(arm, opcode, payload);
                at += length;
            }
            unread.drain(..at);
        }
    }

    /// Counts acks in whole lines.
    fn count(&self, mark: &AckMark, unread: &mut Vec<u8>) {
        let Some(end) = memmem::rfind(unread, b"\r\n") else { return };
        let lines = &unread[..end];
        let acked = memmem::find_iter(lines, mark.ack).count() as u64;
        self.acked.fetch_add(acked, Ordering::Relaxed);
        if memmem::find(lines, mark.refusal).is_some() {
            self.complain(|| String::from_utf8_lossy(lines).chars().take(300).collect());
        }
        unread.drain(..end);
    }

    fn complain(&self, text: impl FnOnce() -> String) {
        if let Ok(mut complaint) = self.complaint.lock() {
            complaint.get_or_insert_with(text);
        }
    }

    fn take_answers(&self, out: &mut Vec<u8>) {
        if let Ok(mut answers) = self.answers.lock() {
            out.append(&mut answers);
        }
    }

    fn take(&self, arm: &dyn Arm, opcode: u8, payload: &[u8]) {
        let mut answer = arm.answer(payload, 0).unwrap_or_default();
        if opcode == PING {
            write_frame(&mut answer, PONG, payload);
        }
        if let (false, Ok(mut answers)) = (answer.is_empty(), self.answers.lock()) {
            answers.extend_from_slice(&answer);
        }
        if arm.complaint(payload) {
            self.complain(|| String::from_utf8_lossy(payload).into_owned());
        }
    }
}
