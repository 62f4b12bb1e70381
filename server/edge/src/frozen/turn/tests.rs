//! Copies that go on in another epoch of their original: with what was stored, and not with what only has the same number.

use hub::Publication;
use model::event::{Message, RunEnd, RunStart, RunStatus};
use model::{Epoch, MessageId};

use super::*;
use crate::access::Gate;
use crate::config::Config;
use crate::frozen::{CopyKind, freeze};
use crate::state::Shared;

fn event(run: &str, text: &str) -> Event {
    Event::new(&RunId::new(run), Kind::Status { text: text.into() })
}

/// A hub with the conversation `c`, of which one turn runs, and the copy of it, whose original has one event more.
struct Turn {
    shared: Arc<Shared>,
    original: Arc<Conversation>,
    shows: FrozenShare,
    copy: ConversationId,
}

impl Turn {
    async fn begin() -> Self {
        let shared = Shared::new(Config::default(), Gate::default(), None, None).unwrap();
        let id = ConversationId::parse("c").unwrap();
        let start = Event::new(&RunId::new("r"), Kind::RunStart(RunStart::default()));
        let message = Message {
            message: MessageId::new("m"),
            role: "user".into(),
            text: "question".into(),
            files: Vec::new(),
        };
        for event in [Event::new(&RunId::none(), Kind::Message(message)), start] {
            shared.hub.publish(&id, Publication::of(vec![said(event, 0)])).unwrap();
        }
        let original = shared.hub.find(&id).unwrap().unwrap();
        let turn = Some(MessageId::new("m"));
        let copied = freeze(&shared.copies, &original, turn, CopyKind::Live).await.unwrap();
        let (copy, shows) = (copied.conversation.clone(), copied.shows.clone());
        copied.linked();
        let turn = Self { shared, original, shows, copy };
        turn.say(event("r", "first"));
        turn
    }

    fn say(&self, event: Event) {
        self.shared.hub.publish(self.original.id(), Publication::of(vec![said(event, 0)])).unwrap();
    }

    /// Copies the event of the original with this seq, or another one in its place, as from an epoch of this name.
    fn copies(&self, seq: Seq, epoch: &Epoch, instead: Option<Event>) {
        let page = self.original.page(seq - 1, 1).unwrap();
        let mut envelope = Envelope::clone(&page.envelopes[0]);
        if let Some(event) = instead {
            envelope.event = event;
        }
        let up_to = Position { epoch: epoch.clone(), seq };
        assert_eq!(self.shared.hub.copy_on(&self.copy, vec![envelope], up_to), Ok(true));
    }

    /// Goes on with the copy until it ends; how the run ended there, and the lines of status of it.
    async fn ends(&self) -> (RunStatus, String) {
        let end = Event::new(
            &RunId::new("r"),
            Kind::RunEnd(RunEnd { status: RunStatus::Complete, ..RunEnd::default() }),
        );
        self.say(event("r", "last"));
        self.say(end);
        let copy = self.shared.hub.find(&self.copy).unwrap().unwrap();
        let turn = TurnCopy::new(&copy, &self.original, &self.shows);
        let _end = tests_wait(turn.follow(&self.shared.fanout, &self.original)).await;
        let told = copy.page(0, 100).unwrap();
        let told: Vec<String> = told.envelopes.iter().map(|it| format!("{:?}", it.event)).collect();
        (copy.read_view(|view| view.runs[&RunId::new("r")].status), told.join("\n"))
    }
}

async fn tests_wait<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(20), future).await.expect("it ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_goes_on_in_another_epoch_after_the_event_that_it_has_last() {
    let turn = Turn::begin().await;
    turn.copies(3, &Epoch::new("the-one-before"), None);
    turn.say(event("r", "second"));
    let (status, told) = turn.ends().await;
    assert_eq!(status, RunStatus::Complete, "{told}");
    for word in ["first", "second", "last"] {
        assert_eq!(told.matches(word).count(), 1, "{word} in {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_does_not_go_on_where_the_same_number_is_another_event_in_another_epoch() {
    let turn = Turn::begin().await;
    turn.copies(3, &Epoch::new("the-one-before"), Some(event("r", "never stored")));
    let (status, told) = turn.ends().await;
    assert_eq!(status, RunStatus::Interrupted, "{told}");
    assert!(told.contains(BROKE_OFF) && told.contains("the hub has lost what came after this"), "{told}");
    assert!(!told.contains("last"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_in_the_same_epoch_goes_on_without_a_look_back() {
    let turn = Turn::begin().await;
    let epoch = turn.original.epoch().clone();
    turn.copies(3, &epoch, Some(event("r", "whatever it was")));
    let (status, told) = turn.ends().await;
    assert_eq!(status, RunStatus::Complete, "{told}");
    assert!(told.contains("last") && !told.contains("first"), "{told}");
}
