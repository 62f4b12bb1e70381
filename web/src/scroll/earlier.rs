//! Loading of earlier rows when the reader comes near them.
//!
//! ```text
//! scrolled, or a turn of the wheel at the very beginning ─▶ still for STILL_MS ─▶ near a button "earlier"? ─▶ click
//! ```

use std::rc::Rc;

use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::Parts;
use crate::browser;

/// How close the reader comes to the button of earlier rows before they are loaded, in CSS pixels.
const LOAD_PX: f64 = 200.0;

/// The shortest time between two loads of earlier rows, in milliseconds: the first ones must be on the page
/// before more are wanted.
const LOAD_MS: u64 = 400;

/// How long nothing must have moved before earlier rows are loaded, in milliseconds. The browser goes on with its own smooth scrolling
/// wherever rows are added meanwhile, so that they could not be kept out of the way.
const STILL_MS: u64 = 100;

impl Parts {
    /// Loads earlier rows, if the reader is near them, once nothing has moved for [`STILL_MS`].
    pub(super) fn load_once_still(self: &Rc<Self>) {
        if !self.is_waiting.replace(true) {
            self.wait_until_still(STILL_MS);
        }
    }

    /// Looks again after `ms` milliseconds.
    fn wait_until_still(self: &Rc<Self>, ms: u64) {
        let parts = Rc::clone(self);
        browser::after(i32::try_from(ms).unwrap_or(0), move || {
            let now = browser::now_ms();
            let due = (parts.scrolled_at.get() + STILL_MS).max(parts.loaded_at.get() + LOAD_MS);
            if due > now {
                return parts.wait_until_still(due - now);
            }
            parts.is_waiting.set(false);
            parts.load_earlier();
        });
    }

    /// Clicks the button of earlier rows when the reader comes close to it.
    fn load_earlier(&self) {
        if self.follow.get().is_on() {
            return;
        }
        let window = self.window.get_bounding_client_rect();
        let Ok(found) = self.content.query_selector_all("[data-earlier]") else { return };
        let near =
            (0..found.length()).filter_map(|at| found.get(at)?.dyn_into::<HtmlElement>().ok()).find(|it| {
                let place = it.get_bounding_client_rect();
                place.bottom() > window.top() - LOAD_PX && place.top() < window.bottom()
            });
        if let Some(button) = near {
            self.loaded_at.set(browser::now_ms());
            button.click();
        }
    }

    /// Loads earlier rows for a reader who wants to go on at the very beginning, where no scroll event follows.
    pub(super) fn load_at_beginning(self: &Rc<Self>) {
        if self.window.scroll_top() == 0 {
            self.load_once_still();
        }
    }
}
