//! When the page connects, waits and gives up: a machine without socket and clock.
//!
//! ```text
//!            start                opened            welcomed
//!  Idle ───────────▶ Connecting ─────────▶ Greeting ─────────▶ Up
//!                     ▲      │ closed, 10 s    │ closed, 10 s   │ closed, silence
//!              time,  │      ▼                 ▼                ▼
//!              wake   └── Waiting ◀──────────────────────────────    (offline: without a time)
//!                            │ a close code that forbids to come back
//!                            ▼
//!                          Ended
//! ```

use model::backoff;
use model::code::CloseCode;

mod ending;
mod notices;

pub use ending::{Ending, ending};
pub use notices::{is_still_told, log_after, round_trip};

/// Longest time from the first try to the welcome, in milliseconds.
const HANDSHAKE_MS: u64 = 10_000;

/// Without a link for this long, what is shown counts as old; in milliseconds.
const STALE_MS: u64 = 60_000;

/// Where the link stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Phase {
    /// Nothing has begun.
    #[default]
    Idle,
    /// The socket opens.
    Connecting { since: u64 },
    /// The socket is open, the hub has not answered.
    Greeting { since: u64 },
    /// Frames flow.
    Up { heard: u64, hb_ms: u64 },
    /// Until the next try; without a time while the machine is offline.
    Waiting { until: Option<u64> },
    /// The hub does not want us back.
    Ended { code: u16, why: String },
}

/// What happens to the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The page begins.
    Start,
    /// The socket is open.
    Opened,
    /// The hub said welcome.
    Welcomed {
        /// Between two heartbeats, in milliseconds.
        hb_ms: u64,
    },
    /// Any frame came.
    Heard,
    /// The hub is about to close the socket.
    Bye {
        /// Whether it wants us back.
        reconnect: bool,
        /// After how many milliseconds.
        retry_ms: u64,
        /// Why.
        reason: String,
    },
    /// The socket is closed, or could not be opened.
    Closed {
        /// The close code.
        code: u16,
        /// The reason that came with it.
        reason: String,
    },
    /// Time passes.
    Tick,
    /// The page became visible, the machine came online, or the reader wants to try now.
    Wake,
    /// The machine lost its network.
    Offline,
}

/// What to do with the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Nothing.
    Rest,
    /// Open one.
    Connect,
    /// Say hello on it.
    Hello,
    /// Ask for what is looked at.
    Subscribe,
    /// Let it go; this machine has moved on.
    Drop,
}

/// What the reader is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// For the first time.
    Connecting,
    /// Frames flow.
    Up,
    /// The socket is there, but nothing came for longer than two heartbeats: so many seconds. Nobody knows whether it is dead.
    Silent(u64),
    /// The link was lost.
    Reconnecting {
        /// Until the next try, in milliseconds; 0 while it is tried.
        in_ms: u64,
        /// Which try it is.
        attempt: u32,
        /// When the link was lost.
        since: u64,
        /// Whether the link is away for so long that what is shown is old.
        is_stale: bool,
    },
    /// The machine has no network.
    Offline,
    /// The hub does not want us back.
    Ended {
        /// The close code.
        code: u16,
        /// What the hub said; may be empty.
        why: String,
    },
}

impl Status {
    /// Whether a socket is there, though it may be silent.
    pub fn has_socket(&self) -> bool {
        matches!(self, Self::Up | Self::Silent(_))
    }

    /// Whether a link that was there is gone: `was` is how it stood before.
    pub fn is_lost_since(&self, was: &Self) -> bool {
        was.has_socket() && !self.has_socket()
    }
}

/// The connection to the hub as a state machine. Times are milliseconds of any one clock that does not go back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    phase: Phase,
    attempt: u32,
    lost_at: Option<u64>,
    /// Since when the machine says that it has no network.
    offline_at: Option<u64>,
    /// What the hub said before it closed the socket.
    bye: Option<(bool, u64, String)>,
}

impl Link {
    /// Takes what happened at `now`. `random` is any random number.
    pub fn step(&mut self, input: Input, now: u64, random: u64) -> Act {
        match input {
            Input::Start => self.connect(now),
            Input::Opened => {
                self.phase = Phase::Greeting { since: now };
                Act::Hello
            }
            Input::Welcomed { hb_ms } => {
                self.phase = Phase::Up { heard: now, hb_ms };
                (self.attempt, self.lost_at, self.bye, self.offline_at) = (0, None, None, None);
                Act::Subscribe
            }
            Input::Heard => {
                if let Phase::Up { heard, .. } = &mut self.phase {
                    *heard = now;
                }
                Act::Rest
            }
            Input::Bye { reconnect, retry_ms, reason } => {
                self.bye = Some((reconnect, retry_ms, reason));
                Act::Rest
            }
            Input::Closed { code, reason } => self.closed(code, reason, now, random),
            Input::Tick => self.tick(now, random),
            Input::Wake => {
                self.offline_at = None;
                match self.phase {
                    Phase::Waiting { .. } => self.connect(now),
                    _ => self.tick(now, random),
                }
            }
            Input::Offline => {
                self.offline_at = Some(now);
                if let Phase::Waiting { until } = &mut self.phase {
                    *until = None;
                }
                Act::Rest
            }
        }
    }

    fn connect(&mut self, now: u64) -> Act {
        self.phase = Phase::Connecting { since: now };
        Act::Connect
    }

    fn closed(&mut self, code: u16, reason: String, now: u64, random: u64) -> Act {
        let bye = self.bye.take();
        let (may_return, retry_ms, why) = bye.unwrap_or((true, 0, reason));
        if !may_return || !CloseCode::may_reconnect(code) {
            self.phase = Phase::Ended { code, why };
            return Act::Rest;
        }
        self.wait(retry_ms, now, random);
        Act::Rest
    }

    fn wait(&mut self, retry_ms: u64, now: u64, random: u64) {
        self.lost_at.get_or_insert(now);
        self.attempt = self.attempt.saturating_add(1);
        let wait = match retry_ms {
            0 => backoff::wait_ms(self.attempt, random),
            asked => backoff::asked_ms(asked, random),
        };
        self.phase = Phase::Waiting { until: self.offline_at.is_none().then(|| now.saturating_add(wait)) };
    }

    fn tick(&mut self, now: u64, random: u64) -> Act {
        let is_dead = match self.phase {
            Phase::Waiting { until: Some(until) } if until <= now => return self.connect(now),
            Phase::Connecting { since } | Phase::Greeting { since } => {
                now.saturating_sub(since) > HANDSHAKE_MS
            }
            Phase::Up { heard, hb_ms } => {
                now.saturating_sub(heard) > hb_ms.saturating_mul(2).saturating_add(HANDSHAKE_MS)
            }
            _ => false,
        };
        if is_dead {
            self.wait(0, now, random);
            return Act::Drop;
        }
        Act::Rest
    }

    /// What the reader is told at `now`.
    pub fn status(&self, now: u64) -> Status {
        let in_ms = match &self.phase {
            Phase::Up { heard, hb_ms } => return self.up(*heard, *hb_ms, now),
            Phase::Ended { code, why } => return Status::Ended { code: *code, why: why.clone() },
            Phase::Waiting { until: None } => return Status::Offline,
            Phase::Waiting { until: Some(until) } => until.saturating_sub(now),
            Phase::Idle | Phase::Connecting { .. } | Phase::Greeting { .. } => 0,
        };
        if self.attempt == 0 && self.lost_at.is_none() {
            return Status::Connecting;
        }
        let since = self.lost_at.unwrap_or(now);
        let is_stale = now.saturating_sub(since) > STALE_MS;
        Status::Reconnecting { in_ms, attempt: self.attempt, since, is_stale }
    }

    /// How a socket stands that is there.
    fn up(&self, heard: u64, hb_ms: u64, now: u64) -> Status {
        // Whatever the machine says of its network: what was heard after that came over one.
        if self.offline_at.is_some_and(|at| heard <= at) {
            return Status::Offline;
        }
        let silent_ms = now.saturating_sub(heard);
        if silent_ms > hb_ms.saturating_mul(2) { Status::Silent(silent_ms / 1000) } else { Status::Up }
    }

    /// Whether frames may be sent.
    pub fn is_up(&self) -> bool {
        matches!(self.phase, Phase::Up { .. })
    }
}

#[cfg(test)]
mod tests;
