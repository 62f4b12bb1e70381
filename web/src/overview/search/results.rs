//! What was found: the conversations with their hits, and in words what is missing, wrong or still awaited.

use leptos::prelude::*;
use model::ConversationId;
use web_sys::KeyboardEvent;

use super::{FIELD, SearchState, Step, focus_hit, focus_hit_of};
use crate::components::refused::refused;
use crate::components::{StateIcon, shape_of};
use crate::link::Status;
use crate::overview::hits::{self, HITS_OF_ONE, SearchFound};
use crate::overview::terms;
use crate::route::{self, Looks};
use crate::search::Hit;
use crate::{browser, fleet, format};

/// The summary, the conversations, and the way to older hits.
#[component]
pub(super) fn Results(state: SearchState) -> impl IntoView {
    let names = move || state.found.with(|found| found.groups.keys().cloned().collect::<Vec<_>>());
    let walk = move |event: KeyboardEvent| {
        let step = match event.key().as_str() {
            "ArrowDown" => Step::By(1),
            "ArrowUp" => Step::By(-1),
            "Home" => Step::First,
            "End" => Step::Last,
            "Escape" => {
                browser::focus(FIELD);
                return event.prevent_default();
            }
            _ => return,
        };
        focus_hit(step);
        event.prevent_default();
    };
    view! {
        <Told state=state />
        <div class="found-in" data-t="search-results" aria-busy=move || state.is_busy.get().to_string() on:keydown=walk>
            <For each=names key=Clone::clone let:name><Group state=state name=name /></For>
            <Rest state=state />
            <Hints state=state />
        </div>
    }
}

/// How much was found, or why nothing is searched for.
#[component]
fn Told(state: SearchState) -> impl IntoView {
    let wrong = Memo::new(move |_| state.terms.with(|terms| terms.as_ref().err().cloned()));
    let odd = Memo::new(move |_| state.text.with(|text| terms::unknown(text)));
    let needs_word = Memo::new(move |_| {
        state.terms.with(|terms| terms.as_ref().is_ok_and(|it| it.words.is_empty() && it.has_conditions()))
    });
    let words = move || {
        if wrong.with(Option::is_some) || state.refusal.with(Option::is_some) {
            String::new()
        } else if state.is_busy.get() {
            "Searching…".to_owned()
        } else if needs_word.get() {
            "Type a word as well: conditions alone find nothing.".to_owned()
        } else if state.is_answered.get() {
            state.found.with(SearchFound::words)
        } else {
            String::new()
        }
    };
    let trouble = move || {
        let said = wrong.get().or_else(|| state.refusal.get().map(|why| format!("Not searched. {why}")))?;
        let again = state.refusal.with(Option::is_some).then(|| {
            let again = move |_| {
                browser::focus(FIELD);
                // Only the older hits are missing where there is an answer already.
                if state.is_answered.get_untracked() { state.search_on() } else { state.search() }
            };
            view! { " " <button type="button" class="link" data-t="search-again" on:click=again>"Try again"</button> }
        });
        Some(view! { <p class="err" role="alert" data-t="search-trouble">{refused(&said)} {again}</p> })
    };
    view! {
        <div class="told">
            <p class="meta num" role="status" data-t="search-summary">{words}</p>
            {move || odd.get().map(|said| view! { <p class="meta slow" role="status" data-t="search-odd">{said}</p> })}
            {trouble}
        </div>
    }
}

/// What the head of a conversation shows of its row.
#[derive(Clone, PartialEq)]
struct GroupHead {
    title: String,
    /// The state in a word; tests read it as `data-state`.
    state: &'static str,
    shape: (&'static str, &'static str),
    /// The time since its newest event.
    age: String,
    archived: bool,
}

/// What the row of a conversation says, as it changes; `None` until the row is loaded.
fn head_of(state: SearchState, id: Option<ConversationId>) -> Memo<Option<GroupHead>> {
    Memo::new(move |_| {
        state.board.version.track();
        let (now, is_current) = (state.board.now.get(), state.board.status.with(Status::has_socket));
        state.board.rows(|rows| {
            let row = rows.get(id.as_ref()?)?;
            Some(GroupHead {
                title: fleet::title(row).to_owned(),
                state: fleet::state(row, now),
                shape: shape_of(Some(row), is_current, now),
                age: format::age(now.saturating_sub(row.at)),
                archived: row.archived,
            })
        })
    })
}

/// A conversation with its hits, the newest first. Only [`HITS_OF_ONE`] are drawn before the reader asks for all. Its title is its id
/// until its row is loaded.
#[component]
fn Group(state: SearchState, name: String) -> impl IntoView {
    let id = ConversationId::parse(&name).ok();
    let hits = {
        let name = name.clone();
        Memo::new(move |_| state.found.with(|found| found.groups.get(&name).cloned().unwrap_or_default()))
    };
    let head = head_of(state, id.clone());
    let shape = Signal::derive(move || head.with(|it| it.as_ref().map_or(("#dot", "gone"), |it| it.shape)));
    let title = {
        let name = name.clone();
        move || head.with(|it| it.as_ref().map_or_else(|| name.clone(), |it| it.title.clone()))
    };
    let about = move || {
        let count = hits.with(Vec::len);
        let found = format::counted(count, "hit");
        head.with(|it| match it {
            Some(it) if it.archived => format!("{} · {} · archived · {found}", it.state, it.age),
            Some(it) => format!("{} · {} · {found}", it.state, it.age),
            None => found,
        })
    };
    let is_whole = RwSignal::new(false);
    let shown = move || {
        let most = if is_whole.get() { usize::MAX } else { HITS_OF_ONE };
        hits.with(|hits| hits.iter().take(most).cloned().collect::<Vec<_>>())
    };
    let hidden =
        move || hits.with(Vec::len).saturating_sub(if is_whole.get() { usize::MAX } else { HITS_OF_ONE });
    let href = id.as_ref().map(route::path_of);
    let only = {
        let name = name.clone();
        move |_| state.put_from_button("in", &name)
    };
    let has_one = move || !state.value("in").is_empty();
    let for_link = id;
    let show_all = {
        let name = name.clone();
        move |_| {
            is_whole.set(true);
            let name = name.clone();
            // The button is gone then: the focus goes on to the first hit that it brought.
            browser::before_paint(move || focus_hit_of(&name, HITS_OF_ONE));
        }
    };
    view! {
        <section class="group" data-t="search-group" data-conversation=name data-state=move || head.with(|it| it.as_ref().map_or("", |it| it.state))>
            <header>
                <h2><StateIcon shape=shape /> <a href=href>{title}</a></h2>
                <span class="meta num">{about}</span>
                {move || (!has_one()).then(|| view! {
                    <button type="button" class="link" title="Search in this conversation only" on:click=only.clone()>"Only here"</button>
                })}
            </header>
            <ul>
                <For each=shown key=|hit| (hit.kind.clone(), hit.run.clone(), hit.item.clone(), hit.pieces.clone()) let:hit>
                    <Line id=for_link.clone() hit=hit />
                </For>
            </ul>
            {move || (hidden() > 0).then(|| view! {
                <button type="button" class="link more" data-t="search-more-of-one" on:click=show_all.clone()>
                    {move || format!("{} more here", hidden())}</button>
            })}
        </section>
    }
}

/// A hit: a link to that moment of the conversation, with the word for Find.
#[component]
fn Line(id: Option<ConversationId>, hit: Hit) -> impl IntoView {
    let href = id.as_ref().map(|id| route::link(id, &Looks::at(&hit, hits::found_word(&hit))));
    let (place, at) = (hits::place(&hit), browser::date_and_time(hit.at));
    let kind = hit.kind.clone();
    let pieces = hit.pieces.into_iter().enumerate().map(|(at, piece)| {
        if at % 2 == 1 { view! { <mark>{piece}</mark> }.into_any() } else { piece.into_any() }
    });
    view! {
        <li><a class="hit" data-t="search-hit" data-kind=kind href=href>
            <span class="meta num">{place} " · " {at}</span>
            <span class="pv" dir="auto">{pieces.collect_view()}</span>
        </a></li>
    }
}

/// Says that not all was searched, with the button that goes on.
#[component]
fn Rest(state: SearchState) -> impl IntoView {
    let rest =
        Memo::new(move |_| if state.is_answered.get() { state.found.with(SearchFound::rest) } else { None });
    move || {
        rest.get().map(|(missing, word)| {
            view! {
                <p class="rest meta" data-t="search-rest">{missing} " "
                    <button type="button" class="chip" data-t="search-on" aria-disabled=move || state.is_busy.get().to_string()
                        on:click=move |_| if !state.is_busy.get_untracked() { state.search_on() }>{word}</button>
                </p>
            }
        })
    }
}

/// What can be typed, while nothing is; and what may help where nothing was found.
#[component]
fn Hints(state: SearchState) -> impl IntoView {
    let is_empty = Memo::new(move |_| state.text.with(|text| text.trim().is_empty()));
    let is_in_vain = Memo::new(move |_| {
        state.is_answered.get() && state.found.with(|found| found.groups.is_empty() && found.next.is_none())
    });
    let has_conditions =
        move || state.terms.with(|terms| terms.as_ref().is_ok_and(terms::SearchTerms::has_conditions));
    let vain = move || {
        is_in_vain.get().then(|| view! {
            <div class="hints" data-t="search-nothing">
                <p>"No complete text has all of these words."
                    {move || has_conditions().then_some(" The filters leave some texts out.")}</p>
                <ul>
                    <li>"Words are found whole: type " <code>"fail*"</code> " to find " <q>"failed"</q> "."</li>
                    <li>"A text that is still being written is found once it is complete. Only the first 256 KiB of a text are searched."</li>
                    {move || has_conditions().then(|| view! {
                        <li><button type="button" class="link" on:click=move |_| state.clear()>
                            "Search without filters"</button></li>
                    })}
                </ul>
            </div>
        })
    };
    let begin = move || {
        is_empty.get().then(|| {
            let line = |typed: &'static str, does: &'static str| {
                view! { <div><dt><code>{typed}</code></dt><dd>{does}</dd></div> }
            };
            view! {
                <div class="hints" data-t="search-hints">
                    <p>"Searches the messages, answers, thinking, tool arguments and tool results of all conversations."</p>
                    <dl>
                        {line("exit code", "texts with both words")}
                        {line("\"exit code\"", "the words next to each other")}
                        {line("fail*", "words that begin like this")}
                        {line("tool:run_sql", "arguments and results of that tool")}
                        {line("kind:thinking", "also: message, answer, arguments, result")}
                        {line("since:7d until:2026-11-20", "a time: 24h or 7d ago, or a date")}
                        {line("agent:coder state:error tag:prod is:archived", "only conversations with that agent, state, tag; archived ones")}
                    </dl>
                </div>
            }
        })
    };
    view! { {begin} {vain} }
}
