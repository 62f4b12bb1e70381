//! Icons from the sprite of the page, and those of the states: a shape for each, never colour alone.

use leptos::prelude::*;
use model::event::{RunStatus, ToolState};

/// An icon that stays.
pub(crate) fn icon(name: &'static str, class: &'static str) -> impl IntoView {
    view! { <svg class=class aria-hidden="true"><use href=name /></svg> }
}

/// The chevron of something that opens.
#[component]
pub(super) fn Chevron(#[prop(into)] open: Signal<bool>) -> impl IntoView {
    view! {
        <svg class="chevron" aria-hidden="true">
            <use href=move || if open.get() { "#down" } else { "#right" } />
        </svg>
    }
}

/// The icon and class of a call's state. `is_known` tells whether the link is there and somebody speaks for the run: what
/// runs is else not known to.
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

/// The icon and class of a run's or agent's state; see [`tool_icon`].
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

/// An icon that changes with a state.
#[component]
pub(crate) fn StateIcon(#[prop(into)] shape: Signal<(&'static str, &'static str)>) -> impl IntoView {
    view! {
        <svg class=move || shape.get().1 aria-hidden="true">
            <use href=move || shape.get().0 />
        </svg>
    }
}
