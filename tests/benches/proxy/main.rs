//! What the proxy costs a call: the time until the first byte of the answer, the time of each piece on its way, and the
//! CPU of the hub and of the callers, beside calls of the same upstream without it. All arms take turns in one run, with the
//! same callers, so that what else the machine does falls on all. The upstream says pieces that are written here, and
//! replays recorded calls of all APIs.

mod callers; // the agents
mod upstream; // what they ask

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tests::hub::TestHub;
use tests::process::cpu;
use tests::replayer::exchanges;

use crate::callers::{Found, turn};
use crate::upstream::Upstream;

const USAGE: &str = "cargo xtask bench --bench proxy -- [--rounds 10] [--calls 20] [--agents 4] [--pieces 100] \
    [--every-us 2000] [--request-bytes 16384] [--recorded FOLDER] [--json FILE]";

/// Recordings beside the work tree.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/traces/exchanges");

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Debug, Clone)]
struct Args {
    /// How often both arms have their turn.
    rounds: u64,
    /// Calls of one agent in a turn.
    calls: u64,
    /// Agents at once.
    agents: u64,
    /// Pieces of an answer.
    pieces: u64,
    /// Between two of them, in microseconds.
    every_us: u64,
    /// About the length of a request.
    request_bytes: usize,
    /// Where recorded calls are; without any those arms are left out.
    recorded: PathBuf,
    json: Option<PathBuf>,
}

/// Where calls go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arm {
    Direct,
    /// Through the proxy, to a place that it does not record.
    Passed,
    Proxy,
    /// Recorded calls, without the proxy and through it.
    RecordedDirect,
    RecordedProxy,
}

const ARMS: [Arm; 5] = [Arm::Direct, Arm::Passed, Arm::Proxy, Arm::RecordedDirect, Arm::RecordedProxy];

fn main() -> Outcome<()> {
    let args = args()?;
    let mut recorded = exchanges(&args.recorded);
    // Some recordings were made below the level of HTTP.
    recorded.retain(|exchange| exchange.path.starts_with('/'));
    let upstream = Arc::new(Upstream::new(args.pieces, Duration::from_micros(args.every_us), recorded));
    let address = upstream::start(&upstream)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let (named, ollama) = (format!("x=http://{address}"), format!("ollama=http://{address}"));
    let hub = runtime.block_on(TestHub::start_with(&[
        "--trace",
        "warn",
        "--upstream",
        &named,
        "--upstream",
        &ollama,
    ]));
    let has_recorded = !upstream.recorded.is_empty();
    let mut all: Vec<_> = ARMS.into_iter().map(|arm| (arm, Found::default())).collect();
    all.retain(|(arm, _)| has_recorded || !arm.is_recorded());
    // The first calls open connections and files; they are not counted.
    for (arm, _) in &all {
        turn(&args, *arm, arm.place(address, &hub), &upstream, u64::MAX)?;
    }
    for round in 0..args.rounds {
        all.rotate_left(1);
        for (arm, found) in &mut all {
            let before = cpu(hub.pid());
            let turn = turn(&args, *arm, arm.place(address, &hub), &upstream, round)?;
            found.cpu += cpu(hub.pid()).saturating_sub(before);
            found.add(turn);
        }
    }
    report(&args, all)
}

impl Arm {
    fn is_recorded(self) -> bool {
        matches!(self, Self::RecordedDirect | Self::RecordedProxy)
    }

    /// Where its calls go.
    fn place(self, upstream: SocketAddr, hub: &TestHub) -> SocketAddr {
        if matches!(self, Self::Direct | Self::RecordedDirect) { upstream } else { hub.address() }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Passed => "passed on only",
            Self::Proxy => "proxy",
            Self::RecordedDirect => "recorded, direct",
            Self::RecordedProxy => "recorded, proxy",
        }
    }
}

fn args() -> Outcome<Args> {
    let mut chosen = Args {
        rounds: 10,
        calls: 20,
        agents: 4,
        pieces: 100,
        every_us: 2_000,
        request_bytes: 16 << 10,
        recorded: Path::new(RECORDED).to_owned(),
        json: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        // cargo adds this one.
        if name == "--bench" {
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--rounds" => chosen.rounds = value.parse()?,
            "--calls" => chosen.calls = value.parse()?,
            "--agents" => chosen.agents = value.parse()?,
            "--pieces" => chosen.pieces = value.parse()?,
            "--every-us" => chosen.every_us = value.parse()?,
            "--request-bytes" => chosen.request_bytes = value.parse()?,
            "--recorded" => chosen.recorded = value.into(),
            "--json" => chosen.json = Some(value.into()),
            other => return Err(format!("{other} is no option\n{USAGE}").into()),
        }
    }
    Ok(chosen)
}

fn report(args: &Args, all: Vec<(Arm, Found)>) -> Outcome<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{args:?}\n")?;
    writeln!(out, "| in µs | p50 | p90 | p99 | largest |\n|---|---|---|---|---|")?;
    let mut figures = serde_json::Map::new();
    let mut measured: Vec<_> = all.into_iter().map(|(arm, found)| (arm, Measured::of(found))).collect();
    measured.sort_by_key(|(arm, _)| ARMS.iter().position(|it| it == arm));
    let of = |arm| measured.iter().find(|(it, _)| *it == arm).map(|(_, measured)| measured);
    for (name, values) in
        [("first byte", (|it| &it.first) as fn(&Measured) -> &Vec<f64>), ("piece", |it| &it.pieces)]
    {
        let arms = measured.iter().map(|(arm, measured)| (arm.name(), values(measured).clone()));
        let added = [(Arm::Direct, Arm::Proxy), (Arm::RecordedDirect, Arm::RecordedProxy)];
        let added = added.iter().filter_map(|(without, with)| {
            let pairs = values(of(*with)?).iter().zip(values(of(*without)?));
            let name = if with.is_recorded() { "recorded, added" } else { "added" };
            Some((name, pairs.map(|(with, without)| with - without).collect::<Vec<f64>>()))
        });
        for (arm, values) in arms.chain(added) {
            let cells = values.iter().map(|value| format!("{value:.0}")).collect::<Vec<_>>().join(" | ");
            writeln!(out, "| {name}, {arm} | {cells} |")?;
            figures.insert(format!("{name}, {arm}"), json!(values));
        }
    }
    writeln!(out, "\n| for each call | CPU of the hub, µs | CPU of its caller, µs | calls | pieces |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    for (arm, Measured { hub_us, caller_us, calls, count, .. }) in &measured {
        let name = arm.name();
        writeln!(out, "| {name} | {hub_us} | {caller_us} | {calls} | {count} |")?;
        figures.insert(format!("cpu_us_per_call, {name}"), json!({"hub": hub_us, "caller": caller_us}));
    }
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}

/// What an arm came to.
struct Measured {
    first: Vec<f64>,
    pieces: Vec<f64>,
    /// CPU for each call.
    hub_us: u128,
    caller_us: u128,
    calls: u64,
    /// How many pieces came.
    count: usize,
}

impl Measured {
    fn of(mut found: Found) -> Self {
        let per_call = |span: Duration| span.as_micros() / u128::from(found.calls.max(1));
        Self {
            hub_us: per_call(found.cpu),
            caller_us: per_call(found.caller_cpu),
            calls: found.calls,
            count: found.pieces.len(),
            first: quantiles(&mut found.first),
            pieces: quantiles(&mut found.pieces),
        }
    }
}

/// Of 100 values the 50th, the 90th, the 99th and the last, in microseconds.
fn quantiles(values: &mut [u64]) -> Vec<f64> {
    values.sort_unstable();
    let at = |percent: usize| values.get((values.len() * percent / 100).min(values.len().saturating_sub(1)));
    let micros =
        |value: Option<&u64>| Duration::from_nanos(value.copied().unwrap_or_default()).as_secs_f64() * 1e6;
    [50, 90, 99, 100].map(|percent| micros(at(percent))).to_vec()
}
