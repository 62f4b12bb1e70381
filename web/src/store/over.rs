//! Dialogs: while one lies over the page, the page itself is out of reach; afterwards the focus is where it was.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::{Over, Store};
use crate::browser;
use crate::dom::highlight;

/// Everything that a dialog lies over.
const PAGE: &str = ".app";

impl Store {
    /// Lays `over` over the page, or takes away what lies there.
    pub(crate) fn lay(self, over: Over) {
        let was = self.panel.over.get_untracked();
        if was == over {
            return;
        }
        // At once, not with the next painting: what comes after this may want to give the focus to something.
        if was == Over::Nothing {
            let focused = browser::document().active_element();
            self.panel.keep_focus(focused.and_then(|it| it.dyn_into::<HtmlElement>().ok()));
        }
        // WebKit paints what is marked in an inert page over other words.
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

    /// Lays `over` over the page, or takes it away.
    pub(crate) fn toggle_over(self, over: Over) {
        self.lay(self.panel.over.get_untracked().toggled(over));
    }
}

fn set_inert(is_inert: bool) {
    if let Ok(Some(page)) = browser::document().query_selector(PAGE) {
        drop(page.toggle_attribute_with_force("inert", is_inert));
    }
}
