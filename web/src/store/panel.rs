//! The store of the panel: which parts of the page are shown, and what lies over it.
//!
//! Written by components, keys and the address of the page. It knows nothing of the link, of what is read, of commands and replays. What it
//! decides is in [`crate::faces`], without a browser.

use leptos::prelude::*;
use model::ConversationId;
use web_sys::{HtmlElement, HtmlInputElement};

use super::AgentKey;
use crate::browser;
use crate::faces::{Over, Sheet, Tab, has_room_beside};
use crate::timeline::Drawer;

/// Opens the file that the reader has chosen.
pub(crate) type ChooseFile = Box<dyn Fn(&HtmlInputElement)>;

/// A handle; copies are the same store.
#[derive(Clone, Copy)]
pub(crate) struct PanelStore {
    /// The sheet that lies over a narrow page.
    pub(crate) sheet: RwSignal<Sheet>,
    /// Whether the tools stand beside the conversation on a wide page.
    pub(crate) is_beside: RwSignal<bool>,
    /// What the panel shows.
    pub(crate) tab: RwSignal<Tab>,
    /// The sub-agent that stands in the panel.
    pub(crate) agent: RwSignal<Option<AgentKey>>,
    /// How high the timeline stands.
    pub(crate) drawer: RwSignal<Drawer>,
    /// Whether all conversations are shown as tiles.
    pub(crate) wall: RwSignal<bool>,
    /// The conversation that was looked at before the wall.
    before_wall: StoredValue<Option<ConversationId>, LocalStorage>,
    /// The conversation that stands beside this one.
    pub(crate) compared: RwSignal<Option<ConversationId>>,
    /// The first conversation that came while the page showed how to make one.
    pub(crate) first: RwSignal<Option<String>>,
    /// What is typed to filter list and wall.
    pub(crate) filter: RwSignal<String>,
    /// What lies over the page.
    pub(crate) over: RwSignal<Over>,
    /// What had the focus before.
    before_over: StoredValue<Option<HtmlElement>, LocalStorage>,
    /// Whether single keys do nothing.
    pub(crate) keys_off: RwSignal<bool>,
    /// Whether a file hovers over the page.
    pub(crate) dragging: RwSignal<bool>,
    /// Opens the file that the reader has chosen.
    pub(crate) choose_file: StoredValue<Option<ChooseFile>, LocalStorage>,
}

impl PanelStore {
    /// With the reader's settings; `drawer` is how high the timeline stands.
    pub(super) fn new(drawer: Drawer) -> Self {
        Self {
            sheet: RwSignal::new(Sheet::None),
            is_beside: RwSignal::new(browser::setting("panel").is_none_or(|word| word != "off")),
            tab: RwSignal::new(Tab::default()),
            agent: RwSignal::new(None),
            drawer: RwSignal::new(drawer),
            wall: RwSignal::new(false),
            before_wall: StoredValue::new_local(None),
            compared: RwSignal::new(None),
            first: RwSignal::new(None),
            filter: RwSignal::new(String::new()),
            over: RwSignal::new(Over::default()),
            before_over: StoredValue::new_local(None),
            keys_off: RwSignal::new(browser::setting("keys").is_some_and(|word| word == "off")),
            dragging: RwSignal::new(false),
            choose_file: StoredValue::new_local(None),
        }
    }

    /// Shows or hides the tools: beside the conversation where there is room, else over it.
    pub(crate) fn toggle_tools(self) {
        if has_room_beside(browser::width()) {
            self.is_beside.update(|on| *on = !*on);
            browser::keep_setting("panel", if self.is_beside.get_untracked() { "on" } else { "off" });
        } else {
            self.toggle_sheet(Sheet::Tools);
        }
    }

    /// Shows the panel with `tab`: beside the conversation where there is room, else over it.
    pub(crate) fn show_tab(self, tab: Tab) {
        self.tab.set(tab);
        if !has_room_beside(browser::width()) {
            self.sheet.set(Sheet::Tools);
        } else if !self.is_beside.get_untracked() {
            self.toggle_tools();
        }
    }

    /// Lays a sheet over the page, or takes it away.
    pub(crate) fn toggle_sheet(self, sheet: Sheet) {
        self.sheet.update(|now| *now = now.toggled(sheet));
    }

    /// Shows the wall, or no longer; `here` is the conversation to come back to.
    pub(super) fn show_wall(self, is_on: bool, here: impl FnOnce() -> Option<ConversationId>) {
        if is_on {
            self.before_wall.set_value(here());
        }
        self.wall.set(is_on);
    }

    /// The conversation that was looked at before the wall.
    pub(super) fn before_wall(self) -> Option<ConversationId> {
        self.before_wall.get_value()
    }

    /// Keeps what has the focus, for when what lies over the page is gone.
    pub(super) fn keep_focus(self, focused: Option<HtmlElement>) {
        self.before_over.set_value(focused);
    }

    /// What had the focus, once.
    pub(super) fn take_focus(self) -> Option<HtmlElement> {
        self.before_over.try_update_value(Option::take).flatten()
    }
}
