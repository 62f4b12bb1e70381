//! The forms of calls in the open conversation, and the rows that stay because of them.

use leptos::prelude::*;
use model::RunId;
use model::view::Item;

use super::Store;
use crate::forms::Form;
use crate::latency::CallKey;

impl Store {
    /// The form of a call. Tracks it.
    pub(crate) fn form(self, call: &CallKey) -> Form {
        self.reading.conversation.with(|here| self.control.form(here.as_ref(), call))
    }

    /// Replaces the form of a call.
    pub(crate) fn write_form(self, call: &CallKey, form: Form) {
        let here = self.reading.conversation.get_untracked();
        self.control.write_form(here.as_ref(), call, form);
    }

    /// Whether a call of a run has an open form. Tracks that.
    pub(crate) fn is_written_in(self, run: &RunId) -> bool {
        self.reading.conversation.with(|here| self.control.is_written_in(here.as_ref(), run))
    }

    /// The items of a run that stay on the page because of an open form.
    pub(crate) fn kept(self, run: &RunId) -> Memo<Vec<Item>> {
        let run = run.clone();
        Memo::new(move |_| {
            self.reading
                .conversation
                .with(|here| self.reading.view(|view| self.control.kept(here.as_ref(), &run, view)))
        })
    }
}
