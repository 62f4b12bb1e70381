//! Images on other hosts.
//!
//! The page itself may load none of them. The hub serves an empty document that may load images and nothing
//! else. A click on the link of an image loads that document into a frame after the link, and the image into
//! it.
//!
//! Listeners hold no reference to the frame, so that a removed frame is freed.

use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlElement, HtmlIFrameElement, HtmlImageElement};

use super::element;
use crate::browser;

/// Loads the image that `link` offers. False if it offers none.
pub(crate) fn load(link: &Element) -> bool {
    let (Some(host), Some(url)) = (link.get_attribute("data-from"), link.get_attribute("href")) else {
        return false;
    };
    let frame = element("iframe", "embed");
    let name = format!("An image from {host}");
    // No scripts: the page reaches into the frame. The frame gets no wheel or key events.
    for (key, value) in [
        ("sandbox", "allow-same-origin"),
        ("title", name.as_str()),
        ("data-host", host.as_str()),
        ("tabindex", "-1"),
        ("src", "/image"),
    ] {
        drop(frame.set_attribute(key, value));
    }
    // The document is empty again after the frame was moved in the page.
    browser::watch(&frame, "load", move |event: Event| {
        if let Some(frame) = event.current_target().map(JsCast::unchecked_into::<HtmlIFrameElement>)
            && show(&frame, &url, &name).is_none()
        {
            give_back(&frame);
        }
    });
    // The next click opens the link as usual.
    drop(link.remove_attribute("data-from"));
    drop(link.remove_attribute("class"));
    drop(link.after_with_node_1(&frame));
    true
}

/// Adds the image at `url` to the document of `frame`. `None` if the document is not the hub's.
fn show(frame: &HtmlIFrameElement, url: &str, name: &str) -> Option<()> {
    let document = frame.content_document()?;
    let image = document.create_element("img").ok()?;
    for event in ["load", "error"] {
        browser::watch(&image, event, |event: Event| {
            settle(&event);
        });
    }
    drop(image.set_attribute("alt", name));
    drop(image.set_attribute("src", url));
    document.body()?.append_child(&image).ok().map(drop)
}

/// Gives the frame the aspect ratio of its image; removes it if the image could not be loaded.
fn settle(event: &Event) -> Option<()> {
    let image: HtmlImageElement = event.current_target()?.unchecked_into();
    let frame = image.owner_document()?.default_view()?.frame_element().ok()??;
    let (width, height) = (image.natural_width(), image.natural_height());
    if event.type_() == "error" {
        give_back(&frame);
    } else if height > 0 {
        let style = format!("height:auto;aspect-ratio:{width}/{height};max-height:min({height}px,320px)");
        frame.unchecked_ref::<HtmlElement>().style().set_css_text(&style);
    }
    Some(())
}

/// Removes `frame`. Its link offers the image again and is marked as failed.
fn give_back(frame: &Element) {
    if let (Some(link), Some(host)) = (frame.previous_element_sibling(), frame.get_attribute("data-host")) {
        drop(link.set_attribute("data-from", &host));
        drop(link.set_attribute("class", "failed"));
    }
    frame.remove();
}
