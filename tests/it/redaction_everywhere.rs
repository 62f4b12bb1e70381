//! A secret for each rule, in each dialect that comes in, through one hub: none of them is in any frame, export, answer, file or line of the trace.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dialects::{DecodeOptions, Decoded, decoder};
use encode::{EncodeOptions, encoding};
use model::dialect::DECODED;
use model::event::Kind;
use model::{Envelope, RunId};
use serde_json::json;
use tests::publisher::StreamingBody;
use tests::recordings::fixtures;
use tests::wait::{patiently, within};
use tests::watcher::{ListWatcher, WatcherMessage};

use super::redaction::{fetched, hub_that_traces, stored};

/// Letters and digits of secrets.
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

/// So much of the middle of each secret is looked for.
const MIDDLE_BYTES: usize = 10;

/// Bytes of a delta: shorter than any secret, so that each is cut several times.
const DELTA_BYTES: usize = 7;

/// Bytes that are sent at once.
const PIECE_BYTES: usize = 997;

/// Dialects of which a text is cut into deltas; of the others it comes as a whole.
const CUT_MIN: usize = 16;

/// What stands in the place of secrets until they are put there.
const PLACE: &str = "Zq8kPlaceOfSecretsX7vw";

/// A secret of one rule, as it stands in texts.
struct Secret {
    /// The rule that finds it.
    rule: &'static str,
    /// It, with what it is known by.
    text: String,
    /// A part of it that nothing else holds.
    middle: String,
}

/// A secret of `count` letters of `alphabet` behind `known`, and other ones for each `seed`.
fn secret(rule: &'static str, known: &str, alphabet: &str, count: usize, seed: u64) -> Secret {
    let mut dice = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let letters: Vec<char> = alphabet.chars().collect();
    let mut letter = || {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        letters[usize::try_from(dice >> 33).unwrap() % letters.len()]
    };
    let body: String = (0..count).map(|_| letter()).collect();
    let middle = body.chars().skip(count / 4).take(MIDDLE_BYTES).collect();
    Secret { rule, text: format!("{known}{body}"), middle }
}

/// One for each rule that is built in, but for `email`, which is off unless asked for.
fn secrets() -> Vec<Secret> {
    let plain: [(&str, &str, &str, usize); 45] = [
        ("anthropic-key", "sk-ant-", ALNUM, 40),
        ("openrouter-key", "sk-or-v1-", HEX, 64),
        ("langfuse-key", "sk-lf-", HEX, 36),
        ("openai-key", "sk-proj-", ALNUM, 48),
        ("google-key", "AIza", ALNUM, 35),
        ("google-token", "ya29.", ALNUM, 60),
        ("google-secret", "GOCSPX-", ALNUM, 28),
        ("aws-access-key", "AKIA", UPPER, 16),
        ("github-token", "ghp_", ALNUM, 36),
        ("gitlab-token", "glpat-", ALNUM, 20),
        ("slack-token", "xoxb-123456789012-", ALNUM, 24),
        ("slack-webhook", "https://hooks.slack.com/services/", ALNUM, 40),
        ("stripe-key", "sk_live_", ALNUM, 24),
        ("huggingface-token", "hf_", ALNUM, 34),
        ("npm-token", "npm_", ALNUM, 36),
        ("pypi-token", "pypi-AgE", ALNUM, 70),
        ("sendgrid-key", "SG.0123456789abcdefghijkl.", ALNUM, 43),
        ("twilio-key", "SK4", HEX, 31),
        ("groq-key", "gsk_", ALNUM, 52),
        ("xai-key", "xai-", ALNUM, 80),
        ("perplexity-key", "pplx-", ALNUM, 48),
        ("replicate-token", "r8_", ALNUM, 37),
        ("nvidia-key", "nvapi-", ALNUM, 64),
        ("langsmith-key", "lsv2_pt_", HEX, 42),
        ("databricks-token", "dapi", HEX, 32),
        ("digitalocean-token", "dop_v1_", HEX, 64),
        ("shopify-token", "shpat_", HEX, 32),
        ("linear-key", "lin_api_", ALNUM, 40),
        ("notion-token", "ntn_", ALNUM, 46),
        ("postman-key", "PMAK-", HEX, 58),
        ("atlassian-token", "ATATT3", ALNUM, 100),
        ("docker-token", "dckr_pat_", ALNUM, 27),
        ("vault-token", "hvs.", ALNUM, 60),
        ("grafana-token", "glsa_", ALNUM, 40),
        ("supabase-token", "sbp_", HEX, 40),
        ("fanlight-token", "fanlight_", ALNUM, 43),
        ("age-key", "AGE-SECRET-KEY-1", UPPER, 58),
        ("jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.", ALNUM, 43),
        ("bearer-token", "Bearer ", ALNUM, 44),
        ("authorization", "Authorization: ", ALNUM, 44),
        ("aws-secret-key", "aws_secret_access_key = ", ALNUM, 40),
        ("azure-key", "AccountKey=", ALNUM, 88),
        ("api-key", "api_key = ", ALNUM, 44),
        ("private-key", "-----BEGIN PRIVATE KEY-----\n", ALNUM, 64),
        // A body of digits that is none of a card: the check is below.
        ("card", "", "0123456789", 15),
    ];
    let mut all = Vec::new();
    for (seed, (rule, known, alphabet, count)) in plain.into_iter().enumerate() {
        let mut one = secret(rule, known, alphabet, count, seed as u64 + 1);
        match rule {
            "private-key" => one.text += "\n-----END PRIVATE KEY-----",
            "card" => one = card(),
            _ => {}
        }
        all.push(one);
    }
    let password = secret("basic-credentials", "ann:", ALNUM, 24, 99);
    let basic = STANDARD.encode(&password.text);
    let middle = basic.chars().skip(12).take(MIDDLE_BYTES).collect();
    all.push(Secret { rule: "basic-credentials", text: format!("Basic {basic}"), middle });
    all
}

/// The number of a card of which everybody knows the first six digits.
fn card() -> Secret {
    Secret { rule: "card", text: "4532015112830366".to_owned(), middle: "1128303".to_owned() }
}

/// The events of a whole stream of `dialect`.
fn plain(dialect: &str, bytes: &[u8]) -> Vec<Envelope> {
    let mut decoder = decoder(dialect, DecodeOptions::default()).unwrap();
    let mut out = Decoded::default();
    decoder.feed(bytes, &mut out);
    decoder.end(&mut out);
    out.envelopes
}

/// How many of the secrets come out of a stream of `dialect` where nothing is redacted. A text in deltas is joined.
fn carried(dialect: &str, bytes: &[u8], secrets: &[Secret]) -> usize {
    let mut view = model::View::default();
    let mut all = String::new();
    for (seq, mut envelope) in (1..).zip(plain(dialect, bytes)) {
        envelope.seq = seq;
        model::fold::complete(&view, &mut envelope.event);
        model::fold::fold(&mut view, &envelope, &mut |_| {});
        write!(all, "{}", serde_json::to_string(&envelope.event).unwrap()).unwrap();
    }
    all += &serde_json::to_string(&view).unwrap();
    secrets.iter().filter(|it| all.contains(&it.middle)).count()
}

/// The shortest fixture of `dialect` with `text`, which is put where a word stood that somebody reads.
fn fixture_with(dialect: &str, text: &str, secrets: &[Secret]) -> Option<Vec<u8>> {
    let mut streams: Vec<String> =
        fixtures(dialect).iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    streams.sort_by_key(String::len);
    let written = serde_json::to_string(text).unwrap();
    streams.iter().find_map(|stream| {
        let said = plain(dialect, stream.as_bytes());
        let said = said.iter().map(|it| serde_json::to_string(&it.event).unwrap()).collect::<String>();
        let words = said.split(|letter: char| !letter.is_ascii_alphabetic()).filter(|word| word.len() >= 4);
        words.collect::<BTreeSet<_>>().into_iter().find_map(|word| {
            // Once is enough: the text is long.
            let changed = stream.replacen(word, PLACE, 1).replace(PLACE, written.trim_matches('"'));
            (carried(dialect, changed.as_bytes(), secrets) >= secrets.len() - 1).then(|| changed.into_bytes())
        })
    })
}

/// A run as the encoder of `dialect` writes it: `text` in short deltas as an answer, as thinking and as arguments, and as a result; nothing where the
/// dialect is not written, or says none of it.
fn encoded_with(dialect: &str, text: &str, secrets: &[Secret]) -> Option<Vec<u8>> {
    let mut lines = vec![json!({"k": "run.start"})];
    for (part, kind) in [("p", "text"), ("q", "thinking")] {
        lines.push(json!({"k": "part.start", "part": part, "kind": kind}));
        lines.extend(deltas(text).map(|it| json!({"k": "part.delta", "part": part, "text": it})));
        lines.push(json!({"k": "part.end", "part": part}));
    }
    let arguments = json!({ "text": text }).to_string();
    lines.push(json!({"k": "tool.start", "tool": "t", "name": "read"}));
    lines.extend(deltas(&arguments).map(|it| json!({"k": "tool.args", "tool": "t", "text": it})));
    lines.push(json!({"k": "tool.call", "tool": "t"}));
    lines.push(json!({"k": "tool.result", "tool": "t", "output": {"said": text}}));
    lines.push(json!({"k": "run.end", "status": "complete"}));
    let mut encoder =
        encoding(dialect)?.encoder(&EncodeOptions { conversation: "c".into(), ..EncodeOptions::default() });
    let mut out = Vec::new();
    for (seq, line) in (1..).zip(lines) {
        let mut envelope = Envelope::parse(&line.to_string()).unwrap();
        envelope.event.run = RunId::new("r");
        envelope.seq = seq;
        encoder.event(&envelope, &mut out);
    }
    encoder.end(&mut out);
    (carried(dialect, &out, secrets) >= secrets.len() - 1).then_some(out)
}

/// The same made of a fixture: the piece of the stream that has a word of an answer stands there several times, each time with a part of `text`.
/// Nothing where that is no stream of the dialect, or one without deltas.
fn repeated_with(dialect: &str, text: &str, secrets: &[Secret]) -> Option<Vec<u8>> {
    let mut streams: Vec<String> =
        fixtures(dialect).iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    streams.sort_by_key(String::len);
    let is_delta = |kind: &Kind| matches!(kind, Kind::PartDelta { text, .. } if text.contains(PLACE));
    streams.iter().find_map(|stream| {
        let apart = if stream.contains("\n\n") { "\n\n" } else { "\n" };
        let blocks: Vec<&str> = stream.split_inclusive(apart).collect();
        let words = stream.split(|letter: char| !letter.is_ascii_alphabetic()).filter(|word| word.len() >= 3);
        words.collect::<BTreeSet<_>>().into_iter().find_map(|word| {
            let at = blocks.iter().position(|block| block.contains(word))?;
            // The last place of the word: what stands before it is often a name.
            let (before, behind) = blocks[at].rsplit_once(word)?;
            let with = |block: &str| [&blocks[..at], &[block], &blocks[at + 1..]].concat().concat();
            let marked = plain(dialect, with(&format!("{before}{PLACE}{behind}")).as_bytes());
            if !marked.iter().any(|it| is_delta(&it.event.kind)) {
                return None;
            }
            let escaped = deltas(text).map(|delta| serde_json::to_string(delta).unwrap());
            let repeated: Vec<String> =
                escaped.map(|delta| format!("{before}{}{behind}", delta.trim_matches('"'))).collect();
            let cut = with(&repeated.concat()).into_bytes();
            (carried(dialect, &cut, secrets) >= secrets.len() - 1).then_some(cut)
        })
    })
}

/// `text` in pieces of [`DELTA_BYTES`].
fn deltas(text: &str) -> impl Iterator<Item = &str> {
    let cuts = (0..text.len()).step_by(DELTA_BYTES);
    cuts.map(|from| text.get(from..(from + DELTA_BYTES).min(text.len())).unwrap())
}

/// Sends a stream into the conversation `id`, and returns all that a viewer is told of it meanwhile.
async fn watched(address: SocketAddr, dialect: &str, id: &str, stream: &[u8]) -> String {
    let client = reqwest::Client::new();
    let mut watcher = ListWatcher::live(address, id).await;
    let mut body = StreamingBody::post(&client, &format!("http://{address}/v1/ingest/{dialect}/{id}"), &[]);
    for piece in stream.chunks(PIECE_BYTES) {
        body.write(piece.to_vec()).await;
    }
    let (status, answer) = body.finish().await;
    assert_eq!(status, 200, "{id}: {answer}");
    let summary = fetched(address, &format!("/v1/conversations/{id}?summary")).await;
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let head = summary["events"].as_u64().unwrap();
    let mut told = String::new();
    while watcher.position() < head {
        if let WatcherMessage::Events(text) | WatcherMessage::Snapshot(text) = watcher.next().await {
            told += &text;
        }
    }
    told
}

/// All that is told of the conversation `id` on request: its state, events, exports, and a stream in `dialect`.
async fn asked(address: SocketAddr, dialect: &str, id: &str) -> String {
    let exports = encode::document::export::FORMATS.iter().map(|format| format.name);
    let mut paths: Vec<_> =
        exports.chain(["jsonl", "native"]).map(|format| format!("/export/{format}")).collect();
    paths.extend([String::new(), "/events?limit=10000".to_owned()]);
    if encoding(dialect).is_some() {
        paths.push(format!("/export/{dialect}"));
    }
    let mut told = String::new();
    for path in paths {
        told += &fetched(address, &format!("/v1/conversations/{id}{path}")).await;
    }
    told
}

/// The secrets whose middle stands in a file below `place`, with the file; and how many files there are.
fn found_in(place: &Path, secrets: &[Secret], found: &mut Vec<String>) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(place).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files += found_in(&path, secrets, found);
            continue;
        }
        files += 1;
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        let there = secrets.iter().filter(|it| text.contains(&it.middle));
        found.extend(there.map(|it| format!("{} in {}", it.rule, path.display())));
    }
    files
}

/// Those of the secrets that stand in `text`.
fn found_among<'a>(text: &str, secrets: &'a [Secret]) -> Vec<&'a str> {
    secrets.iter().filter(|it| text.contains(&it.middle)).map(|it| it.rule).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_for_each_rule_in_each_dialect_is_nowhere() {
    let secrets = secrets();
    let text = secrets.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" , ");
    let place = tempfile::tempdir().unwrap();
    let (mut hub, address) = hub_that_traces(place.path()).await;
    let (mut whole, mut cut) = (Vec::new(), Vec::new());
    for dialect in DECODED {
        let streams = [
            ("whole", fixture_with(dialect, &text, &secrets), &mut whole),
            (
                "cut",
                encoded_with(dialect, &text, &secrets).or_else(|| repeated_with(dialect, &text, &secrets)),
                &mut cut,
            ),
        ];
        for (how, stream, carriers) in streams {
            let Some(stream) = stream else { continue };
            let id = format!("{dialect}-{how}");
            let live = watched(address, dialect, &id, &stream).await;
            assert_eq!(found_among(&live, &secrets), Vec::<&str>::new(), "{id}: a viewer is told");
            assert!(live.contains("[redacted:openai-key:"), "{id}: a viewer sees the marks: {live}");
            let told = asked(address, dialect, &id).await;
            assert_eq!(found_among(&told, &secrets), Vec::<&str>::new(), "{id}: who asks is told");
            carriers.push(*dialect);
        }
    }
    println!("whole: {whole:?}\ncut: {cut:?}");
    assert!(whole == DECODED && cut.len() >= CUT_MIN, "{whole:?}, {cut:?}");
    let list = fetched(address, "/v1/conversations?limit=1000").await;
    let found = fetched(address, "/v1/search?q=redacted&limit=100").await;
    assert!(found.contains("[redacted:"), "the index has the marks: {found}");
    assert_eq!(found_among(&(list + &found), &secrets), Vec::<&str>::new());
    for it in &secrets {
        let hits = fetched(address, &format!("/v1/search?q={}*", it.middle)).await;
        assert!(hits.contains("\"hits\":[]"), "the index has {}: {hits}", it.rule);
    }
    let metrics = fetched(address, "/metrics").await;
    let count = |rule: &str| {
        let line = format!("fanlight_redactions_total{{rule=\"{rule}\"}} ");
        metrics.lines().find_map(|it| it.strip_prefix(&line)?.parse::<usize>().ok())
    };
    for it in &secrets {
        assert!(count(it.rule) >= Some(whole.len()), "{}: {:?}", it.rule, count(it.rule));
    }
    assert_eq!(found_among(&metrics, &secrets), Vec::<&str>::new());
    let pid = rustix::process::Pid::from_raw(i32::try_from(hub.id().unwrap()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    patiently("the end", hub.wait()).await.unwrap();
    // Every file: database, journal, index, and the trace.
    let mut found = Vec::new();
    let files = found_in(place.path(), &secrets, &mut found);
    assert!(files >= 3 && found.is_empty(), "{files} files, and {found:?}");
    // Blocks are packed: what they hold is looked at, too.
    let (lines, went_well) = within("the scan", stored(&place.path().join("hub"), &["scan"], "")).await;
    assert!(went_well && lines.is_empty(), "{lines}");
}
