//! Colours for code blocks: of those that are closed and in view, when the browser has nothing else to do. Each coloured
//! stretch is an element for as long as its block is in view.
//!
//! Highlights beside the text (CSS Custom Highlight API) would need no elements, but browsers look through all of them
//! again after each change of the page, and paint what they mark: while a text streams, that is each frame.

use std::cell::RefCell;

use js_sys::Array;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry, Node};

use super::{element, highlight};
use crate::browser::{self, document};
use crate::highlight::{cuts, tokens};

/// Most coloured stretches on the page, all blocks together.
const STRETCHES_MAX: usize = 600;

thread_local! {
    static PAINTER: RefCell<Option<Painter>> = RefCell::new(Painter::new());
}

/// What the blocks in view have painted.
struct Painter {
    observer: IntersectionObserver,
    /// Coloured blocks, with the number of their stretches.
    painted: Vec<(Element, usize)>,
}

/// Colours `block`, which is closed, whenever it is in view.
pub(super) fn watch(block: &Element) {
    with(|painter| painter.observer.observe(block));
}

impl Painter {
    /// Nothing where the browser cannot do it.
    fn new() -> Option<Self> {
        let hear = Closure::<dyn FnMut(Array)>::new(|entries: Array| {
            for entry in entries.iter().filter_map(|it| it.dyn_into::<IntersectionObserverEntry>().ok()) {
                let (block, is_in_view) = (entry.target(), entry.is_intersecting());
                if is_in_view {
                    when_idle(move || {
                        with(|painter| painter.paint(&block));
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

    /// The block is out of view, or gone.
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

fn code_of(block: &Element) -> Option<Element> {
    block.query_selector("pre code").ok().flatten()
}

/// What holds the text of a code: itself, or its pieces where it is long.
fn hosts(code: &Element) -> Vec<Node> {
    let pieces = code.children();
    let pieces =
        (0..pieces.length()).filter_map(|at| pieces.item(at)).filter(|it| it.class_name() == "piece");
    let pieces: Vec<Node> = pieces.map(Node::from).collect();
    if pieces.is_empty() { vec![code.clone().into()] } else { pieces }
}

/// Whether any of it is selected: that must stay so.
fn is_selected(code: &Element) -> bool {
    let selection = browser::window().get_selection().ok().flatten();
    selection.is_some_and(|it| {
        !it.is_collapsed() && it.contains_node_with_allow_partial_containment(code, true).unwrap_or(false)
    })
}

fn with(work: impl FnOnce(&mut Painter)) {
    PAINTER.with_borrow_mut(|painter| {
        if let Some(painter) = painter {
            work(painter);
        }
    });
}

/// Calls `work` when the browser has nothing else to do.
fn when_idle(work: impl FnOnce() + 'static) {
    let work = Closure::once_into_js(work);
    let window = browser::window();
    if window.request_idle_callback(work.unchecked_ref()).is_err() {
        drop(window.set_timeout_with_callback_and_timeout_and_arguments_0(work.unchecked_ref(), 100));
    }
}
