//! Which conversations an overloaded hub gives to which other: decided from figures alone, without a clock and without asking anybody.
//!
//! A hub is *full* to the share of its room that it uses: over 1,000 ‰ it is overloaded. One that takes must be clearly below, also with what it gets, so
//! that no conversation comes back for the reason for which it went. What a conversation makes a hub do is taken to be its share of all events there, which is at
//! most what it is: a hub has more to do than events.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use model::ConversationId;
use serde::{Deserialize, Serialize};

/// Most conversations that a hub gives away within a minute.
pub(super) const MOVES_PER_MINUTE_MAX: usize = 30;

/// Most that it gives away at one look.
const MOVES_AT_ONCE_MAX: usize = 2;

/// A hub that so many conversations were moved to within a minute gets no more: several may be overloaded, and each chooses for itself.
pub(super) const ARRIVALS_PER_MINUTE_MAX: u64 = 30;

/// How long a conversation stays where it was moved to, and is not moved again where it was given away.
pub(super) const QUIET_MS: u64 = 10 * MINUTE_MS;

/// How long one that could not be moved is left alone.
pub(super) const RETRY_MS: u64 = MINUTE_MS;

/// How full a hub may be at most, in thousandths, with what it gets.
pub(super) const TARGET_PERMILLE_MAX: u64 = 750;

/// Conversations with fewer events are not worth it: one each second.
pub(super) const EVENTS_PER_MINUTE_MIN: u64 = 60;

/// Most conversations that are remembered to have moved. While there are so many nothing more moves by itself.
const REMEMBERED_MAX: usize = 16_384;

const MINUTE_MS: u64 = 60_000;

/// What a hub tells of its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HubLoad {
    /// What it uses, in thousandths of a core, on average over ten seconds.
    pub(crate) used_millicores: u64,
    /// What it may use before it is overloaded. 0 for a hub that takes no part.
    pub(crate) room_millicores: u64,
    /// How many conversations were moved to it within the last minute.
    pub(crate) arrivals: u64,
}

impl HubLoad {
    /// The load in thousandths of its room.
    pub(crate) fn permille(self) -> u64 {
        self.used_millicores.saturating_mul(1_000).checked_div(self.room_millicores).unwrap_or(u64::MAX)
    }

    /// Whether it uses more than it may.
    pub(crate) fn is_overloaded(self) -> bool {
        self.room_millicores > 0 && self.permille() > 1_000
    }

    /// The load with `millicores` more.
    fn with(self, millicores: u64) -> Self {
        Self { used_millicores: self.used_millicores.saturating_add(millicores), ..self }
    }

    /// Whether it may get something that uses `millicores`.
    fn has_room_for(self, millicores: u64) -> bool {
        self.arrivals < ARRIVALS_PER_MINUTE_MAX && self.with(millicores).permille() <= TARGET_PERMILLE_MAX
    }
}

/// A conversation of the hub that decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) conversation: ConversationId,
    /// How many events it had, for a minute.
    pub(crate) events_per_minute: u64,
    /// Whether it may move at all.
    pub(crate) mobility: Mobility,
}

/// Whether a conversation may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mobility {
    /// The conversation may move.
    Free,
    /// The conversation stays, for reasons of its own.
    Bound,
}

/// A move of one conversation to another hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MovePlan {
    pub(crate) conversation: ConversationId,
    /// The URL of the hub that is to have it.
    pub(crate) to: Arc<str>,
}

/// What moved to and from this hub, as far as it matters for what moves next. Times are milliseconds of one clock.
#[derive(Debug, Default)]
pub(super) struct Recollection {
    /// Until when each conversation stays where it is.
    stays_until: HashMap<ConversationId, u64>,
    /// When conversations were given away within the last minute.
    gave_at: VecDeque<u64>,
    /// When conversations were moved here, up to as many as keep further ones away.
    arrived_at: VecDeque<u64>,
}

impl Recollection {
    /// Notes that a conversation is given away.
    pub(super) fn gave(&mut self, conversation: &ConversationId, now: u64) {
        self.gave_at.push_back(now);
        self.keep(conversation, now + QUIET_MS);
    }

    /// Notes that one that was to go has stayed.
    pub(super) fn stayed(&mut self, conversation: &ConversationId, now: u64) {
        self.keep(conversation, now + RETRY_MS);
    }

    /// Notes that one was moved here.
    pub(super) fn arrived(&mut self, conversation: &ConversationId, now: u64) {
        self.arrived_at.push_back(now);
        if self.arrived_at.len() as u64 > ARRIVALS_PER_MINUTE_MAX {
            self.arrived_at.pop_front();
        }
        self.keep(conversation, now + QUIET_MS);
    }

    fn keep(&mut self, conversation: &ConversationId, until: u64) {
        if self.stays_until.len() < REMEMBERED_MAX || self.stays_until.contains_key(conversation) {
            self.stays_until.insert(conversation.clone(), until);
        }
    }

    /// How many were moved here within the last minute, as far as they are counted.
    pub(super) fn arrivals(&self, now: u64) -> u64 {
        self.arrived_at.iter().filter(|at| now < **at + MINUTE_MS).count() as u64
    }

    /// Forgets what does not matter any more.
    pub(super) fn forget_old(&mut self, now: u64) {
        self.stays_until.retain(|_, until| now < *until);
        self.gave_at.retain(|at| now < *at + MINUTE_MS);
        self.arrived_at.retain(|at| now < *at + MINUTE_MS);
    }

    /// The number of conversations that may go at once.
    fn budget(&self, now: u64) -> usize {
        if self.stays_until.len() >= REMEMBERED_MAX {
            return 0;
        }
        let gave = self.gave_at.iter().filter(|at| now < **at + MINUTE_MS).count();
        MOVES_PER_MINUTE_MAX.saturating_sub(gave).min(MOVES_AT_ONCE_MAX)
    }

    /// Whether a conversation stays where it is for now.
    fn stays(&self, conversation: &ConversationId, now: u64) -> bool {
        self.stays_until.get(conversation).is_some_and(|until| now < *until)
    }
}

/// What a hub with the load `own` gives to the `others`, the busiest of its conversations first, each to the hub that is the least full. Nothing
/// unless it is overloaded; no more than brings it back to what it may use.
pub(super) fn plan(
    now: u64,
    mut own: HubLoad,
    mut others: Vec<(Arc<str>, HubLoad)>,
    mut candidates: Vec<Candidate>,
    moves: &Recollection,
) -> Vec<MovePlan> {
    let all_events = candidates.iter().map(|it| it.events_per_minute).sum::<u64>();
    let used = own.used_millicores;
    candidates.sort_by(|a, b| {
        b.events_per_minute.cmp(&a.events_per_minute).then_with(|| a.conversation.cmp(&b.conversation))
    });
    let budget = moves.budget(now);
    let mut planned = Vec::new();
    for Candidate { conversation, events_per_minute, mobility } in candidates {
        if planned.len() >= budget || !own.is_overloaded() || events_per_minute < EVENTS_PER_MINUTE_MIN {
            break;
        }
        if mobility == Mobility::Bound || moves.stays(&conversation, now) {
            continue;
        }
        let millicores = share(used, events_per_minute, all_events);
        // Hubs differ in size: what is too much for the least full one may fit another, and what is too much for all of them may be followed by
        // something smaller.
        let takes = others.iter_mut().filter(|(_, load)| load.has_room_for(millicores));
        let Some((to, load)) = takes.min_by_key(|(address, load)| (load.permille(), Arc::clone(address)))
        else {
            continue;
        };
        *load = load.with(millicores);
        load.arrivals += 1;
        own.used_millicores = own.used_millicores.saturating_sub(millicores);
        planned.push(MovePlan { conversation, to: Arc::clone(to) });
    }
    planned
}

/// The part of `used` that falls to `some` of `all` events; rounded up, so that nothing seems to cost nothing.
fn share(used: u64, some: u64, all: u64) -> u64 {
    let part = (u128::from(used) * u128::from(some)).div_ceil(u128::from(all.max(1)));
    u64::try_from(part).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
