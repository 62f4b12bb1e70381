//! One conversation with more and more viewers: what a delivery costs, and when it arrives.

use tests::load::Outcome;
use tests::load::clock::Clock;
use tests::load::driver::{Driver, Pace, Plan, Tally, Wish};
use tests::load::event::SMALL;
use tests::load::hub::BenchHub;

use crate::args::Args;
use crate::curve::Curves;

const SIZES: [u64; 5] = [1, 10, 100, 1_000, 10_000];

/// Deliveries in a second that are aimed at, and the bounds of the rate that follows.
const DELIVERIES: u64 = 40_000;
const RATES: (u64, u64) = (4, 2_000);

pub(crate) fn measure(args: &Args) -> Outcome<Curves> {
    let mut curves = Curves::new(
        "Viewers of one conversation, at about 40,000 deliveries/s and at most 2,000 events/s",
        "viewers",
    );
    for _ in 0..args.rounds {
        for size in args.sizes(&SIZES) {
            round(args, *size, &mut curves)?;
        }
    }
    Ok(curves)
}

fn round(args: &Args, viewers: u64, curves: &mut Curves) -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let hub = BenchHub::start(place.path(), &[])?;
    let clock = Clock::start();
    let rate = (DELIVERIES / viewers).clamp(RATES.0, RATES.1);
    let plan = Plan {
        publishers: 1,
        conversations: 1,
        first: 0,
        batch: 1,
        pace: Pace::Rate(rate),
        length: u64::MAX,
        text_bytes: SMALL,
    };
    let mut driver = Driver::connect(hub.address(), plan, clock)?;
    let empty = hub.resident_bytes();
    driver.watch(hub.address(), viewers)?;
    let (tally, wish) = (parking_lot::Mutex::new(Tally::default()), Wish::default());
    // The first event is at every viewer before anything counts.
    driver.run(&wish, &tally, 1)?;
    let grown = hub.resident_bytes().saturating_sub(empty);
    drop(std::mem::take(&mut *tally.lock()));
    let before = hub.rest()?;
    driver.run(&wish, &tally, rate * args.seconds)?;
    let spent = hub.rest()?.micros_since(&before);
    let found = tally.into_inner();
    curves.add("hub CPU µs per delivery", viewers, spent / found.delivered.max(1) as f64);
    curves.add("delivery p50 ms", viewers, found.deliveries.quantile(0.5) as f64 / 1e3);
    curves.add("delivery p99 ms", viewers, found.deliveries.quantile(0.99) as f64 / 1e3);
    if viewers >= 100 {
        curves.add("memory KiB per viewer", viewers, grown as f64 / 1024.0 / viewers as f64);
    }
    curves.complain(found.problems);
    Ok(())
}
