//! What is made from a folded view as a whole: a conversation as a Markdown text, as one HTML file, and as the content
//! that Open WebUI shows.
//!
//! ```text
//! view ──▶ outline (messages, steps, answers; sub-agents nested) ──▶ markdown | html
//! view ──▶ open_webui: content, the events that keep it up to date, a chat to import
//! ```
//!
//! Everything in a view was written by models, tools and foreign hubs and counts as hostile. Each writer escapes all of
//! it for the place where it stands; none lets markup of a text through.

use serde::{Deserialize, Serialize};

use model::view::View;

pub mod export;
mod facts;
mod html;
mod markdown;
pub mod only;
pub mod open_webui;
mod outline;

/// How the steps of a run are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepsLayout {
    /// Each where it happened.
    #[default]
    Each,
    /// All in one block that is closed at first; the answer stands outside.
    OneBlock,
}

/// `view` as Markdown. `name` is the conversation's, for one that says no title.
pub fn markdown(view: &View, name: &str, steps: StepsLayout) -> String {
    markdown::document(view, name, steps)
}

/// `view` as one HTML file that needs nothing else, runs nothing and loads nothing.
pub fn html(view: &View, name: &str, steps: StepsLayout) -> String {
    html::document(view, name, steps)
}

#[cfg(test)]
mod tests;
