//! A hundred publishers, of which one floods: what the viewers of the others feel of it, beside the same without the flood. The one that floods has a
//! thread of its own, so that the load does not hold up itself.

use tests::load::Outcome;
use tests::load::clock::Clock;
use tests::load::driver::{Driver, Pace, Plan, Tally, Wish};
use tests::load::event::SMALL;
use tests::load::hub::BenchHub;

use crate::args::Args;
use crate::{cell, note, problems, say};

/// Publishers that keep to their rate, each with a conversation and a viewer.
const OTHERS: u64 = 99;

/// Events in a second of each of them.
const RATE: u64 = 20;

/// Frames of the one that floods without an ack: fewer than the hub owes a socket before it stops reading.
const FLOOD_AHEAD: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arm {
    Quiet,
    /// With this many events in a frame of the flood.
    Flooded(u64),
}

impl Arm {
    const ALL: [Self; 3] = [Self::Quiet, Self::Flooded(1), Self::Flooded(24)];

    fn name(self) -> String {
        match self {
            Self::Quiet => "no flood".to_owned(),
            Self::Flooded(events) => format!("flood, {events} in a frame"),
        }
    }
}

#[derive(Debug)]
struct Round {
    p50_ms: f64,
    p99_ms: f64,
    ack_p99_ms: f64,
    flood_per_second: f64,
    problems: Vec<String>,
}

/// All arms, in turns.
pub(crate) fn run(args: &Args) -> Outcome<()> {
    let mut found: [Vec<Round>; 3] = [const { Vec::new() }; 3];
    for number in 1..=args.rounds {
        for (arm, rounds) in Arm::ALL.into_iter().zip(&mut found) {
            let round = round(args, arm)?;
            note(&format!("flood {number}, {}: {round:.2?}", arm.name()));
            rounds.push(round);
        }
    }
    say(&format!(
        "## flood: {OTHERS} publishers with {RATE} events/s and a viewer each, and one at full speed; {} rounds of {} s; median (least to most)\n\n\
         | | deliveries p50 ms | deliveries p99 ms | acks p99 ms | events/s of the flood | problems |\n|---|--:|--:|--:|--:|---|",
        args.rounds, args.seconds
    ));
    for (arm, rounds) in Arm::ALL.into_iter().zip(&found) {
        let of = |which: fn(&Round) -> f64, digits| cell(rounds.iter().map(which), digits);
        say(&format!(
            "| {} | {} | {} | {} | {} | {} |",
            arm.name(),
            of(|round| round.p50_ms, 2),
            of(|round| round.p99_ms, 2),
            of(|round| round.ack_p99_ms, 1),
            of(|round| round.flood_per_second, 0),
            problems(rounds.iter().flat_map(|round| round.problems.clone()))
        ));
    }
    say("");
    Ok(())
}

fn round(args: &Args, arm: Arm) -> Outcome<Round> {
    let place = tempfile::tempdir()?;
    let hub = BenchHub::start(place.path(), &[])?;
    let clock = Clock::start();
    let plan = Plan {
        publishers: OTHERS,
        conversations: OTHERS,
        first: 0,
        batch: 1,
        pace: Pace::Rate(RATE),
        length: u64::MAX,
        text_bytes: SMALL,
    };
    let mut others = Driver::connect(hub.address(), plan, clock)?;
    others.watch(hub.address(), OTHERS)?;
    let (tally, flooded) =
        (parking_lot::Mutex::new(Tally::default()), parking_lot::Mutex::new(Tally::default()));
    let mut flooding = match arm {
        Arm::Quiet => None,
        Arm::Flooded(batch) => {
            let plan = Plan {
                publishers: 1,
                conversations: 1,
                first: OTHERS,
                batch,
                pace: Pace::Ahead(FLOOD_AHEAD),
                // The state of a conversation has a bound; one that floods goes on in the next.
                length: 48_000,
                text_bytes: SMALL,
            };
            Some(Driver::connect(hub.address(), plan, clock)?)
        }
    };
    let (wish, mut measured, mut flood) = (Wish::default(), Tally::default(), Tally::default());
    std::thread::scope(|scope| {
        let mut running = vec![scope.spawn(|| others.run(&wish, &tally, u64::MAX))];
        if let Some(driver) = &mut flooding {
            running.push(scope.spawn(|| driver.run(&wish, &flooded, u64::MAX)));
        }
        // The first second does not count.
        let began = clock.micros() + 1_000_000;
        clock.wait_until(began);
        drop((std::mem::take(&mut *tally.lock()), std::mem::take(&mut *flooded.lock())));
        clock.wait_until(began + args.seconds * 1_000_000);
        (measured, flood) = (std::mem::take(&mut *tally.lock()), std::mem::take(&mut *flooded.lock()));
        wish.end();
        for thread in running {
            thread.join().map_err(|_panic| "the load failed")??;
        }
        Outcome::Ok(())
    })?;
    let ms = |micros: u64| micros as f64 / 1e3;
    let rest = [tally.into_inner().problems, flooded.into_inner().problems].concat();
    Ok(Round {
        p50_ms: ms(measured.deliveries.quantile(0.5)),
        p99_ms: ms(measured.deliveries.quantile(0.99)),
        ack_p99_ms: ms(measured.acks.quantile(0.99)),
        flood_per_second: flood.acked as f64 / args.seconds as f64,
        problems: [measured.problems, flood.problems, rest].concat(),
    })
}
