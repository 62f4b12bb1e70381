//! The keys of a replay; they do nothing otherwise.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent};

use crate::store::{OpenDialog, Sheet, Store};

/// Handles a key during a replay. False if the key is not one of the replay's.
pub(super) fn press(store: Store, event: &KeyboardEvent) -> bool {
    let is_covered = store.panel.dialog.get_untracked() != OpenDialog::None
        || store.panel.sheet.get_untracked() != Sheet::None;
    if is_covered || store.replay.told.with_untracked(Option::is_none) {
        return false;
    }
    let focus = Focus::of(event);
    if focus == Focus::Text {
        return false;
    }
    let is_single = !store.panel.keys_off.get_untracked();
    match event.key().as_str() {
        " " if is_single && focus != Focus::Control => store.toggle_playing(),
        "ArrowLeft" if focus != Focus::Tabs => store.step_replay(-1, event.shift_key()),
        "ArrowRight" if focus != Focus::Tabs => store.step_replay(1, event.shift_key()),
        "<" if is_single => store.change_speed(-1),
        ">" if is_single => store.change_speed(1),
        "Escape" => store.end_replay(),
        _ => return false,
    }
    true
}

/// The kind of the focused element, which may handle keys itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Focus {
    /// An input for text.
    Text,
    /// A control that Space presses.
    Control,
    /// Tabs, through which the arrow keys move.
    Tabs,
    /// Anything else, also the slider of the replay, whose keys these are.
    Other,
}

impl Focus {
    /// The kind of the element that gets `event`.
    fn of(event: &KeyboardEvent) -> Self {
        let Some(target) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else {
            return Self::Other;
        };
        let is_slider = target.get_attribute("type").is_some_and(|kind| kind == "range");
        match target.tag_name().as_str() {
            "INPUT" if is_slider => Self::Other,
            "INPUT" | "TEXTAREA" | "SELECT" => Self::Text,
            _ if target.get_attribute("role").is_some_and(|role| role == "tab") => Self::Tabs,
            "BUTTON" | "A" => Self::Control,
            _ => Self::Other,
        }
    }
}
