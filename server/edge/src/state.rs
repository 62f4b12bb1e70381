//! The state that all parts of the network side share: handles, without logic of its own.
//!
//! `Shared` is made once, before the hub listens, and dropped after the log was closed. Tasks hold it by
//! `Arc`, so what it owns outlives every request. Times of sockets are kept by one timer for all of them
//! (`Sockets`), since a timer for each would cost memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use event_log::{EventLog, Health, MemoryLog, PostgresLog, PostgresOptions, SqliteLog, SqliteOptions};
use parking_lot::Mutex;
use redact::Redactor;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use upstream::Egress;

use crate::access::Gate;
use crate::asker::AskedRuns;
use crate::balance::Balance;
use crate::commands::Remembered;
use crate::config::{Config, LogChoice};
use crate::frozen::Copies;
use crate::proxy::{OPEN_RUNS_FILE, OpenRunsFile, Proxy};
use crate::sharing::{Moves, Peers, PeersConfig};
use crate::shelf::Shelf;
use crate::threads::Threads;
use crate::tls::Tls;
use crate::traces::Traces;
use crate::work::Work;
use agents::{Agents, Host, Toolbox};
use hub::{Fanout, Hub, OrphanTimeouts, Outbox};

/// A running hub. One for each process, shared by all requests, sockets and tasks.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The settings of the hub.
    pub(crate) config: Config,
    /// Decides who may come in.
    pub(crate) gate: Gate,
    /// The certificate, if the hub speaks TLS itself.
    pub(crate) tls: Option<Tls>,
    /// The conversations and their log.
    pub(crate) hub: Arc<Hub>,
    /// The viewers of the conversations.
    pub(crate) fanout: Arc<Fanout>,
    /// The `WebSockets` that are open.
    pub(crate) sockets: Sockets,
    /// Cancelled when the hub begins to drain.
    pub(crate) drain: CancellationToken,
    /// Spans that wait to become events.
    pub(crate) traces: Traces,
    /// Every task; the drain waits for all of them.
    pub(crate) tasks: TaskTracker,
    /// The tools of the agents.
    pub(crate) tools: Arc<Toolbox>,
    /// The agents that can be asked.
    pub(crate) agents: Arc<Agents>,
    /// Who asked for the runs of agents that go on.
    pub(crate) asked: AskedRuns,
    /// The answers to the newest commands.
    pub(crate) commands: Remembered,
    /// What callers of the doors have asked.
    pub(crate) threads: Threads,
    /// The models that forge-ui shows.
    pub(crate) forge: Shelf,
    /// The way to other servers.
    pub(crate) egress: Arc<Egress>,
    /// What the calls through the proxy share.
    pub(crate) proxy: Arc<Proxy>,
    /// The bounds of expensive work.
    pub(crate) work: Arc<Work>,
    /// How often the log stopped or resumed writing.
    pub(crate) log_turns: AtomicU64,
    /// The other hubs of the log; nothing for a hub that is alone there.
    pub(crate) peers: Option<Peers>,
    /// The conversations that are being moved to another hub.
    pub(crate) moves: Arc<Moves>,
    /// How much this hub has to do, and what it gave to others because of that.
    pub(crate) balance: Balance,
    /// The copies that frozen links show.
    pub(crate) copies: Copies,
}

impl Shared {
    /// Opens the log that the settings name and makes a hub over it. Starts no tasks except those of the log.
    /// Fails if the log cannot be opened: a file or database that is not there, damaged, newer than this
    /// program, or open in another hub.
    pub(crate) fn new(
        config: Config,
        gate: Gate,
        tls: Option<Tls>,
        redactor: Option<Arc<Redactor>>,
    ) -> Result<Arc<Self>, LogNotOpened> {
        let address = config.peers.as_ref().map(PeersConfig::address);
        let log = open_log_as(&config.log, address)?;
        gate.share_through(&log)?;
        let peers = config.peers.as_ref().map(Peers::new);
        let patience = OrphanTimeouts::of(config.stalled_after, config.interrupted_after);
        let forge = Shelf::new(&config.log, &log);
        let hub = Hub::new(log).with_patience(patience).with_prices(config.prices.clone());
        let hub = Arc::new(hub.with_memory_target(config.memory_target).with_redactor(redactor));
        let tasks = TaskTracker::new();
        let fanout = Arc::new(Fanout::new(Arc::clone(&hub), tasks.clone(), config.heartbeat));
        let drain = CancellationToken::new();
        let sockets = Sockets::default();
        let egress = Arc::<Egress>::default();
        let proxy = Arc::new(Proxy::new(
            &config.upstreams,
            &egress,
            OpenRunsFile::new(config.log.file(OPEN_RUNS_FILE)),
        ));
        let tools = Arc::new(Toolbox::new(&config.tools, &config.launcher, &egress));
        let host = Host {
            hub: Arc::clone(&hub),
            fanout: Arc::clone(&fanout),
            egress: Arc::clone(&egress),
            tools: Arc::clone(&tools),
            tasks: tasks.clone(),
            drain: drain.clone(),
        };
        let agents = Agents::new(&config.agents, host);
        let balance = Balance::new(config.overload);
        Ok(Arc::new(Self {
            config,
            gate,
            tls,
            hub,
            fanout,
            sockets,
            drain,
            traces: Traces::default(),
            tasks,
            agents,
            asked: AskedRuns::default(),
            commands: Remembered::default(),
            tools,
            threads: Threads::default(),
            forge,
            egress,
            proxy,
            work: Arc::default(),
            log_turns: AtomicU64::new(0),
            peers,
            moves: Arc::default(),
            balance,
            copies: Copies::default(),
        }))
    }

    /// Wakes all sockets whenever the log stops or resumes writing, so that each tells its client. Never
    /// returns.
    pub(crate) async fn watch_log(&self) {
        let mut progress = self.hub.log().progress();
        let mut known = Health::Well;
        loop {
            let health = progress.borrow_and_update().health.clone();
            if known != health {
                known = health;
                self.log_turns.fetch_add(1, Ordering::Relaxed);
                self.sockets.wake_due(true);
            }
            if progress.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Follows the files of the certificate, if there are any. Never returns.
    pub(crate) async fn watch_certificate(&self) {
        match &self.tls {
            Some(tls) => tls.watch().await,
            None => std::future::pending().await,
        }
    }

    /// Whether the hub is draining.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }
}

/// Why a log was not opened.
pub type LogNotOpened = Box<dyn std::error::Error + Send + Sync>;

/// Opens the log that was chosen. Waits for its disk or database, and keeps every other hub out as long as it
/// is open. Dropping it without `close` is an unclean stop.
pub fn open_log(choice: &LogChoice) -> Result<Arc<dyn EventLog>, LogNotOpened> {
    open_log_as(choice, None)
}

/// Opens the log for a hub that others reach under `address`: it shares a database with them.
fn open_log_as(choice: &LogChoice, address: Option<String>) -> Result<Arc<dyn EventLog>, LogNotOpened> {
    Ok(match choice {
        LogChoice::Memory => Arc::new(MemoryLog::default()),
        LogChoice::Sqlite { path, max_bytes } => Arc::new(SqliteLog::open(
            path,
            &SqliteOptions { max_bytes: *max_bytes, ..SqliteOptions::default() },
        )?),
        LogChoice::Postgres { url, .. } => {
            let options = PostgresOptions { address, ..PostgresOptions::default() };
            Arc::new(event_log::blocking(|| PostgresLog::open(url, &options))?)
        }
    })
}

/// The open `WebSockets`, so that one timer serves them all. It holds their outboxes, not their tasks.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// The moment from which times in outboxes are counted.
    began: Instant,
    /// The number of the newest socket, and the sockets by number.
    open: Mutex<(u64, BTreeMap<u64, Arc<Outbox>>)>,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { began: Instant::now(), open: Mutex::default() }
    }
}

impl Sockets {
    /// Adds a socket; returns the number under which to remove it. Numbers rise and are never used again.
    pub(crate) fn add(&self, outbox: &Arc<Outbox>) -> u64 {
        let mut open = self.open.lock();
        open.0 += 1;
        let number = open.0;
        open.1.insert(number, Arc::clone(outbox));
        number
    }

    /// The number of sockets that are open.
    pub(crate) fn count(&self) -> u64 {
        self.open.lock().1.len() as u64
    }

    /// Removes the socket `number`.
    pub(crate) fn remove(&self, number: u64) {
        self.open.lock().1.remove(&number);
    }

    /// Converts a time for [`Outbox::attention_at`].
    pub(crate) fn millis(&self, when: Instant) -> u64 {
        u64::try_from(when.duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }

    /// Wakes the sockets whose time of attention has come, or all sockets.
    pub(crate) fn wake_due(&self, all: bool) {
        let now = self.millis(Instant::now());
        for outbox in self.open.lock().1.values() {
            if all || outbox.attention_at.load(Ordering::Relaxed) <= now {
                outbox.attention_at.store(u64::MAX, Ordering::Relaxed);
                outbox.wake.notify_one();
            }
        }
    }

    /// The one timer of all sockets. Never returns. Its step is small compared with the shortest of the deadlines in the
    /// settings; it may notice up to a second late that a viewer is behind.
    pub(crate) async fn watch(&self, config: &Config) {
        let shortest = config.heartbeat.min(config.hello).min(config.no_progress);
        let step = (shortest / 10).clamp(Duration::from_millis(5), Duration::from_secs(1));
        loop {
            tokio::time::sleep(step).await;
            self.wake_due(false);
        }
    }
}
