//! Requests between hubs that share a log: who is another hub, and what is passed on to it. `known` and `pass` are
//! middleware. If the settings name no other hubs, nothing is passed on, and whoever claims to be one is
//! refused.
//!
//! Reading order: `home` and `asked` (for which conversation a request is), `pass` (the way to its owner), `known` (who
//! comes that way), `command` (commands of sockets), `carry` (events for conversations of other hubs), `moving` (a conversation goes to another hub), `balancing` (when it
//! does so by itself).

pub(crate) mod asked;
pub(crate) mod balancing;
pub(crate) mod carry;
pub(crate) mod command;
mod home;
pub(crate) mod known;
pub(crate) mod moving;
pub(crate) mod pass;
