//! The Find tab of the panel: hits in the open conversation, also while it grows, and in all other
//! conversations that the hub stores.
//!
//! ```text
//! query ─▶ matcher ─▶ Finder (remembers what was searched) ─▶ Found ─▶ Row, a click reveals it
//!    └─ after a pause ─▶ GET /v1/search of the hub ─────────────────▶ Other, a link
//! ```

use leptos::prelude::*;
use leptos::task::spawn_local;
use model::ConversationId;

use super::icon::icon;
use super::refused::refused;
use crate::browser;
use crate::dom::highlight;
use crate::find::{Finder, Found, HITS_MAX, Hit, Sought};
use crate::format;
use crate::route;
use crate::route::search_address;
use crate::search;
use crate::store::{Store, use_store};

/// How long the reader must pause before the other conversations are searched, in milliseconds.
const REST_MS: i32 = 350;

/// The hits; `None` if the query is too short, or while the module that matches patterns is fetched. The
/// error says what is wrong with the pattern.
type Searched = Result<Option<Found>, String>;

/// The hits in the open conversation: searched when the query changes, and once a second while the
/// conversation grows. The finder keeps what it found in texts that did not change, and forgets it with the
/// conversation.
fn searched(store: Store) -> Memo<Searched> {
    let finder = StoredValue::new_local(Finder::default());
    // Checked once a second, so that events cost nothing.
    let grown = Memo::new(move |_| {
        store.reading.conversation.track();
        store.reading.recordings.track();
        store.reading.live.track();
        store.reading.now.track();
        // More of the conversation may come from the hub, with the same head.
        (store.reading.view(|view| view.seq), store.reading.part.get())
    });
    Effect::new(move |_| {
        store.reading.conversation.track();
        store.reading.recordings.track();
        finder.update_value(Finder::forget);
    });
    Memo::new(move |_| {
        // Read, not only tracked: a memo computes only when it is read.
        grown.with(|_place| ());
        let Some(matcher) = store.matcher()? else { return Ok(None) };
        let typed =
            format!("{}{}", if store.reading.is_pattern.get() { "/" } else { "" }, store.reading.query.get());
        let look =
            |finder: &mut Finder| store.reading.view(|view| finder.look(view, &typed, matcher.as_ref()));
        Ok(finder.try_update_value(look))
    })
}

/// The Find tab: the input, the number of hits, and the hits. Matches in the document are highlighted while
/// the tab is shown. At most [`HITS_MAX`] hits are listed.
#[component]
pub(crate) fn Find() -> impl IntoView {
    let store = use_store();
    let searched = searched(store);
    Effect::new(move |_| {
        searched.track();
        store.reading.track_drawn();
        // What was unfolded now is in the document with the next painting.
        browser::before_paint(move || store.mark_hits());
    });
    on_cleanup(|| highlight::show(None));
    let words = move || {
        searched.with(|searched| match searched {
            Ok(Some(found)) => found.words(),
            Ok(None) => "Answers, thinking, arguments and results, also while they stream".to_owned(),
            Err(why) => format!("Not a valid pattern: {why}"),
        })
    };
    let is_wrong = move || searched.with(Result::is_err);
    let found = move |read: fn(&Found) -> Vec<Hit>| {
        searched
            .with(|searched| searched.as_ref().ok().and_then(Option::as_ref).map(read))
            .unwrap_or_default()
    };
    let hits = move || found(|found| found.hits.clone());
    let more = move || {
        let total = searched.with(|it| it.as_ref().ok().and_then(Option::as_ref).map_or(0, Found::total));
        (total > HITS_MAX).then_some(total)
    };
    view! {
        <div class="search">
            {icon("#find", "")}
            <input type="search" id="find-word" placeholder="Find in this conversation" aria-label="Find in this conversation"
                prop:value=move || store.reading.query.get()
                aria-invalid=move || is_wrong().to_string() on:input=move |event| store.reading.query.set(event_target_value(&event)) />
            <button type="button" class="chip" data-t="pattern" aria-label="Pattern" title="A regular expression: a|b, \\d+, ^line"
                aria-pressed=move || store.reading.is_pattern.get().to_string()
                on:click=move |_| store.reading.is_pattern.update(|is_on| *is_on = !*is_on)>".*"</button>
        </div>
        <p class="meta num pad found" class:err=is_wrong role="status" data-t="found">{words}</p>
        <div class="rows" data-t="hits">
            <For each=hits key=Clone::clone let:hit><Row hit=hit /></For>
            {move || more().map(|n| view! { <p class="meta pad num">"The first " {HITS_MAX} " of " {n}</p> })}
            <Elsewhere />
        </div>
    }
}

/// A hit with the words around it. A click unfolds what hides the match and scrolls to it.
#[component]
fn Row(hit: Hit) -> impl IntoView {
    let store = use_store();
    let Hit { kind, place, name, line, before, word, after, number } = hit;
    let head = if name.is_empty() { kind.word().to_owned() } else { format!("{name} · {}", kind.word()) };
    let show = move |_| store.reveal_hit(Sought { place: place.clone(), kind, number });
    view! {
        <button type="button" class="hit" data-t="hit" data-kind=kind.word() on:click=show>
            <span class="meta num">{head} " · line " {line}</span>
            <span class="pv">{before}<mark>{word}</mark>{after}</span>
        </button>
    }
}

/// The hits that the hub finds in other conversations, for words of at least two letters, after the reader
/// has paused for [`REST_MS`]. Patterns are not sent: the hub searches for words. An answer to an older query
/// is dropped. Nothing is shown if there is nothing to say.
#[component]
fn Elsewhere() -> impl IntoView {
    let store = use_store();
    let hits = RwSignal::new(Vec::<search::Hit>::new());
    let remark = RwSignal::new(String::new());
    Effect::new(move |_| {
        let (query, is_pattern) = (store.reading.query.get(), store.reading.is_pattern.get());
        if is_pattern || query.trim().len() < 2 || !store.is_current() {
            // The hub searches for words only.
            let is_left_out = is_pattern && !query.is_empty() && store.is_current();
            let why = "Not searched. Patterns are for this conversation only.";
            remark.set(if is_left_out { why } else { "" }.to_owned());
            hits.set(Vec::new());
            return;
        }
        let is_wanted = {
            let query = query.clone();
            move || store.reading.query.get_untracked() == query && !store.reading.is_pattern.get_untracked()
        };
        browser::after(REST_MS, move || {
            if !is_wanted() {
                return;
            }
            spawn_local(async move {
                let answer = browser::fetch_text(&search::path(&query)).await;
                if is_wanted() {
                    let said = match &answer {
                        Ok(text) => search::remark(text).unwrap_or_default().to_owned(),
                        Err(why) => format!("Not searched. {why}"),
                    };
                    // The panel may be closed by now.
                    remark.try_set(said);
                    hits.try_set(search::hits(&answer.unwrap_or_default()));
                }
            });
        });
    });
    let rows = move || {
        let own = store.reading.conversation.get();
        hits.get()
            .into_iter()
            .filter(move |hit| own.as_ref().is_none_or(|own| own.as_str() != hit.conversation))
    };
    move || {
        let rows: Vec<_> = rows().map(|hit| view! { <Other hit=hit /> }).collect();
        let said = remark.get();
        (!rows.is_empty() || !said.is_empty()).then(|| {
            view! {
                <h3 class="grp">"Other conversations "
                    <a class="link" data-t="all-hits" href=move || search_address(&store.reading.query.get())>"Search page"</a></h3>
                {(!said.is_empty()).then(|| view! { <p class="meta pad" data-t="not-elsewhere">{refused(&said)}</p> })}
                {rows}
            }
        })
    }
}

/// A hit in another conversation: a link to its place there, with the query.
#[component]
fn Other(hit: search::Hit) -> impl IntoView {
    let store = use_store();
    let name = ConversationId::parse(&hit.conversation).ok();
    let href = name
        .as_ref()
        .map(|name| route::link(name, &route::Looks::at(&hit, &store.reading.query.get_untracked())));
    let kind = if hit.name.is_empty() { hit.kind } else { format!("{} · {}", hit.name, hit.kind) };
    let pieces = hit.pieces.into_iter().enumerate().map(|(at, piece)| {
        if at % 2 == 1 { view! { <mark>{piece}</mark> }.into_any() } else { piece.into_any() }
    });
    let age = move || format::age(store.reading.now.get().saturating_sub(hit.at));
    view! {
        <a class="hit" data-t="other-hit" data-in="" href=href>
            <span class="meta num">{hit.conversation} " · " {kind} " · " {age}</span>
            <span class="pv">{pieces.collect_view()}</span>
        </a>
    }
}
