//! Images that are elsewhere. The page may load none of them; the hub has an empty document that may load images and
//! nothing else. A click on the link that stands for an image puts it there, in a frame behind the link.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, HtmlElement, HtmlIFrameElement};

use super::element;

/// Loads the image that `link` offers; false where it offers none.
pub(crate) fn load(link: &Element) -> bool {
    let (Some(host), Some(url)) = (link.get_attribute("data-from"), link.get_attribute("href")) else {
        return false;
    };
    let frame = element("iframe", "embed");
    let name = format!("An image from {host}");
    // No scripts: it is the page that reaches into the frame.
    for (key, value) in [("sandbox", "allow-same-origin"), ("title", name.as_str()), ("src", "/image")] {
        drop(frame.set_attribute(key, value));
    }
    let frame: HtmlIFrameElement = frame.unchecked_into();
    let into = frame.clone();
    // A frame that leaves the page and comes back is empty again.
    let fill = Closure::<dyn FnMut()>::new(move || show(&into, &url, &name)).into_js_value();
    drop(frame.add_event_listener_with_callback("load", fill.unchecked_ref()));
    // Another click opens it by itself.
    drop(link.remove_attribute("data-from"));
    drop(link.remove_attribute("class"));
    drop(link.after_with_node_1(&frame));
    true
}

/// Puts the image at `url` into the document of `frame`.
fn show(frame: &HtmlIFrameElement, url: &str, name: &str) {
    let Some(document) = frame.content_document() else { return };
    let (Ok(image), Some(body)) = (document.create_element("img"), document.body()) else { return };
    let (frame, drawn) = (frame.clone(), image.clone());
    let fit = Closure::once_into_js(move || {
        let height = format!("{}px", drawn.client_height());
        drop(frame.unchecked_ref::<HtmlElement>().style().set_property("height", &height));
    });
    drop(image.add_event_listener_with_callback("load", fit.unchecked_ref()));
    drop(image.set_attribute("alt", name));
    drop(image.set_attribute("src", url));
    drop(body.append_child(&image));
}
