//! What a page without content says: why it is empty and what the reader can do.

use leptos::prelude::*;

use super::copy::Copy;
use super::icon::icon;
use super::status_bar::Reload;
use crate::browser;
use crate::link::{Ending, Status, ending};
use crate::starts::starts;
use crate::store::use_store;

/// Why the page is empty. Each reason has its own text.
#[derive(Debug, Clone, PartialEq)]
enum Why {
    /// Nothing has been heard yet that would tell.
    Loading,
    /// The connection was lost, and the page tries again.
    NoHub,
    /// The browser says that there is no network.
    Offline,
    /// The hub closed the session for good, with what the reader can do.
    Ended(Ending),
    /// The hub refused the conversation, in its words.
    Refused(String),
    /// The conversation has no events yet.
    NothingYet,
    /// The hub has no conversation yet, or none is open.
    NoConversation,
    /// A file was opened in which no event was found so far.
    NothingRead,
    /// The reader begins a new conversation.
    Fresh,
}

/// The text shown in place of an empty conversation. It changes by itself when the reason does.
#[component]
pub(super) fn Empty() -> impl IntoView {
    let store = use_store();
    let why = Memo::new(move |_| {
        store.track_fleet();
        store.reading.track_items();
        store.reading.live.track();
        let (has_fleet, is_known, problem) = store
            .reading
            .model(|model| (model.fleet().is_some(), model.is_known(), model.problem().map(str::to_owned)));
        if store.reading.recording.with(Option::is_some) {
            return Why::NothingRead;
        }
        if store.control.fresh.get() && store.reading.conversation.with(Option::is_none) {
            return Why::Fresh;
        }
        // The hub's refusal takes precedence over everything else.
        if let Some(problem) = problem.filter(|_| store.link.status.with(Status::has_socket)) {
            return Why::Refused(problem);
        }
        match store.link.status.get() {
            Status::Up | Status::Silent(_) if store.reading.conversation.with(Option::is_some) => {
                if is_known && store.reading.live.get() { Why::NothingYet } else { Why::Loading }
            }
            Status::Up | Status::Silent(_) => {
                if has_fleet {
                    Why::NoConversation
                } else {
                    Why::Loading
                }
            }
            Status::Connecting => Why::Loading,
            Status::Offline => Why::Offline,
            Status::Ended { code, .. } => Why::Ended(ending(code)),
            Status::Reconnecting { .. } => Why::NoHub,
        }
    });
    move || {
        match why.get() {
        Why::Loading => view! { <p class="empty meta">"Loading…"</p> }.into_any(),
        Why::NoHub => view! { <NoHub /> }.into_any(),
        Why::Offline => view! {
            <div class="empty"><h2>"This machine has no network"</h2><p>"The page connects by itself as soon as there is one."</p></div>
        }
        .into_any(),
        Why::Fresh => view! { <Fresh /> }.into_any(),
        Why::NothingRead => {
            view! { <p class="empty meta">"None of it can be shown yet. The bar above says what was read, and in which dialect."</p> }
                .into_any()
        }
        Why::Refused(problem) => {
            view! { <div class="empty" data-t="refused"><h2>{problem}</h2></div> }.into_any()
        }
        Why::Ended(Ending { title, advice }) => view! {
            <div class="empty" data-t="ended"><h2>{title}</h2><p>{advice} " " <Reload /></p></div>
        }
        .into_any(),
        Why::NothingYet => view! { <Starts title="Nothing has happened here yet" /> }.into_any(),
        Why::NoConversation => view! { <Starts title="Connect an agent" /> }.into_any(),
    }
    }
}

/// The text of a new conversation: what to do, or, if the hub has no agents, how they are set.
#[component]
fn Fresh() -> impl IntoView {
    let store = use_store();
    let has_agents = move || store.control.has_agents();
    view! {
        <div class="empty" data-t="fresh">
            <h2>"New conversation"</h2>
            {move || if has_agents() {
                let may = move || store.why_silent().is_none();
                view! {
                    {move || may().then(|| view! { <p class="meta">"Say below what you want. Everybody who watches this hub sees it."</p> })}
                }.into_any()
            } else {
                view! {
                    <p>"This hub has no agents of its own that could answer. They are set up in its "<code>"fanlight.toml"</code>":"</p>
                    <Line line="[agents.helper]".to_owned() />
                }.into_any()
            }}
        </div>
    }
}

/// Says that the hub does not answer, and how it is started. The page tries again by itself; the button tries
/// now.
#[component]
fn NoHub() -> impl IntoView {
    let store = use_store();
    view! {
        <div class="empty">
            <h2>"The hub does not answer"</h2>
            <p>"This page is from " <code>{browser::origin()}</code> ". If the hub was stopped, start it again:"</p>
            <Line line="fanlight serve".to_owned() />
            <p class="meta">"The page connects by itself as soon as it is there. "
                <button type="button" class="link" on:click=move |_| store.link.retry_now()>"Try now"</button>
            </p>
        </div>
    }
}

/// Ways to connect an agent, with lines to paste that name the address of this hub. The ways are those of
/// [`starts`].
#[component]
fn Starts(title: &'static str) -> impl IntoView {
    let mut is_first = true;
    let ways = starts(&browser::origin()).map(|start| {
        let lines = start.lines.into_iter().map(|(name, line)| view! { <Line name=name line=line /> });
        // Only the first way is unfolded.
        let open = std::mem::take(&mut is_first);
        view! {
            <details open=open>
                <summary><h2>{start.title}</h2></summary>
                <p class="meta">{start.hint}</p>
                {lines.collect_view()}
            </details>
        }
    });
    view! { <div class="empty" data-t="starts"><h1>{title}</h1><Waiting />{ways}</div> }
}

/// Whether the first event has arrived, with the name of its conversation, which the page opens shortly
/// after.
#[component]
fn Waiting() -> impl IntoView {
    let store = use_store();
    let heard = move || store.panel.first.get();
    let state = move || if store.panel.first.with(Option::is_some) { "heard" } else { "waiting" };
    view! {
        <p class="waiting" role="status" data-t="waiting" data-state=state>
            {move || match heard() {
                Some(name) => view! { {icon("#check", "ok")} " The first event is here: " <strong>{name}</strong> }.into_any(),
                None => view! { {icon("#ring", "run spin")} " Waiting for the first event…" }.into_any(),
            }}
        </p>
    }
}

/// A line to paste, with its copy button.
#[component]
fn Line(#[prop(optional)] name: &'static str, line: String) -> impl IntoView {
    let copied = line.clone();
    view! {
        <div class="paste">
            {(!name.is_empty()).then(|| view! { <span class="meta">{name}</span> })}
            <pre tabindex="0">{line}</pre><Copy text=move || copied.clone() />
        </div>
    }
}
