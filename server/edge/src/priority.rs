//! Pools of threads with one priority: see [`event_log::priority`].

mod threads;

pub(crate) use event_log::priority::ThreadPriority;
pub(crate) use threads::Threads;
