//! The bar of a replay: it says that the page shows the past and which moment, and has the controls.
//!
//! ```text
//! REPLAY  12:03:10 · 4×  ▶  ─────●──────  1,204 / 3,900  − +  ✓ Skip idle  +318 new  [Copy link]  [Back to live]
//! ```

use leptos::prelude::*;

use super::icon::icon;
use crate::browser;
use crate::format;
use crate::modules::{self, from_module};
use crate::page_modules::PageModule;
use crate::store::{ReplayStatus, use_store};

/// The bar and the frame around the page, shown during a replay. The module that draws them is fetched when
/// the first replay begins.
#[component]
pub(crate) fn ReplayBar() -> impl IntoView {
    let store = use_store();
    let is_on = Memo::new(move |_| store.replay.is_on());
    move || is_on.get().then(|| from_module(PageModule::Replay, modules::replay))
}

/// The moment, as a time of the day; as the number of the event if the events have no times; empty before the
/// first.
fn when(replay: &ReplayStatus) -> String {
    match replay.clock {
        Some(clock) => browser::time_of_day(clock),
        None if replay.at > 0 => format!("event {}", format::grouped(replay.at as u64)),
        None => String::new(),
    }
}

/// The number of the event and of all, how many are still being read, and whether there are more than a
/// replay holds.
fn words(replay: &ReplayStatus) -> String {
    let grouped = |n: usize| format::grouped(n as u64);
    let far = format!("{} / {}", grouped(replay.at), grouped(replay.total));
    let cut = replay.is_cut.then(|| "the rest is more than a replay holds".to_owned());
    let missing = (replay.missing > 0).then(|| format!("reading {} more", format::grouped(replay.missing)));
    [Some(far), missing, cut].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The bar itself. The slider counts events; while it is held, playing pauses. New events of the hub are
/// counted beside it. A link to the moment can be copied if the events have times.
#[component]
pub(crate) fn ReplayControls() -> impl IntoView {
    let store = use_store();
    let replay = Memo::new(move |_| store.replay.told.get().unwrap_or_default());
    let is_playing = Memo::new(move |_| replay.with(|replay| replay.player.is_playing));
    let speed = Memo::new(move |_| replay.with(|replay| replay.player.speed()));
    let behind = Memo::new(move |_| replay.with(|replay| replay.behind));
    let failure = Memo::new(move |_| replay.with(|replay| replay.failure.clone()));
    let back = move || {
        if store.reading.recording.with(Option::is_some) { "Back to the end" } else { "Back to live" }
    };
    let slide = move |event| {
        if let Ok(to) = event_target_value(&event).parse::<usize>() {
            store.hold_replay_at(to);
        }
    };
    let skips = move || replay.with(|replay| replay.player.skips_idle).to_string();
    view! {
        <div class="replay-frame" aria-hidden="true"></div>
        <div class="replay" role="region" aria-label="Replay" data-t="replay"
            data-at=move || replay.with(|replay| replay.at.to_string())
            data-playing=move || is_playing.get().then_some("")>
            <span class="word">"REPLAY"</span>
            <span class="at num" data-t="replay-when">{move || replay.with(when)} " · " {move || speed.get()}</span>
            <button type="button" class="icon" data-t="replay-play"
                aria-label=move || if is_playing.get() { "Pause" } else { "Play" } title="Play or pause (Space)"
                on:click=move |_| store.toggle_playing()>
                <svg aria-hidden="true"><use href=move || if is_playing.get() { "#pause" } else { "#play" } /></svg>
            </button>
            <input type="range" class="scrub" min="1" step="1" aria-label="Moment" data-t="replay-slider"
                max=move || replay.with(|replay| replay.total.max(1).to_string())
                prop:value=move || replay.with(|replay| replay.at.to_string())
                aria-valuetext=move || replay.with(|replay| format!("{}, event {}", when(replay), replay.at))
                on:input=slide on:change=move |_| store.release_replay()
                on:pointerup=move |_| store.release_replay() on:blur=move |_| store.release_replay() />
            <span class="meta num">{move || replay.with(words)}</span>
            <span>
                <button type="button" class="icon" aria-label="Slower" title="Slower (<)"
                    on:click=move |_| store.change_speed(-1)>{icon("#minus", "")}</button>
                <button type="button" class="icon" aria-label="Faster" title="Faster (>)"
                    on:click=move |_| store.change_speed(1)>{icon("#plus", "")}</button>
            </span>
            <button type="button" class="plain" aria-pressed=skips title="Leave out more than two seconds without an event"
                on:click=move |_| store.toggle_skipping()>
                {move || if replay.with(|replay| replay.player.skips_idle) { "✓ Skip idle" } else { "Skip idle" }}
            </button>
            {move || (behind.get() > 0).then(|| view! {
                <span class="run num" data-t="replay-behind">"+" {format::grouped(behind.get())} " new"</span>
            })}
            {move || failure.get().map(|why| view! { <span class="failure" role="alert">{why}</span> })}
            {move || replay.with(|replay| replay.clock.is_some()).then(|| view! {
                <button type="button" class="plain" data-t="replay-link" title="Copy a link to this moment" on:click=move |_| {
                    if let Some(link) = store.link(None) {
                        store.copy(&link, "Link copied", |_| {});
                    }
                }>"Copy link"</button>
            })}
            <button type="button" class="back" data-t="replay-back" title="Esc" on:click=move |_| store.end_replay()>{back}</button>
        </div>
    }
}
