//! Requests between hubs that share a log: who is another hub, and what is passed on to it. Both are
//! middleware. If the settings name no other hubs, nothing is passed on, and whoever claims to be one is
//! refused.

pub(crate) mod known;
pub(crate) mod pass;
