//! Commands of the reader to agents of the hub and about conversations.
//!
//! ```text
//! button or key ─▶ command ─▶ control.give (kept until answered) ─▶ frame ─▶ hub
//!                                                                             │ Done or Refused
//!        the place that gave it shows the refusal ◀─ control.hear ◀─ hear_answer ◀┘
//! ```
//!
//! A command without an answer is sent again on a new socket; its id keeps the hub from carrying it out
//! twice.

use leptos::prelude::*;
use model::command::CommandAction;
use model::event::LabelChange;
use model::frame::ServerFrame;
use model::view::RunView;
use model::{ConversationId, MessageId, RunId};

use super::Store;
use crate::attaching;
use crate::browser;
use crate::control::{self, At, CommandOutcome, Rated};
use crate::link::Status;
use crate::rights::ReaderAction;
use crate::route;

impl Store {
    /// Asks the hub for its agents: `GET /v1/agents`, after each welcome. The bare page takes no commands and
    /// does not ask.
    pub(super) fn ask_agents(self) {
        if self.reading.is_bare {
            return;
        }
        leptos::task::spawn_local(async move {
            // If the hub cannot be reached for a moment, the known agents stay.
            let Ok(answer) = browser::fetch_text("/v1/agents").await else { return };
            self.control.set_agents(control::agents(&answer));
        });
    }

    /// Whether commands can be given: the page shows the present of a conversation of the hub. Tracks that.
    pub(crate) fn is_present(self) -> bool {
        !self.reading.is_bare
            && !self.reading.is_beside
            && !self.replay.is_on()
            && self.reading.recording.with(Option::is_none)
    }

    /// Whether agents of the hub can be commanded. Tracks that.
    pub(crate) fn has_agents(self) -> bool {
        self.is_present() && self.control.has_agents()
    }

    /// Gives a command about the open conversation; nothing if none is open. `at` is where its result is
    /// shown.
    pub(crate) fn command(self, at: At, action: CommandAction) {
        if let Some(conversation) = self.reading.conversation.get_untracked() {
            self.command_in(conversation, at, action);
        }
    }

    /// Gives a command about `conversation`, under a new id that no other page has.
    fn command_in(self, conversation: ConversationId, at: At, action: CommandAction) {
        let id = fresh_id();
        let frame = self.reading.view(|view| self.control.give(at, conversation, &id, action, view));
        self.link.send(frame.into_iter().collect());
    }

    /// Whether the reader can change the label of the open conversation here. Tracks that.
    pub(crate) fn can_label(self) -> bool {
        self.is_present() && self.reading.conversation.with(Option::is_some) && self.may(ReaderAction::Label)
    }

    /// Whether the reader can fork the open conversation here. Tracks that.
    pub(crate) fn can_fork(self) -> bool {
        self.is_present() && self.may(ReaderAction::Fork)
    }

    /// Whether the reader can edit a message here, to run it again in a fork. Tracks that.
    pub(crate) fn can_ask_again(self) -> bool {
        self.has_agents() && self.may(ReaderAction::Fork)
    }

    /// Changes the label of the open conversation.
    pub(crate) fn label(self, change: LabelChange) {
        let LabelChange { title, pinned, archived, tags, note, .. } = change;
        if let Some(conversation) = self.reading.conversation.get_untracked() {
            let action = CommandAction::Label { title, pinned, archived, tags, note };
            self.command_in(conversation.clone(), At::Label(conversation), action);
        }
    }

    /// Says that a run or a message of the open conversation is good or bad, and why; without `good` takes that back.
    pub(crate) fn rate(self, rated: &Rated, good: Option<bool>, why: Option<String>) {
        if let Some(conversation) = self.reading.conversation.get_untracked() {
            let (run, message) = match rated.clone() {
                Rated::Run(run) => (Some(run), None),
                Rated::Message(message) => (None, Some(message)),
            };
            let action = CommandAction::Rate { run, message, good, why };
            self.command_in(conversation, At::Rating(rated.clone()), action);
        }
    }

    /// Begins to rename the open conversation, if it can be renamed here.
    pub(crate) fn rename(self) {
        self.control.renaming.set(untrack(|| self.can_label()));
    }

    /// A name for a new conversation that begins with `text`; one that the reader may begin, as far as that is known.
    fn new_name(self, text: &str) -> Option<ConversationId> {
        let beginning = untrack(|| self.beginning()).unwrap_or_default();
        control::name_for(&beginning, text, browser::random())
    }

    /// Sends a message, with the files that are attached here, to an agent, in a new conversation if none is open. The name of a new conversation is
    /// made of the text and a random number. The agent is remembered for the conversation and for the next
    /// new one.
    pub(crate) fn say(self, agent: &str, text: &str) {
        let open = self.reading.conversation.get_untracked();
        let files = self.take_attached();
        let named = attaching::said(text, &files);
        let Some(conversation) = open.clone().or_else(|| self.new_name(&named)) else {
            return;
        };
        browser::keep_setting(&format!("agent.{conversation}"), agent);
        browser::keep_setting("agent", agent);
        if open.is_none() {
            browser::follow_link(&route::path_of(&conversation));
        }
        let is_plain = files.is_empty();
        let action = CommandAction::Say { agent: agent.into(), text: text.to_owned(), files };
        if is_plain {
            self.command_in(conversation.clone(), At::Composer(conversation), action);
        } else {
            self.say_over_http(conversation, &fresh_id(), action);
        }
        self.reading.follow();
    }

    /// The agent that is to answer in the open conversation: the one that the reader chose here, else the one
    /// that [`control::answers`] names. Tracks that.
    pub(crate) fn answers(self) -> Option<String> {
        self.control.track_choice();
        self.reading.track_items();
        let here = self.reading.conversation.get().map(|conversation| format!("agent.{conversation}"));
        let chosen = here.and_then(|key| browser::setting(&key));
        self.control.agents.with(|agents| {
            let last = chosen.or_else(|| {
                self.reading.view(|view| view.runs.is_empty()).then(|| browser::setting("agent")).flatten()
            });
            self.reading.view(|view| control::answers(agents, last.as_deref(), view).map(str::to_owned))
        })
    }

    /// Chooses the agent that is to answer in the open conversation; without one, in new conversations.
    pub(crate) fn choose_agent(self, agent: &str) {
        match self.reading.conversation.get_untracked() {
            Some(conversation) => browser::keep_setting(&format!("agent.{conversation}"), agent),
            None => browser::keep_setting("agent", agent),
        }
        self.control.choose();
    }

    /// The active run of an agent of this hub in the open conversation, if the reader may stop it. Tracks that.
    pub(crate) fn going(self) -> Option<RunId> {
        self.reading.running.track();
        self.reading.track_items();
        let is_here = self.has_agents() && self.may(ReaderAction::Stop);
        let going = self
            .control
            .agents
            .with(|agents| self.reading.view(|view| control::going(view, agents).cloned()));
        going.filter(|_| is_here)
    }

    /// Stops the active run. Screen readers hear it if there is none.
    pub(crate) fn stop(self) {
        match untrack(|| self.going()) {
            Some(run) => self.stop_run(&run),
            None => self.spoken.set("No agent of this hub is at work here".to_owned()),
        }
    }

    /// Asks the hub to stop a run.
    pub(crate) fn stop_run(self, run: &RunId) {
        self.command(At::Run(run.clone()), CommandAction::Stop { run: Some(run.clone()) });
    }

    /// Whether a run is that of an agent of this hub, so that it takes commands. Tracks the agents.
    pub(crate) fn is_ours(self, run: &RunId) -> bool {
        self.control.agents.with(|agents| {
            self.reading.view(|view| view.runs.get(run).is_some_and(|run| control::is_ours(run, agents)))
        })
    }

    /// Whether a run broke off and can be resumed: it must be the newest, of an agent of this hub, and its
    /// failure not permanent.
    pub(crate) fn can_go_on(self, id: &RunId) -> bool {
        use model::event::ErrorFact;
        use model::event::RunStatus::{Cancelled, Error, Interrupted};
        self.reading.track_items();
        let is_permanent = |run: &RunView| run.error.as_ref().is_some_and(ErrorFact::is_permanent);
        let stopped = |run: &RunView| match run.status {
            Error => !is_permanent(run),
            status => matches!(status, Cancelled | Interrupted),
        };
        let can = self.reading.run(id, stopped).unwrap_or(false) && self.is_ours(id);
        can && self.has_agents()
            && self.may(ReaderAction::Retry)
            && self.reading.view(|view| view.runs.keys().next_back() == Some(id))
    }

    /// Resumes a run that broke off.
    pub(crate) fn go_on(self, run: &RunId) {
        self.command(At::Run(run.clone()), CommandAction::Retry { run: Some(run.clone()) });
    }

    /// Shows nothing until [`show_picture`](Self::show_picture).
    pub(crate) fn show_nothing(self) {
        self.reading.model.update_value(|model| drop(model.open(None)));
        self.reading.seq.set(0);
        self.ask_painting();
    }

    /// Shows a snapshot of a conversation, which does not change. For a store without a session: it counts as
    /// connected.
    pub(crate) fn show_picture(self, conversation: ConversationId, view: model::View) {
        self.reading.model.update_value(|model| model.picture(conversation, view));
        self.link.status.set(Status::Up);
        self.ask_painting();
    }

    /// Forks the conversation after the turn that begins with `message`.
    pub(crate) fn fork_after(self, message: &MessageId) {
        let before = self.reading.view(|view| control::turn_after(view, message));
        let action = CommandAction::Fork { at: None, before, into: None, agent: None, text: None };
        self.command(At::Message(message.clone()), action);
    }

    /// Forks the conversation before `message`, and sends `text` in its place.
    pub(crate) fn say_instead(self, message: &MessageId, agent: &str, text: &str) {
        let action = CommandAction::Fork {
            at: None,
            before: Some(message.clone()),
            into: None,
            agent: Some(agent.into()),
            text: Some(text.to_owned()),
        };
        self.command(At::Message(message.clone()), action);
    }

    /// Takes the hub's answer to a command. The page navigates to a new fork; a refusal is announced, and
    /// shown where the command was given.
    pub(super) fn hear_answer(self, frame: &ServerFrame) {
        let Some((came, trouble)) = self.control.hear(frame) else { return };
        match came {
            CommandOutcome { at: At::Message(_), done: Some(done) } => {
                self.spoken.set("Forked".to_owned());
                browser::follow_link(&route::path_of(&done.conversation));
            }
            CommandOutcome { at: At::Label(_), done: Some(_) } => self.spoken.set("Saved".to_owned()),
            CommandOutcome { done: None, .. } => self.spoken.set(trouble.unwrap_or_default()),
            CommandOutcome { .. } => {}
        }
    }
}

/// An id for a command that no other page has.
fn fresh_id() -> String {
    format!("{:x}-{:x}", browser::now_ms(), browser::random())
}
