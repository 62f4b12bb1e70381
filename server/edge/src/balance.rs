//! How much this hub has to do, and what it gives to others while that is too much: what it measures, what it remembers, and the rules.
//!
//! ```text
//! measure: the share of its CPU limit in use ─▶ above what it may use, for long enough? ── yes ─▶ others are asked for theirs
//!                       └─▶ GET /v1/load                                   plan: which conversations go where ◀─┘
//! ```
//!
//! The shell around it is `http/hubs/balancing`. Times are milliseconds of one clock of this hub that only rises; no clock of another
//! hub is looked at ([decision 0130](../../../docs/decisions/0130-conversations-leave-an-overloaded-hub.md)).

use std::time::{Duration, Instant};

use hub::Counter;
use model::ConversationId;
use parking_lot::Mutex;

mod measure;
mod plan;

use measure::CpuMeter;
pub(crate) use plan::{Candidate, HubLoad, Mobility, MovePlan};
use plan::{Recollection, plan};

/// The time between two looks at the load.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(2);

/// When a hub is overloaded, and whether it takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overload {
    /// Above which share of its CPU limit it is, in percent; 0 for a hub that gives nothing and takes nothing.
    pub percent: u8,
    /// For how long it must be above without a pause until it gives conversations away.
    pub after: Duration,
}

impl Default for Overload {
    fn default() -> Self {
        Self { percent: 85, after: Duration::from_secs(30) }
    }
}

/// The load of this hub and what it gave and got. One for each hub, owned by its state.
#[derive(Debug)]
pub(crate) struct Balance {
    rules: Overload,
    /// The moment from which times are counted.
    began: Instant,
    state: Mutex<BalanceState>,
    /// Conversations that were given away because this hub was overloaded.
    pub(crate) given: Counter,
    /// Conversations that stayed although they were to be given away.
    pub(crate) stayed: Counter,
    /// Conversations that another hub has moved here.
    pub(crate) arrived: Counter,
}

/// What changes with each look.
#[derive(Debug)]
struct BalanceState {
    meter: CpuMeter,
    /// The load at the last look.
    load: HubLoad,
    /// Since when it is above what the hub may use.
    above_since_ms: Option<u64>,
    moves: Recollection,
}

impl Balance {
    /// Begins to measure the load.
    pub(crate) fn new(rules: Overload) -> Self {
        let meter = CpuMeter::new();
        let load = HubLoad { used_millicores: 0, room_millicores: room(&meter, rules), arrivals: 0 };
        let state = BalanceState { meter, load, above_since_ms: None, moves: Recollection::default() };
        let (given, stayed, arrived) = <_>::default();
        Self { rules, began: Instant::now(), state: Mutex::new(state), given, stayed, arrived }
    }

    /// The time since the beginning.
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Measures. Call it each [`LOOK_EVERY`].
    pub(crate) fn look(&self) {
        let now = self.now_ms();
        let mut state = self.state.lock();
        let used_millicores = state.meter.used_millicores(Instant::now());
        state.load.used_millicores = used_millicores;
        state.load.room_millicores = room(&state.meter, self.rules);
        state.above_since_ms = state.load.is_overloaded().then(|| state.above_since_ms.unwrap_or(now));
        state.moves.forget_old(now);
    }

    /// The load at the last look.
    pub(crate) fn load(&self) -> HubLoad {
        let now = self.now_ms();
        let state = self.state.lock();
        HubLoad { arrivals: state.moves.arrivals(now), ..state.load }
    }

    /// Whether this hub is overloaded, and has been for so long that it is to give conversations away.
    pub(crate) fn is_to_give(&self) -> bool {
        let now = self.now_ms();
        let since = self.state.lock().above_since_ms;
        self.rules.percent > 0 && since.is_some_and(|since| now - since >= millis(self.rules.after))
    }

    /// What is to move now, and where to.
    pub(crate) fn plan(
        &self,
        others: Vec<(std::sync::Arc<str>, HubLoad)>,
        own: Vec<Candidate>,
    ) -> Vec<MovePlan> {
        let load = self.load();
        plan(self.now_ms(), load, others, own, &self.state.lock().moves)
    }

    /// Notes that a conversation is about to be given away.
    pub(crate) fn note_given(&self, conversation: &ConversationId) {
        self.state.lock().moves.gave(conversation, self.now_ms());
    }

    /// Notes that a conversation that was to go has stayed.
    pub(crate) fn note_stayed(&self, conversation: &ConversationId) {
        self.stayed.one();
        self.state.lock().moves.stayed(conversation, self.now_ms());
    }

    /// Notes that another hub has moved a conversation here, for whatever reason.
    pub(crate) fn note_arrived(&self, conversation: &ConversationId) {
        self.arrived.one();
        self.state.lock().moves.arrived(conversation, self.now_ms());
    }
}

/// What a hub may use of its limit before it is overloaded, in thousandths of a core.
fn room(meter: &CpuMeter, rules: Overload) -> u64 {
    meter.limit_millicores() * u64::from(rules.percent) / 100
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
