//! Texts as DOM elements, built without Leptos: a text that grows a thousand times a second may touch only
//! its end.
//!
//! `markdown` and `plain` show texts, `nodes` and `code` build blocks, `formula` typesets formulas, `diagram` has diagrams drawn, `highlight`
//! marks hits, `pattern` matches patterns, and `image` and `embed` show foreign content.

mod code;
pub(crate) mod diagram;
mod embed;
pub(crate) mod formula;
pub(crate) mod highlight;
pub(crate) mod image;
mod markdown;
mod nodes;
mod pattern;
mod plain;

pub(crate) use embed::{quiet, run as run_page};
pub(crate) use markdown::MarkdownBox;
pub(crate) use pattern::Pattern;
pub(crate) use plain::PlainBox;

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::browser::document;

/// A new element. The names are constants that every browser knows.
fn element(name: &str, class: &str) -> Element {
    let made = document().create_element(name);
    let element =
        made.unwrap_or_else(|_| document().create_element("span").unwrap_or_else(|_| unreachable!()));
    if !class.is_empty() {
        element.set_class_name(class);
    }
    element
}

/// The caret at the end of a growing text.
fn caret() -> HtmlElement {
    let caret = element("span", "caret");
    drop(caret.set_attribute("aria-hidden", "true"));
    caret.unchecked_into()
}

/// Sets the text of `node`, which held `old`. If the text only grew, only the new end is passed to the
/// browser.
fn update_text(node: &web_sys::Text, old: &str, text: &str) {
    match text.strip_prefix(old) {
        Some("") => {}
        Some(more) => drop(node.append_data(more)),
        None => node.set_data(text),
    }
}
