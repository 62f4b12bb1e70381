//! What a token costs that a model's server streams to `/v1/ingest` in openai-chat, one chunk each: CPU of the hub, the making of rows
//! afterwards included, with the log that everybody gets and with the one in memory, in turns.

use std::io::Write as _;
use std::time::Duration;

use tests::hub::TestHub;
use tests::process::cpu;
use tests::wait::patiently_until;
use tokio::time::{MissedTickBehavior, interval};

const USAGE: &str = "cargo xtask bench --bench ingest -- [--rounds 5] [--tokens 8000] [--rate 1000]";

/// Looks in a row, each 20 ms after the one before, at which the hub has used no more of a core: then all rows are made, which begins a second
/// after an event.
const LOOKS_AT_REST: u32 = 100;

/// What the system counts CPU time in.
const TICK: Duration = Duration::from_millis(10);

/// The logs: the one without an option, and the one in memory.
const ARMS: [(&str, &[&str]); 2] = [("log on disk", &[]), ("log in memory", &["--log", "memory"])];

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What one body cost.
#[derive(Debug, Clone, Copy)]
struct BodyCost {
    /// CPU of the hub for each token, in µs.
    micros: f64,
    /// Transactions of the database for each token.
    commits: f64,
}

fn main() -> Outcome<()> {
    let (mut rounds, mut tokens, mut rate) = (5_usize, 8_000_u64, 1_000_u64);
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--rounds" => rounds = value.parse()?,
            "--tokens" => tokens = value.parse()?,
            "--rate" => rate = value.parse()?,
            other => return Err(format!("{other} is no option\n{USAGE}").into()),
        }
    }
    let mut found: Vec<(&str, Vec<BodyCost>)> = ARMS.iter().map(|(name, _)| (*name, Vec::new())).collect();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        for _ in 0..rounds {
            for ((_, options), (_, costs)) in ARMS.iter().zip(&mut found) {
                costs.push(body(options, tokens, rate).await?);
            }
        }
        Outcome::Ok(())
    })?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{tokens} tokens at {rate}/s, {rounds} rounds: median (least to most)\n")?;
    writeln!(out, "| | CPU µs for each token | transactions for each |\n|---|--:|--:|")?;
    for (name, costs) in &found {
        let micros = spread(costs.iter().map(|cost| cost.micros));
        let commits = spread(costs.iter().map(|cost| cost.commits));
        writeln!(
            out,
            "| {name} | {:.1} ({:.1} to {:.1}) | {:.4} |",
            micros.1, micros.0, micros.2, commits.1
        )?;
    }
    Ok(())
}

/// One body, to a hub of its own.
async fn body(options: &[&str], tokens: u64, rate: u64) -> Outcome<BodyCost> {
    let mut hub = TestHub::start_with(&[&["--trace", "warn"], options].concat()).await;
    let mut body = hub.ingest("openai-chat", "measured");
    body.write(line(0)).await;
    let commits = hub.number("fanlight_log_commits_total").await;
    let before = cpu(hub.pid());
    let mut ticks = interval(Duration::from_secs(1) / u32::try_from(rate.max(1))?);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in 1..=tokens {
        ticks.tick().await;
        body.write(line(number)).await;
    }
    body.write(
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    )
    .await;
    let (status, answer) = body.finish().await;
    if status != 200 {
        return Err(format!("the hub answered {status}: {answer}").into());
    }
    let (mut used, mut looks) = (cpu(hub.pid()), 0);
    patiently_until("the hub to rest", || {
        let now = cpu(hub.pid());
        // A tick of the clock is what a heartbeat or a look at the time may use.
        looks = if now.saturating_sub(used) > TICK { 0 } else { looks + 1 };
        used = if looks == 0 { now } else { used };
        std::future::ready((looks >= LOOKS_AT_REST).then_some(()))
    })
    .await;
    let spent = used.saturating_sub(before);
    let commits = hub.number("fanlight_log_commits_total").await - commits;
    hub.stop().await;
    let each = |number: f64| number / f64::from(u32::try_from(tokens).unwrap_or(u32::MAX));
    Ok(BodyCost {
        micros: each(spent.as_secs_f64() * 1e6),
        commits: each(f64::from(u32::try_from(commits)?)),
    })
}

/// One token as the big providers send it.
fn line(number: u64) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1795300000,\"model\":\"m\",\
         \"service_tier\":\"default\",\"system_fingerprint\":\"fp_0123456789\",\"choices\":[{{\"index\":0,\"delta\":\
         {{\"content\":\" word{number}\"}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
    )
}

/// Least, median and most of some numbers; zeros of none.
fn spread(numbers: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let mut all: Vec<f64> = numbers.collect();
    all.sort_by(f64::total_cmp);
    let at = |index: usize| all.get(index).copied().unwrap_or_default();
    (at(0), at(all.len() / 2), at(all.len().saturating_sub(1)))
}
