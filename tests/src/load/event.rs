//! The events that every arm carries, and the check that a viewer got each of them once and in order.
//!
//! An event is a `part.delta` of about 120 bytes of JSON. Its text has a fixed length, starts with `~#` and holds the
//! number of the event in its conversation and the time when it was sent, so it can be found again whatever a server
//! wraps around it, and also when a server joins neighbours into one text.

use memchr::memmem;

/// Length of the text that makes an event about 120 bytes long.
pub const SMALL: usize = 69;
/// Length of the text that makes an event 2 KB long.
pub const LARGE: usize = 1_997;
/// Events of one part; then the next part begins, as a model's thinking and answers follow each other.
pub const EVENTS_PER_PART: u64 = 2_000;

const NUMBER_AT: usize = 2;
const NUMBER_BYTES: usize = 8;
const TIME_AT: usize = 11;
const TIME_BYTES: usize = 16;
const FILLER: &[u8] = b" and so the answer goes on word for word";

/// One event as each arm of the benchmark sends it.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// Which conversation, from 0.
    pub conversation: u64,
    /// Its number in the conversation, from 0.
    pub number: u64,
    /// When it was sent, see [`super::clock::Clock`].
    pub micros: u64,
    /// Length of its text.
    pub text_bytes: usize,
}

impl Event {
    /// The part that it belongs to, from 1.
    pub fn part(&self) -> u64 {
        self.number / EVENTS_PER_PART + 1
    }

    /// Whether it is the first of its part.
    pub fn opens_part(&self) -> bool {
        self.number.is_multiple_of(EVENTS_PER_PART)
    }

    /// Appends the event as JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"k\":\"part.delta\",\"run\":\"r1\",\"part\":\"p");
        write_number(out, self.part());
        out.extend_from_slice(b"\",\"text\":\"");
        self.write_text(out);
        out.extend_from_slice(b"\"}");
    }

    fn write_text(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.text_bytes;
        out.extend_from_slice(b"~#");
        write_digits(out, self.number, NUMBER_BYTES);
        out.push(b'@');
        write_digits(out, self.micros, TIME_BYTES);
        while out.len() < end - 1 {
            let room = end - 1 - out.len();
            out.extend_from_slice(&FILLER[..room.min(FILLER.len())]);
        }
        out.push(b';');
    }
}

fn write_digits(out: &mut Vec<u8>, mut number: u64, digits: usize) {
    let start = out.len();
    out.resize(start + digits, b'0');
    for place in out[start..].iter_mut().rev() {
        *place = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// Appends `number` in decimal.
pub fn write_number(out: &mut Vec<u8>, number: u64) {
    let digits = number.checked_ilog10().unwrap_or(0) + 1;
    write_digits(out, number, digits as usize);
}

/// Eight digits at once: each step joins neighbours into numbers of twice as many digits.
fn read_eight(text: &[u8], at: usize) -> u64 {
    let mut digits = [b'0'; 8];
    digits.copy_from_slice(&text[at..at + 8]);
    let ones = u64::from_le_bytes(digits) & 0x0F0F_0F0F_0F0F_0F0F;
    let pairs = (ones.wrapping_mul(10 << 8 | 1) >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_FFFF_0000_FFFF;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// Finds the events in what one viewer gets.
#[derive(Debug)]
pub struct Scan {
    text_bytes: usize,
    /// The number that must come next.
    pub next: u64,
    /// Events that came double, out of order, or broken.
    pub wrong: u64,
    /// The start of an event whose end has not arrived.
    partial: Vec<u8>,
}

impl Scan {
    /// Waits for event 0.
    pub fn new(text_bytes: usize) -> Self {
        Self { text_bytes, next: 0, wrong: 0, partial: Vec::new() }
    }

    /// One for the same events that waits for event 0 again.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::new(self.text_bytes)
    }

    /// Takes the next bytes and tells `each` the send time of every event that is now whole and is the one that had
    /// to come next.
    pub fn take(&mut self, bytes: &[u8], each: &mut impl FnMut(u64)) {
        if self.partial.is_empty() {
            let rest = self.take_whole(bytes, each);
            self.partial.extend_from_slice(&bytes[rest..]);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            let rest = self.take_whole(&joined, each);
            joined.drain(..rest);
            self.partial = joined;
        }
    }

    /// Takes what is whole; returns where the rest begins that more bytes may complete.
    fn take_whole(&mut self, bytes: &[u8], each: &mut impl FnMut(u64)) -> usize {
        let mut at = 0;
        loop {
            // Joined events stand next to each other: look there before searching.
            if !bytes[at..].starts_with(b"~#") {
                match memmem::find(&bytes[at..], b"~#") {
                    Some(found) => at += found,
                    None => return bytes.len() - usize::from(bytes.ends_with(b"~")),
                }
            }
            let Some(text) = bytes.get(at..at + self.text_bytes) else { return at };
            at += self.text_bytes;
            if read_eight(text, NUMBER_AT) == self.next && text.ends_with(b";") {
                self.next += 1;
                each(read_eight(text, TIME_AT) * 100_000_000 + read_eight(text, TIME_AT + 8));
            } else {
                self.wrong += 1;
            }
        }
    }
}
