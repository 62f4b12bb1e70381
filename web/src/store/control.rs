//! The store of control: commands without an answer, the agents that take commands, and drafts for them.
//!
//! It is written by components (drafts, forms, choices) and by [`super::Store`], which routes frames to it
//! (answers, agents). It does not know the connection, the content, panels and replays: it returns frames to
//! send, and gets views as arguments. The rules are in [`crate::control`] and [`crate::forms`], which do not
//! use the browser.

use leptos::prelude::*;
use model::command::CommandAction;
use model::frame::{ClientFrame, ServerFrame};
use model::view::Item;
use model::{ConversationId, MessageId, RunId, View};

use crate::control::{Agent, At, CommandOutcome, Control};
use crate::forms::{Form, Forms};
use crate::latency::CallKey;
use crate::search::help_of;

/// A handle; all copies refer to the same store, which lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct ControlStore {
    /// Commands without an answer, refusals and drafts.
    control: StoredValue<Control, LocalStorage>,
    /// Notified when `control` changes.
    changed: Trigger,
    /// The forms of calls that wait for consent.
    forms: RwSignal<Forms>,
    /// Notified when another agent is chosen.
    chosen: Trigger,
    /// The agents of the hub.
    pub(crate) agents: RwSignal<Vec<Agent>>,
    /// Whether the page shows a new conversation, which has no name yet.
    pub(crate) fresh: RwSignal<bool>,
    /// The message that the reader edits, to run it again in a fork.
    pub(crate) editing: RwSignal<Option<MessageId>>,
    /// Whether the reader renames the open conversation.
    pub(crate) renaming: RwSignal<bool>,
}

impl ControlStore {
    /// A store without commands and agents.
    pub(super) fn new() -> Self {
        Self {
            control: StoredValue::new_local(Control::default()),
            changed: Trigger::new(),
            forms: RwSignal::new(Forms::default()),
            chosen: Trigger::new(),
            agents: RwSignal::new(Vec::new()),
            fresh: RwSignal::new(false),
            editing: RwSignal::new(None),
            renaming: RwSignal::new(false),
        }
    }

    /// Reads the commands and drafts. Tracks them.
    pub(crate) fn read<T>(self, read: impl FnOnce(&Control) -> T) -> T {
        self.changed.track();
        self.control.with_value(read)
    }

    /// Stores a draft. Does not notify, since the form has the text already.
    pub(crate) fn keep_draft(self, conversation: Option<&ConversationId>, text: &str) {
        self.control.update_value(|control| control.keep_draft(conversation, text));
    }

    /// Records a command about `conversation`, whose state is `view`. Returns the frame to send.
    pub(super) fn give(
        self,
        at: At,
        conversation: ConversationId,
        id: &str,
        action: CommandAction,
        view: &View,
    ) -> Option<ClientFrame> {
        let frame = self.control.try_update_value(|control| control.give(at, conversation, id, action, view));
        self.changed.notify();
        frame
    }

    /// Takes the hub's answer to a command. Returns the result, and the refusal if there is one.
    pub(super) fn hear(self, frame: &ServerFrame) -> Option<(CommandOutcome, Option<String>)> {
        let came = self.control.try_update_value(|control| control.take(frame)).flatten()?;
        self.forms.update(|forms| forms.hear(&came));
        self.changed.notify();
        let trouble =
            self.control.with_value(|control| control.trouble(&came.at).map(|why| help_of(why).0.to_owned()));
        Some((came, trouble))
    }

    /// The frames of commands without an answer, for a new socket.
    pub(super) fn again(self) -> Vec<ClientFrame> {
        self.control.with_value(Control::again)
    }

    /// Replaces the agents of the hub.
    pub(super) fn set_agents(self, agents: Vec<Agent>) {
        if self.agents.with_untracked(|known| *known != agents) {
            self.agents.set(agents);
        }
    }

    /// Whether the hub has agents. Tracks them.
    pub(crate) fn has_agents(self) -> bool {
        self.agents.with(|agents| !agents.is_empty())
    }

    /// Notes that another agent was chosen.
    pub(super) fn choose(self) {
        self.chosen.notify();
    }

    /// Tracks the chosen agent.
    pub(super) fn track_choice(self) {
        self.chosen.track();
    }

    /// The form of a call in the conversation `here`. Tracks it.
    pub(super) fn form(self, here: Option<&ConversationId>, call: &CallKey) -> Form {
        self.forms.with(|forms| forms.get(here, call))
    }

    /// Replaces the form of a call.
    pub(super) fn write_form(self, here: Option<&ConversationId>, call: &CallKey, form: Form) {
        self.forms.update(|forms| forms.set(here, call, form));
    }

    /// Whether a call of a run has an open form. Tracks the forms.
    pub(super) fn is_written_in(self, here: Option<&ConversationId>, run: &RunId) -> bool {
        self.forms.with(|forms| forms.has(here, run))
    }

    /// The items of a run in `view` that stay on the page because of an open form. Tracks the forms.
    pub(super) fn kept(self, here: Option<&ConversationId>, run: &RunId, view: &View) -> Vec<Item> {
        let its = view.runs.get(run);
        its.map(|its| self.forms.with(|forms| forms.kept(here, run, its))).unwrap_or_default()
    }
}
