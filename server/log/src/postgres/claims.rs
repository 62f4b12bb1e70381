//! Claims of conversations, where several hubs share the database: one transaction each, which [`crate::ownership`] decides.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::ConversationId;
use model::limits::CONVERSATIONS_MAX;
use parking_lot::Mutex;
use tokio_postgres::Row;

use super::database::{Database, Session};
use super::{life, read, unreadable};
use crate::LogError;
use crate::ownership::{Handover, LeavingEnd, LifeRow, Owner, OwnershipDecision, Purpose, decide_ownership};

/// Most conversations that a life remembers to have claimed.
const CLAIMED_MAX: usize = 4 * CONVERSATIONS_MAX;

/// How often a claim looks again when a life has said something between the look and the change.
const LOOKS: usize = 8;

/// The claims of one life of a hub, where several share the database: which conversations it has claimed and which it gives up, in
/// memory, so that a second claim need not ask the database.
#[derive(Debug)]
pub(super) struct Claims {
    life: i64,
    /// The lease of that life, in milliseconds.
    lease: i64,
    /// The last life before this one that did not end well, or after which a standby was promoted; 0 for none.
    last_unsound: i64,
    /// The conversations that this life knows to have claimed, each with what is known of its past until it is loaded.
    claimed: Mutex<HashMap<ConversationId, Option<Handover>>>,
    /// Conversations that this life gives up.
    given_up: Mutex<GivenUp>,
}

/// What a life gives up, and has given up and not claimed since.
#[derive(Debug, Default)]
struct GivenUp {
    /// What it is about to give up, each with the hub that is to have it.
    leaving: HashMap<ConversationId, Arc<str>>,
    /// What it has given up, at most [`CLAIMED_MAX`].
    gone: HashSet<ConversationId>,
}

impl Claims {
    /// For a life that has claimed nothing yet.
    pub(super) fn new(life: i64, lease: Duration, last_unsound: i64) -> Self {
        let (claimed, given_up) = <_>::default();
        Self { life, lease: life::millis(lease), last_unsound, claimed, given_up }
    }

    /// Whether something may have been shown of a conversation, which is about to be loaded, that is not stored.
    pub(super) fn is_torn(&self, conversation: &ConversationId) -> bool {
        let mut claimed = self.claimed.lock();
        claimed.get_mut(conversation).and_then(Option::take) == Some(Handover::Torn)
    }

    /// The number of the life.
    pub(super) fn life(&self) -> i64 {
        self.life
    }

    /// Begins to give a conversation up. Until [`Claims::left`] this life claims it no more, and says that the hub under that URL has it. False if
    /// it has given up too many in its time: then nothing has changed.
    pub(super) fn leaves(&self, conversation: &ConversationId, to: &Arc<str>) -> bool {
        let mut given_up = self.given_up.lock();
        let has_room = given_up.leaving.len() + given_up.gone.len() < CLAIMED_MAX;
        if has_room {
            given_up.leaving.insert(conversation.clone(), Arc::clone(to));
        }
        has_room
    }

    /// Ends what [`Claims::leaves`] began: claims are asked of the database again.
    pub(super) fn left(&self, conversation: &ConversationId, end: LeavingEnd) {
        let mut given_up = self.given_up.lock();
        if end == LeavingEnd::Gone {
            self.claimed.lock().remove(conversation);
            given_up.gone.insert(conversation.clone());
        }
        given_up.leaving.remove(conversation);
    }

    /// Whether this life does not give the conversation up, and has not given it up since it claimed it.
    pub(super) fn keeps(&self, conversation: &ConversationId) -> bool {
        let given_up = self.given_up.lock();
        !given_up.leaving.contains_key(conversation) && !given_up.gone.contains(conversation)
    }

    /// The names of the conversations that this life knows to have claimed. Each of these claims was committed before.
    pub(super) fn names(&self) -> Vec<ConversationId> {
        let given_up = self.given_up.lock();
        let claimed = self.claimed.lock();
        claimed.keys().filter(|id| !given_up.leaving.contains_key(*id)).cloned().collect()
    }

    /// Claims a conversation for this life. Waits for the database, in all for no longer than one read may take. Fails with
    /// [`LogError::Failing`] when this life is over, or when a hub that is alone on the database has the conversation. What a claim
    /// learns of the past is kept until the conversation is loaded.
    pub(super) fn claim(
        &self,
        tables: &impl ClaimTables,
        conversation: &ConversationId,
        purpose: Purpose,
    ) -> Result<Owner, LogError> {
        let leaves_to = self.given_up.lock().leaving.get(conversation).cloned();
        if let Some(to) = leaves_to {
            return Ok(Owner::Elsewhere(to));
        }
        let me = (self.life, self.lease);
        // Most claims are asked again and again of a conversation that another hub has: reading that locks
        // nothing and commits nothing.
        match tables.look(me, conversation)? {
            Some(OwnershipDecision::Follow(address)) => return Ok(Owner::Elsewhere(address)),
            Some(OwnershipDecision::Held) if self.claimed.lock().contains_key(conversation) => {
                return Ok(Owner::Here);
            }
            _ => {}
        }
        let past = match tables.claim(me, conversation, purpose)? {
            ClaimResult::Elsewhere(address) => return Ok(Owner::Elsewhere(address)),
            ClaimResult::Unowned => return Ok(Owner::Here),
            ClaimResult::Held if self.claimed.lock().contains_key(conversation) => return Ok(Owner::Here),
            // The answer to that claim was lost, and what it would have said.
            ClaimResult::Held => Handover::Torn,
            ClaimResult::Taken(past) => past,
            // Hubs that were alone on the database left no owners behind.
            ClaimResult::First => {
                let writer = tables.last_writer(conversation)?;
                let is_torn = writer.is_some_and(|life| life <= self.last_unsound);
                if is_torn { Handover::Torn } else { Handover::Whole }
            }
        };
        let mut claimed = self.claimed.lock();
        if claimed.len() >= CLAIMED_MAX {
            // Whoever claims one of them again is told of a new epoch, which is never wrong.
            claimed.clear();
        }
        claimed.insert(conversation.clone(), Some(past));
        drop(claimed);
        self.given_up.lock().gone.remove(conversation);
        Ok(Owner::Here)
    }
}

/// Where claims are made: the tables of a database. `me` is the life that claims, and its lease in milliseconds.
pub(super) trait ClaimTables {
    /// What becomes of a claim as of now; nothing if nobody has the conversation. Changes and locks nothing.
    fn look(&self, me: (i64, i64), id: &ConversationId) -> Result<Option<OwnershipDecision>, LogError>;

    /// Claims it, in one transaction.
    fn claim(&self, me: (i64, i64), id: &ConversationId, purpose: Purpose) -> Result<ClaimResult, LogError>;

    /// The life that wrote the conversation last; nothing if it was never written to.
    fn last_writer(&self, id: &ConversationId) -> Result<Option<i64>, LogError>;
}

/// The tables of a database, for one claim: all that it asks ends at the same moment.
pub(super) struct DatabaseTables<'a> {
    database: &'a Arc<Database>,
    deadline: Instant,
}

impl<'a> DatabaseTables<'a> {
    /// For a claim that begins now and waits for no longer than one read may take.
    pub(super) fn new(database: &'a Arc<Database>) -> Self {
        Self { database, deadline: database.deadline() }
    }
}

impl ClaimTables for DatabaseTables<'_> {
    fn look(&self, me: (i64, i64), id: &ConversationId) -> Result<Option<OwnershipDecision>, LogError> {
        let of = id.clone();
        self.database.read_until(self.deadline, move |session| {
            let of = of.clone();
            Box::pin(async move { decided_now(session, me, &of).await })
        })
    }

    fn claim(&self, me: (i64, i64), id: &ConversationId, purpose: Purpose) -> Result<ClaimResult, LogError> {
        let of = id.clone();
        self.database.change_until(self.deadline, move |session| {
            let of = of.clone();
            Box::pin(async move { claim(session, me, &of, purpose).await })
        })
    }

    fn last_writer(&self, id: &ConversationId) -> Result<Option<i64>, LogError> {
        let of = id.clone();
        let found = self.database.read_until(self.deadline, move |session| {
            let of = of.clone();
            Box::pin(async move { read::find(session, &of).await })
        })?;
        Ok(found.map(|found| found.life))
    }
}

/// Finds those of the names $1 that life $2 does not have.
const LOST: &str = "SELECT n FROM unnest($1::text[]) AS n \
                    WHERE NOT EXISTS (SELECT 1 FROM owner o WHERE o.conversation = n AND o.life = $2)";

/// One of the conversations that this life has claimed and that are not its own in the database; nothing if it has all of them. A standby that was
/// promoted may lack a claim that was answered.
pub(super) async fn lost(
    session: &mut Session,
    claims: &Claims,
) -> Result<Option<String>, tokio_postgres::Error> {
    let mut names = claims.names();
    let lost = session.prepared(LOST).await?;
    // Twice, since one may have been given up between the two.
    for _ in 0..2 {
        let asked: Vec<&str> = names.iter().map(ConversationId::as_str).collect();
        let rows = session.client.query(&lost, &[&asked, &claims.life]).await?;
        let missing = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
        names.retain(|id| missing.iter().any(|name| *name == id.as_str()) && claims.keeps(id));
    }
    Ok(names.first().map(ToString::to_string))
}

/// The hubs that live beside life $1.
const OTHERS: &str = "SELECT address FROM life WHERE number <> $1 AND NOT over AND expires_at > clock_timestamp() \
                      AND address IS NOT NULL ORDER BY number";

/// The URLs of the other hubs that live now.
pub(super) async fn others(session: &mut Session, life: i64) -> Result<Vec<Arc<str>>, LogError> {
    let others = prepared(session, OTHERS).await?;
    let rows = session.client.query(&others, &[&life]).await.map_err(unreadable)?;
    let addresses = rows.iter().map(|row| row.try_get::<_, &str>(0).map(Arc::from));
    addresses.collect::<Result<_, _>>().map_err(unreadable)
}

/// The outcome of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClaimResult {
    /// Nobody had it; this hub has it now.
    First,
    /// This hub had the conversation already.
    Held,
    /// Nobody has it, and it does not exist: there was nothing to claim. Any hub may answer that.
    Unowned,
    /// Another hub had it; this hub has it now.
    Taken(Handover),
    /// Another hub has it, which is reached under this URL.
    Elsewhere(Arc<str>),
}

/// Takes a conversation that nobody has. $3: also one that does not exist yet.
const TAKE_FREE: &str = "INSERT INTO owner (conversation, life) SELECT $1::text, l.number FROM life l WHERE l.number = $2 AND NOT l.over \
                         AND ($3 OR EXISTS (SELECT 1 FROM conversation WHERE id = $1::text)) ON CONFLICT (conversation) DO NOTHING";
/// The query for who has a conversation, with the timeline on which it was left and that of now, which is asked for only where it matters. Life 0 is
/// [`life::WHOLE_LIFE`]. A lease counts as run out where life $2 has renewed its own, of $3 milliseconds, in time
/// again and again for as long: when the database was away, all leases have run out and nobody is dead.
macro_rules! who {
    () => {
        "SELECT l.number, l.over, l.expires_at <= clock_timestamp() AND EXISTS (SELECT 1 FROM life me WHERE me.number = $2 \
         AND me.expires_at > clock_timestamp() + $3::bigint * interval '1 millisecond' / 3 \
         AND me.steady_since <= clock_timestamp() - $3::bigint * interval '1 millisecond'), l.ended_well, l.address, \
         CASE WHEN o.life = 0 THEN o.timeline ELSE l.timeline END, CASE WHEN l.ended_well THEN fanlight_timeline() END \
         FROM owner o JOIN life l ON l.number = o.life WHERE o.conversation = $1"
    };
}
/// Selects the owner of a conversation.
const WHO: &str = who!();
/// Selects the owner of a conversation, and locks its row, so that two claims come one after the other.
const LOOK: &str = concat!(who!(), " FOR UPDATE OF o");
/// Ends a life whose lease has run out, by the clock of the database.
const END: &str =
    "UPDATE life SET over = true WHERE number = $1 AND NOT over AND expires_at <= clock_timestamp()";
/// Makes this life the owner, unless this life is over. Raises the epoch of the ownership.
const TAKE: &str = "UPDATE owner o SET life = l.number, epoch = o.epoch + 1, claimed_at = clock_timestamp() FROM life l \
                    WHERE o.conversation = $1 AND l.number = $2 AND NOT l.over";

/// What becomes of a claim of life `me`, which has a lease of so many milliseconds, to `id`, as of now; nothing if nobody has it.
async fn decided_now(
    session: &mut Session,
    (me, lease): (i64, i64),
    id: &ConversationId,
) -> Result<Option<OwnershipDecision>, LogError> {
    let who = prepared(session, WHO).await?;
    let row = session.client.query_opt(&who, &[&id.as_str(), &me, &lease]).await.map_err(unreadable)?;
    let owner = row.as_ref().map(owner).transpose().map_err(unreadable)?;
    Ok(owner.map(|owner| decide_ownership(me, &owner)))
}

/// Claims `id` for life `me`, which has a lease of so many milliseconds, inside a transaction.
async fn claim(
    session: &mut Session,
    (me, lease): (i64, i64),
    id: &ConversationId,
    purpose: Purpose,
) -> Result<ClaimResult, LogError> {
    let (free, look) = (prepared(session, TAKE_FREE).await?, prepared(session, LOOK).await?);
    let (end, take) = (prepared(session, END).await?, prepared(session, TAKE).await?);
    let (client, name, makes) = (&session.client, id.as_str(), purpose == Purpose::Make);
    let mut saw_nobody = false;
    for _ in 0..LOOKS {
        if client.execute(&free, &[&name, &me, &makes]).await.map_err(unreadable)? == 1 {
            return Ok(ClaimResult::First);
        }
        let Some(row) = client.query_opt(&look, &[&name, &me, &lease]).await.map_err(unreadable)? else {
            // A claim that waits for the lock of another one sees the row of the owner as it is then, but the lives as they were before: where the
            // owner has changed, the two do not go together. Look once more.
            if !std::mem::replace(&mut saw_nobody, true) {
                continue;
            }
            // Nothing was inserted: either there is nothing to find, or this life is over.
            return if makes {
                Err(LogError::Failing(Arc::from(life::OVER)))
            } else {
                Ok(ClaimResult::Unowned)
            };
        };
        let (ends, past) = match decide_ownership(me, &owner(&row).map_err(unreadable)?) {
            OwnershipDecision::Held => return Ok(ClaimResult::Held),
            OwnershipDecision::Follow(address) => return Ok(ClaimResult::Elsewhere(address)),
            OwnershipDecision::Closed => {
                let what = "a hub without an address has this conversation";
                return Err(LogError::Failing(Arc::from(what)));
            }
            OwnershipDecision::Take { ends, past } => (ends, past),
        };
        if let Some(ends) = ends
            && client.execute(&end, &[&ends]).await.map_err(unreadable)? != 1
        {
            // It has said something since, or somebody else has ended it.
            continue;
        }
        if client.execute(&take, &[&name, &me]).await.map_err(unreadable)? != 1 {
            return Err(LogError::Failing(Arc::from(life::OVER)));
        }
        return Ok(ClaimResult::Taken(past));
    }
    Err(LogError::Failing(Arc::from("the owner of the conversation changes again and again")))
}

/// Prepares a statement in the session.
async fn prepared(session: &mut Session, sql: &'static str) -> Result<tokio_postgres::Statement, LogError> {
    session.prepared(sql).await.map_err(unreadable)
}

/// A row of [`LOOK`].
fn owner(row: &Row) -> Result<LifeRow, tokio_postgres::Error> {
    Ok(LifeRow {
        number: row.try_get(0)?,
        is_over: row.try_get(1)?,
        is_expired: row.try_get(2)?,
        ended_well: row.try_get(3)?,
        address: row.try_get::<_, Option<&str>>(4)?.map(Arc::from),
        left_on: row.try_get(5)?,
        timeline: row.try_get(6)?,
    })
}
