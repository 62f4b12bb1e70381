//! Putting the operator's pages together: the header with the ways between them, and the page that the address names.
//!
//! The program is [`crate::overview`]'s own; it shares the library with the page, not its store: the rows of
//! the list are all that it needs ([`Board`]).

use leptos::prelude::*;

use super::address::{DASHBOARD, RUNS};
use super::board::Board;
use super::dashboard::Dashboard;
use super::runs::Runs;
use crate::components::icon;
use crate::link::Status;
use crate::{app, browser, format, route, session, settings};

/// Starts the operator's pages. Called once, by the program `overview`.
pub fn start() {
    app::keep_panics();
    settings::apply();
    mount_to_body(Overview);
}

/// The header and, below it, the dashboard or the table of runs, as the path says. The two are pages of their
/// own: going from one to the other loads the page anew, and each has a board and a socket.
#[component]
fn Overview() -> impl IntoView {
    let path = browser::window().location().pathname().unwrap_or_default();
    let is_dashboard = path.trim_end_matches('/') == DASHBOARD;
    let title = if is_dashboard { "Dashboard" } else { "Runs" };
    browser::document().set_title(&format!("{title} · Fanlight"));
    let board = Board::new();
    session::start(board);
    let link = |href: &'static str, words: &'static str, is_here: bool| {
        view! { <a href=href aria-current=is_here.then_some("page")>{words}</a> }
    };
    view! {
        <div class="app overview">
            <a class="skip" href="#main">"Skip to the content"</a>
            <header class="top">
                <a class="mark" href="/">{icon("#fan", "run")} <span class="hide">"Fanlight"</span></a>
                <nav class="ways" aria-label="Pages">
                    {link("/", "Conversations", false)}
                    {link(route::WALL, "Wall", false)}
                    {link(RUNS, "Runs", !is_dashboard)}
                    {link(DASHBOARD, "Dashboard", is_dashboard)}
                </nav>
                <span class="grow"></span>
                <LinkState board=board />
            </header>
            <main id="main" tabindex="-1">
                {if is_dashboard { view! { <Dashboard board=board /> }.into_any() } else { view! { <Runs board=board /> }.into_any() }}
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
