//! Exports an object `fanlightDecoder` with six functions to the page.
//!
//! ```text
//! detect(bytes) ─▶ the dialect, or ""
//! open(dialect) ─▶ whether there is such a one; what was read before is forgotten
//! feed(bytes)   ─▶ events, one a line
//! end()         ─▶ the last of them
//! pattern(source)               ─▶ "", or what is wrong with the pattern; it stays until the next one
//! places(text, deadline in ms)  ─▶ Uint32Array: 1 where the text was searched to its end, then start and end of each place
//! ```
//!
//! The module has one reader and one pattern at a time; another one replaces it. Without a reader `feed` and
//! `end` return an empty text, and without a pattern `places` finds nothing in a text that counts as
//! searched. No function throws for what bytes, texts or patterns contain. The places are byte offsets in the
//! UTF-8 form of the text.
//!
//! On any other target the program does nothing; tests use the library.

#[cfg(target_arch = "wasm32")]
fn main() {
    use std::cell::RefCell;
    use std::rc::Rc;

    use decoder::{Pattern, Reader};
    use js_sys::{Date, Object, Reflect, Uint8Array, Uint32Array};
    use wasm_bindgen::JsValue;
    use wasm_bindgen::prelude::Closure;

    let reader = Rc::new(RefCell::new(None::<Reader>));
    let functions = Object::new();
    // Plain objects take any property.
    let add = |name: &str, function: JsValue| drop(Reflect::set(&functions, &name.into(), &function));
    let detect = |bytes: Uint8Array| dialects::detect(&bytes.to_vec()).unwrap_or_default().to_owned();
    add("detect", Closure::<dyn Fn(Uint8Array) -> String>::new(detect).into_js_value());
    let its_reader = Rc::clone(&reader);
    let open = move |dialect: String| {
        *its_reader.borrow_mut() = Reader::of(&dialect);
        its_reader.borrow().is_some()
    };
    add("open", Closure::<dyn Fn(String) -> bool>::new(open).into_js_value());
    let its_reader = Rc::clone(&reader);
    let feed = move |bytes: Uint8Array| {
        its_reader.borrow_mut().as_mut().map_or_else(String::new, |reader| reader.feed(&bytes.to_vec()))
    };
    add("feed", Closure::<dyn Fn(Uint8Array) -> String>::new(feed).into_js_value());
    let end = move || reader.borrow_mut().take().map_or_else(String::new, Reader::end);
    add("end", Closure::<dyn Fn() -> String>::new(end).into_js_value());
    let pattern = Rc::new(RefCell::new(None::<Pattern>));
    let its_pattern = Rc::clone(&pattern);
    let compile = move |source: String| match Pattern::new(&source) {
        Ok(new) => {
            *its_pattern.borrow_mut() = Some(new);
            String::new()
        }
        Err(why) => why,
    };
    add("pattern", Closure::<dyn Fn(String) -> String>::new(compile).into_js_value());
    let places = move |text: String, deadline: f64| {
        let found = pattern.borrow().as_ref().map(|it| it.places(&text, &mut || Date::now() > deadline));
        let mut numbers = vec![u32::from(found.as_ref().is_none_or(|found| found.is_whole))];
        let ranges = found.map(|found| found.ranges).unwrap_or_default();
        // A text of the page is shorter than 4 GiB.
        let ends = ranges.into_iter().flat_map(|range| [range.start, range.end]);
        numbers.extend(ends.map(|at| u32::try_from(at).unwrap_or(u32::MAX)));
        Uint32Array::from(numbers.as_slice())
    };
    add("places", Closure::<dyn Fn(String, f64) -> Uint32Array>::new(places).into_js_value());
    drop(Reflect::set(&js_sys::global(), &"fanlightDecoder".into(), &functions));
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
