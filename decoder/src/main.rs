//! What the page finds when this module has run: an object `fanlightDecoder` with four functions.
//!
//! ```text
//! detect(bytes) ─▶ the dialect, or ""
//! open(dialect) ─▶ whether there is such a one; what was read before is forgotten
//! feed(bytes)   ─▶ events, one a line
//! end()         ─▶ the last of them
//! ```

#[cfg(target_arch = "wasm32")]
fn main() {
    use std::cell::RefCell;
    use std::rc::Rc;

    use decoder::Reader;
    use js_sys::{Object, Reflect, Uint8Array};
    use wasm_bindgen::JsValue;
    use wasm_bindgen::prelude::Closure;

    let reader = Rc::new(RefCell::new(None::<Reader>));
    let functions = Object::new();
    // Plain objects take any property.
    let add = |name: &str, function: JsValue| drop(Reflect::set(&functions, &name.into(), &function));
    let detect = |bytes: Uint8Array| shared::dialect::detect(&bytes.to_vec()).unwrap_or_default().to_owned();
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
    drop(Reflect::set(&js_sys::global(), &"fanlightDecoder".into(), &functions));
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {}
