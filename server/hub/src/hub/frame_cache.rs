//! Frame caches: what all viewers of a conversation share who look through the same lens and have the same role, whatever they
//! are connected by: frames and the snapshot, each encoded once.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use event_log::blocking;
use event_log::priority::{ThreadPriority, run_at_priority_if_large};
use model::frame::SubscriptionId;
use model::lens::Window;
use model::limits::{SNAPSHOT_BYTES_TARGET, SNAPSHOT_WHEN_BEHIND_BYTES};
use model::{Lens, Mask, Seq, View, snapshot};
use parking_lot::Mutex;

use super::conversation::Conversation;
use super::encoded_slice::EncodedSlice;
use crate::slice::{Delivery, Slice};
use crate::tally::TALLY;

/// How old a cached snapshot may be, in bytes of events that came after it. Those events then follow it.
const SNAPSHOT_AGE_BYTES: u64 = (SNAPSHOT_WHEN_BEHIND_BYTES / 4) as u64;

/// Up to how many bytes of memory a view is encoded in the thread that asks for it; a larger one is encoded in a thread of a
/// lower priority.
const ENCODED_HERE_BYTES_MAX: u64 = 256 << 10;

/// How many encoded slices a frame cache keeps. The pumps of one conversation read the same slices at about the
/// same time.
const FRAMES_KEPT: usize = 4;

/// The frame caches of one conversation, one for each lens and mask in use. Owned by the conversation.
#[derive(Debug, Default)]
pub struct FrameCaches(Mutex<Vec<Weak<FrameCache>>>);

impl FrameCaches {
    /// The frame cache for `lens` and `mask`, made if nobody uses them yet.
    pub fn of(&self, lens: &Lens, mask: Option<&Arc<Mask>>) -> Arc<FrameCache> {
        self.delivered(lens, mask, Delivery::Joined)
    }

    /// The frame cache for `lens` and `mask` whose events are written in that way.
    pub(crate) fn delivered(
        &self,
        lens: &Lens,
        mask: Option<&Arc<Mask>>,
        delivery: Delivery,
    ) -> Arc<FrameCache> {
        // What a window lets pass unchanged is encoded once, for all windows and for those who have none.
        let whole = lens.window.is_some().then(|| self.delivered(&lens.with_window(None), mask, delivery));
        let whole = whole.filter(|whole| whole.is_clear());
        let mut frame_caches = self.0.lock();
        frame_caches.retain(|frame_cache| frame_cache.strong_count() > 0);
        let mut found = frame_caches.iter().filter_map(Weak::upgrade);
        let is_like = |frame_cache: &Arc<FrameCache>| {
            frame_cache.asked == *lens
                && frame_cache.mask.as_ref() == mask
                && frame_cache.delivery == delivery
        };
        if let Some(frame_cache) = found.find(is_like) {
            return frame_cache;
        }
        let frame_cache = Arc::new(FrameCache::new(lens.clone(), mask.cloned(), delivery, whole));
        frame_caches.push(Arc::downgrade(&frame_cache));
        frame_cache
    }
}

/// The frames and the snapshot that viewers with the same lens and role share. These viewers own it together, and the
/// last one drops it; the conversation refers to it weakly.
#[derive(Debug)]
pub struct FrameCache {
    /// What they asked for.
    asked: Lens,
    /// What they are given of that: less, where something is hidden.
    lens: Lens,
    /// What the role hides of everything.
    mask: Option<Arc<Mask>>,
    /// The delivery of events: how they are written for them.
    delivery: Delivery,
    /// Whether neither hides anything.
    is_clear: bool,
    /// The frame cache of those who see everything, where nothing but a window hides something from these.
    whole: Option<Arc<Self>>,
    /// The newest snapshot that was encoded. Locked during the encoding.
    snapshot: Mutex<Option<Snapshot>>,
    /// The newest slices that were encoded, at most `FRAMES_KEPT`, the oldest first.
    frames: Mutex<Vec<Arc<EncodedSlice>>>,
}

/// An encoded view at a position.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The seq of the last event in it.
    pub seq: Seq,
    /// The view as JSON, in the pieces in which it is sent; at least one.
    pub pieces: Arc<[Bytes]>,
}

impl Snapshot {
    /// The length of all pieces together.
    fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }
}

/// Whether a viewer should get the snapshot instead of the events that it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotNeed {
    /// No: the events will do.
    No,
    /// Yes, because the ring does not reach back to them.
    OutOfReach,
    /// Yes, because the snapshot is smaller than they are.
    Cheaper,
}

impl FrameCache {
    fn new(asked: Lens, mask: Option<Arc<Mask>>, delivery: Delivery, whole: Option<Arc<Self>>) -> Self {
        let lens = mask.as_ref().map_or_else(|| asked.clone(), |mask| mask.narrowed(&asked));
        let is_clear = lens.is_clear() && mask.is_none();
        let (snapshot, frames) = (Mutex::default(), Mutex::default());
        Self { asked, lens, mask, delivery, is_clear, whole, snapshot, frames }
    }

    /// What they asked for, with the window that they have.
    pub(crate) fn asked(&self) -> &Lens {
        &self.asked
    }

    /// The newest part of the conversation that they have; `None` if they have all of it.
    pub fn window(&self) -> Option<&Arc<Window>> {
        self.asked.window.as_ref()
    }

    /// Whether their window hides a run that goes on. They need another window then.
    pub fn hides_running(&self, conversation: &Conversation) -> bool {
        self.window().is_some_and(|window| conversation.read_view(|view| window.hides_running(view)))
    }

    /// What is hidden from them, where something is.
    pub fn mask(&self) -> Option<&Arc<Mask>> {
        self.mask.as_ref()
    }

    /// The delivery of events: how they are written.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Whether the lens hides nothing.
    pub(crate) fn is_clear(&self) -> bool {
        self.is_clear
    }

    /// Removes from `slice` what the lens hides; the slice covers the same seqs afterwards. `None` if only
    /// the snapshot can show the change.
    pub fn visible(&self, conversation: &Conversation, mut slice: Slice) -> Option<Slice> {
        if self.is_clear {
            return Some(slice);
        }
        if !conversation.knows_effects_after(slice.from.saturating_sub(1)) {
            return None;
        }
        let before = self.whole.as_ref().map(|_| (slice.events.clone(), slice.ephemera.len()));
        conversation.read_view(|view| {
            slice.ephemera.retain(|fact| self.lens.passes_ephemeral(fact, view));
            let Some(mask) = &self.mask else {
                slice.events = self.lens.pass(&slice.events, &slice.effects, view)?;
                return Some(());
            };
            slice.events = mask.pass(&self.lens, &slice.events, &slice.effects, view)?;
            slice.ephemera = slice.ephemera.iter().filter_map(|fact| mask.ephemeral(fact, view)).collect();
            Some(())
        })?;
        slice.is_whole = before.is_some_and(|(events, ephemera)| {
            let is_same = events.iter().zip(&slice.events).all(|(one, other)| Arc::ptr_eq(one, other));
            is_same && events.len() == slice.events.len() && ephemera == slice.ephemera.len()
        });
        Some(slice)
    }

    /// The snapshot at a position that the ring still reaches, encoded once for all who need it. May wait for
    /// the encoding, in a thread that may block.
    pub fn snapshot(&self, conversation: &Conversation) -> Snapshot {
        self.snapshot_within(conversation, SNAPSHOT_AGE_BYTES)
    }

    /// The snapshot as of now, for a viewer whose view went wrong.
    pub fn newest(&self, conversation: &Conversation) -> Snapshot {
        self.snapshot_within(conversation, 0)
    }

    /// The cached snapshot if at most `age_bytes` of events came after it, otherwise a new one.
    fn snapshot_within(&self, conversation: &Conversation, age_bytes: u64) -> Snapshot {
        let cached =
            self.snapshot.try_lock().and_then(|cached| recent(cached.as_ref(), conversation, age_bytes));
        // Encoding a large view takes long, and so does waiting for whoever does it: other tasks run
        // elsewhere meanwhile.
        cached.unwrap_or_else(|| blocking(|| self.encoded(conversation, age_bytes)))
    }

    /// Encodes the view, unless somebody else has done it while this waited for the lock.
    fn encoded(&self, conversation: &Conversation, age_bytes: u64) -> Snapshot {
        let mut cached = self.snapshot.lock();
        if let Some(known) = recent(cached.as_ref(), conversation, age_bytes) {
            return known;
        }
        // Projecting copies the view, which is several times faster than encoding it; nobody can append while
        // it is borrowed.
        let mut view = conversation.read_view(|view: &View| self.lens.project(view));
        if let Some(mask) = &self.mask {
            mask.hide_in(&mut view);
        }
        TALLY.snapshots.one();
        let seq = view.seq;
        // The copy is dropped there too, which takes long where it has many small things.
        let encode =
            move || snapshot::pieces(&view, SNAPSHOT_BYTES_TARGET).into_iter().map(Bytes::from).collect();
        let pieces = run_at_priority_if_large(
            ThreadPriority::Asked,
            conversation.view_bytes(),
            ENCODED_HERE_BYTES_MAX,
            encode,
        );
        let new = Snapshot { seq, pieces };
        *cached = Some(new.clone());
        new
    }

    /// Whether a viewer at `seq` should get the snapshot: because the ring does not reach back that far, or
    /// because the missing events are larger than the snapshot.
    pub fn snapshot_need(&self, conversation: &Conversation, seq: Seq) -> SnapshotNeed {
        if !self.is_clear && !conversation.knows_effects_after(seq) {
            return SnapshotNeed::OutOfReach;
        }
        let Some(behind) = conversation.bytes_after(seq) else { return SnapshotNeed::OutOfReach };
        if behind <= SNAPSHOT_WHEN_BEHIND_BYTES as u64 || behind <= self.snapshot(conversation).bytes() {
            return SnapshotNeed::No;
        }
        SnapshotNeed::Cheaper
    }

    /// The encoded `slice`, made once for all pumps. `sub` is the subscription number for which it is encoded
    /// if it is new.
    pub fn ready(&self, slice: &Slice, sub: SubscriptionId) -> Arc<EncodedSlice> {
        if let Some(whole) = self.whole.as_ref().filter(|_| slice.is_whole) {
            return whole.ready(slice, sub);
        }
        let mut frames = self.frames.lock();
        if let Some(found) = frames.iter().find(|ready| ready.was_made_of(slice)) {
            TALLY.encodes_shared.one();
            return Arc::clone(found);
        }
        // Encoded under the lock: whoever wants the same slice waits for it instead of encoding it again.
        let ready = Arc::new(EncodedSlice::new(slice, sub, self.delivery));
        TALLY.encoded.one();
        if frames.len() >= FRAMES_KEPT {
            frames.remove(0);
        }
        frames.push(Arc::clone(&ready));
        ready
    }
}

/// The cached snapshot, unless more than `age_bytes` of events came after it.
fn recent(cached: Option<&Snapshot>, conversation: &Conversation, age_bytes: u64) -> Option<Snapshot> {
    let known = cached?;
    conversation.bytes_after(known.seq).filter(|behind| *behind <= age_bytes)?;
    TALLY.snapshots_shared.one();
    Some(known.clone())
}
