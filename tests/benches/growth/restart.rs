//! A start of the hub with more and more gigabytes on the disk: how long until it is ready and until it lists, after a kill and after a stop in peace.

use std::fmt::Write as _;

use tests::bulk::send_all;
use tests::load::Outcome;
use tests::load::hub::BenchHub;
use tests::scale::Dice;

use crate::args::Args;
use crate::curve::Curves;
use crate::history::asked;

/// Events of each conversation.
const EVENTS: u64 = 500;

/// Words in the text of an event, so that a log of gigabytes is there soon.
const EVENT_WORDS: u64 = 500;

/// How many different words there are: a log is packed, and searched.
const WORDS: u64 = 65_536;

/// Requests at a time.
const AT_ONCE: u64 = 4;

/// Parts of the whole size at which the hub is started.
const PARTS: [f64; 3] = [0.01, 0.1, 1.0];

pub(crate) fn measure(args: &Args) -> Outcome<Curves> {
    let whole = if args.gigabytes > 0.0 { args.gigabytes } else { 1.0 } * 1e9;
    let mut curves = Curves::new(
        format!(
            "Starts with up to {:.2} GB on the disk, {EVENTS} events of 4 KB in each conversation",
            whole / 1e9
        ),
        "MB",
    );
    let place = tempfile::tempdir()?;
    let mut hub = BenchHub::start(place.path(), &[])?;
    let mut first = 0;
    for part in PARTS {
        let wanted = (whole * part) as u64;
        while hub.disk_bytes() < wanted {
            first = fill(&hub, first, wanted.saturating_sub(hub.disk_bytes()))?;
            crate::note(&format!("{} MB on the disk", hub.disk_bytes() / 1_000_000));
        }
        hub.rest()?;
        let megabytes = (hub.disk_bytes() / 1_000_000).max(1);
        hub = hub.killed_and_started()?;
        curves.add("start after a kill until ready, ms", megabytes, hub.ready_after.as_secs_f64() * 1e3);
        curves.add("list after it, ms", megabytes, asked(&hub, "/v1/conversations?limit=50", 1)?);
        for _ in 0..args.rounds.min(3) {
            hub = hub.stopped_and_started()?;
            curves.add("start after a stop until ready, ms", megabytes, hub.ready_after.as_secs_f64() * 1e3);
        }
        curves.add("memory MB after it", megabytes, hub.resident_bytes() as f64 / 1e6);
    }
    Ok(curves)
}

/// Fills the hub with conversations from `first` on, for a part of what is missing; returns the number of the next.
fn fill(hub: &BenchHub, first: u64, missing: u64) -> Outcome<u64> {
    let text_bytes = EVENTS * EVENT_WORDS * 8;
    let end = first + (missing / text_bytes).clamp(4, 400);
    let url = format!("http://{}/v1/conversations", hub.address());
    let client = reqwest::Client::new();
    let put = move |number| client.post(format!("{url}/c{number}/events")).body(story(number));
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?
        .block_on(send_all(first..end, AT_ONCE, put))?;
    hub.rest()?;
    Ok(end)
}

/// One conversation in lines of events.
fn story(conversation: u64) -> String {
    let mut dice = Dice(conversation);
    let mut lines = String::from(
        "{\"k\":\"run.start\",\"run\":\"r1\"}\n{\"k\":\"part.start\",\"run\":\"r1\",\"part\":\"p1\",\"kind\":\"text\"}\n",
    );
    for _ in 0..EVENTS {
        lines.push_str("{\"k\":\"part.delta\",\"run\":\"r1\",\"part\":\"p1\",\"text\":\"");
        for _ in 0..EVENT_WORDS {
            // Words of seven letters and digits of which each has nothing to do with the next.
            let word = (dice.roll() % WORDS).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 36;
            // Writing into memory does not fail.
            write!(lines, "{word:07x} ").unwrap_or_default();
        }
        lines.push_str("\"}\n");
    }
    lines.push_str("{\"k\":\"part.end\",\"run\":\"r1\",\"part\":\"p1\"}\n{\"k\":\"run.end\",\"run\":\"r1\",\"status\":\"complete\"}\n");
    lines
}
