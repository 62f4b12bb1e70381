//! Copying, and the word about what became of it.

use super::Store;
use crate::browser;

impl Store {
    /// Copies `text`. Listeners are told `done`, or that the browser did not let the page; `then` hears which.
    pub(crate) fn copy(self, text: &str, done: &'static str, then: impl FnOnce(bool) + 'static) {
        browser::copy(text, move |is_done| {
            self.spoken.set(if is_done { done } else { "Not copied: the browser refused" }.to_owned());
            then(is_done);
        });
    }
}
