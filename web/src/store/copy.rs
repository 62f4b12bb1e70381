//! Copying, with an announcement of the result.

use super::Store;
use crate::browser;

impl Store {
    /// Copies `text` and announces `done`, or that the browser refused. `then` is called with whether it
    /// succeeded.
    pub(crate) fn copy(self, text: &str, done: &'static str, then: impl FnOnce(bool) + 'static) {
        browser::copy(text, move |is_done| {
            self.spoken.set(if is_done { done } else { "Not copied: the browser refused" }.to_owned());
            then(is_done);
        });
    }
}
