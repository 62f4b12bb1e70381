//! More and more conversations, each with a few events and its run still open: memory for each, the list, and what an event costs.

use tests::load::Outcome;
use tests::load::clock::Clock;
use tests::load::driver::{Driver, Pace, Plan, Tally, Wish};
use tests::load::event::SMALL;
use tests::load::hub::BenchHub;

use crate::args::Args;
use crate::curve::Curves;
use crate::history::asked;

const SIZES: [u64; 6] = [1, 10, 100, 1_000, 10_000, 100_000];

/// Events of each conversation, in one frame; the run and the part that it begins with are not counted.
const EVENTS: u64 = 8;

/// Conversations that one life of a hub gets: it has room for 50,000 in memory, and those that are over leave it only after ten minutes.
const LIFE: u64 = 40_000;

/// Events in a second while the cost of one is measured.
const RATE: u64 = 4_000;

pub(crate) fn measure(args: &Args) -> Outcome<Curves> {
    let mut curves = Curves::new(
        format!(
            "Conversations of {EVENTS} events, their runs open; more than {LIFE} come in several lives of the hub and are over, since it has room for 50,000 \
             in memory. Beside them {RATE} events/s over at most 300 others"
        ),
        "conversations",
    );
    for number in 0..args.rounds {
        // A hundred thousand take a minute each: once is enough to see whether they differ.
        for size in args.sizes(&SIZES).iter().filter(|size| number == 0 || **size <= 10_000) {
            round(args, *size, &mut curves)?;
        }
    }
    Ok(curves)
}

fn round(args: &Args, conversations: u64, curves: &mut Curves) -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let mut hub = BenchHub::start(place.path(), &[])?;
    let clock = Clock::start();
    let length = if conversations > LIFE { EVENTS } else { u64::MAX };
    let (tally, wish) = (parking_lot::Mutex::new(Tally::default()), Wish::default());
    hub.rest()?;
    let empty = hub.resident_bytes();
    let mut there = 0;
    while there < conversations {
        if there > 0 {
            hub = hub.stopped_and_started()?;
        }
        let some = LIFE.min(conversations - there);
        let (batch, pace) = (EVENTS, Pace::Ahead(16));
        let plan =
            Plan { publishers: 8, conversations: some, first: there, batch, pace, length, text_bytes: SMALL };
        Driver::connect(hub.address(), plan, clock)?.run(&wish, &tally, some * EVENTS)?;
        there += some;
        hub.rest()?;
    }
    // What an empty hub has already hides what few conversations take.
    if conversations >= 100 {
        let grown = hub.resident_bytes().saturating_sub(empty);
        curves.add(
            "memory KiB per conversation",
            conversations,
            grown as f64 / 1024.0 / conversations as f64,
        );
        curves.add(
            "disk KiB per conversation",
            conversations,
            hub.disk_bytes() as f64 / 1024.0 / conversations as f64,
        );
    }
    curves.add("list of 50, ms", conversations, asked(&hub, "/v1/conversations?limit=50", args.queries)?);
    // New ones beside those that are there, so that every size has the same load.
    let some = conversations.min(300);
    let plan = Plan {
        publishers: 4,
        conversations: some,
        first: 2 * conversations + 1_000,
        batch: 1,
        pace: Pace::Rate(RATE / some.min(4)),
        length: u64::MAX,
        text_bytes: SMALL,
    };
    let mut driver = Driver::connect(hub.address(), plan, clock)?;
    driver.run(&wish, &tally, some)?;
    let mut filled = std::mem::take(&mut *tally.lock());
    let (before, began) = (hub.rest()?, clock.micros());
    driver.run(&wish, &tally, RATE * args.seconds)?;
    let after = hub.rest()?;
    let elapsed = (clock.micros() - began) as f64;
    let found = tally.into_inner();
    // What looking after all that are open takes is a figure of its own.
    let spent = (after.micros_since(&before) - before.idle_cores * elapsed).max(0.0);
    let micros = spent / found.acked.max(1) as f64;
    curves.add("CPU at rest, % of a core", conversations, after.idle_cores * 100.0);
    curves.add("hub CPU µs per event beside them", conversations, micros);
    curves.add("ack p99 ms beside them", conversations, found.acks.quantile(0.99) as f64 / 1e3);
    filled.problems.extend(found.problems);
    curves.complain(filled.problems);
    Ok(())
}
