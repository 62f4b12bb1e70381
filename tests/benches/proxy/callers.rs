//! The agents: what they ask, and when the answers come.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::process::own_cpu;

use crate::upstream::{CALL, Upstream, head};
use crate::{Args, Arm, Outcome};

/// What the callers of one arm found; times in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) first: Vec<u64>,
    pub(crate) pieces: Vec<u64>,
    pub(crate) calls: u64,
    /// CPU of the hub.
    pub(crate) cpu: Duration,
    /// CPU of the callers.
    pub(crate) caller_cpu: Duration,
}

impl Found {
    pub(crate) fn add(&mut self, more: Self) {
        self.first.extend(more.first);
        self.pieces.extend(more.pieces);
        self.calls += more.calls;
        self.cpu += more.cpu;
        self.caller_cpu += more.caller_cpu;
    }
}

/// One turn of an arm.
pub(crate) fn turn(
    args: &Args,
    arm: Arm,
    address: SocketAddr,
    upstream: &Arc<Upstream>,
    round: u64,
) -> Outcome<Found> {
    let agents: Vec<_> = (0..args.agents)
        .map(|agent| {
            let (args, upstream) = (args.clone(), Arc::clone(upstream));
            std::thread::spawn(move || calls(&args, arm, address, &upstream, (round, agent)))
        })
        .collect();
    let mut all = Found::default();
    for agent in agents {
        all.add(agent.join().map_err(|_panicked| "an agent panicked")??);
    }
    Ok(all)
}

/// A request: its path, how the upstream is told which call it is, and its body.
struct Request {
    path: String,
    call: String,
    body: String,
}

/// The calls of one agent, one after the other over one connection.
fn calls(
    args: &Args,
    arm: Arm,
    address: SocketAddr,
    upstream: &Upstream,
    (round, agent): (u64, u64),
) -> Outcome<Found> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(&stream);
    let mut found = Found::default();
    let begun = own_cpu();
    for call in 0..args.calls {
        let name = format!("{arm:?}-{round}-{agent}-{call}");
        let request = if arm.is_recorded() {
            let turn = round.wrapping_mul(args.agents).wrapping_add(agent).wrapping_mul(args.calls);
            recorded(arm, upstream, turn.wrapping_add(call), &name)?
        } else {
            written(args, arm, name)
        };
        let Request { path, call, body } = request;
        let bytes = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer k\r\ncontent-type: application/json\r\n{CALL}: {call}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let said = upstream.said(&call)?;
        let asked = Instant::now();
        (&stream).write_all(bytes.as_bytes())?;
        reader.fill_buf()?;
        found.first.push(nanos(asked.elapsed()));
        head(&mut reader)?;
        let came = answer(&mut reader)?;
        let said = std::mem::take(&mut *said.lock().map_err(|_poisoned| "the upstream panicked")?);
        found.pieces.extend(delays(&said, &came));
        found.calls += 1;
    }
    found.caller_cpu = own_cpu().saturating_sub(begun);
    Ok(found)
}

fn written(args: &Args, arm: Arm, name: String) -> Request {
    let history = "words of a long history, ".repeat(args.request_bytes / 25);
    let body = json!({"model": "m", "stream": true, "messages": [
        {"role": "system", "content": history},
        {"role": "user", "content": format!("question {name}")},
    ]});
    let path = match arm {
        Arm::Passed => "/proxy/x/v1/elsewhere",
        Arm::Proxy => "/proxy/x/v1/chat/completions",
        _ => "/v1/chat/completions",
    };
    Request { path: path.to_owned(), call: name, body: body.to_string() }
}

/// The recorded call that it is the turn of, in a conversation of its own.
fn recorded(arm: Arm, upstream: &Upstream, turn: u64, name: &str) -> Outcome<Request> {
    let place = turn.checked_rem(u64::try_from(upstream.recorded.len())?).unwrap_or_default();
    let exchange = upstream.recorded.get(usize::try_from(place)?).ok_or("no recordings")?;
    // As it would stand in a path.
    let path = exchange.path.replace('<', "%3C").replace('>', "%3E");
    let api = if exchange.dialect.starts_with("ollama") { "ollama" } else { "x" };
    let path = if arm == Arm::RecordedProxy { format!("/proxy/{api}/~{name}{path}") } else { path };
    Ok(Request { path, call: format!("{name}/{}", exchange.name), body: exchange.request.to_string() })
}

/// Reads an answer: how much of it had come, and when.
fn answer(reader: &mut impl std::io::BufRead) -> Outcome<Vec<(usize, Instant)>> {
    let (mut line, mut came, mut end) = (String::new(), Vec::new(), 0_usize);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16)?;
        let mut piece = vec![0; size.saturating_add(2)];
        reader.read_exact(&mut piece)?;
        if size == 0 {
            return Ok(came);
        }
        end = end.saturating_add(size);
        came.push((end, Instant::now()));
    }
}

/// How long each piece was under way. Several may have come as one, or one as several.
fn delays(said: &[(usize, Instant)], came: &[(usize, Instant)]) -> Vec<u64> {
    let when = |end: usize| came.get(came.partition_point(|(has, _)| *has < end)).map(|(_, at)| *at);
    let delay = |(end, at): &(usize, Instant)| Some(nanos(when(*end)?.saturating_duration_since(*at)));
    said.iter().filter_map(delay).collect()
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
