//! What readers are told about runs that ended in a way for which their dialect has no words, or that can no
//! longer be followed.

use encode::{FAILED, STOPPED_BY_PERSON};

pub(crate) const INTERRUPTED: &str = "the run was interrupted";
pub(crate) const STOPPED: &str = "the run was stopped";
pub(crate) const HUB_STOPS: &str = "the hub stops; the run goes on when it is back";
pub(crate) const FELL_BEHIND: &str = "the reader fell behind what the hub keeps; connect again";

/// All of these, and those of the encoders. A history that a client keeps may contain one of them as if it
/// were an answer.
pub(crate) const TOLD: [&str; 6] = [FAILED, STOPPED_BY_PERSON, INTERRUPTED, STOPPED, HUB_STOPS, FELL_BEHIND];
