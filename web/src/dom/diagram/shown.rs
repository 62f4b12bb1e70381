//! A block as a diagram: the drawing in place of its source, the source again, or why there is no drawing.

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, Range};

use crate::browser::document;
use crate::diagrams::{Drawing, LATE, Outcome};
use crate::dom::{code, element, highlight};

/// How small a drawing may be shown in a narrow place, as a part of its own size.
const LEAST_SCALE: f64 = 0.6;

/// What marks a block whose source is shown for a hit of Find, not because its reader turned it.
const FOUND: &str = "data-found";

/// Shows the source of a drawn `block` in place of the drawing, or the drawing again, since its reader wants it.
pub(crate) fn turn(block: &Element) {
    drop(block.remove_attribute(FOUND));
    toggle(block);
}

/// Shows the source in place of the drawing, or the drawing again.
fn toggle(block: &Element) {
    let is_source = block.class_list().toggle("source").unwrap_or_default();
    if let Ok(Some(button)) = block.query_selector("[data-turn]") {
        drop(button.set_attribute("aria-pressed", &is_source.to_string()));
    }
}

/// Shows the source of the diagram in whose source `element` stands, if the drawing is shown. It is for a hit of Find.
pub(in crate::dom) fn uncover(element: &Element) {
    let source = element.closest(".code.drawn:not(.source) > pre").ok().flatten();
    if let Some(block) = source.and_then(|source| source.parent_element()) {
        drop(block.set_attribute(FOUND, ""));
        toggle(&block);
    }
}

/// Shows the drawings again whose source was shown for a hit that is none any more: all but those in whose source one of `hits` is.
pub(in crate::dom) fn cover(hits: &[Range]) {
    let Ok(found) = document().query_selector_all(&format!(".code.source[{FOUND}] > pre")) else { return };
    for source in (0..found.length()).filter_map(|at| found.get(at)?.dyn_into::<Element>().ok()) {
        let is_in = |hit: &Range| hit.start_container().is_ok_and(|node| source.contains(Some(&node)));
        let Some(block) = source.parent_element().filter(|_| !hits.iter().any(is_in)) else { continue };
        if !is_in_use(&block) {
            turn(&block);
        }
    }
}

/// The source of a block.
pub(super) fn source_of(block: &Element) -> String {
    let code = block.query_selector("pre code").ok().flatten();
    code.and_then(|code| code.text_content()).unwrap_or_default()
}

/// Shows the drawing, or says why there is none.
pub(super) fn present(block: &Element, outcome: &Outcome) {
    match outcome {
        Ok(drawing) => show(block, drawing),
        Err(why) => refuse(block, why),
    }
}

/// Whether the source of `block` has the focus, or part of it is selected.
fn is_in_use(block: &Element) -> bool {
    let Ok(Some(pre)) = block.query_selector("pre") else { return false };
    code::is_selected(&pre) || document().active_element().is_some_and(|focused| pre.contains(Some(&focused)))
}

/// Puts the drawing above the source, which is hidden unless its reader uses it, and a button into the head that shows it again.
fn show(block: &Element, drawing: &Drawing) {
    clear(block);
    let (Ok(Some(pre)), Ok(Some(copy))) = (block.query_selector("pre"), block.query_selector("[data-copy]"))
    else {
        return;
    };
    let place = element("div", "diagram");
    for (key, value) in
        [("data-t", "furniture"), ("role", "group"), ("aria-label", "Diagram"), ("tabindex", "0")]
    {
        drop(place.set_attribute(key, value));
    }
    let versions = [("light", &drawing.light), ("dark", &drawing.dark)];
    let is_one = drawing.dark.is_empty();
    for (class, svg) in versions.into_iter().filter(|(_, svg)| !svg.is_empty()) {
        let image = element("img", if is_one { "paper" } else { class });
        let (width, height) = (drawing.width.to_string(), drawing.height.to_string());
        let source =
            format!("data:image/svg+xml;charset=utf-8,{}", String::from(js_sys::encode_uri_component(svg)));
        for (key, value) in
            [("alt", &drawing.words), ("width", &width), ("height", &height), ("src", &source)]
        {
            drop(image.set_attribute(key, value));
        }
        // One that is shown anew leaves no gap for a moment.
        drop(image.set_attribute("decoding", "sync"));
        // A wide one scrolls, before its texts are too small to read.
        let least = format!("{}px", f64::from(drawing.width) * LEAST_SCALE);
        drop(image.unchecked_ref::<HtmlElement>().style().set_property("min-width", &least));
        drop(place.append_child(&image));
    }
    let button = element("button", "copy");
    let is_source = is_in_use(block);
    if is_source {
        drop(block.class_list().add_1("source"));
    }
    for (key, value) in
        [("type", "button"), ("data-turn", ""), ("aria-pressed", if is_source { "true" } else { "false" })]
    {
        drop(button.set_attribute(key, value));
    }
    button.set_text_content(Some("Source"));
    drop(copy.before_with_node_1(&button));
    drop(pre.before_with_node_1(&place));
    drop(block.class_list().add_1("drawn"));
    drop(block.set_attribute("data-drawn", "drawn"));
    // A hit of Find in the source shows the source.
    highlight::again();
}

/// Says above the source why it is not drawn. What took too long has a button that tries again.
pub(super) fn refuse(block: &Element, why: &str) {
    clear(block);
    let Ok(Some(pre)) = block.query_selector("pre") else { return };
    // No `p`, which Find takes for a text of the answer.
    let line = element("div", "why");
    drop(line.set_attribute("data-t", "furniture"));
    line.set_text_content(Some(&format!("Not drawn: {why}.")));
    if why == LATE {
        let button = element("button", "copy");
        drop(button.set_attribute("type", "button"));
        drop(button.set_attribute("data-again", ""));
        button.set_text_content(Some("Draw again"));
        drop(line.append_with_str_1(" "));
        drop(line.append_child(&button));
    }
    drop(pre.before_with_node_1(&line));
    drop(block.set_attribute("data-drawn", "refused"));
}

/// Removes what was said of `block` before.
pub(super) fn clear(block: &Element) {
    if let Ok(Some(line)) = block.query_selector(".why") {
        line.remove();
    }
}
