//! Colours for code blocks: of those that are closed and in view, when the browser has nothing else to do. They are
//! painted beside the text by the CSS Custom Highlight API; no element is added, whatever the length of the code.

use std::cell::RefCell;

use js_sys::{Array, Function, Object, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry};

use crate::browser;
use crate::highlight::{Token, tokens};

thread_local! {
    static PAINTER: RefCell<Option<Painter>> = RefCell::new(Painter::new());
}

/// What the blocks in view have painted.
struct Painter {
    observer: IntersectionObserver,
    /// The highlights, in the order of [`Token::ALL`].
    highlights: Vec<JsValue>,
    make_range: Function,
    painted: Vec<(Element, Vec<(usize, JsValue)>)>,
}

/// Colours `block`, which is closed, whenever it is in view.
pub(super) fn watch(block: &Element) {
    PAINTER.with_borrow(|painter| {
        if let Some(painter) = painter {
            painter.observer.observe(block);
        }
    });
}

fn get(of: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(of, &name.into()).ok().filter(|it| !it.is_undefined())
}

fn call(of: &JsValue, name: &str, arguments: &Array) {
    if let Some(function) = get(of, name).and_then(|it| it.dyn_into::<Function>().ok()) {
        drop(function.apply(of, arguments));
    }
}

impl Painter {
    /// Nothing where the browser cannot do it.
    fn new() -> Option<Self> {
        let window = browser::window();
        let registry = get(&window, "CSS").and_then(|css| get(&css, "highlights"))?;
        let make: Function = get(&window, "Highlight")?.dyn_into().ok()?;
        let make_range: Function = get(&window, "StaticRange")?.dyn_into().ok()?;
        let mut highlights = Vec::new();
        for token in Token::ALL {
            let highlight = Reflect::construct(&make, &Array::new()).ok()?;
            call(&registry, "set", &Array::of2(&token.name().into(), &highlight));
            highlights.push(highlight);
        }
        let hear = Closure::<dyn FnMut(Array)>::new(|entries: Array| {
            for entry in entries.iter().filter_map(|it| it.dyn_into::<IntersectionObserverEntry>().ok()) {
                let (block, is_in_view) = (entry.target(), entry.is_intersecting());
                if is_in_view {
                    when_idle(move || with(|painter| painter.paint(&block)));
                } else {
                    with(|painter| painter.forget(&block));
                }
            }
        });
        let observer = IntersectionObserver::new(hear.as_ref().unchecked_ref()).ok()?;
        hear.forget();
        Some(Self { observer, highlights, make_range, painted: Vec::new() })
    }

    fn paint(&mut self, block: &Element) {
        let is_painted = self.painted.iter().any(|(known, _)| known.is_same_node(Some(block)));
        if is_painted || !block.is_connected() {
            return;
        }
        let language = block.get_attribute("data-language").unwrap_or_default();
        let Some(node) = block.query_selector("pre code").ok().flatten().and_then(|code| code.first_child())
        else {
            return;
        };
        let code = node.text_content().unwrap_or_default();
        let mut ranges = Vec::new();
        // The browser counts in UTF-16.
        let (mut at, mut units) = (0_usize, 0_u32);
        let mut to_units = |to: usize| {
            let more = code.get(at..to).unwrap_or_default().encode_utf16().count();
            units = units.saturating_add(u32::try_from(more).unwrap_or(0));
            at = to;
            units
        };
        for (range, token) in tokens(&language, &code) {
            let (from, to) = (to_units(range.start), to_units(range.end));
            let place = Object::new();
            for (name, value) in [
                ("startContainer", JsValue::from(&node)),
                ("endContainer", JsValue::from(&node)),
                ("startOffset", JsValue::from(from)),
                ("endOffset", JsValue::from(to)),
            ] {
                drop(Reflect::set(&place, &name.into(), &value));
            }
            let kind = Token::ALL.iter().position(|known| *known == token).unwrap_or(0);
            if let Ok(range) = Reflect::construct(&self.make_range, &Array::of1(&place)) {
                if let Some(highlight) = self.highlights.get(kind) {
                    call(highlight, "add", &Array::of1(&range));
                }
                ranges.push((kind, range));
            }
        }
        self.painted.push((block.clone(), ranges));
    }

    /// The block is out of view, or gone.
    fn forget(&mut self, block: &Element) {
        if let Some(at) = self.painted.iter().position(|(known, _)| known.is_same_node(Some(block))) {
            for (kind, range) in self.painted.swap_remove(at).1 {
                if let Some(highlight) = self.highlights.get(kind) {
                    call(highlight, "delete", &Array::of1(&range));
                }
            }
        }
        if !block.is_connected() {
            self.observer.unobserve(block);
        }
    }
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
