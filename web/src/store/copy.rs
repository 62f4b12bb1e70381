//! Copying texts, turns and results, with an announcement of what came of it.

use std::sync::Arc;

use leptos::prelude::*;
use leptos::task::spawn_local;
use model::{MessageId, RunId, ToolCallId};

use super::Store;
use crate::browser;
use crate::control;
use crate::route;
use crate::whole::{self, Side};

impl Store {
    /// Copies `text` and announces `done`, or that the browser refused. `then` is called with whether it
    /// succeeded.
    pub(crate) fn copy(self, text: &str, done: &'static str, then: impl FnOnce(bool) + 'static) {
        browser::copy(text, move |is_done| {
            self.spoken.set(if is_done { done } else { "Not copied: the browser refused" }.to_owned());
            then(is_done);
        });
    }

    /// Copies the turn that begins with the message `id`, as Markdown.
    pub(crate) fn copy_turn(self, id: &MessageId) {
        self.copy(&self.reading.view(|view| control::turn(view, id)), "Copied", |_| {});
    }

    /// Copies the result of a call, for the key that copies; its card may be folded. The whole result is fetched
    /// if need be and not kept.
    pub(crate) fn copy_result(self, run: RunId, id: ToolCallId) {
        let read = move |run: &RunId, id: &ToolCallId, json: Option<&str>| {
            self.reading.view(|view| whole::copied(view.runs.get(run)?.tools.get(id)?, Side::Result, json))
        };
        if let Some(text) = read(&run, &id, None) {
            return self.copy(&text, "Copied", |_| {});
        }
        spawn_local(async move {
            let json = self.whole_result(&run, &id).await;
            match json.map(|json| read(&run, &id, Some(&json))) {
                Ok(Some(text)) => self.copy(&text, "Copied", |_| {}),
                Ok(None) => {}
                Err(why) => self.spoken.set(format!("Not copied. {why}")),
            }
        });
    }

    /// Fetches the whole result of a call from the hub, as JSON. The error is a sentence for the reader. It fails
    /// if the result names no stored rest, as in a recording, and if the hub refuses.
    pub(crate) async fn whole_result(self, run: &RunId, id: &ToolCallId) -> Result<Arc<str>, String> {
        let reference = self.reading.view(|view| view.runs.get(run)?.tools.get(id)?.result_ref.clone());
        let Some((conversation, reference)) = self.reading.conversation.get_untracked().zip(reference) else {
            return Err("The rest of it is not here.".to_owned());
        };
        let text = browser::fetch_text(&route::result_path(&conversation, &reference.hash)).await?;
        Ok(text.into())
    }
}
