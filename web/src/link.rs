//! The connection to the hub: when the page connects, waits and gives up. A state machine without a socket
//! and without a clock.
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

/// The longest time from the attempt to connect to the hub's welcome, in milliseconds.
const HANDSHAKE_MS: u64 = 10_000;

/// How long the page must be disconnected before its content counts as stale, in milliseconds.
const STALE_MS: u64 = 60_000;

/// The state of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Phase {
    /// The page has not started to connect.
    #[default]
    Idle,
    /// The socket is being opened.
    Connecting { since: u64 },
    /// The socket is open; the hub has not answered the hello yet.
    Greeting { since: u64 },
    /// The hub has welcomed the page.
    Up { heard: u64, hb_ms: u64 },
    /// Waiting for the next attempt; without a time while the machine is offline.
    Waiting { until: Option<u64> },
    /// The hub has closed the session for good.
    Ended { code: u16, why: String },
}

/// What happens to the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The page was opened.
    Start,
    /// The socket was opened.
    Opened,
    /// The hub sent its welcome.
    Welcomed {
        /// The interval of heartbeats, in milliseconds.
        hb_ms: u64,
    },
    /// A frame of the hub arrived.
    Heard,
    /// The hub is going to close the socket.
    Bye {
        /// Whether the page may reconnect.
        reconnect: bool,
        /// The requested delay in milliseconds; 0 for none.
        retry_ms: u64,
        /// The reason that the hub gives.
        reason: String,
    },
    /// The socket was closed or could not be opened.
    Closed {
        /// The close code of the WebSocket.
        code: u16,
        /// The reason in the close frame.
        reason: String,
    },
    /// Some time has passed.
    Tick,
    /// The page became visible, the machine came online, or the reader wants to try now.
    Wake,
    /// The machine has lost its network.
    Offline,
}

/// What the caller must do with the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Do nothing.
    Rest,
    /// Open a new socket.
    Connect,
    /// Send the frame `hello`.
    Hello,
    /// Subscribe to what is shown.
    Subscribe,
    /// Close the socket and ignore it from now on; the machine has already moved on.
    Drop,
}

/// The state of the connection as it is shown to the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Connecting for the first time.
    Connecting,
    /// The page is connected.
    Up,
    /// The socket is open, but nothing has arrived for more than two heartbeats; the value is in seconds. The
    /// connection may be dead.
    Silent(u64),
    /// The connection was lost.
    Reconnecting {
        /// The time until the next attempt, in milliseconds; 0 during an attempt.
        in_ms: u64,
        /// The number of the attempt.
        attempt: u32,
        /// When the connection was lost.
        since: u64,
        /// Whether it was lost so long ago that the content is stale.
        is_stale: bool,
    },
    /// The machine has no network.
    Offline,
    /// The hub has closed the session for good.
    Ended {
        /// The close code of the WebSocket.
        code: u16,
        /// The hub's reason; may be empty.
        why: String,
    },
}

impl Status {
    /// Whether there is an open socket, even if silent.
    pub fn has_socket(&self) -> bool {
        matches!(self, Self::Up | Self::Silent(_))
    }

    /// Whether the connection was lost since the status `was`.
    pub fn is_lost_since(&self, was: &Self) -> bool {
        was.has_socket() && !self.has_socket()
    }
}

/// The state machine; see the module documentation. All times are in milliseconds of one clock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
    phase: Phase,
    attempt: u32,
    lost_at: Option<u64>,
    /// When the machine reported that it has no network.
    offline_at: Option<u64>,
    /// The hub's announcement before it closes the socket: whether to reconnect, the delay in milliseconds,
    /// and the reason.
    bye: Option<(bool, u64, String)>,
}

impl Link {
    /// Takes an input at `now`. `random` spreads the delays of many pages.
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

    /// Begins an attempt to connect.
    fn connect(&mut self, now: u64) -> Act {
        self.phase = Phase::Connecting { since: now };
        Act::Connect
    }

    /// Decides after a closed socket whether to wait or to end.
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

    /// Waits for the next attempt: as long as the hub asked, otherwise longer after each attempt.
    fn wait(&mut self, retry_ms: u64, now: u64, random: u64) {
        self.lost_at.get_or_insert(now);
        self.attempt = self.attempt.saturating_add(1);
        let wait = match retry_ms {
            0 => backoff::wait_ms(self.attempt, random),
            asked => backoff::asked_ms(asked, random),
        };
        self.phase = Phase::Waiting { until: self.offline_at.is_none().then(|| now.saturating_add(wait)) };
    }

    /// Connects if it is time, and drops a socket that is silent for too long.
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

    /// The status at `now`.
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

    /// The status of an open socket.
    fn up(&self, heard: u64, hb_ms: u64, now: u64) -> Status {
        // A frame that arrived after the report proves that there is a network.
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
