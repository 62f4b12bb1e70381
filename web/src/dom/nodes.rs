//! Markdown nodes as elements. Elements come from the closed list of [`Tag`], and texts become text nodes:
//! nothing is parsed as HTML.
//!
//! ```text
//! stream of Markdown ─▶ markdown::parse ─▶ Vec<Node>  old ┐
//!                                                     new ┴─▶ patch: only what differs is touched
//! ```
//!
//! A text that grows changes one text node at its end; so a selection in what stands before stays.

use wasm_bindgen::JsCast;
use web_sys::{Element, Node as DomNode, Text};

use super::{element, update_text};
use crate::browser::document;
use crate::images;
use crate::markdown::{Align, Node, Tag};

/// The CSS class of a formula.
pub(super) const FORMULA: &str = "formula";

/// Changes the children of `parent` from index `first` on, which show `old`, so that they show `new`. Nodes
/// are compared by their index; one that has another tag is built anew. The children before `first` are not
/// looked at.
pub(super) fn patch(parent: &DomNode, first: u32, old: &[Node], new: &[Node]) {
    let children = parent.child_nodes();
    for (at, node) in (first..).zip(new) {
        let index = usize::try_from(at.saturating_sub(first)).unwrap_or(usize::MAX);
        match (old.get(index), children.get(at)) {
            (Some(before), Some(child)) => change(parent, &child, before, node),
            _ => drop(parent.append_child(&build(node))),
        }
    }
    let keep = first.saturating_add(u32::try_from(new.len()).unwrap_or(u32::MAX));
    for _ in new.len()..old.len() {
        if let Some(child) = children.get(keep) {
            drop(parent.remove_child(&child));
        }
    }
}

/// Changes `child`, which shows `old`, so that it shows `new`.
fn change(parent: &DomNode, child: &DomNode, old: &Node, new: &Node) {
    match (old, new) {
        (old, new) if old == new => {}
        (Node::Text(before), Node::Text(text)) => update_text(child.unchecked_ref::<Text>(), before, text),
        (Node::Element(was, before), Node::Element(tag, children)) if was == tag => {
            patch(&inside(child, tag), 0, before, children);
        }
        _ => drop(parent.replace_child(&build(new), child)),
    }
}

/// The node that contains the children of an element with this tag. A code block has its children in `pre >
/// code`, a table in an inner `table`, an image in its link.
fn inside(element: &DomNode, tag: &Tag) -> DomNode {
    if let (Tag::Image(url), Some(link)) = (tag, element.first_child())
        && !url.is_empty()
    {
        // The image may be shown after the link.
        return link;
    }
    let depth = match tag {
        Tag::CodeBlock(_) => 2,
        Tag::Table | Tag::Note(_) => 1,
        _ => 0,
    };
    let mut at = element.clone();
    for _ in 0..depth {
        at = at.last_child().unwrap_or(at);
    }
    at
}

/// The DOM node of `node` and its children.
fn build(node: &Node) -> DomNode {
    match node {
        Node::Text(text) => document().create_text_node(text).into(),
        Node::Element(tag, children) => {
            let element: DomNode = make(tag).into();
            let host = inside(&element, tag);
            for child in children {
                drop(host.append_child(&build(child)));
            }
            element
        }
    }
}

/// The empty element for a tag. What is not in this table cannot be made, whatever a stream says.
fn make(tag: &Tag) -> Element {
    match tag {
        Tag::Paragraph => read_from_its_side(element("p", "")),
        Tag::Stretch => element("span", "piece"),
        // The heading of a run is `h2`. Models begin with any level and skip some; two levels are enough for
        // an outline without gaps. The others differ in size.
        Tag::Heading(level) => match level {
            1 => read_from_its_side(element("h3", "")),
            2 => read_from_its_side(element("h3", "second")),
            3 => read_from_its_side(element("h3", "low")),
            _ => read_from_its_side(element("h4", "low")),
        },
        Tag::Quote => read_from_its_side(element("blockquote", "")),
        Tag::List(None) => read_from_its_side(element("ul", "")),
        Tag::List(Some(first)) => with(read_from_its_side(element("ol", "")), "start", &first.to_string()),
        Tag::Item => element("li", ""),
        Tag::Task(done) => task(*done),
        Tag::Rule => element("hr", ""),
        Tag::Break => element("br", ""),
        Tag::Emphasis => element("em", ""),
        Tag::Strong => element("strong", ""),
        Tag::Strike => element("del", ""),
        Tag::Code => element("code", ""),
        Tag::CodeBlock(language) => code_block(language),
        Tag::Link(url) => link(url),
        Tag::Image(url) if url.is_empty() => element("span", "image"),
        Tag::Image(url) => image(url),
        Tag::Raw => element("span", "raw"),
        Tag::Formula(false) => element("span", FORMULA),
        Tag::Formula(true) => element("span", "formula display"),
        Tag::NoteMark => element("sup", "note-mark"),
        Tag::Note(label) => {
            let note = element("div", "note-of");
            let mark = with(element("sup", "note-mark"), "data-t", "furniture");
            mark.set_text_content(Some(label));
            let body = element("div", "");
            for child in [&mark, &body] {
                drop(note.append_child(child));
            }
            note
        }
        Tag::Table => {
            // A wide table scrolls inside its own box.
            let around = with(element("div", "table"), "tabindex", "0");
            drop(around.append_child(&element("table", "")));
            around
        }
        Tag::Row => element("tr", ""),
        Tag::Cell { head, align } => {
            let class = match align {
                Align::Start => "",
                Align::Center => "center",
                Align::End => "num",
            };
            read_from_its_side(element(if *head { "th" } else { "td" }, class))
        }
    }
}

/// Lets the browser choose the side from which the text of an element is read, by its first letter: Arabic and Hebrew from the right.
fn read_from_its_side(element: Element) -> Element {
    with(element, "dir", "auto")
}

/// Sets an attribute and returns the element.
fn with(element: Element, name: &str, value: &str) -> Element {
    drop(element.set_attribute(name, value));
    element
}

/// The checkbox of a task list, which cannot be changed.
fn task(done: bool) -> Element {
    let mut tick = with(element("input", "task"), "type", "checkbox");
    tick = with(tick, "disabled", "");
    tick = with(tick, "aria-label", if done { "done" } else { "to do" });
    if done { with(tick, "checked", "") } else { tick }
}

/// A link that opens in a new tab without a referrer. The parser has refused addresses other than those of
/// [`Tag::Link`].
fn link(url: &str) -> Element {
    let link = with(element("a", ""), "href", url);
    with(with(link, "rel", "noopener noreferrer"), "target", "_blank")
}

/// The link in place of an image on another host: the image is loaded only when the reader asks for it, since
/// its address may carry what an agent knows.
fn image(url: &str) -> Element {
    let mut link = with(link(url), "class", "image");
    if let Some(host) = images::host(url) {
        link = with(link, "data-from", host);
    }
    let around = element("span", "");
    drop(around.append_child(&link));
    around
}

/// A code block with a head of the page's own: the language and the copy button.
fn code_block(language: &str) -> Element {
    let block = with(element("div", "code"), "data-language", language);
    let head = with(element("div", "code-head"), "data-t", "furniture");
    let name = element("span", "");
    name.set_text_content(Some(if language.is_empty() { "text" } else { language }));
    let copy = with(with(element("button", "copy"), "type", "button"), "data-copy", "code");
    copy.set_text_content(Some("Copy"));
    // Long lines scroll, also with the keyboard.
    let pre = with(with(element("pre", ""), "tabindex", "0"), "dir", "ltr");
    for (parent, child) in [(&head, &name), (&head, &copy), (&block, &head), (&block, &pre)] {
        drop(parent.append_child(child));
    }
    drop(pre.append_child(&element("code", "")));
    block
}

/// The innermost last element that contains text: the place of the caret. It does not go into links, inline
/// code, images and the like, which are complete when they are drawn.
pub(super) fn end_of(host: &Element) -> Element {
    let mut at = host.clone();
    while let Some(last) = at.last_element_child() {
        let is_last = at.last_child().is_some_and(|node| node.is_same_node(Some(&last)));
        let is_closed = last.class_name().starts_with(FORMULA)
            || matches!(last.tag_name().as_str(), "BR" | "HR" | "INPUT" | "A" | "IFRAME" | "CODE" if last.tag_name() != "CODE" || !in_pre(&last));
        if !is_last || is_closed {
            break;
        }
        at = last;
    }
    at
}

/// Whether the parent of `element` is a `pre`.
fn in_pre(element: &Element) -> bool {
    element.parent_element().is_some_and(|parent| parent.tag_name() == "PRE")
}
