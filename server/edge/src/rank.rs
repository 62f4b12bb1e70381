//! Pools of threads with one rank: see [`event_log::rank`].

mod threads;

pub(crate) use event_log::rank::Rank;
pub(crate) use threads::Threads;
