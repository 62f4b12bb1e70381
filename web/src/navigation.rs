//! The address bar: paths (see [`crate::route`]), the browser's history, and links within the page.
//!
//! `leptos_router` is not used on purpose: it decodes the path of a clicked link and navigates to the decoded
//! one, which breaks names of conversations that contain `?`, `#` or `%`.
//!
//! ```text
//! click on a[data-in] ─▶ history.pushState ─▶ path, looks ─▶ the effects of `app` open what they name
//! back, forward       ─▶ popstate          ─┘
//! ```
//!
//! A link with `data-from` is the placeholder of an image on another host; a click loads the image if the
//! hub's policy allows it.

use leptos::prelude::*;
use model::ConversationId;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, MouseEvent};

use crate::browser;
use crate::dom::image;
use crate::route::{self, Looks};

/// The address of the page. A handle; all copies refer to the same signals.
#[derive(Clone, Copy)]
pub(crate) struct Navigation {
    /// The path, still percent-encoded.
    path: RwSignal<String>,
    /// The query of the last navigation. The page writes what it shows into the address without changing
    /// this.
    looks: RwSignal<Looks>,
}

impl Navigation {
    /// Reads the address and follows its changes, for as long as the page is open.
    pub(crate) fn start() -> Self {
        let it = Self { path: RwSignal::new(path_now()), looks: RwSignal::new(Looks::parse(&query_now())) };
        browser::listen(&browser::window(), "popstate", move |_: web_sys::Event| {
            it.go(path_now(), &query_now());
        });
        browser::listen(&browser::document(), "click", move |event: MouseEvent| it.click(&event));
        it
    }

    /// The conversation in the address; `None` if it names none. Tracks the path.
    pub(crate) fn conversation(self) -> Option<ConversationId> {
        self.path.with(|path| route::conversation_of(path))
    }

    /// Whether the address is that of the wall.
    pub(crate) fn is_wall(self) -> bool {
        self.path.with(|path| route::is_wall(path))
    }

    /// Whether the address is that of a new conversation.
    pub(crate) fn is_new(self) -> bool {
        self.path.with(|path| route::is_new(path))
    }

    /// The query of the address to which the page navigated last.
    pub(crate) fn looks(self) -> Looks {
        self.looks.get()
    }

    /// Shows another address of the page.
    fn go(self, path: String, query: &str) {
        self.path.set(path);
        self.looks.set(Looks::parse(query));
    }

    /// Shows a conversation with the query that the address has, and replaces the entry in the history. So Back does not lead to the address that
    /// named none.
    pub(crate) fn settle(self, conversation: &ConversationId) {
        let path = route::path_of(conversation);
        if let Ok(history) = browser::window().history() {
            drop(history.replace_state_with_url(&JsValue::NULL, "", Some(&(path.clone() + &query_now()))));
        }
        self.path.set(path);
    }

    /// Shows the address without a conversation, with a new entry in the history.
    pub(crate) fn leave(self) {
        if self.path.with_untracked(|path| path == "/") {
            return;
        }
        if let Ok(history) = browser::window().history() {
            drop(history.push_state_with_url(&JsValue::NULL, "", Some("/")));
        }
        self.path.set("/".to_owned());
    }

    /// Handles a click on a link within the page. Clicks with a modifier or another button are the browser's:
    /// they open tabs.
    fn click(self, event: &MouseEvent) {
        let is_plain = event.button() == 0
            && !(event.meta_key() || event.ctrl_key() || event.shift_key() || event.alt_key())
            && !event.default_prevented();
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let link = target.and_then(|target| target.closest("a[data-in], a[data-from]").ok().flatten());
        let (true, Some(link)) = (is_plain, link) else { return };
        event.prevent_default();
        let address = link.get_attribute("href").unwrap_or_default();
        if image::load(&link) || address == path_now() + &query_now() {
            return;
        }
        if let Ok(history) = browser::window().history() {
            drop(history.push_state_with_url(&JsValue::NULL, "", Some(&address)));
        }
        let (path, query) = address.split_once('?').unwrap_or((&address, ""));
        self.go(path.to_owned(), query);
    }
}

/// The path in the address bar.
fn path_now() -> String {
    browser::window().location().pathname().unwrap_or_default()
}

/// The query in the address bar.
fn query_now() -> String {
    browser::window().location().search().unwrap_or_default()
}

/// Whether the address asks for the bare page.
pub(crate) fn is_bare() -> bool {
    route::is_bare(&query_now())
}
