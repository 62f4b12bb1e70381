//! Reading over plain HTTP and SSE.

use std::io::Read as _;

use futures_util::StreamExt as _;
use model::frame::{ServerFrame, parse_server};
use model::lens::Level;
use model::tracker::{FrameOutcome, Tracker};
use model::{Lens, snapshot};
use tests::TestHub;
use tests::wait::within;

const RUN: &str = r#"
    {"k":"message","message":"m1","role":"user","text":"Hi"}
    {"k":"run.start","run":"r","title":"A greeting"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.delta","run":"r","part":"p","text":"Hel"}
    {"k":"part.delta","run":"r","part":"p","text":"lo"}
"#;

#[tokio::test]
async fn the_list_says_what_each_conversation_does() {
    let hub = TestHub::start().await;
    hub.publisher("a").await.says(RUN).await;
    hub.publisher("b").await.says(&format!("{RUN}{}", r#"{"k":"run.end","run":"r","status":"error"}"#)).await;
    let list = hub.json("/v1/conversations").await;
    let rows = list["conversations"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["conversation"] == name).unwrap();
    assert_eq!(
        (row("a")["state"].as_str(), row("a")["title"].as_str()),
        (Some("running"), Some("A greeting"))
    );
    assert_eq!((row("b")["state"].as_str(), row("b")["head"].as_u64()), (Some("error"), Some(6)));
}

#[tokio::test]
async fn a_snapshot_has_its_position_as_etag_and_is_not_sent_twice() {
    let hub = TestHub::start().await;
    hub.publisher("c").await.says(RUN).await;
    let answer = hub.request("GET", "/v1/conversations/c").send().await.unwrap();
    let etag = answer.headers()["etag"].to_str().unwrap().to_owned();
    assert!(etag.ends_with(":5\""), "{etag}");
    let again =
        hub.request("GET", "/v1/conversations/c").header("if-none-match", &etag).send().await.unwrap();
    assert_eq!(again.status().as_u16(), 304);
}

#[tokio::test]
async fn answers_of_the_api_are_compressed_for_who_takes_that_and_streams_are_not() {
    let hub = TestHub::start().await;
    let text = "The same words again and again. ".repeat(1_000);
    let delta = format!(r#"{{"k":"part.delta","run":"r","part":"p","text":"{text}"}}"#);
    hub.publisher("c").await.says(&format!("{RUN}{delta}")).await;
    let asked = async |path: &str, taken: &str| {
        let asked = hub.request("GET", path).header("accept", "application/x-ndjson, */*");
        let answer = asked.header("accept-encoding", taken).send().await.unwrap();
        let encoding =
            answer.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
        (encoding, answer)
    };
    for path in ["/v1/conversations/c", "/v1/conversations/c/events", "/v1/conversations/c/export/md"] {
        let (encoding, plain) = asked(path, "identity").await;
        assert_eq!(encoding, None, "{path}");
        let plain = plain.bytes().await.unwrap();
        assert!(plain.len() > text.len(), "{path}");
        let (encoding, packed) = asked(path, "gzip").await;
        assert_eq!(encoding.as_deref(), Some("gzip"), "{path}");
        assert_eq!(packed.headers()["vary"], "accept-encoding", "{path}");
        let packed = packed.bytes().await.unwrap();
        assert!(packed.len() < plain.len() / 10, "{path}: {} of {} bytes", packed.len(), plain.len());
        let mut read = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, plain, "{path}");
    }
    assert_eq!(asked("/healthz", "gzip").await.0, None);
    let stream = hub.request("GET", "/v1/conversations/c/events");
    let stream = stream.header("accept", "text/event-stream").header("accept-encoding", "gzip").send().await;
    let stream = stream.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(stream.headers().get("content-encoding"), None);
}

#[tokio::test]
async fn events_come_as_lines_from_a_position() {
    let hub = TestHub::start().await;
    let ack = hub.publisher("c").await.says(RUN).await;
    let lines = async |path: &str| {
        let answer = hub.request("GET", path).header("accept", "application/x-ndjson").send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/x-ndjson");
        answer.text().await.unwrap()
    };
    let all = lines("/v1/conversations/c/events").await;
    let seqs: Vec<_> = all.lines().map(|line| model::Envelope::parse(line).unwrap().seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5]);
    let rest = lines(&format!("/v1/conversations/c/events?after={}:3", ack.epoch)).await;
    assert_eq!(rest.lines().count(), 2);
}

/// Takes the frames of an SSE `answer` until `seq` is applied; the id of the last one.
async fn follow(answer: reqwest::Response, tracker: &mut Tracker, seq: u64) -> String {
    let mut stream = answer.bytes_stream();
    let (mut pending, mut id) = (String::new(), String::new());
    while tracker.view().seq < seq {
        let bytes = within("an SSE event", stream.next()).await.expect("the stream goes on").unwrap();
        pending.push_str(std::str::from_utf8(&bytes).unwrap());
        while let Some((event, rest)) = pending.split_once("\n\n") {
            for line in event.lines() {
                if let Some(data) = line.strip_prefix("data: ") {
                    let frame = parse_server(data).unwrap();
                    if !matches!(frame, ServerFrame::Presence { .. }) {
                        take(tracker, frame);
                    }
                }
                if let Some(value) = line.strip_prefix("id: ") {
                    value.clone_into(&mut id);
                }
            }
            pending = rest.to_owned();
        }
    }
    id
}

fn take(tracker: &mut Tracker, mut frame: ServerFrame) {
    let outcome = tracker.take(&mut frame, &mut |_| {});
    assert!(!matches!(outcome, FrameOutcome::Gap { .. }), "{outcome:?}");
}

#[tokio::test]
async fn i2_server_sent_events_resume_with_their_last_id() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(RUN).await;
    let mut tracker = Tracker::default();
    let open = async |last: Option<&str>| {
        let mut request =
            hub.request("GET", "/v1/conversations/c/events").header("accept", "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = request.send().await.unwrap();
        assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("text/event-stream"));
        answer
    };
    let id = follow(open(None).await, &mut tracker, 5).await;
    assert!(id.ends_with(":5"), "{id}");
    let head = publisher.says(r#"{"k":"part.delta","run":"r","part":"p","text":" there"}"#).await.seq;
    follow(open(Some(&id)).await, &mut tracker, head).await;
    assert_eq!(snapshot::hash(tracker.view()), hub.view_hash("c").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_end_of_a_run_ends_with_it() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(RUN).await;
    let waiting = tokio::spawn(hub.request("GET", "/v1/conversations/c/wait?until=run.end").send());
    publisher.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await;
    let answer = within("the end of the run", waiting).await.unwrap().unwrap();
    assert_eq!(answer.status().as_u16(), 200);
}

#[tokio::test]
async fn the_hub_has_the_schemas_of_what_it_says() {
    let hub = TestHub::start().await;
    for name in ["event", "client-frame", "server-frame", "view"] {
        let schema = hub.json(&format!("/schema/{name}.json")).await;
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
    }
    let problem = hub.json("/schema/none.json").await;
    assert_eq!(problem["code"], "not_found", "{problem}");
}

#[tokio::test]
async fn the_hub_says_that_it_is_alive_and_ready() {
    let hub = TestHub::start().await;
    for path in ["/healthz", "/readyz"] {
        assert_eq!(hub.request("GET", path).send().await.unwrap().status().as_u16(), 200, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_ends_with_what_is_waited_for_and_other_words_are_refused() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(RUN).await;
    let wait = async |query: &str| hub.json(&format!("/v1/conversations/c/wait?{query}")).await;
    assert_eq!(wait("until=text:Hello").await["done"], true);
    assert_eq!(wait("until=seq:5&run=r").await["done"], true);
    assert_eq!(wait("until=tool:look&timeout_ms=50").await["done"], false);
    assert_eq!(wait("until=run.end&run=other&timeout_ms=50").await["done"], false);
    let waiting = tokio::spawn(hub.request("GET", "/v1/conversations/c/wait?until=tool:look").send());
    publisher.says(r#"{"k":"tool.result","run":"r","tool":"t","output":1}"#).await;
    publisher.says(r#"{"k":"tool.start","run":"r","tool":"t","name":"look"}"#).await;
    let answer = within("the end of the call", waiting).await.unwrap().unwrap();
    assert_eq!(answer.json::<serde_json::Value>().await.unwrap()["done"], true);
    assert_eq!(wait("until=lunch").await["code"], "bad_request");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_sent_events_know_levels() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(RUN).await;
    let lens = Lens { level: Level::Critical, ..Lens::default() };
    let mut tracker = Tracker::through(lens.clone());
    let answer = hub.request("GET", "/v1/conversations/c/events?level=critical").send().await.unwrap();
    let deltas = r#"{"k":"part.delta","run":"r","part":"p","text":" there"}"#;
    publisher.says(deltas).await;
    let head = publisher.says(r#"{"k":"run.end","run":"r","status":"complete"}"#).await.seq;
    let id = follow(answer, &mut tracker, head).await;
    assert!(id.ends_with(&format!(":{head}")), "{id}");
    let whole = hub.request("GET", "/v1/conversations/c").send().await.unwrap().bytes().await.unwrap();
    assert_eq!(*tracker.view(), lens.project(&snapshot::decode(&whole).unwrap()));
    let refused = hub.request("GET", "/v1/conversations/c/events?level=some").send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 400);
}

/// Takes the frames of an SSE `answer` about several conversations until all are at `seqs`; the id of the last one.
async fn follow_all(answer: reqwest::Response, trackers: &mut [Tracker], seqs: &[u64]) -> String {
    let mut stream = answer.bytes_stream();
    let (mut pending, mut id) = (String::new(), String::new());
    while trackers.iter().zip(seqs).any(|(tracker, seq)| tracker.view().seq < *seq) {
        let bytes = within("an SSE event", stream.next()).await.expect("the stream goes on").unwrap();
        pending.push_str(std::str::from_utf8(&bytes).unwrap());
        while let Some((event, rest)) = pending.split_once("\n\n") {
            for line in event.lines() {
                if let Some(data) = line.strip_prefix("data: ") {
                    let frame = parse_server(data).unwrap();
                    if let ServerFrame::Snap { sub, .. } | ServerFrame::Batch { sub, .. } = frame {
                        take(&mut trackers[sub as usize], frame);
                    }
                }
                if let Some(value) = line.strip_prefix("id: ") {
                    value.clone_into(&mut id);
                }
            }
            pending = rest.to_owned();
        }
    }
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_one_stream_of_events_holds_several_conversations_and_resumes_them_all() {
    let hub = TestHub::start().await;
    let mut publishers = [hub.publisher("a").await, hub.publisher("b").await];
    for publisher in &mut publishers {
        publisher.says(RUN).await;
    }
    let mut trackers = vec![Tracker::default(), Tracker::default()];
    let path = "/v1/events?conversation=a&conversation=b";
    let open =
        async |last: &str| hub.request("GET", path).header("last-event-id", last).send().await.unwrap();
    let id = follow_all(open("").await, &mut trackers, &[5, 5]).await;
    assert_eq!(id.split(',').count(), 2, "{id}");
    let more = r#"{"k":"part.delta","run":"r","part":"p","text":" there"}"#;
    publishers[1].says(more).await;
    follow_all(open(&id).await, &mut trackers, &[5, 6]).await;
    for (tracker, name) in trackers.iter().zip(["a", "b"]) {
        assert_eq!(snapshot::hash(tracker.view()), hub.view_hash(name).await);
    }
    let refused = hub.request("GET", "/v1/events").send().await.unwrap();
    assert_eq!(refused.status().as_u16(), 400);
    let one_of_two = open("e:1").await;
    assert_eq!(one_of_two.status().as_u16(), 400);
}

#[tokio::test]
async fn an_address_that_is_none_is_the_page_for_a_browser_and_a_problem_for_a_program() {
    let hub = TestHub::start().await;
    let ask = async |accept: &str| {
        hub.request("GET", "/nosuch/place").header("accept", accept).send().await.unwrap()
    };
    let page = ask("text/html,application/xhtml+xml,*/*;q=0.8").await;
    assert_eq!(page.status(), 404);
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let problem = ask("application/json").await;
    assert_eq!(
        (problem.status().as_u16(), &problem.headers()["content-type"]),
        (404, &"application/problem+json".parse().unwrap())
    );
    let problem: serde_json::Value = problem.json().await.unwrap();
    assert_eq!(problem["code"], "not_found");
}
