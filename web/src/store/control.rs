//! The store of control: what was commanded and not answered yet, the agents that can be commanded, and what is being written for them.
//!
//! Written by components (drafts, forms, choices) and by whoever routes frames (answers, agents). It knows nothing of the link, of what
//! is read, of panels and replays: frames to send are given back, and views come in as arguments. What it decides is in
//! [`crate::control`] and [`crate::forms`], without a browser.

use leptos::prelude::*;
use model::command::CommandAction;
use model::frame::{ClientFrame, ServerFrame};
use model::view::Item;
use model::{ConversationId, MessageId, RunId, View};

use crate::control::{Agent, At, Came, Control};
use crate::forms::{Form, Forms};
use crate::latency::CallKey;

/// A handle; copies are the same store.
#[derive(Clone, Copy)]
pub(crate) struct ControlStore {
    control: StoredValue<Control, LocalStorage>,
    /// Told when `control` changes.
    changed: Trigger,
    /// What is written about calls that wait for consent.
    forms: RwSignal<Forms>,
    /// Told when another agent is chosen to answer.
    chosen: Trigger,
    /// The agents of the hub that can be asked.
    pub(crate) agents: RwSignal<Vec<Agent>>,
    /// Whether the page is where a conversation begins.
    pub(crate) fresh: RwSignal<bool>,
    /// The message that is asked otherwise.
    pub(crate) editing: RwSignal<Option<MessageId>>,
}

impl ControlStore {
    pub(super) fn new() -> Self {
        Self {
            control: StoredValue::new_local(Control::default()),
            changed: Trigger::new(),
            forms: RwSignal::new(Forms::default()),
            chosen: Trigger::new(),
            agents: RwSignal::new(Vec::new()),
            fresh: RwSignal::new(false),
            editing: RwSignal::new(None),
        }
    }

    /// Reads what was commanded. Tracks it.
    pub(crate) fn read<T>(self, read: impl FnOnce(&Control) -> T) -> T {
        self.changed.track();
        self.control.with_value(read)
    }

    /// Keeps what is written to the agents of a conversation, without a word to anybody.
    pub(crate) fn keep_draft(self, conversation: Option<&ConversationId>, text: &str) {
        self.control.update_value(|control| control.keep_draft(conversation, text));
    }

    /// Notes a command about `conversation`, of which `view` is the state. The frame to send.
    pub(super) fn give(
        self,
        at: At,
        conversation: ConversationId,
        id: &str,
        deed: CommandAction,
        view: &View,
    ) -> Option<ClientFrame> {
        let frame = self.control.try_update_value(|control| control.give(at, conversation, id, deed, view));
        self.changed.notify();
        frame
    }

    /// Takes the hub's answer to a command. What came of it, and what is wrong where something is.
    pub(super) fn hear(self, frame: &ServerFrame) -> Option<(Came, Option<String>)> {
        let came = self.control.try_update_value(|control| control.take(frame)).flatten()?;
        self.forms.update(|forms| forms.hear(&came));
        self.changed.notify();
        let trouble = self.control.with_value(|control| control.trouble(&came.at).map(str::to_owned));
        Some((came, trouble))
    }

    /// Commands that were not answered, to be sent on a new socket.
    pub(super) fn again(self) -> Vec<ClientFrame> {
        self.control.with_value(Control::again)
    }

    /// These are the agents of the hub.
    pub(super) fn set_agents(self, agents: Vec<Agent>) {
        if self.agents.with_untracked(|known| *known != agents) {
            self.agents.set(agents);
        }
    }

    /// Whether the hub has agents. Tracks them.
    pub(crate) fn has_agents(self) -> bool {
        self.agents.with(|agents| !agents.is_empty())
    }

    /// Another agent was chosen.
    pub(super) fn choose(self) {
        self.chosen.notify();
    }

    /// Tracks which agent is chosen.
    pub(super) fn track_choice(self) {
        self.chosen.track();
    }

    /// What is written about a call in the conversation `here`. Tracks it.
    pub(super) fn form(self, here: Option<&ConversationId>, call: &CallKey) -> Form {
        self.forms.with(|forms| forms.get(here, call))
    }

    /// Writes something about a call.
    pub(super) fn write_form(self, here: Option<&ConversationId>, call: &CallKey, form: Form) {
        self.forms.update(|forms| forms.set(here, call, form));
    }

    /// Whether something is written in a run. Tracks it.
    pub(super) fn is_written_in(self, here: Option<&ConversationId>, run: &RunId) -> bool {
        self.forms.with(|forms| forms.has(here, run))
    }

    /// What of a run in `view` stays on the page because something is written in it. Tracks it.
    pub(super) fn kept(self, here: Option<&ConversationId>, run: &RunId, view: &View) -> Vec<Item> {
        let its = view.runs.get(run);
        its.map(|its| self.forms.with(|forms| forms.kept(here, run, its))).unwrap_or_default()
    }
}
