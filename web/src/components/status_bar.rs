//! The bar at the bottom: the state of the connection.
//!
//! ```text
//! ● Live 18 ms · seq 48,211 · last event 0.4 s ago · 2 warnings                    ? keys
//! ```

use leptos::prelude::*;
use model::frame::LogHealth;

use crate::browser;
use crate::format;
use crate::link::{Ending, Status, ending};
use crate::model::Model;
use crate::store::{OpenDialog, Store, use_store};

/// How long no event may arrive in a running conversation before the page calls it quiet, in milliseconds.
const QUIET_MS: u64 = 10_000;

/// The state of the connection: a word for tests and styles, and a text for the reader.
///
/// | word | when |
/// |---|---|
/// | `connecting` | the first connection is being made |
/// | `catching-up` | connected, but not all events are there yet |
/// | `live` | all events are there; the text says if none has come for a while |
/// | `silent` | the socket is open, but the hub says nothing |
/// | `reconnecting` | the connection was lost; the text counts down to the next attempt |
/// | `stale` | it has been lost for long |
/// | `offline` | the browser says that there is no network |
/// | `ended` | the hub closed the session for good |
fn words(store: Store) -> (&'static str, String) {
    match store.link.status.get() {
        Status::Connecting => ("connecting", "Connecting…".to_owned()),
        Status::Up if !store.reading.live.get() => {
            store.reading.seq.track();
            let words = match store.reading.model(Model::caught_up) {
                Some((there, missed)) => {
                    format!("Catching up {} / {}", format::grouped(there), format::grouped(missed))
                }
                None => "Catching up…".to_owned(),
            };
            ("catching-up", words)
        }
        Status::Up => ("live", quiet(store).unwrap_or_else(|| live(store))),
        Status::Reconnecting { is_stale: true, since, .. } => {
            ("stale", format!("Shown as of {}", browser::time_of_day(since)))
        }
        Status::Reconnecting { in_ms: 0, attempt, .. } => {
            ("reconnecting", format!("Reconnecting… ({attempt})"))
        }
        Status::Reconnecting { in_ms, attempt, .. } => {
            ("reconnecting", format!("Reconnecting in {} s ({attempt})", in_ms.div_ceil(1000)))
        }
        Status::Offline => ("offline", "Offline".to_owned()),
        Status::Silent(seconds) => {
            ("silent", format!("No word for {}", format::clock(seconds.saturating_mul(1000))))
        }
        Status::Ended { code, why } => {
            let Ending { title, .. } = ending(code);
            ("ended", if why.is_empty() { title.to_owned() } else { format!("{title}: {why}") })
        }
    }
}

/// The text while connected: the round-trip time to the hub, if known.
fn live(store: Store) -> String {
    store.link.rtt_ms.get().map_or_else(|| "Live".to_owned(), |ms| format!("Live {ms} ms"))
}

/// Says that no event has arrived for a while although the connection works: a slow agent is not a lost
/// connection.
fn quiet(store: Store) -> Option<String> {
    if !store.reading.running.get() {
        return None;
    }
    let ms = since_event(store)?;
    (ms >= QUIET_MS).then(|| format!("Live · quiet {}", format::clock(ms)))
}

/// How long ago the newest event was, in milliseconds.
fn since_event(store: Store) -> Option<u64> {
    store.reading.now.track();
    store.reading.conversation.track();
    store.reading.model(|model| Some(model.hub_time(browser::now_ms()).saturating_sub(model.event_at()?)))
}

/// The state of the connection, with a button that tries at once while it is lost, and one that reloads the
/// page after the end.
#[component]
pub(crate) fn Connection() -> impl IntoView {
    let store = use_store();
    let words = Memo::new(move |_| words(store));
    let is_away = move || matches!(words.get().0, "reconnecting" | "stale" | "offline");
    view! {
        <span class="connection" data-t="connection" data-state=move || words.get().0>
            <span class="dot"></span>
            {move || words.get().1}
            {move || is_away().then(|| view! {
                " · " <button type="button" class="link" on:click=move |_| store.link.retry_now()>"Now"</button>
            })}
            {move || (words.get().0 == "ended").then(|| view! { " · " <Reload /> })}
        </span>
    }
}

/// A button that reloads the page, after the hub has closed the session for good.
#[component]
pub(super) fn Reload() -> impl IntoView {
    let reload = |_| drop(browser::window().location().reload());
    view! { <button type="button" class="link" data-t="reload" on:click=reload>"Reload"</button> }
}

/// A warning for operators that the hub cannot write its log, since when, and what to do. Nothing while the
/// log is well.
#[component]
fn Log() -> impl IntoView {
    let store = use_store();
    move || {
        let (why, since) = store.link.log.get()?;
        let (state, what) = match why {
            LogHealth::DiskFull => ("disk_full", "The hub's disk has been full"),
            _ => ("disk_failing", "The hub has been unable to write to its disk"),
        };
        let text =
            format!("{what} since {}: what you see is live, but not kept", browser::time_of_day(since));
        let title = "Make room or repair the disk; the hub writes again by itself. Until then a restart of the hub loses \
                     what came since.";
        Some(
            view! { <strong class="log-failing" role="alert" data-t="log" data-state=state title=title>{text}</strong> },
        )
    }
}

/// The bar at the bottom: the connection, the health of the log, the seq and the age of the newest event, how
/// many anomalies the conversation has (their texts in the tooltip), and a button that shows the keys.
#[component]
pub(crate) fn StatusBar() -> impl IntoView {
    let store = use_store();
    let seq = Memo::new(move |_| {
        // During a run the number changes with each frame; it is then updated once a second.
        let seq = if store.reading.running.get() {
            store.reading.now.track();
            store.reading.seq.get_untracked()
        } else {
            store.reading.seq.get()
        };
        (seq > 0).then(|| format!("seq {}", format::grouped(seq)))
    });
    let last = move || since_event(store).map(|ms| format!("last event {} ago", format::short_age(ms)));
    let anomalies = Memo::new(move |_| {
        store.reading.seq.track();
        let n = store.reading.view(|view| view.anomalies.total);
        (n > 0).then(|| format::counted(usize::try_from(n).unwrap_or(usize::MAX), "warning"))
    });
    // What each says stands in its detail; the tab Details names the kinds too.
    let warnings = move || {
        let kept = store.reading.view(|view| view.anomalies.first.clone());
        kept.iter().take(12).map(|it| it.detail.as_str()).collect::<Vec<_>>().join("\n")
    };
    view! {
        <footer class="sb num">
            <Connection />
            <Log />
            <span class="seq">{move || seq.get()}</span>
            <span class="hide">{last}</span>
            {move || anomalies.get().map(|text| view! { <span class="hide" title=warnings>{text}</span> })}
            <span class="grow"></span>
            <button type="button" class="plain" on:click=move |_| store.toggle_dialog(OpenDialog::Help)>
                <kbd>"?"</kbd> " keys"
            </button>
        </footer>
    }
}

/// The texts for screen readers. They are outside the page, because the page is hidden from screen readers
/// while a dialog is open. The polite one waits for what is being read, the other interrupts it.
#[component]
pub(crate) fn Aloud() -> impl IntoView {
    let store = use_store();
    view! {
        <span class="sr" role="status" aria-live="polite" data-t="polite">{move || store.spoken.polite.get()}</span>
        <span class="sr" role="alert" aria-live="assertive" data-t="alarm">{move || store.spoken.alarm.get()}</span>
    }
}
