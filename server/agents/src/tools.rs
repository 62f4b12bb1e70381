//! The tools of agents: servers that speak the Model Context Protocol. Each server is connected once for all
//! runs, when one of them first wants its tools, and again after it is lost. If something is wrong with a
//! server, only calls of its own tools fail.
//!
//! The model sees the name of a tool as `server__tool`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use compact_str::CompactString;
use encode::reconstruct::tool_name;
use model::ToolCallId;
use model::event::{ToolProgress, ToolResult};
use model::limits::OFFERED_TOOLS_MAX;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, ServerResult, Tool};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use upstream::{Api, Egress, Upstream};

use crate::run::{Execute, failed};
use crate::settings::{FilledHeader, ModelApi, Reach, ToolServer};

mod nursery;
mod outcome;
mod over_http;
mod session;

use outcome::outcome;
use session::{OnProgress, Session};

/// How long a server that could not be reached is not tried again.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// All tool servers in the settings. One for each hub, shared by all runs; their sessions end with it.
#[derive(Debug)]
pub struct Toolbox {
    /// The way to other servers, for servers that are not in the settings.
    egress: Arc<Egress>,
    /// The tool servers, by name.
    servers: BTreeMap<CompactString, Server>,
}

/// A tool server and what it answered last.
#[derive(Debug)]
struct Server {
    /// The settings of the server.
    config: ToolServer,
    /// A command that starts another program and ends it when the hub dies; empty to start programs directly.
    launcher: Arc<[OsString]>,
    /// The way to other servers.
    egress: Arc<Egress>,
    /// Locked while it is connected, so that all who want its tools wait for one attempt.
    state: Mutex<State>,
}

/// The connection to a server.
#[derive(Debug, Default)]
struct State {
    /// The open session; `None` before the first use and after it was lost.
    session: Option<Arc<Session>>,
    /// When it last could not be reached, and why.
    failed: Option<(Instant, String)>,
}

/// The tools that a model is offered.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// The tools in the form of the model's API.
    pub(crate) tools: Vec<Value>,
    /// The servers whose tools cannot be used, each with the reason.
    pub(crate) missing: Vec<(CompactString, String)>,
}

impl Toolbox {
    /// Makes a toolbox of the servers that are set. None is connected yet.
    pub fn new(set: &[ToolServer], launcher: &[OsString], egress: &Arc<Egress>) -> Self {
        let launcher: Arc<[OsString]> = Arc::from(launcher);
        let servers = set.iter().map(|config| {
            let (config, launcher, egress) = (config.clone(), Arc::clone(&launcher), Arc::clone(egress));
            let server = Server { config, launcher, egress, state: Mutex::default() };
            (server.config.name.clone(), server)
        });
        Self { servers: servers.collect(), egress: Arc::clone(egress) }
    }

    /// The tools of the servers `names`, for a model with the API `api`. Connects servers if necessary, and
    /// waits for the slowest.
    pub(crate) async fn offer(&self, names: &[CompactString], api: ModelApi) -> Offer {
        let mut offer = Offer::default();
        let mut known = std::collections::BTreeSet::new();
        let servers = names.iter().filter_map(|name| self.servers.get(name));
        let reached = futures_util::future::join_all(
            servers.map(|server| async move { (server, server.session().await) }),
        );
        for (server, session) in reached.await {
            match session {
                Err(why) => offer.missing.push((server.config.name.clone(), why)),
                Ok(session) => {
                    for it in &session.tools {
                        let name = server.offers(it);
                        if offer.tools.len() < OFFERED_TOOLS_MAX && known.insert(name.clone()) {
                            let description = it.description.as_deref().unwrap_or_default();
                            let schema = Value::Object(JsonObject::clone(&it.input_schema));
                            offer.tools.push(tool(api, &name, description, &schema));
                        }
                    }
                }
            }
        }
        offer
    }

    /// The tools of the servers `names`, for people: `name`, `description`, `inputSchema`.
    pub async fn list(&self, names: &[CompactString]) -> Vec<Value> {
        let mut tools = self.offer(names, ModelApi::Anthropic).await.tools;
        for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
            if let Some(schema) = tool.remove("input_schema") {
                tool.insert("inputSchema".to_owned(), schema);
            }
        }
        tools
    }

    /// Connects to the server at `url` with this key, lists its tools (`name`, `description`, `inputSchema`)
    /// and disconnects. The error says why it failed.
    pub async fn probe(
        &self,
        url: &str,
        key: Option<&str>,
        patience: Duration,
    ) -> Result<Vec<Value>, String> {
        let upstream = Upstream::new("tools", url, Api::OpenAi).map_err(|error| error.to_string())?;
        let headers = key.map(FilledHeader::bearer).into_iter().collect();
        let reach = Reach::Http { url: url.to_owned(), upstream: Box::new(upstream), key_env: None, headers };
        let config = ToolServer { name: "tools".into(), reach, patience };
        let begun = tokio::time::timeout(patience, Session::begin(&config, &[], &self.egress)).await;
        let session =
            begun.map_err(|_elapsed| format!("it does not answer within {} s", patience.as_secs()))??;
        let told = |tool: &Tool| {
            let description = tool.description.as_deref().unwrap_or_default();
            json!({"name": tool.name, "description": description, "inputSchema": *tool.input_schema})
        };
        Ok(session.tools.iter().take(OFFERED_TOOLS_MAX).map(told).collect())
    }

    /// Executes a call with a tool of the servers `names`. Always returns a result, a failed one if something
    /// went wrong, unless `abort` is cancelled before. `progress` is called with the progress of the call.
    pub(crate) async fn execute(
        &self,
        names: &[CompactString],
        call: &Execute,
        progress: OnProgress,
        abort: &CancellationToken,
    ) -> Option<ToolResult> {
        let id = call.tool.clone();
        let called = tokio::select! {
            biased;
            () = abort.cancelled() => return None,
            called = self.begin(names, call) => called,
        };
        let (session, mut handle) = match called {
            Ok(called) => called,
            Err(why) => return Some(failed(id, &why)),
        };
        let _told = session.listener.listen(handle.progress_token.clone(), id.clone(), progress);
        let answer = tokio::select! {
            biased;
            () = abort.cancelled() => {
                // If the server is gone, the call is over anyway.
                drop(handle.cancel(Some(String::from("nobody waits for it any more"))).await);
                return None;
            }
            answer = &mut handle.rx => answer,
        };
        Some(match answer {
            Ok(Ok(ServerResult::CallToolResult(result))) => outcome(id, result),
            Ok(Ok(_other)) => failed(id, "the server's answer is not a result"),
            Ok(Err(ServiceError::TransportSend(error))) => failed(id, &over_http::why(&*error.error)),
            Ok(Err(ServiceError::TransportClosed)) => {
                failed(id, "the answer of the server ended without a result")
            }
            Ok(Err(error)) => failed(id, &error.to_string()),
            Err(_gone) => failed(id, "the server is gone, and the call with it"),
        })
    }

    /// Finds the tool, connects its server if necessary, and sends the call.
    async fn begin(&self, names: &[CompactString], call: &Execute) -> Result<Called, String> {
        let arguments = arguments(&call.arguments)?;
        let servers = names.iter().filter_map(|name| self.servers.get(name));
        let mine = |server: &&Server| call.name.starts_with(&server.prefix());
        let nobody = || format!("there is no tool {:?}", call.name);
        // If one server's name is the beginning of another's, the longer name that fits is meant.
        let server = servers.filter(mine).max_by_key(|server| server.config.name.len()).ok_or_else(nobody)?;
        let session = server.session().await?;
        let tool = session.tools.iter().find(|tool| server.offers(tool) == call.name).ok_or_else(nobody)?;
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = session.peer().send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        match sent {
            Ok(handle) => Ok((session, handle)),
            Err(error) => Err(format!("the server {} cannot be asked: {error}", server.config.name)),
        }
    }

    /// Ends the sessions with all servers.
    pub async fn close(&self) {
        for server in self.servers.values() {
            server.state.lock().await.session = None;
        }
    }
}

/// A call that was sent.
type Called = (Arc<Session>, rmcp::service::RequestHandle<rmcp::RoleClient>);

impl Server {
    /// The beginning of the names of its tools.
    fn prefix(&self) -> String {
        format!("{}__", self.config.name)
    }

    /// The name of a tool as the model sees it.
    fn offers(&self, tool: &Tool) -> String {
        tool_name(&format!("{}{}", self.prefix(), tool.name))
    }

    /// The session with the server; a new one if there is none or it is lost. Several callers wait for the
    /// same attempt.
    async fn session(&self) -> Result<Arc<Session>, String> {
        let mut state = self.state.lock().await;
        if let Some(session) = state.session.as_ref().filter(|session| session.is_open()) {
            return Ok(Arc::clone(session));
        }
        if let Some((at, why)) = &state.failed
            && at.elapsed() < LEFT_ALONE
        {
            return Err(why.clone());
        }
        state.session = None;
        let begun = tokio::time::timeout(
            self.config.patience,
            Session::begin(&self.config, &self.launcher, &self.egress),
        )
        .await;
        let begun = begun.unwrap_or_else(|_elapsed| {
            Err(format!("it does not answer within {} s", self.config.patience.as_secs()))
        });
        match begun {
            Ok(session) => {
                let session = Arc::new(session);
                (state.session, state.failed) = (Some(Arc::clone(&session)), None);
                Ok(session)
            }
            Err(why) => {
                tracing::warn!(server = %self.config.name, why, "no tools");
                state.failed = Some((Instant::now(), why.clone()));
                Err(why)
            }
        }
    }
}

/// A tool in the form of the model's API.
pub(crate) fn tool(api: ModelApi, name: &str, description: &str, schema: &Value) -> Value {
    match api {
        ModelApi::OpenAi => json!({
            "type": "function",
            "function": {"name": name, "description": description, "parameters": schema},
        }),
        ModelApi::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
    }
}

/// Parses arguments, which must be an object or empty.
fn arguments(text: &str) -> Result<JsonObject, String> {
    match text.trim() {
        "" | "null" => Ok(JsonObject::new()),
        text => serde_json::from_str(text)
            .map_err(|error| format!("the arguments are not a JSON object: {error}")),
    }
}

/// Converts a server's report of progress. Some servers count in fractions of 1; those become percent.
fn progress(tool: ToolCallId, current: f64, total: Option<f64>, text: Option<String>) -> ToolProgress {
    let is_fraction = total.is_some_and(|total| total <= 1.0);
    let factor = if is_fraction { 100.0 } else { 1.0 };
    let whole = |number: f64| format!("{:.0}", number * factor).parse().ok();
    ToolProgress { text, current: whole(current), total: total.and_then(whole), ..ToolProgress::new(tool) }
}
