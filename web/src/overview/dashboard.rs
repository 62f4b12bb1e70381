//! The dashboard: figures over time, each in a panel of its own.
//!
//! What is chosen (the time and what lines are told apart by) is in the address, so that a dashboard can be
//! sent as a link. [`Dashboard`] owns the choice; each [`Panel`] fetches its own figures, and [`Notes`] says
//! what must be known of all of them.

use leptos::prelude::*;
use leptos::task::spawn_local;

use super::address::{DashboardAddress, GroupBy, Range};
use super::board::Board;
use super::figures::{PANELS, Series, csv_path, unpriced_path};
use super::panel::Panel;
use crate::{browser, format};

/// How often figures are asked for again, in milliseconds. A hidden page does not ask.
const AGAIN_MS: i32 = 60_000;

/// What all panels look at. A handle: copies share the same signals.
#[derive(Clone, Copy)]
pub(super) struct DashboardState {
    /// The time and the grouping that are chosen. Each change is written into the address bar.
    pub(super) address: RwSignal<DashboardAddress>,
    /// Counts the times that figures were due again; panels track it.
    pub(super) round: RwSignal<u32>,
    /// The rows of the list, of which only the hub's time is read here.
    pub(super) board: Board,
    /// Since when the hub counts, in milliseconds since 1970; 0 if all of the chosen time was counted.
    pub(super) since: RwSignal<u64>,
}

/// The page `/dashboard`: the choices of time and grouping, a link to the figures as CSV, the notes, and the
/// panels of [`PANELS`].
#[component]
pub(super) fn Dashboard(board: Board) -> impl IntoView {
    let query = browser::window().location().search().unwrap_or_default();
    let look = DashboardState {
        address: RwSignal::new(DashboardAddress::parse(&query)),
        round: RwSignal::new(0),
        board,
        since: RwSignal::new(0),
    };
    Effect::new(move |_| browser::replace_address(&look.address.get().address()));
    browser::every(AGAIN_MS, move || {
        if !browser::document().hidden() {
            look.round.update(|round| *round = round.wrapping_add(1));
        }
    });
    let ranges = Range::ALL.map(|range| {
        let is_on = move || look.address.get().range == range;
        view! {
            <button type="button" aria-pressed=move || is_on().to_string()
                on:click=move |_| look.address.update(|address| address.range = range)>{range.word()}</button>
        }
    });
    let groups = GroupBy::ALL.map(|by| {
        let is_on = move || look.address.get().by == by;
        view! {
            <button type="button" aria-pressed=move || is_on().to_string()
                on:click=move |_| look.address.update(|address| address.by = by)>{by.word()}</button>
        }
    });
    view! {
        <div class="dashboard" data-t="dashboard">
            <div class="controls">
                <h1>"Dashboard"</h1>
                <span class="seg" role="group" aria-label="Time">{ranges}</span>
                <span class="by"><span class="meta">"by"</span>
                    <span class="seg" role="group" aria-label="Group by">{groups}</span></span>
                <span class="grow"></span>
                <Table look=look />
            </div>
            <Notes look=look />
            <p class="meta notes" data-t="chart-hint">
                "Point at a chart for its values. Click for the runs of that time, Shift-click for those since then."</p>
            <div class="panels">{PANELS.map(|spec| view! { <Panel look=look spec=spec /> })}</div>
        </div>
    }
}

/// A link that saves the figures of the chosen time for a spreadsheet: `GET /v1/usage?format=csv`, by day and
/// the chosen grouping.
#[component]
fn Table(look: DashboardState) -> impl IntoView {
    let href = move || {
        look.round.track();
        csv_path(look.address.get(), look.board.hub_time())
    };
    view! { <a class="chip" href=href download="usage.csv" data-t="csv">"Save as CSV"</a> }
}

/// What a reader must know of the figures: since when they are counted, and of how many tokens no price is known.
///
/// It asks `GET /v1/series` once for each round and choice. If that fails, nothing is said.
#[component]
fn Notes(look: DashboardState) -> impl IntoView {
    let unpriced = RwSignal::new(None::<String>);
    Effect::new(move |_| {
        look.round.track();
        let address = look.address.get();
        let path = unpriced_path(address, look.board.hub_time());
        spawn_local(async move {
            let answer = browser::fetch_text(&path).await.ok();
            let series =
                answer.and_then(|text| serde_json::from_str::<Series>(&text).ok()).unwrap_or_default();
            let total = |name: &str| {
                let metric = series.metrics.iter().find(|it| it.metric == name);
                metric.and_then(|it| it.series.first()?.total).unwrap_or(0)
            };
            let (all, without) = (total("tokens"), total("unpriced_tokens"));
            // Of what is shown all may be there.
            look.since.set(if series.since > series.from { series.since } else { 0 });
            unpriced.set((without > 0 && all > 0).then(|| {
                let percent = without.saturating_mul(100) / all;
                format!(
                    "No price is known for {} tokens ({percent} %): set what models cost under [prices] in fanlight.toml.",
                    format::count(u64::try_from(without).unwrap_or(0))
                )
            }));
        });
    });
    let since = move || {
        let since = look.since.get();
        (since > 0).then(|| format!("Counted since {}. ", browser::date_and_time(since)))
    };
    view! { <p class="meta notes" role="status" data-t="notes">{since} {move || unpriced.get()}</p> }
}
