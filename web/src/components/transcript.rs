//! The conversation: messages and runs, of which only a limited part is in the document.
//!
//! ```text
//! view ─▶ pieces (all messages and sections of runs) ─▶ first..end, by weight in rows ─▶ Message, Run
//!
//! [ Show earlier turns ]  the hub has more than this part of the conversation, and first = 0
//! [ Show 120 earlier ]   first > 0           newest items:  first follows the end while the view does
//!   piece                                    after a jump:  first is the anchor, end what fits the budget
//!   piece                                    written in:    a section with a draft stays in any case
//! [ Show 8 later ]       end < all
//! ```

use leptos::html;
use leptos::prelude::*;
use model::View;

use super::agents::OnlyAgent;
use super::composer::{Unheard, unheard};
use super::copy::copy_code;
use super::empty::Empty;
use super::message::Message;
use super::recording::RecordingBar;
use super::run::Run;
use super::since::Since;
use super::strip::Strip;
use super::turn::Origin;
use crate::browser;
use crate::format;
use crate::modules::{self, from_module, more_from_module};
use crate::page_modules::PageModule;
use crate::pieces::{self, Piece};
use crate::scroll::Scroller;
use crate::store::{Store, use_store};
use crate::window;

/// The scrolling box of the conversation, with the bar of an opened recording and the strip of a stale page
/// above it, the button to the end and the composer.
///
/// It exists from the first painting on, while the content comes from a module that is fetched; so the
/// scroller and the first focus have something to hold on to. It is hidden, not removed, while the wall is
/// shown.
#[component]
pub(crate) fn Transcript() -> impl IntoView {
    let store = use_store();
    let (window, content) = (NodeRef::<html::Div>::new(), NodeRef::<html::Div>::new());
    let spacer = NodeRef::<html::Div>::new();
    Effect::new(move |_| {
        if let (Some(window), Some(content), Some(spacer)) = (window.get(), content.get(), spacer.get()) {
            let told = move |is_on| store.reading.set_following(is_on);
            let scroller = Scroller::of(window.into(), content.into(), spacer.into(), told);
            store.reading.scroller.set_value(scroller);
        }
    });
    let name = move || match store.reading.conversation.get() {
        Some(id) => format!("Conversation {id}"),
        None => "Conversation".to_owned(),
    };
    view! {
        <main class="stage" hidden=move || store.panel.wall.get()>
            <RecordingBar />
            <Strip />
            <Since />
            <div class="said">
            <div class="scroll" id="transcript" node_ref=window data-t="transcript" role="log" aria-live="off"
                aria-label=name tabindex="0"
                aria-busy=move || store.reading.running.get().to_string()
                data-running=move || store.reading.running.get().then_some("")
                data-seq=move || drawn_seq(store).to_string()
                on:click=move |event| copy_code(&event, store)>
                <div class="col" class:wide=move || store.panel.compared.with(Option::is_some) node_ref=content>{move || (!store.panel.wall.get()).then(|| from_module(PageModule::Conversation, || modules::conversation(modules::Piece::Content)))}</div>
                <div class="spacer" node_ref=spacer></div>
            </div>
            {move || store.link.mark.get().map(|words| view! {
                <p class="mark-line meta num" data-t="mark"><span>{words}</span></p>
            })}
            <Jump />
            </div>
            {more_from_module(PageModule::Conversation, || modules::conversation(modules::Piece::Composer))}
        </main>
    }
}

/// The seq up to which the conversation is drawn, as `data-seq`, on which tests wait. 0 until the module that
/// draws is there, and while the page needs more of the conversation than is here.
fn drawn_seq(store: Store) -> u64 {
    let seq = store.reading.seq.get();
    let is_drawn = store.modules.has(PageModule::Conversation) && !store.awaits_all();
    if is_drawn { seq } else { 0 }
}

/// Messages and runs, the buttons for those that are not in the document, and what the reader said that no
/// event confirms yet. All are built anew for another conversation.
///
/// Instead of them it shows one sub-agent if `reading.only` is set, two conversations beside each other if
/// `panel.compared` is, and the introduction if the conversation is empty.
#[component]
pub(crate) fn Content() -> impl IntoView {
    let store = use_store();
    modules::typeset_formulas();
    let budget = RwSignal::new(window::rows(store.reading.is_bare));
    let items = Memo::new(move |_| {
        store.reading.conversation.track();
        store.reading.recordings.track();
        store.reading.track_items();
        store.reading.view(pieces::pieces)
    });
    let anchor = anchor(store, items, budget);
    let place = first_shown(store, items, budget, anchor);
    let first = Memo::new(move |_| place.with(|place| place.at));
    let end = Memo::new(move |_| {
        let (first, budget) = (first.get(), budget.get());
        let is_newest = anchor.with(Option::is_none);
        let count = if is_newest { usize::MAX } else { count_from(store, items, first, budget) };
        first.saturating_add(count).min(items.with(Vec::len))
    });
    let shown = Memo::new(move |_| {
        let window = first.get()..end.get();
        // A section in which the reader writes stays.
        let is_shown = |(at, item): &(usize, &Piece)| {
            window.contains(at) || matches!(item, Piece::Section { run, .. } if store.is_written_in(run))
        };
        let shown = |items: &Vec<Piece>| {
            items.iter().enumerate().filter(is_shown).map(|(_, item)| item.clone()).collect::<Vec<_>>()
        };
        items.with(shown)
    });
    let later = move || items.with(Vec::len).saturating_sub(end.get());
    let said = unheard(store);
    let is_bare_of_words = Memo::new(move |_| items.with(Vec::is_empty) && said.with(Vec::is_empty));
    let rows = move || {
        view! {
            <EarlierTurns first=first />
            {move || (first.get() > 0).then(|| {
                let label = format!("Show {} earlier messages and runs", format::grouped(first.get() as u64));
                let more = move |event| show_earlier(&event, store, items, first, budget, anchor);
                view! { <button type="button" class="more" data-earlier="" on:click=more>{label}</button> }
            })}
            <Origin />
            <For each=move || shown.get() key=Clone::clone let:item>
                {match item {
                    Piece::Message(id) => view! { <Message id=id /> }.into_any(),
                    Piece::Section { run, from } => view! { <Run id=run from=from /> }.into_any(),
                }}
            </For>
            {move || (later() > 0).then(|| {
                let label = format!("Show {} later messages and runs", format::grouped(later() as u64));
                view! { <button type="button" class="more" on:click=move |_| anchor.set(None)>{label}</button> }
            })}
            <Unheard said=said />
        }
    };
    move || {
        // Two conversations may have items with the same id: nothing of one may be kept for the other.
        store.reading.conversation.track();
        store.reading.recordings.track();
        budget.set(window::rows(store.reading.is_bare));
        if let Some(agent) = store.reading.only.get() {
            return view! { <OnlyAgent agent=agent /> }.into_any();
        }
        if let Some(other) =
            store.panel.compared.get().filter(|_| store.reading.recording.with(Option::is_none))
        {
            let compared = from_module(PageModule::Compare, move || modules::compared(other.clone()));
            return view! { {compared} <Unheard said=said /> }.into_any();
        }
        if is_bare_of_words.get() { view! { <Empty /> }.into_any() } else { rows().into_any() }
    }
}

/// Shows more of what stands above `first`, with what is visible at its place: a reader who clicks gets much
/// at once. A click that a script made gets the next larger budget, and from the largest one on a window that
/// is moved back by half of it.
fn show_earlier(
    event: &leptos::ev::MouseEvent,
    store: Store,
    items: Memo<Vec<Piece>>,
    first: Memo<usize>,
    budget: RwSignal<usize>,
    anchor: Anchor,
) {
    hold_first(event, store);
    let rows = budget.get_untracked();
    if event.is_trusted() {
        budget.set(rows.saturating_mul(4));
    } else if let Some(more) = window::grown(rows) {
        budget.set(more);
    } else {
        let before = first.get_untracked();
        let at = items.with_untracked(|items| {
            store
                .reading
                .view(|view| window::first(before, rows / 2, |at| weight(store, view, items, at, rows)))
        });
        anchor.set(items.with_untracked(|items| items.get(at).cloned()));
    }
}

/// The piece that is shown first after a jump; `None` while the newest ones are shown. A piece rather than its index, since earlier pieces may
/// come from the hub.
type Anchor = RwSignal<Option<Piece>>;

/// The index of `piece`: `near`, if it is there still. A section of which the beginning came meanwhile is found by its run.
fn place_of(items: &[Piece], piece: &Piece, near: usize) -> Option<usize> {
    if items.get(near) == Some(piece) {
        return Some(near);
    }
    let is_same = |it: &Piece| it == piece;
    items.iter().position(is_same).or_else(|| items.iter().position(|it| it.item() == piece.item()))
}

/// A button that asks the hub for what lies before the part of the conversation that is here. It is also pressed by scrolling near it.
#[component]
fn EarlierTurns(first: Memo<usize>) -> impl IntoView {
    let store = use_store();
    let is_more = Memo::new(move |_| {
        store.reading.track_items();
        store.reading.part.with(Option::is_some) && first.get() == 0
    });
    let is_asked = RwSignal::new(false);
    Effect::new(move |_| {
        store.reading.part.track();
        is_asked.set(false);
    });
    let more = move |event: leptos::ev::MouseEvent| {
        hold_first(&event, store);
        is_asked.set(true);
        if event.is_trusted() {
            // The button goes when the turns come; whoever pressed it by key goes on reading.
            browser::focus("transcript");
        }
        store.ask_more();
    };
    let label = move || if is_asked.get() { "Loading earlier turns…" } else { "Show earlier turns" };
    move || {
        is_more.get().then(|| {
            view! {
                <button type="button" class="more" data-earlier="" data-t="earlier-turns" on:click=more>{label}</button>
            }
        })
    }
}

/// How many rows the item at index `at` counts, from 1 to `budget`. Rows with an open body count more than a
/// line; what is beyond the budget is not counted, so that a run of ten thousand rows costs no more than one
/// that fills the window.
fn weight(store: Store, view: &View, items: &[Piece], at: usize, budget: usize) -> usize {
    match items.get(at) {
        Some(Piece::Section { run: id, from }) => view.runs.get(id).map_or(1, |run| {
            // The next section begins after the messages within the run.
            let mut behind = items.iter().skip(at.saturating_add(1));
            let end = match behind.find(|piece| matches!(piece, Piece::Section { .. })) {
                Some(Piece::Section { run, from }) if run == id => *from,
                _ => run.items.len(),
            };
            let row = |at: usize| run.items.get(from.saturating_add(at));
            let weigh = |at| window::row_weight(run, row(at), |item| store.reading.has_body(id, item));
            let count = end.saturating_sub(*from);
            let shown = (window::first(count, budget, weigh)..count).map(weigh);
            shown.sum::<usize>().clamp(1, budget.max(1))
        }),
        Some(Piece::Message(id)) => view.messages.get(id).map_or(1, |it| window::text_rows(&it.text)),
        None => 1,
    }
}

/// How many items from `first` on fit into `budget`, while older items are shown.
fn count_from(store: Store, items: Memo<Vec<Piece>>, first: usize, budget: usize) -> usize {
    items.with(|items| {
        store.reading.view(|view| {
            window::fitting(items.len(), first, budget, |at| weight(store, view, items, at, budget))
        })
    })
}

/// The first item that is shown after a jump to one that is older than the newest that fit; `None` while the
/// newest items are shown.
fn anchor(store: Store, items: Memo<Vec<Piece>>, budget: RwSignal<usize>) -> Anchor {
    let anchor = Anchor::new(None);
    Effect::new(move |_| {
        let Some((run, wanted)) = store.reading.wanted.get() else { return };
        let budget = budget.get_untracked();
        let at = items.with_untracked(|items| {
            let at =
                store.reading.view(|view| pieces::piece_of(items, &run, view.runs.get(&run)?, &wanted))?;
            let newest = store
                .reading
                .view(|view| window::first(items.len(), budget, |at| weight(store, view, items, at, budget)));
            Some((at < newest).then(|| items.get(at).cloned()).flatten())
        });
        if let Some(at) = at.filter(|at| anchor.with_untracked(|anchor| anchor != at)) {
            anchor.set(at);
        }
    });
    Effect::new(move |_| {
        if store.reading.following.get() {
            anchor.set(None);
        }
    });
    anchor
}

/// The index of the first item that is shown, and whether it is the target of a jump. It advances only while
/// the view follows the end: what the reader is reading must not be removed. A larger budget moves it back at
/// any time.
fn first_shown(
    store: Store,
    items: Memo<Vec<Piece>>,
    budget: RwSignal<usize>,
    anchor: Anchor,
) -> Memo<FirstShown> {
    Memo::new(move |was: Option<&FirstShown>| {
        let budget = budget.get();
        let near = was.map_or(0, |was| was.at);
        let place = |piece: &Piece| items.with(|items| place_of(items, piece, near));
        let shown = |at: usize, is_target| {
            let piece = items.with(|items| items.get(at).cloned());
            FirstShown { at, piece, is_target }
        };
        if let Some(at) = anchor.get().as_ref().and_then(place) {
            return shown(at, true);
        }
        let wanted = items.with(|items| {
            store
                .reading
                .view(|view| window::first(items.len(), budget, |at| weight(store, view, items, at, budget)))
        });
        let was = was.filter(|was| !was.is_target && !store.reading.following.get_untracked());
        let held = was.and_then(|was| was.piece.as_ref()).and_then(place);
        shown(held.map_or(wanted, |held| wanted.min(held)), false)
    })
}

/// The first piece that is shown.
#[derive(Debug, Clone, PartialEq)]
struct FirstShown {
    /// Its index.
    at: usize,
    /// The piece, by which it is found when its index has changed.
    piece: Option<Piece>,
    /// Whether it is the target of a jump.
    is_target: bool,
}

/// Stops following the end, and keeps what is visible at its place while items are added above it.
fn hold_first(_: &leptos::ev::MouseEvent, store: Store) {
    store.reading.release();
    store.reading.scroller.with_value(Scroller::hold_first);
}

/// A button that goes to the end and follows it, shown while the view does not. It counts what came since;
/// without anything new it is shown only while a run is active.
#[component]
fn Jump() -> impl IntoView {
    let store = use_store();
    let label = move || {
        if store.reading.following.get() {
            return None;
        }
        match store.reading.unseen.get() {
            0 => store.reading.running.get().then(|| "↓ Latest".to_owned()),
            n => Some(format!("↓ {n} new")),
        }
    };
    move || {
        label().map(|label| {
            view! { <button type="button" class="jump num" on:click=move |_| store.reading.follow()>{label}</button> }
        })
    }
}
