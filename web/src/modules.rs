//! The modules of the page: parts of its program that a browser fetches when they are first needed.
//!
//! `cargo xtask build` compiles the page with the feature `split` and cuts it at the functions of `cut`; each module holds what only its
//! function reaches. Without the feature, as under `trunk serve`, everything is in one program, and every module is there at once.
//!
//! A module that cannot be fetched is said to be missing where it would be drawn, with ways to try again.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos::wasm_split::SplitLoaderError;
use model::View;

use crate::browser;
use crate::dom;
use crate::page_modules::{ModuleState, PageModule};
use crate::store::use_store;

mod cut;

use cut::Drawn;
pub(crate) use cut::{Piece, call_content, compared, conversation, dialog, panel, replay, timeline, wall};

/// Fetches `module`, unless it is there. Whether it is there then.
pub(crate) fn fetch(module: PageModule) -> Pin<Box<dyn Future<Output = bool>>> {
    Box::pin(async move {
        let fetched = match module {
            PageModule::Conversation => {
                // Both travel at the same time.
                spawn_local(async { drop(cut::fetch_snapshots().await) });
                match cut::fetch_conversation().await {
                    Ok(()) => cut::fetch_snapshots().await,
                    failed => failed,
                }
            }
            PageModule::Kinds => cut::fetch_kinds().await,
            PageModule::Formulas => cut::fetch_formulas().await,
            PageModule::Panel => cut::fetch_panel().await,
            PageModule::Dialogs => cut::fetch_dialogs().await,
            PageModule::Timeline => cut::fetch_timeline().await,
            PageModule::Wall => cut::fetch_wall().await,
            PageModule::Replay => cut::fetch_replay().await,
            PageModule::Compare => cut::fetch_compare().await,
        };
        fetched.is_ok()
    })
}

/// The CSS class of what stands in the place of `module` until it is there.
fn place(module: PageModule) -> &'static str {
    match module {
        PageModule::Conversation
        | PageModule::Kinds
        | PageModule::Formulas
        | PageModule::Panel
        | PageModule::Compare => "module-wait",
        PageModule::Dialogs => "module-wait dialog",
        PageModule::Timeline => "module-wait at-time",
        PageModule::Wall => "module-wait at-stage",
        PageModule::Replay => "module-wait at-replay",
    }
}

/// Has formulas typeset and diagrams drawn from now on, whenever some wait; the module that does it is fetched for the first.
pub(crate) fn typeset_formulas() {
    let modules = use_store().modules;
    dom::formula::when_waiting(move || {
        // All that the next painting would show is typeset at once.
        browser::before_paint(move || {
            modules.with(PageModule::Formulas, || drop(at_once(cut::typeset_formulas())));
        });
    });
}

/// What `draw` of `module` draws, as soon as the module is there, and until then that it is waited for or missing.
pub(crate) fn from_module<F: Future<Output = Drawn>>(
    module: PageModule,
    draw: impl Fn() -> F + Send + 'static,
) -> impl IntoView {
    let modules = use_store().modules;
    modules.want(module);
    let state = modules.state(module);
    move || {
        match state.get() {
        ModuleState::Ready => at_once(draw()),
        ModuleState::Missing => view! { <Missing module=module /> }.into_any(),
        ModuleState::Unasked | ModuleState::Fetching => {
            view! { <p class=format!("{} meta", place(module)) role="status" data-t="module-wait">"Loading…"</p> }
                .into_any()
        }
    }
    }
}

/// Draws a second part of a module, and nothing until it is there: that it is waited for is said at the first part.
pub(crate) fn more_from_module<F: Future<Output = Drawn>>(
    module: PageModule,
    draw: impl Fn() -> F + Send + 'static,
) -> impl IntoView {
    let modules = use_store().modules;
    modules.want(module);
    move || modules.has(module).then(|| at_once(draw()))
}

/// The view in the JSON of a snapshot. The error says what is wrong with it, or that the module
/// [`PageModule::Conversation`] is not there.
pub(crate) fn read_view(json: &str) -> Result<Box<View>, serde_json::Error> {
    made_at_once(cut::read_view(json.to_owned())).unwrap_or_else(|| {
        Err(<serde_json::Error as serde::de::Error>::custom("the reader of snapshots is not there"))
    })
}

/// What a module that is there draws.
fn at_once(drawn: impl Future<Output = Drawn>) -> AnyView {
    made_at_once(drawn).unwrap_or_else(|| ().into_any())
}

/// What the function of a module makes; `None` if the module is not there. Otherwise it has nothing to wait for.
fn made_at_once<T>(made: impl Future<Output = Result<T, SplitLoaderError>>) -> Option<T> {
    match pin!(made).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(made)) => Some(made),
        Poll::Ready(Err(_)) | Poll::Pending => None,
    }
}

/// Says that a module could not be fetched, and what can be done.
#[component]
fn Missing(module: PageModule) -> impl IntoView {
    let modules = use_store().modules;
    let reload = |_| drop(browser::window().location().reload());
    view! {
        <div class=place(module) role="alert" data-t="module-missing">
            <p>
                "This part of the page could not be loaded. Try again; if the hub has been updated, reload the page."
            </p>
            <p>
                <button type="button" class="act" data-t="module-again" on:click=move |_| modules.want(module)>"Try again"</button>
                " "
                <button type="button" class="act" data-t="module-reload" on:click=reload>"Reload the page"</button>
            </p>
        </div>
    }
}
