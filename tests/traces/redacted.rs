//! What recordings of others are taken for secrets that are none, and that secrets in streams of each dialect are taken for what they are.

use std::collections::BTreeSet;

use dialects::{DecodeOptions, Decoded, decoder};
use model::dialect::DECODED;
use model::event::Kind;
use model::{Envelope, View, fold};
use redact::{Builtin, EventStreams, MarkKey, Redactor};
use tests::recordings::fixtures;

use crate::recordings::recorded;

#[path = "../../shared/redact/src/stream/tests/samples.rs"]
mod samples;
use samples::samples;

/// What stands in a stream where secrets are put.
const PLACE: &str = "Zq8kPlaceOfASecretX7vw";

/// Kinds of secrets among the samples, which come in turns.
const KINDS: usize = 20;

/// So much of the middle of a secret is looked for; short ones have less.
const MIDDLE_BYTES: usize = 12;

/// Every so many bytes a delta is cut in one dialect; the next dialect begins a byte later.
const CUTS_APART: usize = 4;

/// Dialects of which a fixture has a word that somebody reads: all that have texts.
const CARRIERS_MIN: usize = 22;

/// Marks for each MiB of recordings, at most.
const FALSE_HITS_PER_MIB: u64 = 1;

#[test]
fn few_words_of_recordings_are_taken_for_secrets() {
    let redactor = Redactor::new(MarkKey::new([1; 32]), Builtin::default(), &[]).unwrap();
    let (mut bytes, mut lines) = (0_u64, Vec::new());
    for stream in recorded() {
        bytes += stream.bytes.len() as u64;
        let mut decoded = stream.decoded();
        let before: u64 = redactor.counts().map(|(_, count)| count).sum();
        for envelope in &mut decoded.envelopes {
            redactor.event(&mut envelope.event);
        }
        EventStreams::default().take_history(&redactor, &mut decoded.envelopes);
        let after: u64 = redactor.counts().map(|(_, count)| count).sum();
        if after > before {
            lines.push(format!("{}: {}", stream.path.display(), after - before));
        }
    }
    let hits: u64 = redactor.counts().map(|(_, count)| count).sum();
    let by_rule: Vec<_> = redactor.counts().filter(|(_, count)| *count > 0).collect();
    println!("{hits} hits in {bytes} bytes of recordings: {by_rule:?}\n{}", lines.join("\n"));
    assert!(hits <= FALSE_HITS_PER_MIB * bytes.div_ceil(1 << 20), "{by_rule:?}\n{}", lines.join("\n"));
}

/// The events of a stream that comes cut at `cut`, and is redacted as the hub does it.
fn redacted(redactor: &Redactor, dialect: &str, bytes: &[u8], cut: usize) -> Vec<Envelope> {
    let mut decoder = decoder(dialect, DecodeOptions::default()).unwrap();
    let (mut texts, mut all) = (EventStreams::default(), Vec::new());
    let (first, second) = bytes.split_at(cut);
    for (number, piece) in [first, second].into_iter().enumerate() {
        let mut out = Decoded::default();
        decoder.feed(piece, &mut out);
        if number == 1 {
            decoder.end(&mut out);
        }
        take(redactor, &mut texts, out.envelopes, &mut all);
    }
    all
}

/// Redacts events that come one after the other.
fn take(redactor: &Redactor, texts: &mut EventStreams, mut events: Vec<Envelope>, all: &mut Vec<Envelope>) {
    for envelope in &mut events {
        redactor.event(&mut envelope.event);
    }
    texts.take(redactor, &mut events);
    all.extend(events);
}

/// Whether a secret is in these events or in what they fold to. Of each secret the middle must be nowhere.
fn holds(events: &[Envelope], secret: &str) -> bool {
    let begin = secret.len() / 4;
    let middle = secret.get(begin..secret.len().min(begin + MIDDLE_BYTES)).unwrap();
    let mut view = View::default();
    for envelope in events {
        let mut envelope = envelope.clone();
        envelope.seq = view.seq + 1;
        fold::complete(&view, &mut envelope.event);
        fold::fold(&mut view, &envelope, &mut |_| {});
    }
    let said = events.iter().map(|envelope| serde_json::to_string(envelope).unwrap());
    said.chain([serde_json::to_string(&view).unwrap()]).any(|text| text.contains(middle))
}

fn plain(dialect: &str, bytes: &[u8]) -> Vec<Envelope> {
    let mut decoder = decoder(dialect, DecodeOptions::default()).unwrap();
    let mut out = Decoded::default();
    decoder.feed(bytes, &mut out);
    decoder.end(&mut out);
    out.envelopes
}

/// Whether `word` has no letter, digit or sign of a longer word beside it wherever it is in `text`: a secret in its place would not be one.
fn stands_alone(text: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-+/=.".contains(letter);
    text.match_indices(word).all(|(at, _)| {
        let (before, behind) = text.split_at(at);
        !before.ends_with(is_part) && !behind.trim_start_matches(word).starts_with(is_part)
    })
}

/// The shortest fixture of `dialect` in which a word can be replaced that comes out again, with [`PLACE`] in its place.
fn carrier(dialect: &str) -> Option<String> {
    let mut texts: Vec<String> =
        fixtures(dialect).iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    texts.sort_by_key(String::len);
    texts.iter().find_map(|text| {
        let said = |events: &[Envelope]| {
            let is_said = |kind: &Kind| {
                matches!(
                    kind,
                    Kind::PartDelta { .. } | Kind::ToolArgs { .. } | Kind::ToolCall { .. } | Kind::Message(_)
                )
            };
            let said = events.iter().filter(|it| is_said(&it.event.kind));
            said.map(|it| serde_json::to_string(&it.event).unwrap()).collect::<String>()
        };
        let all = said(&plain(dialect, text.as_bytes()));
        let words = all.split(|letter: char| !letter.is_ascii_alphabetic()).filter(|word| word.len() >= 4);
        let alone = words.collect::<BTreeSet<_>>().into_iter().filter(|word| stands_alone(text, word));
        alone.into_iter().find_map(|word| {
            let changed = text.replace(word, PLACE);
            said(&plain(dialect, changed.as_bytes())).contains(PLACE).then_some(changed)
        })
    })
}

/// The events with the text of the `at`th delta in two, cut at `cut`; nothing where it is no delta or has no such place.
fn split(events: &[Envelope], at: usize, cut: usize) -> Option<Vec<Envelope>> {
    let (mut first, mut second) = (events[at].clone(), events[at].clone());
    for (envelope, is_first) in [(&mut first, true), (&mut second, false)] {
        let (Kind::PartDelta { off, text, .. } | Kind::ToolArgs { off, text, .. }) = &mut envelope.event.kind
        else {
            return None;
        };
        let (before, behind) = text.split_at_checked(cut)?;
        let part = if is_first { before } else { behind };
        *off = None;
        *text = part.into();
    }
    Some([&events[..at], &[first, second], &events[at + 1..]].concat())
}

#[test]
fn of_500_secrets_in_each_dialect_nothing_is_left_wherever_the_stream_is_cut() {
    let redactor = Redactor::new(MarkKey::new([1; 32]), Builtin::default(), &[]).unwrap();
    let secrets = samples(500);
    let (mut carried, mut pairs, mut cuts) = (0, 0, 0);
    for dialect in DECODED {
        let Some(text) = carrier(dialect) else { continue };
        carried += 1;
        for (number, sample) in secrets.iter().enumerate() {
            let whole = format!("{}{}", sample.known, sample.secret);
            let written = serde_json::to_string(&whole).unwrap();
            let stream = text.replace(PLACE, written.trim_matches('"'));
            let before = plain(dialect, stream.as_bytes());
            // A key of several lines is not one word in every dialect.
            if !holds(&before, &sample.secret) {
                assert!(whole.contains('\n'), "{dialect} does not carry {whole}");
                continue;
            }
            pairs += 1;
            // Each secret at another place of the stream, so that all places are tried.
            let cut =
                (0..=(number * 37) % stream.len()).rev().find(|at| stream.is_char_boundary(*at)).unwrap();
            let after = redacted(&redactor, dialect, stream.as_bytes(), cut);
            assert!(!holds(&after, &sample.secret), "{dialect}: {whole}, cut at {cut}");
            // Of each kind one more: its delta is cut, so that each place is tried in some dialect.
            let delta = before.iter().enumerate().find_map(|(at, it)| match &it.event.kind {
                Kind::PartDelta { text, .. } | Kind::ToolArgs { text, .. } if text.contains(&*whole) => {
                    Some((at, text.len()))
                }
                _ => None,
            });
            let Some((at, length)) = delta.filter(|_| number < KINDS) else { continue };
            for cut in (1 + carried % CUTS_APART..length).step_by(CUTS_APART) {
                let Some(events) = split(&before, at, cut) else { continue };
                let (mut texts, mut all) = (EventStreams::default(), Vec::new());
                for envelope in events {
                    take(&redactor, &mut texts, vec![envelope], &mut all);
                }
                cuts += 1;
                assert!(!holds(&all, &sample.secret), "{dialect}: {whole}, its delta cut at {cut}");
            }
        }
    }
    println!("{carried} dialects, {pairs} secrets in streams, {cuts} cuts of deltas");
    assert!(carried >= CARRIERS_MIN && pairs > 450 * carried && cuts > 0, "{carried}, {pairs}, {cuts}");
}
