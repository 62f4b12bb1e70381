//! A session with one server: its program or its address, its tools, and who waits for its progress.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken, Tool,
};
use rmcp::service::{NotificationContext, Peer, RunningService};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use shared::ToolCallId;
use shared::limits::TOOL_MESSAGE_BYTES_MAX;
use tokio::process::Child;
use tokio::sync::mpsc;

use super::{nursery, progress};
use crate::config::{Reach, ToolServer};
use crate::runner::shell::Note;

/// See the module.
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
    pub(super) async fn begin(config: &ToolServer, launcher: &[OsString]) -> Result<Self, String> {
        let listener = Listener::default();
        let (running, program) = match &config.reach {
            Reach::Program { command, env, directory } => {
                let mut program = nursery::start(launcher, command, env, directory.as_deref()).await?;
                let pipes = program.stdout.take().zip(program.stdin.take());
                let (stdout, stdin) = pipes.ok_or_else(|| String::from("its program has no pipes"))?;
                let transport =
                    AsyncRwTransport::new(stdout, stdin).with_max_line_length(TOOL_MESSAGE_BYTES_MAX);
                (listener.clone().serve(transport).await, Some(program))
            }
            Reach::Http { url, key_env } => {
                let transport = over_http(url, key_env.as_deref())?;
                (listener.clone().serve(transport).await, None)
            }
        };
        let running = running.map_err(|error| format!("it does not speak the protocol: {error}"))?;
        let tools = running.list_all_tools().await;
        let tools = tools.map_err(|error| format!("it does not say which tools it has: {error}"))?;
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

fn over_http(
    url: &str,
    key_env: Option<&str>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let client = reqwest::Client::builder().build().map_err(|error| error.to_string())?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url);
    if let Some(variable) = key_env {
        let key = std::env::var(variable);
        let key =
            key.map_err(|_unset| format!("the environment variable {variable} with its key is not set"))?;
        let value = HeaderValue::from_str(&format!("Bearer {}", key.trim()));
        let mut value = value.map_err(|_secret| format!("the key in {variable} is none"))?;
        value.set_sensitive(true);
        config.custom_headers.insert(HeaderName::from_static("authorization"), value);
    }
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Hears what a server says unasked: how far calls are. Nothing else is offered to servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Listener(Arc<Mutex<Listening>>);

/// Who is told how far which call is.
type Listening = HashMap<ProgressToken, (ToolCallId, mpsc::Sender<Note>)>;

/// Somebody who is told how far a call is, until this is dropped.
#[derive(Debug)]
pub(super) struct Told {
    listener: Listener,
    token: ProgressToken,
}

impl Listener {
    /// Tells `notes` how far the call is that goes by `token`.
    pub(super) fn listen(&self, token: ProgressToken, tool: ToolCallId, notes: mpsc::Sender<Note>) -> Told {
        self.0.lock().insert(token.clone(), (tool, notes));
        Told { listener: self.clone(), token }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.listener.0.lock().remove(&self.token);
    }
}

impl ClientHandler for Listener {
    async fn on_progress(&self, said: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let ProgressNotificationParam { progress_token, progress: current, total, message, .. } = said;
        let Some((tool, notes)) = self.0.lock().get(&progress_token).cloned() else { return };
        // Only the newest counts: where too many wait, this one is not missed.
        drop(notes.try_send(Note::Progress(progress(tool, current, total, message))));
    }

    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("fanlight", env!("CARGO_PKG_VERSION")),
        )
    }
}
