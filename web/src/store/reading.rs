//! The store of reading: the conversation or recording that is drawn, how it is read, and the signals that say when to look again.
//!
//! Written by `Store`, which routes frames and paints, and by components about choices and scrolling. It knows nothing of
//! the link, of panels and commands. A moment of the past is a view of its [`Model`]: [`super::replay::ReplayStore`] says only which one.
//!
//! Signals are set in one place, `Store::paint`, once for each frame of the screen. A component tracks the signal of
//! what it draws and then reads the model itself; nothing is copied into signals but a few words.

use leptos::prelude::*;
use model::fold::ViewChange;
use model::view::Item;
use model::{ConversationId, RunId, View};

use super::paint::Painter;
use super::recording::Opened;
use super::{AgentKey, card_id, seen};
use crate::browser;
use crate::find::Sought;
use crate::model::Model;
use crate::open::{Choices, Fold, Level, StepsChoice};
use crate::scroll::Scroller;

mod reads;

/// Reads the recording that is open again, in the dialect of this name.
type Reopen = Box<dyn Fn(&'static str)>;

/// A handle; copies are the same store, which lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct ReadingStore {
    /// What the frames were folded into. `Store` writes it; components read it through [`Self::model`] and [`Self::view`].
    pub(super) model: StoredValue<Model, LocalStorage>,
    /// What the reader opened and closed.
    choices: StoredValue<Choices, LocalStorage>,
    /// The signals of single things, which `Store::paint` sets.
    pub(super) painter: StoredValue<Painter, LocalStorage>,
    /// Where the conversation is scrolled to, and what keeps it there.
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
    /// The level of detail.
    pub(crate) level: RwSignal<Level>,
    /// The word that is looked for.
    pub(crate) query: RwSignal<String>,
    /// Whether [`Self::query`] is a pattern.
    pub(crate) is_pattern: RwSignal<bool>,
    /// Why patterns cannot be matched: the module that does it is not there yet, or cannot be had.
    pub(super) patterns: RwSignal<Result<(), String>>,
    /// The hit that is to be seen.
    pub(crate) sought: RwSignal<Option<Sought>>,
    /// Told when something is drawn that may hold hits.
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
    /// What the reader has seen of each conversation.
    pub(crate) seen: RwSignal<crate::seen::Seen>,
    /// Whether this is what stands beside: no more than a picture of a conversation.
    pub(crate) is_beside: bool,
    /// Whether the page shows the conversation alone, with everything open.
    pub(crate) is_bare: bool,
    /// Told when the reader opens, closes or chooses a level.
    choice: Trigger,
    /// Told when messages or runs come.
    pub(super) items: Trigger,
    /// Told when any call comes or changes its state.
    pub(super) tools: Trigger,
}

/// How much of the page is drawn around the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The whole page.
    Whole,
    /// The conversation alone, with everything open.
    Bare,
    /// A picture of a conversation, beside another one.
    Beside,
}

impl ReadingStore {
    /// A store that draws nothing yet, with the settings that the browser keeps for this reader.
    pub(super) fn new(shape: Shape) -> Self {
        let kept = browser::setting("level").and_then(|word| Level::parse(&word)).unwrap_or_default();
        let level = if shape == Shape::Bare { Level::All } else { kept };
        Self {
            model: StoredValue::new_local(Model::default()),
            choices: StoredValue::new_local(Choices::at(level)),
            painter: StoredValue::new_local(Painter::default()),
            scroller: StoredValue::new_local(Scroller::default()),
            conversation: RwSignal::new(None),
            seq: RwSignal::new(0),
            live: RwSignal::new(false),
            running: RwSignal::new(false),
            unseen: RwSignal::new(0),
            following: RwSignal::new(true),
            now: RwSignal::new(browser::now_ms()),
            present: RwSignal::new(browser::now_ms()),
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
            seen: RwSignal::new(seen::kept()),
            is_beside: shape == Shape::Beside,
            is_bare: shape == Shape::Bare,
            choice: Trigger::new(),
            items: Trigger::new(),
            tools: Trigger::new(),
        }
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

    /// Whether the content of `item` is on the page where its row is.
    pub(crate) fn has_body(self, run: &RunId, item: &Item) -> bool {
        match item {
            Item::Tool(id) => self.is_open(&card_id(run, id), Fold::Card { failed: false }),
            _ => false,
        }
    }

    /// Looks again when something that may hold hits is opened or drawn otherwise.
    pub(crate) fn track_drawn(self) {
        self.choice.track();
        self.drawn.track();
    }

    /// Says that something is drawn that may hold hits.
    pub(crate) fn tell_drawn(self) {
        self.drawn.notify();
    }
}
