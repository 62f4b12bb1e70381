//! The frames of this hub's own protocol, as bytes.

use std::io::Write as _;

use memchr::memmem;

use super::event::{EVENTS_PER_PART, Event, write_number};

/// The first frame of a client.
pub const HELLO: &[u8] = br#"{"t":"hello","versions":["1"],"client":"bench"}"#;

/// The beginning of a frame, in which its kind and its numbers stand.
pub fn head(payload: &[u8]) -> &[u8] {
    &payload[..payload.len().min(200)]
}

/// Whether it is a frame of this kind.
pub fn is_kind(head: &[u8], kind: &[u8]) -> bool {
    memmem::find(head, br#""t":""#)
        .is_some_and(|at| head[at + 5..].starts_with(kind) && head.get(at + 5 + kind.len()) == Some(&b'"'))
}

/// The number after `name`, looked for in the head of a frame only.
pub fn field(head: &[u8], name: &[u8]) -> Option<u64> {
    let at = memmem::find(head, name)? + name.len();
    let digits = head.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |sum, byte| sum * 10 + u64::from(byte - b'0')))
}

/// What stands before the first delta of a part, each event followed by a comma; the number of those events beside it.
pub fn opening(event: &Event) -> (String, u64) {
    let part = event.part();
    let start = format!(r#"{{"k":"part.start","run":"r1","part":"p{part}","kind":"text"}},"#);
    if event.number < EVENTS_PER_PART {
        return (format!(r#"{{"k":"run.start","run":"r1"}},{start}"#), 2);
    }
    (format!(r#"{{"k":"part.end","run":"r1","part":"p{}"}},{start}"#, part - 1), 2)
}

/// One publication with numbers, whose ack is awaited at the level `stored`.
#[derive(Debug, Clone, Copy)]
pub struct Publication {
    /// The number that its ack has.
    pub id: u64,
    /// The number of the frame in its conversation, from 1.
    pub frame: u64,
    /// The first of its events.
    pub first: Event,
    /// How many events.
    pub events: u64,
    /// Whether the run ends with it.
    pub is_last: bool,
}

impl Publication {
    /// Appends the frame's JSON; says how many events stand in it, those that open and close parts counted.
    pub fn write(&self, out: &mut Vec<u8>) -> u64 {
        let Self { id, frame, first, events, is_last } = *self;
        let conversation = first.conversation;
        // Writing into memory does not fail.
        drop(write!(
            out,
            r#"{{"t":"pub","id":{id},"conv":"c{conversation}","pid":"bench","pepoch":1,"pseq":{frame},"durability":"stored","events":["#
        ));
        let mut count = events;
        for number in first.number..first.number + events {
            let event = Event { number, ..first };
            if event.opens_part() {
                let (text, more) = opening(&event);
                out.extend_from_slice(text.as_bytes());
                count += more;
            }
            event.write_json(out);
            out.push(b',');
        }
        if is_last {
            let part = Event { number: first.number + events - 1, ..first }.part();
            out.extend_from_slice(br#"{"k":"part.end","run":"r1","part":"p"#);
            write_number(out, part);
            out.extend_from_slice(br#""},{"k":"run.end","run":"r1","status":"complete"},"#);
            count += 2;
        }
        out.pop();
        out.extend_from_slice(b"]}");
        count
    }
}
