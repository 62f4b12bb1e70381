//! Who lives beside the healthy conversation, and how often each did its worst.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tests::wait::{load_for, patiently_until};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{callers, sockets};
use crate::settings::{SeededRandom, Settings};

/// How long one deed may take; then the neighbour hangs up and begins another.
const DEED: Duration = Duration::from_secs(15);

/// How many of each kind there are.
const OF_EACH: usize = 2;

/// The priority of the neighbours' own threads. It is the lowest, since the test measures what the hub does for them and not
/// what they take from a machine that they share with the viewers.
const NICE: i32 = 19;

/// How many kinds there are.
pub(crate) const KINDS: u64 = 15;

/// What a deed needs.
#[derive(Debug, Clone)]
pub(crate) struct NeighbourPlace {
    /// The hub.
    pub(crate) hub: SocketAddr,
    /// Speaks HTTP to it, as a library does.
    pub(crate) client: reqwest::Client,
    /// Chance.
    pub(crate) random: SeededRandom,
    /// Size of the conversation of which views are asked for, in MiB.
    pub(crate) view_mib: u64,
}

impl NeighbourPlace {
    /// One to the hub.
    pub(crate) fn to(hub: SocketAddr, settings: &Settings) -> Self {
        let (client, random) = (reqwest::Client::new(), settings.random());
        Self { hub, client, random, view_mib: settings.outside_view_mib }
    }
}

/// All of them, on threads of their own.
pub(crate) struct Neighbours {
    leave: watch::Sender<bool>,
    thread: JoinHandle<()>,
    deeds: Vec<NeighbourDeeds>,
}

/// How often a kind did what it does.
type NeighbourDeeds = (&'static str, Arc<AtomicU64>);

/// Neighbours as they move in.
struct Moving {
    street: NeighbourPlace,
    leave: watch::Receiver<bool>,
    all: JoinSet<()>,
    deeds: Vec<NeighbourDeeds>,
    /// How many kinds were named.
    named: u64,
    /// The one kind that comes, or 0.
    only: u64,
}

impl Neighbours {
    /// Lets them begin: the kind of the number `only` from 1, with 0 all.
    pub(crate) fn move_in(street: NeighbourPlace, only: u64) -> Self {
        let mut runtime = Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().on_thread_start(stand_low).build().unwrap();
        let (leave, left) = watch::channel(false);
        let (all, deeds) = (JoinSet::new(), Vec::new());
        let mut moving = Moving { street, leave: left, all, deeds, named: 0, only };
        let inside = runtime.enter();
        moving.kind("pings whose answers nobody reads", sockets::pings);
        moving.kind("a message in empty pieces without an end", sockets::fragments);
        moving.kind("a viewer that never reads", sockets::viewer);
        moving.kind("a connection that says nothing", sockets::silence);
        moving.kind("names of megabytes", callers::names);
        moving.kind("texts and agents that nest", callers::nests);
        moving.kind("imports of states that lie", callers::imports);
        moving.kind("bodies that break off", callers::broken);
        moving.kind("searches of everything", callers::searches);
        moving.kind("exports that nobody reads to the end", callers::exports);
        moving.kind("forged references", callers::references);
        moving.kind("answers of a hostile upstream", callers::upstream);
        moving.kind("24 runs of models with names of 15 MiB", callers::models);
        moving.kind("Markdown of nested indentation", callers::indents);
        moving.kind("large views, six forbidden and six allowed", callers::views);
        assert_eq!(moving.named, KINDS);
        drop(inside);
        let Moving { mut all, deeds, .. } = moving;
        let thread = std::thread::spawn(move || {
            runtime.block_on(async { while all.join_next().await.is_some() {} });
            runtime.shutdown_background();
        });
        Self { leave, thread, deeds }
    }

    /// Waits until each kind has begun: on a busy machine threads of the lowest priority begin late.
    pub(crate) async fn have_begun(&self) {
        patiently_until("the neighbours to begin", async || {
            let all = self.deeds.iter().all(|(_, count)| count.load(Ordering::Relaxed) > 0);
            all.then_some(())
        })
        .await;
    }

    /// Ends them all; what each kind did, and how often.
    pub(crate) async fn move_out(self) -> Vec<(&'static str, u64)> {
        let Self { leave, thread, deeds } = self;
        leave.send_replace(true);
        tokio::task::spawn_blocking(move || thread.join()).await.unwrap().unwrap();
        deeds.into_iter().map(|(name, count)| (name, count.load(Ordering::Relaxed))).collect()
    }
}

impl Moving {
    /// Some neighbours of a kind, each of which does `deed` again and again.
    fn kind<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: &'static str,
        deed: impl Fn(NeighbourPlace) -> F + Clone + Send + Sync + 'static,
    ) {
        self.named += 1;
        if self.only != 0 && self.only != self.named {
            return;
        }
        let count = Arc::new(AtomicU64::new(0));
        self.deeds.push((name, Arc::clone(&count)));
        for _ in 0..OF_EACH {
            let (mut leave, deed, count) = (self.leave.clone(), deed.clone(), Arc::clone(&count));
            let mut street = NeighbourPlace { random: self.street.random.fork(), ..self.street.clone() };
            self.all.spawn(async move {
                let work = async {
                    loop {
                        let next = NeighbourPlace { random: street.random.fork(), ..street.clone() };
                        // A hub that lets it hang is no trouble to anybody but the neighbour itself.
                        count.fetch_add(1, Ordering::Relaxed);
                        drop(timeout(DEED, deed(next)).await);
                        load_for(Duration::from_millis(street.random.between(10, 200))).await;
                    }
                };
                tokio::select! {
                    () = work => {}
                    _left = leave.wait_for(|left| *left) => {}
                }
            });
        }
    }
}

/// Gives this thread the lowest priority there is.
pub(super) fn stand_low() {
    // Where it is not allowed the figures are the worse for it, and nothing else.
    let _refused = rustix::process::setpriority_process(None, NICE);
    // Behind everything that is not idle: a thread of the lowest priority keeps its core for a slice of time once it has it.
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let _refused = Command::new("chrt").args(["--idle", "--pid", "0", &thread]).output();
}
