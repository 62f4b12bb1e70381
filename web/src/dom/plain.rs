//! Plain texts that grow.

use web_sys::{Element, HtmlElement, Text};

use super::{caret, update_text};
use crate::browser::document;
use crate::plain::Plain;

/// An element that shows a plain text in pieces; see [`crate::plain`]. Owned by the component that shows the
/// text; dropping it leaves the elements as they are.
pub(crate) struct PlainBox {
    /// The element that it fills.
    host: HtmlElement,
    /// What has been shown.
    plain: Plain,
    /// The text node of the piece that still grows.
    rest: Text,
    /// The text that `rest` holds.
    shown: String,
    /// The caret, while the text grows.
    caret: Option<HtmlElement>,
}

impl PlainBox {
    /// Takes `host` and removes its content: Leptos leaves a comment in an element without children.
    pub(crate) fn new(host: HtmlElement) -> Self {
        host.set_text_content(None);
        let rest = document().create_text_node("");
        drop(host.append_child(&rest));
        Self { host, plain: Plain::default(), rest, shown: String::new(), caret: None }
    }

    /// Shows `text`, with a caret while it grows.
    pub(crate) fn show(&mut self, text: &str, is_growing: bool) {
        let pieces = self.plain.advance(text);
        if pieces.restart {
            self.host.set_text_content(None);
            self.caret = None;
            drop(self.host.append_child(&self.rest));
        }
        for piece in pieces.done {
            // An element for each piece, so that the browser lays out only the last one again.
            let done = super::element("span", if piece.ends_with('\n') { "piece" } else { "" });
            done.set_text_content(Some(piece));
            drop(self.host.insert_before(&done, Some(&self.rest)));
        }
        update_text(&self.rest, &self.shown, pieces.rest);
        self.shown.clear();
        self.shown.push_str(pieces.rest);
        self.set_caret(is_growing);
    }

    /// Adds or removes the caret.
    fn set_caret(&mut self, wanted: bool) {
        if wanted && self.caret.is_none() {
            let caret = caret();
            drop(self.host.append_child(&caret));
            self.caret = Some(caret);
        } else if !wanted && let Some(caret) = self.caret.take() {
            Element::remove(&caret);
        }
    }
}
