//! The rows: each is one question, asked of every arm in the same way.

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::Outcome;
use crate::arm::{Arm, Server};
use crate::publisher::{Program, publish};
use crate::stream::{Plan, Streamed, stream};
use crate::viewer::{Progress, Seen, connect, join, watch};
use tests::load::clock::Clock;
use tests::load::event::{LARGE, SMALL};

/// A question that a row of the table answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Row {
    /// What a delivery costs when many watch one conversation.
    Hot,
    /// What a delivery costs when few watch each of many conversations.
    Many,
    /// How many deliveries there can be.
    Saturate,
    /// What a silent viewer costs.
    Idle,
    /// How long a newcomer waits for what it missed.
    Late,
    /// What viewers that never read do to the others.
    Slow,
}

/// What a row found about one arm in one round: named numbers, the first of which is what the row asks for.
#[derive(Debug, Default)]
pub(crate) struct RowAnswer {
    /// The numbers.
    pub(crate) numbers: Vec<(&'static str, f64)>,
    /// What was not as it must be.
    pub(crate) problems: Vec<String>,
}

/// Named in the heads of the tables.
pub(crate) const MICROS: &str = "server CPU µs per delivery";
const P50: &str = "p50 ms";
const P99: &str = "p99 ms";
const SERVER_CORES: &str = "server cores";
const LOAD_CORES: &str = "load cores";
const OTHER_CORES: &str = "other cores";

const IDLE_CONVERSATIONS: u64 = 100;
const IDLE_VIEWERS: u64 = 10_000;
const STALLED: u64 = 20;
/// The 99th percentile at which a rate is too much.
const SATURATED_P99_MS: f64 = 100.0;

/// How many events a newcomer finds, and what its figures are called.
const LATE: [(u64, &str, &str, &str); 4] = [
    (1_000, "ms to have 1,000", "1,000 after the upgrade", "bytes of 1,000"),
    (10_000, "ms to have 10,000", "10,000 after the upgrade", "bytes of 10,000"),
    (50_000, "ms to have 50,000", "50,000 after the upgrade", "bytes of 50,000"),
    (200_000, "ms to have 200,000", "200,000 after the upgrade", "bytes of 200,000"),
];

impl Row {
    /// Every row, in the order of the table.
    pub(crate) const ALL: [Self; 6] =
        [Self::Hot, Self::Many, Self::Saturate, Self::Idle, Self::Late, Self::Slow];

    /// The name in arguments and tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hot => "hot",
            Self::Many => "many",
            Self::Saturate => "saturate",
            Self::Idle => "idle",
            Self::Late => "late",
            Self::Slow => "slow",
        }
    }

    /// What it asks.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Hot => "1 conversation × 1,000 viewers × 100 events/s",
            Self::Many => "300 conversations × 3 viewers × 50 events/s",
            Self::Saturate => "1 conversation × 100 viewers, most deliveries with p99 < 100 ms",
            Self::Idle => "10,000 silent viewers of 100 conversations",
            Self::Late => "a newcomer to 1,000 past events",
            Self::Slow => "200 viewers of which 20 never read, 2 KB × 200 events/s",
        }
    }

    /// Whether the row can be asked of this arm.
    pub(crate) fn suits(self, arm: &dyn Arm) -> bool {
        match self {
            Self::Late => arm.keeps_past(),
            Self::Saturate => true,
            _ => arm.name() != "floor-batched",
        }
    }

    /// Asks. `guess` is the answer of the round before.
    pub(crate) fn ask(
        self,
        arm: &dyn Arm,
        seconds: u64,
        place: &Path,
        guess: Option<f64>,
    ) -> Outcome<RowAnswer> {
        let plan = Plan {
            conversations: 1,
            viewers: 1_000,
            stalled: 0,
            rate: 100,
            text_bytes: SMALL,
            seconds,
            patience: 10,
        };
        match self {
            Self::Hot => Ok(cost(stream(arm, &plan, place)?)),
            Self::Many => {
                Ok(cost(stream(arm, &Plan { conversations: 300, viewers: 3, rate: 50, ..plan }, place)?))
            }
            Self::Slow => slow(arm, &plan, place),
            Self::Saturate => saturate(arm, &plan, place, guess),
            Self::Idle => idle(arm, place),
            Self::Late => late(arm, place),
        }
    }
}

fn cost(streamed: Streamed) -> RowAnswer {
    RowAnswer {
        numbers: vec![
            (MICROS, streamed.micros_per_delivery),
            (P50, streamed.p50_ms),
            (P99, streamed.p99_ms),
            ("deliveries/s", streamed.deliveries_per_second),
            (SERVER_CORES, streamed.server_cores),
            (LOAD_CORES, streamed.load_cores),
            (OTHER_CORES, streamed.other_cores),
        ],
        problems: streamed.problems,
    }
}

fn slow(arm: &dyn Arm, plan: &Plan, place: &Path) -> Outcome<RowAnswer> {
    let plan =
        Plan { viewers: 200 - STALLED, stalled: STALLED, rate: 200, text_bytes: LARGE, seconds: 15, ..*plan };
    let streamed = stream(arm, &plan, place)?;
    let numbers = vec![
        (P99, streamed.p99_ms),
        ("memory growth MB", streamed.growth_bytes as f64 / 1e6),
        ("stalled viewers that then had all, of 20", streamed.recovered as f64),
        (MICROS, streamed.micros_per_delivery),
        (OTHER_CORES, streamed.other_cores),
    ];
    Ok(RowAnswer { numbers, problems: streamed.problems })
}

/// Doubles the rate until it is too much, then halves the distance three times.
fn saturate(arm: &dyn Arm, plan: &Plan, place: &Path, guess: Option<f64>) -> Outcome<RowAnswer> {
    let plan = Plan { viewers: 100, seconds: 2, patience: 3, ..*plan };
    let mut best: Option<(f64, Streamed)> = None;
    let mut holds = |rate: f64| -> Outcome<bool> {
        let plan = Plan { rate: rate as u64, ..plan };
        let streamed = stream(arm, &plan, &fresh(place)?)?;
        let wanted = rate * plan.viewers as f64;
        let is_good = streamed.p99_ms < SATURATED_P99_MS
            && streamed.deliveries_per_second > wanted * 0.95
            && streamed.problems.is_empty();
        let deliveries = streamed.deliveries_per_second;
        crate::note(format_args!(
            "  {rate:.0} events/s: {deliveries:.0} deliveries/s, p99 {:.1} ms, server {:.2}, load {:.2} cores {:?}",
            streamed.p99_ms, streamed.server_cores, streamed.load_cores, streamed.problems
        ));
        if is_good && best.as_ref().is_none_or(|(most, _)| *most < deliveries) {
            best = Some((deliveries, streamed));
        }
        Ok(is_good)
    };
    let mut good = guess.map_or(1_000.0, |deliveries| deliveries / plan.viewers as f64 * 0.8);
    while !holds(good)? && good > 10.0 {
        good /= 2.0;
    }
    let mut bad = good * 2.0;
    while holds(bad)? && bad < 1e6 {
        (good, bad) = (bad, bad * 2.0);
    }
    for _ in 0..3 {
        let middle = f64::sqrt(good * bad);
        if holds(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    let Some((deliveries, streamed)) = best else { return Err("no rate was low enough".into()) };
    let numbers = vec![
        ("deliveries/s", deliveries),
        (P99, streamed.p99_ms),
        (SERVER_CORES, streamed.server_cores),
        (LOAD_CORES, streamed.load_cores),
        (OTHER_CORES, streamed.other_cores),
    ];
    Ok(RowAnswer { numbers, problems: Vec::new() })
}

/// An empty folder.
fn fresh(place: &Path) -> Outcome<std::path::PathBuf> {
    if place.exists() {
        std::fs::remove_dir_all(place)?;
    }
    std::fs::create_dir_all(place)?;
    Ok(place.to_owned())
}

fn idle(arm: &dyn Arm, place: &Path) -> Outcome<RowAnswer> {
    let count = IDLE_VIEWERS.min(crate::open_files_max().saturating_sub(500));
    let server = arm.start(place)?;
    let before = server.process.resident_bytes();
    let mut viewers = connect(arm, &server, count, IDLE_CONVERSATIONS, SMALL)?;
    let (clock, progress) = (Clock::start(), Progress::default());
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(arm, &mut viewers, clock, &progress));
        clock.wait_until(clock.micros() + 3_000_000);
        progress.is_over.store(true, Ordering::Relaxed);
        watching.join().map_err(|_panic| "the viewers failed")?
    })?;
    let grown = server.process.resident_bytes().saturating_sub(before);
    let closed = viewers.iter().filter(|viewer| viewer.is_closed).count();
    let mut problems = Vec::new();
    if closed > 0 {
        problems.push(format!("{closed} viewers closed"));
    }
    let numbers =
        vec![("KiB of memory per viewer", grown as f64 / 1024.0 / count as f64), ("viewers", count as f64)];
    Ok(RowAnswer { numbers, problems })
}

fn late(arm: &dyn Arm, place: &Path) -> Outcome<RowAnswer> {
    let mut answer = RowAnswer::default();
    // Only servers that keep all have more to give than a thousand.
    let count = if arm.keeps_all() { LATE.len() } else { 1 };
    for (events, whole, after_upgrade, bytes) in LATE.into_iter().take(count) {
        let server = arm.start(&fresh(place)?)?;
        let found = join_late(arm, &server, events, &mut answer.problems)?;
        let middle = |of: fn(&Newcomer) -> f64| median(found.iter().map(of).collect());
        answer.numbers.push((whole, middle(|newcomer| newcomer.ms)));
        answer.numbers.push((after_upgrade, middle(|newcomer| newcomer.after_upgrade_ms)));
        answer.numbers.push((bytes, middle(|newcomer| newcomer.bytes)));
    }
    Ok(answer)
}

/// What one newcomer got.
struct Newcomer {
    /// From connecting until it had everything.
    ms: f64,
    /// From the end of the upgrade until then.
    after_upgrade_ms: f64,
    /// What was read from the socket after the upgrade.
    bytes: f64,
}

/// Publishes to one viewer, then lets forty more join one after the other.
fn join_late(
    arm: &dyn Arm,
    server: &Server,
    events: u64,
    problems: &mut Vec<String>,
) -> Outcome<Vec<Newcomer>> {
    let clock = Clock::start();
    let mut first = connect(arm, server, 1, 1, SMALL)?;
    let publisher = arm.open_publisher(server.publish)?;
    let program = Program { conversations: 1, rate: 10_000, events, text_bytes: SMALL };
    let progress = Progress::default();
    std::thread::scope(|scope| {
        let publishing =
            scope.spawn(|| publish(arm, publisher, &program, (clock, clock.micros()), &progress));
        let watching = scope.spawn(|| watch(arm, &mut first, clock, &progress));
        clock.wait_for(120, || watching.is_finished());
        progress.is_over.store(true, Ordering::Relaxed);
        problems.extend(publishing.join().map_err(|_panic| "the publisher failed")??);
        watching.join().map_err(|_panic| "the viewer failed")?
    })?;
    let mut found = Vec::new();
    for _ in 0..40 {
        let began = clock.micros();
        let mut socket = join(arm, server, arm.subscribe_late(0), 0)?;
        let upgraded = clock.micros();
        let mut bytes = socket.unread.len();
        let (mut seen, mut answers) = (Seen::new(SMALL), Vec::new());
        while seen.scan.next < events {
            let taken = seen.take(arm, &socket.unread, &mut answers, &mut |_| {})?;
            socket.unread.drain(..taken);
            if seen.scan.next < events {
                bytes += socket.fill()?;
            }
        }
        let done = clock.micros();
        let (ms, after_upgrade_ms) = ((done - began) as f64 / 1e3, (done - upgraded) as f64 / 1e3);
        found.push(Newcomer { ms, after_upgrade_ms, bytes: bytes as f64 });
    }
    Ok(found)
}

/// The middle one; 0 of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
