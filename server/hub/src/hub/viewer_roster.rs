//! Who views a conversation, as its viewers were last told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use compact_str::CompactString;
use model::Mask;
use model::limits::PRESENCE_NAMES_MAX;
use model::mask::Hideable;
use parking_lot::Mutex;

/// What the viewers of a conversation are told of each other.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct AnnouncedViewers {
    /// The number of viewers.
    pub viewers: usize,
    /// The names of those who are known by one: each once, in order, at most [`PRESENCE_NAMES_MAX`].
    names: Vec<CompactString>,
    /// Rises by one when the number or the names change.
    version: usize,
}

impl AnnouncedViewers {
    /// What a viewer is told from whom `mask` hides something: the names, unless those of users are hidden, and a key
    /// that changes with what it is told. So a change of what is hidden is no reason for a frame.
    pub fn for_role(&self, mask: Option<&Mask>) -> (usize, &[CompactString]) {
        if mask.is_some_and(|mask| mask.hides(Hideable::Users)) {
            (self.viewers, &[])
        } else {
            (self.version, &self.names)
        }
    }
}

/// The viewers of a conversation: who is there, what was last told of them, and whether it must be told again. Owned by
/// its conversation.
#[derive(Debug, Default)]
pub struct ViewerRoster {
    /// What the viewers are told now.
    told: Mutex<Arc<AnnouncedViewers>>,
    /// The number of times that something was told.
    times: AtomicUsize,
    /// Whether the conversation waits to be counted again.
    noted: AtomicBool,
    /// The viewers that are known by a name, and how often each is there. As many as there are viewers at most.
    named: Mutex<BTreeMap<CompactString, usize>>,
}

impl ViewerRoster {
    /// Notes that viewers came or went. True if the conversation did not yet wait to be counted.
    pub(crate) fn mark_stale(&self) -> bool {
        !self.noted.swap(true, Ordering::AcqRel)
    }

    /// A viewer of that name has come; without a name it is only counted.
    pub(super) fn joined(&self, who: Option<&str>) {
        if let Some(who) = who {
            *self.named.lock().entry(who.into()).or_default() += 1;
        }
    }

    /// A viewer of that name has gone.
    pub(super) fn left(&self, who: Option<&str>) {
        let Some(who) = who else { return };
        let mut named = self.named.lock();
        if let Some(times) = named.get_mut(who) {
            *times = times.saturating_sub(1);
            if *times == 0 {
                named.remove(who);
            }
        }
    }

    /// Takes `count` as the number to tell, with the names that there are now.
    pub(super) fn take(&self, count: impl FnOnce() -> usize) {
        // Cleared before the counting: what happens meanwhile is noted again.
        self.noted.store(false, Ordering::Release);
        let viewers = count();
        let names: Vec<_> = self.named.lock().keys().take(PRESENCE_NAMES_MAX).cloned().collect();
        let mut told = self.told.lock();
        if told.version == 0 || told.viewers != viewers || told.names != names {
            let version = told.version.saturating_add(1);
            *told = Arc::new(AnnouncedViewers { viewers, names, version });
        }
        drop(told);
        self.times.fetch_add(1, Ordering::AcqRel);
    }

    /// How often something was told so far; with 0 there is nothing to tell yet.
    pub fn times(&self) -> usize {
        self.times.load(Ordering::Acquire)
    }

    /// What the viewers are to be told.
    pub fn told(&self) -> Arc<AnnouncedViewers> {
        Arc::clone(&self.told.lock())
    }

    /// Whether viewers came or went since the number was taken.
    pub fn is_stale(&self) -> bool {
        self.noted.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    //! What is told of viewers, and when there is something new.

    use super::*;

    /// What is told now that `count` viewers are there.
    fn told(counted: &ViewerRoster, count: usize) -> Arc<AnnouncedViewers> {
        counted.take(|| count);
        counted.told()
    }

    #[test]
    fn a_name_is_told_once_and_as_long_as_one_viewer_of_it_is_there() {
        let counted = ViewerRoster::default();
        for who in [Some("bob"), Some("ann"), Some("ann"), None] {
            counted.joined(who);
        }
        assert_eq!(told(&counted, 4).for_role(None).1, ["ann", "bob"]);
        counted.left(Some("ann"));
        counted.left(None);
        assert_eq!(told(&counted, 2).for_role(None).1, ["ann", "bob"]);
        counted.left(Some("ann"));
        counted.left(Some("nobody"));
        assert_eq!(told(&counted, 1).for_role(None).1, ["bob"]);
    }

    #[test]
    fn one_who_comes_for_another_is_news_but_not_where_names_are_hidden() {
        let hides = Mask::new("guest", ["users"], []).unwrap();
        let counted = ViewerRoster::default();
        counted.joined(Some("ann"));
        let before = told(&counted, 1);
        counted.left(Some("ann"));
        counted.joined(Some("bob"));
        let after = told(&counted, 1);
        assert_ne!(before.for_role(None).0, after.for_role(None).0);
        assert_eq!(before.for_role(Some(&hides)), (1, &[][..]));
        assert_eq!(after.for_role(Some(&hides)), (1, &[][..]));
        assert_eq!(told(&counted, 1).for_role(None).0, after.for_role(None).0, "nothing has changed");
    }

    #[test]
    fn i7_of_many_names_the_first_are_told() {
        let counted = ViewerRoster::default();
        for number in 0..=PRESENCE_NAMES_MAX {
            counted.joined(Some(&format!("viewer-{number:03}")));
        }
        let told = told(&counted, PRESENCE_NAMES_MAX + 1);
        let (_, names) = told.for_role(None);
        assert_eq!((names.len(), names[0].as_str()), (PRESENCE_NAMES_MAX, "viewer-000"));
        assert_eq!(told.viewers, PRESENCE_NAMES_MAX + 1);
    }
}
