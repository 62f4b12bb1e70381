//! What it costs to take in a foreign stream: decode and fold in one pass, in bytes per second, beside `serde_json`
//! parsing the same lines into values as the floor, and over streams of growing length, which must cost the same per byte.

use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use dialects::{DecodeOptions, Decoded, decoder};
use model::View;
use model::event::Class;
use model::fold::{complete, fold};
use redact::{Builtin, EventStreams, MarkKey, Redactor};
use serde_json::Value;

/// Bytes that come at once, as from a socket.
const READ_BYTES: usize = 16 << 10;
/// Lines of the stream that is compared.
const LINES: usize = 10_000;

fn against_the_floor(criterion: &mut Criterion) {
    for (dialect, name, stream) in [
        ("openai-chat", "bare lines", bare(LINES)),
        ("openai-chat", "full lines", full(LINES)),
        ("openai-chat", "calls", calls(LINES)),
        ("anthropic", "text", anthropic(LINES)),
        ("fanlight", "events", native(LINES, |_| String::new())),
        (
            "fanlight",
            "envelopes",
            native(LINES, |number| format!(r#","seq":{number},"at":{}"#, 1_795_300_000_000 + number)),
        ),
    ] {
        let mut group = criterion.benchmark_group(format!("{dialect}, {name}"));
        group.throughput(Throughput::Bytes(bytes(&stream)));
        group.sampling_mode(SamplingMode::Flat);
        group.bench_function("decode", |bench| bench.iter(|| decoded(dialect, &stream)));
        group.bench_function("decode and fold", |bench| bench.iter(|| folded(dialect, &stream)));
        group.bench_function("floor: serde_json", |bench| bench.iter(|| parsed(&stream)));
        group.finish();
    }
}

/// Decode and fold in turns without and with redaction, and its share: the medians of one run, since the machine's
/// speed varies from run to run.
fn with_redaction(_: &mut Criterion) {
    const ROUNDS: usize = 41;
    for (name, stream) in [("bare lines", bare(LINES)), ("full lines", full(LINES)), ("calls", calls(LINES))]
    {
        let redactor =
            Redactor::new(MarkKey::new([7; 32]), Builtin::default(), &[]).expect("no pattern of its own");
        let timed = |redactor: Option<&Redactor>| {
            let began = Instant::now();
            black_box(redacted("openai-chat", &stream, redactor));
            began.elapsed().as_secs_f64()
        };
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            without.push(timed(None));
            with.push(timed(Some(&redactor)));
        }
        let median = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times.get(ROUNDS / 2).copied().unwrap_or_default()
        };
        let (without, with) = (median(&mut without), median(&mut with));
        let line = format!(
            "redaction, openai-chat, {name}: {:.2} ms without, {:.2} ms with, {:.3} times; 1.05 is the most\n",
            without * 1e3,
            with * 1e3,
            with / without
        );
        // Nobody is left to tell when this fails.
        drop(std::io::stdout().write_all(line.as_bytes()));
    }
}

/// How fast each dialect is, over all of the project's own streams in it, each with a decoder of its own: MiB of a second of one core, and
/// what `serde_json` takes for the objects of their lines.
fn of_all_dialects(_: &mut Criterion) {
    /// Bytes of each measurement, at the least.
    const ENOUGH: u64 = 4 << 20;
    const ROUNDS: usize = 11;
    let mut lines = vec![
        String::from("\n| dialect | decode, MiB/s | decode and fold | serde_json |"),
        String::from("|---|--:|--:|--:|"),
    ];
    for dialect in names() {
        let dialect = dialect.as_str();
        let files = tests::recordings::fixtures(dialect);
        let streams: Vec<String> =
            files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();
        let whole: u64 = streams.iter().map(|stream| bytes(stream)).sum();
        if whole == 0 {
            continue;
        }
        let times = ENOUGH.div_ceil(whole);
        let speed = |work: &dyn Fn(&str)| {
            let mut seconds: Vec<f64> = std::iter::repeat_with(|| {
                let began = Instant::now();
                for stream in (0..times).flat_map(|_| &streams) {
                    work(stream);
                }
                began.elapsed().as_secs_f64()
            })
            .take(ROUNDS)
            .collect();
            seconds.sort_by(f64::total_cmp);
            let middle = seconds.get(ROUNDS / 2).copied().unwrap_or(f64::NAN);
            mebibytes(whole * times) / middle
        };
        let decode = speed(&|stream| {
            black_box(decoded(dialect, stream));
        });
        let fold = speed(&|stream| {
            black_box(folded(dialect, stream));
        });
        let floor = speed(&|stream| {
            black_box(parsed(stream));
        });
        lines.push(format!("| {dialect} | {decode:.0} | {fold:.0} | {floor:.0} |"));
    }
    // Nobody is left to tell when this fails.
    drop(std::io::stdout().write_all(lines.join("\n").as_bytes()));
}

/// The dialects that have streams of their own in the project, sorted.
fn names() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/dialects/fixtures");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| decoder(name, DecodeOptions::default()).is_some());
    names.sort();
    names
}

fn over_length(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("length, decode and fold");
    group.sampling_mode(SamplingMode::Flat);
    for lines in [1_000, 10_000, 100_000] {
        let stream = full(lines);
        group.throughput(Throughput::Bytes(bytes(&stream)));
        group.bench_with_input(BenchmarkId::from_parameter(lines), &stream, |bench, stream| {
            bench.iter(|| folded("openai-chat", stream));
        });
    }
    group.finish();
}

/// So many bytes in MiB, without the rest of a KiB.
fn mebibytes(bytes: u64) -> f64 {
    u32::try_from(bytes >> 10).map_or(f64::INFINITY, f64::from) / 1024.0
}

fn bytes(stream: &str) -> u64 {
    u64::try_from(stream.len()).unwrap_or(u64::MAX)
}

/// Decodes `stream`; gives the number of events.
fn decoded(dialect: &str, stream: &str) -> usize {
    let mut events = 0;
    decode(dialect, stream, &mut |out| {
        events += out.envelopes.len();
        out.envelopes.clear();
    });
    events
}

/// Decodes and folds `stream`.
fn folded(dialect: &str, stream: &str) -> View {
    let mut view = View::default();
    decode(dialect, stream, &mut |out| fold_all(&mut view, out));
    view
}

/// Folds the events of `out` as a hub does, and takes them from it.
fn fold_all(view: &mut View, out: &mut Decoded) {
    for mut envelope in out.envelopes.drain(..) {
        if envelope.event.kind.class() != Class::Ephemeral {
            envelope.seq = view.seq + 1;
        }
        complete(view, &mut envelope.event);
        fold(view, &envelope, &mut |_change| {});
    }
}

/// The same, redacted as the hub redacts what is published; not at all without a redactor.
fn redacted(dialect: &str, stream: &str, redactor: Option<&Redactor>) -> View {
    let (mut view, mut texts) = (View::default(), EventStreams::default());
    decode(dialect, stream, &mut |out| {
        if let Some(redactor) = redactor {
            texts.take(redactor, &mut out.envelopes);
        }
        fold_all(&mut view, out);
    });
    view
}

fn decode(dialect: &str, stream: &str, take: &mut dyn FnMut(&mut Decoded)) {
    let Some(mut decoder) = decoder(dialect, DecodeOptions::default()) else { return };
    let mut out = Decoded::default();
    for piece in stream.as_bytes().chunks(READ_BYTES) {
        decoder.feed(black_box(piece), &mut out);
        take(&mut out);
    }
    decoder.end(&mut out);
    take(&mut out);
}

/// What any reader of the stream does at the least: parses each line.
fn parsed(stream: &str) -> usize {
    let objects = stream.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
    objects.filter_map(|object| serde_json::from_str::<Value>(black_box(object)).ok()).map(black_box).count()
}

/// An answer with the fewest fields that servers send.
fn bare(lines: usize) -> String {
    answer(lines, |number| format!(r#"{{"content":" word {number} of it"}}"#), "")
}

/// An answer with the fields that the big providers send.
fn full(lines: usize) -> String {
    let extra = r#","service_tier":"default","system_fingerprint":"fp_0123456789","usage":null,"obfuscation":"a1b2c3d4""#;
    answer(lines, |number| format!(r#"{{"content":" word {number} of it"}}"#), extra)
}

/// One call after the other, each in forty fragments.
fn calls(lines: usize) -> String {
    let delta = |number: usize| {
        let (call, fragment) = (number / 40, number % 40);
        let arguments = match fragment {
            0 => r#"{\"text\":\""#,
            39 => r#"\"}"#,
            _ => " a word",
        };
        let start =
            if fragment == 0 { format!(r#""id":"call_{call}","type":"function","#) } else { String::new() };
        let name = if fragment == 0 { r#""name":"write","# } else { "" };
        format!(
            r#"{{"tool_calls":[{{"index":{call},{start}"function":{{{name}"arguments":"{arguments}"}}}}]}}"#
        )
    };
    answer(lines, delta, "")
}

fn answer(lines: usize, delta: impl Fn(usize) -> String, extra: &str) -> String {
    let each = (0..lines).map(|number| {
        let delta = delta(number);
        format!(
            "data: {{\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1795300000,\
             \"model\":\"m\"{extra},\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\
             \"finish_reason\":null}}]}}\n\n"
        )
    });
    let end =
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    each.chain([end.to_owned()]).collect()
}

/// An answer of Anthropic's API: one block of text.
fn anthropic(lines: usize) -> String {
    let delta = |number: usize| {
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\
             \"text_delta\",\"text\":\" word {number} of it\"}}}}\n\n"
        )
    };
    let event = |data: &str| format!("data: {data}\n\n");
    let start = [
        event(r#"{"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":9}}}"#),
        event(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#),
    ];
    let end = [
        event(r#"{"type":"content_block_stop","index":0}"#),
        event(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}}"#),
        event(r#"{"type":"message_stop"}"#),
    ];
    start.into_iter().chain((0..lines).map(delta)).chain(end).collect()
}

/// A native stream of one text; `place` is what an envelope has beside its event.
fn native(lines: usize, place: fn(usize) -> String) -> String {
    let mut offset = 0;
    let delta = |number: usize| {
        let text = format!(" word {number} of it");
        let place = place(number);
        let line = format!(
            "{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"p1\",\"off\":{offset},\"text\":\"{text}\"{place}}}\n"
        );
        offset += text.len();
        line
    };
    let start = "{\"k\":\"run.start\",\"run\":\"r\"}\n{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p1\"}\n";
    let end = "{\"k\":\"part.end\",\"run\":\"r\",\"part\":\"p1\"}\n{\"k\":\"run.end\",\"run\":\"r\"}\n";
    std::iter::once(start.to_owned()).chain((0..lines).map(delta)).chain([end.to_owned()]).collect()
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(4)).warm_up_time(Duration::from_secs(1));
    targets = against_the_floor, over_length, with_redaction, of_all_dialects
}
criterion_main!(benches);
