//! Texts as elements, built by hand: a text that grows a thousand times a second must touch only its end.

mod code;
mod embed;
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

/// A new element. The names are ours, so that the browser knows them all.
fn element(name: &str, class: &str) -> Element {
    let made = document().create_element(name);
    let element =
        made.unwrap_or_else(|_| document().create_element("span").unwrap_or_else(|_| unreachable!()));
    if !class.is_empty() {
        element.set_class_name(class);
    }
    element
}

/// The mark at the end of a text that grows.
fn caret() -> HtmlElement {
    let caret = element("span", "caret");
    drop(caret.set_attribute("aria-hidden", "true"));
    caret.unchecked_into()
}

/// Makes the text node `node` hold `text`; where it grew, only the new end crosses into the browser.
fn update_text(node: &web_sys::Text, old: &str, text: &str) {
    match text.strip_prefix(old) {
        Some("") => {}
        Some(more) => drop(node.append_data(more)),
        None => node.set_data(text),
    }
}
