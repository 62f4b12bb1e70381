//! Finds what the reader looks at: the first row in the window.

use wasm_bindgen::JsCast;
use web_sys::{Element, NodeList};

/// Rows and the elements that contain them; an outer element comes before the inner ones.
const ROWS: &str = ".turn, [data-row], [data-nav], .ans > *";

/// A section of an answer. Its blocks are searched only if it is visible, since the browser has laid out no
/// others.
const SECTION: &str = ".ans > *";

/// The innermost first row of `content` that extends below `top`, with its own top; both in pixels of the
/// screen.
pub(super) fn first(content: &Element, top: f64) -> Option<(Element, f64)> {
    let row = below(&content.query_selector_all(ROWS).ok()?, top)?;
    let section = row.0.closest(SECTION).ok().flatten();
    section.and_then(|it| below(&it.child_nodes(), top)).or(Some(row))
}

/// The first of `nodes` that extends below `top`, or the innermost such node inside it.
fn below(nodes: &NodeList, top: f64) -> Option<(Element, f64)> {
    let mut first: Option<(Element, f64)> = None;
    for row in (0..nodes.length()).filter_map(|n| nodes.get(n)?.dyn_into::<Element>().ok()) {
        let place = row.get_bounding_client_rect();
        if place.bottom() <= top {
            continue;
        }
        if first.as_ref().is_some_and(|(outer, _)| !outer.contains(Some(&row))) {
            break;
        }
        first = Some((row, place.top()));
    }
    first
}
