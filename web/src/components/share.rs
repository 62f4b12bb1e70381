//! The dialog about links to a conversation: a form that makes one, and the list of them, in which they are revoked.

use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;
use model::MessageId;

use super::copy::Copy;
use super::dialog::Dialog;
use super::refused::refused;
use crate::rights::{self, ReaderAction};
use crate::sharing::{self, LIVES, LinkRequest, SharedLink, Shown, VIEWS};
use crate::store::{Store, use_store};
use crate::{browser, control};

/// The dialog: a form for a new link, for those who may make one, and the links that there are.
#[component]
pub(super) fn Share() -> impl IntoView {
    let store = use_store();
    store.ask_links();
    let may = Memo::new(move |_| store.may(ReaderAction::Share));
    let links = Memo::new(move |_| {
        store.sharing.links.with(|links| links.as_deref().map(sharing::read)).unwrap_or_default()
    });
    let form = move || {
        if may.get() {
            return view! { <Form /> }.into_any();
        }
        let why = "To share this conversation you need the grants “view” and “export” for it.";
        view! { <p class="meta pad" data-t="no-share">{why}</p> }.into_any()
    };
    let list = move || {
        let links = links.get();
        if links.is_empty() {
            return view! { <p class="meta pad" data-t="no-links">"None yet."</p> }.into_any();
        }
        let rows = links.into_iter().map(|link| view! { <Row link=link /> }).collect_view();
        view! { <ul class="links" aria-label="Links" data-t="links">{rows}</ul> }.into_any()
    };
    view! { <Dialog title="Share">{form}<h3 class="pad">"Links to this conversation"</h3>{list}</Dialog> }
}

/// What the form for a new link has so far. A handle: all copies refer to the same signals, which live as long as the dialog.
#[derive(Clone, Copy)]
struct Draft {
    /// What the link will show.
    shown: RwSignal<Shown>,
    /// The roles with which it may be shown; empty where there is no choice.
    roles: RwSignal<Vec<String>>,
    /// The place of its role in the list that offers none first.
    role: RwSignal<usize>,
    /// The place of its lifetime in [`LIVES`].
    life: RwSignal<usize>,
    /// The place of the number of views in [`VIEWS`].
    views: RwSignal<usize>,
    /// Whether the hub makes it.
    busy: RwSignal<bool>,
    /// The address of the link that was made.
    made: RwSignal<Option<String>>,
    /// Why it was not made.
    trouble: RwSignal<Option<String>>,
}

impl Draft {
    /// A form for a link to one turn if `turn` is one.
    fn new(turn: Option<&MessageId>) -> Self {
        let shown = if turn.is_some() { Shown::Turn } else { Shown::Live };
        Self {
            shown: RwSignal::new(shown),
            roles: RwSignal::new(Vec::new()),
            role: RwSignal::new(0),
            life: RwSignal::new(1),
            views: RwSignal::new(0),
            busy: RwSignal::new(false),
            made: RwSignal::new(None),
            trouble: RwSignal::new(None),
        }
    }

    /// Asks the hub with which roles the open conversation may be shared.
    fn ask_roles(self, store: Store) {
        let here = store.reading.conversation.get_untracked();
        spawn_local(async move {
            // Without an answer there is no choice, and the hub decides.
            if let Ok(answer) = browser::fetch_text(&rights::path(here.as_ref())).await {
                self.roles.try_set(sharing::roles(&answer));
            }
        });
    }

    /// What is asked of the hub: a link to the open conversation, or to the turn `turn` of it, for `audience`. `None` if no conversation is open.
    fn request(self, store: Store, turn: Option<MessageId>, audience: &str) -> Option<LinkRequest> {
        let shown = self.shown.get_untracked();
        let role = self.role.get_untracked().checked_sub(1);
        let life = LIVES.get(self.life.get_untracked());
        let views = VIEWS.get(self.views.get_untracked()).map(|(count, _)| *count);
        let live = LinkRequest::live(store.reading.conversation.get_untracked()?);
        Some(LinkRequest {
            audience: Some(audience.trim().to_owned()).filter(|text| !text.is_empty()),
            role: role.and_then(|place| self.roles.with_untracked(|roles| roles.get(place).cloned())),
            expires_s: life.map_or(live.expires_s, |(seconds, _)| *seconds),
            views: views.filter(|count| *count > 0),
            frozen: matches!(shown, Shown::Frozen | Shown::Turn),
            turn: turn.filter(|_| matches!(shown, Shown::Turn | Shown::LiveTurn)),
            ..live
        })
    }

    /// Asks the hub for the link.
    fn make(self, store: Store, request: &LinkRequest) {
        let request = request.json();
        self.busy.set(true);
        self.trouble.set(None);
        self.made.set(None);
        spawn_local(async move {
            let answer = browser::post("/v1/shares", &request).await;
            // The dialog may be closed by now.
            self.busy.try_set(false);
            match answer.and_then(|answer| sharing::made(&answer)) {
                Ok(path) => {
                    self.made.try_set(Some(browser::origin() + &path));
                    store.ask_links();
                }
                Err(why) => {
                    self.trouble.try_set(Some(why));
                }
            }
        });
    }

    /// What whoever opens the link will see.
    fn hint(self) -> &'static str {
        match self.shown.get() {
            Shown::Live => "Everything so far and everything that follows, as it happens.",
            Shown::Frozen => "Everything up to now and nothing after. A run still going is shown as cut off.",
            Shown::Turn => "This question and its answer as they are now, and nothing else.",
            Shown::LiveTurn => {
                "This question and its answer as it comes, until it is done, and nothing else."
            }
        }
    }
}

/// The form for a new link. What it makes is shown once, with a button that copies it.
#[component]
fn Form() -> impl IntoView {
    let store = use_store();
    let whom = NodeRef::<html::Input>::new();
    let turn = store.sharing.turn.get_untracked();
    let draft = Draft::new(turn.as_ref());
    draft.ask_roles(store);
    let Draft { roles, role, life, views, busy, trouble, .. } = draft;
    let offered = Turn::of(store, turn.as_ref());
    let make = move |_| {
        let audience = whom.get_untracked().map(|field| field.value()).unwrap_or_default();
        if let Some(request) = draft.request(store, turn.clone(), &audience) {
            draft.make(store, &request);
        }
    };
    let role_choice = move || {
        let mut words = roles.get();
        (!words.is_empty()).then(|| {
            words.insert(0, "Everything".to_owned());
            view! { <div class="setting"><label for="share-role">"Role"</label><Choice id="share-role" words=words chosen=role /></div> }
        })
    };
    let lives = LIVES.map(|(_, words)| words.to_owned()).into();
    let counts = VIEWS.map(|(_, words)| words.to_owned()).into();
    view! {
        <div class="setting"><label for="share-for">"For"</label>
            <input id="share-for" node_ref=whom placeholder="A name or a note (optional)" maxlength="200" autocomplete="off" /></div>
        <div class="setting" role="group" aria-label="Shows"><span>"Shows"</span><WhatIsShown draft=draft turn=offered /></div>
        <p class="meta pad share-hint">{move || draft.hint()}</p>
        {role_choice}
        <div class="setting"><label for="share-life">"Expires after"</label><Choice id="share-life" words=lives chosen=life /></div>
        <div class="setting"><label for="share-views">"Views"</label><Choice id="share-views" words=counts chosen=views /></div>
        <div class="setting"><span class="meta">"Anyone with the link can read this, but not change it."</span>
            <button type="button" class="act primary" data-act="share-now" disabled=move || busy.get() on:click=make>
                {move || if busy.get() { "Creating…" } else { "Create link" }}</button></div>
        {move || trouble.get().map(|why| view! { <p class="err pad" role="alert" data-t="share-trouble">{refused(&why)}</p> })}
        <Made draft=draft />
    }
}

/// The turn at which the dialog was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// No turn: the dialog was opened for the conversation.
    None,
    /// A turn that is over.
    Over,
    /// A turn of which a run goes on.
    GoesOn,
}

impl Turn {
    /// The turn that begins with the message `turn`, as it is now.
    fn of(store: Store, turn: Option<&MessageId>) -> Self {
        let Some(turn) = turn else { return Self::None };
        let goes_on = untrack(|| store.reading.view(|view| control::turn_goes_on(view, turn)));
        if goes_on { Self::GoesOn } else { Self::Over }
    }
}

/// The choice of what a link shows; one turn where the dialog was opened at one, live where a run of it went on then.
#[component]
fn WhatIsShown(draft: Draft, turn: Turn) -> impl IntoView {
    let shown = draft.shown;
    let choices = [
        (Shown::Live, "live", "Live"),
        (Shown::Frozen, "frozen", "Frozen"),
        (Shown::Turn, "turn", "This turn"),
        (Shown::LiveTurn, "live-turn", "This turn, live"),
    ];
    let choices = choices.into_iter().filter(|(what, ..)| match what {
        Shown::Live | Shown::Frozen => true,
        Shown::Turn => turn != Turn::None,
        Shown::LiveTurn => turn == Turn::GoesOn,
    });
    let choices = choices.map(|(what, name, words)| {
        view! {
            <button type="button" data-shown=name aria-pressed=move || (shown.get() == what).to_string()
                on:click=move |_| shown.set(what)>{words}</button>
        }
    });
    view! { <span class="seg">{choices.collect_view()}</span> }
}

/// The link that was made, which is shown this once.
#[component]
fn Made(draft: Draft) -> impl IntoView {
    move || {
        draft.made.get().map(|link| {
            let (shown, copied) = (link.clone(), link);
            view! {
                <div class="setting made-link" role="status">
                    <input readonly aria-label="The new link" data-t="made-link" prop:value=shown />
                    <Copy text=move || copied.clone() label="Copy link" />
                </div>
                <p class="meta pad share-hint">"Copy it now: it will not be shown again."</p>
            }
        })
    }
}

/// A list of choices; `chosen` is the place of the chosen one.
#[component]
fn Choice(id: &'static str, words: Vec<String>, chosen: RwSignal<usize>) -> impl IntoView {
    let options = words.into_iter().enumerate().map(|(place, words)| {
        view! { <option value=place.to_string() selected=move || chosen.get() == place>{words}</option> }
    });
    let choose = move |event| chosen.set(event_target_value(&event).parse().unwrap_or_default());
    view! { <select id=id on:change=choose>{options.collect_view()}</select> }
}

/// A link in the list, with a button that revokes it, for those who may.
#[component]
fn Row(link: SharedLink) -> impl IntoView {
    let store = use_store();
    let trouble = RwSignal::new(None::<String>);
    let path = format!("/v1/shares/{}", link.id);
    let revoke = move |_| {
        let path = path.clone();
        spawn_local(async move {
            match browser::delete(&path).await {
                Ok(_gone) => store.ask_links(),
                Err(why) => {
                    trouble.try_set(Some(why));
                }
            }
        });
    };
    let (words, whom) = (link.words(browser::date_and_time), link.whom());
    let SharedLink { id, revocable, .. } = link;
    let label = format!("Revoke the link: {whom}");
    view! {
        <li data-link=id>
            <span class="of-link"><strong>{whom}</strong><span class="meta">{words}</span></span>
            {revocable.then(|| view! {
                <button type="button" class="chip" data-act="revoke" aria-label=label on:click=revoke>"Revoke"</button>
            })}
            {move || trouble.get().map(|why| view! { <p class="err" role="alert">{refused(&why)}</p> })}
        </li>
    }
}
