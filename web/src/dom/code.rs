//! Colours of code blocks. A complete block is coloured when it is in view and the browser is idle. Each
//! coloured stretch is an element while its block is in view.
//!
//! Highlights beside the text (CSS Custom Highlight API) would need no elements, but browsers check all of
//! them and repaint what they mark after each change of the page: in each frame while a text streams.

use std::cell::RefCell;

use js_sys::Array;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry, Node};

use super::{diagram, element, highlight};
use crate::browser::{self, document};
use crate::highlight::{cuts, tokens};

/// The most coloured stretches on the page, in all blocks together.
const STRETCHES_MAX: usize = 600;

thread_local! {
    /// The painter of the page; `None` in browsers that cannot tell what is in view: nothing is coloured
    /// there.
    static PAINTER: RefCell<Option<Painter>> = RefCell::new(Painter::new());
}

/// The blocks that are coloured now. There is one for all texts, since its bound is that of the page.
struct Painter {
    /// Watches which blocks are in view.
    observer: IntersectionObserver,
    /// The coloured blocks, each with the number of its stretches.
    painted: Vec<(Element, usize)>,
}

/// Colours `block`, which must be complete, whenever it is in view, and has it drawn if it is a diagram. One that was drawn before, in
/// an element that is gone, is shown at once.
pub(super) fn watch(block: &Element) {
    diagram::recall(block);
    with(|painter| painter.observer.observe(block));
}

impl Painter {
    /// `None` if the browser has no `IntersectionObserver`.
    fn new() -> Option<Self> {
        let hear = Closure::<dyn FnMut(Array)>::new(|entries: Array| {
            for entry in entries.iter().filter_map(|it| it.dyn_into::<IntersectionObserverEntry>().ok()) {
                let (block, is_in_view) = (entry.target(), entry.is_intersecting());
                if is_in_view {
                    when_idle(move || {
                        with(|painter| painter.paint(&block));
                        diagram::want(&block);
                        highlight::again();
                    });
                } else {
                    with(|painter| painter.forget(&block));
                }
            }
            highlight::again();
        });
        let observer = IntersectionObserver::new(hear.as_ref().unchecked_ref()).ok()?;
        hear.forget();
        Some(Self { observer, painted: Vec::new() })
    }

    /// Colours a block, unless part of it is selected or the page has enough stretches.
    fn paint(&mut self, block: &Element) {
        let is_painted = self.painted.iter().any(|(known, _)| known.is_same_node(Some(block)));
        let Some(code) = code_of(block).filter(|_| !is_painted && block.is_connected()) else { return };
        let language = block.get_attribute("data-language").unwrap_or_default();
        let text = code.text_content().unwrap_or_default();
        let used: usize = self.painted.iter().map(|(_, stretches)| stretches).sum();
        let mut tokens = tokens(&language, &text);
        tokens.truncate(STRETCHES_MAX.saturating_sub(used));
        if tokens.is_empty() || is_selected(&code) {
            return;
        }
        let mut from = 0_usize;
        for host in hosts(&code) {
            let to = from.saturating_add(host.text_content().map_or(0, |piece| piece.len()));
            host.set_text_content(None);
            for (cut, token) in cuts(&tokens, from..to) {
                let text = document().create_text_node(text.get(cut).unwrap_or_default());
                let Some(token) = token else {
                    drop(host.append_child(&text));
                    continue;
                };
                let stretch = element("span", token.class());
                drop(stretch.append_child(&text));
                drop(host.append_child(&stretch));
            }
            from = to;
        }
        self.painted.push((block.clone(), tokens.len()));
    }

    /// Removes the colours of a block that is out of view or was removed from the page.
    fn forget(&mut self, block: &Element) {
        let Some(code) = code_of(block) else { return };
        let at = self.painted.iter().position(|(known, _)| known.is_same_node(Some(block)));
        let is_gone = !block.is_connected();
        if let Some(at) = at.filter(|_| is_gone || !is_selected(&code)) {
            self.painted.swap_remove(at);
            for host in hosts(&code) {
                host.set_text_content(host.text_content().as_deref());
            }
        }
        if is_gone {
            self.observer.unobserve(block);
        }
    }
}

/// The code element of a block.
fn code_of(block: &Element) -> Option<Element> {
    block.query_selector("pre code").ok().flatten()
}

/// The nodes that hold the text of a code: the pieces of a long one, otherwise the code itself.
fn hosts(code: &Element) -> Vec<Node> {
    let pieces = code.children();
    let pieces =
        (0..pieces.length()).filter_map(|at| pieces.item(at)).filter(|it| it.class_name() == "piece");
    let pieces: Vec<Node> = pieces.map(Node::from).collect();
    if pieces.is_empty() { vec![code.clone().into()] } else { pieces }
}

/// Whether part of the code is selected: changing or hiding its nodes would lose the selection.
pub(super) fn is_selected(code: &Element) -> bool {
    let selection = browser::window().get_selection().ok().flatten();
    selection.is_some_and(|it| {
        !it.is_collapsed() && it.contains_node_with_allow_partial_containment(code, true).unwrap_or(false)
    })
}

/// Calls `work` with the painter, if the browser supports it. Not to be called by the painter itself.
fn with(work: impl FnOnce(&mut Painter)) {
    PAINTER.with_borrow_mut(|painter| {
        if let Some(painter) = painter {
            work(painter);
        }
    });
}

/// Calls `work` when the browser is idle. Browsers that do not tell when that is wait for 100 ms.
fn when_idle(work: impl FnOnce() + 'static) {
    let work = Closure::once_into_js(work);
    let window = browser::window();
    if window.request_idle_callback(work.unchecked_ref()).is_err() {
        drop(window.set_timeout_with_callback_and_timeout_and_arguments_0(work.unchecked_ref(), 100));
    }
}
