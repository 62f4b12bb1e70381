//! Scrolling requested items into view, and the keys and DOM ids of items.
//!
//! ```text
//! reveal ─▶ unfold the steps and the sub-agents around the item, as if the reader had
//!        ─▶ wanted: lanes and transcript put its row into the document
//!        ─▶ after the painting: scroll to its DOM id, mark it
//! ```
//!
//! A key names what is folded or unfolded; where the thing is one element, the key is its DOM id too.

use leptos::prelude::*;
use model::view::{Item, TopItem};
use model::{AgentId, MessageId, PartId, RunId, ToolCallId};
use wasm_bindgen::JsCast;
use web_sys::Element;

use super::{Sheet, Store};
use crate::browser;
use crate::find::Place;
use crate::flow;
use crate::latency::CallKey;
use crate::outline::{self, Entry, EntryKind, EntryTarget};
use crate::route::{self, Looks};
use crate::timeline::{Drawer, Key};

impl Store {
    /// The address of the view, with `place` in it; `None` if no conversation is open.
    pub(crate) fn link(self, place: Option<Place>) -> Option<String> {
        let conversation = self.reading.conversation.get_untracked()?;
        let looks = Looks {
            // What somebody else lists is that person's choice.
            filter: None,
            level: Some(self.reading.level.get_untracked()),
            place,
            find: self.finding(),
            is_pattern: self.reading.is_pattern.get_untracked(),
            timeline: Some(self.panel.drawer.get_untracked()).filter(|drawer| *drawer != Drawer::Closed),
            compare: self.panel.compared.get_untracked(),
            moment: self.replay.told.with_untracked(|replay| replay.as_ref().and_then(|replay| replay.clock)),
        };
        Some(browser::origin() + &route::link(&conversation, &looks))
    }

    /// The address of the conversation as it is shown now: whoever opens it later sees this moment. `None` if no conversation is open.
    pub(crate) fn link_to_now(self) -> Option<String> {
        let conversation = self.reading.conversation.get_untracked()?;
        let shown = self.replay.told.with_untracked(|replay| replay.as_ref().and_then(|replay| replay.clock));
        let moment = shown.or_else(|| self.reading.model(crate::model::Model::event_at));
        let looks = Looks { level: Some(self.reading.level.get_untracked()), moment, ..Looks::default() };
        Some(browser::origin() + &route::link(&conversation, &looks))
    }

    /// Unfolds everything that hides a call, and scrolls to it.
    pub(crate) fn reveal(self, call: &CallKey) {
        let (run, tool) = call;
        let agent = self.reading.view(|view| view.runs.get(run)?.tools.get(tool)?.agent.clone());
        self.reveal_in(run, agent.as_ref(), Item::Tool(tool.clone()), card_id(run, tool));
    }

    /// Unfolds everything that hides the text of `place`, and scrolls to it.
    pub(crate) fn reveal_text(self, place: &Place) {
        match place {
            Place::Tool(run, tool) => {
                self.reading.choose(&card_id(run, tool), true);
                self.reveal(&(run.clone(), tool.clone()));
            }
            Place::Part(run, part) => {
                let agent = self.reading.view(|view| view.runs.get(run)?.parts.get(part)?.agent.clone());
                self.reading.choose(&thinking_key(run, part), true);
                self.reveal_in(run, agent.as_ref(), Item::Part(part.clone()), part_id(run, part));
            }
            Place::Message(message) => {
                let id = message_id(message);
                self.reading.choose(&id, true);
                self.bring(id);
            }
        }
    }

    /// Scrolls to what an entry of the outline is about; for a heading, to the heading.
    pub(crate) fn reveal_entry(self, entry: &Entry) {
        let place = match &entry.target {
            EntryTarget::Run(run) => return self.bring(run_id(run)),
            EntryTarget::Item(place) => place,
        };
        self.reveal_text(place);
        if let (EntryKind::Heading(_), Place::Part(run, part)) = (entry.kind, place) {
            let (id, letters) = (part_id(run, part), outline::letters(&entry.text));
            // What was unfolded is in the document with the next painting.
            browser::before_paint(move || {
                if let Some(place) = heading(&id, &letters) {
                    let place = place.get_bounding_client_rect();
                    self.reading.scroller.with_value(|scroller| scroller.reach(place.top(), place.bottom()));
                }
            });
        }
    }

    /// Scrolls to the first message or run.
    pub(crate) fn reveal_start(self) {
        self.with_whole(move || self.reveal_first());
    }

    /// Scrolls to the first message or run that is here.
    fn reveal_first(self) {
        let first = self.reading.view(|view| view.items.first().cloned());
        match first {
            Some(TopItem::Message(message)) => self.reveal_text(&Place::Message(message)),
            Some(TopItem::Run(run)) => self.bring(run_id(&run)),
            None => {}
        }
    }

    /// Scrolls to the end and follows it.
    pub(crate) fn reveal_end(self) {
        self.panel.sheet.set(Sheet::None);
        self.reading.follow();
    }

    /// Scrolls to what a row of the timeline shows.
    pub(crate) fn reveal_row(self, key: &Key) {
        match key {
            Key::Tool(run, tool) => self.reveal(&(run.clone(), tool.clone())),
            Key::Part(run, part) => self.reveal_text(&Place::Part(run.clone(), part.clone())),
            Key::Agent(run, agent) => {
                let parent = self.reading.view(|view| view.runs.get(run)?.agents.get(agent)?.parent.clone());
                self.reveal_in(run, parent.as_ref(), Item::Agent(agent.clone()), agent_key(run, agent));
            }
            Key::Run(run) => self.bring(run_id(run)),
        }
    }

    /// Unfolds the steps of a run and the sub-agents that contain `item`, and scrolls to the element `id`.
    fn reveal_in(self, run: &RunId, agent: Option<&AgentId>, item: Item, id: String) {
        self.reading.choose(&steps_key(run), true);
        let lanes = self.reading.view(|view| Some(flow::lanes_to(view.runs.get(run)?, agent?)));
        let mut wanted = vec![item];
        for agent in lanes.unwrap_or_default() {
            self.reading.choose(&agent_key(run, &agent), true);
            wanted.push(Item::Agent(agent));
        }
        self.reading.wanted.set(Some((run.clone(), wanted)));
        self.bring(id);
    }

    /// Scrolls to the element `id`. The sheet of a narrow page is closed, and the view stops following the
    /// end.
    fn bring(self, id: String) {
        self.panel.sheet.set(Sheet::None);
        self.reading.release();
        browser::before_paint(move || self.reading.scroller.with_value(|scroller| scroller.reveal(&id)));
    }
}

/// The heading with these letters in the element `id`.
fn heading(id: &str, letters: &str) -> Option<Element> {
    let all = browser::document().get_element_by_id(id)?.query_selector_all("h3, h4").ok()?;
    let mut all = (0..all.length()).filter_map(|at| all.get(at)?.dyn_into::<Element>().ok());
    all.find(|it| outline::letters(&it.text_content().unwrap_or_default()).starts_with(letters))
}

/// The DOM id of a run.
pub(crate) fn run_id(run: &RunId) -> String {
    format!("run/{run}")
}

/// The key of the steps of a run.
pub(crate) fn steps_key(run: &RunId) -> String {
    format!("steps/{run}")
}

/// The key and the DOM id of a sub-agent.
pub(crate) fn agent_key(run: &RunId, agent: &AgentId) -> String {
    format!("agent/{run}/{agent}")
}

/// The key of a thinking section.
pub(crate) fn thinking_key(run: &RunId, part: &PartId) -> String {
    format!("thinking/{run}/{part}")
}

/// The DOM id of a streamed text.
pub(crate) fn part_id(run: &RunId, part: &PartId) -> String {
    format!("part/{run}/{part}")
}

/// The key and the DOM id of a message.
pub(crate) fn message_id(message: &MessageId) -> String {
    format!("message/{message}")
}

/// The key and the DOM id of a call's card.
pub(crate) fn card_id(run: &RunId, tool: &ToolCallId) -> String {
    format!("card/{run}/{tool}")
}
