//! What a run of the hub's own agents costs: many at once, with several calls each, of a model that answers as fast as it
//! can and a program with tools that does nothing. CPU of the hub for each run, and how long all of them take.
#![expect(clippy::indexing_slicing, reason = "a bench that meets another answer may end")]

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::hub::TestHub;
use tests::process::cpu;
use tests::wait::patiently_until;
use tests::{ScriptedServer, ServerStep};

const USAGE: &str = "cargo xtask bench --bench runs -- [--rounds 5] [--runs 200] [--calls 5]";

/// The program of the server with tools.
const SERVER: &str = env!("CARGO_BIN_EXE_tool_server");

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What one round was.
#[derive(Debug)]
struct Round {
    /// From the first message to the end of the last run.
    took: Duration,
    /// CPU of the hub.
    cpu: Duration,
    /// Events in the logs of all runs.
    events: u64,
}

fn main() -> Outcome<()> {
    let (mut rounds, mut runs, mut calls) = (5_usize, 200_usize, 5_usize);
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--rounds" => rounds = value.parse()?,
            "--runs" => runs = value.parse()?,
            "--calls" => calls = value.parse()?,
            other => return Err(format!("{other} is no option\n{USAGE}").into()),
        }
    }
    let all: Vec<Round> = tokio::runtime::Runtime::new()?.block_on(async {
        let origin = ScriptedServer::start(move |asked| answer(&asked.body, calls)).await;
        let place = tempfile::tempdir()?;
        let file = place.path().join("fanlight.toml");
        std::fs::write(&file, settings(&origin))?;
        let file = file.to_str().ok_or("a path that is not text")?.to_owned();
        let hub = TestHub::start_with(&["--trace", "warn", "--config", &file]).await;
        let mut all = Vec::new();
        // The first one starts the program and opens the connections; it is not counted.
        for number in 0..=rounds {
            let found = round(&hub, number, runs, calls).await?;
            all.extend((number > 0).then_some(found));
        }
        Outcome::Ok(all)
    })?;
    report(&all, runs, calls);
    Ok(())
}

fn settings(origin: &ScriptedServer) -> String {
    format!(
        "[agents.helper]\nkind = \"runner\"\nprovider = \"openai\"\nurl = \"http://{}/v1\"\nmodel = \"m\"\n\
         tools = [\"t\"]\n[mcp.t]\ncommand = [{SERVER:?}]\n",
        origin.address()
    )
}

/// All calls, and once there are results a text.
fn answer(body: &[u8], calls: usize) -> Vec<ServerStep> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let has_results = body["messages"].as_array().into_iter().flatten().any(|it| it["role"] == "tool");
    let piece = |delta: Value| {
        let event = json!({"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta}]});
        ServerStep::piece(format!("data: {event}\n\n").as_bytes())
    };
    let mut steps = vec![ServerStep::begin("200 OK", &[("content-type", "text/event-stream")])];
    if has_results {
        steps.extend(["All ", "is ", "done."].map(|text| piece(json!({"content": text}))));
    } else {
        steps.extend((0..calls).map(|number| {
            let function = json!({"name": "t__echo", "arguments": json!({"n": number}).to_string()});
            let id = format!("call-{number}");
            piece(json!({"tool_calls": [{"index": number, "id": id, "type": "function", "function": function}]}))
        }));
    }
    steps.extend([ServerStep::piece(b"data: [DONE]\n\n"), ServerStep::end(&[])]);
    steps
}

async fn round(hub: &TestHub, number: usize, runs: usize, calls: usize) -> Outcome<Round> {
    let (begun, before) = (Instant::now(), cpu(hub.pid()));
    let say = async |run: usize| {
        let path = format!("/v1/conversations/c{number}-{run}/commands");
        let body = json!({"id": "1", "command": "say", "agent": "helper", "text": "Hello"});
        let answer = hub.request("POST", &path).body(body.to_string()).send().await;
        answer.map(|answer| answer.status().as_u16())
    };
    for status in futures_util::future::join_all((0..runs).map(say)).await {
        let status = status?;
        if status != 200 {
            return Err(format!("a message was answered with {status}").into());
        }
    }
    // Who asks whether all is done costs the hub too: it is asked for the last of them only, until the others are done.
    for run in (0..runs).rev() {
        let name = format!("c{number}-{run}");
        patiently_until("the run to end", async || {
            let summary =
                hub.json(&format!("/v1/conversations/{name}/wait?until=run.end&timeout_ms=20000")).await;
            (summary["done"] == true).then_some(())
        })
        .await;
    }
    let (took, cpu) = (begun.elapsed(), cpu(hub.pid()).saturating_sub(before));
    let mut events = 0;
    for run in 0..runs {
        let summary = hub.summary(&format!("c{number}-{run}")).await;
        let done = summary["runs"][0]["tool_calls"]
            .as_array()
            .map_or(0, |all| all.iter().filter(|call| call["state"] == "complete").count());
        if summary["runs"][0]["text"] != "All is done." || done != calls {
            return Err(format!("a run lost something: {summary}").into());
        }
        events += hub.json(&format!("/v1/conversations/c{number}-{run}")).await["seq"].as_u64().unwrap_or(0);
    }
    Ok(Round { took, cpu, events })
}

fn report(all: &[Round], runs: usize, calls: usize) {
    let median = |of: fn(&Round) -> f64| {
        let mut values: Vec<f64> = all.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let runs_f = runs as f64;
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let events = median(|round| round.events as f64) / runs_f;
    let (took, cpu) = (median(|round| round.took.as_secs_f64()), median(|round| round.cpu.as_secs_f64()));
    let text = format!(
        "{runs} runs at once, {calls} calls each, {} rounds, medians\n  all over after     {took:8.2} s\n  CPU of the hub     \
         {:8.2} ms for each run\n  events in the log  {events:8.1} for each run, none lost\n",
        all.len(),
        cpu * 1e3 / runs_f
    );
    drop(std::io::stdout().lock().write_all(text.as_bytes()));
}
