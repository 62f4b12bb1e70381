//! A session with one server: its program or its address, its tools, and the receivers of its progress
//! reports.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use hyper::header::{AUTHORIZATION, HeaderValue};
use indexmap::IndexMap;
use model::ToolCallId;
use model::event::ToolProgress;
use model::limits::TOOL_MESSAGE_BYTES_MAX;
use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken, Tool,
};
use rmcp::service::{NotificationContext, Peer, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use tokio::process::Child;
use upstream::Egress;

use super::over_http::OverHttp;
use super::{nursery, progress};
use crate::settings::{FilledHeader, Reach, ToolServer};

/// Most requests to one server at the same time.
const REQUESTS_AT_ONCE: usize = 64;

/// How many times in a row a broken stream is opened again.
const RECONNECTS_MAX: usize = 6;

/// An open MCP session with one server. Dropping it ends the session and the program, if there is one.
#[derive(Debug)]
pub(super) struct Session {
    /// The library's side of the session, with a task of its own.
    running: RunningService<RoleClient, Listener>,
    /// The tools of the server, as they were when the session began.
    pub(super) tools: Vec<Tool>,
    /// Receives the progress of its calls.
    pub(super) listener: Listener,
    /// The program of the server, which ends with the session.
    _program: Option<Child>,
}

impl Session {
    /// Connects to a server and lists its tools. Takes as long as the server does; the caller limits the
    /// time.
    pub(super) async fn begin(
        config: &ToolServer,
        launcher: &[OsString],
        egress: &Egress,
    ) -> Result<Self, String> {
        let listener = Listener::default();
        let mut faults = None;
        let (running, program) = match &config.reach {
            Reach::Program { command, env, directory } => {
                let mut program = nursery::start(launcher, command, env, directory.as_deref()).await?;
                let pipes = program.stdout.take().zip(program.stdin.take());
                let (stdout, stdin) = pipes.ok_or_else(|| String::from("its program has no pipes"))?;
                let transport =
                    AsyncRwTransport::new(stdout, stdin).with_max_line_length(TOOL_MESSAGE_BYTES_MAX);
                (listener.clone().serve(transport).await, Some(program))
            }
            Reach::Http { url, upstream, key_env, headers } => {
                let way =
                    egress.sender(upstream).map_err(|error| format!("it cannot be reached: {error}"))?;
                let client = OverHttp::new(way);
                faults = Some(client.faults());
                let config = over_http(url, key_env.as_deref(), headers)?;
                let transport = StreamableHttpClientTransport::with_client(client, config);
                (listener.clone().serve(transport).await, None)
            }
        };
        // The HTTP client's words are nearer to the cause than the library's.
        let fault = || faults.as_ref().and_then(|faults| faults.lock().take());
        let running = running
            .map_err(|error| fault().unwrap_or_else(|| format!("it does not speak the protocol: {error}")))?;
        let tools = running.list_all_tools().await.map_err(|error| {
            fault().unwrap_or_else(|| format!("it does not say which tools it has: {error}"))
        })?;
        Ok(Self { running, tools, listener, _program: program })
    }

    /// The other side, for sending requests.
    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.running.peer()
    }

    /// Whether requests can be sent.
    pub(super) fn is_open(&self) -> bool {
        !self.running.is_closed() && !self.peer().is_transport_closed()
    }
}

/// The settings for a server over HTTP.
fn over_http(
    url: &str,
    key_env: Option<&str>,
    headers: &[FilledHeader],
) -> Result<StreamableHttpClientTransportConfig, String> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_concurrent_requests(REQUESTS_AT_ONCE)
        .max_sse_event_size(TOOL_MESSAGE_BYTES_MAX)
        .max_json_response_size(TOOL_MESSAGE_BYTES_MAX);
    // Calls have a time limit of their own; a stream that cannot be reopened is given up long before.
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(RECONNECTS_MAX);
    config.retry_config = Arc::new(backoff);
    for header in headers {
        config.custom_headers.insert(header.name.clone(), header.filled()?);
    }
    if let Some(variable) = key_env {
        let key = std::env::var(variable);
        let key =
            key.map_err(|_unset| format!("the environment variable {variable} with its key is not set"))?;
        let value = HeaderValue::from_str(&format!("Bearer {}", key.trim()));
        let mut value =
            value.map_err(|_secret| format!("the key in {variable} cannot be sent in a header"))?;
        value.set_sensitive(true);
        config.custom_headers.insert(AUTHORIZATION, value);
    }
    Ok(config)
}

/// Most calls whose progress is kept although nobody receives it yet.
const EARLY_MAX: usize = 64;

/// Receives what a server says without being asked: the progress of calls. Servers are offered nothing else.
/// Clones share the receivers.
#[derive(Debug, Clone, Default)]
pub(super) struct Listener(Arc<Mutex<Listening>>);

/// Called with the progress of a call. Must not block.
pub(super) type OnProgress = Box<dyn Fn(ToolProgress) + Send + Sync>;

/// The receiver of one call's progress.
struct Hearer {
    /// The call, by its id in the run.
    tool: ToolCallId,
    /// Called with each report that is passed on.
    told: OnProgress,
    /// The highest progress that was passed on.
    highest: f64,
}

impl fmt::Debug for Hearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hearer")
            .field("tool", &self.tool)
            .field("highest", &self.highest)
            .finish_non_exhaustive()
    }
}

/// The receivers of progress, by token.
#[derive(Debug, Default)]
struct Listening {
    /// Calls whose progress somebody receives.
    told: HashMap<ProgressToken, Hearer>,
    /// The newest progress of calls without a receiver, because a server may report before the token of a
    /// call is known here. Bounded by [`EARLY_MAX`]; the oldest goes first.
    early: IndexMap<ProgressToken, ProgressNotificationParam>,
}

/// A registered receiver of one call's progress. Dropping it unregisters the receiver; reports that come
/// later are kept as early ones.
#[derive(Debug)]
pub(super) struct ProgressRegistration {
    /// The listener that it is registered with.
    listener: Listener,
    /// The token of the call.
    token: ProgressToken,
}

impl Listener {
    /// Registers `told` for the call with this token. It also gets what the server has reported before.
    pub(super) fn listen(
        &self,
        token: ProgressToken,
        tool: ToolCallId,
        told: OnProgress,
    ) -> ProgressRegistration {
        let mut listening = self.0.lock();
        let mut hearer = Hearer { tool, told, highest: f64::NEG_INFINITY };
        if let Some(said) = listening.early.shift_remove(&token) {
            hearer.hear(said);
        }
        listening.told.insert(token.clone(), hearer);
        ProgressRegistration { listener: self.clone(), token }
    }

    /// Passes a report to its receiver, or keeps it.
    fn hear(&self, said: ProgressNotificationParam) {
        let mut listening = self.0.lock();
        if let Some(hearer) = listening.told.get_mut(&said.progress_token) {
            hearer.hear(said);
            return;
        }
        if listening.early.get(&said.progress_token).is_some_and(|known| known.progress > said.progress) {
            return;
        }
        if listening.early.len() >= EARLY_MAX {
            listening.early.shift_remove_index(0);
        }
        listening.early.insert(said.progress_token.clone(), said);
    }
}

impl Hearer {
    /// Passes on a report, unless a higher one was passed on before: rmcp handles each notification in a task
    /// of its own, so they arrive in any order. According to the protocol, a server's progress never falls.
    fn hear(&mut self, said: ProgressNotificationParam) {
        let ProgressNotificationParam { progress: current, total, message, .. } = said;
        if current < self.highest {
            return;
        }
        self.highest = current;
        (self.told)(progress(self.tool.clone(), current, total, message));
    }
}

impl Drop for ProgressRegistration {
    fn drop(&mut self) {
        self.listener.0.lock().told.remove(&self.token);
    }
}

impl ClientHandler for Listener {
    async fn on_progress(&self, said: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        self.hear(said);
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("fanlight", env!("CARGO_PKG_VERSION")),
        )
    }
}

#[cfg(test)]
mod tests;
