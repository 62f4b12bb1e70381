//! Several hubs on two databases, each on a machine of its own, while one thing after the other goes wrong: nothing that was acked as
//! `replicated` is lost, nothing is there twice, and everybody ends with the same.
//!
//! Reading order: this file → `cluster` and `databases` (the machines) → `faults` (what goes wrong) → `actors` (who publishes and views)
//! → `board` (how long everybody took to go on).

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::snapshot;
use tests::wait::{load_for, patiently};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::histogram::Histogram;
use crate::replay::Replay;
use crate::settings::{SeededRandom, Settings, allow_files};

mod actors;
mod board;
mod cluster;
mod databases;
mod faults;

use actors::{Published, Scene, Watched};
use board::{Board, EACH};
use cluster::{Cluster, HUBS};
use faults::{FaultKind, FaultPlan};

/// How long everybody may take to go on after a fault has ended.
const HEAL: Duration = Duration::from_mins(2);

/// Between two looks whether everybody has gone on.
const LOOK: Duration = Duration::from_millis(20);

/// One fault and what came of it.
struct Healed {
    kind: FaultKind,
    /// How long each publisher and viewer took to go on after its beginning, and after its end.
    took: [Vec<Duration>; 2],
    /// Hubs that were overtaken.
    overtaken: u64,
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_i9_i10_hubs_that_are_killed_paused_and_cut_off_lose_and_double_nothing() {
    let settings = Settings::of("hubs");
    let (publishers, viewers) = (settings.hubs_publishers as usize, settings.hubs_viewers as usize);
    assert!(publishers > 0 && publishers.is_multiple_of(EACH), "{EACH} publishers share a conversation");
    allow_files(settings.hubs_viewers * 2 + 1_000);
    let mut random = settings.random();
    let mut cluster = Cluster::start().await;
    let board = Arc::new(Board::new(publishers, viewers));
    let (end, ends) = watch::channel(false);
    let (tell, last) = watch::channel(Vec::new());
    let scene = Arc::new(Scene {
        hubs: cluster.addresses(),
        token: cluster.token.clone(),
        board: Arc::clone(&board),
        ends,
    });
    tokio::spawn(Arc::clone(&board).watch());
    let (mut publishing, mut viewing) = (JoinSet::new(), JoinSet::new());
    for number in 0..publishers {
        publishing.spawn(actors::publisher(Arc::clone(&scene), random.fork(), number));
    }
    for number in 0..viewers {
        viewing.spawn(actors::viewer(Arc::clone(&scene), random.fork(), number, last.clone()));
    }
    let healed = tokio::select! {
        healed = go_wrong(&mut cluster, &board, &settings, &mut random) => healed,
        Some(ended) = publishing.join_next() => panic!("a publisher failed: {:?}", ended.err()),
        Some(ended) = viewing.join_next() => panic!("a viewer failed: {:?}", ended.err()),
    };
    end.send_replace(true);
    let published = patiently("the publishers' last words", publishing.join_all()).await;
    tell.send_replace(agree(&cluster, &published, publishers).await);
    let watched = patiently("the viewers to see the same", viewing.join_all()).await;
    print(&healed, &published, &watched, &cluster);
}

/// Lets one fault after the other happen, each once everybody has gone on after the one before.
async fn go_wrong(
    cluster: &mut Cluster,
    board: &Board,
    settings: &Settings,
    random: &mut SeededRandom,
) -> Vec<Healed> {
    go_on(board, board.mark(), "the beginning").await;
    let (began, mut healed) = (Instant::now(), Vec::new());
    let mut plan = FaultPlan::new(random.fork(), settings.hubs_kind);
    while (healed.len() as u64) < settings.hubs_faults
        && began.elapsed() < Duration::from_secs(settings.hubs_seconds)
    {
        load_for(Duration::from_millis(random.between(200, 1_000))).await;
        cluster.settle().await;
        let (kind, overtaken) = (plan.next(), cluster.overtaken);
        let (beginning, at) = (board.mark(), began.elapsed());
        let what = faults::inflict(cluster, kind, random).await;
        let end = board.mark();
        println!("hubs: after {at:.1?}: {}: {what}", kind.name());
        let (primary, standby) = cluster.both();
        primary.recover();
        standby.recover();
        cluster.until_followed().await;
        cluster.settle().await;
        let from_beginning = go_on(board, beginning, kind.name()).await;
        let from_end = go_on(board, end, kind.name()).await;
        let overtaken = cluster.overtaken - overtaken;
        println!("hubs:   healed {:.1?} after its end, {overtaken} hubs were overtaken", longest(&from_end));
        healed.push(Healed { kind, took: [from_beginning, from_end], overtaken });
    }
    healed
}

/// Waits until everybody has gone on after a moment. How long each took.
///
/// # Panics
/// With the names of those who have not.
async fn go_on(board: &Board, moment: usize, what: &str) -> Vec<Duration> {
    let began = Instant::now();
    loop {
        if let Some(took) = board.took(moment) {
            return took;
        }
        assert!(began.elapsed() < HEAL, "{what}: these have not gone on: {}", board.waiting(moment));
        load_for(LOOK).await;
    }
}

/// All hubs and the log have the same of each conversation, with every word that was said, in order and once. The hashes.
async fn agree(cluster: &Cluster, published: &[Published], publishers: usize) -> Vec<String> {
    let mut hashes = Vec::new();
    let mut there = 0;
    for number in 0..publishers / EACH {
        let name = actors::conversation(number * EACH);
        let view = cluster.view(0, &name).await;
        there += actors::check(&view, number, "the first hub").iter().sum::<u64>();
        let hash = snapshot::hash(&view);
        for hub in 1..HUBS {
            assert_eq!(snapshot::hash(&cluster.view(hub, &name).await), hash, "{name} at hub {hub}");
        }
        let mut replay = Replay::default();
        replay.read(&cluster.hubs[number % HUBS].hub, &name).await;
        assert_eq!(snapshot::hash(&replay.view), hash, "{name} in the log");
        hashes.push(hash);
    }
    let said: u64 = published.iter().map(|published| published.words).sum();
    assert_eq!(there, said, "each word was acked as replicated, and is there");
    hashes
}

fn longest(took: &[Duration]) -> Duration {
    took.iter().copied().max().unwrap_or_default()
}

/// Prints what everybody did, and for each kind of fault how long it took them to go on.
fn print(healed: &[Healed], published: &[Published], watched: &[Watched], cluster: &Cluster) {
    let sum = |of: fn(&Published) -> u64| published.iter().map(of).sum::<u64>();
    let seen = |of: fn(&Watched) -> u64| watched.iter().map(of).sum::<u64>();
    println!(
        "hubs: {} faults; {} publishers said {} words and moved {} times; {} acks as replicated, {} below it; {} times a hub did not know yet \
         that it was overtaken",
        healed.len(),
        published.len(),
        sum(|one| one.words),
        sum(|one| one.moves),
        sum(|one| one.replicated),
        sum(|one| one.stored),
        sum(|one| one.stale),
    );
    println!(
        "hubs: {} viewers came to a hub {} times, were given {} events and {} states, and were refused {} times; {} hubs were overtaken",
        watched.len(),
        seen(|one| one.moves),
        seen(|one| one.events),
        seen(|one| one.snapshots),
        seen(|one| one.refused),
        cluster.overtaken,
    );
    let mut kinds: Vec<FaultKind> = healed.iter().map(|healed| healed.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    println!(
        "hubs: | fault | times | hubs overtaken | from its beginning p50, p99, all | from its end p50, p99, all |"
    );
    for kind in kinds {
        let of: Vec<&Healed> = healed.iter().filter(|healed| healed.kind == kind).collect();
        println!("hubs: | {} | {}", kind.name(), figures(&of));
    }
    println!("hubs: | all | {}", figures(&healed.iter().collect::<Vec<_>>()));
}

/// How long it took everybody to go on.
fn figures(of: &[&Healed]) -> String {
    let overtaken: u64 = of.iter().map(|healed| healed.overtaken).sum();
    let times = [0, 1].map(|since| {
        let mut histogram = Histogram::new();
        let all = of.iter().flat_map(|healed| &healed.took[since]);
        all.clone().for_each(|took| histogram.add(took.as_millis() as u64));
        let [half, most] = [0.5, 0.99].map(|share| Duration::from_millis(histogram.quantile(share)));
        let longest = all.max().copied().unwrap_or_default();
        format!("{half:.1?}, {most:.1?}, {longest:.1?}")
    });
    format!("{} | {overtaken} | {} |", of.len(), times.join(" | "))
}
