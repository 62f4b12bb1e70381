//! The form below the conversation in which a reader writes to an agent of the hub, and the messages sent
//! that are not in the conversation yet.
//!
//! ```text
//! ┌ Message helper ─────────────────────────────┐  Enter sends, Shift+Enter makes a new line
//! │ [helper ▾]  trouble        [Stop]  [Send]   │  the agent that answers; why nothing can be sent
//! └─────────────────────────────────────────────┘
//! ```
//!
//! What is sent is a command to the hub, which writes the message into the conversation. Until it is there,
//! the text is drawn at the end as [`Unheard`].

use leptos::html;
use leptos::prelude::*;
use model::RunId;

use super::attached::{AttachButton, Attached};
use super::icon::icon;
use super::refused::refused;
use super::shared::shared_line;
use crate::control::At;
use crate::link::{Status, ending};
use crate::store::{Store, use_store};

/// The greatest height of the field in CSS pixels: eight lines and its padding.
const HEIGHT_MAX: i32 = 8 * 20 + 16;

/// The composer, shown if the hub has agents, a conversation is open or a new one begins, and the wall is not
/// shown. For a reader who may not write there it is one line that says why.
#[component]
pub(crate) fn Composer() -> impl IntoView {
    let store = use_store();
    let is_there = Memo::new(move |_| {
        let is_somewhere = store.reading.conversation.with(Option::is_some) || store.control.fresh.get();
        is_somewhere && store.has_agents() && !store.panel.wall.get()
    });
    let may = Memo::new(move |_| is_there.get() && store.may_say());
    let why_not = Memo::new(move |_| store.why_silent().filter(|_| is_there.get()));
    let link = Memo::new(move |_| store.answer_about_link());
    move || {
        if may.get() {
            return view! { <Form /> }.into_any();
        }
        if let Some(answer) = link.get() {
            return shared_line(&answer);
        }
        let said = why_not.get();
        said.map(|why| view! { <p class="composer meta" role="note" data-t="watching-only">{why}</p> })
            .into_any()
    }
}

/// The conversation that is written to; `None` for a new one.
fn conversation(store: Store) -> Option<model::ConversationId> {
    store.reading.conversation.get()
}

/// The form, its draft and its keys. There is a draft for each conversation, kept in the store while the
/// reader looks at others. The field grows with its text up to [`HEIGHT_MAX`].
#[component]
fn Form() -> impl IntoView {
    let store = use_store();
    let text = RwSignal::new(String::new());
    let area = NodeRef::<html::Textarea>::new();
    Effect::new(move |_| {
        let conversation = conversation(store);
        let draft = store.control.read(|control| control.draft(conversation.as_ref()));
        if text.with_untracked(|text| *text != draft) {
            text.set(draft);
        }
    });
    Effect::new(move |_| {
        text.track();
        let Some(area) = area.get() else { return };
        let style = web_sys::HtmlElement::style(&area);
        drop(style.set_property("height", "auto"));
        let height = area.scroll_height().min(HEIGHT_MAX);
        drop(style.set_property("height", &format!("{height}px")));
    });
    let answers = Memo::new(move |_| store.answers().unwrap_or_default());
    let going = Memo::new(move |_| store.going());
    let write = move |event: leptos::ev::Event| {
        let written = event_target_value(&event);
        store.control.keep_draft(untrack(|| conversation(store)).as_ref(), &written);
        text.set(written);
    };
    let is_chosen = Memo::new(move |_| answers.with(|agent| !agent.is_empty()));
    store.attach.dropped.set_value(Some(Box::new(move |files| store.attach_all(files))));
    on_cleanup(move || store.attach.dropped.set_value(None));
    let has_files = Memo::new(move |_| !store.attached().is_empty());
    let can_send = move || {
        let is_said = has_files.get() || text.with(|text| !text.trim().is_empty());
        store.link.is_up() && is_chosen.get() && is_said
    };
    let send = move || {
        if untrack(can_send) {
            let said = text.get_untracked().trim().to_owned();
            store.control.keep_draft(untrack(|| conversation(store)).as_ref(), "");
            text.set(String::new());
            store.say(&answers.get_untracked(), &said);
        }
    };
    let press = move |event: leptos::ev::KeyboardEvent| {
        if event.key() == "Enter" && !event.shift_key() && !event.is_composing() {
            event.prevent_default();
            send();
        }
    };
    let paste = move |event: web_sys::ClipboardEvent| {
        let files = event.clipboard_data().and_then(|pasted| pasted.files());
        if let Some(files) = files.filter(|files| files.length() > 0) {
            event.prevent_default();
            store.attach_all(&files);
        }
    };
    let hint = move || {
        if !is_chosen.get() {
            // As short as fits into a line of a phone.
            return "Runs elsewhere: choose an agent to continue".to_owned();
        }
        let verb = if going.with(Option::is_some) { "Say more to" } else { "Message" };
        format!("{verb} {}", answers.get())
    };
    view! {
        <form class="composer" data-t="composer" aria-label="Message to an agent"
            on:submit=move |event| { event.prevent_default(); send(); }>
            <div class="written">
                <Attached />
                <textarea id="composer" rows="1" aria-label="Message" placeholder=hint node_ref=area
                    prop:value=move || text.get() on:input=write on:keydown=press on:paste=paste></textarea>
                <div class="composer-foot">
                    <AttachButton />
                    <Who answers=answers />
                    <Trouble going=going />
                    <span class="grow"></span>
                    {move || going.get().map(|run| view! { <Stop run=run /> })}
                    <button type="submit" class="act primary" data-t="send" title="Send (Enter); new line with Shift+Enter"
                        disabled=move || !can_send()>"Send"</button>
                </div>
            </div>
        </form>
    }
}

/// A button that stops the active run; off while the command is on the way and without a connection.
#[component]
fn Stop(run: RunId) -> impl IntoView {
    let store = use_store();
    let at = At::Run(run);
    let is_waiting = Memo::new(move |_| store.control.read(|control| control.is_waiting(&at)));
    view! {
        <button type="button" class="act" data-t="stop" title="Stop (.)"
            disabled=move || is_waiting.get() || !store.link.is_up() on:click=move |_| store.stop()>
            {icon("#stop", "")} {move || if is_waiting.get() { "Stopping" } else { "Stop" }}
        </button>
    }
}

/// The agent that is to answer: a choice if there are several or none was chosen, otherwise its model.
/// `answers` is empty if the conversation's agent runs elsewhere and none was chosen yet.
#[component]
fn Who(answers: Memo<String>) -> impl IntoView {
    let store = use_store();
    move || {
        let agents = store.control.agents.get();
        if agents.len() == 1 && answers.with(|agent| !agent.is_empty()) {
            let model = agents.first().and_then(|agent| agent.model.clone());
            return view! { <span class="meta who">{model}</span> }.into_any();
        }
        let options = agents.into_iter().map(|agent| {
            let (name, value) = (agent.name.clone(), agent.name.clone());
            view! { <option value=value prop:selected=move || answers.with(|it| *it == agent.name)>{name}</option> }
        });
        view! {
            <select class="who" aria-label="Agent" data-t="agent"
                on:change=move |event| store.choose_agent(&event_target_value(&event))>
                {answers.with(String::is_empty).then(|| view! { <option value="" selected>"Choose an agent"</option> })}
                {options.collect_view()}
            </select>
        }
        .into_any()
    }
}

/// Why the last command failed, or that there is no connection. A failure of the composer's own command comes
/// before one of the run.
#[component]
fn Trouble(going: Memo<Option<RunId>>) -> impl IntoView {
    let store = use_store();
    let words = Memo::new(move |_| {
        if !store.link.is_up() {
            let why = store.link.status.with(|status| match status {
                Status::Ended { code, .. } => ending(*code).title,
                _ => "Not connected",
            });
            return Some(("meta", format!("{why}: what you write stays here.")));
        }
        let here = conversation(store).map(At::Composer);
        let at_run = going.get().map(At::Run);
        let mut places = here.into_iter().chain(at_run);
        store
            .control
            .read(|control| places.find_map(|at| control.trouble(&at).map(|why| ("err", why.to_owned()))))
    });
    move || {
        words.get().map(|(class, words)| view! { <span class=format!("trouble {class}") role="status" data-t="trouble">{refused(&words)}</span> })
    }
}

/// The sent messages that are not in the conversation yet. Tracks them.
pub(super) fn unheard(store: Store) -> Memo<Vec<String>> {
    Memo::new(move |_| {
        store.reading.track_items();
        let Some(conversation) = store.reading.conversation.get() else { return Vec::new() };
        store.control.read(|control| store.reading.view(|view| control.unheard(&conversation, view)))
    })
}

/// Draws the sent messages that are not in the conversation yet at its end, each with whether it is on the way or waits for the hub.
#[component]
pub(super) fn Unheard(said: Memo<Vec<String>>) -> impl IntoView {
    let store = use_store();
    let word = move || {
        if store.link.is_up() { "Sending…" } else { "Not sent yet: it will be when the hub is back" }
    };
    move || {
        let said = said.get().into_iter();
        said.map(|text| {
            view! {
                <div class="asked">
                    <div class="user unheard" data-t="unheard">{text}</div>
                    <p class="meta sending">{word}</p>
                </div>
            }
        })
        .collect_view()
    }
}
