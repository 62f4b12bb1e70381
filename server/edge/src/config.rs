//! What can be set about a hub, checked and put together. Made from the arguments of the binary, or by a test. Each part is defined by
//! who decides about it: agents, upstreams, doors, sinks, what the log keeps.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use agents::{AgentConfig, ToolServer};
use compact_str::CompactString;
use dialects::custom::UserDialect;
use encode::EncoderSpec;
use hub::Prices;
use model::limits;
use upstream::Upstream;

use crate::access::AccessConfig;
use crate::door::Door;
use crate::redaction::Redaction;
use crate::retention::Retain;
use crate::sink::Sink;
use crate::tls::TlsFiles;

/// How a hub behaves. The default is right for one machine.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where events are kept.
    pub log: LogChoice,
    /// Access control; nothing where everybody on this machine may do everything.
    pub access: Option<AccessConfig>,
    /// What is redacted before it is stored and shown; nothing where everything stays as it comes.
    pub redaction: Option<Redaction>,
    /// The certificate for TLS; nothing for plain connections.
    pub tls: Option<TlsFiles>,
    /// Host names besides loopback's under which the hub may be called (a proxy in front of it).
    pub hosts: Vec<String>,
    /// Dialects of the user's own, taken beside those that the hub reads anyway.
    pub dialects: Vec<UserDialect>,
    /// Model APIs that calls are passed on to, beside those that are known anyway.
    pub upstreams: Vec<Upstream>,
    /// Agents that can be asked.
    pub agents: Vec<AgentConfig>,
    /// What was set about doors, by their names: see [`crate::DOORS`].
    pub compat: BTreeMap<CompactString, Door>,
    /// Between two signs of life on a silent stream of server-sent events; nothing for what is usual in its dialect.
    pub sse_ping: Option<Duration>,
    /// Origins besides the hub's own whose pages may call the served contracts.
    pub origins: Vec<String>,
    /// What models cost.
    pub prices: Prices,
    /// Servers with tools for them.
    pub tools: Vec<ToolServer>,
    /// A command that starts another program and lets it die with the hub. It is given the number of the hub's process, and
    /// then the program and its arguments. Without it programs are started as they are.
    pub launcher: Vec<OsString>,
    /// What the log keeps of what is over.
    pub retain: Retain,
    /// Between two rounds of dropping what need not stay.
    pub retain_every: Duration,
    /// Where what is taken in goes out again.
    pub sinks: Vec<Sink>,
    /// Between two heartbeats on a socket.
    pub heartbeat: Duration,
    /// How long a new socket may stay without `hello`.
    pub hello: Duration,
    /// How long a socket may take no byte before it is closed as dead.
    pub no_progress: Duration,
    /// How long the reader of an answer over HTTP may take no byte before its connection is cut.
    pub reader_silent: Duration,
    /// How long a run may be without a word and without a connection of its publisher before it is stalled; none is for
    /// ever.
    pub stalled_after: Duration,
    /// The same until the hub ends it.
    pub interrupted_after: Duration,
    /// Between two frames of the list of conversations.
    pub fleet_interval: Duration,
    /// How long a conversation that nobody uses stays in memory, where the log can give it back.
    pub idle: Duration,
    /// About the memory that conversations may hold together, in bytes, before those that nobody uses leave it early. Half as much
    /// again, and large ones take nothing more until there is room.
    pub memory_target: u64,
    /// Between two rounds of what the hub does beside the traffic.
    pub upkeep: Duration,
    /// How long the drain may take before what is still open is cut.
    pub drain: Duration,
    /// What viewers are told to wait before they come back after a drain.
    pub retry: Duration,
}

impl Config {
    /// Whether the hub may be reached from other machines: only those who are known may do anything, and nobody reads along, since
    /// it is over TLS or by way of a proxy that was named.
    pub fn may_be_reached(&self) -> bool {
        self.access.as_ref().is_some_and(|access| self.tls.is_some() || !access.proxies.is_empty())
    }
}

/// Where events are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LogChoice {
    /// In memory, gone with the process.
    #[default]
    Memory,
    /// On disk, in one SQLite file.
    Sqlite {
        /// The file; made with its directory where there is none.
        path: PathBuf,
        /// Most bytes of the file; beyond, the log fails as on a full disk.
        max_bytes: Option<u64>,
    },
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
            fleet_interval: Duration::from_millis(500),
            idle: Duration::from_millis(limits::IDLE_MS),
            memory_target: limits::MEMORY_BYTES_TARGET,
            upkeep: Duration::from_secs(1),
            drain: Duration::from_secs(5),
            retry: Duration::from_millis(500),
        }
    }
}

impl Config {
    /// How long a stream is silent before it shows that it is alive. `door` is nothing for those who only watch.
    pub(crate) fn ping(&self, encoding: &EncoderSpec, door: Option<&str>) -> Duration {
        let of_door = door.and_then(|door| self.compat.get(door)?.ping);
        of_door.or(self.sse_ping).unwrap_or(Duration::from_millis(encoding.ping_ms))
    }
}
