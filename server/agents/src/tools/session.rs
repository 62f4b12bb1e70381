//! A session with one server: its program or its address, its tools, and who waits for its progress.

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

/// How often in a row a stream that broke off is asked for again.
const RECONNECTS_MAX: usize = 6;

/// An open MCP session with one server. Dropping it ends the session and, where there is one, the program.
#[derive(Debug)]
pub(super) struct Session {
    running: RunningService<RoleClient, Listener>,
    /// Its tools, as they were when the session began.
    pub(super) tools: Vec<Tool>,
    /// Hears how far its calls are.
    pub(super) listener: Listener,
    /// Its program, which ends with the session.
    _program: Option<Child>,
}

impl Session {
    /// Reaches a server. Takes as long as the server does.
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
                    egress.sender(upstream).map_err(|error| format!("there is no way to it: {error}"))?;
                let client = OverHttp::new(way);
                faults = Some(client.faults());
                let config = over_http(url, key_env.as_deref(), headers)?;
                let transport = StreamableHttpClientTransport::with_client(client, config);
                (listener.clone().serve(transport).await, None)
            }
        };
        // What the way says is nearer to the cause than what became of it.
        let fault = || faults.as_ref().and_then(|faults| faults.lock().take());
        let running = running
            .map_err(|error| fault().unwrap_or_else(|| format!("it does not speak the protocol: {error}")))?;
        let tools = running.list_all_tools().await.map_err(|error| {
            fault().unwrap_or_else(|| format!("it does not say which tools it has: {error}"))
        })?;
        Ok(Self { running, tools, listener, _program: program })
    }

    /// Who is asked.
    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.running.peer()
    }

    /// Whether it can be asked.
    pub(super) fn is_open(&self) -> bool {
        !self.running.is_closed() && !self.peer().is_transport_closed()
    }
}

/// How a server is spoken to over HTTP.
fn over_http(
    url: &str,
    key_env: Option<&str>,
    headers: &[FilledHeader],
) -> Result<StreamableHttpClientTransportConfig, String> {
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_concurrent_requests(REQUESTS_AT_ONCE)
        .max_sse_event_size(TOOL_MESSAGE_BYTES_MAX)
        .max_json_response_size(TOOL_MESSAGE_BYTES_MAX);
    // Calls have a time of their own; a stream that cannot be had back is not asked for until then.
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
        let mut value = value.map_err(|_secret| format!("the key in {variable} is none"))?;
        value.set_sensitive(true);
        config.custom_headers.insert(AUTHORIZATION, value);
    }
    Ok(config)
}

/// Most calls whose progress is kept although nobody listens yet.
const EARLY_MAX: usize = 64;

/// Hears what a server says unasked: how far calls are. Nothing else is offered to servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Listener(Arc<Mutex<Listening>>);

/// Is told how far a call is. Must not block.
pub(super) type OnProgress = Box<dyn Fn(ToolProgress) + Send + Sync>;

/// Who is told how far one call is.
struct Hearer {
    tool: ToolCallId,
    told: OnProgress,
    /// The highest progress so far.
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

/// Who is told how far which call is.
#[derive(Debug, Default)]
struct Listening {
    told: HashMap<ProgressToken, Hearer>,
    /// The newest progress of calls that nobody listens to: a server may speak before the call that it got is known here.
    /// Bounded by [`EARLY_MAX`]; the oldest goes first.
    early: IndexMap<ProgressToken, ProgressNotificationParam>,
}

/// Somebody who is told how far a call is, until this is dropped.
#[derive(Debug)]
pub(super) struct Told {
    listener: Listener,
    token: ProgressToken,
}

impl Listener {
    /// Tells `told` how far the call is that goes by `token`, also what the server said of it before.
    pub(super) fn listen(&self, token: ProgressToken, tool: ToolCallId, told: OnProgress) -> Told {
        let mut listening = self.0.lock();
        let mut hearer = Hearer { tool, told, highest: f64::NEG_INFINITY };
        if let Some(said) = listening.early.shift_remove(&token) {
            hearer.hear(said);
        }
        listening.told.insert(token.clone(), hearer);
        Told { listener: self.clone(), token }
    }

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
    /// Passes on what was said, unless more progress was said before: rmcp handles each notification in a task of its own, so
    /// they arrive here in any order. A server's progress never falls, as its protocol says.
    fn hear(&mut self, said: ProgressNotificationParam) {
        let ProgressNotificationParam { progress: current, total, message, .. } = said;
        if current < self.highest {
            return;
        }
        self.highest = current;
        (self.told)(progress(self.tool.clone(), current, total, message));
    }
}

impl Drop for Told {
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
