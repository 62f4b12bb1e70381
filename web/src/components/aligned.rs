//! The steps of two conversations beside each other, after the place where they part: which are the same, which are only in
//! one, and what differs in the arguments and answers of the others.
//!
//! ```text
//! ▸ Steps side by side · 2 the same · 1 different · 1 only here
//!   = 2 steps are the same
//!   ≠ search  q: a  →  q: b                        unfolds: lines that differ, of arguments and answer
//!   − read  notes.md                               only here
//! ```

use leptos::prelude::*;

use super::compare::track;
use crate::compare::{ComparedStep, DiffLine, StepRow, diff, line, step_rows, words};
use crate::format;
use crate::store::{Store, use_store};

/// The steps after the first `same` messages and runs. They are aligned when the list is unfolded, and again when the
/// conversations have new items or calls change their states.
#[component]
pub(super) fn AlignedSteps(beside: Store, same: Memo<usize>) -> impl IntoView {
    let store = use_store();
    let is_open = RwSignal::new(true);
    let rows = Memo::new(move |_| {
        track(store, beside);
        store.reading.view(|one| beside.reading.view(|other| step_rows(one, other, same.get())))
    });
    let head = move || format!("Steps side by side · {}", rows.with(|rows| words(rows)));
    let list = move || {
        let rows = rows.get().into_iter().map(|row| match row {
            StepRow::Same(count) => {
                let said = format!("= {} the same", format::counted(count, "step"));
                view! { <li class="meta" data-row="same">{said}</li> }.into_any()
            }
            StepRow::Changed(one, other) => view! { <Changed one=one other=other /> }.into_any(),
            StepRow::One(step) => only("one", "− ", "only here", &step).into_any(),
            StepRow::Other(step) => only("other", "+ ", "only there", &step).into_any(),
        });
        rows.collect_view()
    };
    move || {
        (!rows.with(Vec::is_empty)).then(|| {
            view! {
                <section class="aligned" aria-label="Steps side by side" data-t="aligned">
                    <button type="button" class="more num" aria-expanded=move || is_open.get().to_string()
                        on:click=move |_| is_open.update(|is_open| *is_open = !*is_open)>{head}</button>
                    {move || is_open.get().then(|| view! { <ol>{list}</ol> })}
                </section>
            }
        })
    }
}

/// A step of one side.
fn only(side: &'static str, mark: &'static str, words: &'static str, step: &ComparedStep) -> impl IntoView {
    let (name, line) = (step.name.clone(), line(step));
    view! {
        <li class=side data-row=side>
            <span aria-hidden="true">{mark}</span><strong>{name}</strong> " " <span class="n">{line}</span>
            " " <span class="meta">{words}</span>
        </li>
    }
}

/// A step of both sides with differences, which are shown when it is unfolded.
#[component]
fn Changed(one: ComparedStep, other: ComparedStep) -> impl IntoView {
    let is_open = RwSignal::new(false);
    let name = one.name.clone();
    let (here, there) = (line(&one), line(&other));
    let line = if here == there { here } else { format!("{here} → {there}") };
    let steps = StoredValue::new((one, other));
    let differences = move || {
        steps.with_value(|(one, other)| {
            let texts = one.texts.iter().zip(&other.texts).map(|((heading, one), (_, other))| {
                let lines = diff(one, other);
                (!lines.is_empty()).then(|| {
                    view! {
                        <p class="meta">{*heading}</p>
                        <pre class="diff">{lines.into_iter().map(draw).collect_view()}</pre>
                    }
                })
            });
            texts.collect_view()
        })
    };
    view! {
        <li data-row="changed">
            <button type="button" class="more" aria-expanded=move || is_open.get().to_string()
                on:click=move |_| is_open.update(|is_open| *is_open = !*is_open)>
                <span aria-hidden="true">"≠ "</span><strong>{name}</strong> " " <span class="n">{line}</span>
            </button>
            {move || is_open.get().then(differences)}
        </li>
    }
}

/// A line of a difference, as diffs are drawn elsewhere.
fn draw(line: DiffLine) -> impl IntoView {
    let (class, text) = match line {
        DiffLine::Same(text) => ("", format!("  {text}")),
        DiffLine::One(text) => ("removed", format!("- {text}")),
        DiffLine::Other(text) => ("added", format!("+ {text}")),
        DiffLine::Skipped(count) => ("head", format!("… {}", format::counted(count, "line"))),
    };
    view! { <span class=class>{text} "\n"</span> }
}
