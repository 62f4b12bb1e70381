//! Tests of looking up what callers go on with, while the disk is slow.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use event_log::{EventLog, StoredConversation};
use hub::blocking_log::BlockingLog;
use model::event::{Event, Kind, PartKind, RunEnd, RunStatus};
use model::{Envelope, Epoch, PartId, Position, View};

use super::*;

/// How long something that waits for nobody may take.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A conversation in which the run `r` answered `words`.
fn answered(words: &str) -> StoredConversation {
    let (mut view, run, part) = (View::default(), RunId::new("r"), PartId::new("p"));
    let kinds = [
        Kind::PartStart { part: part.clone(), kind: PartKind::Text },
        Kind::PartDelta { part, off: None, text: words.into() },
        Kind::RunEnd(RunEnd { status: RunStatus::Complete, ..RunEnd::default() }),
    ];
    for kind in kinds {
        let (event, seq) = (Event::new(&run, kind), view.seq + 1);
        let envelope = Envelope { event, seq, at: 1, producer_at: None, publisher: None, by_hub: false };
        model::fold::fold(&mut view, &envelope, &mut |_change| {});
    }
    StoredConversation {
        position: Position { epoch: Epoch::new("e"), seq: view.seq },
        view,
        at: 1,
        marks: Vec::new(),
    }
}

/// What `helper` is asked by a caller whom it answered "Well." in each of these conversations, none of which is in memory.
struct Scene {
    log: Arc<BlockingLog>,
    hub: Hub,
    threads: Threads,
    caller: Caller,
    messages: Vec<Spoken>,
}

impl Scene {
    fn of(names: &[&str]) -> Self {
        let log = Arc::<BlockingLog>::default();
        let said = |role: &str, text: &str| Spoken { role: role.into(), ..Spoken::user(text) };
        let messages = vec![said("user", "How?"), said("assistant", "Well."), said("user", "Why?")];
        let (threads, caller) = (Threads::default(), Caller::new("openai"));
        for name in names {
            let id = ConversationId::parse(name).unwrap();
            log.put(&id, answered("Well."));
            let trace = Trace::of_history(("helper", &caller), &messages[..1], &id, clock::random());
            threads.remember(trace, &RunId::new("r"), clock::now_ms());
        }
        let under: Arc<dyn EventLog> = Arc::<BlockingLog>::clone(&log);
        Self { log, hub: Hub::new(under), threads, caller, messages }
    }

    fn find(&self) -> Option<ConversationId> {
        self.threads.find(&self.hub, ("helper", &self.caller), &self.messages, |_view| true)
    }
}

#[test]
fn while_one_caller_waits_for_the_disk_others_are_looked_up() {
    let scene = Scene::of(&["c"]);
    scene.log.shut();
    let (looked, done) = mpsc::channel();
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| scene.find());
        scene.log.until_read();
        scope.spawn(|| looked.send(scene.threads.current(&ConversationId::parse("other").unwrap())));
        let other = done.recv_timeout(AT_ONCE);
        scene.log.open();
        assert_eq!(reads.join().unwrap().unwrap().as_str(), "c");
        assert_eq!(other.expect("it waits for the disk of another caller").as_str(), "other");
    });
}

#[test]
fn of_two_who_look_at_once_each_is_given_another_conversation() {
    let scene = Scene::of(&["c", "d"]);
    scene.log.shut();
    std::thread::scope(|scope| {
        let both = [scope.spawn(|| scene.find()), scope.spawn(|| scene.find())];
        scene.log.until_read();
        scene.log.open();
        let mut found = both.map(|it| it.join().unwrap().unwrap().to_string());
        found.sort();
        assert_eq!(found, ["c", "d"]);
    });
}

#[test]
fn while_one_thread_is_restored_those_go_on_that_were() {
    let scene = Scene::of(&["c"]);
    let restored = |name: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(scene.threads.remembered(&scene.hub, Some(&ConversationId::parse(name).unwrap())));
    };
    restored("c");
    scene.log.shut();
    let (said, done) = mpsc::channel();
    std::thread::scope(|scope| {
        // That there is such a thread must be looked up.
        let reads = scope.spawn(|| restored("d"));
        scene.log.until_read();
        scope.spawn(|| {
            restored("c");
            said.send(())
        });
        let other = done.recv_timeout(AT_ONCE);
        scene.log.open();
        reads.join().unwrap();
        other.expect("it waits for the disk of another caller");
    });
}
