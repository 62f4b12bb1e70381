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
//! same document. Markdown, HTML and JSON are written in pieces, so that an export of any size takes the memory of its largest section;
//! the content for Open WebUI is made as a whole.

use serde::{Deserialize, Serialize};

use model::view::View;

pub mod export;
mod facts;
mod html;
mod markdown;
pub mod only;
pub mod open_webui;
mod outline;
mod pieces;

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
    pieces::whole(|to| markdown::write(view, name, steps, to))
}

/// `view` as one HTML file that needs no other file, runs no script and loads nothing. `name` is the name of
/// the conversation, for one without a title.
pub fn html(view: &View, name: &str, steps: StepsLayout) -> String {
    pieces::whole(|to| html::write(view, name, steps, to))
}

#[cfg(test)]
mod tests;
