//! The state that all parts of the network side share: handles, without logic of its own.
//!
//! `Shared` is made once, before the hub listens, and dropped after the log was closed. Tasks hold it by
//! `Arc`, so what it owns outlives every request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use event_log::{EventLog, Health};
use redact::Redactor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use upstream::Egress;

use crate::access::Gate;
use crate::asker::AskedRuns;
use crate::balance::Balance;
use crate::commands::CommandExecutor;
use crate::config::Config;
use crate::frozen::Copies;
use crate::log_choice::{LogNotOpened, open_log_as};
use crate::peers::Ownership;
use crate::proxy::Proxy;
use crate::sharing::{Moves, Peers, PeersConfig};
use crate::shelf::Shelf;
use crate::sockets::Sockets;
use crate::threads::Threads;
use crate::tls::Tls;
use crate::traces::Traces;
use crate::work::Work;
use agents::{Agents, Host, Toolbox};
use hub::{Fanout, Hub, OrphanTimeouts};

/// A running hub. One for each process, shared by all requests, sockets and tasks.
#[derive(Debug)]
pub(crate) struct Shared {
    /// The settings of the hub.
    pub(crate) config: Arc<Config>,
    /// Decides who may come in.
    pub(crate) gate: Arc<Gate>,
    /// The certificate, if the hub speaks TLS itself.
    pub(crate) tls: Option<Tls>,
    /// The conversations and their log.
    pub(crate) hub: Arc<Hub>,
    /// The viewers of the conversations.
    pub(crate) fanout: Arc<Fanout>,
    /// The `WebSockets` that are open.
    pub(crate) sockets: Arc<Sockets>,
    /// Cancelled when the hub begins to drain.
    pub(crate) drain: CancellationToken,
    /// Spans that wait to become events.
    pub(crate) traces: Arc<Traces>,
    /// Every task; the drain waits for all of them.
    pub(crate) tasks: TaskTracker,
    /// The tools of the agents.
    pub(crate) tools: Arc<Toolbox>,
    /// The agents that can be asked.
    pub(crate) agents: Arc<Agents>,
    /// Carries out the commands of people.
    pub(crate) commands: Arc<CommandExecutor>,
    /// Who asked for the runs of agents that go on.
    pub(crate) asked: Arc<AskedRuns>,
    /// What callers of the doors have asked.
    pub(crate) threads: Threads,
    /// The models that forge-ui shows.
    pub(crate) forge: Arc<Shelf>,
    /// The way to other servers.
    pub(crate) egress: Arc<Egress>,
    /// What the calls through the proxy share.
    pub(crate) proxy: Arc<Proxy>,
    /// The bounds of expensive work.
    pub(crate) work: Arc<Work>,
    /// How often the log stopped or resumed writing.
    pub(crate) log_turns: AtomicU64,
    /// The other hubs of the log; nothing for a hub that is alone there.
    pub(crate) peers: Option<Arc<Peers>>,
    /// What finds and reaches the owner of a conversation.
    pub(crate) ownership: Arc<Ownership>,
    /// The conversations that are being moved to another hub.
    pub(crate) moves: Arc<Moves>,
    /// How much this hub has to do, and what it gave to others because of that.
    pub(crate) balance: Balance,
    /// The copies that frozen links show.
    pub(crate) copies: Arc<Copies>,
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
        Ok(Self::over(log, config, gate, tls, redactor))
    }

    /// Makes a hub over `log`, which is open. Starts no tasks.
    pub(crate) fn over(
        log: Arc<dyn EventLog>,
        config: Config,
        gate: Gate,
        tls: Option<Tls>,
        redactor: Option<Arc<Redactor>>,
    ) -> Arc<Self> {
        let peers = config.peers.as_ref().map(Peers::new).map(Arc::new);
        let patience = OrphanTimeouts::of(config.stalled_after, config.interrupted_after);
        let forge = Arc::new(Shelf::new(&config.log, &log));
        let hub = Hub::new(log).with_patience(patience).with_prices(config.prices.clone());
        let hub = Arc::new(hub.with_memory_target(config.memory_target).with_redactor(redactor));
        let tasks = TaskTracker::new();
        let fanout = Arc::new(Fanout::new(Arc::clone(&hub), tasks.clone(), config.heartbeat));
        let drain = CancellationToken::new();
        let sockets = Arc::<Sockets>::default();
        let moves = Arc::<Moves>::default();
        let ownership = Arc::new(Ownership {
            hub: Arc::clone(&hub),
            fanout: Arc::clone(&fanout),
            peers: peers.clone(),
            moves: Arc::clone(&moves),
            sockets: Arc::clone(&sockets),
            copies_due: Arc::default(),
            tasks: tasks.clone(),
            drain: drain.clone(),
        });
        let egress = Arc::<Egress>::default();
        let (gate, work) = (Arc::new(gate), Arc::<Work>::default());
        let proxy = Arc::new(Proxy::new(&config, &egress, Arc::clone(&ownership), Arc::clone(&gate)));
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
        let asked = Arc::<AskedRuns>::default();
        let commands = CommandExecutor::new(&fanout, &agents, &gate, &work, &asked);
        // The file of links is beside the log.
        let links_folder = config.log.file("shares.json").and_then(|file| Some(file.parent()?.to_owned()));
        let copies = Copies::new(Arc::clone(&ownership), Arc::clone(&gate), Arc::clone(&work), links_folder);
        Arc::new(Self {
            balance: Balance::new(config.overload),
            config: Arc::new(config),
            gate,
            tls,
            hub,
            fanout,
            sockets,
            drain,
            traces: Arc::new(Traces::new(Arc::clone(&ownership))),
            tasks,
            agents,
            commands: Arc::new(commands),
            asked,
            tools,
            threads: Threads::default(),
            forge,
            egress,
            proxy,
            work,
            log_turns: AtomicU64::new(0),
            peers,
            ownership,
            moves,
            copies: Arc::new(copies),
        })
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
