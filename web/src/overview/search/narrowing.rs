//! What the search is narrowed to, for those who do not type conditions: each control puts one into the field, and shows the one there.

use leptos::prelude::*;
use model::ConversationId;

use super::SearchState;
use crate::fleet;
use crate::overview::terms;

/// Most values of one control.
const VALUES_MAX: usize = 200;

/// The value of the control of times that shows the fields of dates.
const DATES: &str = "dates";

/// The choices of a control: values and their words.
type Choices = Vec<(String, String)>;

/// The controls for kind, time, tool, agent, state and archive, and what other conditions there are, each with a way to take it out.
#[component]
pub(super) fn Narrowing(state: SearchState) -> impl IntoView {
    let fixed = |choices: &[(&str, &str)]| -> Choices {
        choices.iter().map(|(value, words)| ((*value).to_owned(), (*words).to_owned())).collect()
    };
    let kinds = fixed(&[
        ("", "Any text"),
        ("message", "Messages"),
        ("answer", "Answers"),
        ("thinking", "Thinking"),
        ("arguments", "Arguments of tools"),
        ("result", "Results of tools"),
    ]);
    let states = fixed(&[
        ("", "Any state"),
        ("running", "Running"),
        ("complete", "Complete"),
        ("error", "Failed"),
        ("cancelled", "Cancelled"),
        ("interrupted", "Interrupted"),
    ]);
    let is_archived = move || !state.value("is").is_empty();
    view! {
        <div class="narrowing" role="group" aria-label="Narrow the search" data-t="search-narrowing">
            <Choice state=state key="kind" label="Kind of text" choices=Signal::derive(move || kinds.clone()) />
            <Time state=state />
            <Known state=state key="tool" label="Tool" any="Any tool" />
            <Known state=state key="agent" label="Agent" any="Any agent" />
            <Choice state=state key="state" label="State of the newest run" choices=Signal::derive(move || states.clone()) />
            <button type="button" class="chip" aria-pressed=move || is_archived().to_string()
                on:click=move |_| state.put("is", if is_archived() { "" } else { "archived" })>"Archived only"</button>
            <Removable state=state key="tag" />
            <Removable state=state key="in" />
            {move || state.terms.with(|terms| terms.as_ref().is_ok_and(terms::SearchTerms::has_conditions)).then(|| view! {
                <button type="button" class="link" data-t="search-clear"
                    on:click=move |_| state.clear()>"Clear filters"</button>
            })}
        </div>
    }
}

/// A control whose values are known. The value that is typed is one of them, whatever it is.
#[component]
fn Choice(
    state: SearchState,
    key: &'static str,
    label: &'static str,
    #[prop(into)] choices: Signal<Choices>,
) -> impl IntoView {
    let value = Memo::new(move |_| state.value(key));
    let all = Memo::new(move |_| {
        let (mut all, value) = (choices.get(), value.get());
        if !all.iter().any(|(known, _)| *known == value) {
            all.push((value.clone(), value));
        }
        all
    });
    let options = move || {
        let option = |(own, words): (String, String)| {
            let is_chosen = {
                let own = own.clone();
                move || value.with(|value| *value == own)
            };
            view! { <option value=own prop:selected=is_chosen>{words}</option> }
        };
        all.get().into_iter().map(option).collect_view()
    };
    view! {
        <select class="chip" class:on=move || !value.with(String::is_empty) aria-label=label data-key=key
            on:change=move |event| state.put(key, &event_target_value(&event))>{options}</select>
    }
}

/// A control with the values that the hub's tools or the rows of the list have.
#[component]
fn Known(state: SearchState, key: &'static str, label: &'static str, any: &'static str) -> impl IntoView {
    let choices = Memo::new(move |_| {
        state.board.sorting.track();
        let values =
            state.tools.with(|tools| state.board.rows(|rows| terms::values(key, tools, rows.values())));
        let known = values.into_iter().take(VALUES_MAX).map(|value| (value.clone(), value));
        std::iter::once((String::new(), any.to_owned())).chain(known).collect::<Choices>()
    });
    view! { <Choice state=state key=key label=label choices=choices /> }
}

/// The control of times: since a while, or the dates between two fields.
#[component]
fn Time(state: SearchState) -> impl IntoView {
    let (since, until) = (Memo::new(move |_| state.value("since")), Memo::new(move |_| state.value("until")));
    let wants_dates = RwSignal::new(false);
    let choices = [
        ("", "Any time"),
        ("1h", "Last hour"),
        ("24h", "Last 24 hours"),
        ("7d", "Last 7 days"),
        ("30d", "Last 30 days"),
        (DATES, "Dates…"),
    ];
    let chosen = Memo::new(move |_| {
        let (since, has_end) = (since.get(), !until.with(String::is_empty));
        let is_usual = choices.iter().any(|(value, _)| *value == since);
        if has_end || wants_dates.get() || !is_usual { DATES.to_owned() } else { since }
    });
    let choose = move |event: leptos::ev::Event| {
        let value = event_target_value(&event);
        wants_dates.set(value == DATES);
        if value != DATES {
            state.text.update(|text| {
                *text = terms::with_condition(&terms::with_condition(text, "until", ""), "since", &value);
            });
        }
    };
    let options = choices.map(|(value, words)| {
        view! { <option value=value prop:selected=move || chosen.with(|it| it == value)>{words}</option> }
    });
    let date = move |key: &'static str, value: Memo<String>, label: &'static str| {
        // A while, such as 3d, is no date: the field is empty.
        let day = move || value.with(|value| value.get(..10).unwrap_or_default().to_owned());
        view! {
            <label class="meta">{label} " "
                <input type="date" class="chip" data-key=key prop:value=day
                    on:change=move |event| {
                        // Both fields stay while one of them is being emptied.
                        wants_dates.set(true);
                        state.put(key, &event_target_value(&event));
                    } /></label>
        }
    };
    view! {
        <select class="chip" class:on=move || !chosen.with(String::is_empty) aria-label="Time" data-key="time" on:change=choose>{options}</select>
        {move || chosen.with(|it| it == DATES).then(|| view! { {date("since", since, "from")} {date("until", until, "to")} })}
    }
}

/// A condition that other pages put into the address or that was typed, as a chip; a click takes it out.
#[component]
fn Removable(state: SearchState, key: &'static str) -> impl IntoView {
    move || {
        let value = state.value(key);
        (!value.is_empty()).then(|| {
            let words = match key {
                "in" => {
                    state.board.sorting.track();
                    let title = state.board.rows(|rows| {
                        rows.get(&ConversationId::parse(&value).ok()?).map(|row| fleet::title(row).to_owned())
                    });
                    format!("In {}", title.unwrap_or(value))
                }
                _ => format!("Tag {value}"),
            };
            view! {
                <button type="button" class="chip removable" aria-pressed="true" title="Remove this condition" data-key=key
                    on:click=move |_| state.put_from_button(key, "")>{words} " ✕"</button>
            }
        })
    }
}
