//! What the proxy costs a call: the time until the first byte of the answer, the time of each piece on its way, and the
//! hub's CPU, beside calls of the same upstream without it. Both arms take turns in one run, call by call of the same
//! callers, so that what else the machine does falls on both.
#![expect(clippy::indexing_slicing, reason = "a bench that meets another answer may end")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::hub::Hub;
use tests::process::cpu;

const USAGE: &str = "cargo xtask bench --bench proxy -- [--rounds 10] [--calls 20] [--agents 4] [--pieces 100] \
    [--every-us 2000] [--request-bytes 16384] [--json FILE]";

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
    json: Option<PathBuf>,
}

/// Where calls go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arm {
    Direct,
    /// Through the proxy, to a place that it does not record.
    Passed,
    Proxy,
}

/// What the callers of one arm found, in nanoseconds.
#[derive(Debug, Default)]
struct Found {
    first: Vec<u64>,
    pieces: Vec<u64>,
    calls: u64,
    /// CPU of the hub, in seconds.
    cpu_s: f64,
}

fn main() -> Outcome<()> {
    let args = args()?;
    let begun = Instant::now();
    let upstream = upstream(&args, begun)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let named = format!("x=http://{upstream}");
    let hub = runtime.block_on(Hub::start_with(&["--trace", "warn", "--upstream", &named]));
    let mut all = [Arm::Direct, Arm::Passed, Arm::Proxy].map(|arm| (arm, Found::default()));
    // The first calls open connections and files; they are not counted.
    for (arm, _) in &all {
        turn(&args, place(*arm, upstream, &hub), begun, u64::MAX)?;
    }
    for round in 0..args.rounds {
        all.rotate_left(1);
        for (arm, found) in &mut all {
            let before = cpu(hub.pid());
            let turn = turn(&args, place(*arm, upstream, &hub), begun, round)?;
            found.cpu_s += cpu(hub.pid()).saturating_sub(before).as_secs_f64();
            found.first.extend(turn.first);
            found.pieces.extend(turn.pieces);
            found.calls += turn.calls;
        }
    }
    let mut of = |arm| all.iter_mut().find(|(it, _)| *it == arm).map(|(_, found)| std::mem::take(found));
    let (direct, passed, proxy) = (of(Arm::Direct), of(Arm::Passed), of(Arm::Proxy));
    report(&args, [direct, passed, proxy].map(Option::unwrap_or_default))
}

fn place(arm: Arm, upstream: SocketAddr, hub: &Hub) -> (SocketAddr, &'static str) {
    match arm {
        Arm::Direct => (upstream, "/v1/chat/completions"),
        Arm::Passed => (hub.address(), "/proxy/x/v1/elsewhere"),
        Arm::Proxy => (hub.address(), "/proxy/x/v1/chat/completions"),
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
            "--json" => chosen.json = Some(value.into()),
            other => return Err(format!("{other} is no option\n{USAGE}").into()),
        }
    }
    Ok(chosen)
}

/// A server that answers each request with pieces that say when they were sent, by the clock of this process.
fn upstream(args: &Args, begun: Instant) -> Outcome<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (pieces, every) = (args.pieces, Duration::from_micros(args.every_us));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Who went away is of no interest here.
            std::thread::spawn(move || serve(&stream, pieces, every, begun).unwrap_or_default());
        }
    });
    Ok(address)
}

fn serve(stream: &TcpStream, pieces: u64, every: Duration, begun: Instant) -> Outcome<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let length = head(&mut reader)?;
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        writer.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        for _ in 0..pieces {
            let at = begun.elapsed().as_nanos();
            let event = format!(
                "data: {{\"t\":{at:020},\"id\":\"x\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"some words \"}}}}]}}\n\n"
            );
            writer.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
            pause(every);
        }
        let end = "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        writer.write_all(format!("{:x}\r\n{end}\r\n0\r\n\r\n", end.len()).as_bytes())?;
    }
}

/// Lets this thread rest for `span`.
fn pause(span: Duration) {
    let until = Instant::now() + span;
    while let Some(rest) = until.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
        std::thread::park_timeout(rest);
    }
}

/// Reads a head, and gives the length of the body that it says; of one in pieces nothing.
fn head(reader: &mut impl std::io::BufRead) -> Outcome<u64> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err("closed".into());
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            return Ok(length);
        }
        if let Some(said) = line.strip_prefix("content-length:") {
            length = said.trim().parse()?;
        }
    }
}

/// One turn of an arm.
fn turn(args: &Args, place: (SocketAddr, &'static str), begun: Instant, round: u64) -> Outcome<Found> {
    let agents: Vec<_> = (0..args.agents)
        .map(|agent| {
            let args = args.clone();
            std::thread::spawn(move || calls(&args, place, begun, &format!("{round}-{agent}")))
        })
        .collect();
    let mut all = Found::default();
    for agent in agents {
        let found = agent.join().map_err(|_panicked| "an agent panicked")??;
        all.first.extend(found.first);
        all.pieces.extend(found.pieces);
        all.calls += found.calls;
    }
    Ok(all)
}

/// The calls of one agent, one after the other over one connection.
fn calls(args: &Args, (address, path): (SocketAddr, &str), begun: Instant, agent: &str) -> Outcome<Found> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(&stream);
    let mut found = Found::default();
    for call in 0..args.calls {
        let history = "words of a long history, ".repeat(args.request_bytes / 25);
        let body = json!({"model": "m", "stream": true, "messages": [
            {"role": "system", "content": history},
            {"role": "user", "content": format!("question {call} of {agent} to {path}")},
        ]});
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer k\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let asked = Instant::now();
        (&stream).write_all(request.as_bytes())?;
        reader.fill_buf()?;
        found.first.push(nanos(asked.elapsed()));
        head(&mut reader)?;
        answer(&mut reader, begun, &mut found)?;
        found.calls += 1;
    }
    Ok(found)
}

fn answer(reader: &mut impl std::io::BufRead, begun: Instant, found: &mut Found) -> Outcome<()> {
    let mut line = String::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16)?;
        let mut piece = vec![0; size + 2];
        reader.read_exact(&mut piece)?;
        if size == 0 {
            return Ok(());
        }
        let now = nanos(begun.elapsed());
        // More than one may have come as one piece.
        for said in
            piece.windows(5).enumerate().filter(|(_, window)| window == b"\"t\":0").map(|(at, _)| at + 4)
        {
            let sent: u64 = std::str::from_utf8(&piece[said..said + 20])?.parse()?;
            found.pieces.push(now.saturating_sub(sent));
        }
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn report(args: &Args, [mut direct, mut passed, mut proxy]: [Found; 3]) -> Outcome<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{args:?}\n")?;
    writeln!(out, "| in µs | p50 | p90 | p99 | largest |\n|---|---|---|---|---|")?;
    let mut figures = serde_json::Map::new();
    let kinds = [
        ("first byte", &mut direct.first, &mut passed.first, &mut proxy.first),
        ("piece", &mut direct.pieces, &mut passed.pieces, &mut proxy.pieces),
    ];
    for (name, direct, passed, proxy) in kinds {
        let [direct, passed, proxy] = [direct, passed, proxy].map(|values| quantiles(values));
        let added: Vec<f64> = proxy.iter().zip(&direct).map(|(with, without)| with - without).collect();
        for (arm, values) in
            [("direct", &direct), ("passed on only", &passed), ("proxy", &proxy), ("added", &added)]
        {
            let cells = values.iter().map(|value| format!("{value:.0}")).collect::<Vec<_>>().join(" | ");
            writeln!(out, "| {name}, {arm} | {cells} |")?;
            figures.insert(format!("{name}, {arm}"), json!(values));
        }
    }
    let per_call =
        |found: &Found| Duration::from_secs_f64(found.cpu_s).as_micros() / u128::from(found.calls.max(1));
    let cpu = per_call(&proxy);
    writeln!(
        out,
        "\nCPU of the hub: {cpu} µs for each proxied call of {} pieces, {} where it only passes it on, {} while it is not used",
        args.pieces,
        per_call(&passed),
        per_call(&direct)
    )?;
    writeln!(out, "{} calls through it, {} pieces", proxy.calls, proxy.pieces.len())?;
    figures.insert(String::from("cpu_us_per_call"), json!(cpu));
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}

/// Of 100 values the 50th, the 90th, the 99th and the last, in microseconds.
fn quantiles(values: &mut [u64]) -> Vec<f64> {
    values.sort_unstable();
    let at = |percent: usize| values.get((values.len() * percent / 100).min(values.len().saturating_sub(1)));
    let micros =
        |value: Option<&u64>| Duration::from_nanos(value.copied().unwrap_or_default()).as_secs_f64() * 1e6;
    [50, 90, 99, 100].map(|percent| micros(at(percent))).to_vec()
}
