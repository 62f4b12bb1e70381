//! What the log on disk costs and how fast it answers: a hub with many conversations, filled through its public door, then
//! searched and listed. `--conversations`, `--queries` and `--data` (a directory that is kept and used again) choose.
#![expect(clippy::indexing_slicing, reason = "answers are what they are; a bench that meets another may end")]

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::bulk::send_all;
use tests::hub::TestHub;

const USAGE: &str =
    "cargo xtask bench --bench log -- [--conversations 100000] [--queries 40] [--data DIRECTORY]";

/// Events of one conversation: a run with an answer in three pieces and one call.
const EVENTS: u64 = 10;

/// Conversations that one life of a hub fills: fewer than it holds in memory.
const LIFE: u64 = 40_000;

/// Requests at a time.
const AT_ONCE: u64 = 16;

/// Rows of one page of the list.
const ROWS: usize = 50;

/// How many different words the texts are made of.
const WORDS: u64 = 20_000;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

struct Args {
    conversations: u64,
    queries: u64,
    directory: Option<PathBuf>,
}

fn main() -> Outcome<()> {
    let mut chosen = Args { conversations: 100_000, queries: 40, directory: None };
    let mut args = std::env::args().skip(1);
    while let Some(name) = args.next() {
        // cargo adds this one.
        if name == "--bench" {
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--conversations" => chosen.conversations = value.parse()?,
            "--queries" => chosen.queries = value.parse()?,
            "--data" => chosen.directory = Some(value.into()),
            other => return Err(format!("{other} is no option\n{USAGE}").into()),
        }
    }
    let temporary = tempfile::tempdir()?;
    let directory = chosen.directory.clone().unwrap_or_else(|| temporary.path().to_path_buf());
    tokio::runtime::Runtime::new()?.block_on(run(&chosen, &directory))
}

async fn run(args: &Args, directory: &std::path::Path) -> Outcome<()> {
    let path = directory.join("fanlight.db");
    let log = format!("sqlite:{}", path.display());
    let options = ["--log", log.as_str(), "--trace", "warn"];
    let mut hub = TestHub::start_with(&options).await;
    let client = reqwest::Client::new();
    let mut there = total(&client, &hub).await?;
    let begun = Instant::now();
    let before = there;
    while there < args.conversations {
        let end = (there + LIFE).min(args.conversations);
        fill(&client, &hub, there, end).await?;
        there = end;
        note(&format!("{there} conversations after {} s", begun.elapsed().as_secs()));
        // What was written is found after a stop and a start, and the hub's memory is empty again.
        hub.stop().await;
        hub.start_again().await;
    }
    let filled = begun.elapsed();
    let bytes = std::fs::metadata(&path)?.len();
    let written = (there - before) * EVENTS;
    say(&format!(
        "{there} conversations, {} events, {} MB on disk; {written} events written in {:.1} s\n",
        there * EVENTS,
        bytes / 1_000_000,
        filled.as_secs_f64()
    ));
    say(
        "| question | queries | hits or rows | median ms | 95 % ms | longest ms |\n|---|--:|--:|--:|--:|--:|",
    );
    for (name, question) in QUESTIONS {
        let mut times = Vec::new();
        let mut found = 0;
        for n in 0..args.queries {
            let query = question(n);
            let (time, answer) = ask(&client, &hub.url("/v1/search"), &query).await?;
            found += answer["hits"].as_array().map_or(0, Vec::len);
            times.push(time);
        }
        line(name, found, &mut times);
    }
    pages(&client, &hub, args, &[], "list, page after page").await?;
    pages(&client, &hub, args, &[("state", "error".to_owned())], "list of one state").await?;
    hub.stop().await;
    Ok(())
}

type Query = Vec<(&'static str, String)>;

type Question = (&'static str, fn(u64) -> Query);

/// What is searched, by the number of the query.
const QUESTIONS: [Question; 7] = [
    ("a rare word", |n| vec![("q", word(WORDS - 1 - n))]),
    ("a common word", |n| vec![("q", word(n % 5))]),
    ("two common words", |n| vec![("q", format!("{} {}", word(n % 5), word(5 + n % 5)))]),
    ("a common and a rare word", |n| vec![("q", format!("{} {}", word(0), word(WORDS / 2 + n)))]),
    ("a phrase", |n| vec![("q", format!("\"{} {}\"", word(n % 5), word(5 + n % 7)))]),
    ("a beginning", |n| vec![("q", format!("w{}*", n % 90 + 10))]),
    ("a common word in results", |n| vec![("q", word(n % 5)), ("kind", "result".to_owned())]),
];

/// Words of which few are common and most are rare, as in a language.
fn word(rank: u64) -> String {
    format!("w{}", rank.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)
}

/// Numbers that look random, the same for the same `seed`.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// About as many words of each doubling of ranks.
    fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words)
            .map(|_| {
                let doubling = self.roll() % 15;
                word(self.roll() % (WORDS >> (14 - doubling)).max(1))
            })
            .collect();
        words.join(" ")
    }
}

fn story(conversation: u64) -> String {
    let mut dice = Dice(conversation ^ 0x5eed);
    let status = if dice.roll().is_multiple_of(20) { "error" } else { "complete" };
    let events = [
        json!({"k": "run.start", "run": "r1", "model": "m", "title": dice.text(5)}),
        json!({"k": "part.start", "run": "r1", "part": "p1", "kind": "text"}),
        json!({"k": "part.delta", "run": "r1", "part": "p1", "text": dice.text(20)}),
        json!({"k": "part.delta", "run": "r1", "part": "p1", "text": dice.text(20)}),
        json!({"k": "part.delta", "run": "r1", "part": "p1", "text": dice.text(20)}),
        json!({"k": "part.end", "run": "r1", "part": "p1"}),
        json!({"k": "tool.start", "run": "r1", "tool": "t1", "name": "run_sql"}),
        json!({"k": "tool.call", "run": "r1", "tool": "t1", "arguments": dice.text(8)}),
        json!({"k": "tool.result", "run": "r1", "tool": "t1", "output": dice.text(30), "exec_ms": dice.roll() % 5_000}),
        json!({"k": "run.end", "run": "r1", "status": status}),
    ];
    events.map(|event| event.to_string()).join("\n")
}

async fn fill(client: &reqwest::Client, hub: &TestHub, from: u64, to: u64) -> Outcome<()> {
    let (client, url) = (client.clone(), hub.url("/v1/conversations"));
    let post = move |n| {
        let post = client.post(format!("{url}/c{n}/events")).header("fanlight-durability", "memory");
        post.body(story(n))
    };
    send_all(from..to, AT_ONCE, post).await
}

async fn total(client: &reqwest::Client, hub: &TestHub) -> Outcome<u64> {
    let (_, answer) = ask(client, &hub.url("/v1/conversations"), &vec![("limit", "1".to_owned())]).await?;
    Ok(answer["total"].as_u64().unwrap_or(0))
}

async fn ask(client: &reqwest::Client, url: &str, query: &Query) -> Outcome<(Duration, Value)> {
    let mut url = url::Url::parse(url)?;
    url.query_pairs_mut().extend_pairs(query);
    let begun = Instant::now();
    let answer = client.get(url).send().await?.error_for_status()?.bytes().await?;
    Ok((begun.elapsed(), serde_json::from_slice(&answer)?))
}

async fn pages(
    client: &reqwest::Client,
    hub: &TestHub,
    args: &Args,
    filter: &[(&'static str, String)],
    name: &str,
) -> Outcome<()> {
    let mut times = Vec::new();
    let mut rows = 0;
    let mut after: Option<String> = None;
    for _ in 0..args.queries * 5 {
        let mut query = vec![("limit", ROWS.to_string())];
        query.extend(filter.iter().cloned());
        query.extend(after.take().map(|after| ("after", after)));
        let (time, answer) = ask(client, &hub.url("/v1/conversations"), &query).await?;
        rows += answer["conversations"].as_array().map_or(0, Vec::len);
        times.push(time);
        after = answer["next"].as_str().map(ToOwned::to_owned);
    }
    line(name, rows, &mut times);
    Ok(())
}

fn line(name: &str, found: usize, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1_000.0;
    let count = times.len();
    say(&format!("| {name} | {count} | {found} | {:.1} | {:.1} | {:.1} |", at(50), at(95), at(100)));
}

/// A line for whoever wants the result.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody is left to tell when this fails.
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// A line for whoever waits.
fn note(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}
