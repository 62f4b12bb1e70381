//! What readers are told about runs that ended in a way for which their dialect has no words, or that can no
//! longer be followed.

use encode::{FAILED, STOPPED_BY_PERSON};

/// A run that ended without having finished.
pub(crate) const INTERRUPTED: &str = "the run was interrupted";
/// A run that a person stopped, in dialects that cannot say that.
pub(crate) const STOPPED: &str = "the run was stopped";
/// The hub drains while the caller of a run is being answered.
pub(crate) const HUB_STOPS: &str = "the hub stops; the run goes on when it is back";
/// Events that a reader has not got are no longer in the ring, nor in the log.
pub(crate) const FELL_BEHIND: &str = "the reader fell behind what the hub keeps; connect again";

/// All of these, and those of the encoders. A history that a client keeps may contain one of them as if it
/// were an answer.
pub(crate) const TOLD: [&str; 6] = [FAILED, STOPPED_BY_PERSON, INTERRUPTED, STOPPED, HUB_STOPS, FELL_BEHIND];
