//! HTML pages that came with a result: elements that connect are removed before a frame shows such a page.

use js_sys::{Function, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element, Event, HtmlIFrameElement};

use super::element;
use crate::browser;

/// The elements that open a connection before the policy of the frame is asked: a browser connects to the
/// host of a frame, and resolves the host of a hint or link. A template may contain any of them unseen.
const CONNECTING: &str = "iframe,frame,frameset,object,embed,portal,link,base,meta,template";

/// How often a page is parsed again until nothing that connects is left: written HTML may be parsed
/// differently.
const ROUNDS_MAX: usize = 3;

/// Returns `html` without the elements that make a browser connect. Links within the page stay. `None` if
/// some are left after [`ROUNDS_MAX`] rounds.
pub(crate) fn quiet(html: &str) -> Option<String> {
    let mut html = html.to_owned();
    for _ in 0..ROUNDS_MAX {
        let document = parse(&html)?;
        let found = strike(&document)?;
        if !found {
            return Some(html);
        }
        html = document.document_element()?.outer_html();
    }
    None
}

/// Adds a frame to `place` that loads the hub's document for scripts, and sends it the page once it has
/// loaded.
///
/// A frame that loads again is sent nothing: its content navigated away. The frame is built without Leptos,
/// since a frame that is added before its address is set has loaded once already.
pub(crate) fn run(place: &Element, html: String) {
    let frame = element("iframe", "embed");
    for (key, value) in [
        ("data-t", "embed-live"),
        ("sandbox", "allow-scripts"),
        ("referrerpolicy", "no-referrer"),
        ("title", "A page that came with the result, with its scripts"),
        ("src", "/embed"),
    ] {
        drop(frame.set_attribute(key, value));
    }
    let mut html = Some(html);
    browser::watch(&frame, "load", move |event: Event| {
        let frame = event.current_target().map(JsCast::unchecked_into::<HtmlIFrameElement>);
        if let (Some(window), Some(html)) = (frame.and_then(|frame| frame.content_window()), html.take()) {
            // The frame's origin is opaque, so that no target can be named; only the hub's document has been
            // in it.
            drop(window.post_message(&html.into(), "*"));
        }
    });
    drop(place.append_child(&frame));
}

/// Parses `html` into a document without a window: nothing in it is executed or loaded.
fn parse(html: &str) -> Option<Document> {
    let class = Reflect::get(&browser::window(), &"DOMParser".into()).ok()?.dyn_into::<Function>().ok()?;
    let parser = Reflect::construct(&class, &js_sys::Array::new()).ok()?;
    let parse = Reflect::get(&parser, &"parseFromString".into()).ok()?.dyn_into::<Function>().ok()?;
    parse.call2(&parser, &html.into(), &JsValue::from("text/html")).ok()?.dyn_into().ok()
}

/// Removes what connects. Returns whether there was any; `None` if the browser fails.
fn strike(document: &Document) -> Option<bool> {
    let mut found = false;
    let each = |selector: &str, act: &mut dyn FnMut(Element)| {
        let all = document.query_selector_all(selector).ok()?;
        (0..all.length()).filter_map(|at| all.get(at)?.dyn_into::<Element>().ok()).for_each(act);
        Some(())
    };
    each(CONNECTING, &mut |element| {
        element.remove();
        found = true;
    })?;
    each("[href]:not([href^='#'])", &mut |element| {
        drop(element.remove_attribute("href"));
        found = true;
    })?;
    Some(found)
}
