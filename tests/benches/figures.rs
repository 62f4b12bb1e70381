//! How long the hub takes to add up what many events took and cost: conversations with runs, calls and tokens, spread over a
//! number of days and imported through the public door, then the questions that the dashboard and a table of usage ask.
//! `--events`, `--days`, `--queries` and `--log` (as `fanlight serve` takes it; without it the log that it has by default) choose.
#![expect(clippy::indexing_slicing, reason = "answers are what they are; a bench that meets another may end")]

use std::io::Write as _;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tests::bulk::send_all;
use tests::hub::TestHub;
use tests::process;

const USAGE: &str =
    "cargo xtask bench --bench figures -- [--events 1000000] [--days 30] [--queries 40] [--log LOG]";

/// Events of one conversation.
const EVENTS: u64 = 4 + 3 * CALLS;

/// Calls of one conversation.
const CALLS: u64 = 32;

/// Requests at a time.
const AT_ONCE: u64 = 4;

const AGENTS: u64 = 20;
const MODELS: u64 = 8;
const TOOLS: u64 = 40;

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

struct Args {
    events: u64,
    days: u64,
    queries: u64,
    log: Option<String>,
}

fn main() -> Outcome<()> {
    let mut chosen = Args { events: 1_000_000, days: 30, queries: 40, log: None };
    // cargo adds the first one.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--events" => chosen.events = value.parse()?,
            "--days" => chosen.days = value.parse()?,
            "--queries" => chosen.queries = value.parse()?,
            "--log" => chosen.log = Some(value),
            other => return Err(format!("{other} is no option\n{USAGE}").into()),
        }
    }
    tokio::runtime::Runtime::new()?.block_on(run(&chosen))
}

async fn run(args: &Args) -> Outcome<()> {
    let mut options = vec!["--trace", "warn"];
    options.extend(args.log.iter().flat_map(|log| ["--log", log.as_str()]));
    let mut hub = TestHub::start_with(&options).await;
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let begin = now - now % DAY_MS - args.days.saturating_sub(1) * DAY_MS;
    let conversations = args.events / EVENTS;
    let began = Instant::now();
    fill(&hub, conversations, begin, now - begin).await?;
    let (filled, cpu) = (began.elapsed(), process::cpu(hub.pid()));
    // What was written is found after a stop and a start, and the hub's memory is empty again.
    hub.stop().await;
    hub.start_again().await;
    say(&format!(
        "{} events in {conversations} conversations over {} days, imported in {:.1} s, {:.1} s of CPU",
        conversations * EVENTS,
        args.days,
        filled.as_secs_f64(),
        cpu.as_secs_f64()
    ));
    say(
        "| question | queries | lines or rows | median ms | 95 % ms | longest ms | CPU ms each |\n|---|--:|--:|--:|--:|--:|--:|",
    );
    let month = format!("from={begin}&to={now}");
    for (name, path) in [
        ("the dashboard's charts, a day by hour", format!("/v1/series?metric={CHARTS}")),
        ("the dashboard's charts, all days by day", format!("/v1/series?metric={CHARTS}&{month}&step=1d")),
        ("the dashboard's charts, all days by hour", format!("/v1/series?metric={CHARTS}&{month}&step=1h")),
        (
            "tokens and cost by model, by day",
            format!("/v1/series?metric=tokens,cost&by=model&{month}&step=1d"),
        ),
        ("latency of tools, by tool and day", format!("/v1/series?metric=tool_p95&by=tool&{month}&step=1d")),
        (
            "failures by agent and reason, by hour",
            format!("/v1/series?metric=failures&by=agent,reason&{month}&step=1h"),
        ),
        ("usage by agent and model", format!("/v1/usage?by=agent,model&{month}")),
    ] {
        ask(&hub, name, &path, args.queries).await?;
    }
    hub.stop().await;
    Ok(())
}

/// What the dashboard draws.
const CHARTS: &str = "runs,failures,run_p50,run_p95,run_p99,calls,call_failures,tool_p50,tool_p95,tool_p99,\
                      fresh_tokens,cached_tokens,answer_tokens,thinking_tokens,cost,waits,wait_ms";

/// Imports conversations, each with one run somewhere in `length` milliseconds from `begin` on.
async fn fill(hub: &TestHub, conversations: u64, begin: u64, length: u64) -> Outcome<()> {
    let (client, url) = (reqwest::Client::new(), hub.url("/v1/conversations"));
    let put = move |n| client.put(format!("{url}/c{n}/events")).body(story(n, begin, length));
    send_all(0..conversations, AT_ONCE, put).await
}

/// Numbers that look random, the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 20) % sides
    }
}

fn story(conversation: u64, begin: u64, length: u64) -> String {
    let mut dice = Dice(conversation ^ 0x5eed);
    let (agent, model) = (dice.roll(AGENTS), dice.roll(MODELS));
    let mut at = begin + dice.roll(length);
    let status = if dice.roll(20) == 0 { "error" } else { "complete" };
    let mut lines = String::from("{\"fanlight\":\"native\",\"version\":1,\"conversation\":\"c\"}\n");
    let mut seq = 0;
    let mut write = |at: u64, mut event: Value| {
        seq += 1;
        (event["seq"], event["at"], event["run"]) = (json!(seq), json!(at), json!("r1"));
        lines.push_str(&event.to_string());
        lines.push('\n');
    };
    write(at, json!({"k": "run.start", "name": format!("agent {agent}"), "model": format!("model {model}")}));
    for call in 0..CALLS {
        let (tool, name) = (format!("t{call}"), format!("tool_{}", dice.roll(TOOLS)));
        write(at, json!({"k": "tool.start", "tool": tool, "name": name}));
        write(at, json!({"k": "tool.call", "tool": tool, "arguments": "{\"n\":1}"}));
        at += 10 + dice.roll(3_000);
        write(
            at,
            json!({"k": "tool.result", "tool": tool, "output": "done", "is_error": dice.roll(30) == 0}),
        );
    }
    let usage = json!({"input_tokens": 1_000 + dice.roll(9_000), "output_tokens": dice.roll(2_000), "reasoning_tokens": 0,
        "cached_tokens": dice.roll(1_000), "cost": {"amount": "0.0125", "currency": "USD"}});
    write(at, json!({"k": "run.update", "usage": usage}));
    write(at, json!({"k": "status", "text": "done"}));
    write(at, json!({"k": "run.end", "status": status}));
    lines
}

/// Asks a question, and says how long it took.
async fn ask(hub: &TestHub, name: &str, path: &str, queries: u64) -> Outcome<()> {
    let mut times = Vec::new();
    let cpu = process::cpu(hub.pid());
    let mut lines = 0;
    for _ in 0..queries {
        let began = Instant::now();
        let answer = hub.request("GET", path).send().await?;
        let (status, body) = (answer.status(), answer.bytes().await?);
        times.push(began.elapsed());
        let answer: Value = serde_json::from_slice(&body)?;
        if !status.is_success() {
            return Err(format!("{path} was answered with {answer}").into());
        }
        let of_metric = |metric: &Value| metric["series"].as_array().map_or(0, Vec::len);
        let of_series: usize = answer["metrics"].as_array().into_iter().flatten().map(of_metric).sum();
        lines = of_series + answer["rows"].as_array().map_or(0, Vec::len);
        if lines == 0 {
            return Err(format!("{path} has nothing in its answer").into());
        }
    }
    let cpu = process::cpu(hub.pid()).saturating_sub(cpu) / u32::try_from(queries.max(1))?;
    let cpu = cpu.as_secs_f64() * 1_000.0;
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1_000.0;
    say(&format!(
        "| {name} | {queries} | {lines} | {:.1} | {:.1} | {:.1} | {cpu:.1} |",
        at(50),
        at(95),
        at(100)
    ));
    Ok(())
}

/// A line for whoever wants the result.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody is left to tell when this fails.
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}
