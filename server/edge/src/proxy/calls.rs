//! What all calls through the proxy share.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;

use compact_str::CompactString;
use exchange::CallJoiner;
use hub::Count;
use model::code::ErrorCode;
use parking_lot::Mutex;
use upstream::{Egress, Sender, TlsError, Upstream};

use super::copied::Asking;
use super::headers::Fingerprints;
use super::order::{Floors, Order, Waiting};
use super::quiet::QuietWait;
use super::seats::Sockets;
use super::tape::Budget;
use crate::http::problem::Problem;
use crate::rank::{Rank, Threads};

/// Requests of this process that were passed on.
pub(crate) static PROXIED: Count = Count::new();

/// Recordings of them that have a hole.
pub(crate) static COPIES_LOST: Count = Count::new();

/// What all calls share.
#[derive(Debug)]
pub(crate) struct Proxy {
    upstreams: BTreeMap<CompactString, UpstreamEntry>,
    egress: Arc<Egress>,
    pub(super) fingerprints: Fingerprints,
    pub(super) budget: Arc<Budget>,
    pub(super) order: Arc<Order>,
    pub(super) recorders: Threads,
    pub(super) lull: QuietWait,
    pub(super) joiner: Mutex<CallJoiner>,
    pub(super) floors: Floors,
    pub(super) waiting: Waiting,
    pub(super) sockets: Sockets,
}

/// Recordings that wait for the disk at the same time before others wait for them.
const RECORDINGS_BLOCKED_MAX: usize = 16;

/// The threads that record calls. What is read, joined and written of one call never keeps another one waiting for a core
/// (I12). Half as many as there are cores: beside each call that is recorded there are its caller and its upstream.
fn recorders() -> Threads {
    let threads = available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
    Threads::new("recorder", Rank::Recording, threads, RECORDINGS_BLOCKED_MAX)
}

/// An upstream, and what calls it once somebody does.
#[derive(Debug)]
struct UpstreamEntry {
    upstream: Upstream,
    sender: OnceLock<Result<Sender<Asking>, TlsError>>,
}

impl Proxy {
    /// To the upstreams that are known and those that are `named`, by way of `egress`.
    pub(crate) fn new(named: &[Upstream], egress: &Arc<Egress>) -> Self {
        let places = Upstream::all(named).into_iter();
        let places = places.map(|upstream| {
            (CompactString::new(upstream.name()), UpstreamEntry { upstream, sender: OnceLock::new() })
        });
        Self {
            upstreams: places.collect(),
            egress: Arc::clone(egress),
            fingerprints: Fingerprints::default(),
            budget: Arc::default(),
            order: Arc::default(),
            recorders: recorders(),
            lull: QuietWait::default(),
            joiner: Mutex::default(),
            floors: Floors::default(),
            waiting: Waiting::default(),
            sockets: Sockets::default(),
        }
    }

    /// Where calls may go, by name.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        self.upstreams.values().map(|place| &place.upstream)
    }

    /// The upstream `name`, and what calls it.
    pub(super) fn find(&self, name: &str) -> Result<(&Upstream, &Sender<Asking>), Problem> {
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
                tracing::error!(upstream = name, %error, "no way to this upstream");
                let detail = format!("TLS for the upstream {name} cannot be set up");
                Err(Problem::new(ErrorCode::Internal, detail))
            }
        }
    }

    /// Bytes of calls that wait to be recorded.
    pub(crate) fn held(&self) -> u64 {
        self.budget.held() as u64
    }

    /// Calls that are being recorded.
    pub(crate) fn recording(&self) -> u64 {
        self.order.running() as u64
    }
}
