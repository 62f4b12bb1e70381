//! The part of the conversation that is here, and when the page asks the hub for more of it.
//!
//! ```text
//! the reader reaches the beginning of the part       ─▶ ask_more
//! the panel, a query, timeline, replay, comparison,  ─▶ ask_all
//! one sub-agent, the bare page, a run without its
//! beginning as the only one
//! a place that may lie before the part               ─▶ with_whole: ask_all, and then go there
//! ```

use leptos::prelude::*;
use model::Seq;
use model::view::{Earlier, TopItem};

use super::{Sheet, Store};
use crate::browser;
use crate::faces::has_room_beside;
use crate::model::Model;
use crate::since::MUCH_EVENTS;
use crate::timeline::Drawer;

/// What is done once all of the conversation is here.
pub(super) type WhenWhole = Box<dyn FnOnce()>;

impl Store {
    /// Asks the hub for more of the conversation than is here.
    pub(crate) fn ask_more(self) {
        let frames = self.reading.model.try_update_value(Model::ask_more).unwrap_or_default();
        self.link.send(frames);
    }

    /// Asks the hub for all of the conversation, if that is not here.
    pub(crate) fn ask_all(self) {
        let frames = self.reading.model.try_update_value(Model::ask_all).unwrap_or_default();
        self.link.send(frames);
    }

    /// Does something once all of the conversation is here: at once, if it is. It is not done if the reader opens another conversation
    /// before.
    pub(crate) fn with_whole(self, then: impl FnOnce() + 'static) {
        if self.reading.model(|model| model.earlier().is_none()) {
            return then();
        }
        self.reading.when_whole.update_value(|waiting| waiting.push(Box::new(then)));
        self.ask_all();
    }

    /// Does something once the runs that are here are whole.
    pub(crate) fn with_whole_runs(self, then: impl FnOnce() + 'static) {
        if self.reading.model(|model| model.earlier().is_none_or(|earlier| earlier.items == 0)) {
            return then();
        }
        self.with_whole(then);
    }

    /// Does what waited for all of the conversation, if that is here now.
    pub(super) fn go_on_with_whole(self) {
        let is_waiting = self.reading.when_whole.with_value(|waiting| !waiting.is_empty());
        if !is_waiting || self.reading.model(|model| model.earlier().is_some()) {
            return;
        }
        let waiting = self.reading.when_whole.try_update_value(std::mem::take).unwrap_or_default();
        let of = self.reading.conversation.get_untracked();
        // The painting that is going on makes the rows.
        browser::after(0, move || {
            if self.reading.conversation.with_untracked(|shown| *shown == of) {
                for then in waiting {
                    then();
                }
            }
        });
    }

    /// Whether what came after the event `seq`, which came at `at`, is much and may lie before the part that is here.
    pub(super) fn is_before_part(self, seq: Seq, at: u64) -> bool {
        self.reading.view(|view| {
            let first = view.items.first().and_then(|item| match item {
                TopItem::Message(id) => view.messages.get(id).map(|message| message.at),
                TopItem::Run(id) => {
                    let run = view.runs.get(id)?;
                    let part = run.parts.first().map(|(_, part)| part.started_at);
                    let tool = run.tools.first().map(|(_, tool)| tool.started_at);
                    part.into_iter().chain(tool).min()
                }
            });
            view.seq.saturating_sub(seq) >= MUCH_EVENTS && first.is_none_or(|first| first > at)
        })
    }

    /// Forgets what waits: another conversation is opened.
    pub(super) fn forget_whole(self) {
        self.reading.when_whole.update_value(Vec::clear);
    }

    /// Whether the page needs all of the conversation, of which a part is here. Tracks what it is made of.
    pub(crate) fn awaits_all(self) -> bool {
        let needs_all = self.needs_all();
        // Each conversation begins with its newest part.
        self.reading.conversation.track();
        self.reading.part.track();
        self.reading.model(|model| {
            // A run says how many steps it has and how long it took, so its end alone is not enough.
            let is_end_of_run = |earlier: &Earlier| earlier.items > 0 && model.view().runs.len() == 1;
            model.earlier().is_some_and(|earlier| needs_all || is_end_of_run(earlier))
        })
    }

    /// Whether something is shown that is about all of the conversation.
    fn needs_all(self) -> bool {
        let is_panel_seen = self.panel.sheet.get() == Sheet::Tools
            || self.panel.is_beside.get() && has_room_beside(self.panel.page_width.get());
        self.reading.is_bare
            || is_panel_seen
            || self.reading.query.with(|query| !query.is_empty())
            || self.panel.drawer.get() != Drawer::Closed
            || self.panel.compared.with(Option::is_some)
            || self.reading.only.with(Option::is_some)
            || self.replay.is_on()
    }

    /// Asks for all of the conversation as soon as its newest part is here and all of it is needed, for as long as the page is open.
    pub(crate) fn ask_all_when_needed(self) {
        let measure = move || self.panel.page_width.set(browser::width());
        measure();
        browser::listen(&browser::window(), "resize", move |_: web_sys::Event| measure());
        Effect::new(move |_| {
            if self.awaits_all() {
                self.ask_all();
            }
        });
    }
}
