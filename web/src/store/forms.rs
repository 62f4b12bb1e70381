//! What is written about calls that wait for consent, and which rows stay because of it.

use leptos::prelude::*;
use model::RunId;
use model::view::Item;

use super::Store;
use crate::forms::Form;
use crate::latency::CallKey;

impl Store {
    /// What is written about a call. Tracks that.
    pub(crate) fn form(self, call: &CallKey) -> Form {
        self.reading.conversation.with(|here| self.control.form(here.as_ref(), call))
    }

    /// Writes something about a call.
    pub(crate) fn write_form(self, call: &CallKey, form: Form) {
        let here = self.reading.conversation.get_untracked();
        self.control.write_form(here.as_ref(), call, form);
    }

    /// Whether something is written in a run. Tracks that.
    pub(crate) fn is_written_in(self, run: &RunId) -> bool {
        self.reading.conversation.with(|here| self.control.is_written_in(here.as_ref(), run))
    }

    /// What of a run stays on the page because something is written in it.
    pub(crate) fn kept(self, run: &RunId) -> Memo<Vec<Item>> {
        let run = run.clone();
        Memo::new(move |_| {
            self.reading
                .conversation
                .with(|here| self.reading.view(|view| self.control.kept(here.as_ref(), &run, view)))
        })
    }
}
