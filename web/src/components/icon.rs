//! Icons from the page's sprite, and the icons of states: each state has a shape of its own, so that colour
//! is never the only sign.

use leptos::prelude::*;
use model::event::{RunStatus, ToolState};

/// An icon that does not change.
pub(crate) fn icon(name: &'static str, class: &'static str) -> impl IntoView {
    view! { <svg class=class aria-hidden="true"><use href=name /></svg> }
}

/// The chevron of something that unfolds.
#[component]
pub(super) fn Chevron(#[prop(into)] open: Signal<bool>) -> impl IntoView {
    view! {
        <svg class="chevron" aria-hidden="true">
            <use href=move || if open.get() { "#down" } else { "#right" } />
        </svg>
    }
}

/// The icon and the CSS class of a call's state. `is_known` is whether the page is connected and a publisher
/// speaks for the run: otherwise an executing call is drawn as uncertain.
///
/// | state | icon | class |
/// |---|---|---|
/// | writing, pending | dots, clock | `pend` (amber) |
/// | approval | hand | `appr` (blue) |
/// | executing | ring that turns; hollow if uncertain | `run` (purple) |
/// | complete | check | `ok` (green) |
/// | error | cross | `err` (red) |
/// | cancelled, interrupted | slash, broken ring | `gone`, `slow` |
pub(super) fn tool_icon(state: ToolState, is_known: bool) -> (&'static str, &'static str) {
    match state {
        ToolState::Writing => ("#dots", "pend"),
        ToolState::Pending => ("#clock", "pend"),
        ToolState::Approval => ("#hand", "appr"),
        ToolState::Executing if is_known => ("#ring", "run spin"),
        ToolState::Executing => ("#hollow", "run"),
        ToolState::Complete => ("#check", "ok"),
        ToolState::Error => ("#cross", "err"),
        ToolState::Cancelled => ("#slash", "gone"),
        ToolState::Interrupted => ("#broken", "slow"),
    }
}

/// The icon and the CSS class of the status of a run or an agent; `is_known` as in [`tool_icon`].
pub(super) fn run_icon(status: RunStatus, is_known: bool) -> (&'static str, &'static str) {
    match status {
        RunStatus::Running if is_known => ("#ring", "run spin"),
        RunStatus::Running => ("#hollow", "run"),
        RunStatus::Complete => ("#check", "ok"),
        RunStatus::Error => ("#cross", "err"),
        RunStatus::Cancelled => ("#slash", "gone"),
        RunStatus::Interrupted => ("#broken", "slow"),
    }
}

/// An icon that follows a state.
#[component]
pub(crate) fn StateIcon(#[prop(into)] shape: Signal<(&'static str, &'static str)>) -> impl IntoView {
    view! {
        <svg class=move || shape.get().1 aria-hidden="true">
            <use href=move || shape.get().0 />
        </svg>
    }
}
