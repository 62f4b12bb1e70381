//! Where the telling of a run begins, and the ids by which it is taken up again.
//!
//! ```text
//! id: 57-1        the first item that was made of the event with the seq 57
//! id: 57-2        the second one
//! ```
//!
//! Encoders may make several items of an event, or none, so a seq alone would not do.

use model::Seq;

/// Where the stream of a run begins for the caller who asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum StartAt {
    /// At the beginning of the run.
    Beginning,
    /// After everything up to the point where it began to wait for a person.
    GoesOn,
    /// At its newest event.
    Now,
    /// After the `told`-th item that was made of the event `seq`.
    Behind {
        /// The seq of the event.
        seq: Seq,
        /// How many items of it the client has.
        told: usize,
    },
}

impl StartAt {
    /// The place that the id of an item names, see `Reader::with_places`. `None` if it is malformed.
    pub(in crate::http) fn place(id: &str) -> Option<Self> {
        let (seq, told) = id.split_once('-')?;
        Some(Self::Behind { seq: seq.parse().ok()?, told: told.parse().ok()? })
    }
}

/// Appends the items of the event `seq` to `out`, each with its id, without the first `skipped`.
pub(super) fn number(events: &[u8], seq: Seq, skipped: usize, out: &mut Vec<u8>) {
    let (mut rest, mut number) = (events, 0_usize);
    while let Some(end) = rest.windows(2).position(|two| two == b"\n\n") {
        let (event, after) = rest.split_at_checked(end.saturating_add(2)).unwrap_or((rest, &[]));
        (rest, number) = (after, number.saturating_add(1));
        if number > skipped {
            out.extend_from_slice(format!("id: {seq}-{number}\n").as_bytes());
            out.extend_from_slice(event);
        }
    }
}
