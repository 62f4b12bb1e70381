//! Two conversations beside each other, from the item at which they part.
//!
//! The other one is a snapshot, which is fetched again whenever the list shows new events of it.
//!
//! ```text
//! The same beginning · 3 messages and runs     folded
//! After 2 steps: search with different arguments   PARTING, scrolled to at first
//! Steps side by side · 3 different           folded: `aligned`
//! ┌ this one ───────────┬ the other one ─ Close ┐
//! │ tally               │ tally                 │
//! │ items after `same`  │ items after `same`    │  each at most ITEMS_MAX
//! ```
//!
//! The other conversation has a store of its own ([`ComparedStore`]), without a session. Its components are those of
//! the page, drawn with that store as their context; [`Aside`] makes their DOM ids differ.

use leptos::context::Provider;
use leptos::html;
use leptos::prelude::*;
use model::view::TopItem;
use model::{ConversationId, View};

use super::aligned::AlignedSteps;
use super::aside::Aside;
use super::dialog::Dialog;
use super::message::Message;
use super::refused::refused;
use super::run::Run;
use crate::browser;
use crate::compare::{self, Tally};
use crate::fleet;
use crate::matching;
use crate::pieces::{self, Piece};
use crate::route;
use crate::store::{OpenDialog, Store, compare_link, use_store};

/// The most messages and runs that are shown of each conversation after the place where they part.
const ITEMS_MAX: usize = 60;

/// The most conversations that are offered at once; typing narrows them.
const CHOICES_MAX: usize = 12;

/// The DOM id of the line that says where they part.
const PARTING: &str = "parting";

/// A context that holds the store of the other conversation. The root of the page makes it once; it is filled
/// with another conversation for each comparison.
#[derive(Clone, Copy)]
pub(crate) struct ComparedStore(pub(crate) Store);

/// The open conversation beside `other`. It stops following the end and scrolls to the place where they part.
#[component]
pub(crate) fn Compared(other: ConversationId) -> impl IntoView {
    let store = use_store();
    let ComparedStore(beside) = expect_context();
    let (name, path) = (title(store, &other), route::path_of(&other));
    let problem = picture(store, beside, other);
    let same = Memo::new(move |_| {
        track(store, beside);
        store.reading.view(|one| beside.reading.view(|other| compare::common(one, other)))
    });
    let open = RwSignal::new(false);
    let first = move |store: Store| {
        let same = same.get();
        store.reading.view(|view| {
            let common: Vec<&TopItem> = view.items.iter().take(same).collect();
            let is_common = |piece: &Piece| common.contains(&&piece.item());
            pieces::pieces(view).into_iter().filter(is_common).collect::<Vec<_>>()
        })
    };
    let parting = Memo::new(move |_| {
        track(store, beside);
        store.reading.view(|one| beside.reading.view(|other| compare::parting(one, other, same.get())))
    });
    let is_there = Memo::new(move |_| beside.reading.seq.get() > 0 && store.reading.seq.get() > 0);
    // Scrolls to the place where they part instead of the end.
    Effect::new(move |_| {
        if is_there.get() {
            store.reading.release();
            browser::after(0, move || store.reading.scroller.with_value(|scroller| scroller.reveal(PARTING)));
        }
    });
    let tally = move |of: Store| {
        track(store, beside);
        of.reading.view(|view| Tally::of(view, same.get()).words())
    };
    let own = move || store.reading.conversation.get().map(|id| title(store, &id)).unwrap_or_default();
    view! {
        {move || (same.get() > 0).then(|| {
            let label = match same.get() {
                1 => "The same beginning · 1 message or run".to_owned(),
                n => format!("The same beginning · {n} messages and runs"),
            };
            view! {
                <button type="button" class="more" data-t="common" aria-expanded=move || open.get().to_string()
                    on:click=move |_| open.update(|open| *open = !*open)>{label}</button>
            }
        })}
        {move || open.get().then(|| view! { <Items items=Signal::derive(move || first(store)) /> })}
        {move || is_there.get().then(|| view! {
            <p class="parting" id=PARTING data-t="parting">{parting.get().unwrap_or_else(|| "There are no differences.".to_owned())}</p>
        })}
        {move || is_there.get().then(|| view! { <AlignedSteps beside=beside same=same /> })}
        <div class="pair" data-t="pair">
            <section aria-label="This conversation">
                <h2 class="pair-head"><span class="n">{own}</span></h2>
                <p class="meta num tally">{move || tally(store)}</p>
                <Items items=rest(store, same) />
            </section>
            <section aria-label="The other conversation">
                <h2 class="pair-head">
                    <a class="n" data-in="" href=path>{name}</a>
                    <button type="button" class="plain" data-act="end-compare" on:click=move |_| store.end_compare()>"Close"</button>
                </h2>
                <p class="meta num tally">{move || tally(beside)}</p>
                {move || problem.get().map(|why| view! { <p class="err trouble" role="status">{refused(&why)}</p> })}
                <Other beside=beside same=same />
            </section>
        </div>
    }
}

/// Tracks new content of both conversations: items, calls, whether a run is active, and whether the page is
/// up to date.
pub(super) fn track(store: Store, beside: Store) {
    for it in [store, beside] {
        it.reading.track_items();
        it.reading.track_tools();
        it.reading.running.track();
        it.reading.live.track();
    }
}

/// The items of the other conversation, drawn from its own store by way of the context.
#[component]
fn Other(beside: Store, same: Memo<usize>) -> impl IntoView {
    // `provide_context` would change the surrounding scope too, and the open conversation would be drawn from
    // the store of the other one.
    view! {
        <Provider value=beside><Provider value=Aside><Items items=rest(beside, same) /></Provider></Provider>
    }
}

/// The pieces after the first `same` items, at most [`ITEMS_MAX`].
fn rest(store: Store, same: Memo<usize>) -> Signal<Vec<Piece>> {
    Signal::derive(move || {
        store.reading.track_items();
        let same = same.get();
        store.reading.view(|view| {
            let common: Vec<&TopItem> = view.items.iter().take(same).collect();
            let is_common = |piece: &Piece| common.contains(&&piece.item());
            pieces::pieces(view).into_iter().filter(|piece| !is_common(piece)).take(ITEMS_MAX).collect()
        })
    })
}

/// A list of messages and sections of runs.
#[component]
fn Items(items: Signal<Vec<Piece>>) -> impl IntoView {
    view! {
        <For each=move || items.get() key=Clone::clone let:item>
            {match item {
                Piece::Message(id) => view! { <Message id=id /> }.into_any(),
                Piece::Section { run, from } => view! { <Run id=run from=from /> }.into_any(),
            }}
        </For>
    }
}

/// The title of a conversation, or its id.
fn title(store: Store, id: &ConversationId) -> String {
    let title = store.reading.model(|model| model.fleet()?.get(id).map(|row| fleet::title(row).to_owned()));
    title.unwrap_or_else(|| id.to_string())
}

/// Fetches a snapshot of `other` into `beside` whenever the list shows new events. The signal says why it
/// failed, if it did.
///
/// One request is on its way at a time: `GET` of the view. Events that come meanwhile cause one more. After
/// an error the next new event does. The ticker of `store` drives that of `beside`, which has no session of
/// its own.
fn picture(store: Store, beside: Store, other: ConversationId) -> RwSignal<Option<String>> {
    let problem = RwSignal::new(None);
    let is_taken = RwSignal::new(true);
    let its_name = other.clone();
    beside.show_nothing();
    let head = Memo::new(move |_| {
        store.track_fleet();
        store.reading.model(|model| model.fleet()?.get(&its_name).map(|row| row.head))
    });
    Effect::new(move |_| {
        beside.reading.now.set(store.reading.now.get());
    });
    Effect::new(move |_| {
        // A memo computes only when it is read.
        let asked = head.get();
        if !is_taken.get() {
            return;
        }
        let other = other.clone();
        // One request at a time: the effect runs again when this one is done.
        is_taken.set(false);
        leptos::task::spawn_local(async move {
            let answer = browser::fetch_text(&route::view_path(&other)).await;
            if problem.try_get_untracked().is_none() {
                // The reader chose another conversation meanwhile.
                return;
            }
            let view = answer.and_then(|answer| {
                serde_json::from_str::<View>(&answer)
                    .map_err(|_unreadable| "The hub's answer could not be read.".to_owned())
            });
            match view {
                Ok(view) => {
                    beside.show_picture(other, view);
                    problem.try_set(None);
                }
                Err(why) => drop(problem.try_set(Some(why))),
            }
            if head.try_get_untracked().is_some_and(|now| now != asked) {
                is_taken.try_set(true);
            } else {
                // The next request follows the next new event.
                is_taken.try_update_untracked(|is_taken| *is_taken = true);
            }
        });
    });
    problem
}

/// Says why there is nothing to choose, after `typed` was typed.
fn no_choice(typed: &str) -> &'static str {
    if typed.trim().is_empty() {
        "There is no other conversation yet."
    } else {
        "No conversation has this in its title or name."
    }
}

/// The dialog in which the reader chooses a conversation to compare with: those of the same origin first,
/// then the newest, narrowed by what is typed. Arrows move, Enter and a click open the comparison, which is a
/// link.
#[component]
pub(super) fn Choice() -> impl IntoView {
    let store = use_store();
    let typed = RwSignal::new(String::new());
    let input = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        if let Some(input) = input.get() {
            browser::after(0, move || drop(input.focus()));
        }
    });
    let is_there = Memo::new(move |_| {
        store.track_fleet();
        store.reading.model(|model| model.fleet().is_some())
    });
    // The list does not change while it is read; it is computed anew when the text changes, and as long as there is nothing in it.
    let rows = Memo::new(move |_| {
        is_there.track();
        let Some(own) = store.reading.conversation.get() else { return Vec::new() };
        let rows = store.reading.model(|model| {
            let choices = model.fleet().map(|rows| compare::choices(&own, rows)).unwrap_or_default();
            let told = choices.into_iter().map(|(row, is_kin)| {
                let (id, title) = (row.conversation.to_string(), fleet::title(row).to_owned());
                // Both the title and the id match.
                let names = if id == title { title.clone() } else { format!("{title} {id}") };
                (
                    compare_link(&own, &row.conversation),
                    names,
                    title,
                    if is_kin { "same origin".to_owned() } else { id },
                )
            });
            told.collect::<Vec<_>>()
        });
        if rows.is_empty() {
            store.track_fleet();
        }
        matching::best(rows, &typed.get(), |(_, names, ..)| names.as_str(), CHOICES_MAX)
    });
    let at = RwSignal::new(0_usize);
    let press = move |event: leptos::ev::KeyboardEvent| {
        let last = rows.with_untracked(Vec::len).saturating_sub(1);
        match event.key().as_str() {
            "ArrowDown" => at.update(|at| *at = if *at >= last { 0 } else { at.saturating_add(1) }),
            "ArrowUp" => at.update(|at| *at = at.checked_sub(1).unwrap_or(last)),
            "Enter" => {
                let chosen =
                    rows.with_untracked(|rows| rows.get(at.get_untracked()).map(|row| row.0.clone()));
                if let Some(href) = chosen {
                    store.open_dialog(OpenDialog::None);
                    browser::follow_link(&href);
                }
            }
            _ => return,
        }
        event.prevent_default();
    };
    let options = move || {
        let rows = rows.get().into_iter().enumerate();
        rows.map(|(number, (href, _, title, more))| view! {
            <a class="option" data-in="" href=href data-t="choice" aria-current=move || (at.get() == number).then_some("true")
                on:click=move |_| store.open_dialog(OpenDialog::None)>
                <strong class="n">{title}</strong> " " <span class="meta">{more}</span>
            </a>
        }).collect_view()
    };
    view! {
        <Dialog title="Compare with">
            <input type="text" class="typed" aria-label="Find a conversation" placeholder="Find a conversation" node_ref=input
                on:input=move |event| { typed.set(event_target_value(&event)); at.set(0); } on:keydown=press />
            {options}
            {move || rows.with(Vec::is_empty).then(|| view! { <p class="meta pad">{typed.with(|typed| no_choice(typed))}</p> })}
        </Dialog>
    }
}
