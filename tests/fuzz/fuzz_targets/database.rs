//! A log on disk that was damaged while nobody looked: patches to the files of a sound one, each a file, an offset, a
//! length and bytes. Either it is refused, or the hub serves what can be read, says of the rest that it cannot be read,
//! takes what is new, and stops in order.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use fuzz::hub::{self, Clock, Hub};
use fuzz::talk::{Answer, ask};
use libfuzzer_sys::fuzz_target;
use model::{Envelope, snapshot};
use edge::Config;
use edge::LogChoice;

/// What is in the log before.
const EVENTS: &[u8] = br#"{"k":"message","message":"m","role":"user","text":"What grew?","run":"r"}
{"k":"run.start","run":"r","model":"m"}
{"k":"part.start","part":"p","kind":"text","run":"r"}
{"k":"part.delta","part":"p","text":"Revenue ","run":"r"}
{"k":"tool.start","tool":"t","name":"run_sql","run":"r"}
{"k":"tool.result","tool":"t","output":"8.4 percent","run":"r"}
{"k":"run.end","run":"r","status":"complete"}"#;

/// The name of the database in its folder.
const NAME: &str = "log.db";

/// Files by their names, as a hub left them.
type Files = Vec<(String, Vec<u8>)>;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, mut rest)) = bytes.split_first() else { return };
    let mut files = if first & 1 == 0 { closed().clone() } else { killed().clone() };
    while let [file, kind, high, low, length, more @ ..] = rest {
        let (patch, after) = more.split_at(usize::from(*length).min(more.len()));
        rest = after;
        let number = usize::from(*file) % files.len();
        // Offsets reach all of a file: what is behind the last of them, by its length.
        let content = &mut files[number].1;
        let place = usize::from(*high) << 8 | usize::from(*low);
        let offset =
            if content.len() > 65_536 { place * content.len() / 65_536 } else { place.min(content.len()) };
        match kind % 4 {
            0 | 1 => {
                for (to, from) in content[offset..].iter_mut().zip(patch) {
                    *to = *from;
                }
            }
            2 => content.truncate(offset),
            _ => drop(content.splice(offset.., patch.iter().copied())),
        }
    }
    let folder = folder();
    files
        .iter()
        .for_each(|(name, content)| std::fs::write(folder.path().join(name), content).expect("a file"));
    hub::with(Clock::Runs, config(folder.path()), look);
});

/// In memory: a disk would be worn out.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").expect("a folder")
}

fn config(folder: &Path) -> Config {
    Config { log: LogChoice::Sqlite { path: folder.join(NAME), max_bytes: None }, ..Config::default() }
}

async fn look(hub: Hub) {
    let paths = [
        "/v1/conversations",
        "/v1/conversations/a",
        "/v1/conversations/b/export/native",
        "/v1/search?q=revenue",
        "/v1/tools",
        "/readyz",
        "/metrics",
    ];
    for path in paths {
        get(hub, path).await;
    }
    let state = get(hub, "/v1/conversations/b").await;
    let head = "GET /v1/conversations/b/events HTTP/1.1\r\naccept: application/x-ndjson";
    let page = ask(hub, head, &[]).await.expect("an answer");
    if state.status == 200 {
        drop(snapshot::decode(&state.body).expect("the state of a conversation"));
    }
    if page.status == 200 {
        let text = std::str::from_utf8(&page.body).expect("events are text");
        let seqs = text.lines().map(|line| Envelope::parse(line).expect("an event").seq);
        assert!(seqs.eq(1..=text.lines().count() as u64), "I1: {text}");
    }
    for name in ["a", "new"] {
        let answer = ask(hub, &format!("POST /v1/conversations/{name}/events HTTP/1.1"), EVENTS).await;
        answer.expect("an answer").check();
    }
}

async fn get(hub: Hub, path: &str) -> Answer {
    let answer = ask(hub, &format!("GET {path} HTTP/1.1"), &[]).await;
    answer.inspect(Answer::check).expect("an answer")
}

/// The files of a hub that has stopped.
fn closed() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = folder();
        hub::with(Clock::Runs, config(folder.path()), fill).expect("a sound log");
        files(folder.path())
    })
}

/// The files of one that was killed.
fn killed() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let folder = folder();
        let filled = async |hub: Hub| {
            fill(hub).await;
            files(folder.path())
        };
        hub::with(Clock::Runs, config(folder.path()), filled).expect("a sound log")
    })
}

async fn fill(hub: Hub) {
    for name in ["a", "b"] {
        for _ in 0..3 {
            let head =
                format!("POST /v1/conversations/{name}/events HTTP/1.1\r\nfanlight-durability: stored");
            let answer = ask(hub, &head, EVENTS).await.expect("an answer");
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    }
}

fn files(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let named = entries.map(|entry| (entry.file_name().into_string().expect("a name"), entry.path()));
    let mut files: Files = named.map(|(name, path)| (name, std::fs::read(path).expect("a file"))).collect();
    files.sort();
    files
}
