//! The page `/search`: complete texts of all conversations, grouped by conversation.
//!
//! ```text
//! Field, Narrowing ─▶ text (the address bar) ─▶ SearchTerms ─▶ after a pause ─▶ GET /v1/search ─▶ SearchFound ─▶ Results
//!                                                                 ▲                                          │
//!                                                                 └── Keep searching, Show older hits ───────┘
//! ```
//!
//! | key | in the field | on a hit |
//! |---|---|---|
//! | Enter | searches at once, and goes to the first hit | opens it |
//! | ↓, ↑ | to the first hit, unless values are offered | to the next or the one before; from the first back to the field |
//! | Home, End | | to the first and the last |
//! | Escape | | back to the field |

use leptos::prelude::*;
use leptos::task::spawn_local;
use serde::Deserialize;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, KeyboardEvent};

use super::address;
use super::board::Board;
use super::hits::{SearchAnswer, SearchFound};
use super::terms::{self, Clock, SearchTerms};
use crate::browser;
use crate::components::icon;
use crate::route;

#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod narrowing;
#[expect(unreachable_pub, reason = "leptos makes the properties of every component public")]
mod results;

use narrowing::Narrowing;
use results::Results;

/// How long the reader must pause before what is typed is searched for, in milliseconds.
const REST_MS: i32 = 350;

/// The id of the field.
const FIELD: &str = "search-field";

/// What the parts of the page share. A handle: copies share the same signals.
#[derive(Clone, Copy)]
pub(super) struct SearchState {
    /// The rows of the list, for titles, states and values that are offered.
    board: Board,
    /// What is typed. Each change is written into the address bar.
    text: RwSignal<String>,
    /// The conditions and words in `text`, or what is wrong with it.
    terms: Memo<Result<SearchTerms, String>>,
    /// The names of the tools that were called, as the hub has them.
    tools: RwSignal<Vec<String>>,
    /// What was found, of the newest search whose answer came.
    found: RwSignal<SearchFound>,
    /// Whether `found` answers what is typed.
    is_answered: RwSignal<bool>,
    /// Whether an answer is awaited.
    is_busy: RwSignal<bool>,
    /// Why the hub did not search.
    refusal: RwSignal<Option<String>>,
    /// Counts the searches: an answer to an older one is dropped.
    round: StoredValue<u32>,
    /// Whether the first hit gets the focus once the answer is there.
    wants_hit: StoredValue<bool>,
}

/// The answer of `GET /v1/tools`, as far as it is read.
#[derive(Deserialize)]
struct Tools {
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
}

impl SearchState {
    /// The search that the address of the page describes.
    fn new(board: Board) -> Self {
        let query = browser::window().location().search().unwrap_or_default();
        let text = RwSignal::new(address::searched(&query));
        Self {
            board,
            text,
            terms: Memo::new(move |_| text.with(|text| SearchTerms::parse(text))),
            tools: RwSignal::new(Vec::new()),
            found: RwSignal::new(SearchFound::default()),
            is_answered: RwSignal::new(false),
            is_busy: RwSignal::new(false),
            refusal: RwSignal::new(None),
            round: StoredValue::new(0),
            wants_hit: StoredValue::new(false),
        }
    }

    /// Puts a condition into what is typed, in the place of one of the same key; takes it out where `value` is empty.
    fn put(self, key: &str, value: &str) {
        self.text.update(|text| *text = terms::with_condition(text, key, value));
    }

    /// Puts a condition as [`Self::put`] does, from a button that the change removes: the focus goes to the field, where it would be lost with the
    /// button.
    fn put_from_button(self, key: &str, value: &str) {
        browser::focus(FIELD);
        self.put(key, value);
    }

    /// Takes all conditions out of what is typed. The buttons for it are gone then, so the focus goes to the field.
    fn clear(self) {
        browser::focus(FIELD);
        self.text.update(|text| *text = terms::words_of(text));
    }

    /// The value of a condition, as it was typed. Tracks what is typed.
    fn value(self, key: &str) -> String {
        self.text.with(|text| terms::condition_of(text, key))
    }

    /// The path of the hub for what is typed, for hits older than `before`. `None` if there is nothing to search for. Tracks nothing.
    fn path(self, before: Option<u64>) -> Option<String> {
        let clock = Clock { now: self.board.hub_time(), local: &local };
        self.terms.with_untracked(|terms| terms.as_ref().ok()?.path(&clock, before))
    }

    /// Makes answers that are still awaited those of an older search. The answer is the number of the newest.
    fn begin_round(self) -> u32 {
        self.round.update_value(|round| *round = round.wrapping_add(1));
        self.round.get_value()
    }

    /// Searches for what is typed once the reader pauses, or at once where nothing is to be searched for.
    fn search_soon(self) {
        let round = self.begin_round();
        self.is_answered.set(false);
        self.wants_hit.set_value(false);
        if self.path(None).is_none() {
            self.is_busy.set(false);
            self.refusal.set(None);
            self.found.set(SearchFound::default());
            return;
        }
        self.is_busy.set(true);
        browser::after(REST_MS, move || {
            if self.round.get_value() == round {
                self.search();
            }
        });
    }

    /// Searches for what is typed.
    fn search(self) {
        self.ask(None);
    }

    /// Goes on with what is older than all that was found.
    fn search_on(self) {
        if let Some(before) = self.found.with_untracked(|found| found.next) {
            self.ask(Some(before));
        }
    }

    /// Asks the hub, and takes its answer unless another search has begun meanwhile.
    fn ask(self, before: Option<u64>) {
        let Some(path) = self.path(before) else { return };
        let round = self.begin_round();
        self.is_busy.set(true);
        self.refusal.set(None);
        spawn_local(async move {
            let answer = browser::fetch_text(&path).await;
            if self.round.get_value() != round {
                return;
            }
            self.is_busy.set(false);
            let read = answer.and_then(|text| {
                SearchAnswer::parse(&text).ok_or_else(|| "The hub's answer could not be read.".to_owned())
            });
            match read {
                Ok(answer) => self.take(answer, before),
                Err(why) => {
                    if before.is_none() {
                        self.found.set(SearchFound::default());
                    }
                    self.refusal.set(Some(why));
                }
            }
        });
    }

    /// Shows an answer. After one that leaves nothing to ask for, the button that asked is gone: the focus goes to the last hit.
    fn take(self, answer: SearchAnswer, before: Option<u64>) {
        let mut found = if before.is_some() { self.found.get_untracked() } else { SearchFound::default() };
        found.add(answer);
        let is_over = before.is_some() && found.next.is_none();
        self.found.set(found);
        self.is_answered.set(true);
        if self.wants_hit.get_value() || is_over {
            self.wants_hit.set_value(false);
            browser::before_paint(move || focus_hit(if is_over { Step::Last } else { Step::First }));
        }
    }
}

/// A minute of this browser's calendar in milliseconds since 1970.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times of dates are whole and small"
)]
fn local([year, month, day, hour, minute]: [u32; 5]) -> u64 {
    let month = i32::try_from(month).unwrap_or(1).saturating_sub(1);
    let [day, hour, minute] = [day, hour, minute].map(|it| i32::try_from(it).unwrap_or(0));
    js_sys::Date::new_with_year_month_day_hr_min(year, month, day, hour, minute).get_time().max(0.0) as u64
}

/// The page: the field, what the search is narrowed to, what was found.
#[component]
pub(super) fn Search(board: Board) -> impl IntoView {
    let state = SearchState::new(board);
    Effect::new(move |_| browser::replace_address(&state.text.with(|text| route::search_address(text))));
    Effect::new(move |before: Option<()>| {
        state.terms.track();
        match before {
            // What the address asks for is not being typed.
            None => state.search(),
            Some(()) => state.search_soon(),
        }
    });
    spawn_local(async move {
        let tools = browser::fetch_text("/v1/tools").await.ok();
        // Without them values are offered from the rows alone.
        let tools = tools.and_then(|text| serde_json::from_str::<Tools>(&text).ok());
        state
            .tools
            .set(tools.map_or_else(Vec::new, |it| it.tools.into_iter().map(|tool| tool.name).collect()));
    });
    view! {
        <div class="searching" data-t="search-page">
            <h1 class="sr">"Search"</h1>
            <div class="controls">
                <Field state=state />
                <Narrowing state=state />
            </div>
            <Results state=state />
        </div>
    }
}

/// Where words and conditions are typed. It has the focus when the page is opened.
#[component]
fn Field(state: SearchState) -> impl IntoView {
    let offered = Memo::new(move |_| {
        state.board.sorting.track();
        let text = state.text.get();
        state.tools.with(|tools| state.board.rows(|rows| terms::completions(&text, tools, rows.values())))
    });
    browser::before_paint(|| browser::focus(FIELD));
    let press = move |event: KeyboardEvent| {
        match event.key().as_str() {
            "Enter" if state.is_answered.get_untracked() => focus_hit(Step::First),
            "Enter" => {
                state.wants_hit.set_value(true);
                state.search();
            }
            "ArrowDown" if offered.with_untracked(Vec::is_empty) => focus_hit(Step::First),
            _ => return,
        }
        event.prevent_default();
    };
    view! {
        <span class="search" role="search">
            {icon("#find", "")}
            <input type="search" id=FIELD placeholder="Search all conversations: words, tool:…, since:7d" aria-label="Search all conversations"
                list="search-values" maxlength="2000" prop:value=move || state.text.get() on:keydown=press
                on:input=move |event| state.text.set(event_target_value(&event)) />
            <datalist id="search-values">
                {move || offered.get().into_iter().map(|value| view! { <option value=value></option> }).collect_view()}
            </datalist>
        </span>
    }
}

/// The hit that gets the focus.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    First,
    Last,
    /// The next one, or the one before, from the hit that has it.
    By(isize),
}

/// Gives a hit the focus. Before the first one is the field; after the last nothing happens.
fn focus_hit(step: Step) {
    let hits = drawn_hits();
    let focused = browser::document().active_element();
    let here = hits.iter().position(|hit| focused.as_ref().is_some_and(|it| hit.contains(Some(it))));
    let at = match step {
        Step::First => Some(0),
        Step::Last => hits.len().checked_sub(1),
        Step::By(by) => here.unwrap_or(0).checked_add_signed(by),
    };
    match at {
        None => browser::focus(FIELD),
        Some(at) => {
            if let Some(hit) = hits.get(at) {
                drop(hit.focus());
            }
        }
    }
}

/// Gives the focus to a hit of one conversation, the one at `at` from 0; to the field if it is not drawn.
fn focus_hit_of(conversation: &str, at: usize) {
    let is_of_it = |hit: &HtmlElement| {
        let group = hit.closest("[data-conversation]").ok().flatten();
        group.and_then(|it| it.get_attribute("data-conversation")).is_some_and(|name| name == conversation)
    };
    match drawn_hits().into_iter().filter(is_of_it).nth(at) {
        Some(hit) => drop(hit.focus()),
        None => browser::focus(FIELD),
    }
}

/// The hits that are drawn, in the order of the page.
fn drawn_hits() -> Vec<HtmlElement> {
    let Ok(found) = browser::document().query_selector_all("[data-t=search-hit]") else { return Vec::new() };
    (0..found.length()).filter_map(|n| found.get(n)?.dyn_into().ok()).collect()
}
