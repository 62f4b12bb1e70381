//! The store of reading: the conversation or recording that is drawn, how it is read, and the signals of its
//! items.
//!
//! It is written by `Store`, which routes frames and paints, and by components (choices and scrolling). It
//! does not know the connection, panels and commands. A moment of a replay is a view of its [`Model`];
//! [`super::replay::ReplayStore`] says only which.
//!
//! Signals are set in one place, `Store::paint`, once per frame of the screen. A component tracks the signal
//! of what it draws and reads the model itself; only a few values are copied into signals. `reads` has the
//! functions that track and read an item.

use leptos::prelude::*;
use model::fold::ViewChange;
use model::view::Item;
use model::{ConversationId, RunId, View};

use super::paint::Painter;
use super::recording::RecordingInfo;
use super::whole::WhenWhole;
use super::{AgentKey, card_id, seen};
use crate::browser;
use crate::find::Sought;
use crate::model::Model;
use crate::open::{Choices, Fold, Level, StepsChoice};
use crate::scroll::Scroller;
use crate::since::SinceLooked;

mod reads;

/// Reads the open recording again in the dialect of this name.
type Reopen = Box<dyn Fn(&'static str)>;

/// A handle; all copies refer to the same store, which lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct ReadingStore {
    /// The state into which frames are folded. `Store` writes it; components read it through [`Self::model`]
    /// and [`Self::view`].
    pub(super) model: StoredValue<Model, LocalStorage>,
    /// What the reader folded and unfolded.
    choices: StoredValue<Choices, LocalStorage>,
    /// The signals of single items, which `Store::paint` notifies.
    pub(super) painter: StoredValue<Painter, LocalStorage>,
    /// What is done once all of the conversation is here.
    pub(super) when_whole: StoredValue<Vec<WhenWhole>, LocalStorage>,
    /// The scrolling of the conversation.
    pub(crate) scroller: StoredValue<Scroller, LocalStorage>,
    /// The conversation that is drawn. Components below it are rebuilt when it changes.
    pub(crate) conversation: RwSignal<Option<ConversationId>>,
    /// The seq that was painted last.
    pub(crate) seq: RwSignal<u64>,
    /// Whether everything that the hub has is here.
    pub(crate) live: RwSignal<bool>,
    /// The name of the part of the conversation that is here; `None` if all of it is. Notes are numbered within the part.
    pub(crate) part: RwSignal<Option<String>>,
    /// Whether a run is active.
    pub(crate) running: RwSignal<bool>,
    /// How many rows were added while the view did not follow the end.
    pub(crate) unseen: RwSignal<usize>,
    /// Whether the view follows the end.
    pub(crate) following: RwSignal<bool>,
    /// The hub's time in milliseconds since 1970, updated once a second. It stands still while the page is
    /// disconnected, and is that of the replay during one.
    pub(crate) now: RwSignal<u64>,
    /// The hub's time of the present, also during a replay: the list shows the present.
    pub(crate) present: RwSignal<u64>,
    /// The level of detail.
    pub(crate) level: RwSignal<Level>,
    /// The query of Find.
    pub(crate) query: RwSignal<String>,
    /// Whether [`Self::query`] is a pattern.
    pub(crate) is_pattern: RwSignal<bool>,
    /// Whether patterns can be matched. The error says why the decoder module is missing; it is empty until
    /// the module was requested.
    pub(super) patterns: RwSignal<Result<(), String>>,
    /// The hit that is to be shown.
    pub(crate) sought: RwSignal<Option<Sought>>,
    /// Notified when something is drawn that may contain hits.
    drawn: Trigger,
    /// Whether thinking stays folded while it streams.
    pub(crate) thinking_closed: RwSignal<bool>,
    /// When the steps of a run fold by themselves.
    pub(crate) steps_choice: RwSignal<StepsChoice>,
    /// The recording that is shown in place of a conversation.
    pub(crate) recording: RwSignal<Option<RecordingInfo>>,
    /// How many recordings were opened or closed. It is tracked because items of two recordings may have the
    /// same ids.
    pub(crate) recordings: RwSignal<u32>,
    /// Reads the open recording again in another dialect.
    pub(crate) reopen: StoredValue<Option<Reopen>, LocalStorage>,
    /// The sub-agent to which the view is reduced.
    pub(crate) only: RwSignal<Option<AgentKey>>,
    /// The item that was last to be scrolled into view, and the sub-agents that contain it.
    pub(crate) wanted: RwSignal<Option<(RunId, Vec<Item>)>>,
    /// What the reader has seen of each conversation.
    pub(crate) seen: RwSignal<crate::seen::Seen>,
    /// What happened in the open conversation since the reader looked, until it is closed.
    pub(crate) since: RwSignal<Option<SinceLooked>>,
    /// Whether this is the store of a conversation beside another: a snapshot.
    pub(crate) is_beside: bool,
    /// Whether the page is the bare one, with everything unfolded.
    pub(crate) is_bare: bool,
    /// Notified when the reader folds or unfolds something or chooses a level.
    choice: Trigger,
    /// Notified when messages or runs are added.
    pub(super) items: Trigger,
    /// Notified when a call is added or changes its state.
    pub(super) tools: Trigger,
}

/// How much of the page is drawn around the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The full page, with all its parts.
    Whole,
    /// The bare page: the conversation alone.
    Bare,
    /// A snapshot of a conversation, beside another.
    Beside,
}

impl ReadingStore {
    /// A store without content, with the reader's settings.
    pub(super) fn new(shape: Shape) -> Self {
        let kept = browser::setting("level").and_then(|word| Level::parse(&word)).unwrap_or_default();
        let level = if shape == Shape::Bare { Level::All } else { kept };
        Self {
            model: StoredValue::new_local(Model::awaiting_reader()),
            choices: StoredValue::new_local(Choices::at(level)),
            painter: StoredValue::new_local(Painter::default()),
            when_whole: StoredValue::new_local(Vec::new()),
            scroller: StoredValue::new_local(Scroller::default()),
            conversation: RwSignal::new(None),
            seq: RwSignal::new(0),
            live: RwSignal::new(false),
            part: RwSignal::new(None),
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
            since: RwSignal::new(None),
            is_beside: shape == Shape::Beside,
            is_bare: shape == Shape::Bare,
            choice: Trigger::new(),
            items: Trigger::new(),
            tools: Trigger::new(),
        }
    }

    /// Reads the model without tracking anything.
    pub(crate) fn model<T>(self, read: impl FnOnce(&Model) -> T) -> T {
        self.model.with_value(read)
    }

    /// Reads the view without tracking anything.
    pub(crate) fn view<T>(self, read: impl FnOnce(&View) -> T) -> T {
        self.model(|model| read(model.view()))
    }

    /// Tracks the item, run or message that `change` names.
    pub(crate) fn track(self, change: &ViewChange) {
        if let Some(signal) = self.painter.try_update_value(|painter| painter.signal(change)) {
            signal.track();
        }
    }

    /// Tracks the rows of a run: new ones, and calls that change their state.
    pub(crate) fn track_rows(self, run: &RunId) {
        if let Some(signal) = self.painter.try_update_value(|painter| painter.rows(run)) {
            signal.track();
        }
    }

    /// Tracks new messages and runs.
    pub(crate) fn track_items(self) {
        self.items.track();
    }

    /// Tracks new calls and changes of their states.
    pub(crate) fn track_tools(self) {
        self.tools.track();
    }

    /// Whether the thing `key` is unfolded. Tracks the reader's choices.
    pub(crate) fn is_open(self, key: &str, fold: Fold) -> bool {
        self.choice.track();
        self.is_bare || self.choices.with_value(|choices| choices.is_open(key, fold))
    }

    /// Folds or unfolds the thing `key` for the reader.
    pub(crate) fn choose(self, key: &str, open: bool) {
        self.choices.update_value(|choices| choices.set(key, open));
        self.choice.notify();
    }

    /// Whether the reader has made a choice for `key`.
    pub(crate) fn has_choice(self, key: &str) -> bool {
        self.choices.with_value(|choices| choices.has(key))
    }

    /// Changes the level of detail without storing it.
    pub(crate) fn show_level(self, level: Level) {
        self.choices.update_value(|choices| choices.choose_level(level));
        self.level.set(level);
        self.choice.notify();
    }

    /// Changes the level of detail, and stores it as the reader's setting.
    pub(crate) fn choose_level(self, level: Level) {
        self.choices.update_value(|choices| choices.choose_level(level));
        self.after_level(level);
    }

    /// Changes between the answers alone and the previous level.
    pub(crate) fn toggle_level(self) {
        if let Some(level) = self.choices.try_update_value(Choices::toggle_level) {
            self.after_level(level);
        }
    }

    /// Shows and stores the chosen level.
    fn after_level(self, level: Level) {
        self.scroller.with_value(Scroller::hold_first);
        browser::keep_setting("level", level.word());
        self.level.set(level);
        self.choice.notify();
    }

    /// Scrolls to the end and follows it.
    pub(crate) fn follow(self) {
        self.scroller.with_value(Scroller::to_end);
        self.set_following(true);
    }

    /// Stops following the end.
    pub(crate) fn release(self) {
        self.scroller.with_value(Scroller::release);
        self.set_following(false);
    }

    /// Sets whether the view follows the end.
    pub(crate) fn set_following(self, is_on: bool) {
        if self.following.get_untracked() != is_on {
            self.following.set(is_on);
            if is_on {
                self.unseen.set(0);
            }
        }
    }

    /// Whether the content of `item` is unfolded at its row.
    pub(crate) fn has_body(self, run: &RunId, item: &Item) -> bool {
        match item {
            Item::Tool(id) => self.is_open(&card_id(run, id), Fold::Card { failed: false }),
            _ => false,
        }
    }

    /// Tracks what may contain hits.
    pub(crate) fn track_drawn(self) {
        self.choice.track();
        self.drawn.track();
    }

    /// Notifies that something was drawn that may contain hits.
    pub(crate) fn tell_drawn(self) {
        self.drawn.notify();
    }
}
