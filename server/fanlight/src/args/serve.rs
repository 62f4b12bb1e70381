//! The settings of `fanlight serve` and their sources: defaults, then the TOML file, then environment
//! variables, then flags. Later sources take precedence.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::SinkSettings;
use super::access::{AccessSettings, access_table};
use super::agents::{AgentSettings, McpSettings};
use super::amount::{ByteSize, LengthOfTime};
use super::doors::DoorEntry;
use super::layers;
use super::price::PriceSettings;
use super::redact::RedactSettings;
use super::upstreams::{UpstreamSettings, as_tables, named};
use edge::Overload;
use model::limits::{
    HEARTBEAT_MS, IDLE_MS, INTERRUPTED_AFTER_MS, MEMORY_BYTES_TARGET, SILENT_MS, STALLED_AFTER_MS, STUCK_MS,
};

/// The address on which a hub listens by default.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4600);

/// See [`super::CliCommand::Serve`]. Only what was given is here.
#[derive(Debug, Default, clap::Args, Serialize)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes any that is free [default: 127.0.0.1:4600]
    #[arg(long, value_name = "ADDR:PORT", env = "FANLIGHT_LISTEN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where events are kept: memory, sqlite (fanlight.db in the data directory), sqlite:PATH or
    /// `postgres://USER@HOST/DATABASE` [default: sqlite]
    #[arg(long, value_name = "LOG", env = "FANLIGHT_LOG", hide_env_values = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<String>,
    /// Most bytes of a log on disk; beyond, it fails as on a full disk [default: as many as there are]
    #[arg(long, value_name = "BYTES", env = "FANLIGHT_LOG_MAX_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_max_bytes: Option<u64>,
    /// How other hubs reach this one, where several share a log in PostgreSQL: `http://HOST:PORT`; port 0 stands for the one that it
    /// listens on [default: this hub is alone on its log]
    #[arg(long, value_name = "URL", env = "FANLIGHT_HUB_ADDRESS", requires = "hub_secret_file")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hub_address: Option<String>,
    /// A file with a secret of at least 32 bytes, the same for all hubs of a log
    #[arg(long, value_name = "FILE", env = "FANLIGHT_HUB_SECRET_FILE", requires = "hub_address")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hub_secret_file: Option<PathBuf>,
    /// Above which share of its CPU limit a hub that shares its log gives its busiest conversations to others, in percent; 0 to give
    /// and take none [default: 85]
    #[arg(long, value_name = "PERCENT", env = "FANLIGHT_HUB_OVERLOAD", value_parser = clap::value_parser!(u8).range(0..=100))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hub_overload: Option<u8>,
    /// For how many seconds without a pause it must be above before it gives any [default: 30]
    #[arg(long, value_name = "SECONDS", env = "FANLIGHT_HUB_OVERLOAD_AFTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hub_overload_after: Option<u64>,
    /// The directory of what the hub keeps [default: fanlight-data]
    #[arg(long, value_name = "DIR", env = "FANLIGHT_DATA_DIR")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_dir: Option<PathBuf>,
    /// How long a conversation stays after its newest event: 30d, 12h [default: for ever]
    #[arg(long, value_name = "TIME", env = "FANLIGHT_RETAIN_AGE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retain_age: Option<LengthOfTime>,
    /// How much the log may use on its disk before the oldest conversations go: 10GB [default: no bound]
    #[arg(long, value_name = "SIZE", env = "FANLIGHT_RETAIN_BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retain_bytes: Option<ByteSize>,
    /// How many conversations stay [default: no bound]
    #[arg(long, value_name = "N", env = "FANLIGHT_RETAIN_CONVERSATIONS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retain_conversations: Option<u64>,
    /// A TOML file with settings; its keys are in the column `in the file` of `fanlight docs commands`
    #[arg(long, value_name = "FILE", env = "FANLIGHT_CONFIG")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
    /// Let a few made-up agents publish through the public doors, so that there is something to watch
    #[arg(long, env = "FANLIGHT_DEMO", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) demo: Option<bool>,
    /// Who may do what: tokens, each with its grants, which `fanlight token` makes; with first-run the hub makes the first one itself, for
    /// everything, and prints it once [default: everybody on this machine, everything]
    #[arg(long, value_name = "MODE", env = "FANLIGHT_ACCESS", value_parser = ["tokens", "first-run"])]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "access_table")]
    pub(crate) access: Option<String>,
    /// The address of a reverse proxy, or a range of them (10.1.0.0/16), that says in a header who sends a request; may be repeated. Takes
    /// --access tokens and rules for its users in the file
    #[arg(
        long = "trusted-proxy",
        value_name = "ADDRESS",
        env = "FANLIGHT_TRUSTED_PROXIES",
        value_delimiter = ','
    )]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) trusted_proxies: Vec<String>,
    /// The header in which it names the user [default: X-Forwarded-User]
    #[arg(long, value_name = "HEADER", env = "FANLIGHT_TRUSTED_USER_HEADER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trusted_user_header: Option<String>,
    /// The header in which it names the user's groups, with commas between them [default: none]
    #[arg(long, value_name = "HEADER", env = "FANLIGHT_TRUSTED_GROUPS_HEADER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trusted_groups_header: Option<String>,
    /// The certificate for TLS, as PEM; read again when it changes
    #[arg(long, value_name = "FILE", env = "FANLIGHT_TLS_CERT", requires = "tls_key")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", env = "FANLIGHT_TLS_KEY", requires = "tls_cert")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Another name under which the hub may be called, for a proxy in front of it; may be repeated
    #[arg(long = "host", value_name = "NAME", env = "FANLIGHT_HOSTS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) hosts: Vec<String>,
    /// The origin (scheme, name, port) of a page that may call the served contracts from a browser; may be repeated
    #[arg(long = "origin", value_name = "ORIGIN", env = "FANLIGHT_ORIGINS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) origins: Vec<String>,
    /// A YAML file that describes a dialect of your own, taken at /v1/ingest under its name; may be repeated
    #[arg(long, value_name = "FILE", env = "FANLIGHT_DIALECTS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) dialects: Vec<PathBuf>,
    /// A model API that calls to /proxy/NAME/… are passed on to, beside those that are known; may be repeated
    #[arg(long = "upstream", value_name = "NAME=URL", env = "FANLIGHT_UPSTREAMS", value_delimiter = ',', value_parser = named)]
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_tables")]
    pub(crate) upstreams: Vec<(String, String)>,
    /// How many seconds a conversation that nobody uses stays in memory; after that it is read back from the log when it
    /// is asked for [default: 600]
    #[arg(long, value_name = "SECONDS", env = "FANLIGHT_IDLE_AFTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) idle_after: Option<u64>,
    /// About the memory that conversations may hold together before those that nobody uses leave it early; half as much again, and
    /// conversations over 8 MiB take nothing more until there is room: 256MiB, 1GB [default: 64MiB]
    #[arg(long, value_name = "SIZE", env = "FANLIGHT_MEMORY_TARGET")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_target: Option<ByteSize>,
    /// How many seconds a run may be without a word and without a connection of its publisher before it is stalled; 0 is
    /// for ever [default: 15]
    #[arg(long, value_name = "SECONDS", env = "FANLIGHT_STALLED_AFTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stalled_after: Option<u64>,
    /// How many seconds a run may be without a word and without a connection of its publisher before the hub ends it as interrupted; 0 is for ever
    /// [default: 300]
    #[arg(long, value_name = "SECONDS", env = "FANLIGHT_INTERRUPTED_AFTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) interrupted_after: Option<u64>,
    /// How many seconds a run that waits for nobody may say nothing before the page calls it silent (`state:silent`); 0 is for ever
    /// [default: 60]
    #[arg(long, value_name = "SECONDS", env = "FANLIGHT_SILENT_AFTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) silent_after: Option<u64>,
    /// How many seconds a run may be silent before the page puts it under "Needs you"; not less than `silent_after`; 0 is for ever
    /// [default: 600, or `silent_after` if that is more]
    #[arg(long, value_name = "SECONDS", env = "FANLIGHT_SILENT_LONG_AFTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) silent_long_after: Option<u64>,
    /// How many seconds a call may execute before the page calls it stuck; 0 is for ever [default: 300]
    #[arg(long, value_name = "SECONDS", env = "FANLIGHT_STUCK_AFTER")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stuck_after: Option<u64>,
    /// How many seconds a stream of server-sent events is silent before it shows that it is alive [default: 15; 30 in Forge's
    /// dialect]
    #[arg(long, value_name = "SECONDS", env = "FANLIGHT_SSE_PING", value_parser = clap::value_parser!(u64).range(1..=3600))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sse_ping: Option<u64>,
    /// How many seconds lie between two heartbeats of a WebSocket; one that leaves two unanswered is closed [default: 20]
    #[arg(long, value_name = "SECONDS", env = "FANLIGHT_WS_PING", value_parser = clap::value_parser!(u64).range(1..=3600))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ws_ping: Option<u64>,
    /// What the trace on stderr tells: error, warn, info, debug or trace; libraries tell info at most [default: info]
    #[arg(long, value_name = "LEVEL", env = "FANLIGHT_TRACE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace: Option<String>,
    /// How the trace is written [default: lines]
    #[arg(long, value_name = "FORMAT", env = "FANLIGHT_TRACE_FORMAT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_format: Option<TraceFormat>,
}

/// The format of the trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TraceFormat {
    /// One readable line for each record
    #[default]
    Lines,
    /// One JSON object for each record
    Json,
}

/// All settings, merged from all sources.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServeSettings {
    /// The address to listen on.
    pub(crate) listen: SocketAddr,
    /// The log: `memory`, `sqlite`, `sqlite:PATH` or `postgres://…`.
    pub(crate) log: String,
    /// The most bytes of a log on disk.
    pub(crate) log_max_bytes: Option<u64>,
    /// How other hubs of the log reach this one.
    pub(crate) hub_address: Option<String>,
    /// The file with the secret that they have in common.
    pub(crate) hub_secret_file: Option<PathBuf>,
    /// Above how many percent of its CPU limit it gives conversations to other hubs; 0 means never.
    pub(crate) hub_overload: u8,
    /// For how many seconds it must be above.
    pub(crate) hub_overload_after: u64,
    /// How long a conversation is kept after its newest event.
    pub(crate) retain_age: Option<LengthOfTime>,
    /// How much disk space the log may use.
    pub(crate) retain_bytes: Option<ByteSize>,
    /// The number of conversations that are kept.
    pub(crate) retain_conversations: Option<u64>,
    /// The directory of the hub's files.
    pub(crate) data_dir: PathBuf,
    /// Access control; the table `[access]` in the file.
    pub(crate) access: Option<AccessSettings>,
    /// What is redacted; in the file alone, as the table `[redact]`.
    pub(crate) redact: RedactSettings,
    /// Reverse proxies that say who sends a request.
    pub(crate) trusted_proxies: Vec<String>,
    /// The header in which they name the user.
    pub(crate) trusted_user_header: Option<String>,
    /// The header in which they name the user's groups.
    pub(crate) trusted_groups_header: Option<String>,
    /// The certificate for TLS.
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of the certificate.
    pub(crate) tls_key: Option<PathBuf>,
    /// Whether the demo runs.
    pub(crate) demo: bool,
    /// Further names of the hub.
    pub(crate) hosts: Vec<String>,
    /// Origins of pages that may call the served contracts.
    pub(crate) origins: Vec<String>,
    /// Settings of the endpoints for clients of other servers; only in the file, as the table `[compat]`.
    pub(crate) compat: BTreeMap<String, DoorEntry>,
    /// Files that describe dialects.
    pub(crate) dialects: Vec<PathBuf>,
    /// The model APIs of the proxy, by name.
    pub(crate) upstreams: BTreeMap<String, UpstreamSettings>,
    /// How long an unused conversation stays in memory, in seconds.
    pub(crate) idle_after: u64,
    /// About how much memory all conversations may use together.
    pub(crate) memory_target: ByteSize,
    /// After how many seconds a run without its publisher is stalled; 0 means never.
    pub(crate) stalled_after: u64,
    /// After how many seconds such a run is interrupted; 0 means never.
    pub(crate) interrupted_after: u64,
    /// After how many seconds without a word a run is silent; 0 means never.
    pub(crate) silent_after: u64,
    /// After how many seconds a silent run needs a person; 0 means never, `None` the default.
    pub(crate) silent_long_after: Option<u64>,
    /// After how many seconds an executing call is stuck; 0 means never.
    pub(crate) stuck_after: u64,
    /// The time between two pings of a silent stream of server-sent events, in seconds; `None` for the
    /// default of its dialect.
    pub(crate) sse_ping: Option<u64>,
    /// The time between two heartbeats of a WebSocket, in seconds.
    pub(crate) ws_ping: u64,
    /// Where received events are sent on; only in the file, as tables `[[sinks]]`.
    pub(crate) sinks: Vec<SinkSettings>,
    /// The hub's agents, by name; only in the file, as tables `[agents.NAME]`.
    pub(crate) agents: BTreeMap<String, AgentSettings>,
    /// The prices of models, by name or pattern; only in the file, as tables `[prices."MODEL"]`.
    pub(crate) prices: BTreeMap<String, PriceSettings>,
    /// The tool servers, by name; only in the file, as tables `[mcp.NAME]`.
    pub(crate) mcp: BTreeMap<String, McpSettings>,
    /// The level of the trace.
    pub(crate) trace: String,
    /// The format of the trace.
    pub(crate) trace_format: TraceFormat,
}

/// A setting that is invalid; the text says which and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct InvalidSetting(String);

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            listen: LISTEN,
            log: String::from("sqlite"),
            log_max_bytes: None,
            hub_address: None,
            hub_secret_file: None,
            hub_overload: Overload::default().percent,
            hub_overload_after: Overload::default().after.as_secs(),
            retain_age: None,
            retain_bytes: None,
            retain_conversations: None,
            data_dir: PathBuf::from("fanlight-data"),
            access: None,
            redact: RedactSettings::default(),
            trusted_proxies: Vec::new(),
            trusted_user_header: None,
            trusted_groups_header: None,
            tls_cert: None,
            tls_key: None,
            demo: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            compat: BTreeMap::new(),
            dialects: Vec::new(),
            upstreams: BTreeMap::new(),
            sinks: Vec::new(),
            agents: BTreeMap::new(),
            mcp: BTreeMap::new(),
            prices: BTreeMap::new(),
            idle_after: IDLE_MS / 1000,
            memory_target: ByteSize(MEMORY_BYTES_TARGET),
            stalled_after: STALLED_AFTER_MS / 1000,
            interrupted_after: INTERRUPTED_AFTER_MS / 1000,
            silent_after: SILENT_MS / 1000,
            silent_long_after: None,
            stuck_after: STUCK_MS / 1000,
            sse_ping: None,
            ws_ping: HEARTBEAT_MS / 1000,
            trace: String::from("info"),
            trace_format: TraceFormat::Lines,
        }
    }
}

impl ServeArgs {
    /// Merges all sources. The error says what does not fit, its key and its file. Flags and environment
    /// variables were checked before.
    pub(crate) fn settings(&self) -> Result<ServeSettings, InvalidSetting> {
        self.laid().map_err(InvalidSetting)
    }

    /// Lays the sources over one another: defaults, then the file, then environment variables and flags.
    fn laid(&self) -> Result<ServeSettings, String> {
        let mut settings = layers::fields(&ServeSettings::default())?;
        if let Some(file) = &self.config {
            layers::lay(&mut settings, layers::file(file)?);
        }
        layers::lay(&mut settings, layers::fields(self)?);
        layers::fit(settings).map_err(|error| match &self.config {
            Some(file) => format!("{error} in {}", file.display()),
            None => error,
        })
    }
}
