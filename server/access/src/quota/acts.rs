//! What is counted by the minute for each principal and each address, besides bytes: one table of words and usual numbers.
//!
//! | act | one of them is |
//! |---|---|
//! | frame | a text frame of a socket, or a request with events |
//! | conversation | a name that was not there, which is written to |
//! | search, export, import | a request to a route that says so in the table of routes |

use super::QuotaHolder;

/// An act that is counted by the minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RatedAct {
    /// Text frames of sockets, and requests with events.
    Frame,
    /// Beginnings of conversations.
    Conversation,
    /// Searches in the log.
    Search,
    /// Exports of conversations.
    Export,
    /// Imports of conversations.
    Import,
}

/// How often something may be done in a minute, all of it at once too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinuteQuota {
    /// The most by one principal.
    pub principal: u32,
    /// The most at one address, whoever does it.
    pub address: u32,
}

impl RatedAct {
    /// All acts that are counted by the minute.
    pub const ALL: [Self; 5] = [Self::Frame, Self::Conversation, Self::Search, Self::Export, Self::Import];

    /// The name of the number of a principal in the settings; that of an address has `_per_address` behind it.
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Frame => "frames_per_minute",
            Self::Conversation => "conversations_per_minute",
            Self::Search => "searches_per_minute",
            Self::Export => "exports_per_minute",
            Self::Import => "imports_per_minute",
        }
    }

    /// The numbers unless the settings say others: far more than people and their programs do, and fewer than would keep others waiting.
    pub const fn usual(self) -> MinuteQuota {
        let principal = match self {
            Self::Frame => 600_000,
            Self::Conversation => 10_000,
            Self::Search => 1_000,
            Self::Export | Self::Import => 6_000,
        };
        MinuteQuota { principal, address: 2 * principal }
    }

    /// What `who`, a principal or an address, hears that has done it more than `max` times within a minute, and may again in `wait_s` seconds.
    pub fn refusal(self, who: QuotaHolder, quota: MinuteQuota, wait_s: u64) -> String {
        let (who, max, end) = match who {
            QuotaHolder::Principal => ("principal", quota.principal, ""),
            QuotaHolder::Address => ("address", quota.address, "_per_address"),
        };
        let (did, one, many) = match self {
            Self::Frame => ("sent", "frame or request with events", "frames and requests with events"),
            Self::Conversation => ("begun", "conversation", "conversations"),
            Self::Search => ("made", "search", "searches"),
            Self::Export => ("fetched", "export", "exports"),
            Self::Import => ("sent", "import", "imports"),
        };
        let (noun, setting) = (if max == 1 { one } else { many }, self.setting());
        format!("this {who} has {did} {max} {noun} within a minute, which is {setting}{end}: wait {wait_s} s")
    }
}

/// A value for each [`RatedAct`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerAct<T> {
    frame: T,
    conversation: T,
    search: T,
    export: T,
    import: T,
}

impl<T> PerAct<T> {
    /// Makes one for each.
    pub fn each(mut make: impl FnMut(RatedAct) -> T) -> Self {
        Self {
            frame: make(RatedAct::Frame),
            conversation: make(RatedAct::Conversation),
            search: make(RatedAct::Search),
            export: make(RatedAct::Export),
            import: make(RatedAct::Import),
        }
    }

    /// The value for `act`.
    pub const fn of(&self, act: RatedAct) -> &T {
        match act {
            RatedAct::Frame => &self.frame,
            RatedAct::Conversation => &self.conversation,
            RatedAct::Search => &self.search,
            RatedAct::Export => &self.export,
            RatedAct::Import => &self.import,
        }
    }
}
