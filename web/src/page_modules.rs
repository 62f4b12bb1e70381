//! Where the modules of the page stand: unasked, fetched, ready or missing. [`crate::modules`] has the modules themselves, which draw what
//! the store holds; the store only knows which of them are there.

use std::future::Future;
use std::pin::Pin;

use leptos::prelude::*;
use leptos::task::spawn_local;

use crate::browser;

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
pub(crate) enum ModuleState {
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
}

/// How a module is fetched. The future gives whether it is there then.
pub(crate) type FetchModule = fn(PageModule) -> Pin<Box<dyn Future<Output = bool>>>;

/// Where all modules stand. A handle; all copies refer to the same. It lives as long as the page.
#[derive(Clone, Copy)]
pub(crate) struct Modules {
    /// Fetches one; whether it is there then. Whoever makes the store says how, since a module has parts that draw what the store holds.
    fetch: FetchModule,
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
    /// Makes the state in which no module is fetched; `fetch` fetches one.
    pub(crate) fn new(fetch: FetchModule) -> Self {
        let signal = || RwSignal::new(ModuleState::Unasked);
        Self {
            fetch,
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
    pub(crate) fn state(self, module: PageModule) -> RwSignal<ModuleState> {
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
        let is_there = (self.fetch)(module).await;
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
