//! What the components read: eight stores, none of which refers to another.
//!
//! [`Store`] routes frames and actions to them, and holds what concerns several of them: taking a frame,
//! opening a conversation, painting, resetting the view, and whether commands can be given.
//!
//! Reading order: [`link`] → [`reading`] → `paint` (sets signals once per frame of the screen) → [`panel`] →
//! [`control`] → [`attach`] → [`rights`] → [`sharing`] → [`replay`].

use leptos::prelude::*;
use model::frame::{ClientFrame, ServerFrame};
use model::{AgentId, ConversationId, RunId};

use crate::browser;
use crate::model::Model;
use crate::page_modules::{FetchModule, Modules, PageModule};

mod attach;
mod commands;
mod compare;
mod control;
mod copy;
mod dialog;
mod find;
mod forms;
mod link;
mod paint;
mod panel;
mod reading;
mod recording;
mod replay;
mod reveal;
mod rights;
mod seen;
mod sharing;
mod timeline;
mod voice;
mod wall;
mod whole;

pub(crate) use crate::faces::{OpenDialog, Sheet, Tab};
use attach::AttachStore;
pub(crate) use compare::compare_link;
use control::ControlStore;
use link::LinkStore;
use panel::PanelStore;
use reading::{ReadingStore, Shape};
pub(crate) use recording::RecordingInfo;
pub(crate) use replay::ReplayStatus;
use replay::ReplayStore;
pub(crate) use reveal::{agent_key, card_id, message_id, part_id, run_id, steps_key, thinking_key};
use rights::RightsStore;
use sharing::SharingStore;
use voice::Voice;

/// The run and the id of a sub-agent.
pub(crate) type AgentKey = (RunId, AgentId);

/// A handle; all copies refer to the same store, which lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct Store(&'static Parts);

impl std::ops::Deref for Store {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        self.0
    }
}

/// The stores, and what belongs to none of them.
pub(crate) struct Parts {
    /// The connection: its status, and what the hub reported about itself.
    pub(crate) link: LinkStore,
    /// The content, and how it is read.
    pub(crate) reading: ReadingStore,
    /// Says which parts of the page are shown.
    pub(crate) panel: PanelStore,
    /// The commands that were given, and drafts for agents.
    pub(crate) control: ControlStore,
    /// The files that the reader asks with.
    pub(crate) attach: AttachStore,
    /// What the reader may do.
    pub(crate) rights: RightsStore,
    /// Links to the open conversation.
    pub(crate) sharing: SharingStore,
    /// The replay of the open conversation.
    pub(crate) replay: ReplayStore,
    /// Announcements to screen readers. All stores make some, so none owns them.
    pub(crate) spoken: Voice,
    /// Says which modules of the page are there. They draw what several stores hold.
    pub(crate) modules: Modules,
    /// Notified when the list of conversations changes; the list itself is in the model, in `reading`.
    fleet: Trigger,
}

/// The store of the surrounding component.
pub(crate) fn use_store() -> Store {
    expect_context::<Store>()
}

impl Store {
    /// An empty store with the reader's settings. `is_bare` is whether the page shows the conversation alone; `fetch` fetches modules of the page.
    pub(crate) fn new(is_bare: bool, fetch: FetchModule) -> Self {
        let shape = if is_bare { Shape::Bare } else { Shape::Whole };
        Self::shaped(shape, Modules::new(fetch))
    }

    /// The store of a conversation that is shown beside that of this one.
    pub(crate) fn beside(self) -> Self {
        Self::shaped(Shape::Beside, self.modules)
    }

    /// A store for a page of this shape. It is never freed.
    fn shaped(shape: Shape, modules: Modules) -> Self {
        Self(Box::leak(Box::new(Parts {
            link: LinkStore::new(),
            reading: ReadingStore::new(shape),
            panel: PanelStore::new(Self::first_drawer(shape == Shape::Bare)),
            control: ControlStore::new(),
            attach: AttachStore::new(),
            rights: RightsStore::new(),
            sharing: SharingStore::new(),
            replay: ReplayStore::new(),
            spoken: Voice::new(),
            modules,
            fleet: Trigger::new(),
        })))
    }

    // === What the session calls ===

    /// Takes a frame. Returns the answer to send, if there is one.
    pub(crate) fn take(self, frame: ServerFrame) -> Option<ClientFrame> {
        match &frame {
            ServerFrame::Welcome(_) => {
                self.link.hear(&frame);
                self.ask_agents();
                self.ask_rights();
            }
            ServerFrame::Health { .. } => self.link.hear(&frame),
            ServerFrame::Done(_) | ServerFrame::Refused { .. } => self.hear_answer(&frame),
            _ => {}
        }
        let answer = self.reading.model.try_update_value(|model| model.take(frame, browser::now_ms()))?;
        self.ask_painting();
        answer
    }

    /// The frames to send on a new socket.
    pub(crate) fn subscriptions(self, with_fleet: bool) -> Vec<ClientFrame> {
        let mut frames =
            self.reading.model.try_update_value(|model| model.subscriptions(with_fleet)).unwrap_or_default();
        frames.extend(self.control.again());
        frames
    }

    /// Subscribes to the open conversation as soon as the module is there that reads and draws it.
    pub(crate) fn subscribe_when_readable(self) {
        Effect::new(move |_| {
            if self.modules.has(PageModule::Conversation) {
                let frame = self.reading.model.try_update_value(Model::let_read).flatten();
                self.link.send(frame.into_iter().collect());
            }
        });
    }

    /// Notes that the socket was closed.
    pub(crate) fn disconnected(self) {
        self.reading.model.update_value(Model::disconnected);
    }

    // === What components call ===

    /// Opens a conversation; `None` opens none.
    pub(crate) fn open(self, conversation: Option<ConversationId>) {
        if self.reading.conversation.with_untracked(|shown| *shown != conversation) {
            self.forget_looks();
            self.forget_whole();
        }
        if conversation.is_some() {
            self.reading.recording.set(None);
            self.panel.first.set(None);
            self.modules.want(PageModule::Conversation);
        }
        let frames =
            self.reading.model.try_update_value(|model| model.open(conversation)).unwrap_or_default();
        self.link.send(frames);
        self.ask_rights_here();
        self.ask_painting();
    }

    /// Tracks the list of conversations.
    pub(crate) fn track_fleet(self) {
        self.fleet.track();
    }

    /// Whether the page is connected or replays, so that what it shows as running is known to run.
    pub(crate) fn is_current(self) -> bool {
        self.replay.is_on() || self.link.is_up()
    }
}
