//! One measured stream: a server, viewers, a publisher, and what they cost and got.

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::arm::{Arm, Server};
use crate::publisher::{Program, publish};
use crate::viewer::{Progress, Viewer, connect, watch};
use crate::{Failure, Outcome};
use tests::load::clock::Clock;
use tests::load::histogram::Histogram;
use tests::load::server::{machine_cpu_micros, own_cpu_micros};

/// What to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// How many conversations.
    pub(crate) conversations: u64,
    /// Viewers of each conversation that read.
    pub(crate) viewers: u64,
    /// Viewers of each conversation that never read until all is over.
    pub(crate) stalled: u64,
    /// Events of each conversation per second.
    pub(crate) rate: u64,
    /// Length of an event's text.
    pub(crate) text_bytes: usize,
    /// How long to measure, in seconds, after one second that does not count.
    pub(crate) seconds: u64,
    /// How long viewers may take to get the last event, in seconds.
    pub(crate) patience: u64,
}

/// What a stream gave.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    /// CPU of the server for each delivery, in microseconds.
    pub(crate) micros_per_delivery: f64,
    /// Deliveries per second.
    pub(crate) deliveries_per_second: f64,
    /// From sending an event to having read it, in milliseconds: half of all and 99 of 100 took no longer.
    pub(crate) p50_ms: f64,
    /// See there.
    pub(crate) p99_ms: f64,
    /// Share of one core that the load took.
    pub(crate) load_cores: f64,
    /// Share of one core that the server took.
    pub(crate) server_cores: f64,
    /// Cores that everything else on the machine took: a figure from a busy machine is worth little.
    pub(crate) other_cores: f64,
    /// How much the server's memory grew at most, in bytes.
    pub(crate) growth_bytes: u64,
    /// Stalled viewers that had every event once they read again.
    pub(crate) recovered: u64,
    /// What was not as it must be.
    pub(crate) problems: Vec<String>,
}

const WARM_UP: u64 = 1_000_000;
const SECOND: u64 = 1_000_000;

/// Runs one stream with a server of its own.
pub(crate) fn stream(arm: &dyn Arm, plan: &Plan, place: &Path) -> Outcome<Streamed> {
    let clock = Clock::start();
    let server = arm.start(place)?;
    let conversations = plan.conversations;
    let mut viewers = connect(arm, &server, plan.viewers * conversations, conversations, plan.text_bytes)?;
    let mut stalled = connect(arm, &server, plan.stalled * conversations, conversations, plan.text_bytes)?;
    let all = viewers.len() + stalled.len();
    server.process.wait_ready(|| arm.has_viewers(&server, all))?;
    let publisher = arm.open_publisher(server.publish)?;
    let events = plan.rate * (plan.seconds + 1);
    let program = Program { conversations, rate: plan.rate, events, text_bytes: plan.text_bytes };

    let progress = Progress::default();
    let start = clock.micros() + 200_000;
    progress.count_from.store(start + WARM_UP, Ordering::Relaxed);
    let (mut streamed, latencies, complaint) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(arm, &mut viewers, clock, &progress));
        let publishing = scope.spawn(|| publish(arm, publisher, &program, (clock, start), &progress));
        let streamed = measure(&server, plan, &progress, (clock, start));
        clock.wait_for(plan.patience, || watching.is_finished());
        progress.is_over.store(true, Ordering::Relaxed);
        let latencies = watching.join().map_err(|_panic| "the viewers failed")??;
        let complaint = publishing.join().map_err(|_panic| "the publisher failed")?;
        Ok::<_, Failure>((streamed, latencies, complaint))
    })?;
    let complaint = complaint.unwrap_or_else(|error| Some(format!("publisher: {error}")));
    streamed.problems.extend(complaint);
    streamed.take_latencies(&latencies);
    streamed.check(&viewers, events);
    if !stalled.is_empty() {
        streamed.recover(arm, &mut stalled, clock, events)?;
    }
    Ok(streamed)
}

/// CPU and deliveries from the end of the warm-up on.
fn measure(server: &Server, plan: &Plan, progress: &Progress, (clock, start): (Clock, u64)) -> Streamed {
    let resident = server.process.resident_bytes();
    let mark = || {
        let delivered = progress.delivered.load(Ordering::Relaxed);
        [clock.micros(), server.process.cpu_micros(), delivered, own_cpu_micros(), machine_cpu_micros()]
    };
    clock.wait_until(start + WARM_UP);
    let before = mark();
    let mut peak = 0;
    for half_second in 1..=plan.seconds * 2 {
        clock.wait_until(start + WARM_UP + half_second * SECOND / 2);
        if plan.stalled > 0 {
            peak = peak.max(server.process.resident_bytes());
        }
    }
    let after = mark();
    let [micros, cpu, delivered, load, machine] =
        std::array::from_fn(|which| after[which].saturating_sub(before[which]) as f64);
    Streamed {
        micros_per_delivery: cpu / delivered.max(1.0),
        deliveries_per_second: delivered * SECOND as f64 / micros,
        server_cores: cpu / micros,
        load_cores: load / micros,
        other_cores: ((machine - cpu - load) / micros).max(0.0),
        growth_bytes: u64::saturating_sub(peak, resident),
        ..Streamed::default()
    }
}

impl Streamed {
    fn take_latencies(&mut self, latencies: &Histogram) {
        self.p50_ms = latencies.quantile(0.5) as f64 / 1e3;
        self.p99_ms = latencies.quantile(0.99) as f64 / 1e3;
    }

    /// Each viewer must have each event once, in order, without a hole in the positions.
    fn check(&mut self, viewers: &[Viewer], events: u64) {
        let sum = |of: fn(&Viewer) -> u64| viewers.iter().map(of).sum::<u64>();
        let missing: u64 = viewers.iter().map(|viewer| events.saturating_sub(viewer.seen.scan.next)).sum();
        let counts = [
            (missing, "deliveries missing"),
            (sum(|viewer| viewer.seen.scan.wrong), "events double, broken or out of order"),
            (sum(|viewer| viewer.seen.gaps), "frames with a hole before them"),
            (sum(|viewer| u64::from(viewer.is_closed)), "viewers closed"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        self.problems.extend(counts.map(|(count, what)| format!("{count} {what}")));
    }

    /// Lets the stalled viewers read again and counts those that then have everything.
    fn recover(&mut self, arm: &dyn Arm, stalled: &mut [Viewer], clock: Clock, events: u64) -> Outcome<()> {
        let progress = Progress::default();
        progress.events.store(events, Ordering::Relaxed);
        std::thread::scope(|scope| {
            let watching = scope.spawn(|| watch(arm, stalled, clock, &progress));
            clock.wait_for(5, || watching.is_finished());
            progress.is_over.store(true, Ordering::Relaxed);
            watching.join().map_err(|_panic| "the stalled viewers failed")?
        })?;
        let has_all = |viewer: &&Viewer| viewer.seen.scan.next == events && viewer.seen.gaps == 0;
        self.recovered = stalled.iter().filter(has_all).count() as u64;
        Ok(())
    }
}
