//! Functions of the browser that several modules need.
//!
//! What the page asks of the browser without Leptos: clocks, focus, storage, addresses, requests, timers,
//! listeners and the clipboard. Times are in milliseconds, distances in CSS pixels. Intervals and listeners
//! live as long as the page.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;
use wasm_bindgen::{JsCast, convert::FromWasmAbi};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Document, EventTarget, HtmlElement, HtmlTextAreaElement, Response, Window};

use crate::search;

/// The window of the page.
pub(crate) fn window() -> Window {
    leptos::prelude::window()
}

/// The document of the page.
pub(crate) fn document() -> Document {
    leptos::prelude::document()
}

/// The browser's clock, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "after 1970 and before 2^53")]
    let now = js_sys::Date::now() as u64;
    now
}

/// A time in the reader's locale and time zone: `12:04:31`.
pub(crate) fn time_of_day(ms: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let date = js_sys::Date::new(&(ms as f64).into());
    date.to_locale_time_string("default").into()
}

/// A date and time in the reader's locale and time zone: `22/11/2026, 12:04:31`.
pub(crate) fn date_and_time(ms: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let date = js_sys::Date::new(&(ms as f64).into());
    date.to_locale_string("default", &JsValue::UNDEFINED).into()
}

/// A time of the day in the reader's time zone, to the millisecond: `12:04:31.203`.
pub(crate) fn moment_of_day(ms: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let date = js_sys::Date::new(&(ms as f64).into());
    let (hours, minutes, seconds) = (date.get_hours(), date.get_minutes(), date.get_seconds());
    format!("{hours:02}:{minutes:02}:{seconds:02}.{:03}", date.get_milliseconds())
}

/// A random number below 2^53. Good enough for ids of commands, not for secrets.
pub(crate) fn random() -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 2^53")]
    let random = (js_sys::Math::random() * 9_007_199_254_740_992.0) as u64;
    random
}

/// The origin of the page, such as `http://127.0.0.1:4600`.
pub(crate) fn origin() -> String {
    window().location().origin().unwrap_or_default()
}

/// The width of the window in CSS pixels; 1440 if the browser does not say.
pub(crate) fn width() -> f64 {
    window().inner_width().ok().and_then(|width| width.as_f64()).unwrap_or(1440.0)
}

/// Focuses the element with the id `id`, if there is one.
pub(crate) fn focus(id: &str) {
    let element = document().get_element_by_id(id).and_then(|it| it.dyn_into::<HtmlElement>().ok());
    if let Some(element) = element {
        drop(element.focus());
    }
}

/// Focuses `element` again without scrolling to it.
pub(crate) fn refocus(element: &HtmlElement) {
    let options = js_sys::Object::new();
    // A plain object takes any property.
    drop(js_sys::Reflect::set(&options, &"preventScroll".into(), &true.into()));
    let focus = js_sys::Reflect::get(element, &"focus".into()).ok();
    if let Some(focus) = focus.and_then(|it| it.dyn_into::<js_sys::Function>().ok()) {
        drop(focus.call1(element, &options));
    }
}

/// Focuses the first element that matches `selector` inside the one with the id `id`.
pub(crate) fn focus_in(id: &str, selector: &str) {
    let inside = document().get_element_by_id(id).and_then(|it| it.query_selector(selector).ok().flatten());
    if let Some(element) = inside.and_then(|it| it.dyn_into::<HtmlElement>().ok()) {
        drop(element.focus());
    }
}

/// Navigates as a click on a link to `href` would. Links of the page carry `data-in`, by which `navigation`
/// knows that they stay in it.
pub(crate) fn follow_link(href: &str) {
    click_link(href, &["href", "data-in"]);
}

/// Leaves the page for one of the operator's pages.
pub(crate) fn leave_for(href: &str) {
    click_link(href, &["href"]);
}

/// Clicks on a link to `href`, which it has in each of these attributes.
fn click_link(href: &str, attributes: &[&str]) {
    let link = document().create_element("a").ok().and_then(|it| it.dyn_into::<HtmlElement>().ok());
    let Some((link, body)) = link.zip(document().body()) else { return };
    if attributes.iter().all(|name| link.set_attribute(name, href).is_ok()) {
        // Only clicks on elements of the document reach the listener.
        drop(body.append_child(&link));
        link.click();
        link.remove();
    }
}

/// A stored setting of this reader; `None` if there is none, or if the browser refuses storage.
pub(crate) fn setting(key: &str) -> Option<String> {
    window().local_storage().ok()??.get_item(&format!("fanlight.{key}")).ok()?
}

/// Stores a setting of this reader. Browsers may refuse (in private windows); it is then lost when the page
/// is closed.
pub(crate) fn keep_setting(key: &str, value: &str) {
    if let Ok(Some(storage)) = window().local_storage() {
        drop(storage.set_item(&format!("fanlight.{key}"), value));
    }
}

/// Replaces the address in the address bar without navigating.
pub(crate) fn replace_address(address: &str) {
    if let Ok(history) = window().history() {
        drop(history.replace_state_with_url(&JsValue::NULL, "", Some(address)));
    }
}

/// Fetches the text at `path` from the hub. The error is a sentence for the reader. Only an answer with the
/// status 200 counts.
pub(crate) async fn fetch_text(path: &str) -> Result<String, String> {
    text_of(window().fetch_with_str(path)).await
}

/// Fetches the events at `path` from the hub, one per line. The error is a sentence for the reader.
pub(crate) async fn fetch_lines(path: &str) -> Result<String, String> {
    let (init, headers) = (web_sys::RequestInit::new(), js_sys::Object::new());
    // A plain object takes any property.
    drop(js_sys::Reflect::set(&headers, &"accept".into(), &"application/x-ndjson".into()));
    init.set_headers(&headers);
    text_of(window().fetch_with_str_and_init(path, &init)).await
}

/// What the hub answers to `body`, some JSON, at `path`; or why it refuses, for the reader.
pub(crate) async fn post(path: &str, body: &str) -> Result<String, String> {
    let (init, headers) = (web_sys::RequestInit::new(), js_sys::Object::new());
    // A plain object takes any property.
    drop(js_sys::Reflect::set(&headers, &"content-type".into(), &"application/json".into()));
    init.set_method("POST");
    init.set_headers(&headers);
    init.set_body(&JsValue::from_str(body));
    let answer = answer_to(window().fetch_with_str_and_init(path, &init)).await?;
    // A status such as 404 is about what the command names, for example an agent that the hub does not have.
    if matches!(answer.status(), 200 | 201) {
        Ok(words_of(&answer).await?.unwrap_or_default())
    } else {
        Err(refusal_in(&answer).await)
    }
}

/// What came of a deletion that the hub did not refuse for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// The thing is deleted.
    Done,
    /// Runs go on; it can be forced.
    StillRunning,
}

/// Deletes what is at `path`. The error is a sentence for the reader. What is gone already counts as deleted.
pub(crate) async fn delete(path: &str) -> Result<Deletion, String> {
    let init = web_sys::RequestInit::new();
    init.set_method("DELETE");
    let answer = answer_to(window().fetch_with_str_and_init(path, &init)).await?;
    match answer.status() {
        204 | 404 => Ok(Deletion::Done),
        409 => Ok(Deletion::StillRunning),
        _ => Err(refusal_in(&answer).await),
    }
}

/// Saves what the hub has at `path` as a file, by a click on a link that downloads. Errors are the browser's
/// to show.
pub(crate) fn save(path: &str) {
    save_as(path, "");
}

/// Saves what is at `path`, which may be a `data:` URL, as a file called `name`; without one, as the browser calls it.
pub(crate) fn save_as(path: &str, name: &str) {
    let document = document();
    let link = document.create_element("a").ok().and_then(|it| it.dyn_into::<HtmlElement>().ok());
    let (Some(link), Some(body)) = (link, document.body()) else { return };
    if link.set_attribute("href", path).is_ok() && link.set_attribute("download", name).is_ok() {
        drop(body.append_child(&link));
        link.click();
        link.remove();
    }
}

/// Yields to the browser: continues after its waiting tasks.
pub(crate) async fn rest() {
    let promise = js_sys::Promise::new(&mut |done, _| {
        drop(window().set_timeout_with_callback_and_timeout_and_arguments_0(&done, 0));
    });
    drop(JsFuture::from(promise).await);
}

/// The text of an answer. The error is a sentence for the reader. It says that the hub cannot be reached,
/// that it has not kept what was asked for (404, 410), or why it refused.
async fn text_of(asked: js_sys::Promise) -> Result<String, String> {
    let answer = answer_to(asked).await?;
    match answer.status() {
        200 => words_of(&answer).await?.ok_or_else(|| "The hub's answer could not be read.".to_owned()),
        404 | 410 => Err("The hub does not have it any more.".to_owned()),
        _ => Err(refusal_in(&answer).await),
    }
}

/// What the reader is told where no answer comes.
fn away(_: JsValue) -> String {
    "The hub cannot be reached.".to_owned()
}

/// The answer to a request, whatever its status.
async fn answer_to(asked: js_sys::Promise) -> Result<Response, String> {
    JsFuture::from(asked).await.and_then(JsCast::dyn_into).map_err(away)
}

/// The body of an answer; `None` if it is not text.
async fn words_of(answer: &Response) -> Result<Option<String>, String> {
    Ok(JsFuture::from(answer.text().map_err(away)?).await.map_err(away)?.as_string())
}

/// Why the hub refused, for the reader.
async fn refusal_in(answer: &Response) -> String {
    let said = words_of(answer).await.ok().flatten();
    search::refusal(answer.status(), said.as_deref().unwrap_or_default())
}

/// Adds a listener for `event` that stays for as long as the page is open.
pub(crate) fn listen<E: FromWasmAbi + 'static>(
    target: &EventTarget,
    event: &str,
    hear: impl FnMut(E) + 'static,
) {
    let hear = Closure::<dyn FnMut(E)>::new(hear);
    // Every target here takes listeners.
    drop(target.add_event_listener_with_callback(event, hear.as_ref().unchecked_ref()));
    hear.forget();
}

/// Adds a listener as [`listen`] does, but as a passive one: it cannot prevent the default action, so that
/// scrolling need not wait for it.
pub(crate) fn watch<E: FromWasmAbi + 'static>(
    target: &EventTarget,
    event: &str,
    hear: impl FnMut(E) + 'static,
) {
    let hear = Closure::<dyn FnMut(E)>::new(hear);
    let options = web_sys::AddEventListenerOptions::new();
    options.set_passive(true);
    let hear_it = hear.as_ref().unchecked_ref();
    drop(target.add_event_listener_with_callback_and_add_event_listener_options(event, hear_it, &options));
    hear.forget();
}

/// Calls a function before the next painting, once for all requests since the last one. Browsers paint no
/// hidden page, so nothing is called while it is hidden. After it was dropped, a call that was requested must
/// not come any more: owners live as long as the page.
pub(crate) struct OncePerFrame {
    /// Whether a call is requested.
    is_asked: Rc<Cell<bool>>,
    /// What the browser calls.
    closure: Closure<dyn FnMut()>,
}

impl OncePerFrame {
    /// Makes one that calls nothing before [`ask`](Self::ask).
    pub(crate) fn new(mut work: impl FnMut() + 'static) -> Self {
        let is_asked = Rc::new(Cell::new(false));
        let asked = Rc::clone(&is_asked);
        let closure = Closure::new(move || {
            asked.set(false);
            work();
        });
        Self { is_asked, closure }
    }

    /// Requests the call. Nothing if one is requested already.
    pub(crate) fn ask(&self) {
        if !self.is_asked.replace(true) {
            let asked = window().request_animation_frame(self.closure.as_ref().unchecked_ref());
            self.is_asked.set(asked.is_ok());
        }
    }
}

/// Calls `work` once, before the next painting.
pub(crate) fn before_paint(work: impl FnOnce() + 'static) {
    let work = Closure::once_into_js(work);
    drop(window().request_animation_frame(work.unchecked_ref()));
}

/// Calls `work` every `ms` milliseconds for as long as the page is open.
pub(crate) fn every(ms: i32, work: impl FnMut() + 'static) {
    let work = Closure::<dyn FnMut()>::new(work);
    let set =
        window().set_interval_with_callback_and_timeout_and_arguments_0(work.as_ref().unchecked_ref(), ms);
    drop(set);
    work.forget();
}

/// Calls `work` once after `ms` milliseconds.
pub(crate) fn after(ms: i32, work: impl FnOnce() + 'static) {
    let work = Closure::once_into_js(work);
    drop(window().set_timeout_with_callback_and_timeout_and_arguments_0(work.unchecked_ref(), ms));
}

/// Calls `work` once when the browser has nothing else to do, at the latest after `ms` milliseconds. Browsers that do not tell when that is
/// wait for `ms`.
pub(crate) fn when_idle(ms: i32, work: impl FnOnce() + 'static) {
    let window = window();
    let ask = js_sys::Reflect::get(&window, &"requestIdleCallback".into()).ok();
    let Some(ask) = ask.and_then(|it| it.dyn_into::<js_sys::Function>().ok()) else {
        return after(ms, work);
    };
    let options = js_sys::Object::new();
    // A plain object takes any property.
    drop(js_sys::Reflect::set(&options, &"timeout".into(), &ms.into()));
    drop(ask.call2(&window, &Closure::once_into_js(work), &options));
}

/// Writes `text` to the clipboard, byte for byte. `told` is called with whether that succeeded. To be called
/// from the handler of a click or a key.
pub(crate) fn copy(text: &str, told: impl FnOnce(bool) + 'static) {
    let navigator = window().navigator();
    let has_clipboard =
        js_sys::Reflect::get(&navigator, &"clipboard".into()).is_ok_and(|it| !it.is_undefined());
    if !has_clipboard {
        return told(copy_by_selection(text).unwrap_or(false));
    }
    // Asked at once: browsers refuse a request that comes long after the reader's click.
    let asked = navigator.clipboard().write_text(text);
    wasm_bindgen_futures::spawn_local(async move { told(JsFuture::from(asked).await.is_ok()) });
}

/// Copies through a selected text area: for pages loaded over plain HTTP from another machine, where browsers
/// hide the clipboard. The focus returns to where it was.
fn copy_by_selection(text: &str) -> Option<bool> {
    let document = document();
    let focused = document.active_element().and_then(|it| it.dyn_into::<HtmlElement>().ok());
    let area: HtmlTextAreaElement = document.create_element("textarea").ok()?.dyn_into().ok()?;
    area.set_value(text);
    document.body()?.append_child(&area).ok()?;
    area.select();
    let copy = js_sys::Reflect::get(&document, &"execCommand".into()).ok();
    let copy = copy.and_then(|it| it.dyn_into::<js_sys::Function>().ok());
    let done = copy.and_then(|copy| copy.call1(&document, &"copy".into()).ok()?.as_bool());
    area.remove();
    if let Some(focused) = focused {
        refocus(&focused);
    }
    done
}

/// Makes `answer` callable as `window.name()`, for the console and for tests.
pub(crate) fn expose(name: &str, answer: impl Fn() -> String + 'static) {
    let function = Closure::<dyn Fn() -> String>::new(answer);
    // A window takes any new property.
    drop(js_sys::Reflect::set(&window(), &name.into(), function.as_ref()));
    function.forget();
}

/// Leaves the message of a panic in `window.fanlightPanic`, where the script of `index.html` finds and shows
/// it. After a panic this program does not continue.
pub(crate) fn keep_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let said = JsValue::from(panic.to_string());
        drop(js_sys::Reflect::set(&window(), &"fanlightPanic".into(), &said));
    }));
}
