//! For a long time at a rate, with viewers: a line for each minute. Then the hub is killed in the middle of it and started again, and each
//! conversation is read: nothing that was acked may be missing, double or out of order.

use std::collections::BTreeMap;

use tests::load::Outcome;
use tests::load::clock::Clock;
use tests::load::driver::{Driver, Pace, Plan, Tally, Told, Wish};
use tests::load::event::{SMALL, Scan};
use tests::load::hub::BenchHub;

use crate::args::Args;
use crate::{note, problems, say};

const MINUTE: u64 = 60_000_000;

pub(crate) fn run(args: &Args) -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let mut hub = BenchHub::start(place.path(), &[])?;
    let clock = Clock::start();
    let publishers = args.publishers.min(args.viewers);
    let plan = Plan {
        publishers,
        conversations: args.viewers,
        first: 0,
        batch: args.batch,
        pace: Pace::Rate(args.rate / publishers),
        length: args.length,
        text_bytes: SMALL,
    };
    let mut driver = Driver::connect(hub.address(), plan, clock)?;
    driver.watch(hub.address(), args.viewers)?;
    say(&format!(
        "## long: {} events/s, {} in a frame, {} conversations of {} events with a viewer each\n\n\
         | minute | events/s stored | deliveries/s | memory MB | disk MB | hub cores | ack p50 ms | ack p99 ms | delivery p50 ms | delivery p99 ms | problems |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|",
        args.rate, args.batch, args.viewers, args.length
    ));
    let (tally, wish) = (parking_lot::Mutex::new(Tally::default()), Wish::default());
    let disk = std::thread::scope(|scope| {
        let driving = scope.spawn(|| driver.run(&wish, &tally, u64::MAX));
        let (began, mut cpu) = (clock.micros(), tests::process::cpu(hub.pid()));
        for minute in 1..=args.minutes {
            clock.wait_until(began + minute * MINUTE);
            let now = tests::process::cpu(hub.pid());
            let cores = now.saturating_sub(cpu).as_secs_f64() / 60.0;
            cpu = now;
            line(minute, &hub, cores, std::mem::take(&mut *tally.lock()));
            if driving.is_finished() {
                break;
            }
        }
        let disk = hub.disk_bytes();
        wish.cut();
        hub.kill()?;
        driving.join().map_err(|_panic| "the load failed")??;
        Outcome::Ok(disk)
    })?;
    let hub = hub.killed_and_started()?;
    say(&format!(
        "\nKilled with {} MB on the disk: the hub was ready again after {:.0} ms.",
        disk / 1_000_000,
        hub.ready_after.as_secs_f64() * 1e3
    ));
    read_again(&hub, driver.told())
}

fn line(minute: u64, hub: &BenchHub, cores: f64, tally: Tally) {
    let ms = |micros: u64| micros as f64 / 1e3;
    say(&format!(
        "| {minute} | {} | {} | {:.0} | {:.0} | {cores:.2} | {:.1} | {:.1} | {:.2} | {:.2} | {} |",
        tally.acked / 60,
        tally.delivered / 60,
        hub.resident_bytes() as f64 / 1e6,
        hub.disk_bytes() as f64 / 1e6,
        ms(tally.acks.quantile(0.5)),
        ms(tally.acks.quantile(0.99)),
        ms(tally.deliveries.quantile(0.5)),
        ms(tally.deliveries.quantile(0.99)),
        problems(tally.problems)
    ));
}

/// Reads every conversation and compares it with what was acked.
fn read_again(hub: &BenchHub, told: &BTreeMap<u64, Told>) -> Outcome<()> {
    let clock = Clock::start();
    let (mut there, mut acked, mut missing, mut wrong, mut too_many) = (0, 0, 0, 0, 0);
    for (number, (conversation, told)) in told.iter().enumerate() {
        // One of which nothing was acked may not be there.
        let body = match hub.get(&format!("/v1/conversations/c{conversation}")) {
            Err(error) if told.acked > 0 => return Err(error),
            body => body.unwrap_or_default(),
        };
        let mut scan = Scan::new(SMALL);
        scan.take(&body, &mut |_| {});
        there += scan.next;
        acked += told.acked;
        missing += told.acked.saturating_sub(scan.next);
        wrong += scan.wrong;
        too_many += scan.next.saturating_sub(told.sent);
        if number % 1_000 == 999 {
            note(&format!("{} conversations are read", number + 1));
        }
    }
    say(&format!(
        "{} conversations read in {:.1} s: {there} deltas are there, {acked} were acked; **{missing} missing, {wrong} double, broken or out of order**, \
         {too_many} that nobody sent\n",
        told.len(),
        clock.micros() as f64 / 1e6
    ));
    if missing + wrong + too_many > 0 { Err("the log is not what was acked".into()) } else { Ok(()) }
}
