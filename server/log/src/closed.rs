//! The log of hubs that are stopped, opened to look at all that it holds, to change texts in it, and to take a conversation out.
//!
//! ```text
//! conversations, events, view, attachments, unpacked, places   look
//! rewrite, remove                                              change
//! purge                                                        once, after all changes
//! ```

use std::collections::BTreeSet;
use std::fmt;

use model::{ConversationId, Envelope, Epoch, View};

use crate::{LogError, StoredShare};

/// A log that no hub has open, and that no hub can open before this is dropped. All methods wait for the disk or the database.
/// Dropping it without [`ClosedLog::purge`] may leave what was changed or removed in parts that are not used any more.
pub trait ClosedLog: fmt::Debug {
    /// The names of all conversations. Ordered by name.
    fn conversations(&self) -> Result<Vec<ConversationId>, LogError>;

    /// All events that there are of a conversation, in order. Fails with [`LogError::Unknown`] if there is no
    /// such conversation, as do all methods that name one.
    fn events(&self, conversation: &ConversationId) -> Result<Vec<Envelope>, LogError>;

    /// The newest folded view of the conversation that was kept. It may be older than the newest event; the empty one if none was kept.
    fn view(&self, conversation: &ConversationId) -> Result<View, LogError>;

    /// The results that stand beside its events: the name of each, and its JSON.
    fn attachments(&self, conversation: &ConversationId) -> Result<Vec<(String, String)>, LogError>;

    /// The life of a conversation, whose name stands nowhere else.
    fn epoch(&self, conversation: &ConversationId) -> Result<Epoch, LogError>;

    /// Rewrites all that is stored of a conversation, as one transaction. Whether anything changed. On an
    /// error nothing has changed.
    fn rewrite(&mut self, conversation: &ConversationId, with: &mut dyn Rewrite) -> Result<bool, LogError>;

    /// Takes a conversation out, with all that belongs to it. Its rows are gone when this returns; its sums
    /// of measurements stay.
    fn remove(&mut self, conversation: &ConversationId) -> Result<(), LogError>;

    /// Writes everything anew, so that nothing of what was changed or removed is left in parts that are not used any more. Takes as
    /// long as copying the log, and up to twice its size of free disk. What could not be written anew is named, with the reason.
    fn purge(&mut self) -> Result<BTreeSet<String>, LogError>;

    /// Gives all that is stored packed to `look`: the plain bytes of each block and state.
    fn unpacked(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), LogError>;

    /// Where one of `texts` stands as it is, in what a search through files does not see. Each place is named for people.
    fn places(&self, texts: &[String]) -> Result<BTreeSet<String>, LogError>;

    /// The links that the hubs of this log share.
    fn shares(&self) -> Result<Vec<StoredShare>, LogError>;
}

/// Changes what a conversation says, without making events more or fewer. The caller of
/// [`ClosedLog::rewrite`] implements it; each method is called for everything of its kind that is stored of
/// the conversation.
pub trait Rewrite {
    /// Changes its events, which are in order and all that there are.
    fn events(&mut self, events: &mut [Envelope]);
    /// Changes its folded state.
    fn view(&mut self, view: &mut View);
    /// What stands in the place of a text; nothing where it stays.
    fn text(&mut self, text: &str) -> Option<String>;
    /// What stands in the place of a text of JSON, which stays JSON; nothing where it stays.
    fn json(&mut self, json: &str) -> Option<String>;
}
