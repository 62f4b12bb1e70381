//! The two ways in which an event can come from the hub that takes it to viewers of another hub, side by side on the same events: hubs that
//! follow owners, as Fanlight's do, and the database's own distribution, a logical replication slot for each hub ([decision 0077]).
//! A slot is read beside the hubs, so both get each event in the same moment of the same run. CPU that is named is that of all processes of
//! the way, without what a hub does with a row after it was received.
//! `--seconds` (of each part), `--rate` (events a second, of all conversations) and `--only` (steady, frozen, killed, promoted) choose.
//!
//! [decision 0077]: ../../../docs/decisions/0077-owners-and-followers.md

mod faults;
mod load;
mod slot;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use event_log::{PostgresPlace, TestPostgresServer};
use tests::TestHub;
use tests::process::cpu;
use tests::wait::{load_for, until};
use tokio::task::JoinSet;

use load::{Arrivals, Sent};
use slot::Slot;

const USAGE: &str = "cargo xtask bench --bench distribution -- [--seconds 15] [--rate 1000] [--only steady|frozen|killed|promoted]";

/// Conversations of all owners together.
const CONVERSATIONS: usize = 24;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Debug)]
struct Args {
    seconds: u64,
    rate: u64,
    only: Option<String>,
}

fn main() -> Outcome<()> {
    let mut chosen = Args { seconds: 15, rate: 1_000, only: None };
    // cargo adds the first one.
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(name) = args.next() {
        let value = args.next().ok_or_else(|| format!("{name} needs a value\n{USAGE}"))?;
        match name.as_str() {
            "--seconds" => chosen.seconds = value.parse()?,
            "--rate" => chosen.rate = value.parse()?,
            "--only" => chosen.only = Some(value),
            other => return Err(format!("{other} is no option\n{USAGE}").into()),
        }
    }
    tokio::runtime::Runtime::new()?.block_on(run(&chosen));
    Ok(())
}

async fn run(args: &Args) {
    let is_wanted = |part: &str| args.only.as_deref().is_none_or(|only| only == part);
    if is_wanted("steady") {
        steady(args).await;
    }
    if is_wanted("frozen") {
        faults::frozen(args).await;
    }
    if is_wanted("killed") {
        faults::killed(args).await;
    }
    if is_wanted("promoted") {
        faults::promoted(args).await;
    }
}

/// Three hubs under load: the first two own a half of the conversations each, the third is where people watch.
struct Scene {
    hubs: Vec<TestHub>,
    names: Vec<String>,
    sent: Arc<Sent>,
    /// What comes to viewers at the third hub.
    seen: Arc<Arrivals>,
    watching: JoinSet<()>,
    publishing: JoinSet<()>,
    is_over: Arc<AtomicBool>,
    _secret: tempfile::TempDir,
}

/// Where publishers of a scene are connected.
#[derive(Debug, Clone, Copy)]
enum Door {
    /// The hub that owns their conversation.
    Owner,
    /// The hub where people watch.
    Third,
}

impl Scene {
    /// Starts it on the log at `url`, which is published for slots. Nobody watches yet.
    async fn start(url: &str, rate: u64, door: Door) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "a secret of more than thirty-two bytes").expect("a file");
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).expect("its rights");
        let secret = secret.display().to_string();
        let mut hubs = Vec::new();
        for _ in 0..3 {
            let options = ["--hub-address", "http://127.0.0.1:0", "--hub-secret-file", &secret];
            hubs.push(
                TestHub::start_with(&[&["--log", url, "--trace", "warn"][..], &options].concat()).await,
            );
        }
        slot::publish(url);
        let (sent, is_over) = (Arc::<Sent>::default(), Arc::<AtomicBool>::default());
        let names: Vec<String> = (0..CONVERSATIONS).map(|number| format!("c{number}")).collect();
        let mut publishing = JoinSet::new();
        for (number, name) in names.iter().enumerate() {
            let [first, second, third] = &hubs[..] else { unreachable!("three were started") };
            let owner = if number % 2 == 0 { first } else { second };
            load::begin(owner, name).await;
            let address = match door {
                Door::Owner => owner.address(),
                Door::Third => third.address(),
            };
            let each = rate / CONVERSATIONS as u64;
            publishing.spawn(load::publish(
                (address, name.clone()),
                each,
                Arc::clone(&sent),
                Arc::clone(&is_over),
            ));
        }
        let seen = Arrivals::of(&sent);
        let scene =
            Self { hubs, names, sent, seen, watching: JoinSet::new(), publishing, is_over, _secret: folder };
        scene.learn_keys(url).await;
        scene
    }

    /// Learns by which keys the database knows the conversations, once it has all.
    async fn learn_keys(&self, url: &str) {
        until("the conversations in the database", async || {
            let rows = slot::ask(url, "SELECT key, id FROM conversation").ok()?;
            let rows = rows.lines().filter_map(|row| row.split_once('|'));
            let keys: Vec<_> =
                rows.filter_map(|(key, id)| Some((key.parse().ok()?, id.to_owned()))).collect();
            (keys.len() == CONVERSATIONS).then(|| self.sent.keys.lock().extend(keys))
        })
        .await;
    }

    /// Has people at the third hub watch the first `count` conversations, one each, and waits until they see something.
    async fn watch(&mut self, from: usize, count: usize) {
        let Some(third) = self.hubs.get(2) else { return };
        for name in self.names.iter().take(count).skip(from) {
            self.watching.spawn(load::watch(third.address(), name.clone(), Arc::clone(&self.seen)));
        }
        for name in self.names.iter().take(count).skip(from) {
            until("a viewer to see something", async || (self.seen.head(name) > 1).then_some(())).await;
        }
    }

    /// The newest seq of each conversation that was sent.
    fn heads(&self) -> Vec<(&String, u64)> {
        self.names.iter().map(|name| (name, self.sent.head(name))).collect()
    }

    /// Ends publishers and viewers.
    async fn end(mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        while self.publishing.join_next().await.is_some() {}
        self.watching.shutdown().await;
    }
}

/// A server of its own that decodes its log, and a place on it.
fn server() -> (TestPostgresServer, PostgresPlace) {
    let server = TestPostgresServer::start();
    slot::allow(&server);
    let place = server.place();
    (server, place)
}

/// What each way costs while nothing fails, by how much of all is watched.
async fn steady(args: &Args) {
    let (_server, place) = server();
    let mut scene = Scene::start(place.url(), args.rate, Door::Owner).await;
    let rows = Arrivals::of(&scene.sent);
    let slot = Slot::start(place.url(), "steady", &rows);
    say(&format!(
        "## Nothing fails: {} events/s in {CONVERSATIONS} conversations of two hubs, {} s for each row\n\n\
         CPU is in µs for each event that is published, whether it is watched or not. That of owners has their publishers and the log in it.\n\n\
         | watched at the third hub | following: its CPU | both owners | latency p50, p99 | slot: server's CPU | receiver's | latency p50, p99 |\n\
         |---|--:|--:|--:|--:|--:|--:|",
        args.rate, args.seconds
    ));
    let mut watched = 0;
    for count in [0, 1, CONVERSATIONS] {
        scene.watch(watched, count).await;
        watched = count;
        let pids: Vec<u32> = scene.hubs.iter().map(TestHub::pid).collect();
        let now = || (pids.iter().map(|pid| cpu(*pid)).collect::<Vec<_>>(), slot.cpu());
        drop((scene.seen.take(), rows.take()));
        let events = scene.sent.events.load(Ordering::Relaxed);
        let (hubs, (sender, receiver)) = now();
        load_for(Duration::from_secs(args.seconds)).await;
        let events = scene.sent.events.load(Ordering::Relaxed) - events;
        let (hubs_then, (sender_then, receiver_then)) = now();
        let each = |before: Duration, after: Duration| micros(after.saturating_sub(before), events);
        let spent: Vec<f64> =
            hubs.iter().zip(&hubs_then).map(|(before, after)| each(*before, *after)).collect();
        let [first, second, third] = spent[..] else { return };
        say(&format!(
            "| {count} of {CONVERSATIONS} | {third:.1} | {:.1} | {} | {:.1} | {:.1} | {} |",
            first + second,
            quantiles(&scene.seen.take()),
            each(sender, sender_then),
            each(receiver, receiver_then),
            quantiles(&rows.take())
        ));
    }
    let (new, packed) = slot.bytes();
    say(&format!(
        "\nof the rows' bytes in the slot, {:.0} % were events packed anew\n",
        share(packed, new + packed)
    ));
    drop(slot);
    scene.end().await;
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
fn micros(spent: Duration, events: u64) -> f64 {
    spent.as_secs_f64() * 1e6 / events.max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a bench are few")]
fn share(part: u64, all: u64) -> f64 {
    part as f64 * 100.0 / all.max(1) as f64
}

/// The median and the 99th percentile of sorted times.
fn quantiles(times: &[Duration]) -> String {
    let [p50, p99] = [50, 99].map(|percent| {
        let time = times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
        time.copied().unwrap_or_default().as_secs_f64() * 1e3
    });
    if times.is_empty() { String::from("–") } else { format!("{p50:.1}, {p99:.1} ms") }
}

/// Time since `began`, for people.
fn since(began: Instant) -> String {
    format!("{:.2} s", began.elapsed().as_secs_f64())
}

fn say(line: &str) {
    // Whoever reads may have gone.
    drop(writeln!(std::io::stdout(), "{line}"));
}
