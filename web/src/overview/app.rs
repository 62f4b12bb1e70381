//! Putting the operator's pages together: the header with the ways between them, and the page that the address names.
//!
//! The program is [`crate::overview`]'s own; it shares the library with the page, not its store: the rows of
//! the list are all that it needs ([`Board`]).

use leptos::prelude::*;

use super::board::Board;
use super::dashboard::Dashboard;
use super::runs::Runs;
use super::search::Search;
use crate::components::icon;
use crate::link::Status;
use crate::route::{DASHBOARD, RUNS, SEARCH};
use crate::{browser, format, route, session, settings};

/// Starts the operator's pages. Called once, by the program `overview`.
pub fn start() {
    browser::keep_panics();
    settings::apply();
    mount_to_body(Overview);
}

/// The header and, below it, the dashboard, the search or the table of runs, as the path says. Each is a page of its own: going from one
/// to another loads the page anew, and each has a board and a socket.
#[component]
fn Overview() -> impl IntoView {
    let path = browser::window().location().pathname().unwrap_or_default();
    let (here, title) = match path.trim_end_matches('/') {
        DASHBOARD => (DASHBOARD, "Dashboard"),
        SEARCH => (SEARCH, "Search"),
        _ => (RUNS, "Runs"),
    };
    browser::document().set_title(&format!("{title} · Fanlight"));
    let board = Board::new();
    session::start(board);
    let link = |href: &'static str, words: &'static str| {
        view! { <a href=href aria-current=(href == here).then_some("page")>{words}</a> }
    };
    let content = match here {
        DASHBOARD => view! { <Dashboard board=board /> }.into_any(),
        SEARCH => view! { <Search board=board /> }.into_any(),
        _ => view! { <Runs board=board /> }.into_any(),
    };
    view! {
        <div class="app overview">
            <a class="skip" href="#main">"Skip to the content"</a>
            <header class="top">
                <a class="mark" href="/">{icon("#fan", "run")} <span class="hide">"Fanlight"</span></a>
                <nav class="ways" aria-label="Pages">
                    {link("/", "Conversations")}
                    {link(route::WALL, "Wall")}
                    {link(RUNS, "Runs")}
                    {link(DASHBOARD, "Dashboard")}
                    {link(SEARCH, "Search")}
                </nav>
                <span class="grow"></span>
                <LinkState board=board />
            </header>
            <main id="main" tabindex="-1">
                {content}
            </main>
        </div>
    }
}

/// The state of the connection in a word, in the header. After an end that the hub wants, it says what to do.
#[component]
fn LinkState(board: Board) -> impl IntoView {
    let words = Memo::new(move |_| match board.status.get() {
        Status::Up => ("live", "Live".to_owned()),
        Status::Connecting => ("connecting", "Connecting…".to_owned()),
        Status::Silent(seconds) => {
            ("silent", format!("No word for {}", format::clock(seconds.saturating_mul(1_000))))
        }
        Status::Reconnecting { is_stale: true, since, .. } => {
            ("stale", format!("Shown as of {}", browser::time_of_day(since)))
        }
        Status::Reconnecting { .. } => ("reconnecting", "Reconnecting…".to_owned()),
        Status::Offline => ("offline", "Offline".to_owned()),
        Status::Ended { code, why } => {
            let title = crate::link::ending(code).title;
            ("ended", if why.is_empty() { title.to_owned() } else { format!("{title}: {why}") })
        }
    });
    view! {
        <span class="connection" role="status" data-t="connection" data-state=move || words.get().0>
            <span class="dot"></span> {move || words.get().1}
        </span>
    }
}
