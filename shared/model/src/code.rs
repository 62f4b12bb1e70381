//! The two closed tables of what can go wrong on the wire: close codes of a socket, and error codes of a request, a
//! frame or a subscription. The normative text is `docs/protocol.md`.

use serde::{Deserialize, Serialize};

/// Why a socket is closed. From 4000 the client comes back and resumes, from 4500 it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum CloseCode {
    /// The hub stops, or wants the client on another socket.
    ShuttingDown = 4000,
    /// A heartbeat was not answered, or none came.
    HeartbeatMissed = 4001,
    /// A limit was crossed that passes with time.
    RateLimited = 4008,
    /// The socket took no byte for [`crate::limits::NO_PROGRESS_MS`].
    NoProgress = 4408,
    /// Nobody of that token is known, or not any more. With another token the client may come back.
    Unauthenticated = 4401,
    /// Whoever this is has no use of a socket.
    Forbidden = 4403,
    /// The client says again and again that its state does not fit.
    InsufficientState = 4410,
    /// A frame that is none, or one that is not allowed here.
    BadFrame = 4500,
    /// A frame over [`crate::limits::INBOUND_FRAME_BYTES_MAX`].
    FrameTooLarge = 4501,
    /// No version in common.
    NoCommonVersion = 4505,
    /// No `hello` in time.
    NoHello = 4506,
}

impl CloseCode {
    /// All close codes.
    pub const ALL: [Self; 11] = [
        Self::ShuttingDown,
        Self::HeartbeatMissed,
        Self::RateLimited,
        Self::NoProgress,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::InsufficientState,
        Self::BadFrame,
        Self::FrameTooLarge,
        Self::NoCommonVersion,
        Self::NoHello,
    ];

    /// The number on the wire.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// Whether a client that is closed with the number `code` should come back by itself. Numbers below 4000 are the network's. Two
    /// below 4500 need a person first: 4401 another token, 4403 other grants.
    pub fn may_reconnect(code: u16) -> bool {
        code < 4500 && code != Self::Unauthenticated.number() && code != Self::Forbidden.number()
    }
}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $status:literal;)*) => {
        /// What went wrong with one request, frame or subscription. Never closes the socket by itself.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// All error codes, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The word on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The HTTP status that goes with it.
            pub fn status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }
        }
    };
}

error_codes! {
    /// The frame or body is not what it should be; the message names the place.
    BadRequest = "bad_request", 400;
    /// The name of a conversation is none.
    BadConversation = "bad_conversation", 400;
    /// A position is not written `EPOCH:SEQ`.
    BadPosition = "bad_position", 400;
    /// An event that is none; the message names its place in the frame or body.
    BadEvent = "bad_event", 400;
    /// No decoder of that name.
    UnknownDialect = "unknown_dialect", 404;
    /// No conversation of that name.
    UnknownConversation = "unknown_conversation", 404;
    /// The subscription number is not in use on this socket.
    UnknownSubscription = "unknown_subscription", 404;
    /// The subscription number is in use on this socket.
    SubscriptionInUse = "subscription_in_use", 409;
    /// There is a conversation of that name, and it has events.
    ConversationExists = "conversation_exists", 409;
    /// The hub has nothing at this path.
    NotFound = "not_found", 404;
    /// The path does not take this method.
    MethodNotAllowed = "method_not_allowed", 405;
    /// Nobody of that token is known, or none was sent.
    Unauthenticated = "unauthenticated", 401;
    /// Whoever asks has no grant for that, whether it exists or not.
    Forbidden = "forbidden", 403;
    /// Whoever publishes has a grant for some publisher ids or kinds there, and not for this one; the message names it.
    PublishNotGranted = "publish_not_granted", 403;
    /// The `Origin` or `Host` is not one that this hub serves.
    ForbiddenOrigin = "forbidden_origin", 403;
    /// More bytes than the named limit.
    TooLarge = "too_large", 413;
    /// More subscriptions, publishers, conversations or events than the named limit.
    TooMany = "too_many", 429;
    /// The publisher left out frames: it must go on with the one that is expected.
    PublisherGap = "publisher_gap", 409;
    /// A newer life of this publisher is known.
    PublisherFenced = "publisher_fenced", 409;
    /// The log kept less than what was asked for.
    Gone = "gone", 410;
    /// The hub is shutting down.
    ShuttingDown = "shutting_down", 503;
    /// No byte of a body came for [`crate::limits::BODY_IDLE_MS`].
    BodyTimeout = "body_timeout", 408;
    /// A body that is compressed; nothing here takes one.
    UnsupportedEncoding = "unsupported_encoding", 415;
    /// The level of durability that was asked for is not offered by this log.
    DurabilityUnavailable = "durability_unavailable", 400;
    /// Another hub has the conversation, and this one could not pass the request on: try again in a moment.
    Elsewhere = "elsewhere", 503;
    /// The log did not take the events.
    LogFailed = "log_failed", 503;
    /// The database that hubs share does not say who that is: try again in a moment.
    LogUnavailable = "log_unavailable", 503;
    /// The log cannot write: there is no room.
    DiskFull = "disk_full", 503;
    /// The log cannot write, for another reason.
    DiskFailing = "disk_failing", 503;
    /// The proxy knows no upstream of that name.
    UnknownUpstream = "unknown_upstream", 404;
    /// The proxy passes requests, answers and `WebSocket`s, and no tunnels.
    UpgradeRefused = "upgrade_refused", 501;
    /// The budget of the token is used up; another call is taken when it begins anew.
    OverBudget = "over_budget", 429;
    /// No agent of that name.
    UnknownAgent = "unknown_agent", 404;
    /// The agent cannot be asked: of a kind that is not called yet, or without a way to its model.
    AgentUnavailable = "agent_unavailable", 501;
    /// The run cannot go on: it does already, it is complete, or no agent of this hub does it.
    NotResumable = "not_resumable", 409;
    /// The run does not go on, or has no such call that waits for approval.
    NotRunning = "not_running", 409;
    /// Runs of the conversation go on: stop them first.
    StillRunning = "still_running", 409;
    /// The arguments are not those that the person saw, or not those that the hub has asked about.
    ConsentMismatch = "consent_mismatch", 409;
    /// The event names a run of an agent of this hub: nobody else writes into it.
    RunOfHub = "run_of_hub", 403;
    /// The upstream of a call could not be reached.
    UpstreamUnreachable = "upstream_unreachable", 502;
    /// The upstream of a call was reached and gave no answer.
    UpstreamFailed = "upstream_failed", 502;
    /// A fault of the hub.
    Internal = "internal", 500;
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
