//! What can be set about an agent and about its tools, checked.

use std::path::PathBuf;
use std::time::Duration;

use compact_str::CompactString;
use dialects::custom::UserDialect;
use dialects::text_calls::{TextForm, TextRules};
use model::price::Price;
use upstream::{Api, Upstream};

mod filled;
mod header;
mod plan;
mod provider;
mod stream;

pub use filled::Filled;
pub use header::FilledHeader;
pub use plan::Plan;
pub use provider::{ModelApi, Provider, ProviderError};
pub use stream::{StreamFile, StreamSink, StreamSocket, StreamTarget};

/// The settings of one agent, after they were checked.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    /// By this name it is asked, and it stands in its runs.
    pub name: CompactString,
    /// What it is.
    pub kind: AgentKind,
}

/// What an agent is.
#[derive(Debug, Clone)]
pub enum AgentKind {
    /// The hub itself runs it: a model, and tools.
    Runner(Box<RunnerConfig>),
    /// It runs elsewhere, and the hub calls it.
    Remote(Box<RemoteConfig>),
}

/// An agent that the hub runs.
#[derive(Debug, Clone)]
pub struct RunnerConfig {
    /// Where the model is.
    pub provider: Provider,
    /// Bounds and patience; the model and the agent's name are in it.
    pub plan: Plan,
    /// What the model is told before everything else.
    pub system: Option<String>,
    /// The servers whose tools it may call.
    pub tools: Vec<CompactString>,
    /// How the model answers, where it does that in words of its own.
    pub dialect: Option<UserDialect>,
    /// Calls are looked for in the text of the answer too, written so.
    pub text_calls: Option<TextForm>,
    /// What was set about such calls.
    pub text_rules: TextRules,
    /// How many pieces of an answer, and of what its calls say, may wait for the agent; beyond, their senders wait.
    pub notes_max: usize,
    /// More fields of each request to the model; they win over those that the hub would send.
    pub request: serde_json::Map<String, serde_json::Value>,
    /// What its tokens cost, where that is not what its model costs anyway.
    pub price: Option<Price>,
    /// Where the raw events of its provider go besides.
    pub sinks: Vec<StreamSink>,
}

/// An agent elsewhere.
#[derive(Debug, Clone)]
pub struct RemoteConfig {
    /// How it is asked and how it answers.
    pub speaks: RemoteKind,
    /// Where it is.
    pub upstream: Upstream,
    /// What is put behind its path for a request, where that is the same for all.
    pub path: String,
    /// The environment variable with the key that it wants.
    pub key_env: Option<String>,
    /// The model, agent or graph that is asked for there, where it has several.
    pub model: Option<CompactString>,
    /// How long it may say nothing before it counts as lost.
    pub patience: Duration,
    /// What its tokens cost, where that is not what its model costs anyway.
    pub price: Option<Price>,
}

macro_rules! remote_kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// How an agent elsewhere is asked and how it answers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum RemoteKind {
            $($(#[$doc])* $name,)*
        }

        impl RemoteKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name in settings.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

remote_kinds! {
    /// Agno's `AgentOS`.
    Agno = "agno";
    /// The server of `LangGraph`.
    LangGraph = "langgraph";
    /// Whatever speaks AG-UI.
    AgUi = "ag-ui";
    /// Deep Agent.
    DeepAgent = "deep-agent";
    /// Forge.
    Forge = "forge";
    /// Ralph.
    Ralph = "ralph";
    /// Whatever speaks OpenAI's chat completions.
    OpenAi = "openai";
    /// Whatever speaks Anthropic's messages.
    Anthropic = "anthropic";
    /// Whatever answers the AI SDK's `useChat`.
    AiSdk = "ai-sdk";
}

impl RemoteKind {
    /// The kind of that name in settings.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The dialect that it answers in.
    pub fn dialect(self) -> &'static str {
        match self {
            Self::Agno => dialects::agno::NAME,
            Self::LangGraph => dialects::langgraph::NAME,
            Self::AgUi => dialects::ag_ui::NAME,
            Self::DeepAgent => dialects::deep_agent::NAME,
            Self::Forge => dialects::forge::NAME,
            Self::Ralph => dialects::ralph::NAME,
            Self::OpenAi => dialects::openai_chat::NAME,
            Self::Anthropic => dialects::anthropic::NAME,
            Self::AiSdk => dialects::ai_sdk::NAME,
        }
    }

    /// The decoder for that: what agents add to chat completions that execute their calls themselves is read too.
    pub(crate) fn decoder(self) -> &'static str {
        if self == Self::OpenAi { dialects::bernard::NAME } else { self.dialect() }
    }

    /// Whether what is asked for there is a model.
    pub(crate) fn has_models(self) -> bool {
        matches!(self, Self::Forge | Self::OpenAi | Self::Anthropic)
    }

    /// Whether its contract has a place for tools that whoever asks executes.
    pub(crate) fn takes_tools(self) -> bool {
        matches!(self, Self::AgUi | Self::OpenAi | Self::Anthropic)
    }

    /// Whether it must be said what is asked for there.
    pub fn needs_model(self) -> bool {
        matches!(self, Self::Agno | Self::OpenAi | Self::Anthropic)
    }

    /// What is behind a base URL for a request; nothing where the URL is that of the request itself.
    pub fn path_behind(self, url: &str) -> &'static str {
        match self {
            Self::Agno | Self::LangGraph => "",
            // The URL itself is asked, to the letter.
            Self::AgUi | Self::AiSdk if url.ends_with('/') => "/",
            Self::AgUi | Self::AiSdk => "",
            Self::DeepAgent | Self::Forge | Self::Ralph if url.ends_with("/chat/stream") => "",
            Self::DeepAgent | Self::Forge | Self::Ralph => "/chat/stream",
            Self::OpenAi | Self::Anthropic => provider::path_behind(self.api(), url),
        }
    }

    /// Whose words it speaks, for headers with keys.
    pub fn api(self) -> Api {
        if self == Self::Anthropic { Api::Anthropic } else { Api::OpenAi }
    }
}

/// A server with tools, which speaks the Model Context Protocol.
#[derive(Debug, Clone)]
pub struct ToolServer {
    /// Stands in front of the names of its tools.
    pub name: CompactString,
    /// How it is reached.
    pub reach: Reach,
    /// How long it may take to start, or to say which tools it has.
    pub patience: Duration,
}

/// How a server with tools is reached.
#[derive(Debug, Clone)]
pub enum Reach {
    /// A program that the hub starts, over its stdin and stdout.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// Variables of its environment, beside the few of the hub's that every program has.
        env: Vec<(String, String)>,
        /// Where it is started.
        directory: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// Its URL.
        url: String,
        /// Where that is, and who is trusted there.
        upstream: Box<Upstream>,
        /// The environment variable with the key that it wants.
        key_env: Option<String>,
        /// More headers of each request.
        headers: Vec<FilledHeader>,
    },
}
