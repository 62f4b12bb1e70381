//! Typesets formulas of final blocks as `MathML`. Until then, and where a formula cannot be read, its source is
//! shown.
//!
//! What typesets is a module of the page: the first formula has it fetched.
//!
//! ```text
//! final block ─▶ watch: its formulas are queued ─▶ wake (set by the page) ─▶ module ─▶ typeset: <math> in their place
//! ```

use std::cell::RefCell;

use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

use super::highlight;
use crate::browser::document;
use crate::mathematics::{Attributes, MathNode, formula, without_marks};

/// The most elements of formulas on the page. Further formulas keep their source.
const ELEMENTS_MAX: usize = 12_000;

/// The namespace of `MathML`.
const MATHML: &str = "http://www.w3.org/1998/Math/MathML";

thread_local! {
    /// The formulas that wait.
    static WAITING: RefCell<Vec<Element>> = const { RefCell::new(Vec::new()) };
    /// What the page does when some wait.
    static WAKE: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) };
}

/// Sets what is called when formulas or diagrams wait.
pub(crate) fn when_waiting(wake: impl Fn() + 'static) {
    WAKE.set(Some(Box::new(wake)));
}

/// Queues the formulas in `block`, which must be final.
pub(super) fn watch(block: &Element) {
    let Ok(found) = block.query_selector_all(".formula") else { return };
    if found.length() == 0 {
        return;
    }
    let found = (0..found.length()).filter_map(|at| found.get(at)?.dyn_into::<Element>().ok());
    let is_first = WAITING.with_borrow_mut(|waiting| {
        let is_first = waiting.is_empty();
        waiting.extend(found);
        is_first
    });
    if is_first {
        wake();
    }
}

/// Tells the page that something waits.
pub(super) fn wake() {
    WAKE.with_borrow(|wake| {
        if let Some(wake) = wake {
            wake();
        }
    });
}

/// Typesets the formulas that wait.
pub(crate) fn typeset() {
    let waiting = WAITING.take();
    let Ok(there) = document().query_selector_all("math *") else { return };
    let mut left = ELEMENTS_MAX.saturating_sub(usize::try_from(there.length()).unwrap_or(usize::MAX));
    for place in waiting {
        let source = place.text_content().unwrap_or_default();
        let Some((inside, is_display)) = without_marks(&source) else { continue };
        let Some(node) = formula(inside).filter(|node| node.elements() <= left) else { continue };
        left = left.saturating_sub(node.elements());
        let Some(math) = build_math(&node, inside, is_display) else { continue };
        place.set_text_content(None);
        drop(place.append_child(&math));
        if is_display {
            // A wide formula scrolls, also with the keyboard.
            drop(place.set_attribute("tabindex", "0"));
        }
    }
    highlight::again();
}

/// The element of a formula; its source goes with it as an annotation.
fn build_math(node: &MathNode, source: &str, is_display: bool) -> Option<Element> {
    let math = mathml("math", if is_display { &[("display", "block")] } else { &[] })?;
    let semantics = mathml("semantics", &[])?;
    let annotation = mathml("annotation", &[("encoding", "application/x-tex")])?;
    annotation.set_text_content(Some(source));
    for (parent, child) in
        [(&semantics, &build(node)?), (&semantics, &annotation.into()), (&math, &semantics.clone().into())]
    {
        drop(parent.append_child(child));
    }
    Some(math)
}

/// The element of a node and its children.
fn build(node: &MathNode) -> Option<Node> {
    match node {
        MathNode::Leaf(name, attributes, text) => {
            let leaf = mathml(name, attributes)?;
            leaf.set_text_content(Some(text));
            Some(leaf.into())
        }
        MathNode::Element(name, attributes, children) => {
            let element = mathml(name, attributes)?;
            for child in children {
                drop(element.append_child(&build(child)?));
            }
            Some(element.into())
        }
    }
}

/// An element of `MathML` with its attributes.
fn mathml(name: &str, attributes: Attributes) -> Option<Element> {
    let element = document().create_element_ns(Some(MATHML), name).ok()?;
    for (key, value) in attributes {
        drop(element.set_attribute(key, value));
    }
    Some(element)
}
