//! One conversation with more and more events: how long a newcomer waits and how many bytes it gets, how long somebody waits who missed the last 100
//! events, the list, a search, and a start of the hub until it is ready and until the conversation can be read.

use std::net::SocketAddr;

use tests::load::Outcome;
use tests::load::clock::Clock;
use tests::load::driver::{Driver, Pace, Plan, Tally, Wish};
use tests::load::event::Scan;
use tests::load::hub::BenchHub;
use tests::load::native::{HELLO, field, head, is_kind};
use tests::load::spread;
use tests::load::websocket::{Socket, TEXT, read_frame};

use crate::args::Args;
use crate::curve::Curves;

const SIZES: [u64; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// The shortest text that can be found again: a token is not longer, and the state of a conversation has a bound of 64 MiB.
const TEXT_BYTES: usize = 28;

/// How many events somebody missed who comes back.
const MISSED: u64 = 100;

pub(crate) fn measure(args: &Args) -> Outcome<Curves> {
    let mut curves = Curves::new("Events of one conversation, each a token", "events");
    for number in 0..args.rounds {
        // A million take half a minute each: once is enough to see whether they differ.
        for size in args.sizes(&SIZES).iter().filter(|size| number == 0 || **size <= 100_000) {
            round(args, *size, &mut curves)?;
        }
    }
    Ok(curves)
}

fn round(args: &Args, events: u64, curves: &mut Curves) -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let hub = BenchHub::start(place.path(), &[])?;
    let clock = Clock::start();
    let plan = Plan {
        publishers: 1,
        conversations: 1,
        first: 0,
        batch: 24,
        pace: Pace::Ahead(40),
        length: u64::MAX,
        text_bytes: TEXT_BYTES,
    };
    let (tally, wish) = (parking_lot::Mutex::new(Tally::default()), Wish::default());
    Driver::connect(hub.address(), plan, clock)?.run(&wish, &tally, events)?;
    curves.complain(tally.into_inner().problems);
    hub.rest()?;
    let (mut joined, mut resumed, mut bytes) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..args.queries {
        let newcomer = join(hub.address(), events, None, clock)?;
        joined.push(newcomer.ms);
        bytes = newcomer.bytes as f64;
        if events > 2 * MISSED {
            let have = (newcomer.epoch, newcomer.seq - MISSED);
            resumed.push(join(hub.address(), MISSED, Some(have), clock)?.ms);
        }
    }
    curves.add("late join ms", events, spread(joined)[1]);
    curves.add("late join bytes", events, bytes);
    if !resumed.is_empty() {
        curves.add("resume after 100 missed, ms", events, spread(resumed)[1]);
    }
    curves.add("list ms", events, asked(&hub, "/v1/conversations?limit=50", args.queries)?);
    curves.add("search ms", events, asked(&hub, "/v1/search?q=answer", args.queries)?);
    // Of few events most is what an empty log takes.
    if events >= 1_000 {
        curves.add("disk bytes per event", events, hub.disk_bytes() as f64 / events as f64);
    }
    let hub = hub.killed_and_started()?;
    curves.add("start after a kill until ready, ms", events, hub.ready_after.as_secs_f64() * 1e3);
    let first = join(hub.address(), events, None, clock)?;
    curves.add("first join after a start, ms", events, first.ms);
    Ok(())
}

/// What somebody got who joined.
struct Joined {
    ms: f64,
    bytes: usize,
    epoch: String,
    seq: u64,
}

/// Subscribes, from a position or from the beginning, and reads until `events` are there. The time runs from connecting on.
fn join(at: SocketAddr, events: u64, have: Option<(String, u64)>, clock: Clock) -> Outcome<Joined> {
    let began = clock.micros();
    let mut socket = Socket::open(at, "/v1/ws", Some("fanlight.v1"))?;
    socket.send(TEXT, HELLO)?;
    let have = have.map(|(epoch, seq)| format!(r#","have":{{"epoch":"{epoch}","seq":{seq}}}"#));
    let from = if have.is_some() { None } else { Some(0) };
    let text = format!(r#"{{"t":"sub","sub":1,"conv":"c0"{}}}"#, have.unwrap_or_default());
    socket.send(TEXT, text.as_bytes())?;
    let (mut bytes, mut epoch, mut seq, mut found) = (socket.unread.len(), String::new(), 0, 0);
    let mut scan = Scan::new(TEXT_BYTES);
    while found < events {
        while let Some((_, payload, length)) = read_frame(&socket.unread) {
            let start = head(payload);
            if is_kind(start, b"error") || is_kind(start, b"bye") {
                return Err(String::from_utf8_lossy(payload).into_owned().into());
            }
            if is_kind(start, b"subscribed") || is_kind(start, b"snap") {
                epoch = text_of(start, r#""epoch":""#).unwrap_or(epoch);
                seq = field(start, br#""seq":"#).or(field(start, br#""head":"#)).unwrap_or(seq);
            }
            scan.take(payload, &mut |_| {});
            seq = field(start, br#""to":"#).unwrap_or(seq);
            // Somebody who has the beginning finds events with other numbers than from 0 on.
            found = if from.is_some() { scan.next } else { scan.next + scan.wrong };
            socket.unread.drain(..length);
        }
        if found < events {
            bytes += socket.fill()?;
        }
    }
    Ok(Joined { ms: (clock.micros() - began) as f64 / 1e3, bytes, epoch, seq })
}

/// The text after `name`, up to the next quotation mark.
fn text_of(head: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let (_, rest) = text.split_once(name)?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// The median of the time that an answer takes, in milliseconds.
pub(crate) fn asked(hub: &BenchHub, path: &str, queries: u64) -> Outcome<f64> {
    let mut times = Vec::new();
    for _ in 0..queries {
        let clock = Clock::start();
        hub.get(path)?;
        times.push(clock.micros() as f64 / 1e3);
    }
    Ok(spread(times)[1])
}
