//! What faults do to each way: a hub that freezes, an owner that is killed, a database whose standby takes its place.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use event_log::PostgresPlace;
use rustix::process::Signal;
use tests::wait::{load_for, until};

use crate::load::{Arrivals, Sent};
use crate::slot::{self, Slot};
use crate::{Args, CONVERSATIONS, Door, Scene, quantiles, say, server, since};

/// The hub where people watch freezes, and goes on: what others keep for it, and when it has what it missed. The program that reads
/// the slot freezes with it.
pub(crate) async fn frozen(args: &Args) {
    let (_server, place) = server();
    let mut scene = Scene::start(place.url(), args.rate, Door::Owner).await;
    let rows = Arrivals::of(&scene.sent);
    let slot = Slot::start(place.url(), "frozen", &rows);
    scene.watch(0, CONVERSATIONS).await;
    let [owner, _, third] = &scene.hubs[..] else { return };
    let (kept, resident) = (slot.kept(), owner.process().resident_bytes);
    third.signal("STOP").await;
    slot.signal(Signal::STOP);
    load_for(Duration::from_secs(args.seconds)).await;
    let (kept, resident) =
        (slot.kept().saturating_sub(kept), owner.process().resident_bytes.saturating_sub(resident));
    let heads = scene.heads();
    slot.signal(Signal::CONT);
    let began = Instant::now();
    caught_up("the slot", &rows, &heads).await;
    let by_slot = since(began);
    third.signal("CONT").await;
    let began = Instant::now();
    caught_up("the viewers", &scene.seen, &heads).await;
    say(&format!(
        "## The hub where people watch freezes for {} s: {} events/s, all watched\n\n\
         | way | kept for it meanwhile | it has everything again after |\n|---|--:|--:|\n\
         | following | {:.1} MB more memory of an owner | {} |\n\
         | slot | {:.1} MB of the database's log | {by_slot} |\n",
        args.seconds,
        args.rate,
        megabytes(resident),
        since(began),
        megabytes(kept)
    ));
    drop(slot);
    scene.end().await;
}

/// Waits until all events before `heads` have come.
async fn caught_up(what: &str, arrivals: &Arrivals, heads: &[(&String, u64)]) {
    let is_there = |(name, head): &(&String, u64)| arrivals.head(name) >= *head;
    until(what, async || heads.iter().all(is_there).then_some(())).await;
}

/// An owner is killed while its publishers publish through the hub where people watch: how long viewers see nothing.
pub(crate) async fn killed(args: &Args) {
    let (_server, place) = server();
    let mut scene = Scene::start(place.url(), args.rate, Door::Third).await;
    let rows = Arrivals::of(&scene.sent);
    let slot = Slot::start(place.url(), "killed", &rows);
    scene.watch(0, CONVERSATIONS).await;
    load_for(Duration::from_secs(3)).await;
    for name in &scene.names {
        let _earlier = (scene.seen.pause(name), rows.pause(name));
    }
    let heads = scene.heads();
    if let Some(owner) = scene.hubs.first() {
        owner.signal("KILL").await;
    }
    load_for(Duration::from_secs(args.seconds)).await;
    caught_up("the viewers", &scene.seen, &heads).await;
    let pauses = |of: &Arrivals, rest: usize| {
        let names = scene.names.iter().enumerate().filter(|(number, _)| number % 2 == rest);
        let mut pauses: Vec<Duration> = names.map(|(_, name)| of.pause(name)).collect();
        pauses.sort_unstable();
        quantiles(&pauses)
    };
    say(&format!(
        "## An owner is killed: longest time without an event of a conversation, p50 and p99 of {} conversations each\n\n\
         | way | conversations of the owner | of another owner |\n|---|--:|--:|\n\
         | following | {} | {} |\n| slot, behind the same owners | {} | {} |\n",
        CONVERSATIONS / 2,
        pauses(&scene.seen, 0),
        pauses(&scene.seen, 1),
        pauses(&rows, 0),
        pauses(&rows, 1)
    ));
    drop(slot);
    scene.end().await;
}

/// The database's standby takes its place: how long viewers see nothing and acks wait, and what becomes of the slot.
pub(crate) async fn promoted(args: &Args) {
    let (primary, place) = server();
    let standby = primary.standby();
    let either = place.on_either(&standby);
    let mut scene = Scene::start(either.url(), args.rate, Door::Owner).await;
    let rows = Arrivals::of(&scene.sent);
    let before = Slot::start(place.url(), "promoted", &rows);
    scene.watch(0, CONVERSATIONS).await;
    load_for(Duration::from_secs(3)).await;
    for name in &scene.names {
        let _earlier = scene.seen.pause(name);
    }
    let began = Instant::now();
    primary.kill();
    assert!(standby.sql("SELECT pg_promote()"), "the standby takes its place");
    let promoted = since(began);
    let acked = acks_again(&scene.sent, began).await;
    let there = alone(&place, &either);
    let failure = slot::failure(&there, "promoted");
    drop(before);
    let (creating, made) = (Instant::now(), sum(&there));
    let after = Arrivals::of(&scene.sent);
    let again = Slot::start(&there, "again", &after);
    let (creating, unseen) = (since(creating), sum(&there).saturating_sub(made));
    load_for(Duration::from_secs(args.seconds)).await;
    let mut pauses: Vec<Duration> = scene.names.iter().map(|name| scene.seen.pause(name)).collect();
    pauses.sort_unstable();
    let missed: u64 =
        scene.names.iter().map(|name| after.first(name).saturating_sub(rows.head(name) + 1)).sum();
    say(&format!(
        "## The database's standby takes its place (promoted after {promoted})\n\n\
         acks `stored` go on after {acked}\n\n\
         following: the longest time without an event at viewers, p50 and p99: {}\n\n\
         slot: the old one answers \"{}\"; a new one is there {creating} later ({unseen} events were stored meanwhile); \
         {missed} events are in no slot and must be read from the tables\n",
        quantiles(&pauses),
        failure.lines().find(|line| line.contains("slot")).unwrap_or(&failure)
    ));
    drop(again);
    scene.end().await;
}

/// When acks go on after `began`.
async fn acks_again(sent: &Arc<Sent>, began: Instant) -> String {
    let before = sent.acked.load(Ordering::Relaxed);
    // More than what was on its way.
    let more = 100;
    until("acks", async || (sent.acked.load(Ordering::Relaxed) > before + more).then_some(())).await;
    since(began)
}

/// The URL of the second server of `either`, whose first one is that of `place`.
fn alone(place: &PostgresPlace, either: &PostgresPlace) -> String {
    let hosts = |url: &str| url.split(['@', '/']).nth(3).map(str::to_owned).unwrap_or_default();
    let (both, first) = (hosts(either.url()), hosts(place.url()));
    either.url().replacen(&both, both.trim_start_matches(&first).trim_start_matches(','), 1)
}

/// Events in all conversations of the log at `url`.
fn sum(url: &str) -> u64 {
    slot::ask(url, "SELECT sum(head) FROM conversation").ok().and_then(|sum| sum.parse().ok()).unwrap_or(0)
}

fn megabytes(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "bytes of a bench are few")]
    let bytes = bytes as f64;
    bytes / 1e6
}
