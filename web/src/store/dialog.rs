//! Dialogs: while one is open, the rest of the page is inert; afterwards the focus returns to where it was.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{OpenDialog, Store};
use crate::browser;
use crate::dom::highlight;

/// The element that contains the page without dialogs.
const PAGE: &str = ".app";

impl Store {
    /// Opens `dialog`; [`OpenDialog::None`] closes the open one.
    pub(crate) fn open_dialog(self, dialog: OpenDialog) {
        let was = self.panel.dialog.get_untracked();
        if was == dialog {
            return;
        }
        // Done at once, not with the next painting, since the caller may focus something afterwards.
        if was == OpenDialog::None {
            let focused = browser::document().active_element();
            self.panel.keep_focus(focused.and_then(|it| it.dyn_into::<HtmlElement>().ok()));
        }
        // WebKit paints highlights of an inert page over the dialog.
        highlight::show(None);
        set_inert(dialog != OpenDialog::None);
        self.panel.dialog.set(dialog);
        self.mark_hits();
        if dialog == OpenDialog::None
            && let Some(before) = self.panel.take_focus()
        {
            browser::refocus(&before);
        }
    }

    /// Opens `dialog`, or closes it if it is open.
    pub(crate) fn toggle_dialog(self, dialog: OpenDialog) {
        self.open_dialog(self.panel.dialog.get_untracked().toggled(dialog));
    }
}

/// Makes the page inert, or usable again.
fn set_inert(is_inert: bool) {
    if let Ok(Some(page)) = browser::document().query_selector(PAGE) {
        drop(page.toggle_attribute_with_force("inert", is_inert));
    }
}
