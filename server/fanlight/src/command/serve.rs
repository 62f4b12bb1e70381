//! `fanlight serve`: reads the settings, starts the trace, listens, serves until a signal, and drains.
//!
//! ```text
//! settings ──▶ config ──▶ trace ──▶ listen ──▶ open the log ──▶ "listening on …" ──▶ serve ──signal──▶ drain
//!              │ nothing is opened here: what does not fit is refused before
//! ```

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use agents::{AgentConfig, ToolServer};
use client::HubAddress;
use compact_str::CompactString;
use edge::{Config, DoorSettings, LogChoice, Overload, PageFiles, Redaction, Retain};
use hub::Prices;
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;
use upstream::Upstream;

use super::{Cleaner, CommandError, ResultOutput, runtime};
use crate::args::{ServeArgs, ServeSettings, SinkSettings, TraceFormat, described};
use crate::{panics, telemetry};
use access::{demo_token, reached, tls, wanted as access};
use dialects::custom::UserDialect;
use model::dialect::DECODED;
use model::frame::SilenceThresholds;
use model::limits::{NUMBER_MAX, SILENT_LONG_MS};

mod access;
mod first_run;
mod identities;
pub(crate) mod log;
mod peers;

/// Runs a hub that serves `page` until a signal stops it. Returns once everything is drained and the log is closed (invariant
/// I13). Fails with a usage error for settings that do not fit, and otherwise if the hub cannot listen, the
/// log cannot be opened, or events are not written at the end.
pub(crate) fn run(args: &ServeArgs, page: PageFiles, mut output: ResultOutput) -> Result<(), CommandError> {
    let settings = args.settings().map_err(|error| CommandError::Usage {
        what: format!("the settings are not valid: {error}"),
        mend: String::from("`fanlight serve --help` lists them all"),
    })?;
    let config = Config { page, ..config(&settings)? };
    let format = match settings.trace_format {
        TraceFormat::Lines => telemetry::TraceLayout::Lines,
        TraceFormat::Json => telemetry::TraceLayout::Json,
    };
    telemetry::init(format, &settings.trace, cleaner(config.redaction.as_ref())?);
    panics::say_in_the_trace();
    runtime::many_threads()?.block_on(serve(&settings, config, &mut output))
}

/// Converts the settings into the hub's configuration. Refuses what does not fit, each with its remedy,
/// and an address that others can reach without protection.
fn config(settings: &ServeSettings) -> Result<Config, CommandError> {
    let log = log::log(settings)?;
    let (access, peers) = (access(settings)?, peers::peers(settings, &log)?);
    let tls = tls(settings)?;
    let (hosts, dialects) = (settings.hosts.clone(), dialects(settings)?);
    let sinks = settings.sinks.iter().map(SinkSettings::sink).collect::<Result<_, _>>();
    let sinks = sinks.map_err(|what| CommandError::Usage {
        what: format!("a sink is not valid: {what}"),
        mend: String::from("`fanlight docs operations` says what a sink looks like"),
    })?;
    let upstreams = settings.upstreams.iter().map(|(name, upstream)| upstream.upstream(name));
    let upstreams = upstreams.collect::<Result<Vec<_>, _>>().map_err(|what| CommandError::Usage {
        what,
        mend: String::from("`fanlight docs integrations/proxy` says what an upstream looks like"),
    })?;
    access::keys_are_for_tokens(settings)?;
    let (agents, tools) = agents(settings, &upstreams)?;
    let compat = compat(settings)?;
    let prices = prices(settings)?;
    let config = Config {
        log,
        access,
        peers,
        overload: overload(settings)?,
        redaction: redaction(settings)?,
        tls,
        hosts,
        origins: origins(settings)?,
        compat,
        sse_ping: settings.sse_ping.map(|seconds| ping("sse_ping", seconds)).transpose()?,
        heartbeat: ping("ws_ping", settings.ws_ping)?,
        dialects,
        sinks,
        upstreams,
        agents,
        prices,
        tools,
        launcher: super::alongside::launcher(),
        idle: Duration::from_secs(settings.idle_after),
        memory_target: settings.memory_target.0,
        retain: Retain {
            age: settings.retain_age.map(|age| age.0),
            bytes: settings.retain_bytes.map(|bytes| bytes.0),
            conversations: settings.retain_conversations,
        },
        silence: silence(settings)?,
        stalled_after: Duration::from_secs(settings.stalled_after),
        interrupted_after: Duration::from_secs(settings.interrupted_after),
        ..Config::default()
    };
    if settings.listen.ip().is_loopback() || config.may_be_reached() {
        Ok(config)
    } else {
        Err(reached(settings))
    }
}

/// When the hub is overloaded. A share of more than all, which only the file can name, is refused.
fn overload(settings: &ServeSettings) -> Result<Overload, CommandError> {
    let percent = settings.hub_overload;
    if percent > 100 {
        return Err(CommandError::Usage {
            what: format!("hub_overload is a share of the CPU limit from 0 to 100 percent, not {percent}"),
            mend: String::from("`fanlight docs several-hubs` says what an overloaded hub does"),
        });
    }
    Ok(Overload { percent, after: Duration::from_secs(settings.hub_overload_after) })
}

/// When the page says that runs are silent and calls are stuck. A run cannot be silent for long before it is silent.
fn silence(settings: &ServeSettings) -> Result<SilenceThresholds, CommandError> {
    let ms = |seconds: u64| seconds.saturating_mul(1000).min(NUMBER_MAX);
    let silent_ms = ms(settings.silent_after);
    let silent_long_ms = settings.silent_long_after.map_or_else(|| SILENT_LONG_MS.max(silent_ms), ms);
    if silent_long_ms > 0
        && (silent_ms == 0 || silent_long_ms < silent_ms)
        && settings.silent_long_after.is_some()
    {
        return Err(CommandError::Usage {
            what: format!(
                "silent_long_after is {}, before silent_after ({}), after which a run is silent at all",
                settings.silent_long_after.unwrap_or_default(),
                settings.silent_after
            ),
            mend: String::from("make silent_long_after as long as silent_after or longer, or leave it out"),
        });
    }
    Ok(SilenceThresholds { silent_ms, silent_long_ms, stuck_ms: ms(settings.stuck_after) })
}

/// What is redacted. A pattern that cannot be used is refused here, with its number.
fn redaction(settings: &ServeSettings) -> Result<Option<Redaction>, CommandError> {
    let redaction = settings.redact.redaction();
    // Without the log: nothing is opened for what is refused.
    let checked = redaction.as_ref().map(|redaction| redaction.redactor(&LogChoice::Memory)).transpose();
    checked.map(|_| redaction).map_err(|error| pattern_refused(&error))
}

/// The error for a pattern that cannot be used.
fn pattern_refused(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::Usage {
        what: format!("in the settings, at redact.patterns: {error}"),
        mend: String::from("`fanlight docs redaction` says what a pattern looks like"),
    }
}

/// What takes secrets out of errors and warnings of the trace. Where nothing else is redacted the kinds that are built in are, since the trace is
/// sent to others.
fn cleaner(redaction: Option<&Redaction>) -> Result<Cleaner, CommandError> {
    let usual = Redaction::default();
    let Redaction { builtin, patterns } = redaction.unwrap_or(&usual);
    Cleaner::new(*builtin, patterns).map_err(|error| pattern_refused(&error))
}

/// The prices of models.
fn prices(settings: &ServeSettings) -> Result<Prices, CommandError> {
    let prices = settings.prices.iter().map(|(model, price)| Ok((CompactString::new(model), price.price()?)));
    let prices = prices.collect::<Result<Vec<_>, String>>().map_err(|what| CommandError::Usage {
        what,
        mend: String::from("`fanlight docs integrations/runner` says what a price looks like"),
    })?;
    Ok(Prices::new(prices))
}

/// The settings of the endpoints for clients of other servers.
fn compat(settings: &ServeSettings) -> Result<BTreeMap<CompactString, DoorSettings>, CommandError> {
    let doors = settings.compat.iter().map(|(name, door)| {
        let door = door.door(name, |agent| settings.agents.contains_key(agent));
        door.map(|door| (CompactString::new(name), door))
    });
    doors.collect::<Result<_, _>>().map_err(|what| CommandError::Usage {
        what,
        mend: String::from("`fanlight docs integrations/clients` says what the table [compat] looks like"),
    })
}

/// Checks an interval in seconds: from 1 second to an hour.
fn ping(name: &str, seconds: u64) -> Result<Duration, CommandError> {
    if (1..=3_600).contains(&seconds) {
        return Ok(Duration::from_secs(seconds));
    }
    Err(CommandError::Usage {
        what: format!("{name} is {seconds} seconds"),
        mend: String::from("it is a number of seconds from 1 to 3600"),
    })
}

/// The origins of pages that may call.
fn origins(settings: &ServeSettings) -> Result<Vec<String>, CommandError> {
    let is_one = |origin: &str| {
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['/', '*', ' ', '?', '#']))
    };
    let checked = settings.origins.iter().map(|origin| {
        let origin = origin.trim_end_matches('/').to_ascii_lowercase();
        is_one(&origin).then_some(origin.clone()).ok_or_else(|| CommandError::Usage {
            what: format!("{origin:?} is not an origin"),
            mend: String::from("an origin is a scheme, a name and perhaps a port: http://localhost:5173"),
        })
    });
    checked.collect()
}

/// The dialects that the files describe. Their names must be unique.
fn dialects(settings: &ServeSettings) -> Result<Vec<UserDialect>, CommandError> {
    let mut dialects: Vec<UserDialect> = Vec::new();
    for path in &settings.dialects {
        let wrong = |what: String| CommandError::Usage {
            what,
            mend: String::from("`fanlight docs dialects/user-defined` says what such a file looks like"),
        };
        let dialect = described(path).map_err(wrong)?;
        if DECODED.contains(&dialect.name()) {
            return Err(wrong(format!("{}: {} is a dialect already", path.display(), dialect.name())));
        }
        if dialects.iter().any(|other| other.name() == dialect.name()) {
            return Err(wrong(format!("{}: a second dialect is named {:?}", path.display(), dialect.name())));
        }
        dialects.push(dialect);
    }
    Ok(dialects)
}

/// The agents of the hub, and the tool servers.
fn agents(
    settings: &ServeSettings,
    upstreams: &[Upstream],
) -> Result<(Vec<AgentConfig>, Vec<ToolServer>), CommandError> {
    let wrong = |what: String| CommandError::Usage {
        what,
        mend: String::from("`fanlight docs integrations/runner` says what an agent looks like"),
    };
    let servers = settings.mcp.iter().map(|(name, server)| server.server(name));
    let servers = servers.collect::<Result<_, _>>().map_err(wrong)?;
    let agents = settings.agents.iter().map(|(name, agent)| agent.agent(name, upstreams, &settings.mcp));
    Ok((agents.collect::<Result<_, _>>().map_err(wrong)?, servers))
}

/// Opens the socket and the log, serves until a signal, and drains. The line `listening on …` is the sign
/// that the hub takes connections.
async fn serve(
    settings: &ServeSettings,
    mut config: Config,
    output: &mut ResultOutput,
) -> Result<(), CommandError> {
    let signal = stop_signal()?;
    let listener = open(settings.listen).map_err(|error| {
        CommandError::new(
            format!("cannot listen on {}: {error}", settings.listen),
            "stop what listens there, or choose another port with --listen (port 0 takes any that is free)",
        )
    })?;
    let address = listener.local_addr().map_err(|error| {
        CommandError::new(format!("cannot tell where the hub listens: {error}"), "try another --listen")
    })?;
    config.peers = config.peers.map(|peers| peers.listening_on(address.port()));
    let demo_token = config.access.as_mut().filter(|_| settings.demo).map(demo_token).transpose()?;
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    // Before the hub reads its tokens.
    let first = first_run::token(settings, &config)?;
    let log = config.log.clone();
    // After the listener: a log that was opened without serving could not be told from one whose process
    // died.
    let ready = edge::Ready::new(config).map_err(|error| {
        if let Some(first) = &first {
            first.take_back();
        }
        let what = match &error {
            edge::ServeError::Log(_) => format!("the log was not opened: {error}"),
            _ => error.to_string(),
        };
        CommandError::new(what, "nothing was changed")
    })?;
    match &log {
        LogChoice::Memory => tracing::info!("events are kept in memory until the hub stops"),
        LogChoice::Sqlite { path, .. } => tracing::info!(path = %path.display(), "events are kept on disk"),
        LogChoice::Postgres { url, .. } => tracing::info!(database = %url, "events are kept in PostgreSQL"),
    }
    match output.line(&format!("listening on {scheme}://{address}")) {
        // The hub goes on if nobody reads its stdout.
        Ok(()) | Err(CommandError::NobodyReads) => {}
        Err(failure) => return Err(failure),
    }
    if let Some(first) = first {
        first_run::tell(&first, &first_run::url(settings, scheme, address), output)?;
    }
    let demo = settings.demo.then(|| demo(address, demo_token)).transpose()?;
    let served = ready.serve(listener, signal).await;
    // While the hub drains it refuses what the demo publishes; here the demo ends.
    drop(demo);
    served.map_err(|error| {
        let mend = match &error {
            edge::ServeError::Unwritten(_) => {
                "what was acked as stored is kept; publishers that wait for that send the rest again"
            }
            edge::ServeError::Overtaken => {
                "start it again, unless the other one has the log for itself; what was acked as stored is kept"
            }
            _ => "see the trace above",
        };
        CommandError::new(format!("the hub at {address} stopped: {error}"), mend)
    })
}

/// How many connections may wait to be accepted; the system may allow fewer. The usual 128 are too few when
/// all viewers of a hub reconnect at once: those without room try again after one second, and then after
/// three.
const KNOCKING_MAX: u32 = 4_096;

/// A socket that listens at `address`.
fn open(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As tokio does by default: a restarted hub must get the port of the previous one.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(KNOCKING_MAX)
}

/// Starts the demo, which runs until the returned set is dropped.
fn demo(address: SocketAddr, token: Option<String>) -> Result<JoinSet<()>, CommandError> {
    let hub = format!("http://{address}").parse::<HubAddress>();
    let hub = hub.map_err(|error| CommandError::new(error.to_string(), "leave --demo out"))?;
    let mut tasks = JoinSet::new();
    // It is the hub of this process, whatever address of this machine it listens at.
    tasks.spawn(crate::demo::run(hub.with_token(token).accepting_plain_token()));
    Ok(tasks)
}

/// Completes at SIGTERM or Ctrl-C.
#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()> + Send, CommandError> {
    use tokio::signal::unix::{SignalKind, signal};

    let listen = |kind| {
        signal(kind).map_err(|error| {
            CommandError::new(format!("cannot listen for signals: {error}"), "this is a fault of the system")
        })
    };
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Completes when Ctrl-C is pressed.
#[cfg(not(unix))]
fn stop_signal() -> Result<impl Future<Output = ()> + Send, CommandError> {
    Ok(async {
        // Without the signal, the hub runs until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
