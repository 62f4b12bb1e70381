//! Makes documents from a folded view: a conversation as a Markdown text, as one HTML file, and as the
//! content that Open WebUI shows.
//!
//! ```text
//! view ──▶ outline (messages, steps, answers; sub-agents nested) ──▶ markdown | html
//! view ──▶ open_webui: content, the events that keep it up to date, a chat to import
//! ```
//!
//! Everything in a view was written by models, tools and foreign hubs and counts as hostile. Each writer escapes all of
//! it for the place where it is put; none lets markup of a text through.
//!
//! None of them reads anything but the view: no clock, no network, no files. The same view always becomes the
//! same document. A document is made in memory as a whole; its size is bounded by that of the view.

use serde::{Deserialize, Serialize};

use model::view::View;

pub mod export;
mod facts;
mod html;
mod markdown;
pub mod only;
pub mod open_webui;
mod outline;

/// How a document shows the steps of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepsLayout {
    /// Each step where it happened.
    #[default]
    Each,
    /// All steps in one block that is closed at first; the answer is outside of it.
    OneBlock,
}

/// `view` as Markdown. `name` is the name of the conversation, for one without a title.
pub fn markdown(view: &View, name: &str, steps: StepsLayout) -> String {
    markdown::document(view, name, steps)
}

/// `view` as one HTML file that needs no other file, runs no script and loads nothing. `name` is the name of
/// the conversation, for one without a title.
pub fn html(view: &View, name: &str, steps: StepsLayout) -> String {
    html::document(view, name, steps)
}

#[cfg(test)]
mod tests;
