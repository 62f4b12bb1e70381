//! Marks the hits of Find in the conversation without changing an element (CSS Custom Highlight API), so that
//! streaming goes on. Browsers without that API show no marks.
//!
//! ```text
//! TEXTS on the page ─▶ text nodes, joined by block (Joined) ─▶ hits of the matcher ─▶ Range ─▶ CSS.highlights
//! ```
//!
//! A hit may go over several elements of one block, as over bold letters, never over two blocks. Of a formula the source is searched, which
//! is in the document but not shown; a hit in it marks the whole formula.

use std::cell::Cell;

use js_sys::{Array, Function, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DomRect, Element, Node, Range};

use super::diagram;
use crate::browser;
use crate::find::{Joined, Matcher, Spot};

/// The name of the highlight in the styles.
const NAME: &str = "find";

/// The most hits that are marked.
const MARKS_MAX: usize = 500;

/// The elements that contain the text of a call, of thinking, or of an answer.
const TEXTS: &str = ".body .pre, .think-text, .ans";

/// The elements whose text is searched as one, across the elements inside them.
const BLOCKS: &str = ".pre, pre, p, li, td, th, h3, h4, .think-text";

/// The elements whose text is not searched: those in which the letters of a formula stand, whose source is in an `annotation`, and what is
/// the page's own in a text: buttons, why a diagram is not drawn, the word for a code block without a language.
const NOT_SEARCHED: &str =
    "math :not(annotation), button, button *, .why, .code[data-language=''] > .code-head > span";

/// The browser's constant `NodeFilter.SHOW_TEXT`.
const SHOW_TEXT: u32 = 4;

thread_local! {
    /// The matcher whose hits are marked, if any.
    static MARKED: Cell<Option<Box<dyn Matcher>>> = const { Cell::new(None) };
}

/// Marks the same hits again, after a text was moved into other elements.
pub(super) fn again() {
    if let Some(matcher) = MARKED.take() {
        show(Some(matcher));
    }
}

/// Marks the hits of `matcher` in what is on the page now. `None` removes all marks.
pub(crate) fn show(matcher: Option<Box<dyn Matcher>>) {
    MARKED.set(None);
    let window = browser::window();
    let get = |of: &JsValue, name: &str| Reflect::get(of, &name.into()).ok().filter(|it| !it.is_undefined());
    let Some(registry) = get(&window, "CSS").and_then(|css| get(&css, "highlights")) else { return };
    let call = |name: &str, arguments: &Array| {
        if let Some(function) = get(&registry, name).and_then(|it| it.dyn_into::<Function>().ok()) {
            drop(function.apply(&registry, arguments));
        }
    };
    call("delete", &Array::of1(&NAME.into()));
    let root = browser::document().get_element_by_id("transcript");
    let ranges = matcher
        .as_deref()
        .zip(root)
        .map(|(matcher, root)| places(&root, matcher, MARKS_MAX))
        .unwrap_or_default();
    diagram::cover(&ranges);
    if ranges.is_empty() {
        return;
    }
    ranges.iter().for_each(uncover);
    MARKED.set(matcher);
    let Some(make) = get(&window, "Highlight").and_then(|it| it.dyn_into::<Function>().ok()) else { return };
    if let Ok(highlight) = Reflect::construct(&make, &ranges.iter().collect::<Array>()) {
        call("set", &Array::of2(&NAME.into(), &highlight));
    }
}

/// Scrolls the hit with the index `number` in the element `id`, or the last one before it, into view within
/// its own box. Returns its place in the window.
pub(crate) fn bring(id: &str, matcher: &dyn Matcher, number: usize) -> Option<DomRect> {
    let element = browser::document().get_element_by_id(id)?;
    let inside = element.query_selector(TEXTS).ok().flatten().unwrap_or(element);
    let place = places(&inside, matcher, number.saturating_add(1)).pop()?;
    uncover(&place);
    let (rect, frame) = (place.get_bounding_client_rect(), inside.get_bounding_client_rect());
    if inside.scroll_height() > inside.client_height() {
        #[expect(clippy::cast_possible_truncation, reason = "pixels of a page")]
        let down = (rect.top() - frame.top() - frame.height() / 2.0).round() as i32;
        inside.set_scroll_top(inside.scroll_top().saturating_add(down));
    }
    Some(place.get_bounding_client_rect())
}

/// The ranges of the first `most` hits of `matcher` in the text of `root`.
fn places(root: &Element, matcher: &dyn Matcher, most: usize) -> Vec<Range> {
    let Ok(walker) = browser::document().create_tree_walker_with_what_to_show(root, SHOW_TEXT) else {
        return Vec::new();
    };
    let mut places = Vec::new();
    let mut block = Block::default();
    while places.len() < most {
        let node = walker.next_node().ok().flatten();
        let parent = node.as_ref().and_then(Node::parent_element);
        if parent.as_ref().is_some_and(|it| it.matches(NOT_SEARCHED).unwrap_or(false)) {
            continue;
        }
        let of = parent.and_then(|it| it.closest(BLOCKS).ok().flatten());
        if of.is_none() || of != block.of {
            let found = block.joined.places(matcher).filter_map(|(from, to)| block.range(from, to));
            places.extend(found.take(most.saturating_sub(places.len())));
            block = Block { of, ..Block::default() };
        }
        let Some(node) = node else { break };
        block.joined.push(&node.node_value().unwrap_or_default());
        block.nodes.push(node);
    }
    places
}

/// The text nodes of a block, joined for searching. Made while the tree is walked, and dropped with the next
/// block.
#[derive(Default)]
struct Block {
    /// The element of the block; `None` for a text outside of all blocks.
    of: Option<Element>,
    /// The text nodes of the block, in order.
    nodes: Vec<Node>,
    /// The texts of the nodes, joined.
    joined: Joined,
}

impl Block {
    /// The range between two places of the joined text. `None` if the text has changed since.
    fn range(&self, from: Spot, to: Spot) -> Option<Range> {
        let range = browser::document().create_range().ok()?;
        let (first, last) = (self.nodes.get(from.0)?, self.nodes.get(to.0)?);
        match formula_of(first) {
            Some(formula) => range.set_start_before(&formula),
            None => range.set_start(first, from.1),
        }
        .ok()?;
        match formula_of(last) {
            Some(formula) => range.set_end_after(&formula),
            None => range.set_end(last, to.1),
        }
        .ok()?;
        Some(range)
    }
}

/// Shows the source of the diagram in which a hit is.
fn uncover(place: &Range) {
    if let Some(element) = place.start_container().ok().and_then(|node| node.parent_element()) {
        diagram::uncover(&element);
    }
}

/// The formula whose source the text is; `None` for any other text.
fn formula_of(text: &Node) -> Option<Element> {
    text.parent_element()?.closest("annotation").ok()??.closest("math").ok()?
}
