//! The list while its log reads: who watches already goes on, and who begins to misses nothing.

use std::io::IoSlice;
use std::sync::mpsc;

use model::event::Kind;
use model::{Envelope, Event, RunId};

use super::*;
use crate::fanout::outbox::Transport;
use crate::hub::Publication;
use crate::hub::blocking_log::BlockingLog;
use event_log::EventLog;

/// How long something that waits for nobody may take.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A socket that takes everything.
#[derive(Debug, Default)]
struct RecordingTransport(Mutex<Vec<u8>>);

impl Transport for RecordingTransport {
    fn try_write(&self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn try_write_vectored(&self, pieces: &[IoSlice<'_>]) -> std::io::Result<usize> {
        pieces.iter().map(|piece| self.try_write(piece)).sum()
    }
}

/// Who watches the list.
struct Viewer {
    heard: Arc<RecordingTransport>,
    subscription: Arc<Subscription>,
}

impl Viewer {
    fn of(fleet: &ListViewers) -> Self {
        let heard = Arc::<RecordingTransport>::default();
        let line: Arc<dyn Transport> = Arc::<RecordingTransport>::clone(&heard);
        Self { heard, subscription: fleet.enter(&Arc::new(Outbox::new(line)), 1, 10, None) }
    }

    /// All that it was told.
    fn heard(&self) -> String {
        assert_eq!(self.subscription.outbox.flush(&mut usize::MAX.clone()), crate::fanout::Flushed::All);
        String::from_utf8_lossy(&self.heard.0.lock()).into_owned()
    }
}

/// A list over a log that halts.
fn list() -> (Arc<BlockingLog>, Arc<Hub>, ListViewers) {
    let log = Arc::<BlockingLog>::default();
    let under: Arc<dyn EventLog> = Arc::<BlockingLog>::clone(&log);
    let hub = Arc::new(Hub::new(under));
    let fleet = ListViewers::new(Arc::clone(&hub), Arc::default());
    (log, hub, fleet)
}

fn say(hub: &Hub, conversation: &str, text: &str) {
    let event = Event::new(&RunId::new("r"), Kind::Status { text: text.to_owned() });
    let said = Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false };
    hub.publish(&conversation.parse().unwrap(), Publication::of(vec![said])).unwrap();
}

/// Where `text` stands in what was heard.
fn place(heard: &str, text: &str) -> usize {
    heard.find(text).unwrap_or_else(|| panic!("{text} is not in {heard}"))
}

#[test]
fn who_is_shown_some_rows_hears_nothing_of_the_others() {
    let (_log, hub, fleet) = list();
    for name in ["a1", "b1", "b2"] {
        say(&hub, name, "before");
    }
    let heard = Arc::<RecordingTransport>::default();
    let line: Arc<dyn Transport> = Arc::<RecordingTransport>::clone(&heard);
    let seen = SeenRows::new(|id| id.as_str().starts_with('a'));
    let subscription = fleet.enter(&Arc::new(Outbox::new(line)), 1, 10, Some(seen));
    let viewer = Viewer { heard, subscription };
    fleet.start(&viewer.subscription);
    let first = viewer.heard();
    assert!(first.contains("\"a1\"") && first.contains("\"total\":1,"), "{first}");
    fleet.round();
    let before = viewer.heard().len();
    say(&hub, "b1", "more");
    say(&hub, "b3", "new");
    fleet.round();
    assert_eq!(viewer.heard().len(), before, "not a byte of what it is not shown");
    say(&hub, "b1", "more");
    say(&hub, "a2", "new");
    fleet.round();
    let all = viewer.heard();
    let others = ["\"b1\"", "\"b2\"", "\"b3\""];
    assert!(all.contains("\"a2\"") && !others.into_iter().any(|other| all.contains(other)), "{all}");
}

#[test]
fn what_was_deleted_is_named_to_those_who_may_see_it_and_a_new_one_of_that_name_is_there() {
    let (_log, hub, fleet) = list();
    say(&hub, "a1", "before");
    let all = Viewer::of(&fleet);
    let heard = Arc::<RecordingTransport>::default();
    let line: Arc<dyn Transport> = Arc::<RecordingTransport>::clone(&heard);
    let seen = SeenRows::new(|id| id.as_str().starts_with('a'));
    let subscription = fleet.enter(&Arc::new(Outbox::new(line)), 1, 10, Some(seen));
    let some = Viewer { heard, subscription };
    for viewer in [&all, &some] {
        fleet.start(&viewer.subscription);
    }
    // What was queued is taken, so nothing holds up what follows.
    assert!(all.heard().contains("\"full\":true"));
    let before = some.heard().len();
    let gone: ConversationId = "b1".parse().unwrap();
    fleet.lose(&gone);
    assert!(all.heard().contains("\"full\":false,\"rows\":[],\"gone\":[\"b1\"]"), "{}", all.heard());
    assert_eq!(some.heard().len(), before, "not a byte of what it is not shown");
    say(&hub, "b1", "anew");
    fleet.lose(&gone);
    let heard = all.heard();
    let last = heard.rfind("\"full\":false").unwrap();
    let last = heard.get(last..).unwrap();
    assert!(place(last, "anew") < place(last, "\"gone\":[\"b1\"]"), "{heard}");
}

#[test]
fn while_the_list_is_read_for_one_the_others_are_told_what_changes() {
    let (log, hub, fleet) = list();
    let watches = Viewer::of(&fleet);
    fleet.start(&watches.subscription);
    assert!(watches.heard().contains("\"full\":true"));
    say(&hub, "here", "before");
    fleet.round();
    let begins = Viewer::of(&fleet);
    log.shut();
    let (told, done) = mpsc::channel();
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| fleet.start(&begins.subscription));
        log.until_read();
        say(&hub, "here", "first");
        scope.spawn(|| {
            fleet.round();
            told.send(watches.heard())
        });
        let heard = done.recv_timeout(AT_ONCE);
        say(&hub, "here", "second");
        log.open();
        reads.join().unwrap();
        let heard = heard.expect("it waits for the disk of another viewer");
        assert!(heard.contains("first"), "{heard}");
    });
    let heard = begins.heard();
    // Of those that are not pinned the row is read last: it is as it stands by then.
    assert!(place(&heard, "\"full\":true") < place(&heard, "\"full\":false"), "all rows come first: {heard}");
    assert!(place(&heard, "\"full\":false") < heard.rfind("second").unwrap(), "no change is missed: {heard}");
    assert!(!heard.contains("first"), "as it stands: {heard}");
    say(&hub, "later", "third");
    fleet.round();
    assert!(begins.heard().contains("later"));
}

#[test]
fn rows_that_went_while_the_list_was_read_let_it_begin_again() {
    let (log, _hub, fleet) = list();
    let begins = Viewer::of(&fleet);
    log.shut();
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| fleet.start(&begins.subscription));
        log.until_read();
        fleet.renew();
        log.open();
        reads.join().unwrap();
    });
    assert!(begins.heard().contains("\"full\":true"));
    assert_eq!(begins.subscription.outbox.take_parked().len(), 1);
    assert!(fleet.viewers.lock().members.is_empty());
}

#[test]
fn who_leaves_while_the_list_is_read_is_let_go_and_told_nothing() {
    let (log, hub, fleet) = list();
    let begins = Viewer::of(&fleet);
    log.shut();
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| fleet.start(&begins.subscription));
        log.until_read();
        fleet.leave(&begins.subscription);
        log.open();
        reads.join().unwrap();
    });
    assert_eq!((Arc::strong_count(&begins.subscription), hub.watchers()), (1, 0));
    assert_eq!(begins.heard(), "");
}
