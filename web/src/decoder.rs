//! Loads and calls the decoder module (the crate `decoder`), a WebAssembly program beside the page's own.
//!
//! It is fetched when the first recording is opened or the first pattern is typed. Most readers do neither,
//! and the dialects alone are a third of the page.

use std::ops::Range;

use js_sys::{Array, Function, Object, Promise, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Event;

use crate::browser;

/// The name of the module's object in the window, and of the event that announces it.
const NAME: &str = "fanlightDecoder";

/// Why a recording cannot be opened or a pattern cannot be used while the module cannot be fetched.
const AWAY: &str = "the part of the page that does this cannot be loaded; does the hub run?";

/// The loaded module. It holds one recording and one pattern at a time.
#[derive(Clone)]
pub(crate) struct Decoder(Object);

impl Decoder {
    /// The module. It is fetched by the first call, and again after a failure.
    pub(crate) async fn load() -> Result<Self, String> {
        if let Some(loaded) = Self::loaded() {
            return Ok(loaded);
        }
        let promise = Promise::new(&mut |done, failed| {
            if add_script(&failed).is_none() {
                drop(failed.call0(&JsValue::NULL));
            }
            browser::listen(&browser::window(), NAME, move |_: Event| drop(done.call0(&JsValue::NULL)));
        });
        JsFuture::from(promise).await.map_err(|_event| AWAY.to_owned())?;
        Self::loaded().ok_or_else(|| AWAY.to_owned())
    }

    /// The module, if it is loaded.
    pub(crate) fn loaded() -> Option<Self> {
        Reflect::get(&browser::window(), &NAME.into()).ok()?.dyn_into().ok().map(Self)
    }

    /// The dialect of a recording that begins with `bytes`; empty if unknown.
    pub(crate) fn detect(&self, bytes: &[u8]) -> String {
        self.call("detect", &Uint8Array::from(bytes)).as_string().unwrap_or_default()
    }

    /// Begins a recording in `dialect`, which replaces an earlier one. False if there is no such dialect.
    pub(crate) fn open(&self, dialect: &str) -> bool {
        self.call("open", &dialect.into()).is_truthy()
    }

    /// The events that the next bytes complete, as JSON lines.
    pub(crate) fn feed(&self, bytes: &[u8]) -> String {
        self.call("feed", &Uint8Array::from(bytes)).as_string().unwrap_or_default()
    }

    /// The events that the end of the recording completes, as JSON lines.
    pub(crate) fn end(&self) -> String {
        self.call("end", &JsValue::UNDEFINED).as_string().unwrap_or_default()
    }

    /// Compiles a pattern, which replaces an earlier one. Returns what is wrong with it; empty if nothing is.
    pub(crate) fn pattern(&self, source: &str) -> String {
        self.call("pattern", &source.into()).as_string().unwrap_or_default()
    }

    /// The byte ranges in `text` that match the pattern, and whether the text was searched to its end before
    /// `deadline`, in milliseconds since 1970.
    pub(crate) fn places(&self, text: &str, deadline: u64) -> (bool, Vec<Range<usize>>) {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let deadline = deadline as f64;
        let found = self.apply("places", &Array::of2(&text.into(), &deadline.into()));
        let numbers = found.dyn_into::<Uint32Array>().map(|it| it.to_vec()).unwrap_or_default();
        let at = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let pairs = numbers.get(1..).unwrap_or_default().chunks_exact(2);
        let ranges = pairs.filter_map(|pair| Some(at(*pair.first()?)..at(*pair.last()?)));
        (numbers.first() == Some(&1), ranges.collect())
    }

    /// Calls a function of the module with one argument.
    fn call(&self, name: &str, argument: &JsValue) -> JsValue {
        self.apply(name, &Array::of1(argument))
    }

    /// Calls a function of the module; `undefined` if that fails.
    fn apply(&self, name: &str, arguments: &Array) -> JsValue {
        let function = Reflect::get(&self.0, &name.into()).ok().and_then(|it| it.dyn_into::<Function>().ok());
        function.and_then(|it| it.apply(&JsValue::NULL, arguments).ok()).unwrap_or(JsValue::UNDEFINED)
    }
}

/// Adds the script that a `meta` element of the page names. `failed` is called if it cannot be loaded.
fn add_script(failed: &Function) -> Option<()> {
    let document = browser::document();
    let named = document.query_selector("meta[name=decoder]").ok()??;
    let script = document.create_element("script").ok()?;
    script.set_attribute("type", "module").ok()?;
    script.set_attribute("src", &named.get_attribute("content")?).ok()?;
    script.add_event_listener_with_callback("error", failed).ok()?;
    document.document_element()?.append_child(&script).ok()?;
    Some(())
}
