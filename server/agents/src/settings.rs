//! The settings of agents and of their tools, checked.

use std::path::PathBuf;
use std::time::Duration;

use compact_str::CompactString;
use dialects::custom::UserDialect;
use dialects::text_calls::{TextForm, TextRules};
use model::event::FileKind;
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
    /// The name under which it is asked, and which its runs carry.
    pub name: CompactString,
    /// The kind of the agent: who does its runs.
    pub kind: AgentKind,
}

/// The kinds of agents, by who does their runs.
#[derive(Debug, Clone)]
pub enum AgentKind {
    /// The hub itself, with a model and tools.
    Runner(Box<RunnerConfig>),
    /// An agent in another server, which the hub calls.
    Remote(Box<RemoteConfig>),
}

/// An agent that the hub runs.
#[derive(Debug, Clone)]
pub struct RunnerConfig {
    /// The server of the model.
    pub provider: Provider,
    /// The bounds of a run; they include the names of the model and the agent.
    pub plan: Plan,
    /// The system prompt of the agent.
    pub system: Option<String>,
    /// The kinds of files that its model takes.
    pub files: Vec<FileKind>,
    /// The servers whose tools it may call.
    pub tools: Vec<CompactString>,
    /// The dialect of the model's answers, if it is one that the user describes.
    pub dialect: Option<UserDialect>,
    /// The form in which calls are searched for in the text of answers; `None` for no search.
    pub text_calls: Option<TextForm>,
    /// The settings of that search.
    pub text_rules: TextRules,
    /// How many notes from the model and from calls may wait for the agent; beyond them, their senders wait.
    pub notes_max: usize,
    /// Additional fields of each request to the model. They replace those that the hub would send.
    pub request: serde_json::Map<String, serde_json::Value>,
    /// The price of its tokens; `None` for that of its model.
    pub price: Option<Price>,
    /// Sinks that get the raw events of its provider.
    pub sinks: Vec<StreamSink>,
}

/// An agent in another server.
#[derive(Debug, Clone)]
pub struct RemoteConfig {
    /// The protocol in which it is asked and answers.
    pub speaks: RemoteKind,
    /// The server that the agent runs on.
    pub upstream: Upstream,
    /// The path below the server's URL for a request, if it is the same for all.
    pub path: String,
    /// The environment variable with the key that it wants.
    pub key_env: Option<String>,
    /// The model, agent or graph that is asked for, if the server has several.
    pub model: Option<CompactString>,
    /// How long it may be silent before it counts as lost.
    pub patience: Duration,
    /// The price of its tokens; `None` for that of its model.
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
            /// All protocols of agents elsewhere.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name of the protocol in settings.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

remote_kinds! {
    /// `AgentOS` of Agno.
    Agno = "agno";
    /// The server of `LangGraph`.
    LangGraph = "langgraph";
    /// Any agent that speaks AG-UI.
    AgUi = "ag-ui";
    /// The server of Deep Agent.
    DeepAgent = "deep-agent";
    /// The server of Forge.
    Forge = "forge";
    /// The server of Ralph.
    Ralph = "ralph";
    /// Whatever speaks OpenAI's chat completions.
    OpenAi = "openai";
    /// Whatever speaks Anthropic's messages.
    Anthropic = "anthropic";
    /// Whatever answers the AI SDK's `useChat`.
    AiSdk = "ai-sdk";
}

impl RemoteKind {
    /// The protocol of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The dialect of its answers.
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

    /// The decoder for its answers. For chat completions, it also reads what is added by agents that execute
    /// their calls themselves.
    pub(crate) fn decoder(self) -> &'static str {
        if self == Self::OpenAi { dialects::bernard::NAME } else { self.dialect() }
    }

    /// Whether what is asked for by name is a model.
    pub(crate) fn has_models(self) -> bool {
        matches!(self, Self::Forge | Self::OpenAi | Self::Anthropic)
    }

    /// Whether the protocol can offer tools that the caller executes.
    pub(crate) fn takes_tools(self) -> bool {
        matches!(self, Self::AgUi | Self::OpenAi | Self::Anthropic)
    }

    /// The kinds of files that it can be asked with: those of the APIs that the hub writes requests for.
    pub(crate) fn takes_files(self) -> &'static [FileKind] {
        if matches!(self, Self::OpenAi | Self::Anthropic) { &FileKind::ALL } else { &[] }
    }

    /// Whether the settings must say what is asked for.
    pub fn needs_model(self) -> bool {
        matches!(self, Self::Agno | Self::OpenAi | Self::Anthropic)
    }

    /// The path below a base URL for a request; empty if the URL is that of the request itself.
    pub fn path_behind(self, url: &str) -> &'static str {
        match self {
            Self::Agno | Self::LangGraph => "",
            // The URL is used exactly as it is set.
            Self::AgUi | Self::AiSdk if url.ends_with('/') => "/",
            Self::AgUi | Self::AiSdk => "",
            Self::DeepAgent | Self::Forge | Self::Ralph if url.ends_with("/chat/stream") => "",
            Self::DeepAgent | Self::Forge | Self::Ralph => "/chat/stream",
            Self::OpenAi | Self::Anthropic => provider::path_behind(self.api(), url),
        }
    }

    /// The API whose headers carry its key.
    pub fn api(self) -> Api {
        if self == Self::Anthropic { Api::Anthropic } else { Api::OpenAi }
    }
}

/// A server with tools that speaks the Model Context Protocol.
#[derive(Debug, Clone)]
pub struct ToolServer {
    /// The name of the server, which begins the names of its tools.
    pub name: CompactString,
    /// The transport to the server.
    pub reach: Reach,
    /// How long it may take to start, or to list its tools.
    pub patience: Duration,
}

/// The transport to a server with tools.
#[derive(Debug, Clone)]
pub enum Reach {
    /// The server is a program that the hub starts, and is spoken to over its stdin and stdout.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// Variables of its environment, besides the few of the hub's that every program gets.
        env: Vec<(String, String)>,
        /// The folder in which it is started.
        directory: Option<PathBuf>,
    },
    /// The server is spoken to over streamable HTTP.
    Http {
        /// The URL of the server.
        url: String,
        /// The server of that URL and whose certificates it may have.
        upstream: Box<Upstream>,
        /// The environment variable with the key that it wants.
        key_env: Option<String>,
        /// Additional headers of each request.
        headers: Vec<FilledHeader>,
    },
}
