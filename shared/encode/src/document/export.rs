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

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::open_webui::{self, OpenWebUiOptions, ResultForm};
use super::pieces::whole;
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
    /// Writes the document of the view with the name of the conversation and the options.
    write: fn(&View, &str, DocumentOptions, &mut dyn Write) -> io::Result<()>,
}

impl DocumentFormat {
    /// `view` as a document of this format. `name` is the name of the conversation.
    pub fn document(&self, view: &View, name: &str, choice: DocumentOptions) -> String {
        whole(|to| self.write(view, name, choice, to))
    }

    /// Writes the same to `to`, in pieces. Fails as `to` does.
    pub fn write(
        &self,
        view: &View,
        name: &str,
        choice: DocumentOptions,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        (self.write)(view, name, choice, to)
    }
}

/// All formats, in the order in which they are offered.
pub const FORMATS: &[DocumentFormat] = &[
    DocumentFormat {
        name: "md",
        content_type: "text/markdown; charset=utf-8",
        extension: "md",
        write: |view, name, choice, to| markdown::write(view, name, choice.steps, to),
    },
    DocumentFormat {
        name: "html",
        content_type: "text/html; charset=utf-8",
        extension: "html",
        write: |view, name, choice, to| html::write(view, name, choice.steps, to),
    },
    DocumentFormat {
        name: "openai",
        content_type: "application/json",
        extension: "json",
        write: |view, _name, choice, to| json(&openai::request(view, choice.unfinished), to),
    },
    DocumentFormat {
        name: "anthropic",
        content_type: "application/json",
        extension: "json",
        write: |view, _name, choice, to| json(&anthropic::request(view, choice.unfinished), to),
    },
    DocumentFormat {
        name: "open-webui",
        content_type: "text/markdown; charset=utf-8",
        extension: "md",
        write: |view, _name, choice, to| {
            to.write_all(open_webui::transcript(view, options(choice)).as_bytes())
        },
    },
    DocumentFormat {
        name: "open-webui-chat",
        content_type: "application/json",
        extension: "json",
        write: |view, name, choice, to| json(&open_webui::chat(view, name, options(choice)), to),
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

/// Writes `value` as JSON text with indentation. Fails as `to` does; the values consist of names, texts and parsed JSON, so nothing else can
/// fail.
fn json<T: Serialize>(value: &T, to: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, value)?;
    to.write_all(b"\n")
}
