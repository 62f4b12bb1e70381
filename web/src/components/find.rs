//! Finding a word: in everything that this conversation holds, while it grows, and in all others on the hub's disk.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use shared::ConversationId;

use super::icon::icon;
use crate::browser;
use crate::dom::highlight;
use crate::find::{Finder, Found, HITS_MAX, Hit, Kind};
use crate::format;
use crate::route;
use crate::search;
use crate::store::{Store, use_store};

/// How long the reader does not type before the other conversations are searched, in milliseconds.
const REST_MS: i32 = 350;

/// What stands in the conversation now: looked up when the word changes, and once a second while the conversation grows.
fn found(store: Store) -> Memo<Found> {
    let finder = StoredValue::new_local(Finder::default());
    // Looked at once a second: events in between cost nothing.
    let grown = Memo::new(move |_| {
        store.conversation.track();
        store.recordings.track();
        store.live.track();
        store.now.track();
        store.view(|view| view.seq)
    });
    Effect::new(move |_| {
        store.conversation.track();
        store.recordings.track();
        finder.update_value(Finder::forget);
    });
    Memo::new(move |_| {
        // Read, not only tracked: a memo that nobody reads never begins.
        grown.with(|_seq| ());
        let query = store.query.get();
        finder.try_update_value(|finder| store.view(|view| finder.look(view, &query))).unwrap_or_default()
    })
}

/// The panel's second face.
#[component]
pub(super) fn Find() -> impl IntoView {
    let store = use_store();
    let input = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        if let Some(input) = input.get() {
            drop(input.focus());
            input.select();
        }
    });
    let found = found(store);
    Effect::new(move |_| {
        let query = store.query.get();
        found.track();
        highlight::show(&query);
    });
    on_cleanup(|| highlight::show(""));
    let words = move || {
        if store.query.with(|query| query.trim().len() < 2) {
            return "Answers, thinking, arguments and results, also while they stream".to_owned();
        }
        found.with(|found| {
            let kinds = Kind::ALL.into_iter().zip(found.counts).filter(|(_, count)| *count > 0);
            let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{} {count}", kind.word())).collect();
            if kinds.is_empty() { "Not in this conversation".to_owned() } else { kinds.join(" · ") }
        })
    };
    let hits = move || found.with(|found| found.hits.clone());
    let more = move || found.with(|found| (found.total() > HITS_MAX).then(|| found.total()));
    view! {
        <div class="search">
            {icon("#find", "")}
            <input type="search" id="find-word" placeholder="Find in this conversation" aria-label="Find in this conversation"
                node_ref=input prop:value=move || store.query.get()
                on:input=move |event| store.query.set(event_target_value(&event)) />
        </div>
        <p class="meta num pad found" role="status" data-t="found">{words}</p>
        <div class="rows" data-t="hits">
            <For each=hits key=Clone::clone let:hit><Row hit=hit /></For>
            {move || more().map(|n| view! { <p class="meta pad num">"The first " {HITS_MAX} " of " {n}</p> })}
            <Elsewhere />
        </div>
    }
}

/// One hit: a click shows it.
#[component]
fn Row(hit: Hit) -> impl IntoView {
    let store = use_store();
    let Hit { kind, place, name, line, before, word, after, .. } = hit;
    let head = if name.is_empty() { kind.word().to_owned() } else { format!("{name} · {}", kind.word()) };
    let show = move |_| {
        store.reveal_text(&place);
        browser::after(50, move || highlight::show(&store.query.get_untracked()));
    };
    view! {
        <button type="button" class="hit" data-t="hit" data-kind=kind.word() on:click=show>
            <span class="meta num">{head} " · line " {line}</span>
            <span class="pv">{before}<mark>{word}</mark>{after}</span>
        </button>
    }
}

/// What the hub finds in all conversations.
#[component]
fn Elsewhere() -> impl IntoView {
    let store = use_store();
    let hits = RwSignal::new(Ok::<_, String>(Vec::<search::Hit>::new()));
    Effect::new(move |_| {
        let query = store.query.get();
        if query.trim().len() < 2 || !store.is_current() {
            hits.set(Ok(Vec::new()));
            return;
        }
        browser::after(REST_MS, move || {
            if store.query.get_untracked() != query {
                return;
            }
            spawn_local(async move {
                let answer = browser::fetch_text(&search::path(&query)).await;
                if store.query.get_untracked() == query {
                    // A panel that was closed meanwhile has no place for it.
                    hits.try_set(answer.map(|text| search::hits(&text)));
                }
            });
        });
    });
    let rows = move || {
        let own = store.conversation.get();
        hits.get()
            .unwrap_or_default()
            .into_iter()
            .filter(move |hit| own.as_ref().is_none_or(|own| own.as_str() != hit.conversation))
    };
    move || {
        let rows: Vec<_> = rows().map(|hit| view! { <Other hit=hit /> }).collect();
        let failed = hits.with(|hits| hits.clone().err());
        (!rows.is_empty() || failed.is_some()).then(|| {
            view! {
                <h3 class="grp">"Other conversations"</h3>
                {failed.map(|_| view! { <p class="meta pad">"This hub cannot search: it keeps no log on disk"</p> })}
                {rows}
            }
        })
    }
}

/// A hit in another conversation: a link to it.
#[component]
fn Other(hit: search::Hit) -> impl IntoView {
    let store = use_store();
    let name = ConversationId::parse(&hit.conversation).ok();
    let href =
        name.as_ref().map(|name| route::link(name, &route::Looks::at(&hit, &store.query.get_untracked())));
    let kind = if hit.name.is_empty() { hit.kind } else { format!("{} · {}", hit.name, hit.kind) };
    let pieces = hit.pieces.into_iter().enumerate().map(|(at, piece)| {
        if at % 2 == 1 { view! { <mark>{piece}</mark> }.into_any() } else { piece.into_any() }
    });
    let age = move || format::age(store.now.get().saturating_sub(hit.at));
    view! {
        <a class="hit" data-t="other-hit" data-in="" href=href>
            <span class="meta num">{hit.conversation} " · " {kind} " · " {age}</span>
            <span class="pv">{pieces.collect_view()}</span>
        </a>
    }
}
