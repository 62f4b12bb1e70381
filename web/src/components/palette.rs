//! The palette: commands and conversations, found by a few letters.

use leptos::html;
use leptos::prelude::*;
use model::ConversationId;

use super::dialog::go_round;
use crate::browser;
use crate::fleet;
use crate::keys::{COMMANDS, Command};
use crate::matching;
use crate::route;
use crate::route::search_address;
use crate::store::{OpenDialog, Store, use_store};

/// The most lines that are shown, beside the search.
const LINES_MAX: usize = 12;

/// A line of the palette: what is done when it is chosen.
#[derive(Clone)]
enum Line {
    /// A command, which is run.
    Do(Command),
    /// A conversation with its title, which is opened.
    Go(ConversationId, String),
    /// The search in all conversations for what was typed, with its title.
    Search(String, String),
}

impl Line {
    /// The text by which the line is found.
    fn title(&self) -> &str {
        match self {
            Self::Do(command) => command.title,
            Self::Go(_, title) | Self::Search(_, title) => title,
        }
    }
}

/// The lines that match what the reader typed, the best first; the last one searches for it in all conversations. Commands that the hub cannot execute are left
/// out, and so are those that would open or close the palette.
fn lines(store: Store, typed: &str) -> Vec<Line> {
    let commands = COMMANDS
        .into_iter()
        .filter(|command| !matches!(command.shown, "Ctrl K" | "Esc") && command.is_offered(store));
    let mut lines: Vec<Line> = commands.map(Line::Do).collect();
    store.reading.model(|model| {
        let rows = model.fleet().into_iter().flat_map(|fleet| fleet.values());
        lines.extend(rows.map(|row| Line::Go(row.conversation.clone(), fleet::title(row).to_owned())));
    });
    let mut lines = matching::best(lines, typed, Line::title, LINES_MAX);
    let typed = typed.trim();
    if !typed.is_empty() {
        lines.push(Line::Search(typed.to_owned(), format!("Search all conversations for “{typed}”")));
    }
    lines
}

/// The palette, opened with a key. The input keeps the focus; arrows move the choice, Enter and a click carry
/// it out. The palette is closed before the command runs, so that the command may open another dialog.
#[component]
pub(super) fn Palette() -> impl IntoView {
    let store = use_store();
    let (typed, at) = (RwSignal::new(String::new()), RwSignal::new(0_usize));
    let input = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        if let Some(input) = input.get() {
            drop(input.focus());
        }
    });
    let lines = StoredValue::new_local(Vec::<Line>::new());
    let choose = move |number: usize| {
        let line = lines.with_value(|lines| lines.get(number).cloned());
        store.open_dialog(OpenDialog::None);
        match line {
            Some(Line::Do(command)) => command.run(store),
            Some(Line::Go(conversation, _)) => browser::follow_link(&route::path_of(&conversation)),
            Some(Line::Search(typed, _)) => browser::leave_for(&search_address(&typed)),
            None => {}
        }
    };
    let press = move |event: leptos::ev::KeyboardEvent| {
        let last = lines.with_value(Vec::len).saturating_sub(1);
        match event.key().as_str() {
            "ArrowDown" => at.update(|at| *at = if *at >= last { 0 } else { at.saturating_add(1) }),
            "ArrowUp" => at.update(|at| *at = at.checked_sub(1).unwrap_or(last)),
            "Enter" => choose(at.get_untracked()),
            _ => return,
        }
        event.prevent_default();
    };
    let rows = move || {
        let found = self::lines(store, &typed.get());
        lines.set_value(found.clone());
        let rows = found.into_iter().enumerate().map(|(number, line)| {
            let key = match &line {
                Line::Do(command) => view! { <kbd>{command.shown}</kbd> }.into_any(),
                Line::Go(..) => view! { <span class="meta">"conversation"</span> }.into_any(),
                Line::Search(..) => view! { <span class="meta">"search"</span> }.into_any(),
            };
            view! {
                <div class="option" role="option" id=format!("option-{number}") data-t="option"
                    aria-selected=move || (at.get() == number).to_string() on:click=move |_| choose(number)>
                    <span class="n">{line.title().to_owned()}</span> {key}
                </div>
            }
        });
        rows.collect_view()
    };
    view! {
        <div class="veil top-veil" on:click=move |_| store.open_dialog(OpenDialog::None)>
            <div class="dialog" role="dialog" aria-modal="true" aria-label="Commands" data-t="palette"
                on:click=|event| event.stop_propagation() on:keydown=|event| go_round(&event)>
                <input type="text" class="typed" placeholder="A command or a conversation" aria-label="A command or a conversation"
                    role="combobox" aria-expanded="true" aria-controls="options" autocomplete="off"
                    aria-activedescendant=move || format!("option-{}", at.get()) node_ref=input
                    on:input=move |event| { typed.set(event_target_value(&event)); at.set(0); } on:keydown=press />
                <div id="options" role="listbox" aria-label="Commands">{rows}</div>
            </div>
        </div>
    }
}
