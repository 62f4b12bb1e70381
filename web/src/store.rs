//! What the components read: the model, the reader's choices, and the signals that say when to look again.
//!
//! Signals are set in one place, [`Store::paint`], once for each frame of the screen. A component tracks the signal of
//! what it draws and then reads the model itself; nothing is copied into signals but a few words.

use leptos::prelude::*;
use model::fold::ViewChange;
use model::frame::{ClientFrame, ServerFrame};
use model::view::Item;
use model::{AgentId, ConversationId, RunId, View};

use crate::browser;
use crate::find::Sought;
use crate::model::Model;
use crate::open::{Choices, Fold, Level, StepsChoice};
use crate::scroll::Scroller;

mod commands;
mod control;
mod copy;
mod find;
mod forms;
mod link;
mod over;
mod paint;
mod panel;
mod reads;
mod recording;
mod replay;
mod reveal;
mod seen;
mod timeline;
mod voice;
mod wall;

pub(crate) use crate::faces::{Over, Sheet, Tab};
use control::ControlStore;
use link::LinkStore;
use paint::Painter;
use panel::PanelStore;
pub(crate) use recording::Opened;
pub(crate) use replay::Replaying;
pub(crate) use reveal::{agent_key, card_id, message_id, part_id, run_id, steps_key, thinking_key};
use voice::Voice;

/// A sub-agent: its run and its id.
pub(crate) type AgentKey = (RunId, AgentId);

/// A handle; copies are the same store, which lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct Store(&'static Parts);

impl std::ops::Deref for Store {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        self.0
    }
}

/// What a store is made of.
pub(crate) struct Parts {
    model: StoredValue<Model, LocalStorage>,
    choices: StoredValue<Choices, LocalStorage>,
    painter: StoredValue<Painter, LocalStorage>,
    /// The link.
    pub(crate) link: LinkStore,
    /// Everything about scrolling.
    pub(crate) scroller: StoredValue<Scroller, LocalStorage>,
    /// The conversation that is drawn; components below it are made anew when it changes.
    pub(crate) conversation: RwSignal<Option<ConversationId>>,
    /// The last seq that is painted.
    pub(crate) seq: RwSignal<u64>,
    /// Whether everything that the hub has is there.
    pub(crate) live: RwSignal<bool>,
    /// Whether a run goes on.
    pub(crate) running: RwSignal<bool>,
    /// Rows that came while the view did not follow.
    pub(crate) unseen: RwSignal<usize>,
    /// Whether the view follows the end.
    pub(crate) following: RwSignal<bool>,
    /// The hub's time, once a second, standing still while the link is away.
    pub(crate) now: RwSignal<u64>,
    /// The same while the past of one conversation is looked at: the list tells of the present.
    pub(crate) present: RwSignal<u64>,
    /// Which parts of the page are shown.
    pub(crate) panel: PanelStore,
    /// The level of detail.
    pub(crate) level: RwSignal<Level>,
    /// The word that is looked for.
    pub(crate) query: RwSignal<String>,
    /// Whether that is a pattern.
    pub(crate) is_pattern: RwSignal<bool>,
    /// Why patterns cannot be matched: the module that does it is not there yet, or cannot be had.
    patterns: RwSignal<Result<(), String>>,
    /// The hit that is to be seen.
    pub(crate) sought: RwSignal<Option<Sought>>,
    drawn: Trigger,
    /// Whether thinking stays closed while it streams.
    pub(crate) thinking_closed: RwSignal<bool>,
    /// When the steps of a run fold away by themselves.
    pub(crate) steps_choice: RwSignal<StepsChoice>,
    /// The recording that is looked at instead of a conversation.
    pub(crate) recording: RwSignal<Option<Opened>>,
    /// How many recordings were opened or closed: their items may have the same names.
    pub(crate) recordings: RwSignal<u32>,
    /// Reads the recording again in another dialect.
    pub(crate) reopen: StoredValue<Option<Reopen>, LocalStorage>,
    /// The sub-agent that everything is reduced to.
    pub(crate) only: RwSignal<Option<AgentKey>>,
    /// What was to be brought into view last, and the sub-agents that it stands in.
    pub(crate) wanted: RwSignal<Option<(RunId, Vec<Item>)>>,
    runner: StoredValue<replay::Running, LocalStorage>,
    /// What the page tells of the replay, while the past is looked at.
    pub(crate) replay: RwSignal<Option<Replaying>>,
    /// What the reader has seen of each conversation.
    pub(crate) seen: RwSignal<crate::seen::Seen>,
    /// What is said to readers who listen.
    pub(crate) spoken: Voice,
    /// What was commanded, and what is being written for agents.
    pub(crate) control: ControlStore,
    /// Whether this is what stands beside: no more than a picture of a conversation.
    pub(crate) is_beside: bool,
    /// Whether the page shows the conversation alone, with everything open.
    pub(crate) is_bare: bool,
    choice: Trigger,
    items: Trigger,
    fleet: Trigger,
    tools: Trigger,
}

/// See [`Parts::reopen`].
type Reopen = Box<dyn Fn(&'static str)>;

/// The store of this page.
pub(crate) fn use_store() -> Store {
    expect_context::<Store>()
}

impl Store {
    /// An empty store with the reader's settings.
    pub(crate) fn new(is_bare: bool) -> Self {
        Self::made(is_bare, false)
    }

    /// The store of a conversation that stands beside another one.
    pub(crate) fn beside() -> Self {
        Self::made(false, true)
    }

    fn made(is_bare: bool, is_beside: bool) -> Self {
        let kept = browser::setting("level").and_then(|word| Level::parse(&word)).unwrap_or_default();
        let level = if is_bare { Level::All } else { kept };
        Self(Box::leak(Box::new(Parts {
            model: StoredValue::new_local(Model::default()),
            choices: StoredValue::new_local(Choices::at(level)),
            painter: StoredValue::new_local(Painter::default()),
            link: LinkStore::new(),
            scroller: StoredValue::new_local(Scroller::default()),
            conversation: RwSignal::new(None),
            seq: RwSignal::new(0),
            live: RwSignal::new(false),
            running: RwSignal::new(false),
            unseen: RwSignal::new(0),
            following: RwSignal::new(true),
            now: RwSignal::new(browser::now_ms()),
            present: RwSignal::new(browser::now_ms()),
            panel: PanelStore::new(Self::first_drawer(is_bare)),
            level: RwSignal::new(level),
            query: RwSignal::new(String::new()),
            is_pattern: RwSignal::new(false),
            patterns: RwSignal::new(Err(String::new())),
            sought: RwSignal::new(None),
            drawn: Trigger::new(),
            thinking_closed: RwSignal::new(browser::setting("thinking").is_some_and(|word| word == "closed")),
            steps_choice: RwSignal::new(
                browser::setting("steps").and_then(|value| StepsChoice::parse(&value)).unwrap_or_default(),
            ),
            recording: RwSignal::new(None),
            recordings: RwSignal::new(0),
            reopen: StoredValue::new_local(None),
            only: RwSignal::new(None),
            wanted: RwSignal::new(None),
            replay: RwSignal::new(None),
            runner: StoredValue::new_local(replay::Running::default()),
            seen: RwSignal::new(seen::kept()),
            spoken: Voice::new(),
            control: ControlStore::new(),
            is_beside,
            is_bare,
            choice: Trigger::new(),
            items: Trigger::new(),
            fleet: Trigger::new(),
            tools: Trigger::new(),
        })))
    }

    // === What the session calls ===

    /// Takes a frame; the answer to send.
    pub(crate) fn take(self, frame: ServerFrame) -> Option<ClientFrame> {
        match &frame {
            ServerFrame::Welcome(_) => {
                self.link.hear(&frame);
                self.ask_agents();
            }
            ServerFrame::Health { .. } => self.link.hear(&frame),
            ServerFrame::Done(_) | ServerFrame::Refused { .. } => self.hear_answer(&frame),
            _ => {}
        }
        let answer = self.model.try_update_value(|model| model.take(frame, browser::now_ms()))?;
        self.ask_painting();
        answer
    }

    /// What to ask for on a new socket.
    pub(crate) fn subscriptions(self, with_fleet: bool) -> Vec<ClientFrame> {
        let mut frames =
            self.model.try_update_value(|model| model.subscriptions(with_fleet)).unwrap_or_default();
        frames.extend(self.control.again());
        frames
    }

    /// The socket is gone.
    pub(crate) fn disconnected(self) {
        self.model.update_value(Model::disconnected);
    }

    // === What components call ===

    /// Looks at a conversation.
    pub(crate) fn open(self, conversation: Option<ConversationId>) {
        if self.conversation.with_untracked(|shown| *shown != conversation) {
            self.forget_looks();
        }
        if conversation.is_some() {
            self.recording.set(None);
            self.panel.first.set(None);
        }
        let frames = self.model.try_update_value(|model| model.open(conversation)).unwrap_or_default();
        self.link.send(frames);
        self.ask_painting();
    }

    /// Reads the model, without tracking anything.
    pub(crate) fn model<T>(self, read: impl FnOnce(&Model) -> T) -> T {
        self.model.with_value(read)
    }

    /// Reads the view.
    pub(crate) fn view<T>(self, read: impl FnOnce(&View) -> T) -> T {
        self.model(|model| read(model.view()))
    }

    /// Looks again when what `change` names changes.
    pub(crate) fn track(self, change: &ViewChange) {
        if let Some(signal) = self.painter.try_update_value(|painter| painter.signal(change)) {
            signal.track();
        }
    }

    /// Looks again when rows of a run come or calls of it change their state.
    pub(crate) fn track_rows(self, run: &RunId) {
        if let Some(signal) = self.painter.try_update_value(|painter| painter.rows(run)) {
            signal.track();
        }
    }

    /// Looks again when messages or runs come.
    pub(crate) fn track_items(self) {
        self.items.track();
    }

    /// Looks again when the list of conversations changes.
    pub(crate) fn track_fleet(self) {
        self.fleet.track();
    }

    /// Looks again when any call comes or changes its state.
    pub(crate) fn track_tools(self) {
        self.tools.track();
    }

    /// Whether `key` is open.
    pub(crate) fn is_open(self, key: &str, fold: Fold) -> bool {
        self.choice.track();
        self.is_bare || self.choices.with_value(|choices| choices.is_open(key, fold))
    }

    /// Opens or closes `key` for the reader.
    pub(crate) fn choose(self, key: &str, open: bool) {
        self.choices.update_value(|choices| choices.set(key, open));
        self.choice.notify();
    }

    /// Whether the reader said something about `key`.
    pub(crate) fn has_choice(self, key: &str) -> bool {
        self.choices.with_value(|choices| choices.has(key))
    }

    /// Goes to a level of detail, for as long as the page lives.
    pub(crate) fn show_level(self, level: Level) {
        self.choices.update_value(|choices| choices.choose_level(level));
        self.level.set(level);
        self.choice.notify();
    }

    /// Goes to a level of detail.
    pub(crate) fn choose_level(self, level: Level) {
        self.choices.update_value(|choices| choices.choose_level(level));
        self.after_level(level);
    }

    /// Between the answer alone and the level before.
    pub(crate) fn toggle_level(self) {
        if let Some(level) = self.choices.try_update_value(Choices::toggle_level) {
            self.after_level(level);
        }
    }

    fn after_level(self, level: Level) {
        self.scroller.with_value(Scroller::hold_first);
        browser::keep_setting("level", level.word());
        self.level.set(level);
        self.choice.notify();
    }

    /// Goes to the end and stays there.
    pub(crate) fn follow(self) {
        self.scroller.with_value(Scroller::to_end);
        self.set_following(true);
    }

    /// Stays where it is.
    pub(crate) fn release(self) {
        self.scroller.with_value(Scroller::release);
        self.set_following(false);
    }

    /// Tells components whether the view follows.
    pub(crate) fn set_following(self, is_on: bool) {
        if self.following.get_untracked() != is_on {
            self.following.set(is_on);
            if is_on {
                self.unseen.set(0);
            }
        }
    }

    /// Whether a link is there, so that what runs is known to run.
    pub(crate) fn is_current(self) -> bool {
        self.replay.with(Option::is_some) || self.link.is_up()
    }
}
