//! Looks at the links to copies every now and then. It remembers what earlier looks found, so that a look costs little.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use hub::Conversation;
use model::ConversationId;
use parking_lot::Mutex;

use super::following::LookVerdict;

/// The time between two looks for copies that are over.
const EVERY: Duration = Duration::from_mins(1);

/// After how long it is looked again whether a live copy goes on that another hub writes, or that could not be written: so long at first, and twice as
/// long each time, up to [`EVERY`].
const SOON: Duration = Duration::from_secs(5);

/// The pauses between looks.
#[derive(Debug)]
pub(super) struct LookPause {
    /// The next one, if somebody waits.
    soon: Duration,
}

impl Default for LookPause {
    fn default() -> Self {
        Self { soon: SOON }
    }
}

impl LookPause {
    /// The pause after a look.
    pub(super) fn after(&mut self, verdict: LookVerdict) -> Duration {
        match verdict {
            LookVerdict::Settled => {
                *self = Self::default();
                EVERY
            }
            LookVerdict::Waits => {
                let pause = self.soon;
                self.soon = (pause * 2).min(EVERY);
                pause
            }
        }
    }
}

/// A conversation by its name and by when it began, in milliseconds since 1970, where that is known.
type Beginning = (ConversationId, Option<u64>);

/// Conversations in memory that were looked at, and of which it is known that they begin as those that were copied. As many as there are links.
#[derive(Debug, Default)]
pub(super) struct SeenOriginals(Mutex<BTreeMap<Beginning, Weak<Conversation>>>);

impl SeenOriginals {
    /// Notes that `conversation` begins at `begins`, in milliseconds since 1970, or that nobody knows when the one that was copied began.
    pub(super) fn note(&self, conversation: &Arc<Conversation>, begins: Option<u64>) {
        self.0.lock().insert((conversation.id().clone(), begins), Arc::downgrade(conversation));
    }

    /// Whether that was noted of this very conversation, and it is still there. Another one that takes its name is another object.
    pub(super) fn has(&self, conversation: &Arc<Conversation>, begins: Option<u64>) -> bool {
        let seen = self.0.lock();
        let noted = seen.get(&(conversation.id().clone(), begins));
        noted.is_some_and(|noted| noted.as_ptr() == Arc::as_ptr(conversation)) && !conversation.is_over()
    }

    /// Forgets conversations that are no longer in memory.
    pub(super) fn forget_gone(&self) {
        self.0.lock().retain(|_, noted| noted.strong_count() > 0);
    }
}

#[cfg(test)]
mod tests {
    //! Tests of how often it is looked, and what is remembered.

    use hub::{Hub, Publication};
    use model::event::{Event, Kind, RunStart};
    use model::{Epoch, RunId, View};

    use super::*;
    use crate::fork::said;

    #[test]
    fn a_copy_of_another_hub_is_looked_at_less_and_less_often_and_soon_after_news() {
        let mut pause = LookPause::default();
        let pauses = [LookVerdict::Waits; 6].map(|verdict| pause.after(verdict).as_secs());
        assert_eq!(pauses, [5, 10, 20, 40, 60, 60]);
        assert_eq!(pause.after(LookVerdict::Settled), EVERY, "where nobody waits, once in a minute");
        assert_eq!(pause.after(LookVerdict::Waits), SOON);
    }

    #[test]
    fn a_conversation_that_was_seen_is_known_again_and_another_one_of_its_name_is_not() {
        let hub = Hub::new(Arc::new(event_log::MemoryLog::default()));
        let id = ConversationId::parse("c").unwrap();
        let begun = || {
            let start = Event::new(&RunId::new("r"), Kind::RunStart(RunStart::default()));
            hub.publish(&id, Publication::of_hub(vec![said(start, 0)])).unwrap();
            hub.in_memory(&id).unwrap()
        };
        let (seen, first) = (SeenOriginals::default(), begun());
        assert!(!seen.has(&first, Some(7)));
        seen.note(&first, Some(7));
        assert!(seen.has(&first, Some(7)) && !seen.has(&first, Some(8)) && !seen.has(&first, None));
        let same_name = Arc::new(Conversation::followed(id.clone(), Epoch::new("other"), View::default()));
        assert!(!seen.has(&same_name, Some(7)));
        hub.delete(&id).unwrap();
        assert!(!seen.has(&first, Some(7)), "it was deleted");
        assert!(!seen.has(&begun(), Some(7)), "its name begins anew");
        drop(first);
        seen.forget_gone();
        assert!(seen.0.lock().is_empty());
    }
}
