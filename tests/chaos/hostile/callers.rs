//! What is done over HTTP.

use std::time::Duration;

use serde_json::{Value, json};
use tests::raw;
use tests::wait::load_for;
use tokio::net::TcpStream;

use super::neighbours::NeighbourPlace;

/// Length of a text that is much too long, in bytes.
const MUCH: usize = 15 << 20;

/// Conversations of each kind that neighbours write to.
const CONVERSATIONS: u64 = 4;

/// Most that is read of an answer, in bytes.
const READ: usize = 1 << 20;

impl NeighbourPlace {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.hub)
    }

    async fn publish(&self, conversation: &str, events: Value) {
        let request = self.client.post(self.url(&format!("/v1/conversations/{conversation}/events")));
        let request = request.header("content-type", "application/json").body(events.to_string());
        if let Ok(answer) = request.send().await {
            drop(answer.bytes().await);
        }
    }

    /// Asks, takes some of the answer and hangs up.
    async fn glance(&self, path: &str) {
        let asked = self.client.get(self.url(path)).send().await;
        take(asked, READ).await;
    }

    fn conversation(&mut self, kind: &str) -> String {
        format!("{kind}-{}", self.random.between(0, CONVERSATIONS))
    }

    fn run(&mut self) -> String {
        format!("r{}", self.random.next())
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.random.between(0, words.len() as u64) as usize]
    }
}

async fn take(asked: reqwest::Result<reqwest::Response>, most: usize) {
    let Ok(mut answer) = asked else { return };
    let mut taken = 0;
    while taken < most {
        match answer.chunk().await {
            Ok(Some(chunk)) => taken += chunk.len(),
            _ => return,
        }
    }
}

pub(super) async fn names(mut street: NeighbourPlace) {
    let (conversation, run) = (street.conversation("wide"), street.run());
    let field = street.one_of(&["model", "name", "title"]);
    let mut event = json!({"k": "run.start", "run": run});
    event[field] = Value::from("m".repeat(MUCH));
    street.publish(&conversation, json!([event])).await;
}

pub(super) async fn nests(mut street: NeighbourPlace) {
    let (conversation, run) = (street.conversation("deep"), street.run());
    let mut events = vec![json!({"k": "run.start", "run": run})];
    let bombs = ["- ".repeat(2_000), "> ".repeat(5_000), "*a _b ".repeat(20_000)];
    for (at, bomb) in bombs.into_iter().enumerate() {
        let part = format!("p{at}");
        events.push(json!({"k": "part.start", "run": run, "part": part, "kind": "text"}));
        events.push(json!({"k": "part.delta", "run": run, "part": part, "text": bomb}));
    }
    for at in 0..500_usize {
        let parent = at.checked_sub(1).map(|above| format!("a{above}"));
        let agent = format!("a{at}");
        events.push(json!({"k": "agent.start", "run": run, "agent": agent, "parent": parent, "name": "n"}));
    }
    street.publish(&conversation, events.into()).await;
    street.glance(&format!("/v1/conversations/{conversation}/export/md")).await;
}

/// Imports with numbers at the edge of what is taken and beyond it, and says something into what came of them.
pub(super) async fn imports(mut street: NeighbourPlace) {
    let (conversation, run) = (street.conversation("bad"), street.run());
    let seq = (1_u64 << 53) - 2 + street.random.between(0, 5);
    let header = json!({"fanlight": "native", "version": 1, "conversation": "c"});
    let view = json!({"seq": seq, "title": null, "items": [], "messages": {}, "runs": {},
        "anomalies": {"total": 0, "first": []}, "full": false});
    let state =
        json!({"state": view, "at": street.one_of(&["1", "9007199254740993"]).parse::<u64>().unwrap()});
    let event = json!({"k": "run.start", "run": run, "seq": seq + 1});
    let lines = format!("{header}\n{state}\n{event}\n{}\n", "x".repeat(1 << 20));
    let lines = if street.random.between(0, 2) == 0 { lines } else { format!("{header}\n{state}\n") };
    let request = street.client.put(street.url(&format!("/v1/conversations/{conversation}/events")));
    let asked = request.header("content-type", "application/x-ndjson").body(lines).send().await;
    take(asked, READ).await;
    let end = json!({"k": "run.end", "run": run, "status": "complete"});
    street.publish(&conversation, json!([{"k": "run.start", "run": run}, end])).await;
}

pub(super) async fn broken(mut street: NeighbourPlace) {
    let path = format!("/v1/ingest/openai-chat/{}", street.conversation("broken"));
    let request = raw::post(&path, &[], &"data: {\"x\":".repeat(10_000));
    let Ok(stream) = TcpStream::connect(street.hub).await else { return };
    raw::RawSocket::new(stream).try_send(&request[..request.len() / 2]).await;
    load_for(Duration::from_millis(street.random.between(0, 50))).await;
}

pub(super) async fn searches(mut street: NeighbourPlace) {
    let (conversation, message) = (street.conversation("words"), street.random.between(0, 200));
    let text = "word and word again ".repeat(20_000);
    let said = json!([{"k": "message", "message": format!("m{message}"), "role": "user", "text": text}]);
    street.publish(&conversation, said).await;
    let words = ["word", "and", "again"].repeat(10).join("+");
    street.glance(&format!("/v1/search?limit=50&q={words}")).await;
}

pub(super) async fn exports(mut street: NeighbourPlace) {
    let kind = street.one_of(&["wide", "deep", "words"]);
    let form = street.one_of(&["html", "md", "native", "openai"]);
    let conversation = street.conversation(kind);
    street.glance(&format!("/v1/conversations/{conversation}/export/{form}")).await;
}

pub(super) async fn references(mut street: NeighbourPlace) {
    let (conversation, run) = (street.conversation("forged"), street.run());
    let reference = json!({"hash": "0".repeat(32), "bytes": 1_u64 << 50, "mime": "text/plain"});
    let events = json!([
        {"k": "run.start", "run": run},
        {"k": "tool.call", "run": run, "tool": "t", "name": "read", "arguments": "{}"},
        {"k": "tool.result", "run": run, "tool": "t", "output": "x", "ref": reference},
    ]);
    street.publish(&conversation, events).await;
    street.glance(&format!("/v1/conversations/{conversation}/export/html")).await;
}

pub(super) async fn upstream(mut street: NeighbourPlace) {
    let question = json!({"role": "user", "content": street.run()});
    let body = json!({"model": "m", "stream": true, "messages": [question]});
    let request = street.client.post(street.url("/proxy/evil/v1/chat/completions"));
    let asked = request.header("content-type", "application/json").body(body.to_string()).send().await;
    take(asked, READ * street.random.between(1, 16) as usize).await;
}

pub(super) async fn models(mut street: NeighbourPlace) {
    let conversation = street.conversation("models");
    for _ in 0..24 {
        let start = json!({"k": "run.start", "run": street.run(), "model": "m".repeat(MUCH)});
        street.publish(&conversation, json!([start])).await;
    }
    street.glance(&format!("/v1/conversations/{conversation}")).await;
}

pub(super) async fn indents(mut street: NeighbourPlace) {
    let (conversation, run) = (street.conversation("indents"), street.run());
    let deep = |indent: &str, word: &str| {
        (0..1_000).flat_map(|depth| [indent.repeat(depth), word.to_owned()]).collect::<String>()
    };
    let (list, quotes) = (deep("  ", "- x\n"), deep("> ", "x\n"));
    let mut events = vec![json!({"k": "run.start", "run": run})];
    for (part, text) in [("p0", list), ("p1", quotes), ("p2", "- ".repeat(500_000))] {
        events.push(json!({"k": "part.start", "run": run, "part": part, "kind": "text"}));
        events.push(json!({"k": "part.delta", "run": run, "part": part, "text": text}));
    }
    street.publish(&conversation, events.into()).await;
    for form in ["md", "html", "open-webui"] {
        street.glance(&format!("/v1/conversations/{conversation}/export/{form}?steps=all")).await;
    }
}

/// Length of a text of the large view, in bytes.
const TEXT: usize = 4 << 20;

/// Makes the conversation whose views are asked for, once.
pub(crate) async fn fill_view(street: &NeighbourPlace) {
    fill(street, "view", street.view_mib).await;
}

/// Makes the conversations that viewers and exports choose from.
pub(crate) async fn furnish(street: &NeighbourPlace) {
    for kind in ["wide", "deep", "words"] {
        for number in 0..CONVERSATIONS {
            fill(street, &format!("{kind}-{number}"), 8).await;
        }
    }
}

async fn fill(street: &NeighbourPlace, conversation: &str, mib: u64) {
    for number in 0..(mib << 20) / TEXT as u64 {
        let run = format!("r{number}");
        let events = json!([
            {"k": "run.start", "run": run},
            {"k": "part.start", "run": run, "part": "p", "kind": "text"},
            {"k": "part.delta", "run": run, "part": "p", "text": "word ".repeat(TEXT / 5)},
            {"k": "run.end", "run": run, "status": "complete"},
        ]);
        street.publish(conversation, events).await;
    }
}

/// Six views that a page of another origin asks for, and six that a program asks for and reads to the end.
pub(super) async fn views(street: NeighbourPlace) {
    let url = street.url("/v1/conversations/view");
    if street.client.get(format!("{url}?summary")).send().await.is_ok_and(|answer| answer.status() == 404) {
        fill_view(&street).await;
    }
    let ask = async |site: &str| {
        take(street.client.get(&url).header("sec-fetch-site", site).send().await, usize::MAX).await;
    };
    tokio::join!(
        ask("cross-site"),
        ask("cross-site"),
        ask("cross-site"),
        ask("cross-site"),
        ask("cross-site"),
        ask("cross-site"),
        ask("none"),
        ask("none"),
        ask("none"),
        ask("none"),
        ask("none"),
        ask("none"),
    );
}
