//! What all calls through the proxy share: upstreams, bounds, the joiner, and the threads that record.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;
use std::time::Duration;

use compact_str::CompactString;
use exchange::CallJoiner;
use hub::{Counter, Prices};
use model::code::ErrorCode;
use parking_lot::Mutex;
use upstream::{Egress, Sender, TlsError, Upstream};

use super::copied::RequestBody;
use super::headers::Fingerprints;
use super::open_runs::{FILE, OpenRunsFile};
use super::order::{Order, PublishLocks, Waiting};
use super::quiet::QuietWait;
use super::seats::ProxySockets;
use super::tape::Budget;
use crate::access::Gate;
use crate::config::Config;
use crate::inbound::problem::Problem;
use crate::peers::Ownership;
use crate::priority::{ThreadPriority, Threads};

/// How many requests this process has passed on.
pub(crate) static PROXIED: Counter = Counter::new();

/// How many of their recordings have a hole.
pub(crate) static COPIES_LOST: Counter = Counter::new();

/// The state that all calls share. One for each hub, owned by `Shared`. Its locks are held for moments, and
/// none across I/O.
#[derive(Debug)]
pub(crate) struct Proxy {
    /// The upstreams by name.
    upstreams: BTreeMap<CompactString, UpstreamEntry>,
    /// The way of requests out of the hub.
    pub(super) egress: Arc<Egress>,
    /// The conversations that calls are recorded in, and their owners.
    pub(super) ownership: Arc<Ownership>,
    /// Says what callers may, and counts what calls with the hub's own keys cost.
    pub(super) gate: Arc<Gate>,
    /// The prices of models, by which it is counted.
    pub(super) prices: Prices,
    /// The time between two looks for runs that have waited too long.
    pub(super) upkeep: Duration,
    /// Recognises callers by hashes of their keys.
    pub(super) fingerprints: Fingerprints,
    /// Bounds the memory of all tapes.
    pub(super) budget: Arc<Budget>,
    /// The order of the recordings.
    pub(super) order: Arc<Order>,
    /// The threads that record.
    pub(super) recorders: Threads,
    /// Makes recorders wait while calls are on their way out.
    pub(super) quiet: QuietWait,
    /// Decides to which conversation and run a call belongs.
    pub(super) joiner: Mutex<CallJoiner>,
    /// Keeps the order of what the joiner says in each conversation.
    pub(super) publish_locks: PublishLocks,
    /// Attends runs that wait for results of their callers.
    pub(super) waiting: Waiting,
    /// Bounds the number of open `WebSockets`.
    pub(super) sockets: ProxySockets,
    /// The runs that are open, noted for the hub's next life.
    pub(crate) open_runs: OpenRunsFile,
}

/// Most recordings that may block on the disk at the same time; others wait for them.
const RECORDINGS_BLOCKED_MAX: usize = 16;

/// The threads that record calls. Reading, joining and writing of one call never takes a core from another
/// call (I12). There are half as many as cores, because each recorded call also has its caller and its
/// upstream to run.
fn recorders() -> Threads {
    let threads = available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
    Threads::new("recorder", ThreadPriority::Recording, threads, RECORDINGS_BLOCKED_MAX)
}

/// An upstream, and its sender once it has been called.
#[derive(Debug)]
struct UpstreamEntry {
    /// The settings of the upstream.
    upstream: Upstream,
    /// The connections to it, or why TLS cannot be set up, which does not change while the hub runs.
    sender: OnceLock<Result<Sender<RequestBody>, TlsError>>,
}

impl Proxy {
    /// Makes the state for the known upstreams and those that `config` names, which are reached through `egress`; the file of open runs
    /// has what the life before left.
    pub(crate) fn new(
        config: &Config,
        egress: &Arc<Egress>,
        ownership: Arc<Ownership>,
        gate: Arc<Gate>,
    ) -> Self {
        let places = Upstream::all(&config.upstreams).into_iter();
        let places = places.map(|upstream| {
            (CompactString::new(upstream.name()), UpstreamEntry { upstream, sender: OnceLock::new() })
        });
        Self {
            upstreams: places.collect(),
            egress: Arc::clone(egress),
            ownership,
            gate,
            prices: config.prices.clone(),
            upkeep: config.upkeep,
            fingerprints: Fingerprints::default(),
            budget: Arc::default(),
            order: Arc::default(),
            recorders: recorders(),
            quiet: QuietWait::default(),
            joiner: Mutex::default(),
            publish_locks: PublishLocks::default(),
            waiting: Waiting::default(),
            sockets: ProxySockets::default(),
            open_runs: OpenRunsFile::new(config.log.file(FILE)),
        }
    }

    /// The upstreams, ordered by name.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        self.upstreams.values().map(|place| &place.upstream)
    }

    /// The upstream `name` and its sender, which is made for the first call. Fails with `unknown_upstream`
    /// and the names that there are, or with `internal` if TLS cannot be set up.
    pub(super) fn find(&self, name: &str) -> Result<(&Upstream, &Sender<RequestBody>), Problem> {
        let Some(place) = self.upstreams.get(name) else {
            let known = self.upstreams.keys().map(CompactString::as_str).collect::<Vec<_>>().join(", ");
            let detail = format!(
                "no upstream is named {name:?}; there are {known}; others are named with --upstream NAME=URL"
            );
            return Err(Problem::new(ErrorCode::UnknownUpstream, detail));
        };
        let sender = place.sender.get_or_init(|| self.egress.sender(&place.upstream));
        match sender {
            Ok(sender) => Ok((&place.upstream, sender)),
            Err(error) => {
                tracing::error!(upstream = name, %error, "this upstream cannot be reached");
                let detail = format!("TLS for the upstream {name} cannot be set up");
                Err(Problem::new(ErrorCode::Internal, detail))
            }
        }
    }

    /// How many bytes of calls wait to be recorded.
    pub(crate) fn held(&self) -> u64 {
        self.budget.held() as u64
    }

    /// The number of calls that are being recorded.
    pub(crate) fn recording(&self) -> u64 {
        self.order.running() as u64
    }
}
