//! What all viewers of a conversation share who look through the same lens and have the same role, whatever they are connected by:
//! frames and the snapshot, encoded once. It stands beside the conversation.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use event_log::blocking;
use model::frame::SubscriptionId;
use model::limits::{SNAPSHOT_BYTES_TARGET, SNAPSHOT_WHEN_BEHIND_BYTES};
use model::{Lens, Mask, Seq, View, snapshot};
use parking_lot::Mutex;

use super::conversation::{Conversation, Slice};
use super::ready::Ready;
use crate::tally::TALLY;

/// A cached snapshot may be older than the newest event by this many bytes of events, which then follow it.
const SNAPSHOT_AGE_BYTES: u64 = (SNAPSHOT_WHEN_BEHIND_BYTES / 4) as u64;

/// How many shared frames are remembered. Pumps of one conversation go the same steps, about at the same time.
const FRAMES_KEPT: usize = 4;

/// The lenses and masks through which a conversation is being looked at.
#[derive(Debug, Default)]
pub struct Sights(Mutex<Vec<Weak<Sight>>>);

impl Sights {
    /// What those share who look through `lens` and from whom `mask` hides something.
    pub fn of(&self, lens: &Lens, mask: Option<&Arc<Mask>>) -> Arc<Sight> {
        let mut sights = self.0.lock();
        sights.retain(|sight| sight.strong_count() > 0);
        let mut found = sights.iter().filter_map(Weak::upgrade);
        if let Some(sight) = found.find(|sight| sight.asked == *lens && sight.mask.as_ref() == mask) {
            return sight;
        }
        let sight = Arc::new(Sight::new(lens.clone(), mask.cloned()));
        sights.push(Arc::downgrade(&sight));
        sight
    }
}

/// The frames and the snapshot that viewers with the same lens and role share. Owned by these viewers together: the last one drops it. The
/// conversation refers to it weakly.
#[derive(Debug)]
pub struct Sight {
    /// What they asked for.
    asked: Lens,
    /// What they are given of that: less, where something is hidden.
    lens: Lens,
    mask: Option<Arc<Mask>>,
    is_clear: bool,
    snapshot: Mutex<Option<Snapshot>>,
    frames: Mutex<Vec<Arc<Ready>>>,
}

/// A state as bytes.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The last event that is in.
    pub seq: Seq,
    /// It, in the pieces in which it is sent; at least one.
    pub pieces: Arc<[Bytes]>,
}

impl Snapshot {
    fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }
}

/// Whether a viewer is better served with the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Far {
    /// Events will do.
    No,
    /// The ring does not reach back.
    OutOfReach,
    /// The snapshot is smaller.
    Cheaper,
}

impl Sight {
    fn new(asked: Lens, mask: Option<Arc<Mask>>) -> Self {
        let lens = mask.as_ref().map_or_else(|| asked.clone(), |mask| mask.narrowed(&asked));
        let is_clear = lens.is_clear() && mask.is_none();
        Self { asked, lens, mask, is_clear, snapshot: Mutex::default(), frames: Mutex::default() }
    }

    /// What is hidden from them, where something is.
    pub fn mask(&self) -> Option<&Arc<Mask>> {
        self.mask.as_ref()
    }

    /// Whether everything is seen.
    pub(crate) fn is_clear(&self) -> bool {
        self.is_clear
    }

    /// What of `slice` is seen, which covers the same; nothing when only the snapshot can tell.
    pub fn see(&self, conversation: &Conversation, mut slice: Slice) -> Option<Slice> {
        if self.is_clear {
            return Some(slice);
        }
        conversation.look(|view| {
            slice.ephemera.retain(|fact| self.lens.passes_ephemeral(fact, view));
            let Some(mask) = &self.mask else {
                slice.events = self.lens.pass(&slice.events, &slice.marks, view)?;
                return Some(());
            };
            slice.events = mask.pass(&self.lens, &slice.events, &slice.marks, view)?;
            slice.ephemera = slice.ephemera.iter().filter_map(|fact| mask.ephemeral(fact, view)).collect();
            Some(())
        })?;
        Some(slice)
    }

    /// The state at a position that the ring still reaches, encoded once for all who need it.
    pub fn snapshot(&self, conversation: &Conversation) -> Snapshot {
        self.snapshot_within(conversation, SNAPSHOT_AGE_BYTES)
    }

    /// The state as it is now, for who has got it wrong from events.
    pub fn newest(&self, conversation: &Conversation) -> Snapshot {
        self.snapshot_within(conversation, 0)
    }

    fn snapshot_within(&self, conversation: &Conversation, age_bytes: u64) -> Snapshot {
        let cached =
            self.snapshot.try_lock().and_then(|cached| recent(cached.as_ref(), conversation, age_bytes));
        // Encoding a large state takes long, and so does waiting for whoever does it: other tasks go on elsewhere meanwhile.
        cached.unwrap_or_else(|| blocking(|| self.encoded(conversation, age_bytes)))
    }

    fn encoded(&self, conversation: &Conversation, age_bytes: u64) -> Snapshot {
        let mut cached = self.snapshot.lock();
        if let Some(known) = recent(cached.as_ref(), conversation, age_bytes) {
            return known;
        }
        // A copy is several times faster than the encoding, and nobody can append while the view is borrowed.
        let mut view = conversation.look(|view: &View| self.lens.project(view));
        if let Some(mask) = &self.mask {
            mask.hide_in(&mut view);
        }
        TALLY.snapshots.one();
        let pieces = snapshot::pieces(&view, SNAPSHOT_BYTES_TARGET).into_iter().map(Bytes::from);
        let new = Snapshot { seq: view.seq, pieces: pieces.collect() };
        *cached = Some(new.clone());
        new
    }

    /// Whether a viewer at `seq` is better served with the snapshot, since the ring is too short or what it lacks is
    /// more than the state itself.
    pub fn is_far(&self, conversation: &Conversation, seq: Seq) -> Far {
        let Some(behind) = conversation.bytes_after(seq) else { return Far::OutOfReach };
        if behind <= SNAPSHOT_WHEN_BEHIND_BYTES as u64 || behind <= self.snapshot(conversation).bytes() {
            return Far::No;
        }
        Far::Cheaper
    }

    /// The bytes of `slice`, encoded once for all pumps; `sub` is the number that is asked for first.
    pub fn ready(&self, slice: &Slice, sub: SubscriptionId) -> Arc<Ready> {
        let mut frames = self.frames.lock();
        if let Some(found) = frames.iter().find(|ready| ready.is(slice)) {
            TALLY.encodes_shared.one();
            return Arc::clone(found);
        }
        // Encoded under the lock of these frames: whoever wants the same waits for it instead of doing it again.
        let ready = Arc::new(Ready::new(slice, sub));
        TALLY.encoded.one();
        if frames.len() >= FRAMES_KEPT {
            frames.remove(0);
        }
        frames.push(Arc::clone(&ready));
        ready
    }
}

/// The snapshot that is there, unless more than `age_bytes` of events came after it.
fn recent(cached: Option<&Snapshot>, conversation: &Conversation, age_bytes: u64) -> Option<Snapshot> {
    let known = cached?;
    conversation.bytes_after(known.seq).filter(|behind| *behind <= age_bytes)?;
    TALLY.snapshots_shared.one();
    Some(known.clone())
}
