//! More and more events in a second, over 100 conversations with a viewer each: what an event costs, and how long its ack and its delivery take.

use tests::load::Outcome;
use tests::load::clock::Clock;
use tests::load::driver::{Driver, Pace, Plan, Tally, Wish};
use tests::load::event::SMALL;
use tests::load::hub::BenchHub;

use crate::args::Args;
use crate::curve::Curves;

const SIZES: [u64; 6] = [100, 1_000, 3_000, 10_000, 20_000, 40_000];

const CONVERSATIONS: u64 = 100;
const PUBLISHERS: u64 = 4;

pub(crate) fn measure(args: &Args) -> Outcome<Curves> {
    let mut curves = Curves::new(
        "Events in a second, one in a frame, over 100 conversations with a viewer each",
        "events/s",
    );
    for _ in 0..args.rounds {
        for size in args.sizes(&SIZES) {
            round(args, *size, &mut curves)?;
        }
    }
    Ok(curves)
}

fn round(args: &Args, rate: u64, curves: &mut Curves) -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let hub = BenchHub::start(place.path(), &[])?;
    let clock = Clock::start();
    let plan = Plan {
        publishers: PUBLISHERS,
        conversations: CONVERSATIONS,
        first: 0,
        batch: 1,
        pace: Pace::Rate(rate / PUBLISHERS),
        length: u64::MAX,
        text_bytes: SMALL,
    };
    let mut driver = Driver::connect(hub.address(), plan, clock)?;
    driver.watch(hub.address(), CONVERSATIONS)?;
    let (tally, wish) = (parking_lot::Mutex::new(Tally::default()), Wish::default());
    driver.run(&wish, &tally, CONVERSATIONS)?;
    drop(std::mem::take(&mut *tally.lock()));
    let before = hub.rest()?;
    let began = clock.micros();
    driver.run(&wish, &tally, rate * args.seconds)?;
    let seconds = (clock.micros() - began) as f64 / 1e6;
    let spent = hub.rest()?.micros_since(&before);
    let found = tally.into_inner();
    let events = found.acked.max(1) as f64;
    curves.add("hub CPU µs per event, stored and delivered", rate, spent / events);
    curves.add("ack p99 ms", rate, found.acks.quantile(0.99) as f64 / 1e3);
    curves.add("delivery p99 ms", rate, found.deliveries.quantile(0.99) as f64 / 1e3);
    curves.add("reached, of the rate", rate, events / seconds / rate as f64);
    curves.complain(found.problems);
    Ok(())
}
