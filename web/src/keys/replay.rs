//! The keys of the replay. They count only while the past is looked at.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent};

use crate::store::{Over, Sheet, Store};

/// Does what the key says to a replay; false when it says nothing here.
pub(super) fn press(store: Store, event: &KeyboardEvent) -> bool {
    let is_covered =
        store.panel.over.get_untracked() != Over::Nothing || store.panel.sheet.get_untracked() != Sheet::None;
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

/// What has the focus, as far as keys of its own go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Focus {
    /// Something that is typed in.
    Text,
    /// Something that a space presses.
    Control,
    /// Something that arrows go through.
    Tabs,
    /// Anything else; the slider of the replay too, whose keys are these.
    Other,
}

impl Focus {
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
