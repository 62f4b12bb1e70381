//! A server that answers each request with pieces, and tells by the clock of this process when it said each.

use std::collections::HashMap;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tests::replayer::RecordedExchange;

use crate::Outcome;

/// Says which call this is, and where it is one which recording is to be replayed: `CALL` or `CALL/RECORDING`.
pub(crate) const CALL: &str = "x-call";

/// When the pieces of a call were said: the place of their last byte in the answer, and the time.
type PieceTimes = Arc<Mutex<Vec<(usize, Instant)>>>;

/// A model API that answers each request with a fixed number of pieces, on a thread of its own.
#[derive(Debug)]
pub(crate) struct Upstream {
    pieces: u64,
    every: Duration,
    pub(crate) recorded: Vec<RecordedExchange>,
    said: Mutex<HashMap<String, PieceTimes>>,
}

impl Upstream {
    /// One that says `pieces`, or the lines of a recording, with `every` between two of them.
    pub(crate) fn new(pieces: u64, every: Duration, recorded: Vec<RecordedExchange>) -> Self {
        Self { pieces, every, recorded, said: Mutex::default() }
    }

    /// When the pieces of `call` are said. It goes with whoever drops it last.
    pub(crate) fn said(&self, call: &str) -> Outcome<PieceTimes> {
        let mut all = self.said.lock().map_err(|_poisoned| "a caller panicked")?;
        all.retain(|_, said| Arc::strong_count(said) > 1);
        Ok(Arc::clone(all.entry(call.to_owned()).or_default()))
    }

    /// The kind of an answer and its pieces.
    fn answer(&self, recording: Option<&str>) -> (&'static str, Vec<String>) {
        let recorded = recording.and_then(|name| self.recorded.iter().find(|exchange| exchange.name == name));
        let Some(exchange) = recorded else {
            let delta = "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some words \"}}]}\n\n";
            let end = "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            let deltas = (0..self.pieces).map(|_| delta.to_owned());
            return ("text/event-stream", deltas.chain([end.to_owned()]).collect());
        };
        let is_json = exchange.answer.trim_start().starts_with(['{', '[']);
        // An event of SSE, or a line of JSON.
        let border = if is_json { "\n" } else { "\n\n" };
        let pieces = exchange.answer.split_inclusive(border).map(str::to_owned).collect();
        (if is_json { "application/json" } else { "text/event-stream" }, pieces)
    }
}

/// Serves on any free port.
pub(crate) fn start(upstream: &Arc<Upstream>) -> Outcome<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let upstream = Arc::clone(upstream);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let upstream = Arc::clone(&upstream);
            // Who went away is of no interest here.
            std::thread::spawn(move || serve(&stream, &upstream).unwrap_or_default());
        }
    });
    Ok(address)
}

fn serve(stream: &TcpStream, upstream: &Upstream) -> Outcome<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let Head { length, call } = head(&mut reader)?;
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
        let said = upstream.said(&call)?;
        let (kind, pieces) = upstream.answer(call.split_once('/').map(|(_, recording)| recording));
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n");
        writer.write_all(head.as_bytes())?;
        let mut end = 0_usize;
        for piece in pieces {
            let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
            end += piece.len();
            said.lock().map_err(|_poisoned| "a caller panicked")?.push((end, Instant::now()));
            writer.write_all(chunk.as_bytes())?;
            pause(upstream.every);
        }
        writer.write_all(b"0\r\n\r\n")?;
    }
}

/// Lets this thread rest for `span`.
fn pause(span: Duration) {
    let until = Instant::now() + span;
    while let Some(rest) = until.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
        std::thread::park_timeout(rest);
    }
}

/// What a head says: the length of the body, 0 of one in pieces, and the call.
#[derive(Debug, Default)]
pub(crate) struct Head {
    length: u64,
    call: String,
}

/// Reads a head.
pub(crate) fn head(reader: &mut impl std::io::BufRead) -> Outcome<Head> {
    let mut head = Head::default();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err("closed".into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Ok(head);
        }
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                head.length = value.trim().parse()?;
            }
            Some((name, value)) if name.eq_ignore_ascii_case(CALL) => value.trim().clone_into(&mut head.call),
            _ => {}
        }
    }
}
