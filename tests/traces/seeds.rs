//! Every event sequence and every sample that the seed documents print is accepted and produced. The samples stand in
//! `seeds/samples`, below the headings of the documents, with names and values of our own; `docs/seeds.md` says which test
//! is about which. Where the documents are at hand, [`same_form`] holds the samples to them.

use std::path::Path;

use dialects::DecodeOptions;
use encode::{EncodeOptions, encoding};
use model::Envelope;
use model::view::View;
use serde_json::{Map, Value};
use tests::recordings::seed;

use crate::events::lines;
use crate::stream::decoded;

mod bernard; // seed 3
mod deep_agent; // seed 1
mod forge; // seed 2
mod provider; // seed 4: what a provider says, and calls in text
mod ralph; // seed 0
mod rye; // seed 4: the transcript
mod rye_threads; // seed 4: how threads end, what they spent and are told
mod same_form; // our samples and those of the documents
mod table; // docs/seeds.md names tests that there are
mod webui; // seed 0: Open WebUI and OpenAI

/// The samples of a seed document.
pub(crate) struct Seed {
    text: String,
}

impl Seed {
    /// Our own samples with the form of those in the document of that number.
    fn open(number: u32) -> Self {
        let file = format!("traces/seeds/samples/seed-{number}.md");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        Self { text: std::fs::read_to_string(path).unwrap() }
    }

    /// The document of that number itself. Nothing where the documents are not at hand, as for recordings.
    fn document(number: u32) -> Option<Self> {
        Some(Self { text: std::fs::read_to_string(seed(number)?).unwrap() })
    }

    /// The headings that have a block, each with the number of its blocks, in order.
    fn headings(&self) -> Vec<(String, usize)> {
        let (mut headings, mut is_inside) = (Vec::<(String, usize)>::new(), false);
        for line in self.text.lines() {
            if line.starts_with("```") {
                is_inside = !is_inside;
                if let (true, Some((_, blocks))) = (is_inside, headings.last_mut()) {
                    *blocks += 1;
                }
            } else if !is_inside && line.starts_with('#') {
                headings.push((line.trim_start_matches('#').trim().to_owned(), 0));
            }
        }
        headings.retain(|(_, blocks)| *blocks > 0);
        headings
    }

    /// The fenced block at place `nth` below the heading `heading`, counted from 0.
    fn block(&self, heading: &str, nth: usize) -> String {
        let (mut is_below, mut is_inside, mut number) = (false, false, 0);
        let mut block = String::new();
        for line in self.text.lines() {
            if line.starts_with("```") {
                number += usize::from(is_inside && is_below);
                is_inside = !is_inside;
            } else if is_inside && is_below && number == nth {
                block.push_str(line);
                block.push('\n');
            } else if !is_inside && line.starts_with('#') {
                is_below = line.trim_start_matches('#').trim() == heading;
            }
        }
        assert!(!block.is_empty(), "no block {nth} below {heading:?}");
        block
    }

    /// Such a block that is one JSON value.
    fn json(&self, heading: &str, nth: usize) -> Value {
        serde_json::from_str(&self.block(heading, nth)).unwrap()
    }

    /// The first words of the rows of the table below `heading`, without their marks.
    fn table(&self, heading: &str) -> Vec<String> {
        let below =
            self.text.lines().skip_while(|line| line.trim_start_matches('#').trim() != heading).skip(1);
        let rows = below.take_while(|line| !line.starts_with('#')).filter(|line| line.starts_with('|'));
        let first = |row: &str| row.split('|').nth(1).unwrap().trim().trim_matches('`').to_owned();
        let words: Vec<_> = rows.skip(2).map(first).collect();
        assert!(!words.is_empty(), "no table below {heading:?}");
        words
    }
}

/// What a whole stream says, told in one piece and byte by byte alike and without anything odd: one line for each event.
#[track_caller]
fn accepted(dialect: &str, stream: &str) -> (Vec<Envelope>, String) {
    let (envelopes, told) = read(dialect, stream);
    assert!(!told.contains(" anomaly "), "{told}");
    (envelopes, told)
}

/// The same for a sample that is cut out of a stream: that its run does not end in it is left out.
#[track_caller]
fn accepted_piece(dialect: &str, stream: &str) -> (Vec<Envelope>, String) {
    let (envelopes, mut told) = read(dialect, stream);
    if let Some((before, end)) = told.split_once("r1 anomaly code=\"truncated\"")
        && end.lines().count() == 2
        && end.contains("run.end")
    {
        told = before.to_owned();
    }
    assert!(!told.contains(" anomaly "), "{told}");
    (envelopes, told)
}

#[track_caller]
fn read(dialect: &str, stream: &str) -> (Vec<Envelope>, String) {
    let whole = decoded(dialect, DecodeOptions::default(), std::iter::once(stream.as_bytes()));
    let bytes = decoded(dialect, DecodeOptions::default(), stream.as_bytes().chunks(1));
    let told = lines(&whole);
    assert_eq!(told, lines(&bytes), "cut at every byte");
    (whole.envelopes, told)
}

/// That a whole stream is accepted as exactly these events, one a line.
#[track_caller]
fn assert_means(dialect: &str, stream: &str, expected: &str) -> Vec<Envelope> {
    let (envelopes, told) = accepted(dialect, stream);
    assert_lines(dialect, &told, expected);
    envelopes
}

/// The same for a sample that is cut out of a stream.
#[track_caller]
fn assert_piece_means(dialect: &str, stream: &str, expected: &str) -> Vec<Envelope> {
    let (envelopes, told) = accepted_piece(dialect, stream);
    assert_lines(dialect, &told, expected);
    envelopes
}

#[track_caller]
fn assert_lines(dialect: &str, told: &str, expected: &str) {
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(told.lines().collect::<Vec<_>>(), expected, "{dialect}");
}

/// Native events, one in each line; `run` is added where it is missing.
pub(crate) fn native(lines: &str) -> Vec<Envelope> {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let envelopes = lines.map(|line| {
        let mut event: Map<String, Value> = serde_json::from_str(line).unwrap();
        event.entry("run").or_insert_with(|| "r".into());
        Envelope::parse(&Value::from(event).to_string()).unwrap()
    });
    envelopes.collect()
}

/// What the encoder of `dialect` says of `envelopes`.
fn encoded(dialect: &str, envelopes: &[Envelope]) -> String {
    let mut encoder = encoding(dialect)
        .unwrap()
        .encoder(&EncodeOptions { conversation: "c".into(), ..EncodeOptions::default() });
    let mut out = Vec::new();
    for envelope in envelopes {
        encoder.event(envelope, &mut out);
    }
    encoder.end(&mut out);
    String::from_utf8(out).unwrap()
}

/// The objects of a stream of events or of lines. One with a name is told as `{"event", "data"}`.
fn objects(stream: &str) -> Vec<Value> {
    let (mut objects, mut name) = (Vec::new(), None);
    for line in stream.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(event) = line.strip_prefix("event: ") {
            name = Some(event.to_owned());
            continue;
        }
        let text = line.strip_prefix("data: ").unwrap_or(line);
        let object = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
        objects.push(match name.take() {
            Some(event) => serde_json::json!({"event": event, "data": object}),
            None => object,
        });
    }
    objects
}

/// A stream of server-sent events, one for each object; one with `event` and `data` has a name.
fn sse(objects: &[Value]) -> String {
    let event = |object: &Value| match (object["event"].as_str(), &object["data"]) {
        (Some(name), data) => format!("event: {name}\ndata: {data}\n\n"),
        (None, _) => format!("data: {object}\n\n"),
    };
    objects.iter().map(event).collect()
}

/// The events folded.
fn view(envelopes: &[Envelope]) -> View {
    let events = envelopes.iter().map(|envelope| envelope.event.clone()).collect();
    model::testkit::folded(&model::testkit::logged(events))
}

/// `object` with the values of `free` fields, wherever they stand, set to null: those that are made up anew each time.
fn without(object: &Value, free: &[&str]) -> Value {
    match object {
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let value = if free.contains(&name.as_str()) { Value::Null } else { without(value, free) };
                (name.clone(), value)
            };
            Value::Object(fields.iter().map(field).collect())
        }
        Value::Array(items) => items.iter().map(|item| without(item, free)).collect(),
        other => other.clone(),
    }
}
