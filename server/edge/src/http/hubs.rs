//! Requests between hubs that share a log: who is another hub, and what is passed on to it.

pub(crate) mod known;
pub(crate) mod pass;
