//! The arguments of a call as a person reads them: names with short values in a line, and below their names
//! texts, diffs, to-do lists and trees.

use leptos::prelude::*;

use super::{Extent, Tree, lines};
use crate::kinds::{Argument, ArgumentValue, Numbered, Task};

/// All arguments, in the order in which they were written.
pub(super) fn draw(arguments: Vec<Argument>, extent: Extent) -> AnyView {
    let arguments = arguments.into_iter().map(|argument| draw_one(argument, extent)).collect_view();
    view! { <div class="args" data-t="readable">{arguments}</div> }.into_any()
}

/// Draws one argument: its name, then its value.
fn draw_one(Argument { name, value }: Argument, extent: Extent) -> AnyView {
    let named = (!name.is_empty()).then(|| view! { <span class="k" dir="auto">{name}</span> ": " });
    let value = match value {
        ArgumentValue::Word(text) => view! { <span class="s" dir="auto">{text}</span> }.into_any(),
        ArgumentValue::Written(text) => view! { <span class="v">{text}</span> }.into_any(),
        ArgumentValue::Text { text, language } if language.is_empty() => lines::prose(&text, extent),
        ArgumentValue::Text { text, language } => {
            lines::code(&Numbered { first: 1, text }, &language, extent)
        }
        ArgumentValue::Json(json) => view! { <Tree json=json /> }.into_any(),
        ArgumentValue::Diff(changed) => lines::diff(changed, extent),
        ArgumentValue::Tasks(tasks) => list(tasks, extent),
    };
    view! { <div class="arg">{named} {value}</div> }.into_any()
}

/// A to-do list. Where somebody decides about the call, each task has all its fields.
fn list(tasks: Vec<Task>, extent: Extent) -> AnyView {
    let task = |Task { text, state, active, rest }: Task| {
        let active = Some(active).filter(|active| extent == Extent::Whole && !active.is_empty());
        let rest: Vec<String> =
            Some(rest).filter(|rest| !rest.is_empty()).into_iter().chain(active).collect();
        let rest = (!rest.is_empty()).then(|| view! { " " <span class="meta">{rest.join(" · ")}</span> });
        view! {
            <li data-state=state.word()>
                <span class="sign" role="img" aria-label=state.word()>{state.sign()}</span>
                <span class="task-text" dir="auto">{text}</span> {rest}
            </li>
        }
    };
    view! { <ul class="tasks" data-t="tasks">{tasks.into_iter().map(task).collect_view()}</ul> }.into_any()
}
