//! The contract of all logs.

use std::sync::Arc;

use model::frame::{ConversationRow, Durability};
use model::{ConversationId, Seq};
use tokio::sync::watch;

#[cfg(doc)]
use crate::blocking;
use crate::{
    Append, Checkpoint, EndedToolCall, EventPage, ImportId, LeavingEnd, ListQuery, LogError, LogFigures,
    LostCommits, MeasureQuery, Measured, Measurement, Owner, Progress, Purpose, QueryCancel, Retention,
    SearchQuery, SearchResults, SharedAccess, SharedSettings, StoredConversation, Ticket, ToolFigures,
    Unwritten,
};

/// A log of conversations: the contract that every implementation fulfils and the hub relies on.
///
/// One log is shared by the whole hub, behind an `Arc`. Methods that say "does not wait" only take a lock for
/// a few microseconds and may be called under a conversation's lock. Those that read wait for the disk: call
/// them outside the locks of conversations, through [`blocking`]. Dropping a log without [`EventLog::close`] is an unclean
/// stop: what is still queued is not written, and its conversations go on in a new epoch.
///
/// The module `conformance` (feature `testkit`) tests these rules on any log. Logs may differ only in the
/// following: one that offers only [`Durability::Memory`] may have nothing to load, list, search or count by
/// tool, forgets its oldest events, refuses no import, and returns tickets for which nobody needs to wait.
/// Whether a conversation exists after a single append without events is undefined.
pub trait EventLog: std::fmt::Debug + Send + Sync {
    /// The highest durability that this log can promise (invariant I9).
    fn durability(&self) -> Durability;

    /// Whether this log searches, counts calls and keeps a list. If not, callers leave [`Append::documents`]
    /// and [`Append::calls`] empty, which saves the work of making them.
    fn indexes(&self) -> bool;

    /// Whether an append to `conversation` that continues `after` would be taken. The caller asks before it
    /// changes anything of its own, and appends while nobody else can append to the conversation: then
    /// [`EventLog::append`] does not refuse. Does not wait.
    fn continues(&self, conversation: &ConversationId, after: Seq) -> Result<(), LogError>;

    /// Queues events that continue the conversation. Does not wait. Fails with [`LogError::Conflict`] if they
    /// do not continue it. Events for which the queue has no room are no error: their ticket is
    /// [`Ticket::NEVER`].
    fn append(&self, append: Append<'_>) -> Result<Ticket, LogError>;

    /// Queues a whole state, so that the conversation is read back quickly. It also fills a hole. Does not
    /// wait.
    fn keep(&self, checkpoint: Checkpoint) -> Ticket;

    /// Queues rows of the list; a newer row replaces an older one. Does not wait.
    fn put_rows(&self, rows: Vec<ConversationRow>);

    /// Returns a ticket for everything so far, which will be written so that it survives a loss of power.
    /// Does not wait.
    fn sync(&self) -> Ticket;

    /// Tells the log that somebody waits for `ticket` at `level`, so that it writes soon and as carefully as
    /// that level needs. Without it a log collects events as long as suits it. Does not wait.
    fn hasten(&self, _ticket: Ticket, _level: Durability) {}

    /// The counters for metrics.
    fn figures(&self) -> LogFigures {
        LogFigures::default()
    }

    /// A channel that reports after each transaction how far the log has come and whether it can write.
    fn progress(&self) -> watch::Receiver<Progress>;

    /// The conversations of which the log needs a checkpoint, because it lacks events of them. Each is named
    /// once.
    fn awaiting_checkpoint(&self) -> Vec<ConversationId>;

    /// Says which hub has the conversation, where several share the log, and makes this hub the owner where none has it any
    /// more. Call it before [`EventLog::load`]. Waits for the disk.
    fn claim(&self, _conversation: &ConversationId, _purpose: Purpose) -> Result<Owner, LogError> {
        Ok(Owner::Here)
    }

    /// The URLs of the other hubs that share the log and live now. Waits for the disk.
    fn other_hubs(&self) -> Result<Vec<Arc<str>>, LogError> {
        Ok(Vec::new())
    }

    /// Gives a conversation up, where several hubs share the log, for the hub under the URL `to`: once the ticket is reached, any hub may claim it, and its epoch
    /// goes on. Nothing may be appended to it any more, and a log that lacks events of it writes them before. Until [`EventLog::released`] claims say
    /// that the other hub has it. `None` where nobody else can have it. A ticket that is lost gave nothing up.
    fn release(&self, _conversation: &ConversationId, _to: &Arc<str>) -> Option<Ticket> {
        None
    }

    /// Ends what [`EventLog::release`] began, once its ticket is reached or lost: claims are asked of the log again, as for any conversation.
    fn released(&self, _conversation: &ConversationId, _end: LeavingEnd) {}

    /// Whether nobody can have taken over what this hub owns, where several share the log: its lease holds. Does not wait.
    fn holds_lease(&self) -> bool {
        true
    }

    /// Waits until [`EventLog::load`] of the conversation need not wait for what is still to be written. Call it before a lock is taken
    /// under which the conversation is loaded, since writing may take long. Fails if nothing can be written.
    fn settle(&self, _conversation: &ConversationId) -> Result<(), LogError> {
        Ok(())
    }

    /// The conversation as it was last stored; `None` if the log does not know it. Waits for the disk.
    fn load(&self, conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError>;

    /// What is stored of a conversation that another hub has, for a look at it: nothing is written to it from here. For a log that one hub has alone
    /// it does what [`EventLog::load`] does. Waits for the disk.
    fn peek(&self, conversation: &ConversationId) -> Result<Option<StoredConversation>, LogError> {
        self.load(conversation)
    }

    /// Up to `limit` events after `after`; fewer if they are large. There are no more once they reach the
    /// page's head. Fails with [`LogError::Gone`] if the log has none of them one by one. Waits for the disk.
    fn read(&self, conversation: &ConversationId, after: Seq, limit: usize) -> Result<EventPage, LogError>;

    /// A page of the list, newest activity first. Waits for the disk.
    fn list(&self, query: &ListQuery) -> Result<Vec<ConversationRow>, LogError>;

    /// How many conversations the log has. Does not wait.
    fn count(&self) -> u64;

    /// The conversations whose newest run had not ended when the hub last stopped. Waits for the disk.
    fn unfinished(&self) -> Result<Vec<ConversationId>, LogError>;

    /// Searches, newest first: up to [`SearchQuery::limit`] hits, or what was found before `stop` was called.
    /// Fails with [`LogError::BadQuery`] if the text has no word that can be searched for. Waits for the
    /// disk.
    fn search(&self, query: &SearchQuery, stop: &QueryCancel) -> Result<SearchResults, LogError>;

    /// How often each tool was called, how often it failed and how long it took, by name. Waits for the disk.
    fn tools(&self) -> Result<Vec<ToolFigures>, LogError>;

    /// Sums of what was measured ([`Append::measurements`]), over all conversations that there ever were:
    /// removing one takes nothing back. Fails with [`LogError::BadQuery`] if there are too many sums, if they are
    /// not added up before `stop` is called, and always for a log that keeps none. Waits for the disk.
    fn measured(&self, _query: &MeasureQuery, _stop: &QueryCancel) -> Result<Measured, LogError> {
        Err(LogError::BadQuery(String::from("this log keeps no measurements")))
    }

    /// The whole of a result that was too large for its event, as JSON, by its hash; `None` if the log does
    /// not have it. Waits for the disk.
    fn attachment(&self, conversation: &ConversationId, hash: &str) -> Result<Option<Arc<str>>, LogError>;

    /// The newest range of events, first and last seq, that the log lacks one by one although it has earlier
    /// ones; `None` if it has all from its first one on. Waits for the disk.
    fn gap(&self, conversation: &ConversationId) -> Result<Option<(Seq, Seq)>, LogError>;

    /// Queues a piece of a history that is being imported. It is invisible before [`EventLog::adopt`]. The
    /// first piece says in `append.after` where the history begins. Does not wait.
    fn stage(&self, import: ImportId, append: Append<'_>) -> Ticket;

    /// Makes a conversation of everything that was staged, with the state of `checkpoint`: all of it or
    /// nothing. The ticket is lost if not everything was staged. Does not wait.
    fn adopt(
        &self,
        import: ImportId,
        checkpoint: Checkpoint,
        calls: Vec<EndedToolCall>,
        measurements: Vec<Measurement>,
    ) -> Ticket;

    /// Drops what was staged for `import`, if anything was. Does not wait.
    fn abandon(&self, import: ImportId);

    /// Removes a conversation. It is invisible at once; its rows are deleted step by step. Does not wait.
    fn remove(&self, conversation: &ConversationId) -> Ticket;

    /// Writes its files anew without what a removed conversation has left there; [`crate::purged`] waits for that. A log that leaves nothing,
    /// or cannot reach it, returns a ticket for which nobody waits. Does not wait.
    fn purge(&self, _conversation: &ConversationId) -> Ticket {
        Ticket::default()
    }

    /// Does both [`EventLog::remove`] and [`EventLog::purge`], so that no end of the process comes between the two. Does not wait.
    fn remove_and_purge(&self, conversation: &ConversationId) -> (Ticket, Ticket) {
        (self.remove(conversation), self.purge(conversation))
    }

    /// Chooses whole conversations to remove, the one that was silent longest first, until the rest is within
    /// `rule`. Returns a bounded number, and none for which `keep` is true. `now` is in milliseconds since
    /// 1970. Waits for the disk.
    fn expired(
        &self,
        rule: &Retention,
        now: u64,
        keep: &dyn Fn(&ConversationId) -> bool,
    ) -> Result<Vec<ConversationId>, LogError>;

    /// What the most that this log promises rests on, in words; `None` where that needs none.
    fn guarantee(&self) -> Option<String> {
        None
    }

    /// What all hubs that share this log know of who comes in: sessions of browsers and more; `None` where a hub is alone.
    fn access(&self) -> Option<&dyn SharedAccess> {
        None
    }

    /// Settings that all hubs which share this log have in common; `None` where a hub is alone.
    fn settings(&self) -> Option<&dyn SharedSettings> {
        None
    }

    /// What the log had acknowledged as stored and did not find when it was opened.
    fn missing(&self) -> Option<&LostCommits> {
        None
    }

    /// Writes what is queued and records that the log ended well. Waits for the disk. Nothing may be appended
    /// afterwards. The error says what was not written.
    fn close(&self) -> Result<(), Unwritten>;
}
