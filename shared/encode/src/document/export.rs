//! The formats of documents that a view can be exported as, by name.
//!
//! | name | content | extension |
//! |---|---|---|
//! | `md` | Markdown for people | `.md` |
//! | `html` | one HTML file for people | `.html` |
//! | `openai` | fields of a request to the Chat Completions API | `.json` |
//! | `anthropic` | fields of a request to the Messages API | `.json` |
//! | `open-webui` | all answers as one content for Open WebUI | `.md` |
//! | `open-webui-chat` | a chat that Open WebUI imports | `.json` |
//!
//! The table [`FORMATS`] is all that has to be extended for another one.

use serde::{Deserialize, Serialize};

use super::open_webui::{self, OpenWebUiOptions, ResultForm};
use super::{StepsLayout, html, markdown};
use crate::reconstruct::{UnfinishedCalls, anthropic, openai};
use model::view::View;

/// The options of a document. Each format uses those that concern it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentOptions {
    /// How steps are shown, for `md` and `html`.
    pub steps: StepsLayout,
    /// Where results are shown, for `open-webui` and `open-webui-chat`.
    pub form: ResultForm,
    /// What becomes of calls without a result, for `openai` and `anthropic`.
    pub unfinished: UnfinishedCalls,
}

/// A format of documents.
#[derive(Debug)]
pub struct DocumentFormat {
    /// The name by which it is requested.
    pub name: &'static str,
    /// The media type of the document.
    pub content_type: &'static str,
    /// The extension of file names, without the dot.
    pub extension: &'static str,
    /// Writes the document from the view, the name of the conversation, and the options.
    make: fn(&View, &str, DocumentOptions) -> String,
}

impl DocumentFormat {
    /// `view` as a document of this format. `name` is the name of the conversation.
    pub fn document(&self, view: &View, name: &str, choice: DocumentOptions) -> String {
        (self.make)(view, name, choice)
    }
}

/// All formats, in the order in which they are offered.
pub const FORMATS: &[DocumentFormat] = &[
    DocumentFormat {
        name: "md",
        content_type: "text/markdown; charset=utf-8",
        extension: "md",
        make: |view, name, choice| markdown(view, name, choice.steps),
    },
    DocumentFormat {
        name: "html",
        content_type: "text/html; charset=utf-8",
        extension: "html",
        make: |view, name, choice| html(view, name, choice.steps),
    },
    DocumentFormat {
        name: "openai",
        content_type: "application/json",
        extension: "json",
        make: |view, _name, choice| json(&openai::request(view, choice.unfinished)),
    },
    DocumentFormat {
        name: "anthropic",
        content_type: "application/json",
        extension: "json",
        make: |view, _name, choice| json(&anthropic::request(view, choice.unfinished)),
    },
    DocumentFormat {
        name: "open-webui",
        content_type: "text/markdown; charset=utf-8",
        extension: "md",
        make: |view, _name, choice| open_webui::transcript(view, options(choice)),
    },
    DocumentFormat {
        name: "open-webui-chat",
        content_type: "application/json",
        extension: "json",
        make: |view, name, choice| json(&open_webui::chat(view, name, options(choice))),
    },
];

/// The format `name`; nothing if there is none.
pub fn format(name: &str) -> Option<&'static DocumentFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The options for Open WebUI. Results are not cut in a document.
fn options(choice: DocumentOptions) -> OpenWebUiOptions {
    OpenWebUiOptions { form: choice.form, ..OpenWebUiOptions::default() }
}

/// `value` as JSON text with indentation. The values consist of names, texts and parsed JSON, so writing
/// cannot fail.
fn json<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
