//! The modules of the page: parts of its program that a browser fetches when they are first needed.
//!
//! `cargo xtask build` compiles the page with the feature `split` and cuts it at the functions of `cut`; each module holds what only its
//! function reaches. Without the feature, as under `trunk serve`, everything is in one program, and every module is there at once.
//!
//! A module that cannot be fetched is said to be missing where it would be drawn, with ways to try again.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos::wasm_split::SplitLoaderError;
use model::View;

use crate::browser;
use crate::dom;
use crate::store::use_store;

mod cut;

use cut::Drawn;
pub(crate) use cut::{Piece, call_content, compared, conversation, dialog, panel, replay, timeline, wall};

/// How long the browser may be busy before the modules that nobody needs yet are fetched all the same, in milliseconds.
const IDLE_MS: i32 = 2_000;

/// A part of the page's program in a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageModule {
    /// The open conversation: messages, runs and calls, Markdown, the composer; and the reader of its snapshots.
    Conversation,
    /// Arguments and results of calls in forms of their own.
    Kinds,
    /// What typesets formulas and has diagrams drawn. It is fetched for the first of them, never when the browser is idle.
    Formulas,
    /// The tabs of the panel.
    Panel,
    /// The dialogs over the page.
    Dialogs,
    /// The timeline below the conversation.
    Timeline,
    /// The wall: all conversations as tiles.
    Wall,
    /// The bar of a replay.
    Replay,
    /// Two conversations beside each other.
    Compare,
}

/// The state of a module of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModuleState {
    /// Nobody has asked for it.
    Unasked,
    /// The module is being fetched.
    Fetching,
    /// The module can draw.
    Ready,
    /// The last try to fetch it failed.
    Missing,
}

impl PageModule {
    /// The modules that everybody gets, in the order in which they are fetched while the browser is idle.
    const ALL: [Self; 8] = [
        Self::Conversation,
        Self::Kinds,
        Self::Panel,
        Self::Dialogs,
        Self::Timeline,
        Self::Wall,
        Self::Replay,
        Self::Compare,
    ];

    /// Fetches it, unless it is there. Whether it is there then.
    async fn fetch(self) -> bool {
        let fetched = match self {
            Self::Conversation => {
                // Both travel at the same time.
                spawn_local(async { drop(cut::fetch_snapshots().await) });
                match cut::fetch_conversation().await {
                    Ok(()) => cut::fetch_snapshots().await,
                    failed => failed,
                }
            }
            Self::Kinds => cut::fetch_kinds().await,
            Self::Formulas => cut::fetch_formulas().await,
            Self::Panel => cut::fetch_panel().await,
            Self::Dialogs => cut::fetch_dialogs().await,
            Self::Timeline => cut::fetch_timeline().await,
            Self::Wall => cut::fetch_wall().await,
            Self::Replay => cut::fetch_replay().await,
            Self::Compare => cut::fetch_compare().await,
        };
        fetched.is_ok()
    }

    /// The CSS class of what stands in its place until it is there.
    fn place(self) -> &'static str {
        match self {
            Self::Conversation | Self::Kinds | Self::Formulas | Self::Panel | Self::Compare => "module-wait",
            Self::Dialogs => "module-wait dialog",
            Self::Timeline => "module-wait at-time",
            Self::Wall => "module-wait at-stage",
            Self::Replay => "module-wait at-replay",
        }
    }
}

/// Where all modules stand. A handle; all copies refer to the same. It lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct Modules {
    conversation: RwSignal<ModuleState>,
    kinds: RwSignal<ModuleState>,
    formulas: RwSignal<ModuleState>,
    panel: RwSignal<ModuleState>,
    dialogs: RwSignal<ModuleState>,
    timeline: RwSignal<ModuleState>,
    wall: RwSignal<ModuleState>,
    replay: RwSignal<ModuleState>,
    compare: RwSignal<ModuleState>,
}

impl Modules {
    /// Makes the state in which no module is fetched.
    pub(crate) fn new() -> Self {
        let signal = || RwSignal::new(ModuleState::Unasked);
        Self {
            conversation: signal(),
            kinds: signal(),
            formulas: signal(),
            panel: signal(),
            dialogs: signal(),
            timeline: signal(),
            wall: signal(),
            replay: signal(),
            compare: signal(),
        }
    }

    /// The signal of one module.
    fn state(self, module: PageModule) -> RwSignal<ModuleState> {
        match module {
            PageModule::Conversation => self.conversation,
            PageModule::Kinds => self.kinds,
            PageModule::Formulas => self.formulas,
            PageModule::Panel => self.panel,
            PageModule::Dialogs => self.dialogs,
            PageModule::Timeline => self.timeline,
            PageModule::Wall => self.wall,
            PageModule::Replay => self.replay,
            PageModule::Compare => self.compare,
        }
    }

    /// Whether `module` can draw. Tracks it.
    pub(crate) fn has(self, module: PageModule) -> bool {
        self.state(module).get() == ModuleState::Ready
    }

    /// Has `module` fetched, unless it is there or on its way.
    pub(crate) fn want(self, module: PageModule) {
        let state = self.state(module).get_untracked();
        if matches!(state, ModuleState::Unasked | ModuleState::Missing) {
            spawn_local(self.fetch(module));
        }
    }

    /// Fetches `module` and notes what came of it.
    async fn fetch(self, module: PageModule) {
        let state = self.state(module);
        if state.get_untracked() == ModuleState::Ready {
            return;
        }
        state.set(ModuleState::Fetching);
        let is_there = module.fetch().await;
        state.set(if is_there { ModuleState::Ready } else { ModuleState::Missing });
    }

    /// Calls `work` when `module` has drawn; at once if it is there already. Not at all if it cannot be fetched.
    pub(crate) fn with(self, module: PageModule, work: impl FnOnce() + 'static) {
        if self.state(module).get_untracked() == ModuleState::Ready {
            return work();
        }
        spawn_local(async move {
            self.fetch(module).await;
            if self.state(module).get_untracked() == ModuleState::Ready {
                // Effects draw it before the browser's next task.
                browser::rest().await;
                work();
            }
        });
    }

    /// Fetches one after the other what is not there yet, when the browser has nothing else to do.
    pub(crate) fn fetch_rest(self) {
        browser::when_idle(IDLE_MS, move || {
            spawn_local(async move {
                for module in PageModule::ALL {
                    if self.state(module).get_untracked() == ModuleState::Unasked {
                        self.fetch(module).await;
                    }
                }
            });
        });
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
            view! { <p class=format!("{} meta", module.place()) role="status" data-t="module-wait">"Loading…"</p> }
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
        <div class=module.place() role="alert" data-t="module-missing">
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
