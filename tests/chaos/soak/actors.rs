//! Those who come and go. Each makes up its mind by its own chance, and fails at the first thing that is not as it must be.

use std::time::Duration;

use futures_util::StreamExt as _;
use model::frame::{ClientFrame, ServerFrame};
use serde_json::json;
use tests::publisher::StreamingBody;
use tests::wait::{load_for, within};
use tests::watcher::{FrameCoverage, covers};
use tests::wire::WebSocketWire;
use tests::{TestPublisher, TestViewer};
use tokio::time::{Instant, timeout_at};

use super::{SoakState, Time};
use crate::logged::agree;
use crate::settings::SeededRandom;

/// Some time, in milliseconds.
fn some(random: &mut SeededRandom, from: u64, to: u64) -> Duration {
    Duration::from_millis(random.between(from, to))
}

/// Tells runs of one after the other; some are not ended, and some come as the body of a POST that breaks off. Returns how
/// many events were said.
pub(super) async fn publisher(scene: SoakState, mut random: SeededRandom, number: u64) -> u64 {
    let (mut said, mut lives) = (0, 0);
    while scene.goes_on() {
        lives += 1;
        let conversation = scene.conversation(&mut random);
        let run = format!("run-{number}-{lives}");
        if random.between(0, 5) == 0 {
            said += post(&scene, &mut random, &conversation, &run).await;
            continue;
        }
        // A name for each run: a life that counts from 1 again would be taken for one that repeats itself.
        let mut publisher = TestPublisher::named(&run, scene.hub, &conversation).await;
        let mut story = SoakStory::begin(&run);
        for _ in 0..random.between(5, 40) {
            story.goes_on(&mut random);
            said += publisher.says(&story.take()).await.events;
            load_for(some(&mut random, 5, 100)).await;
        }
        if random.between(0, 4) > 0 {
            story.ends();
            said += publisher.says(&story.take()).await.events;
        }
    }
    said
}

/// A run as the body of a POST, which may break off.
async fn post(scene: &SoakState, random: &mut SeededRandom, conversation: &str, run: &str) -> u64 {
    let url = format!("http://{}/v1/ingest/fanlight/{conversation}", scene.hub);
    // A client for each, so that no connection outlives its request.
    let mut body = StreamingBody::post(&reqwest::Client::new(), &url, &[]);
    let mut story = SoakStory::begin(run);
    for _ in 0..random.between(2, 10) {
        story.goes_on(random);
        body.write(story.take()).await;
        load_for(some(random, 5, 100)).await;
    }
    if random.between(0, 2) == 0 {
        body.abort().await;
        return 0;
    }
    story.ends();
    body.write(story.take()).await;
    let (status, answer) = body.finish().await;
    assert_eq!(status, 200, "{answer}");
    answer["events"].as_u64().unwrap_or(0)
}

/// A run with a text and calls, as lines.
struct SoakStory {
    run: String,
    calls: u64,
    lines: String,
}

impl SoakStory {
    fn begin(run: &str) -> Self {
        let mut story = Self { run: run.to_owned(), calls: 0, lines: String::new() };
        story.tell(json!({"k": "run.start", "model": "m"}));
        story.tell(json!({"k": "part.start", "part": "p", "kind": "text"}));
        story
    }

    fn tell(&mut self, mut event: serde_json::Value) {
        event["run"] = json!(self.run);
        self.lines += &event.to_string();
        self.lines.push('\n');
    }

    fn goes_on(&mut self, random: &mut SeededRandom) {
        if random.between(0, 6) == 0 {
            self.calls += 1;
            let call = format!("t{}", self.calls);
            self.tell(json!({"k": "tool.start", "tool": call, "name": "look"}));
            self.tell(json!({"k": "tool.args", "tool": call, "text": "{\"at\":\"it\"}"}));
            self.tell(json!({"k": "tool.state", "tool": call, "state": "executing"}));
            self.tell(json!({"k": "tool.result", "tool": call, "output": format!("{:x}", random.next())}));
            self.tell(json!({"k": "tool.state", "tool": call, "state": "complete"}));
        }
        for _ in 0..random.between(1, 5) {
            self.tell(json!({"k": "part.delta", "part": "p", "text": format!("{:x} ", random.next())}));
        }
    }

    fn ends(&mut self) {
        self.tell(json!({"k": "part.end", "part": "p"}));
        self.tell(json!({"k": "run.end", "status": "complete"}));
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.lines)
    }
}

/// Views, is cut and comes back, does not read for a while, goes to another conversation. Fails at the first hole or
/// double. In the evening it looks whether it sees what the hub has.
pub(super) async fn viewer(scene: SoakState, mut random: SeededRandom) {
    loop {
        let conversation = scene.conversation(&mut random);
        let mut viewer = TestViewer::connect(scene.hub, &conversation).await;
        for _ in 0..random.between(1, 8) {
            match random.between(0, 6) {
                0 => {
                    viewer.cut();
                    load_for(some(&mut random, 0, 500)).await;
                    viewer.resume().await;
                }
                1 => load_for(some(&mut random, 100, 4_000)).await,
                _ => read(&mut viewer, some(&mut random, 100, 2_000)).await,
            }
            if !scene.goes_on() {
                return last_look(scene, viewer).await;
            }
        }
    }
}

async fn read(viewer: &mut TestViewer, time: Duration) {
    let end = Instant::now() + time;
    // A step that is not over loses nothing: frames are taken whole.
    while timeout_at(end, viewer.step()).await.is_ok() {}
}

async fn last_look(mut scene: SoakState, mut viewer: TestViewer) {
    viewer.cut();
    let all_is_said = scene.time.wait_for(|time| *time == Time::Night);
    within("the publishers to be silent", all_is_said).await.unwrap();
    viewer.resume().await;
    agree(scene.hub, &mut viewer).await;
}

/// Reads a conversation as server-sent events; leaves and comes back with the id of the last. Fails at the first hole
/// or double.
pub(super) async fn stream_reader(scene: SoakState, mut random: SeededRandom) {
    while scene.goes_on() {
        let url = format!("http://{}/v1/conversations/{}/events", scene.hub, scene.conversation(&mut random));
        let (mut id, mut position) = (None, None);
        for _ in 0..random.between(1, 4) {
            let mut request = reqwest::Client::new().get(&url);
            if let Some(id) = &id {
                request = request.header("last-event-id", id);
            }
            let answer = within("a stream", request.send()).await.unwrap();
            let end = Instant::now() + some(&mut random, 100, 3_000);
            let (mut bytes, mut pending) = (answer.bytes_stream(), String::new());
            while let Ok(Some(more)) = timeout_at(end, bytes.next()).await {
                pending.push_str(std::str::from_utf8(&more.unwrap()).unwrap());
                while let Some((event, rest)) = pending.split_once("\n\n") {
                    take(event, &mut id, &mut position);
                    pending = rest.to_owned();
                }
            }
        }
    }
}

fn take(event: &str, id: &mut Option<String>, position: &mut Option<u64>) {
    for line in event.lines() {
        if let Some(new) = line.strip_prefix("id: ") {
            *id = Some(new.to_owned());
        }
        match line.strip_prefix("data: ").map(covers) {
            Some(FrameCoverage::Events(from, to)) => {
                assert_eq!(Some(from), position.map(|at| at + 1), "a hole or a double in a stream");
                *position = Some(to);
            }
            Some(FrameCoverage::Everything(seq)) => *position = Some(seq),
            _ => {}
        }
    }
}

/// Watches the list for a while, again and again.
pub(super) async fn list_watcher(scene: SoakState, mut random: SeededRandom) {
    while scene.goes_on() {
        let mut wire = WebSocketWire::connect(scene.hub).await;
        wire.send(&ClientFrame::Watch { sub: 0, limit: None }).await;
        let first = wire.frame().await;
        assert!(matches!(first, ServerFrame::Fleet { full: true, .. }), "{first:?}");
        let end = Instant::now() + some(&mut random, 100, 5_000);
        while let Ok(frame) = timeout_at(end, wire.frame()).await {
            assert!(matches!(frame, ServerFrame::Fleet { .. }), "{frame:?}");
        }
    }
}
