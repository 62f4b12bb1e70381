//! One bound for all work of one client: what waits is counted, what is made waits in files, and a person's own requests go on.

use model::limits::{STREAMS_OPEN_MAX, TRANSFERS_OPEN_MAX};
use reqwest::Client;
use serde_json::{Value, json};
use tests::raw::{self, RawMessage};
use tests::wait::{until, within};
use tests::{TestHub, TestViewer};
use tokio::net::{TcpSocket, TcpStream};

const MIB: usize = 1 << 20;

/// The room for unread bytes at the end of a client that does not read; the kernel doubles it.
const NARROW_BYTES: u32 = 16 << 10;

/// A request over a connection of its own whose answer is not read further than its head.
struct Unread {
    head: RawMessage,
    wire: raw::RawSocket<TcpStream>,
}

impl Unread {
    async fn ask(hub: &TestHub, path: &str) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(NARROW_BYTES).unwrap();
        let stream = within("a connection", socket.connect(hub.address())).await.unwrap();
        let mut wire = raw::RawSocket::new(stream);
        wire.send(format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", hub.address()).as_bytes()).await;
        let head = within("the head of an answer", wire.head()).await.unwrap();
        Self { head, wire }
    }

    async fn many(hub: &TestHub, count: usize, path: &str) -> Vec<Self> {
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            let unread = Self::ask(hub, path).await;
            assert_eq!(unread.head.status(), 200, "{path}");
            all.push(unread);
        }
        all
    }
}

/// A conversation with so many runs, each with a text of a MiB.
async fn large(hub: &TestHub, conversation: &str, runs: usize) {
    for run in 0..runs {
        let run = format!("r{run}");
        let events = json!([
            {"k": "run.start", "run": run},
            {"k": "part.start", "run": run, "part": "p", "kind": "text"},
            {"k": "part.delta", "run": run, "part": "p", "text": "word ".repeat(MIB / 5)},
            {"k": "run.end", "run": run, "status": "complete"},
        ]);
        let request = hub.request("POST", &format!("/v1/conversations/{conversation}/events"));
        assert!(request.body(events.to_string()).send().await.unwrap().status().is_success());
    }
}

/// The status, the code and `Retry-After` of a refusal.
async fn refusal(hub: &TestHub, path: &str) -> (u16, Value, Option<String>) {
    let answer = Client::new().get(hub.url(path)).send().await.unwrap();
    let status = answer.status().as_u16();
    let wait = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let said: Value = within("a refusal", answer.json()).await.unwrap();
    (status, said["code"].clone(), wait)
}

fn too_many() -> (u16, Value, Option<String>) {
    (429, json!("too_many"), Some("1".to_owned()))
}

async fn status(hub: &TestHub, path: &str) -> u16 {
    let answer = within("an answer", hub.request("GET", path).send()).await.unwrap();
    let status = answer.status().as_u16();
    within("its body", answer.bytes()).await.unwrap();
    status
}

/// What a person's page asks for is answered.
async fn page_goes_on(hub: &TestHub) {
    let small = ["", "?summary", "/export/md", "/export/html", "/stream/openai-chat?until=run.end"];
    for path in small.map(|path| format!("/v1/conversations/small{path}")) {
        assert_eq!(status(hub, &path).await, 200, "{path}");
    }
    assert_eq!(status(hub, "/v1/conversations").await, 200);
    assert_eq!(status(hub, "/v1/search?q=word").await, 200);
    let mut viewer = TestViewer::connect(hub.address(), "small").await;
    viewer.live().await;
}

async fn small(hub: &TestHub) {
    let events = r#"{"k":"run.start","run":"r"}
        {"k":"part.start","run":"r","part":"p","kind":"text"}
        {"k":"part.delta","run":"r","part":"p","text":"a word"}
        {"k":"run.end","run":"r","status":"complete"}"#;
    hub.publisher("small").await.says(events).await;
}

#[tokio::test]
async fn i8_several_tabs_and_streams_of_one_machine_are_no_trouble() {
    let hub = TestHub::start().await;
    small(&hub).await;
    let mut streams = Vec::new();
    for path in ["events", "stream/openai-chat", "stream/ag-ui", "stream/langgraph"] {
        streams.extend(Unread::many(&hub, 8, &format!("/v1/conversations/small/{path}")).await);
    }
    let mut tabs = Vec::new();
    for _ in 0..12 {
        let mut viewer = TestViewer::connect(hub.address(), "small").await;
        viewer.live().await;
        tabs.push(viewer);
    }
    page_goes_on(&hub).await;
}

#[tokio::test]
async fn i7_more_streams_than_the_limit_are_refused_and_the_page_goes_on() {
    let hub = TestHub::start().await;
    small(&hub).await;
    // One place is left for the stream that the page itself reads.
    let streams = Unread::many(&hub, STREAMS_OPEN_MAX - 1, "/v1/conversations/small/events").await;
    page_goes_on(&hub).await;
    let last = Unread::ask(&hub, "/v1/events?conversation=small").await;
    assert_eq!(last.head.status(), 200);
    for path in ["events", "wait?until=error", "stream/openai-chat"] {
        let refused = refusal(&hub, &format!("/v1/conversations/small/{path}")).await;
        assert_eq!(refused, too_many(), "{path}");
    }
    assert_eq!(refusal(&hub, "/v1/events?conversation=small").await, too_many());
    assert_eq!(status(&hub, "/v1/conversations/small").await, 200);
    // Whoever leaves makes room.
    drop(streams);
    until("room for a stream", async || {
        (status(&hub, "/v1/conversations/small/wait?timeout_ms=1").await == 200).then_some(())
    })
    .await;
    drop(last.wire);
}

#[tokio::test]
async fn i7_exports_that_nobody_reads_have_a_bound_and_the_page_goes_on() {
    let hub = TestHub::start().await;
    small(&hub).await;
    large(&hub, "large", 1).await;
    let path = "/v1/conversations/large/export/native";
    let unread = Unread::many(&hub, TRANSFERS_OPEN_MAX, path).await;
    assert_eq!(refusal(&hub, path).await, too_many());
    // So are documents that do not fit into memory.
    assert_eq!(refusal(&hub, "/v1/conversations/large/export/html").await, too_many());
    page_goes_on(&hub).await;
    drop(unread);
    until("room for an export", async || (status(&hub, path).await == 200).then_some(())).await;
}

#[tokio::test]
async fn i7_exports_and_streams_that_nobody_reads_cost_no_memory() {
    let hub = TestHub::start().await;
    // More than the ring has: it is read back from the log.
    large(&hub, "large", 16).await;
    for (path, count) in [("export/native", 40), ("export/openai-chat", 40), ("stream/openai-chat", 24)] {
        let path = format!("/v1/conversations/large/{path}");
        // What one costs while it is made, and the log's own memory, is there before.
        drop(Unread::many(&hub, 4, &path).await);
        let before = hub.process().resident_bytes;
        let unread = Unread::many(&hub, count, &path).await;
        let grown = hub.process().resident_bytes.saturating_sub(before);
        // Each used to hold a page of events, or all that a stream begins with: 8 and 16 MiB.
        assert!(grown < 96 * MIB as u64, "{path}: the hub has grown by {grown} bytes");
        drop(unread);
    }
}
