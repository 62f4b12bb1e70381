//! At full speed: so many events are always without an ack. The CPU has the making of rows in it, which goes on after the last ack.

use tests::load::clock::Clock;
use tests::load::driver::{Driver, Pace, Plan, Tally, Wish};
use tests::load::event::SMALL;
use tests::load::hub::BenchHub;
use tests::load::{Outcome, server};

use crate::args::Args;
use crate::{cell, note, problems, say};

/// What one round found.
#[derive(Debug)]
struct Round {
    events_per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    micros_per_event: f64,
    disk_bytes_per_event: f64,
    other_cores: f64,
    problems: Vec<String>,
}

/// All sizes, in turns.
pub(crate) fn run(args: &Args) -> Outcome<()> {
    let sizes: Vec<(u64, u64)> = args
        .conversations
        .iter()
        .flat_map(|conversations| args.batches.iter().map(|batch| (*conversations, *batch)))
        .collect();
    let mut found: Vec<Vec<Round>> = sizes.iter().map(|_| Vec::new()).collect();
    for number in 1..=args.rounds {
        for ((conversations, batch), rounds) in sizes.iter().zip(&mut found) {
            let round = round(args, *conversations, *batch)?;
            note(&format!("full {number}: {conversations} conversations, {batch} in a frame: {round:.2?}"));
            rounds.push(round);
        }
    }
    say(&format!(
        "## full: {} events without an ack at a time, {} connections, {} rounds of {} s; median (least to most)\n\n\
         | conversations | events in a frame | events/s stored | ack p50 ms | ack p99 ms | hub CPU µs for each event, rows included | \
         disk bytes for each | other cores | problems |\n|--:|--:|--:|--:|--:|--:|--:|--:|---|",
        args.ahead, args.publishers, args.rounds, args.seconds
    ));
    for ((conversations, batch), rounds) in sizes.iter().zip(&found) {
        let of = |which: fn(&Round) -> f64, digits| cell(rounds.iter().map(which), digits);
        say(&format!(
            "| {conversations} | {batch} | {} | {} | {} | {} | {} | {} | {} |",
            of(|round| round.events_per_second, 0),
            of(|round| round.p50_ms, 1),
            of(|round| round.p99_ms, 1),
            of(|round| round.micros_per_event, 2),
            of(|round| round.disk_bytes_per_event, 0),
            of(|round| round.other_cores, 2),
            problems(rounds.iter().flat_map(|round| round.problems.clone()))
        ));
    }
    say("\nGoals: at least 50,000 events/s, an ack's p99 of at most 20 ms, at most 4 µs for each event.\n");
    Ok(())
}

fn round(args: &Args, conversations: u64, batch: u64) -> Outcome<Round> {
    let place = tempfile::tempdir()?;
    let hub = BenchHub::start(place.path(), &[])?;
    let clock = Clock::start();
    let frames = usize::try_from((args.ahead / batch / args.publishers).max(1))?;
    let plan = Plan {
        publishers: args.publishers,
        conversations,
        first: 0,
        batch: 1,
        pace: Pace::Ahead(100),
        length: u64::MAX,
        text_bytes: SMALL,
    };
    let mut driver = Driver::connect(hub.address(), plan, clock)?;
    let (tally, wish) = (parking_lot::Mutex::new(Tally::default()), Wish::default());
    // Each conversation begins before anything counts.
    driver.run(&wish, &tally, conversations)?;
    driver.set_pace(Pace::Ahead(frames), batch);
    let (before, disk) = (hub.rest()?, hub.disk_bytes());
    let opened = std::mem::take(&mut *tally.lock());
    let (began, machine, own) = (clock.micros(), server::machine_cpu_micros(), server::own_cpu_micros());
    let mut other_cores = 0.0;
    let mut full = Tally::default();
    let mut seconds = 0.0;
    std::thread::scope(|scope| {
        let driving = scope.spawn(|| driver.run(&wish, &tally, u64::MAX));
        clock.wait_until(began + args.seconds * 1_000_000);
        full = std::mem::take(&mut *tally.lock());
        seconds = (clock.micros() - began) as f64 / 1e6;
        let hub_micros = tests::process::cpu(hub.pid()).saturating_sub(before.cpu).as_secs_f64() * 1e6;
        let busy = (server::machine_cpu_micros() - machine) as f64;
        let load = (server::own_cpu_micros() - own) as f64;
        other_cores = ((busy - load - hub_micros) / seconds / 1e6).max(0.0);
        wish.end();
        driving.join().map_err(|_panic| "the load failed")?
    })?;
    let spent = hub.rest()?.micros_since(&before);
    let rest = std::mem::take(&mut *tally.lock());
    let all = (full.acked + rest.acked).max(1) as f64;
    let problems = [opened.problems, full.problems, rest.problems].concat();
    Ok(Round {
        events_per_second: full.acked as f64 / seconds,
        p50_ms: full.acks.quantile(0.5) as f64 / 1e3,
        p99_ms: full.acks.quantile(0.99) as f64 / 1e3,
        micros_per_event: spent / all,
        disk_bytes_per_event: hub.disk_bytes().saturating_sub(disk) as f64 / all,
        other_cores,
        problems,
    })
}
