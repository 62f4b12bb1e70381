//! A growing Markdown text. Final blocks are built once; the rest is compared with what is shown and changed
//! where it differs.
//!
//! Blocks are in sections of a few kilobytes. A full section never changes again: the browser can skip its
//! layout and painting while it is out of view, with the measured height in its place. So the cost of a new
//! word does not grow with the text above it.
//!
//! ```text
//! host ┬ section (full: "past", may be skipped by the browser)     hidden: taken out by trim, the oldest first
//!      ├ section (full)
//!      └ section (open): final blocks │ pending blocks, patched with each update │ caret
//! ```

use std::collections::VecDeque;

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use super::nodes::{end_of, patch};
use super::{caret, code, element, formula};
use crate::browser;
use crate::markdown::{Node, Stream, Update};
use crate::number::decimal;
use crate::window;

/// From this many bytes of text on, a section is full.
const SECTION_BYTES: usize = 2 << 10;

/// The longest text, in bytes, that is on the page as a whole. [`window::TEXT_ELEMENTS_MAX`] bounds it as
/// well.
const BYTES_MAX: usize = 200 << 10;

/// How many bytes of a longer text stay when its beginning is removed.
const BYTES_KEPT: usize = 100 << 10;

/// Consecutive blocks of the text.
struct Section {
    /// The element that holds the blocks.
    element: Element,
    /// The number of its children that are final.
    done: u32,
    /// The length of their text in bytes.
    bytes: usize,
    /// The number of elements in it, once it is full.
    elements: u32,
}

impl Section {
    /// An empty section at the end of `host`.
    fn at_end_of(host: &Element) -> Self {
        let element = element("div", "");
        drop(host.append_child(&element));
        Self { element, done: 0, bytes: 0, elements: 0 }
    }

    /// Registers the code blocks in the next `count` children, which are final, for colouring, and the
    /// formulas for typesetting.
    fn finish_next(&self, count: usize) {
        let children = self.element.child_nodes();
        let last = self.done.saturating_add(u32::try_from(count).unwrap_or(0));
        for child in (self.done..last).filter_map(|at| children.get(at)?.dyn_into::<Element>().ok()) {
            formula::watch(&child);
            if child.class_name() == "code" {
                code::watch(&child);
            } else if let Ok(inner) = child.query_selector_all(".code") {
                let blocks = (0..inner.length()).filter_map(|at| inner.get(at)?.dyn_into::<Element>().ok());
                blocks.for_each(|block| code::watch(&block));
            }
        }
    }

    /// Allows the browser to skip the section while it is out of view.
    fn settle(&self) {
        let Some(element) = self.element.dyn_ref::<HtmlElement>().cloned() else { return };
        browser::before_paint(move || {
            let height = element.get_bounding_client_rect().height();
            if height > 0.0 {
                let height = format!("auto {}px", decimal(height));
                drop(element.style().set_property("contain-intrinsic-block-size", &height));
                element.set_class_name("past");
            }
        });
    }
}

/// An element that shows a Markdown text. Owned by the component that shows the text; dropping it leaves the
/// elements as they are.
pub(crate) struct MarkdownBox {
    /// The element that it fills.
    host: HtmlElement,
    /// The parser of the growing text.
    stream: Stream,
    /// The full sections on the page, the oldest first.
    past: VecDeque<Section>,
    /// The full sections that were removed from the page, the oldest first.
    hidden: Vec<Section>,
    /// The bytes and the elements of the full sections on the page.
    past_bytes: usize,
    past_elements: u32,
    /// The section that grows.
    open: Section,
    /// The nodes shown in it after its final children.
    pending: Vec<Node>,
    /// The caret, while the text grows.
    caret: Option<HtmlElement>,
    /// Whether the last update said that the text is complete.
    is_finished: bool,
}

impl MarkdownBox {
    /// Takes `host` and removes its content: Leptos leaves a comment in an element without children.
    pub(crate) fn new(host: HtmlElement) -> Self {
        host.set_text_content(None);
        let open = Section::at_end_of(&host);
        Self {
            host,
            stream: Stream::default(),
            past: VecDeque::new(),
            hidden: Vec::new(),
            past_bytes: 0,
            past_elements: 0,
            open,
            pending: Vec::new(),
            caret: None,
            is_finished: false,
        }
    }

    /// Shows `text`, with a caret while it grows.
    pub(crate) fn show(&mut self, text: &str, is_growing: bool) {
        if let Some(caret) = &self.caret {
            caret.remove();
        }
        let update = if is_growing { self.stream.advance(text) } else { self.finish(text) };
        self.apply(update);
        self.is_finished = !is_growing;
        if is_growing {
            let caret = self.caret.get_or_insert_with(caret);
            drop(end_of(&self.open.element).append_child(caret));
        } else {
            self.caret = None;
        }
    }

    /// The last update of a text. A text that was finished and changes again is built anew.
    fn finish(&mut self, text: &str) -> Update {
        if self.is_finished {
            self.stream = Stream::default();
            let update = self.stream.finish(text);
            return Update { restart: true, ..update };
        }
        self.stream.finish(text)
    }

    /// Applies an update to the page.
    fn apply(&mut self, update: Update) {
        if update.restart {
            self.host.set_text_content(None);
            self.past.clear();
            self.hidden.clear();
            self.past_bytes = 0;
            self.past_elements = 0;
            self.pending.clear();
            self.open = Section::at_end_of(&self.host);
        }
        let mut done = update.done;
        loop {
            let rest = done.split_off(self.fitting(&done));
            let n_done = done.len();
            let bytes: usize = done.iter().map(Node::text_bytes).sum();
            let is_full = self.open.bytes.saturating_add(bytes) >= SECTION_BYTES;
            let mut new = done;
            if !is_full {
                new.extend_from_slice(&update.pending);
            }
            patch(&self.open.element, self.open.done, &self.pending, &new);
            self.open.finish_next(n_done);
            self.open.done = self.open.done.saturating_add(u32::try_from(n_done).unwrap_or(u32::MAX));
            self.open.bytes = self.open.bytes.saturating_add(bytes);
            self.pending = new.split_off(n_done);
            if !is_full {
                return;
            }
            self.next_section();
            done = rest;
        }
    }

    /// How many of the blocks `done` the open section takes until it is full.
    fn fitting(&self, done: &[Node]) -> usize {
        let mut bytes = self.open.bytes;
        let is_full = |node: &Node| {
            bytes = bytes.saturating_add(node.text_bytes());
            bytes >= SECTION_BYTES
        };
        done.iter().position(is_full).map_or(done.len(), |at| at.saturating_add(1))
    }

    /// Closes the open section and begins the next.
    fn next_section(&mut self) {
        let mut full = std::mem::replace(&mut self.open, Section::at_end_of(&self.host));
        full.settle();
        full.elements = full.element.query_selector_all("*").map_or(0, |all| all.length());
        self.past_bytes = self.past_bytes.saturating_add(full.bytes);
        self.past_elements = self.past_elements.saturating_add(full.elements);
        self.past.push_back(full);
    }

    /// Removes the beginning of a very long text from the page. Returns whether anything is removed now.
    pub(crate) fn trim(&mut self) -> bool {
        if self.past_bytes > BYTES_MAX || self.past_elements > window::TEXT_ELEMENTS_MAX {
            let is_much =
                |it: &Self| it.past_bytes > BYTES_KEPT || it.past_elements > window::TEXT_ELEMENTS_KEPT;
            while is_much(self)
                && let Some(section) = self.past.pop_front()
            {
                self.past_bytes = self.past_bytes.saturating_sub(section.bytes);
                self.past_elements = self.past_elements.saturating_sub(section.elements);
                section.element.remove();
                self.hidden.push(section);
            }
        }
        !self.hidden.is_empty()
    }

    /// Adds the removed sections again.
    pub(crate) fn show_hidden(&mut self) {
        while let Some(section) = self.hidden.pop() {
            drop(self.host.insert_before(&section.element, self.host.first_child().as_ref()));
            self.past_bytes = self.past_bytes.saturating_add(section.bytes);
            self.past_elements = self.past_elements.saturating_add(section.elements);
            self.past.push_front(section);
        }
    }
}
