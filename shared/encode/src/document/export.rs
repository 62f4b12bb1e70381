//! The documents that a view can be exported as, by name.

use serde::{Deserialize, Serialize};

use super::open_webui::{self, Form, Options};
use super::{Steps, html, markdown};
use crate::reconstruct::{Unfinished, anthropic, openai};
use model::view::View;

/// What can be chosen about a document. Each format looks at what concerns it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choice {
    /// How steps are shown: `md` and `html`.
    pub steps: Steps,
    /// Where results stand: `open-webui` and `open-webui-chat`.
    pub form: Form,
    /// What becomes of calls without a result: `openai` and `anthropic`.
    pub unfinished: Unfinished,
}

/// A kind of document.
#[derive(Debug)]
pub struct Format {
    /// Its name.
    pub name: &'static str,
    /// Its media type.
    pub content_type: &'static str,
    /// How names of such files end.
    pub extension: &'static str,
    make: fn(&View, &str, Choice) -> String,
}

impl Format {
    /// `view` as such a document. `name` is the conversation's.
    pub fn document(&self, view: &View, name: &str, choice: Choice) -> String {
        (self.make)(view, name, choice)
    }
}

/// All kinds.
pub const FORMATS: &[Format] = &[
    Format {
        name: "md",
        content_type: "text/markdown; charset=utf-8",
        extension: "md",
        make: |view, name, choice| markdown(view, name, choice.steps),
    },
    Format {
        name: "html",
        content_type: "text/html; charset=utf-8",
        extension: "html",
        make: |view, name, choice| html(view, name, choice.steps),
    },
    Format {
        name: "openai",
        content_type: "application/json",
        extension: "json",
        make: |view, _name, choice| json(&openai::request(view, choice.unfinished)),
    },
    Format {
        name: "anthropic",
        content_type: "application/json",
        extension: "json",
        make: |view, _name, choice| json(&anthropic::request(view, choice.unfinished)),
    },
    Format {
        name: "open-webui",
        content_type: "text/markdown; charset=utf-8",
        extension: "md",
        make: |view, _name, choice| open_webui::transcript(view, options(choice)),
    },
    Format {
        name: "open-webui-chat",
        content_type: "application/json",
        extension: "json",
        make: |view, name, choice| json(&open_webui::chat(view, name, options(choice))),
    },
];

/// The format `name`, or nothing when there is none of that name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

fn options(choice: Choice) -> Options {
    Options { form: choice.form, ..Options::default() }
}

/// Names, texts and JSON that was parsed before: all of it can be written.
fn json<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
