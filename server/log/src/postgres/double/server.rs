//! The primary and its standby, and what can go wrong with them.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::ConversationId;
use parking_lot::{Mutex, MutexGuard};

use super::tables::{ModelLife, ModelTables};
use crate::ownership::{OwnershipDecision, Purpose, decide_ownership};
use crate::postgres::claims::ClaimResult;
use crate::postgres::guarantee::CommitGuarantee;
use crate::postgres::life::{self, WHOLE_LIFE};
use crate::postgres::plan::Plan;
use crate::{LogError, ownership::LeaseRenewal};

/// A rule that a model leaves out, to see that the simulation finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelFlaw {
    /// Commits do not ask whether the life goes on and has what it changes.
    NoFence,
    /// Whoever takes a conversation over does not learn how far its publishers have come.
    MarksStay,
}

/// A primary and a standby in memory, with the rows and transactions of the log in PostgreSQL. Shared by the logs of all hubs and by whoever
/// makes things go wrong. Nothing happens by itself: its clock stands until [`ModelDatabase::pass`].
#[derive(Debug)]
pub struct ModelDatabase {
    server: Mutex<ModelServer>,
}

/// What is behind the lock.
#[derive(Debug)]
pub(super) struct ModelServer {
    /// The time of the primary, in milliseconds.
    pub(super) now: u64,
    /// What the primary has.
    pub(super) tables: ModelTables,
    /// What the standby has, as long as that is less.
    behind: Option<ModelTables>,
    /// Whether commits wait for the standby.
    waits: bool,
    /// Whether the primary's disk is full.
    is_full: bool,
    /// Whether nobody is answered.
    is_away: bool,
    /// The rule that is left out.
    pub(super) flaw: Option<ModelFlaw>,
    /// The last number of a life or conversation. It never goes back: a server notes 32 numbers ahead.
    numbers: i64,
    /// Conversations of which a promotion has lost events.
    lost: BTreeSet<ConversationId>,
    /// The number of promotions that have lost something.
    losses: u64,
    /// How many promotions there were: each ends all connections.
    pub(super) promotions: u64,
    /// What happened and must never happen.
    broken: Vec<String>,
}

/// Why a transaction was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelRefusal {
    /// The fence let nothing through.
    Fenced,
    /// The life does not have what it changes.
    NotOwned,
    /// The statement with this name found other rows than it expected.
    Stale(&'static str),
    /// There is no room.
    Full,
}

impl ModelDatabase {
    /// An empty primary, whose commits wait for a standby that has everything. `flaw` is left out.
    pub fn new(flaw: Option<ModelFlaw>) -> Arc<Self> {
        let mut tables = ModelTables { timeline: 1, ..ModelTables::default() };
        tables.lives.insert(WHOLE_LIFE, ModelLife::whole());
        let server = ModelServer {
            now: 1_000_000,
            tables,
            behind: None,
            waits: true,
            is_full: false,
            is_away: false,
            flaw,
            numbers: 0,
            lost: BTreeSet::new(),
            losses: 0,
            promotions: 0,
            broken: Vec::new(),
        };
        Arc::new(Self { server: Mutex::new(server) })
    }

    /// Time passes, in milliseconds.
    pub fn pass(&self, ms: u64) {
        self.lock().now += ms;
    }

    /// Nobody is answered from now on.
    pub fn go_away(&self) {
        self.lock().is_away = true;
    }

    /// The primary's disk is full from now on.
    pub fn fill(&self) {
        self.lock().is_full = true;
    }

    /// Everybody is answered again, and the disk has room.
    pub fn recover(&self) {
        let mut server = self.lock();
        (server.is_away, server.is_full) = (false, false);
    }

    /// By the settings, commits wait for the standby from now on.
    pub fn wait_for_standby(&self) {
        self.lock().waits = true;
    }

    /// By the settings, no commit waits for the standby from now on.
    pub fn leave_standby_behind(&self) {
        self.lock().waits = false;
    }

    /// The standby gets nothing more.
    pub fn detach_standby(&self) {
        let mut server = self.lock();
        let tables = server.tables.clone();
        server.behind.get_or_insert(tables);
    }

    /// The standby has everything again.
    pub fn attach_standby(&self) {
        self.lock().behind = None;
    }

    /// The standby becomes the primary, with what it has, and gets a standby of its own. `later` is by how many milliseconds its clock goes
    /// ahead of the old one's. Returns the conversations of which events are lost.
    pub fn promote(&self, later: u64) -> BTreeSet<ConversationId> {
        let mut server = self.lock();
        server.now += later;
        server.promotions += 1;
        (server.is_full, server.is_away) = (false, false);
        let timeline = server.tables.timeline + 1;
        server.tables.timeline = timeline;
        let Some(tables) = server.behind.take() else { return BTreeSet::new() };
        let tables = ModelTables { timeline, ..tables };
        server.losses += 1;
        let before = std::mem::replace(&mut server.tables, tables);
        let heads = before.conversations.iter().map(|(id, found)| (id, found.head));
        let kept = |id: &ConversationId| server.tables.conversations.get(id).map_or(0, |found| found.head);
        let lost: BTreeSet<_> =
            heads.filter(|(id, head)| kept(id) < *head).map(|(id, _)| id.clone()).collect();
        server.lost.extend(lost.iter().cloned());
        lost
    }

    /// Whether a promotion has ever lost events of a conversation.
    pub fn has_lost(&self, id: &ConversationId) -> bool {
        self.lock().lost.contains(id)
    }

    /// How many promotions there were of a standby that lacked something.
    pub fn losses(&self) -> u64 {
        self.lock().losses
    }

    /// What happened and must never happen.
    pub fn broken(&self) -> Vec<String> {
        self.lock().broken.clone()
    }

    /// The server behind the lock, whether or not it answers.
    pub(super) fn lock(&self) -> MutexGuard<'_, ModelServer> {
        self.server.lock()
    }
}

impl ModelServer {
    /// Whether it answers a read.
    pub(super) fn answers(&self) -> bool {
        !self.is_away
    }

    /// Whether a commit is answered: not while it waits for a standby that does not come.
    pub(super) fn answers_commits(&self) -> bool {
        self.answers() && !(self.waits && self.behind.is_some())
    }

    /// What the settings say of a commit.
    pub(super) fn guarantee(&self) -> CommitGuarantee {
        CommitGuarantee::of_settings("on", "on", "on", if self.waits { "ANY 1 (*)" } else { "" })
    }

    /// A number that was never given.
    pub(super) fn number(&mut self) -> i64 {
        self.numbers += 1;
        self.numbers
    }

    /// Begins a life, which ends those of the same address. Returns its number, and the last one before it that did not end well or after which a
    /// standby was promoted.
    pub(super) fn begin(&mut self, address: &str, lease_ms: u64) -> (i64, i64) {
        let (number, now) = (self.number(), self.now);
        for life in self.tables.lives.values_mut().filter(|life| *life.address == *address) {
            life.is_over = true;
        }
        let timeline = Some(self.tables.timeline);
        let is_unsound = |life: &ModelLife| !life.ended_well || life.left_on != timeline;
        let unsound = self.tables.lives.iter().filter(|(_, life)| is_unsound(life)).map(|(of, _)| *of);
        let last_unsound = unsound.max().unwrap_or(0);
        let life = ModelLife { expires_at: now + lease_ms, ..ModelLife::begun(address, now) };
        self.tables.lives.insert(number, life);
        (number, last_unsound)
    }

    /// Renews a lease. Returns the commits of the life; nothing if it is over.
    pub(super) fn renew(&mut self, life: i64, lease_ms: u64) -> (LeaseRenewal, i64) {
        let now = self.now;
        match self.tables.lives.get_mut(&life).filter(|life| !life.is_over) {
            Some(row) => {
                row.renew(now, lease_ms);
                (LeaseRenewal::Lives, row.commits)
            }
            None => (LeaseRenewal::StepsDown, 0),
        }
    }

    /// A claim, as one transaction.
    pub(super) fn claim(
        &mut self,
        (me, lease_ms): (i64, u64),
        id: &ConversationId,
        purpose: Purpose,
    ) -> Result<ClaimResult, LogError> {
        let over = || LogError::Failing(Arc::from(life::OVER));
        let makes = purpose == Purpose::Make;
        let Some(owner) = self.tables.owner((me, lease_ms), self.now, id) else {
            if !self.tables.lives_on(me) {
                return if makes { Err(over()) } else { Ok(ClaimResult::Unowned) };
            }
            if !makes && !self.tables.conversations.contains_key(id) {
                return Ok(ClaimResult::Unowned);
            }
            self.tables.take(id, me);
            return Ok(ClaimResult::First);
        };
        let (ends, past) = match decide_ownership(me, &owner) {
            OwnershipDecision::Held => return Ok(ClaimResult::Held),
            OwnershipDecision::Follow(address) => return Ok(ClaimResult::Elsewhere(address)),
            OwnershipDecision::Closed => {
                return Err(LogError::Failing(Arc::from("a hub without an address has it")));
            }
            OwnershipDecision::Take { ends, past } => (ends, past),
        };
        if !self.tables.lives_on(me) {
            return Err(over());
        }
        if let Some(life) = ends.and_then(|ends| self.tables.lives.get_mut(&ends)) {
            life.is_over = true;
        }
        self.tables.take(id, me);
        Ok(ClaimResult::Taken(past))
    }

    /// A transaction of a writer: the fence, and the statements of its plan.
    pub(super) fn commit(
        &mut self,
        (life, number): (i64, i64),
        lease_ms: u64,
        plan: &Plan,
    ) -> Result<(), ModelRefusal> {
        if self.is_full {
            return Err(ModelRefusal::Full);
        }
        let is_fenced = self.flaw != Some(ModelFlaw::NoFence);
        let now = self.now;
        let lets_through =
            self.tables.lives.get(&life).is_some_and(|row| !row.is_over && row.commits == number - 1);
        if is_fenced && !lets_through {
            return Err(ModelRefusal::Fenced);
        }
        if let Some(id) = self.tables.not_owned(plan, life) {
            if is_fenced {
                return Err(ModelRefusal::NotOwned);
            }
            self.broken.push(format!("life {life} writes to {id}, which another one has"));
        }
        if let Some(statement) = self.tables.misfit(plan) {
            return Err(ModelRefusal::Stale(statement));
        }
        if let Some(row) = self.tables.lives.get_mut(&life) {
            row.commits = number;
            row.renew(now, lease_ms);
        }
        self.tables.apply(plan);
        Ok(())
    }
}
