//! What the model costs for each event: fold, conflate, write, read, decode. Each is timed in thirds of one long history;
//! what is O(1) for each event takes as long in the last third as in the first.
#![expect(clippy::cast_precision_loss, reason = "times and counts are far below 2^52")]

use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use dialects::{DecodeOptions, Decoded, decoder};
use model::frame::{ServerFrame, parse_client};
use model::{Envelope, View};

/// Events of the history.
const EVENTS: usize = 90_000;
/// Events that wait for a viewer when they are joined.
const WINDOW: usize = 100;
/// How often all is done; the fastest counts, as nothing makes a program faster than it is.
const ROUNDS: usize = 7;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let history = history()?;
    let publications = publications(&history)?;
    let frames = frames(&history)?;
    let stream = openai_chat();
    let mut out = std::io::stdout().lock();
    writeln!(out, "| for each event | ns, first third | ns, last third | last ÷ first |\n|---|--:|--:|--:|")?;
    let mut row = |name: &str, thirds: [f64; 3]| {
        let [first, _, last] = thirds;
        writeln!(out, "| {name} | {first:.0} | {last:.0} | {:.2} |", last / first)
    };
    row("fold", thirds(&history, View::default, |view, event| model::fold::fold(view, event, &mut |_| {})))?;
    let windows: Vec<&[Arc<Envelope>]> = history.chunks(WINDOW).collect();
    let conflated = thirds(&windows, || (), |(), window| drop(black_box(model::conflate::conflate(window))));
    row("conflate, 100 at a time", conflated.map(|nanos| nanos / WINDOW as f64))?;
    row(
        "read a `pub` frame with one event",
        thirds(
            &publications,
            || (),
            |(), text| {
                drop(black_box(parse_client(text)));
            },
        ),
    )?;
    row(
        "write a `batch` frame with one event",
        thirds(&frames, Vec::new, |bytes: &mut Vec<u8>, frame| {
            bytes.clear();
            // Writing into memory does not fail.
            drop(black_box(serde_json::to_writer(&mut *bytes, frame)));
        }),
    )?;
    if decoder("openai-chat", DecodeOptions::default()).is_some() {
        let fresh = || (decoder("openai-chat", DecodeOptions::default()), Decoded::default());
        row(
            "decode a line of openai-chat",
            thirds(&stream, fresh, |(decoder, decoded), line| {
                if let Some(decoder) = decoder {
                    decoder.feed(line.as_bytes(), decoded);
                }
                black_box(&mut decoded.envelopes).clear();
            }),
        )?;
    }
    Ok(())
}

/// Nanoseconds for each item in each third of `items`, the state going on from one to the next.
fn thirds<T, S>(items: &[T], fresh: impl Fn() -> S, mut each: impl FnMut(&mut S, &T)) -> [f64; 3] {
    let mut best = [f64::INFINITY; 3];
    let size = items.len().div_ceil(best.len());
    for _ in 0..ROUNDS {
        let mut state = fresh();
        for (third, best) in items.chunks(size).zip(&mut best) {
            let start = Instant::now();
            for item in third {
                each(&mut state, item);
            }
            *best = best.min(start.elapsed().as_nanos() as f64 / third.len() as f64);
        }
        black_box(&state);
    }
    best
}

/// One run of an agent that thinks, answers and calls a tool, again and again.
fn history() -> Result<Vec<Arc<Envelope>>, Failure> {
    let mut envelopes = Vec::new();
    let mut add = |json: String| -> Result<usize, Failure> {
        let mut envelope = Envelope::parse(&json)?;
        envelope.seq = envelopes.len() as u64 + 1;
        envelope.at = 1_795_300_000_000 + envelope.seq * 10;
        envelopes.push(Arc::new(envelope));
        Ok(envelopes.len())
    };
    add(r#"{"k":"run.start","run":"r1","model":"m","title":"a long run"}"#.to_owned())?;
    for turn in 0.. {
        for (kind, deltas) in [("thinking", 30), ("text", 60)] {
            let part = format!(r#""run":"r1","part":"{kind}{turn}""#);
            add(format!(r#"{{"k":"part.start",{part},"kind":"{kind}"}}"#))?;
            for delta in 0..deltas {
                add(format!(r#"{{"k":"part.delta",{part},"text":" word {delta} of it"}}"#))?;
            }
            add(format!(r#"{{"k":"part.end",{part}}}"#))?;
        }
        let tool = format!(r#""run":"r1","tool":"t{turn}""#);
        add(format!(r#"{{"k":"tool.start",{tool},"name":"search"}}"#))?;
        add(format!(r#"{{"k":"tool.call",{tool},"name":"search","arguments":"{{\"query\":\"{turn}\"}}"}}"#))?;
        add(format!(r#"{{"k":"tool.state",{tool},"state":"executing"}}"#))?;
        let size =
            add(format!(r#"{{"k":"tool.result",{tool},"output":"found {turn} of them","exec_ms":120}}"#))?;
        if size >= EVENTS {
            break;
        }
    }
    Ok(envelopes)
}

fn publications(history: &[Arc<Envelope>]) -> Result<Vec<String>, Failure> {
    let each = history.iter().map(|envelope| {
        let event = serde_json::to_string(&envelope.event)?;
        Ok(format!(r#"{{"t":"pub","id":1,"conv":"c1","events":[{event}]}}"#))
    });
    each.collect()
}

fn frames(history: &[Arc<Envelope>]) -> Result<Vec<ServerFrame>, Failure> {
    let each = history.iter().map(|envelope| {
        let (from, to) = (envelope.seq, envelope.seq);
        Ok(ServerFrame::Batch { sub: 1, from, to, ts: envelope.at, ev: vec![Envelope::clone(envelope)] })
    });
    each.collect()
}

/// The lines of one long answer.
fn openai_chat() -> Vec<String> {
    let each = (0..EVENTS).map(|number| {
        let delta = format!(r#"{{"index":0,"delta":{{"content":" word {number} of it"}},"finish_reason":null}}"#);
        format!(
            "data: {{\"id\":\"x1\",\"object\":\"chat.completion.chunk\",\"created\":1795300000,\"model\":\"m\",\
             \"choices\":[{delta}]}}\n\n"
        )
    });
    each.collect()
}
