//! What a hub knows of the others that share its log: how they are reached and proven, the links and ways to them, who has what. Tasks and
//! requests that use it are in `peers` and `http/hubs`.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use access::Secret;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use model::frame::Pub;
use model::limits::CONVERSATIONS_MAX;
use model::weigh::weigh;
use model::{ConversationId, Envelope, Position};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use upstream::Sender;

mod config;
mod moves;
mod replies;

pub use config::{PeersConfig, PeersError};
pub(crate) use moves::{Moves, Moving, OpenRequest};
pub(crate) use replies::{PublisherLine, Reply};

/// What a hub says in `welcome` to one that it knows as another hub.
pub(crate) const FEATURE: &str = "hub";

/// Most requests that wait for one link.
pub(crate) const LINK_REQUESTS_MAX: usize = 4_096;

/// For how long it is taken for granted who has a conversation. A frame that goes to the wrong hub comes back as refused.
const OWNER_KNOWN: Duration = Duration::from_secs(1);

/// How many names stand for the callers of one kind: so many hubs can each serve a part of them.
const STAND_INS: u64 = 64;

/// How the names begin that stand for callers.
const STAND_IN: &str = "fanlight for ";

/// Most publications that wait to be carried to other hubs. What comes beyond them is lost, and said to be.
const CARRIED_MAX: usize = 16_384;

/// Most bytes of memory of the events that wait to be carried; beyond, the same.
const CARRIED_BYTES_MAX: usize = 64 << 20;

/// The kinds of callers that stand-ins are for.
const STAND_IN_KINDS: [&str; 3] = ["callers", "calls", "spans"];

/// A conversation that only stands for callers who name none: the hub that has it serves them, so that it knows all that they
/// were told. Nothing is ever said in it. `print` distinguishes callers; those of one kind share [`STAND_INS`] names.
pub(crate) fn stand_in(kind: &str, print: u64) -> ConversationId {
    let name = format!("{STAND_IN}{kind} {}", print % STAND_INS);
    ConversationId::parse(&name).expect("a short name of plain letters")
}

/// Whether a conversation only stands for callers.
pub(crate) fn is_stand_in(conversation: &ConversationId) -> bool {
    let Some((kind, number)) =
        conversation.as_str().strip_prefix(STAND_IN).and_then(|rest| rest.split_once(' '))
    else {
        return false;
    };
    STAND_IN_KINDS.contains(&kind)
        && number.parse::<u64>().is_ok_and(|known| known < STAND_INS && known.to_string() == number)
}

/// Events for a conversation of another hub.
#[derive(Debug)]
pub(crate) struct EventsForOwner {
    /// The id of the conversation.
    pub(crate) conversation: ConversationId,
    /// The events, in order.
    pub(crate) events: Vec<Envelope>,
    /// The memory that they take, in bytes.
    pub(crate) bytes: usize,
}

/// The body of a request that is passed on.
pub(crate) type PassedBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// What a link is asked for.
pub(crate) enum LinkRequest {
    /// To follow a conversation, for a viewer at the position if there is one. The answer comes when it is in memory, with the events after
    /// that position if its owner gives them.
    Follow(ConversationId, Option<Position>, oneshot::Sender<Result<(), String>>),
    /// To publish; the answer goes to whoever the reply names.
    Publish(Box<Pub>, Reply),
}

/// The other hubs of the log. One for each hub, if it shares its log; owned by `Shared`. It holds senders
/// alone: links are tasks of the hub.
#[derive(Debug)]
pub(crate) struct Peers {
    /// What hubs show one another.
    pub(crate) token: Secret,
    /// The links that are open, by address.
    pub(crate) links: Mutex<HashMap<Arc<str>, mpsc::Sender<LinkRequest>>>,
    /// The ways on which requests are passed on, by address.
    pub(crate) senders: Mutex<HashMap<Arc<str>, Sender<PassedBody>>>,
    /// Who had which conversation when it was last looked up.
    owners: Mutex<HashMap<ConversationId, (Arc<str>, Instant)>>,
    /// The stand-ins of callers that this hub has, which it keeps as long as it runs.
    stand_ins: Mutex<HashSet<ConversationId>>,
    /// Events on their way to other hubs; `None` once nothing more is taken.
    pub(crate) carried: Mutex<Option<mpsc::Sender<EventsForOwner>>>,
    /// Their other end, until the task has it that carries them.
    pub(crate) to_carry: Mutex<Option<mpsc::Receiver<EventsForOwner>>>,
    /// What is on its way.
    under_way: Mutex<UnderWay>,
}

/// What is on its way to other hubs.
#[derive(Debug, Default)]
struct UnderWay {
    /// The number of publications of each conversation.
    counts: HashMap<ConversationId, usize>,
    /// The memory of all of them, in bytes.
    bytes: usize,
}

impl std::fmt::Debug for LinkRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, of) = match self {
            Self::Follow(conversation, ..) => ("Follow", conversation),
            Self::Publish(publication, _) => ("Publish", &publication.conv),
        };
        f.debug_tuple(what).field(of).finish_non_exhaustive()
    }
}

impl Peers {
    /// The other hubs, as `config` says how to speak with them. Connects to nobody yet.
    pub(crate) fn new(config: &PeersConfig) -> Self {
        let (carried, to_carry) = mpsc::channel(CARRIED_MAX);
        Self {
            token: config.token().clone(),
            links: Mutex::default(),
            senders: Mutex::default(),
            owners: Mutex::default(),
            stand_ins: Mutex::default(),
            carried: Mutex::new(Some(carried)),
            to_carry: Mutex::new(Some(to_carry)),
            under_way: Mutex::default(),
        }
    }

    /// Whether this hub is known to have a stand-in. It keeps it until its life ends.
    pub(crate) fn has_stand_in(&self, conversation: &ConversationId) -> bool {
        self.stand_ins.lock().contains(conversation)
    }

    /// Notes that this hub has a conversation, which matters if it is a stand-in.
    pub(crate) fn note_here(&self, conversation: &ConversationId) {
        if is_stand_in(conversation) {
            self.stand_ins.lock().insert(conversation.clone());
        }
    }

    /// Whether events for `conversation` are on their way to another hub, so that later ones must come behind them.
    pub(crate) fn is_under_way(&self, conversation: &ConversationId) -> bool {
        self.under_way.lock().counts.contains_key(conversation)
    }

    /// Sends events on their way. False if too many wait already, or nothing more is taken.
    pub(crate) fn carry(&self, conversation: &ConversationId, events: Vec<Envelope>) -> bool {
        let carried = self.carried.lock();
        let Some(carried) = carried.as_ref() else { return false };
        let mut under_way = self.under_way.lock();
        let bytes = events.iter().map(weigh).sum::<usize>();
        let publication = EventsForOwner { conversation: conversation.clone(), events, bytes };
        if under_way.bytes + bytes > CARRIED_BYTES_MAX || carried.try_send(publication).is_err() {
            return false;
        }
        under_way.bytes += bytes;
        *under_way.counts.entry(conversation.clone()).or_default() += 1;
        true
    }

    /// Notes that `count` publications of `conversation`, which take `bytes` bytes of memory, have arrived, or are lost.
    pub(crate) fn arrived(&self, conversation: &ConversationId, count: usize, bytes: usize) {
        let mut under_way = self.under_way.lock();
        under_way.bytes = under_way.bytes.saturating_sub(bytes);
        if let Some(left) = under_way.counts.get_mut(conversation) {
            *left = left.saturating_sub(count);
            if *left == 0 {
                under_way.counts.remove(conversation);
            }
        }
    }

    /// The owner of `conversation` as it was found a moment ago, if it was.
    pub(crate) fn known_owner(&self, conversation: &ConversationId) -> Option<Arc<str>> {
        let owners = self.owners.lock();
        let (address, at) = owners.get(conversation)?;
        (at.elapsed() < OWNER_KNOWN).then(|| Arc::clone(address))
    }

    /// Notes the owner of `conversation`.
    pub(crate) fn note_owner(&self, conversation: &ConversationId, address: &Arc<str>) {
        let mut owners = self.owners.lock();
        if owners.len() >= CONVERSATIONS_MAX {
            owners.clear();
        }
        owners.insert(conversation.clone(), (Arc::clone(address), Instant::now()));
    }

    /// Forgets what the hub at `address` had.
    pub(crate) fn forget_owner(&self, address: &str) {
        self.owners.lock().retain(|_, (known, _)| &**known != address);
    }

    /// Forgets who has `conversation`.
    pub(crate) fn forget(&self, conversation: &ConversationId) {
        self.owners.lock().remove(conversation);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::ConversationId;

    use super::{STAND_INS, is_stand_in, stand_in};

    #[test]
    fn callers_share_few_names() {
        let names = (0..1_000).map(|print| stand_in("calls", print)).collect::<BTreeSet<_>>();
        assert_eq!(names.len() as u64, STAND_INS);
    }

    #[test]
    fn only_the_names_that_hubs_make_stand_for_callers() {
        for kind in super::STAND_IN_KINDS {
            assert!(is_stand_in(&stand_in(kind, 77)), "{kind}");
        }
        for name in [
            "fanlight for callers 64",
            "fanlight for callers 07",
            "fanlight for guests 1",
            "fanlight for me",
            "c",
        ] {
            assert!(!is_stand_in(&ConversationId::parse(name).unwrap()), "{name}");
        }
    }
}
