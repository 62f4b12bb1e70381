//! What all edges share: handles, no logic of their own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use event_log::{EventLog, Health, MemoryLog, OpenError, Options, SqliteLog};
use parking_lot::Mutex;
use redact::Redactor;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use upstream::Egress;

use crate::access::Gate;
use crate::commands::Remembered;
use crate::config::{Config, LogChoice};
use crate::proxy::Proxy;
use crate::shelf::Shelf;
use crate::threads::Threads;
use crate::tls::Tls;
use crate::traces::Traces;
use crate::work::Work;
use agents::{Agents, Host, Toolbox};
use hub::{Fanout, Hub, Outbox, Patience};

/// A running hub.
#[derive(Debug)]
pub(crate) struct Shared {
    /// How it was asked to behave.
    pub(crate) config: Config,
    /// Who may come in.
    pub(crate) gate: Gate,
    /// The certificate, where the hub speaks TLS itself.
    pub(crate) tls: Option<Tls>,
    /// The conversations.
    pub(crate) hub: Arc<Hub>,
    /// Their viewers.
    pub(crate) fanout: Arc<Fanout>,
    /// The open sockets.
    pub(crate) sockets: Sockets,
    /// Cancelled when the hub begins to drain.
    pub(crate) drain: CancellationToken,
    /// Spans on their way into conversations.
    pub(crate) traces: Traces,
    /// Everything that runs; the drain waits for it.
    pub(crate) tasks: TaskTracker,
    /// The tools of agents.
    pub(crate) tools: Arc<Toolbox>,
    /// Agents that can be asked.
    pub(crate) agents: Arc<Agents>,
    /// What was commanded last, and what came of it.
    pub(crate) commands: Remembered,
    /// What callers of the served contracts have asked.
    pub(crate) threads: Threads,
    /// The models that Forge's clients are shown.
    pub(crate) forge: Shelf,
    /// The way to other servers.
    pub(crate) egress: Arc<Egress>,
    /// What passes calls of models on.
    pub(crate) proxy: Arc<Proxy>,
    /// How much is done at the same time for those who ask for much.
    pub(crate) work: Arc<Work>,
    /// How often the log stopped writing or began to again.
    pub(crate) log_turns: AtomicU64,
}

impl Shared {
    /// A hub over the log that was chosen.
    pub(crate) fn new(
        config: Config,
        gate: Gate,
        tls: Option<Tls>,
        redactor: Option<Arc<Redactor>>,
    ) -> Result<Arc<Self>, OpenError> {
        let log: Arc<dyn EventLog> = match &config.log {
            LogChoice::Memory => Arc::new(MemoryLog::default()),
            LogChoice::Sqlite { path, max_bytes } => {
                Arc::new(SqliteLog::open(path, &Options { max_bytes: *max_bytes, ..Options::default() })?)
            }
        };
        let patience = Patience::of(config.stalled_after, config.interrupted_after);
        let hub = Hub::new(log).with_patience(patience).with_prices(config.prices.clone());
        let hub = Arc::new(hub.with_memory_target(config.memory_target).with_redactor(redactor));
        let tasks = TaskTracker::new();
        let fanout = Arc::new(Fanout::new(Arc::clone(&hub), tasks.clone(), config.heartbeat));
        let drain = CancellationToken::new();
        let sockets = Sockets::default();
        let egress = Arc::<Egress>::default();
        let proxy = Arc::new(Proxy::new(&config.upstreams, &egress));
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
        let forge = Shelf::new(&config.log);
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
            commands: Remembered::default(),
            tools,
            threads: Threads::default(),
            forge,
            egress,
            proxy,
            work: Arc::default(),
            log_turns: AtomicU64::new(0),
        }))
    }

    /// Wakes all sockets whenever the log stops writing or begins to again, so that each tells its client. Does not end.
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

    /// Follows the files of the certificate, where there are some. Does not end.
    pub(crate) async fn watch_certificate(&self) {
        match &self.tls {
            Some(tls) => tls.watch().await,
            None => std::future::pending().await,
        }
    }

    /// Whether the hub is about to stop.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }
}

/// The open sockets, so that one timer serves them all.
#[derive(Debug)]
pub(crate) struct Sockets {
    began: Instant,
    open: Mutex<(u64, BTreeMap<u64, Arc<Outbox>>)>,
}

impl Default for Sockets {
    fn default() -> Self {
        Self { began: Instant::now(), open: Mutex::default() }
    }
}

impl Sockets {
    /// Adds a socket; remove it under the number that comes back.
    pub(crate) fn add(&self, outbox: &Arc<Outbox>) -> u64 {
        let mut open = self.open.lock();
        open.0 += 1;
        let number = open.0;
        open.1.insert(number, Arc::clone(outbox));
        number
    }

    /// How many are open.
    pub(crate) fn count(&self) -> u64 {
        self.open.lock().1.len() as u64
    }

    /// Removes a socket.
    pub(crate) fn remove(&self, number: u64) {
        self.open.lock().1.remove(&number);
    }

    /// `when` as [`Outbox::attention_at`] has it.
    pub(crate) fn millis(&self, when: Instant) -> u64 {
        u64::try_from(when.duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }

    /// Wakes the sockets that want to be woken by now; all of them when the hub drains.
    pub(crate) fn wake_due(&self, all: bool) {
        let now = self.millis(Instant::now());
        for outbox in self.open.lock().1.values() {
            if all || outbox.attention_at.load(Ordering::Relaxed) <= now {
                outbox.attention_at.store(u64::MAX, Ordering::Relaxed);
                outbox.wake.notify_one();
            }
        }
    }

    /// The one timer of all sockets. Its step is small against the shortest of their deadlines.
    pub(crate) async fn watch(&self, config: &Config) {
        let shortest = config.heartbeat.min(config.hello).min(config.no_progress);
        let step = (shortest / 10).clamp(Duration::from_millis(5), Duration::from_secs(1));
        loop {
            tokio::time::sleep(step).await;
            self.wake_due(false);
        }
    }
}
