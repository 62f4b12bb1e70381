//! Publishers and viewers that go from hub to hub. Each makes up its mind by its own chance, and fails at the first thing that is not as
//! it must be.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use model::code::ErrorCode;
use model::frame::{Durability, ServerFrame};
use model::{RunId, View};
use serde_json::{Value, json};
use tests::TestViewer;
use tests::viewer::ViewerStep;
use tests::wait::load_for;
use tests::wire::WebSocketWire;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::board::{Board, EACH};
use crate::settings::SeededRandom;

/// How long a hub may take to let somebody in. One that is paused takes connections and answers nothing.
const OPEN: Duration = Duration::from_secs(2);

/// How long a publisher with something to be acked waits for a word of its hub before it goes to another one.
const SILENCE: Duration = Duration::from_secs(4);

/// How long a publisher asks for `stored` where `replicated` is not to be had.
const LESS: Duration = Duration::from_secs(2);

/// Most frames of a publisher that are not acked at all.
const UNDER_WAY: usize = 32;

/// Most frames that are not acked as `replicated`.
const KEPT: usize = 400;

/// Bytes of a word, with the space after it.
const WORD_BYTES: usize = 8;

/// What everybody needs.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) hubs: Vec<SocketAddr>,
    pub(super) token: String,
    pub(super) board: Arc<Board>,
    /// Turns true when publishers shall come to their end.
    pub(super) ends: watch::Receiver<bool>,
}

impl Scene {
    /// A socket at one of the hubs; nothing where that one does not let anybody in.
    async fn socket(&self, random: &mut SeededRandom) -> Option<WebSocketWire> {
        let hub = self.hubs[random.between(0, self.hubs.len() as u64) as usize];
        let tried = timeout(OPEN, WebSocketWire::try_connect_as(Some(&self.token), hub)).await.ok().flatten();
        if tried.is_none() {
            load_for(Duration::from_millis(random.between(20, 150))).await;
        }
        tried
    }
}

/// The conversation in which publisher `number` speaks.
pub(super) fn conversation(number: usize) -> String {
    format!("c{}", number / EACH)
}

fn run(publisher: usize) -> String {
    format!("run-{publisher}")
}

/// All have the same length, and letters: numbers with spaces may look like those of a card, which the hub marks.
fn word(number: u64) -> String {
    format!("w{number:06} ")
}

/// How many words a view has of each publisher of conversation `number`.
fn words(view: &View, conversation: usize) -> [u64; EACH] {
    std::array::from_fn(|nth| {
        let run = view.runs.get(&RunId::new(&run(conversation * EACH + nth)));
        let parts = run.into_iter().flat_map(|run| run.parts.values());
        parts.map(|part| part.body.text.as_str().len() / WORD_BYTES).sum::<usize>() as u64
    })
}

/// Fails unless a view has the words of each publisher of conversation `number` from the first on, in order and once. How many.
pub(super) fn check(view: &View, conversation: usize, who: &str) -> [u64; EACH] {
    let counts = words(view, conversation);
    for (nth, count) in counts.iter().enumerate() {
        let publisher = conversation * EACH + nth;
        let text = view.runs.get(&RunId::new(&run(publisher))).map(model::view::RunView::answer);
        let text = text.unwrap_or_default();
        let expected: String = (1..=*count).map(word).collect();
        let same = text.bytes().zip(expected.bytes()).take_while(|(one, other)| one == other).count();
        let odd: String = text.chars().skip(same).take(60).collect();
        assert!(
            text == expected,
            "{who}: publisher {publisher} goes wrong at byte {same} of {}: {odd}",
            text.len()
        );
    }
    counts
}

/// A frame that is not acked as `replicated` yet.
#[derive(Debug)]
struct KeptFrame {
    number: u64,
    events: Vec<Value>,
    /// The newest word in it.
    word: u64,
    /// Whether it was acked at a lower level.
    is_stored: bool,
}

/// What a publisher has done.
#[derive(Debug, Default)]
pub(super) struct Published {
    pub(super) words: u64,
    /// Acks at the level `replicated`.
    pub(super) replicated: u64,
    /// Acks at a lower level, for frames that were kept and said again.
    pub(super) stored: u64,
    /// How often it went to another hub.
    pub(super) moves: u64,
    /// How often a hub expected a frame that was acked as `replicated`: one that has been overtaken and does not know it.
    pub(super) stale: u64,
}

/// A publisher that counts its words and keeps each until it is acked as `replicated`.
struct Sayer {
    scene: Arc<Scene>,
    random: SeededRandom,
    publisher: usize,
    kept: VecDeque<KeptFrame>,
    frames: u64,
    /// Until when it asks for less than `replicated`.
    less_until: Instant,
    /// Whether its run has ended.
    is_over: bool,
    done: Published,
}

/// What a publisher does after a word of its hub.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Stay,
    Leave,
}

/// Says words until the end comes, and then until all of them are acked as `replicated`.
pub(super) async fn publisher(scene: Arc<Scene>, random: SeededRandom, publisher: usize) -> Published {
    let (kept, done) = (VecDeque::new(), Published::default());
    let less_until = Instant::now();
    let mut sayer = Sayer { scene, random, publisher, kept, frames: 0, less_until, is_over: false, done };
    while !sayer.has_finished() {
        let scene = Arc::clone(&sayer.scene);
        if let Some(wire) = scene.socket(&mut sayer.random).await {
            sayer.stay(wire).await;
            sayer.done.moves += 1;
            load_for(Duration::from_millis(sayer.random.between(20, 200))).await;
        }
    }
    sayer.done
}

impl Sayer {
    fn has_finished(&self) -> bool {
        self.is_over && self.kept.is_empty()
    }

    /// How many frames are not acked at all.
    fn under_way(&self) -> usize {
        self.kept.iter().filter(|frame| !frame.is_stored).count()
    }

    /// Makes the next frame of `count` words.
    fn think(&mut self, count: u64) {
        let run = run(self.publisher);
        let mut events = Vec::new();
        if self.frames == 0 {
            events.push(json!({"k": "run.start", "run": run, "model": "m"}));
            events.push(json!({"k": "part.start", "run": run, "part": "p", "kind": "text"}));
        }
        for _ in 0..count {
            self.done.words += 1;
            events.push(json!({"k": "part.delta", "run": run, "part": "p", "text": word(self.done.words)}));
        }
        if count == 0 {
            events.push(json!({"k": "part.end", "run": run, "part": "p"}));
            events.push(json!({"k": "run.end", "run": run, "status": "complete"}));
            self.is_over = true;
        }
        self.frames += 1;
        let word = self.done.words;
        self.kept.push_back(KeptFrame { number: self.frames, events, word, is_stored: false });
        self.scene.board.said[self.publisher].store(word, Ordering::Release);
    }

    async fn send(&self, wire: &mut WebSocketWire, frame: &KeptFrame, level: &str) -> bool {
        let frame = json!({
            "t": "pub", "id": frame.number, "conv": conversation(self.publisher), "pid": run(self.publisher), "pepoch": 1,
            "pseq": frame.number, "durability": level, "events": frame.events,
        });
        wire.offer_text(frame.to_string()).await
    }

    /// Says again what is kept, and goes on, until there is a reason to leave.
    async fn stay(&mut self, mut wire: WebSocketWire) {
        let asks_for_less = self.less_until > Instant::now();
        let level = if asks_for_less { "stored" } else { "replicated" };
        for frame in &self.kept {
            if !self.send(&mut wire, frame, level).await {
                return;
            }
        }
        let (mut ends, mut heard_at) = (self.scene.ends.clone(), Instant::now());
        let mut speaks_at = Instant::now();
        while !self.has_finished() {
            let is_behind = self.under_way() >= UNDER_WAY || self.kept.len() >= KEPT;
            let is_ending = *ends.borrow_and_update();
            // Those that it waits for only wait, and may be cancelled.
            tokio::select! {
                came = wire.frame_or_end() => {
                    let Ok((frame, _)) = came else { return };
                    heard_at = Instant::now();
                    if self.hear(frame) == Next::Leave { return }
                }
                () = sleep_until(speaks_at), if !is_behind && !self.is_over => {
                    if self.under_way() == 0 {
                        heard_at = Instant::now();
                    }
                    let count = if is_ending { 0 } else { self.random.between(1, 4) };
                    self.think(count);
                    let newest = self.kept.back().expect("it was put there");
                    if !self.send(&mut wire, newest, level).await { return }
                    speaks_at = Instant::now() + Duration::from_millis(self.random.between(40, 160));
                }
                () = sleep_until(self.less_until), if asks_for_less => return,
                () = sleep_until(heard_at + SILENCE), if !self.kept.is_empty() => return,
                changed = ends.changed(), if !is_ending => changed.expect("the test goes on"),
            }
        }
    }

    /// Takes what the hub said.
    fn hear(&mut self, frame: ServerFrame) -> Next {
        match frame {
            ServerFrame::Ack(ack) => {
                let place = self.kept.iter().position(|kept| kept.number == ack.id);
                let Some(place) = place else { return Next::Stay };
                let word = self.kept[place].word;
                if ack.durability >= Durability::Replicated {
                    self.kept.remove(place);
                    self.done.replicated += 1;
                } else {
                    assert!(ack.durability >= Durability::Stored, "{ack:?}");
                    self.kept[place].is_stored = true;
                    self.done.stored += 1;
                }
                self.scene.board.acked[self.publisher].fetch_max(word, Ordering::AcqRel);
                Next::Stay
            }
            ServerFrame::Error { code: ErrorCode::DurabilityUnavailable, .. } => {
                self.less_until = Instant::now() + LESS;
                Next::Leave
            }
            ServerFrame::Error { code: ErrorCode::PublisherGap, expected, .. } => {
                let oldest = self.kept.front().map_or(self.frames + 1, |kept| kept.number);
                self.done.stale += u64::from(expected.is_none_or(|expected| expected < oldest));
                Next::Leave
            }
            ServerFrame::Error {
                code:
                    ErrorCode::LogFailed
                    | ErrorCode::DiskFull
                    | ErrorCode::DiskFailing
                    | ErrorCode::Elsewhere
                    | ErrorCode::ShuttingDown
                    | ErrorCode::TooMany,
                ..
            } => Next::Leave,
            ServerFrame::Error { code, message, .. } => {
                panic!("publisher {} was refused: {code:?} {message}", self.publisher)
            }
            ServerFrame::Bye { reconnect, reason, .. } => {
                assert!(reconnect, "publisher {} is to stay away: {reason}", self.publisher);
                Next::Leave
            }
            _ => Next::Stay,
        }
    }
}

/// What a viewer has done.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// How often it came to a hub.
    pub(super) moves: u64,
    /// How often a hub could not serve it.
    pub(super) refused: u64,
    /// States that it was given.
    pub(super) snapshots: u64,
    /// Events that it was given, joined ones counted once.
    pub(super) events: u64,
}

/// Watches a conversation, now at this hub and now at that one, until its view has the hash that is in `last` for it.
pub(super) async fn viewer(
    scene: Arc<Scene>,
    mut random: SeededRandom,
    number: usize,
    mut last: watch::Receiver<Vec<String>>,
) -> Watched {
    let conversation = number % scene.board.conversations();
    let mut viewer = TestViewer::away(scene.hubs[0], &format!("c{conversation}"));
    let mut done = Watched::default();
    let who = format!("viewer {number}");
    loop {
        let Some(wire) = scene.socket(&mut random).await else { continue };
        viewer.resume_over(wire).await;
        done.moves += 1;
        let until = Instant::now() + Duration::from_millis(random.between(1_000, 6_000));
        while viewer.is_connected() {
            let seen = words(viewer.view(), conversation);
            for (place, seen) in scene.board.seen[number].iter().zip(seen) {
                place.store(seen, Ordering::Release);
            }
            let wanted = last.borrow_and_update().get(conversation).cloned();
            if wanted.as_ref().is_some_and(|wanted| viewer.hash() == *wanted) {
                check(viewer.view(), conversation, &who);
                assert_eq!(viewer.seen.drifts, 0, "{who}");
                done.snapshots = viewer.seen.snapshots as u64;
                done.events = viewer.seen.events as u64;
                return done;
            }
            // All of them only wait, and may be cancelled.
            tokio::select! {
                step = viewer.step_or_end() => if let ViewerStep::Refused(_) = step {
                    done.refused += 1;
                    viewer.cut();
                },
                () = sleep_until(until), if wanted.is_none() => viewer.cut(),
                changed = last.changed() => changed.expect("the test goes on"),
            }
        }
        check(viewer.view(), conversation, &who);
        assert_eq!(viewer.seen.drifts, 0, "{who}");
        load_for(Duration::from_millis(random.between(5, 100))).await;
    }
}
