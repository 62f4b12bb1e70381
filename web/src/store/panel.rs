//! The store of the panel: which parts of the page are shown, and the dialog over it.
//!
//! It is written by components, keys and the address of the page. It does not know the connection, the
//! content, commands and replays. The rules are in [`crate::faces`], which does not use the browser.

use leptos::prelude::*;
use model::ConversationId;
use web_sys::{HtmlElement, HtmlInputElement};

use super::AgentKey;
use crate::browser;
use crate::faces::{OpenDialog, Sheet, Tab, has_room_beside};
use crate::timeline::Drawer;

/// Opens the file that the reader has chosen in an input.
pub(crate) type ChooseFile = Box<dyn Fn(&HtmlInputElement)>;

/// Opens a text as a recording of a name, in a dialect.
pub(crate) type OpenText = Box<dyn Fn(&str, &str, &'static str)>;

/// A handle; all copies refer to the same store, which lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct PanelStore {
    /// The sheet over a narrow page.
    pub(crate) sheet: RwSignal<Sheet>,
    /// Whether the panel is shown beside the conversation on a wide page.
    pub(crate) is_beside: RwSignal<bool>,
    /// The width of the page, in CSS pixels; 0 before it was measured.
    pub(super) page_width: RwSignal<f64>,
    /// The tab of the panel.
    pub(crate) tab: RwSignal<Tab>,
    /// The sub-agent in the panel; `None` for the tree.
    pub(crate) agent: RwSignal<Option<AgentKey>>,
    /// The height of the timeline.
    pub(crate) drawer: RwSignal<Drawer>,
    /// Whether the wall is shown.
    pub(crate) wall: RwSignal<bool>,
    /// The conversation that was open before the wall.
    before_wall: StoredValue<Option<ConversationId>, LocalStorage>,
    /// The conversation that is shown beside the open one.
    pub(crate) compared: RwSignal<Option<ConversationId>>,
    /// The first conversation that arrived while the page showed how to connect an agent.
    pub(crate) first: RwSignal<Option<String>>,
    /// The filter of the list and the wall.
    pub(crate) filter: RwSignal<String>,
    /// The dialog over the page.
    pub(crate) dialog: RwSignal<OpenDialog>,
    /// The element that had the focus before the dialog.
    focus_before_dialog: StoredValue<Option<HtmlElement>, LocalStorage>,
    /// Whether single keys are switched off.
    pub(crate) keys_off: RwSignal<bool>,
    /// Whether a file is dragged over the page.
    pub(crate) dragging: RwSignal<bool>,
    /// Opens a chosen file; set by `crate::drop`.
    pub(crate) choose_file: StoredValue<Option<ChooseFile>, LocalStorage>,
    /// Opens a text as a recording; set by `crate::drop`.
    pub(crate) open_text: StoredValue<Option<OpenText>, LocalStorage>,
}

impl PanelStore {
    /// A store with the reader's settings. `drawer` is the height of the timeline.
    pub(super) fn new(drawer: Drawer) -> Self {
        Self {
            sheet: RwSignal::new(Sheet::None),
            is_beside: RwSignal::new(browser::setting("panel").is_none_or(|word| word != "off")),
            page_width: RwSignal::new(0.0),
            tab: RwSignal::new(Tab::default()),
            agent: RwSignal::new(None),
            drawer: RwSignal::new(drawer),
            wall: RwSignal::new(false),
            before_wall: StoredValue::new_local(None),
            compared: RwSignal::new(None),
            first: RwSignal::new(None),
            filter: RwSignal::new(String::new()),
            dialog: RwSignal::new(OpenDialog::default()),
            focus_before_dialog: StoredValue::new_local(None),
            keys_off: RwSignal::new(browser::setting("keys").is_some_and(|word| word == "off")),
            dragging: RwSignal::new(false),
            choose_file: StoredValue::new_local(None),
            open_text: StoredValue::new_local(None),
        }
    }

    /// Shows or hides the panel: beside the conversation if there is room, otherwise as a sheet.
    pub(crate) fn toggle_tools(self) {
        if has_room_beside(browser::width()) {
            self.is_beside.update(|on| *on = !*on);
            browser::keep_setting("panel", if self.is_beside.get_untracked() { "on" } else { "off" });
        } else {
            self.toggle_sheet(Sheet::Tools);
        }
    }

    /// Shows the panel with `tab`: beside the conversation if there is room, otherwise as a sheet.
    pub(crate) fn show_tab(self, tab: Tab) {
        self.tab.set(tab);
        if !has_room_beside(browser::width()) {
            self.sheet.set(Sheet::Tools);
        } else if !self.is_beside.get_untracked() {
            self.toggle_tools();
        }
    }

    /// Opens a sheet, or closes it if it is open.
    pub(crate) fn toggle_sheet(self, sheet: Sheet) {
        self.sheet.update(|now| *now = now.toggled(sheet));
    }

    /// Shows or hides the wall. `here` returns the conversation to which the reader returns.
    pub(super) fn show_wall(self, is_on: bool, here: impl FnOnce() -> Option<ConversationId>) {
        if is_on {
            self.before_wall.set_value(here());
        }
        self.wall.set(is_on);
    }

    /// The conversation that was open before the wall.
    pub(super) fn before_wall(self) -> Option<ConversationId> {
        self.before_wall.get_value()
    }

    /// Stores the focused element until the dialog is closed.
    pub(super) fn keep_focus(self, focused: Option<HtmlElement>) {
        self.focus_before_dialog.set_value(focused);
    }

    /// Takes the stored element.
    pub(super) fn take_focus(self) -> Option<HtmlElement> {
        self.focus_before_dialog.try_update_value(Option::take).flatten()
    }
}
