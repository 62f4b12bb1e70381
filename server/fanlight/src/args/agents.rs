//! The tables `[agents.NAME]` and `[mcp.NAME]` of the settings file.
//!
//! `file` reads providers from YAML files, `streaming` the settings of streams, `mcp` the tool servers.
//!
//! ```toml
//! [agents.writer]                 # a runner: the hub asks the model and executes its calls
//! kind = "runner"
//! provider = "anthropic"          # a known provider, a name of [upstreams], or a YAML file; or a url
//! model = "claude-sonnet-4-5"
//! tools = ["time"]                # tables [mcp.NAME]
//! confirm = ["time__set_*"]
//!
//! [agents.planner]                # an agent in another server
//! kind = "langgraph"
//! url = "http://127.0.0.1:2024"
//! model = "agent"
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use agents::{AgentConfig, AgentKind, Plan, Provider, RemoteConfig, RemoteKind, RunnerConfig};
use dialects::text_calls::TextForm;
use model::event::FileKind;
use model::price::Price;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use upstream::Upstream;

use super::price::PriceSettings;

mod file;
mod mcp;
mod streaming;

pub(crate) use mcp::McpSettings;
use streaming::StreamingSettings;

/// How long a remote agent may be silent, in seconds, unless set.
const SILENCE_SECONDS: u64 = 120;

/// How many pieces of an answer may wait for the agent, unless set.
const NOTES_MAX: usize = 16;

/// A table of an agent. Which fields are allowed depends on its kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AgentSettings {
    /// `runner`, or the protocol of a remote agent.
    kind: String,
    /// The provider of the model.
    provider: Option<String>,
    /// The base URL of the model or of the remote agent.
    url: Option<String>,
    /// The model; for a remote agent, the model, agent or graph there.
    model: Option<String>,
    /// The environment variable with the key.
    key_env: Option<String>,
    /// A file with certificates that are trusted for it.
    ca: Option<PathBuf>,
    /// The system prompt of the agent.
    system: Option<String>,
    /// The kinds of files that its model takes: `image`, `pdf`, `text`; all unless it is said.
    files: Option<Vec<String>>,
    /// The tool servers that it may use.
    tools: Vec<String>,
    /// The tools that need a person's consent.
    confirm: Vec<String>,
    /// The most tokens of an answer.
    max_tokens: Option<u64>,
    /// The most answers of the model in a run.
    max_steps: Option<u32>,
    /// The most attempts at one answer.
    max_attempts: Option<u32>,
    /// The most calls that are executed at the same time.
    max_calls: Option<usize>,
    /// How long a call may take, in seconds.
    call_seconds: Option<u64>,
    /// How long a model or a remote agent may be silent, in seconds.
    silence_seconds: Option<u64>,
    /// How calls are written in the text: `xml`, `json` or `both`.
    text_calls: Option<String>,
    /// How its answers are taken while they stream: the name of a file, or the settings themselves.
    streaming: Option<Value>,
    /// Further fields of each request to the model.
    request: Map<String, Value>,
    /// The price of its tokens, if it differs from that of its model.
    price: Option<PriceSettings>,
}

impl AgentSettings {
    /// Converts the table; the error says what is wrong. `servers` are the tool servers in the settings.
    pub(crate) fn agent(
        &self,
        name: &str,
        upstreams: &[Upstream],
        servers: &BTreeMap<String, McpSettings>,
    ) -> Result<AgentConfig, String> {
        if !is_plain(name) {
            return Err(format!(
                "the name of an agent has letters, digits, - and _ alone, and {name:?} has others"
            ));
        }
        let kind = if self.kind == "runner" {
            AgentKind::Runner(Box::new(self.runner(name, upstreams, servers)?))
        } else {
            AgentKind::Remote(Box::new(self.remote(name)?))
        };
        Ok(AgentConfig { name: name.into(), kind })
    }

    /// Converts the table of an agent that the hub executes.
    fn runner(
        &self,
        name: &str,
        upstreams: &[Upstream],
        servers: &BTreeMap<String, McpSettings>,
    ) -> Result<RunnerConfig, String> {
        let of = |what: String| format!("the agent {name:?}: {what}");
        let model = self.model.as_deref().filter(|model| !model.is_empty());
        let model = model.ok_or_else(|| of(String::from("a runner has a model")))?;
        let provider = self.provider.as_deref().or(self.url.as_ref().map(|_given| "openai"));
        let provider =
            provider.ok_or_else(|| of(String::from("a runner has a provider, or the url of one")))?;
        let key_env = self.key_env.as_deref();
        let file::ReadProviderFile { mut provider, dialect, sinks, notes_max } = if file::is_one(provider) {
            file::read(provider, key_env, upstreams).map_err(of)?
        } else {
            let provider = Provider::new(provider, self.url.as_deref(), key_env, upstreams);
            let provider = provider.map_err(|error| of(error.to_string()))?;
            file::ReadProviderFile { provider, dialect: None, sinks: Vec::new(), notes_max: None }
        };
        let upstream = provider.upstream.with_ca(self.ca.as_deref());
        provider.upstream = upstream.map_err(|error| of(error.to_string()))?;
        if let Some(tools) = self.tools.iter().find(|tools| !servers.contains_key(*tools)) {
            return Err(of(format!("its tools {tools:?} have no table [mcp.{tools}]")));
        }
        let text_calls = match self.text_calls.as_deref() {
            None => None,
            Some("xml") => Some(TextForm::Xml),
            Some("json") => Some(TextForm::Json),
            Some("both") => Some(TextForm::Both),
            Some(other) => return Err(of(format!("text_calls is {other:?}; there are xml, json and both"))),
        };
        let streaming = self.streaming.as_ref().map(StreamingSettings::of).transpose().map_err(of)?;
        let streaming = streaming.unwrap_or_default();
        Ok(RunnerConfig {
            provider,
            plan: streaming.plan(self.plan(name, model)),
            dialect,
            system: self.system.clone(),
            files: self.files().map_err(of)?,
            tools: self.tools.iter().map(Into::into).collect(),
            text_calls,
            text_rules: streaming.text_rules,
            notes_max: notes_max.unwrap_or(NOTES_MAX),
            request: self.request.clone(),
            price: self.price().map_err(of)?,
            sinks,
        })
    }

    /// The kinds of files that the model takes, each once; all of them unless the table says.
    fn files(&self) -> Result<Vec<FileKind>, String> {
        let Some(words) = &self.files else { return Ok(FileKind::ALL.to_vec()) };
        let kind = |word: &String| {
            FileKind::of_word(word)
                .ok_or_else(|| format!("files has {word:?}; there are image, pdf and text"))
        };
        let mut kinds = words.iter().map(kind).collect::<Result<Vec<_>, _>>()?;
        kinds.sort_unstable();
        kinds.dedup();
        Ok(kinds)
    }

    /// The limits of the agent, with defaults for what is not set.
    fn plan(&self, name: &str, model: &str) -> Plan {
        let plan = Plan::new(model);
        let ms = |seconds: Option<u64>| seconds.map(|seconds| seconds.saturating_mul(1_000));
        Plan {
            name: Some(name.into()),
            steps_max: self.max_steps.unwrap_or(plan.steps_max).max(1),
            attempts_max: self.max_attempts.unwrap_or(plan.attempts_max).max(1),
            calls_at_once: self.max_calls.unwrap_or(plan.calls_at_once).max(1),
            call_ms: ms(self.call_seconds).unwrap_or(plan.call_ms),
            needs_consent: self.confirm.iter().map(Into::into).collect(),
            silence_ms: ms(self.silence_seconds).unwrap_or(plan.silence_ms),
            tokens_max: self.max_tokens,
            ..plan
        }
    }

    /// Converts the table of a remote agent. Fails if a field of a runner is set.
    fn remote(&self, name: &str) -> Result<RemoteConfig, String> {
        let of = |what: String| format!("the agent {name:?}: {what}");
        let speaks = RemoteKind::of_name(&self.kind).ok_or_else(|| {
            let known: Vec<_> = RemoteKind::ALL.iter().map(|kind| kind.name()).collect();
            of(format!("its kind is {:?}; there are runner, {}", self.kind, known.join(", ")))
        })?;
        let own = Self {
            kind: self.kind.clone(),
            url: self.url.clone(),
            model: self.model.clone(),
            key_env: self.key_env.clone(),
            ca: self.ca.clone(),
            silence_seconds: self.silence_seconds,
            price: self.price.clone(),
            ..Self::default()
        };
        if *self != own {
            let fits = "an agent elsewhere has kind, url, model, key_env, ca, silence_seconds and price, and nothing else";
            return Err(of(String::from(fits)));
        }
        let url = self.url.as_deref().ok_or_else(|| of(String::from("an agent elsewhere has a url")))?;
        let upstream = Upstream::new(name, url, speaks.api());
        let upstream = upstream.and_then(|upstream| upstream.with_ca(self.ca.as_deref()));
        let upstream = upstream.map_err(|error| of(error.to_string()))?;
        let model = self.model.as_deref().filter(|model| !model.is_empty()).map(Into::into);
        if model.is_none() && speaks.needs_model() {
            return Err(of(format!(
                "an agent of the kind {} has a model: what is asked for there",
                self.kind
            )));
        }
        let (path, key_env) = (speaks.path_behind(url).to_owned(), self.key_env.clone());
        let patience = Duration::from_secs(self.silence_seconds.unwrap_or(SILENCE_SECONDS).max(1));
        let price = self.price().map_err(of)?;
        Ok(RemoteConfig { speaks, upstream, path, key_env, model, patience, price })
    }

    /// Converts the price of the table.
    fn price(&self) -> Result<Option<Price>, String> {
        self.price.as_ref().map(PriceSettings::price).transpose()
    }
}

/// Whether `name` can be a segment of a path and a part of a tool's name.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

#[cfg(test)]
mod tests;
