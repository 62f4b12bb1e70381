//! Dialogs: while one is open, the rest of the page is inert; afterwards the focus returns to where it was.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{Over, Store};
use crate::browser;
use crate::dom::highlight;

/// The element that contains the page without dialogs.
const PAGE: &str = ".app";

impl Store {
    /// Opens the dialog `over`; [`Over::Nothing`] closes the open one.
    pub(crate) fn lay(self, over: Over) {
        let was = self.panel.over.get_untracked();
        if was == over {
            return;
        }
        // Done at once, not with the next painting, since the caller may focus something afterwards.
        if was == Over::Nothing {
            let focused = browser::document().active_element();
            self.panel.keep_focus(focused.and_then(|it| it.dyn_into::<HtmlElement>().ok()));
        }
        // WebKit paints highlights of an inert page over the dialog.
        highlight::show(None);
        set_inert(over != Over::Nothing);
        self.panel.over.set(over);
        self.mark_hits();
        if over == Over::Nothing
            && let Some(before) = self.panel.take_focus()
        {
            browser::refocus(&before);
        }
    }

    /// Opens the dialog `over`, or closes it if it is open.
    pub(crate) fn toggle_over(self, over: Over) {
        self.lay(self.panel.over.get_untracked().toggled(over));
    }
}

/// Makes the page inert, or usable again.
fn set_inert(is_inert: bool) {
    if let Ok(Some(page)) = browser::document().query_selector(PAGE) {
        drop(page.toggle_attribute_with_force("inert", is_inert));
    }
}
