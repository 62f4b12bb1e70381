//! Hostile neighbours of one kind after the other, each with a hub of its own, seen from outside: what memory the hub takes, and how
//! long another viewer and another publisher wait. Nothing of their conversation is lost; times are printed.

use tests::process::forget_peak;
use tests::{TestHub, TestViewer};

use crate::histogram::Histogram;
use crate::hostile::neighbours::{KINDS, NeighbourPlace, Neighbours};
use crate::hostile::{TEXT_BYTES, callers, upstream};
use crate::settings::{Bytes, Settings, allow_files};
use crate::stream::{self, Plan};

/// The kind that asks for large views: there is one before it comes.
const VIEWS: u64 = KINDS;

/// Those that read conversations, which others fill in the scenario `hostile`.
const READERS: [u64; 2] = [3, 10];

/// What the hub's memory must stay below beside one kind, in bytes: the goal for all kinds together.
const RESIDENT_MAX: u64 = 512 << 20;

const HEAD: &str = "| kind | times | memory grew by at most | viewer alone p50, p99 | beside it | publisher alone p50, p99 | beside it |\n\
    |---|--:|--:|--:|--:|--:|--:|";

#[tokio::test(flavor = "multi_thread")]
async fn i8_each_kind_of_hostile_neighbours_costs_bounded_memory_and_no_event() {
    let settings = Settings::of("outside");
    allow_files(4_000);
    let upstream = upstream::start().await;
    let mut rows = Vec::new();
    for kind in settings.outside_first..=KINDS {
        let trick = format!("evil=http://{upstream}");
        let hub = TestHub::start_with(&["--trace", "error", "--upstream", &trick]).await;
        rows.push(beside(&hub, &settings, kind).await);
    }
    println!("{HEAD}\n{}", rows.join("\n"));
}

/// Measures one kind; a row of the table.
async fn beside(hub: &TestHub, settings: &Settings, kind: u64) -> String {
    let street = NeighbourPlace::to(hub.address(), settings);
    if kind == VIEWS {
        callers::fill_view(&street).await;
    } else if READERS.contains(&kind) {
        callers::furnish(&street).await;
    }
    let plan = Plan::lasting_ms(settings.outside_ms, settings.hostile_rate, TEXT_BYTES);
    let crowd = stream::gather(hub, "alone", settings.outside_viewers).await;
    let alone = stream::run(hub, "alone", &plan, crowd).await;
    let crowd = stream::gather(hub, "beside", settings.outside_viewers).await;
    forget_peak(hub.pid());
    let before = hub.process().resident_bytes;
    let neighbours = Neighbours::move_in(street, kind);
    neighbours.have_begun().await;
    let beside = stream::run(hub, "beside", &plan, crowd).await;
    let deeds = neighbours.move_out().await;
    let peak = hub.process().peak_bytes;
    let [(name, times)] = deeds[..] else { panic!("not one kind: {deeds:?}") };
    assert!(times > 0, "{name} never came");
    assert!(peak < RESIDENT_MAX, "{name}: the hub had {}", Bytes(peak));
    // Each viewer had each event once and in order; who comes now sees the same.
    let mut late = TestViewer::connect(hub.address(), "beside").await;
    late.reach(beside.head).await;
    assert_eq!(late.hash(), hub.view_hash("beside").await, "{name}");
    let grown = Bytes(peak.saturating_sub(before));
    let times_of = |latencies: &Histogram| {
        let ms = |share| latencies.quantile(share) as f64 / 1e3;
        format!("{:.1}, {:.1} ms", ms(0.5), ms(0.99))
    };
    let [viewer, with] = [&alone, &beside].map(|streamed| times_of(&streamed.latencies));
    let [publisher, also] = [&alone, &beside].map(|streamed| times_of(&streamed.acks));
    format!("| {name} | {times} | {grown} | {viewer} | {with} | {publisher} | {also} |")
}
