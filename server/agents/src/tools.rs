//! The tools of agents: servers that speak the Model Context Protocol. Each server is reached once for all runs, when one of
//! them first wants its tools, and again when it is gone. What is wrong with a server harms the calls of its own tools alone.
//!
//! The model knows a tool as `server__tool`.

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

/// How long a server that could not be reached is left alone.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// All configured tool servers. One for the hub, shared by all runs; sessions end with it.
#[derive(Debug)]
pub struct Toolbox {
    /// The way out.
    egress: Arc<Egress>,
    servers: BTreeMap<CompactString, Server>,
}

#[derive(Debug)]
struct Server {
    config: ToolServer,
    /// A command that starts another program and lets it die with the hub; empty where programs are started as they are.
    launcher: Arc<[OsString]>,
    /// The way out.
    egress: Arc<Egress>,
    state: Mutex<State>,
}

/// How a server stands.
#[derive(Debug, Default)]
struct State {
    session: Option<Arc<Session>>,
    /// When it could not be reached, and why.
    failed: Option<(Instant, String)>,
}

/// The tools that a model is offered.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// As its API wants them.
    pub(crate) tools: Vec<Value>,
    /// The servers whose tools are not there, and why.
    pub(crate) missing: Vec<(CompactString, String)>,
}

impl Toolbox {
    /// The servers that were set. None is reached yet.
    pub fn new(set: &[ToolServer], launcher: &[OsString], egress: &Arc<Egress>) -> Self {
        let launcher: Arc<[OsString]> = Arc::from(launcher);
        let servers = set.iter().map(|config| {
            let (config, launcher, egress) = (config.clone(), Arc::clone(&launcher), Arc::clone(egress));
            let server = Server { config, launcher, egress, state: Mutex::default() };
            (server.config.name.clone(), server)
        });
        Self { servers: servers.collect(), egress: Arc::clone(egress) }
    }

    /// The tools of the servers `names`, for a model that speaks `api`.
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

    /// The tools of the server at `url`, reached with this key for once: `name`, `description`, `inputSchema`. Else why there
    /// are none.
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

    /// Executes a call with a tool of the servers `names`, until it is over or `abort` is cancelled. Gives a result in any
    /// case but the last. `progress` is told how far the call is.
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
                // The server may be gone, which is the same.
                drop(handle.cancel(Some(String::from("nobody waits for it any more"))).await);
                return None;
            }
            answer = &mut handle.rx => answer,
        };
        Some(match answer {
            Ok(Ok(ServerResult::CallToolResult(result))) => outcome(id, result),
            Ok(Ok(_other)) => failed(id, "the server answered with something that is no result"),
            Ok(Err(ServiceError::TransportSend(error))) => failed(id, &over_http::why(&*error.error)),
            Ok(Err(ServiceError::TransportClosed)) => {
                failed(id, "the answer of the server ended without a result")
            }
            Ok(Err(error)) => failed(id, &error.to_string()),
            Err(_gone) => failed(id, "the server is gone, and the call with it"),
        })
    }

    async fn begin(&self, names: &[CompactString], call: &Execute) -> Result<Called, String> {
        let arguments = arguments(&call.arguments)?;
        let servers = names.iter().filter_map(|name| self.servers.get(name));
        let mine = |server: &&Server| call.name.starts_with(&server.prefix());
        let nobody = || format!("there is no tool {:?}", call.name);
        // A server whose name is the beginning of another's is not meant where both would fit.
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

    /// Ends all servers.
    pub async fn close(&self) {
        for server in self.servers.values() {
            server.state.lock().await.session = None;
        }
    }
}

/// A call that is on its way.
type Called = (Arc<Session>, rmcp::service::RequestHandle<rmcp::RoleClient>);

impl Server {
    /// What the names of its tools begin with.
    fn prefix(&self) -> String {
        format!("{}__", self.config.name)
    }

    /// The name by which the model knows a tool.
    fn offers(&self, tool: &Tool) -> String {
        tool_name(&format!("{}{}", self.prefix(), tool.name))
    }

    /// The session with it; a new one where there is none, or none any more.
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

/// A tool as the API wants it.
pub(crate) fn tool(api: ModelApi, name: &str, description: &str, schema: &Value) -> Value {
    match api {
        ModelApi::OpenAi => json!({
            "type": "function",
            "function": {"name": name, "description": description, "parameters": schema},
        }),
        ModelApi::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
    }
}

/// Arguments as a server takes them.
fn arguments(text: &str) -> Result<JsonObject, String> {
    match text.trim() {
        "" | "null" => Ok(JsonObject::new()),
        text => {
            serde_json::from_str(text).map_err(|error| format!("the arguments are no JSON object: {error}"))
        }
    }
}

/// What a server says about how far a call is. Servers count in fractions too; then it is in percent.
fn progress(tool: ToolCallId, current: f64, total: Option<f64>, text: Option<String>) -> ToolProgress {
    let is_fraction = total.is_some_and(|total| total <= 1.0);
    let factor = if is_fraction { 100.0 } else { 1.0 };
    let whole = |number: f64| format!("{:.0}", number * factor).parse().ok();
    ToolProgress { text, current: whole(current), total: total.and_then(whole), ..ToolProgress::new(tool) }
}
