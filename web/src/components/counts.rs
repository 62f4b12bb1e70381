//! Totals in the bar at the top: steps, tokens, money, and what fills the context. Drawn by the module of the conversation.

use leptos::prelude::*;
use model::event::Usage;
use model::fold::ViewChange;

use super::top_bar::Newest;
use crate::browser;
use crate::compare::spent;
use crate::context::{ContextFill, ContextMeter, unpriced};
use crate::flow::Flow;
use crate::format;
use crate::store::{Store, use_store};

/// From so many tokens on the bar says how much is in the context.
const CONTEXT_SHOWN: u64 = 1_000;

/// The steps of the newest run; the tokens and the cost of the whole conversation; while a run is active, the
/// tokens per second. Parts that are unknown are left out.
#[component]
pub(crate) fn Counts(newest: Memo<Option<Newest>>) -> impl IntoView {
    let store = use_store();
    let id = Memo::new(move |_| newest.with(|run| run.as_ref().map(|run| run.id.clone())));
    let steps = Memo::new(move |_| {
        let id = id.get()?;
        store.reading.track_rows(&id);
        store.reading.view(|view| view.runs.get(&id).map(|run| Flow::of(run).steps))
    });
    let fill = context_fill(store, newest);
    let has_context = Memo::new(move |_| fill.get().tokens() >= CONTEXT_SHOWN);
    // The least important last: what has no room is left out as a whole. What fills the context comes first.
    let text = move || {
        newest.track();
        id.with(|id| id.as_ref().map(|id| store.reading.track(&ViewChange::Run(id.clone()))));
        let steps = steps.get().filter(|n| *n > 0).map(|n| format::counted(n, "step"));
        let usage = usage(store);
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        let tokens = (tokens > 0).then(|| format!("{} tokens", format::count(tokens)));
        let cost = store.reading.view(|view| cost_words(usage.cost.map(format::cost), unpriced(view)));
        let is_running = store.reading.running.get();
        let rate = is_running.then(|| {
            store.reading.now.track();
            store.reading.model(|model| model.rate(browser::now_ms()))
        });
        let rate = rate.flatten().map(|n| format!("{n} tok/s"));
        // Broken only between parts: see the styles.
        let parts = [steps, tokens, cost, rate].into_iter().flatten();
        let text = parts.map(|part| part.replace(' ', "\u{a0}")).collect::<Vec<_>>().join(" ·\u{a0}");
        if text.is_empty() || !has_context.get() { text } else { format!(" ·\u{a0}{text}") }
    };
    // What the numbers are of, what they lack, and what fills the context.
    let title = move || {
        newest.track();
        let said = "Steps of the run shown; tokens and cost of the conversation.".to_owned();
        let missing = store.reading.view(unpriced);
        let missing =
            (missing > 0).then(|| format!("No price is known for {} of the tokens.", format::count(missing)));
        let context = fill.get().words().map(|words| format!("In the context: {words}."));
        [Some(said), missing, context].into_iter().flatten().collect::<Vec<_>>().join("\n")
    };
    view! {
        <span class="meta num hide counts-of-run" data-t="totals" title=title>
            {move || has_context.get().then(|| view! { <Context fill=fill /> })}{text}
        </span>
        {move || has_context.get().then(|| view! { <ContextRows fill=fill /> })}
    }
}

/// What the whole conversation has used: where only a part of it is here, by its row in the list.
fn usage(store: Store) -> Usage {
    store.track_fleet();
    let listed = store.reading.model(|model| model.earlier().and(model.row()).and_then(|row| row.usage));
    listed.unwrap_or_else(|| store.reading.view(spent))
}

/// How much is in the context, over a bar of what fills it. It opens the rows of [`ContextRows`].
#[component]
fn Context(fill: Memo<ContextFill>) -> impl IntoView {
    let to = move |upto: usize| {
        let parts: u64 = fill.get().shares().iter().take(upto).map(|(.., part)| *part).sum();
        format!("{parts}%")
    };
    view! {
        <button type="button" class="context" popovertarget="context" data-t="context"
            style=("--turns", move || to(1)) style=("--tools", move || to(2))>
            {move || format!("~{}\u{a0}context", format::count(fill.get().tokens()))}
        </button>
    }
}

/// What fills the context, a row each. The browser shows them while the button is pressed, until Escape or a click elsewhere.
#[component]
fn ContextRows(fill: Memo<ContextFill>) -> impl IntoView {
    let rows = [0, 1, 2].map(|index| {
        let text = move || {
            let shares = fill.get().shares();
            shares.get(index).map(|(name, tokens, part)| {
                format!("{name} {part}\u{a0}% · ~{} tokens", format::count(*tokens))
            })
        };
        view! { <li>{text}</li> }
    });
    view! { <ul id="context" popover="auto" class="num" aria-label="In the context">{rows}</ul> }
}

/// What fills the context, at most once a second. The conversation is walked only if events came since the last time.
fn context_fill(store: Store, newest: Memo<Option<Newest>>) -> Memo<ContextFill> {
    let meter = StoredValue::new_local(ContextMeter::default());
    Memo::new(move |_| {
        newest.track();
        store.reading.track_items();
        store.reading.now.track();
        let shown =
            (store.reading.conversation.get(), store.reading.recordings.get(), store.reading.part.get());
        let place = store.reading.model(|model| (model.position().map(|it| it.epoch), model.view().seq));
        let walk = || store.reading.view(ContextFill::of);
        meter.try_update_value(|meter| meter.read((shown, place), walk)).unwrap_or_default()
    })
}

/// The cost as it is told where `missing` tokens have no price.
fn cost_words(cost: Option<String>, missing: u64) -> Option<String> {
    match (cost, missing) {
        (cost, 0) => cost,
        (Some(cost), _) => Some(format!("{cost}+")),
        (None, _) => Some("no price".to_owned()),
    }
}
