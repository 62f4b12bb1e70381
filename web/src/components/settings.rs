//! Draws the settings dialog.

use leptos::prelude::*;

use super::dialog::Dialog;
use crate::browser;
use crate::open::StepsChoice;
use crate::settings::{SETTINGS, Setting, apply};
use crate::store::use_store;

/// The dialog with the settings of this reader: those of [`SETTINGS`], thinking, steps, and single keys. Each
/// choice counts at once and is kept in the browser's local storage; the hub does not know it.
#[component]
pub(super) fn Settings() -> impl IntoView {
    let store = use_store();
    let rows = SETTINGS.each_ref().map(|setting| view! { <Choice setting=setting /> });
    let thinking = move |closed: bool| {
        browser::keep_setting("thinking", if closed { "closed" } else { "live" });
        store.reading.thinking_closed.set(closed);
    };
    let keys = move |off: bool| {
        browser::keep_setting("keys", if off { "off" } else { "on" });
        store.panel.keys_off.set(off);
    };
    view! {
        <Dialog title="Settings">
            {rows}
            <Pair title="Thinking" words=["Show while it streams", "Always closed"] second=store.reading.thinking_closed set=thinking />
            <Steps />
            <Pair title="Single keys" words=["On", "Off"] second=store.panel.keys_off set=keys />
            <p class="meta pad">"Kept in this browser."</p>
        </Dialog>
    }
}

/// When the steps of a run fold by themselves: the choices of [`StepsChoice`].
#[component]
fn Steps() -> impl IntoView {
    let store = use_store();
    let buttons = StepsChoice::ALL.map(|(choice, value, words)| {
        let choose = move |_| {
            browser::keep_setting("steps", value);
            store.reading.steps_choice.set(choice);
        };
        view! {
            <button type="button" data-setting=format!("steps-{value}")
                aria-pressed=move || (store.reading.steps_choice.get() == choice).to_string() on:click=choose>{words}</button>
        }
    });
    view! {
        <div class="setting" role="group" aria-label="Steps">
            <span>"Steps"</span><span class="seg">{buttons}</span>
        </div>
    }
}

/// A setting with several values, such as the theme; "system" if the reader never chose. A choice is applied
/// to the page at once.
#[component]
fn Choice(setting: &'static Setting) -> impl IntoView {
    let Setting { name, title, values } = setting;
    let chosen = RwSignal::new(browser::setting(name).unwrap_or_else(|| "system".to_owned()));
    let buttons = values.iter().map(|(value, word)| {
        let choose = move |_| {
            browser::keep_setting(name, value);
            apply();
            chosen.set((*value).to_owned());
        };
        view! {
            <button type="button" data-setting=format!("{name}-{value}")
                aria-pressed=move || (chosen.get() == *value).to_string() on:click=choose>{*word}</button>
        }
    });
    view! {
        <div class="setting" role="group" aria-label=*title>
            <span>{*title}</span><span class="seg">{buttons.collect_view()}</span>
        </div>
    }
}

/// A setting with two values. `set` is called with whether the second one was chosen; it keeps the choice.
#[component]
fn Pair(
    title: &'static str,
    words: [&'static str; 2],
    /// Whether the second value is chosen.
    second: RwSignal<bool>,
    set: impl Fn(bool) + Copy + 'static,
) -> impl IntoView {
    let [first_word, second_word] = words;
    let button = move |is_second: bool, word: &'static str| {
        view! {
            <button type="button" aria-pressed=move || (second.get() == is_second).to_string()
                on:click=move |_| set(is_second)>{word}</button>
        }
    };
    view! {
        <div class="setting" role="group" aria-label=title>
            <span>{title}</span><span class="seg">{button(false, first_word)}{button(true, second_word)}</span>
        </div>
    }
}
