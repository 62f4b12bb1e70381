//! A call that waits for consent: who decides, and the three answers. What a reader has begun to write stays,
//! even if the call is decided elsewhere.
//!
//! ```text
//! state Approval ─▶ Buttons ──edit──▶ Edit   ──▶ Approve { arguments, saw }
//!                      │  └──reject─▶ Reject ──▶ Reject { text }
//!                      └──approve──────────────▶ Approve { saw }
//! ```
//!
//! Every answer is a command to the hub. Until it is answered the buttons are off; a refusal is shown below
//! them. Nothing is shown for a run that the hub does not lead, except a line that says who decides.

use leptos::html;
use leptos::prelude::*;
use model::command::CommandAction;
use model::digest::digest;
use model::event::ToolState;

use super::call::{Head, Ids};
use super::refused::refused;
use crate::control::{self, At, edited};
use crate::forms::Form;
use crate::preview;
use crate::rights::ReaderAction;
use crate::store::{Store, use_store};

/// What the reader writes about a call; shared by all cards of the call. The text is kept in the store, so
/// that it survives a card that is closed or leaves the document.
#[derive(Clone, Copy)]
pub(super) struct Draft {
    store: Store,
    ids: Ids,
    /// The form that is open, with its text.
    form: Memo<Form>,
    /// Whether the reader has just opened the form: only then it takes the focus.
    is_asked: RwSignal<bool>,
}

impl Draft {
    /// The draft about a call.
    pub(super) fn of(store: Store, ids: Ids) -> Self {
        let form = Memo::new(move |_| ids.with_value(|call| store.form(call)));
        Self { store, ids, form, is_asked: RwSignal::new(false) }
    }

    /// Whether a form is open. Tracks it.
    pub(super) fn is_open(self) -> bool {
        self.form.with(|form| *form != Form::Closed)
    }

    /// Stores the form with its text.
    fn set(self, form: Form) {
        self.ids.with_value(|call| self.store.write_form(call, form));
    }

    /// Opens a form that takes the focus.
    fn begin(self, form: Form) {
        self.is_asked.set(true);
        self.set(form);
    }

    /// The text that is written. Tracks it.
    fn text(self) -> String {
        self.form.with(|form| match form {
            Form::Edit(text) | Form::Reject(text) => text.clone(),
            Form::Closed => String::new(),
        })
    }
}

/// The form that is open, without its text: a form is not built anew with every letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Closed,
    Edit,
    Reject,
}

/// The kind of `form`.
fn kind(form: &Form) -> Kind {
    match form {
        Form::Closed => Kind::Closed,
        Form::Edit(_) => Kind::Edit,
        Form::Reject(_) => Kind::Reject,
    }
}

/// The hash of the arguments that the page shows, which may be older than the newest event: a person consents
/// only to what they saw. `None` while nobody is asked. The hub refuses an approval whose hash is not that of
/// the arguments.
fn seen(store: Store, ids: Ids, is_asked: Memo<bool>) -> StoredValue<Option<String>> {
    let saw = StoredValue::new(None);
    Effect::new(move |_| {
        let is_asked = is_asked.get();
        let shown = ids.with_value(|(run, id)| {
            store.reading.tool(run, id, |tool| is_asked.then(|| digest(&tool.arguments.text).into()))
        });
        saw.set_value(shown.flatten());
    });
    saw
}

/// The buttons and forms of consent. `form` is what the reader has written.
///
/// They are shown while the call waits, and longer if a form is open: then a line says how the call was
/// decided meanwhile. The buttons are off without a connection and while a command is on the way. Who may not
/// give commands here reads who decides.
#[component]
pub(super) fn Consent(ids: Ids, head: Memo<Head>, form: Draft) -> impl IntoView {
    let store = use_store();
    let is_ours = Memo::new(move |_| ids.with_value(|(run, _)| store.is_ours(run)));
    let is_asked = Memo::new(move |_| head.with(|head| head.state == ToolState::Approval));
    let can = Memo::new(move |_| is_ours.get() && store.has_agents() && store.may(ReaderAction::Reject));
    let at = StoredValue::new(ids.with_value(|(run, id)| At::Call(run.clone(), id.clone())));
    let is_waiting =
        Memo::new(move |_| store.control.read(|control| at.with_value(|at| control.is_waiting(at))));
    let trouble = move || {
        let why = store.control.read(|control| at.with_value(|at| control.trouble(at).map(str::to_owned)));
        why.filter(|_| is_asked.get())
    };
    let is_off = move || !is_asked.get() || is_waiting.get() || !store.link.is_up();
    let saw = seen(store, ids, is_asked);
    let approve = move |arguments: Option<serde_json::Value>| {
        let (run, tool) = ids.get_value();
        let saw = saw.get_value().map(Into::into);
        store.command(at.get_value(), CommandAction::Approve { run: Some(run), tool, arguments, saw });
    };
    // Whether a call is a question does not change.
    let is_question = ids.with_value(|(run, id)| {
        store.reading.view(|view| view.runs.get(run).is_some_and(|run| control::is_question(run, id)))
    });
    let which = Memo::new(move |_| form.form.with(kind));
    let is_off = Signal::derive(is_off);
    let body = move || {
        match which.get() {
        Kind::Closed => {
            view! { <Buttons ids=ids form=form is_question=is_question is_off=is_off is_waiting=is_waiting approve=approve /> }
                .into_any()
        }
        Kind::Edit => view! { <Edit form=form is_off=is_off is_waiting=is_waiting is_question=is_question approve=approve /> }.into_any(),
        Kind::Reject => {
            let reject = move |text: Option<String>| {
                let (run, tool) = ids.get_value();
                store.command(at.get_value(), CommandAction::Reject { run: Some(run), tool, text });
            };
            view! { <Reject form=form is_off=is_off is_waiting=is_waiting reject=reject /> }.into_any()
        }
    }
    };
    // A memo, so that the form is not rebuilt while the reader writes.
    let is_there = Memo::new(move |_| is_asked.get() || form.is_open());
    let is_elsewhere = Memo::new(move |_| !is_ours.get() && store.is_present());
    let why_not = Memo::new(move |_| {
        if is_elsewhere.get() {
            return Some("The program that runs this agent decides; it cannot be answered from here.");
        }
        store.why_not(ReaderAction::Reject).filter(|_| store.has_agents())
    });
    move || {
        if !can.get() {
            let why = why_not.get().filter(|_| is_there.get());
            return why.map(|why| view! { <p class="line meta" data-t="no-consent">{why}</p> }).into_any();
        }
        is_there
            .get()
            .then(|| {
                view! {
                    <div class="consent" data-t="consent">
                        {body}
                        {move || (!is_asked.get() && !is_waiting.get()).then(|| view! {
                            <p class="meta" role="status">"Already decided: " {head.with(Head::word)} "."</p>
                        })}
                        {move || trouble().map(|why| view! { <p class="err trouble" role="status" data-t="trouble">{refused(&why)}</p> })}
                    </div>
                }
            })
            .into_any()
    }
}

/// The three buttons: approve, edit, reject; of a question: yes, answer, no. Approve sends at once, the
/// others open a form. Edit begins with the arguments of the call, laid out, and an answer with an empty
/// text. For a reader whose role hides arguments the first two are not there, and a line says why.
#[component]
fn Buttons(
    ids: Ids,
    form: Draft,
    is_question: bool,
    is_off: Signal<bool>,
    is_waiting: Memo<bool>,
    approve: impl Fn(Option<serde_json::Value>) + Copy + Send + 'static,
) -> impl IntoView {
    let store = use_store();
    let edit = move |_| {
        if is_question {
            return form.begin(Form::Edit(String::new()));
        }
        let text = ids.with_value(|(run, id)| {
            store.reading.view(|view| Some(view.runs.get(run)?.tools.get(id)?.arguments.text.to_string()))
        });
        let laid_out = preview::pretty(text.as_deref().unwrap_or("{}").trim());
        form.begin(Form::Edit(laid_out.into_iter().map(|token| token.text).collect()));
    };
    view! {
        <div class="acts-row">
            {move || store.may(ReaderAction::Approve).then(|| view! {
                <button type="button" class="act primary" data-act="approve" disabled=move || is_off.get()
                    on:click=move |_| approve(None)>{if is_question { "Yes " } else { "Approve " }} <kbd>"A"</kbd></button>
                <button type="button" class="act" data-act="edit" disabled=move || is_off.get()
                    on:click=edit>{if is_question { "Answer " } else { "Edit " }} <kbd>"E"</kbd></button>
            })}
            <button type="button" class="act" data-act="reject" disabled=move || is_off.get()
                on:click=move |_| form.begin(Form::Reject(String::new()))>{if is_question { "No " } else { "Reject " }} <kbd>"R"</kbd></button>
            {move || is_waiting.get().then(|| view! { <span class="meta">"Sent…"</span> })}
            {move || store.why_not(ReaderAction::Approve).map(|why| view! { <span class="meta">{why}</span> })}
        </div>
    }
}

/// The form for other arguments, or for the answer to a question. It is read-only while a command is on the
/// way: what is written then would be lost.
///
/// Ctrl+Enter sends. Arguments must be JSON; while they are not, what is wrong stands below the text and
/// nothing can be sent. An answer is sent as it is. "Discard" closes the form and forgets the text.
#[component]
fn Edit(
    form: Draft,
    is_off: Signal<bool>,
    is_waiting: Memo<bool>,
    is_question: bool,
    approve: impl Fn(Option<serde_json::Value>) + Copy + Send + 'static,
) -> impl IntoView {
    let area = NodeRef::<html::Textarea>::new();
    let text = move || form.text();
    let first = untrack(text);
    let rows = first.lines().count().clamp(3, 12).to_string();
    Effect::new(move |_| {
        if let Some(area) = area.get()
            && form.is_asked.get_untracked()
        {
            form.is_asked.set(false);
            drop(area.focus());
        }
    });
    let read = Memo::new(move |_| if is_question { Ok(control::answer(&text())) } else { edited(&text()) });
    let problem = move || read.with(|read| read.as_ref().err().cloned());
    let send = move || {
        if let (Ok(arguments), false) = (read.get_untracked(), is_off.get_untracked()) {
            approve(Some(arguments));
        }
    };
    let press = move |event: leptos::ev::KeyboardEvent| {
        if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
            event.prevent_default();
            send();
        }
    };
    view! {
        <textarea class="code-area" aria-label=if is_question { "Answer" } else { "Arguments" } data-t="arguments" spellcheck="false" rows=rows node_ref=area readonly=is_waiting
            aria-invalid=move || problem().is_some().to_string() prop:value=move || form.text() on:keydown=press
            on:input=move |event| form.set(Form::Edit(event_target_value(&event)))></textarea>
        {move || problem().map(|why| view! { <p class="err trouble" data-t="invalid">{why}</p> })}
        <div class="acts-row">
            <button type="button" class="act primary" data-act="approve-edited" disabled=move || is_off.get() || problem().is_some()
                on:click=move |_| send()>{if is_question { "Send the answer " } else { "Approve with these arguments " }} <kbd>"Ctrl ↵"</kbd></button>
            <button type="button" class="act" on:click=move |_| form.set(Form::Closed)>"Discard"</button>
        </div>
    }
}

/// The form that rejects a call, with a reason that the model is told. An empty reason is none. Enter and
/// Ctrl+Enter send.
#[component]
fn Reject(
    form: Draft,
    is_off: Signal<bool>,
    is_waiting: Memo<bool>,
    reject: impl Fn(Option<String>) + Copy + Send + 'static,
) -> impl IntoView {
    let input = NodeRef::<html::Input>::new();
    Effect::new(move |_| {
        if let Some(input) = input.get()
            && form.is_asked.get_untracked()
        {
            form.is_asked.set(false);
            drop(input.focus());
        }
    });
    let send = move || {
        if !is_off.get_untracked() {
            let why = untrack(|| form.text()).trim().to_owned();
            reject(Some(why).filter(|why| !why.is_empty()));
        }
    };
    // The same key as in the other form; a browser submits this one with Enter alone too.
    let press = move |event: leptos::ev::KeyboardEvent| {
        if event.key() == "Enter" && (event.ctrl_key() || event.meta_key()) {
            event.prevent_default();
            send();
        }
    };
    view! {
        <form class="acts-row" on:submit=move |event| { event.prevent_default(); send(); }>
            <input type="text" class="reason" aria-label="Reason" data-t="reason" node_ref=input readonly=is_waiting prop:value=move || form.text()
                placeholder="Tell the model why" on:keydown=press on:input=move |event| form.set(Form::Reject(event_target_value(&event))) />
            <button type="submit" class="act" data-act="reject-now" disabled=is_off>"Reject " <kbd>"Ctrl ↵"</kbd></button>
            <button type="button" class="act" on:click=move |_| form.set(Form::Closed)>"Discard"</button>
        </form>
    }
}
