//! Recordings: the bar above an open recording, the button that opens one, and the veil while a file is
//! dragged over the page.
//!
//! A recording is a file with a stream, which is decoded in the browser by a module of its own; nothing is
//! sent to the hub. How files are opened is in `drop`; here only what is seen of it.

use leptos::prelude::*;
use model::dialect::DECODED;

use super::icon::icon;
use crate::format;
use crate::store::{RecordingInfo, Store, use_store};

/// The bar of the open recording: its name, its dialect, how much is read, and its anomalies. Nothing while
/// no recording is open.
#[component]
pub(super) fn RecordingBar() -> impl IntoView {
    let store = use_store();
    let is_open = Memo::new(move |_| store.reading.recording.with(Option::is_some));
    move || is_open.get().then(|| view! { <Bar /> })
}

/// The bar itself. "Close" goes back to the conversations of the hub.
#[component]
fn Bar() -> impl IntoView {
    let store = use_store();
    let opened = Memo::new(move |_| store.reading.recording.get());
    let name = move || opened.with(|it| it.as_ref().map(|it| it.name.clone()).unwrap_or_default());
    let said = Memo::new(move |_| {
        store.reading.seq.track();
        opened.with(|it| it.as_ref().map(|it| words(store, it)).unwrap_or_default())
    });
    view! {
        <div class="recording" data-t="recording" role="region" aria-label="Recording">
            {icon("#file", "")}
            <span class="name" title=name>{name}</span>
            <Dialect opened=opened />
            <span class="meta num words" role="status">{move || said.get()}</span>
            <button type="button" class="plain" on:click=move |_| store.close_recording()>"Close"</button>
        </div>
    }
}

/// The dialect of the recording, with a choice of another one, which reads the file again. All dialects of
/// [`DECODED`] are offered.
#[component]
fn Dialect(opened: Memo<Option<RecordingInfo>>) -> impl IntoView {
    let store = use_store();
    let dialect = Memo::new(move |_| opened.with(|it| it.as_ref().and_then(|it| it.dialect)));
    let choose = move |event: leptos::ev::Event| {
        let wanted = event_target_value(&event);
        if let Some(name) = DECODED.iter().find(|name| **name == wanted) {
            store.reading.reopen.with_value(|reopen| {
                if let Some(reopen) = reopen {
                    reopen(name);
                }
            });
        }
    };
    let options = DECODED.iter().map(|name| {
        view! { <option value=*name prop:selected=move || dialect.get() == Some(name)>{*name}</option> }
    });
    view! {
        <select aria-label="Dialect" data-t="recording-dialect" on:change=choose>
            {move || dialect.get().is_none().then(|| view! { <option value="" selected="">"dialect?"</option> })}
            {options.collect_view()}
        </select>
    }
}

/// Progress, number of events and warnings of the recording with the first of them in full, or why it cannot
/// be read.
fn words(store: Store, opened: &RecordingInfo) -> String {
    if let Some(failure) = &opened.failure {
        return format!("It cannot be read further: {failure}");
    }
    if opened.dialect.is_none() {
        return "Its dialect could not be recognised: choose one".to_owned();
    }
    let (events, anomalies) = store.reading.view(|view| (view.seq, view.anomalies.total));
    let reading = (opened.read < 1000).then(|| format!("reading, {} %", opened.read / 10));
    let events = format!("{} events", format::grouped(events));
    let warnings = (anomalies > 0).then(|| match anomalies {
        1 => "1 warning".to_owned(),
        more => format!("{} warnings", format::grouped(more)),
    });
    let first = store.reading.view(|view| view.anomalies.first.first().map(|anomaly| anomaly.detail.clone()));
    [reading, Some(events), warnings, first].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// A button that opens a recording through the browser's file dialog. The input is there for that alone and
/// hidden.
#[component]
pub(super) fn OpenRecording() -> impl IntoView {
    let store = use_store();
    let input = NodeRef::<leptos::html::Input>::new();
    let chosen = move |_| {
        if let Some(input) = input.get_untracked() {
            store.panel.choose_file.with_value(|choose| {
                if let Some(choose) = choose {
                    choose(&input);
                }
            });
        }
    };
    let ask = move |_| {
        if let Some(input) = input.get_untracked() {
            input.click();
        }
    };
    view! {
        <input type="file" class="sr" tabindex="-1" aria-hidden="true" data-t="recording-file" node_ref=input
            on:change=chosen />
        <button type="button" class="plain open-recording" title="Open a recording, or drop a file anywhere"
            on:click=ask>{icon("#file", "")} " Open a recording"</button>
    }
}

/// The veil while a file is dragged over the page.
#[component]
pub(crate) fn DropVeil() -> impl IntoView {
    let store = use_store();
    move || {
        store.panel.dragging.get().then(|| {
            view! { <div class="veil drop" data-t="drop"><p>"Drop a recording: it is read here, nothing is sent. Drop files on the message field to send them with a question"</p></div> }
        })
    }
}
