//! The settings of a hub, checked and put together. Made from the arguments of the binary, or by a test. Each
//! part is defined where it is used: agents, upstreams, doors, sinks, what the log keeps.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use agents::{AgentConfig, ToolServer};
use compact_str::CompactString;
use dialects::custom::UserDialect;
use encode::EncoderSpec;
use hub::Prices;
use model::frame::SilenceThresholds;
use model::limits;
use upstream::Upstream;

use crate::access::AccessConfig;
use crate::balance::Overload;
use crate::door::DoorSettings;
use crate::log_choice::LogChoice;
use crate::page_files::PageFiles;
use crate::redaction::Redaction;
use crate::retention::Retain;
use crate::sharing::PeersConfig;
use crate::sink::Sink;
use crate::tls::TlsFiles;

/// How a hub behaves. The default suits one machine.
#[derive(Debug, Clone)]
pub struct Config {
    /// The log in which events are stored.
    pub log: LogChoice,
    /// Access control; `None` lets everybody on this machine do everything.
    pub access: Option<AccessConfig>,
    /// What is redacted before it is stored and shown; nothing where everything stays as it comes.
    pub redaction: Option<Redaction>,
    /// The certificate for TLS; `None` for plain connections.
    pub tls: Option<TlsFiles>,
    /// Host names, besides those of loopback, under which the hub may be called, for example by a proxy in
    /// front of it.
    pub hosts: Vec<String>,
    /// Dialects that the user describes, besides those that the hub knows.
    pub dialects: Vec<UserDialect>,
    /// Model APIs to which calls are passed on, besides those that are known anyway.
    pub upstreams: Vec<Upstream>,
    /// The agents that can be asked.
    pub agents: Vec<AgentConfig>,
    /// The settings of doors, by name: see [`crate::DOORS`].
    pub compat: BTreeMap<CompactString, DoorSettings>,
    /// The time between two keep-alive messages on a silent event stream; `None` for what is usual in its
    /// dialect.
    pub sse_ping: Option<Duration>,
    /// Origins, besides the hub's own, whose pages may call the doors.
    pub origins: Vec<String>,
    /// The prices of models.
    pub prices: Prices,
    /// MCP servers with tools for agents.
    pub tools: Vec<ToolServer>,
    /// A command that starts another program and ends it when the hub dies. Its arguments are the hub's
    /// process id, then the program and the program's arguments. If it is empty, programs are started
    /// directly.
    pub launcher: Vec<OsString>,
    /// What the log keeps.
    pub retain: Retain,
    /// The time between two rounds of removing what need not be kept.
    pub retain_every: Duration,
    /// The sinks to which events are passed on.
    pub sinks: Vec<Sink>,
    /// The time between two heartbeats on a socket.
    pub heartbeat: Duration,
    /// How long a new socket may take to send `hello`.
    pub hello: Duration,
    /// How long a socket may take no byte before it is closed as dead.
    pub no_progress: Duration,
    /// How long the reader of an HTTP answer may take no byte before its connection is cut.
    pub reader_silent: Duration,
    /// How long a run may have neither an event nor a connection of its publisher before it is called
    /// stalled; zero is for ever.
    pub stalled_after: Duration,
    /// How long a run may have neither an event nor a connection of its publisher before the hub ends it as interrupted; zero is for ever.
    pub interrupted_after: Duration,
    /// When the page says that runs are silent and calls are stuck.
    pub silence: SilenceThresholds,
    /// The least time between two frames of the list of conversations.
    pub fleet_interval: Duration,
    /// How long an unused conversation stays in memory, if the log can give it back.
    pub idle: Duration,
    /// About how much memory, in bytes, conversations may hold together before unused ones leave early. At
    /// one and a half times as much, large ones take no more events until there is room.
    pub memory_target: u64,
    /// The time between two rounds of upkeep.
    pub upkeep: Duration,
    /// How long draining may take before open connections are cut.
    pub drain: Duration,
    /// How long viewers are told to wait before they come back after a drain.
    pub retry: Duration,
    /// How this hub and others reach one another that share its log; nothing for a hub that is alone there.
    pub peers: Option<PeersConfig>,
    /// When this hub gives conversations to others because it has too much to do.
    pub overload: Overload,
    /// The files of the page. A hub without them serves everything else.
    pub page: PageFiles,
}

impl Config {
    /// Whether the hub may listen for other machines: access control is on, and nobody can read along because
    /// connections use TLS or come through a named proxy.
    pub fn may_be_reached(&self) -> bool {
        self.access.as_ref().is_some_and(|access| {
            self.tls.is_some() || !access.proxies.is_empty() || access.trusted.is_some()
        })
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log: LogChoice::Memory,
            access: None,
            redaction: Some(Redaction::default()),
            tls: None,
            hosts: Vec::new(),
            dialects: Vec::new(),
            upstreams: Vec::new(),
            agents: Vec::new(),
            compat: BTreeMap::new(),
            sse_ping: None,
            origins: Vec::new(),
            prices: Prices::default(),
            tools: Vec::new(),
            launcher: Vec::new(),
            retain: Retain::default(),
            retain_every: Duration::from_mins(1),
            sinks: Vec::new(),
            heartbeat: Duration::from_millis(limits::HEARTBEAT_MS),
            hello: Duration::from_millis(limits::HELLO_MS),
            no_progress: Duration::from_millis(limits::NO_PROGRESS_MS),
            reader_silent: Duration::from_millis(limits::READER_SILENT_MS),
            stalled_after: Duration::from_millis(limits::STALLED_AFTER_MS),
            interrupted_after: Duration::from_millis(limits::INTERRUPTED_AFTER_MS),
            silence: SilenceThresholds::default(),
            fleet_interval: Duration::from_millis(500),
            idle: Duration::from_millis(limits::IDLE_MS),
            memory_target: limits::MEMORY_BYTES_TARGET,
            upkeep: Duration::from_secs(1),
            drain: Duration::from_secs(5),
            retry: Duration::from_millis(500),
            peers: None,
            overload: Overload::default(),
            page: PageFiles::default(),
        }
    }
}

impl Config {
    /// The shortest time after which something must be done for a socket.
    pub(crate) fn shortest_deadline(&self) -> Duration {
        self.heartbeat.min(self.hello).min(self.no_progress)
    }

    /// How long a stream in `encoding` may be silent before it sends a keep-alive message. `door` is the door
    /// of its caller; `None` for those who only watch.
    pub(crate) fn ping(&self, encoding: &EncoderSpec, door: Option<&str>) -> Duration {
        let of_door = door.and_then(|door| self.compat.get(door)?.ping);
        of_door.or(self.sse_ping).unwrap_or(Duration::from_millis(encoding.ping_ms))
    }
}
