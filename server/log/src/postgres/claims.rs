//! Claims of conversations, where several hubs share the database: one transaction each, which [`crate::ownership`] decides.

use std::collections::HashMap;
use std::sync::Arc;

use model::ConversationId;
use model::limits::CONVERSATIONS_MAX;
use parking_lot::Mutex;
use tokio_postgres::Row;

use super::database::{Database, Session};
use super::{life, read, unreadable};
use crate::LogError;
use crate::ownership::{ClaimDecision, Handover, LifeRow, Owner, Purpose, decide_claim};

/// Most conversations that a life remembers to have claimed.
const CLAIMED_MAX: usize = 4 * CONVERSATIONS_MAX;

/// How often a claim looks again when a life has said something between the look and the change.
const LOOKS: usize = 8;

/// What a life knows that shares the database with others.
#[derive(Debug)]
pub(super) struct Claims {
    life: i64,
    /// The last life before this one that did not end well; 0 for none.
    last_unsound: i64,
    /// The conversations that this life knows to have claimed, each with what is known of its past until it is loaded.
    claimed: Mutex<HashMap<ConversationId, Option<Handover>>>,
}

impl Claims {
    /// For a life that has claimed nothing yet.
    pub(super) fn new(life: i64, last_unsound: i64) -> Self {
        Self { life, last_unsound, claimed: Mutex::default() }
    }

    /// Whether something may have been shown of a conversation, which is about to be loaded, that is not stored.
    pub(super) fn is_torn(&self, conversation: &ConversationId) -> bool {
        let mut claimed = self.claimed.lock();
        claimed.get_mut(conversation).and_then(Option::take) == Some(Handover::Torn)
    }

    /// Claims a conversation for this life. Waits for the database. Fails with [`LogError::Failing`] when
    /// this life is over, or when a hub that is alone on the database has the conversation. What a claim
    /// learns of the past is kept until the conversation is loaded.
    pub(super) fn claim(
        &self,
        database: &Arc<Database>,
        conversation: &ConversationId,
        purpose: Purpose,
    ) -> Result<Owner, LogError> {
        // Most claims are asked again and again of a conversation that another hub has: reading that locks
        // nothing and commits nothing.
        let (of, life) = (conversation.clone(), self.life);
        let known = database.read(move |session| {
            let of = of.clone();
            Box::pin(async move { owner_now(session, life, &of).await })
        })?;
        match known {
            Some(ClaimDecision::Follow(address)) => return Ok(Owner::Elsewhere(address)),
            Some(ClaimDecision::Held) if self.claimed.lock().contains_key(conversation) => {
                return Ok(Owner::Here);
            }
            _ => {}
        }
        let of = conversation.clone();
        let done = database.change(move |session| {
            let of = of.clone();
            Box::pin(async move { claim(session, life, &of, purpose).await })
        })?;
        let past = match done {
            ClaimResult::Elsewhere(address) => return Ok(Owner::Elsewhere(address)),
            ClaimResult::Free => return Ok(Owner::Here),
            ClaimResult::Held if self.claimed.lock().contains_key(conversation) => return Ok(Owner::Here),
            // The answer to that claim was lost, and what it would have said.
            ClaimResult::Held => Handover::Torn,
            ClaimResult::Taken(past) => past,
            // Hubs that were alone on the database left no owners behind.
            ClaimResult::First => {
                let of = conversation.clone();
                let found = database.read(move |session| {
                    let of = of.clone();
                    Box::pin(async move { read::find(session, &of).await })
                })?;
                let is_torn = found.is_some_and(|found| found.life <= self.last_unsound);
                if is_torn { Handover::Torn } else { Handover::Whole }
            }
        };
        let mut claimed = self.claimed.lock();
        if claimed.len() >= CLAIMED_MAX {
            // Whoever claims one of them again is told of a new epoch, which is never wrong.
            claimed.clear();
        }
        claimed.insert(conversation.clone(), Some(past));
        Ok(Owner::Here)
    }
}

/// What a claim came to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ClaimResult {
    /// Nobody had it; this hub has it now.
    First,
    /// This hub had it already.
    Held,
    /// Nobody has it, and there is nothing to find.
    Free,
    /// Another hub had it; this hub has it now.
    Taken(Handover),
    /// Another hub has it, which is reached under this URL.
    Elsewhere(Arc<str>),
}

/// Takes a conversation that nobody has. $3: also one that does not exist yet.
const TAKE_FREE: &str = "INSERT INTO owner (conversation, life) SELECT $1::text, l.number FROM life l WHERE l.number = $2 AND NOT l.over \
                         AND ($3 OR EXISTS (SELECT 1 FROM conversation WHERE id = $1::text)) ON CONFLICT (conversation) DO NOTHING";
/// The query for who has a conversation.
macro_rules! who {
    () => {
        "SELECT l.number, l.over, l.expires_at <= clock_timestamp(), l.ended_well, l.address \
         FROM owner o JOIN life l ON l.number = o.life WHERE o.conversation = $1"
    };
}
/// Who has it.
const WHO: &str = who!();
/// Who has it. Locks the row of the owner, so that two claims come one after the other.
const LOOK: &str = concat!(who!(), " FOR UPDATE OF o");
/// Ends a life whose lease has run out, by the clock of the database.
const END: &str =
    "UPDATE life SET over = true WHERE number = $1 AND NOT over AND expires_at <= clock_timestamp()";
/// Makes this life the owner, unless this life is over. Raises the epoch of the ownership.
const TAKE: &str = "UPDATE owner o SET life = l.number, epoch = o.epoch + 1, claimed_at = clock_timestamp() FROM life l \
                    WHERE o.conversation = $1 AND l.number = $2 AND NOT l.over";

/// What life `me` may do with `id`, as of now; nothing if nobody has it.
async fn owner_now(
    session: &mut Session,
    me: i64,
    id: &ConversationId,
) -> Result<Option<ClaimDecision>, LogError> {
    let who = prepared(session, WHO).await?;
    let row = session.client.query_opt(&who, &[&id.as_str()]).await.map_err(unreadable)?;
    let owner = row.as_ref().map(owner).transpose().map_err(unreadable)?;
    Ok(owner.map(|owner| decide_claim(me, &owner)))
}

/// Claims `id` for life `me`, inside a transaction.
async fn claim(
    session: &mut Session,
    me: i64,
    id: &ConversationId,
    purpose: Purpose,
) -> Result<ClaimResult, LogError> {
    let (free, look) = (prepared(session, TAKE_FREE).await?, prepared(session, LOOK).await?);
    let (end, take) = (prepared(session, END).await?, prepared(session, TAKE).await?);
    let (client, name, makes) = (&session.client, id.as_str(), purpose == Purpose::Make);
    for _ in 0..LOOKS {
        if client.execute(&free, &[&name, &me, &makes]).await.map_err(unreadable)? == 1 {
            return Ok(ClaimResult::First);
        }
        let Some(row) = client.query_opt(&look, &[&name]).await.map_err(unreadable)? else {
            // Nothing was inserted: either there is nothing to find, or this life is over.
            return if makes { Err(LogError::Failing(Arc::from(life::OVER))) } else { Ok(ClaimResult::Free) };
        };
        let (ends, past) = match decide_claim(me, &owner(&row).map_err(unreadable)?) {
            ClaimDecision::Held => return Ok(ClaimResult::Held),
            ClaimDecision::Follow(address) => return Ok(ClaimResult::Elsewhere(address)),
            ClaimDecision::Closed => {
                let what = "a hub without an address has this conversation";
                return Err(LogError::Failing(Arc::from(what)));
            }
            ClaimDecision::Take { ends, past } => (ends, past),
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

/// Prepares a statement.
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
    })
}
