//! Pages of HTML that came with a result, made quiet before a frame shows them.

use js_sys::{Function, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element, Event, HtmlIFrameElement};

use super::element;
use crate::browser;

/// What opens a connection although the policy of the frame refuses the answer: a browser connects to the host of a frame,
/// or looks up that of a hint or link, before it asks the policy. A template may hold any of these out of sight.
const CONNECTING: &str = "iframe,frame,frameset,object,embed,portal,link,base,meta,template";

/// Most times that a page is read again until nothing that connects is left in it: what is written may be read otherwise.
const ROUNDS_MAX: usize = 3;

/// `html` without the elements that make a browser connect; links within the page stay. Nothing where it does not come to
/// rest.
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

/// Puts a frame into `place` with the document of the hub that scripts may run in, and gives it the page that it is to hold.
/// A frame that comes again is given nothing more: what was in it has left. It is made by hand, since a frame that is in the
/// page before it is told where to go has come once already.
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
            // It has no origin that could be named; nobody else has been in the frame.
            drop(window.post_message(&html.into(), "*"));
        }
    });
    drop(place.append_child(&frame));
}

/// `html` as a document without a window: nothing in it runs or is loaded.
fn parse(html: &str) -> Option<Document> {
    let class = Reflect::get(&browser::window(), &"DOMParser".into()).ok()?.dyn_into::<Function>().ok()?;
    let parser = Reflect::construct(&class, &js_sys::Array::new()).ok()?;
    let parse = Reflect::get(&parser, &"parseFromString".into()).ok()?.dyn_into::<Function>().ok()?;
    parse.call2(&parser, &html.into(), &JsValue::from("text/html")).ok()?.dyn_into().ok()
}

/// Strikes what connects; whether there was any.
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
