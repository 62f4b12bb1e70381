//! What people think of a run or of an answer that came as a message: good or bad, and why.

use leptos::html;
use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::refused::refused;
use crate::control::{At, Rated};
use crate::store::use_store;

/// Two buttons, one of which is pressed once somebody rated it; pressed again it takes that back. After a press an input asks why:
/// Enter says it, Escape leaves it open. Nothing where commands cannot be given.
#[component]
pub(super) fn Rating(of: Rated) -> impl IntoView {
    let store = use_store();
    let at = At::Rating(of.clone());
    let label = match of {
        Rated::Run(_) => "Rating of the run",
        Rated::Message(_) => "Rating of the message",
    };
    let of = StoredValue::new(of);
    let rating = Memo::new(move |_| {
        store.reading.conversation.track();
        store.reading.seq.track();
        of.with_value(|of| {
            store.reading.view(|view| match of {
                Rated::Run(run) => view.label.rating_of_run(run).cloned(),
                Rated::Message(message) => view.label.rating_of_message(message).cloned(),
            })
        })
    });
    let good = Memo::new(move |_| rating.with(|rating| rating.as_ref().and_then(|rating| rating.good)));
    let asks = RwSignal::new(false);
    let press = move |wanted: bool| {
        let is_on = good.get_untracked() == Some(wanted);
        asks.set(!is_on);
        of.with_value(|of| store.rate(of, (!is_on).then_some(wanted), None));
    };
    let field = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        if let Some(field) = field.get() {
            drop(field.focus());
        }
    });
    let hear = move |event: KeyboardEvent| match event.key().as_str() {
        "Enter" if !event.is_composing() => {
            event.prevent_default();
            let why = field.get_untracked().map(|field| field.value()).filter(|why| !why.trim().is_empty());
            if why.is_some() {
                of.with_value(|of| store.rate(of, good.get_untracked(), why));
            }
            asks.set(false);
        }
        "Escape" => asks.set(false),
        _ => {}
    };
    let button = move |wanted: bool, word: &'static str, name: &'static str| {
        let is_on = move || (good.get() == Some(wanted)).to_string();
        view! { <button type="button" class="copy" data-act=name aria-pressed=is_on on:click=move |_| press(wanted)>{word}</button> }
    };
    let why = move || {
        rating.get().and_then(|rating| {
            let by = rating.by.map(|by| format!(" · {by}")).unwrap_or_default();
            Some(rating.why)
                .filter(|why| why.is_some() || !by.is_empty())
                .map(|why| format!("{}{by}", why.unwrap_or_default()))
        })
    };
    let trouble = move || store.control.read(|control| control.trouble(&at).map(str::to_owned));
    let can = Memo::new(move |_| store.can_label());
    move || {
        let trouble = trouble.clone();
        (can.get() || good.get().is_some()).then(|| view! {
            <span class="rating" role="group" aria-label=label data-t="rating">
                {button(true, "Good", "rate-good")} {button(false, "Bad", "rate-bad")}
                {move || asks.get().then(|| view! {
                    <input node_ref=field data-t="rating-why" aria-label="Why" placeholder="Why? Enter saves it" autocomplete="off" on:keydown=hear />
                })}
                {move || why().map(|why| view! { <span class="meta" data-t="rating-said">{why}</span> })}
                {move || trouble().map(|why| view! { <span class="err meta" role="alert">{refused(&why)}</span> })}
            </span>
        })
    }
}
