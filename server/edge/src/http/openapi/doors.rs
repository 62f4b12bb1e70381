//! Interfaces of other servers, but for LangGraph's platform. Their bodies are those of the servers for which their
//! clients are made, so only the fields that the hub reads are described.

use model::code::ErrorCode::{
    self, AgentUnavailable, BodyTimeout, ConsentMismatch, ConversationExists, Elsewhere, Gone, LogFailed,
    NotFound, NotResumable, NotRunning, RunOfHub, ShuttingDown, TooLarge, TooMany, UnknownAgent,
    UnknownConversation, UnsupportedEncoding, UpstreamFailed,
};

use super::operation::{Answer, Content, FailureForm, Operation};
use super::parameters::CONVERSATION;

/// What beginning a run may fail with.
const BEGINNING: &[ErrorCode] = &[
    AgentUnavailable,
    BodyTimeout,
    ConsentMismatch,
    ConversationExists,
    Elsewhere,
    Gone,
    LogFailed,
    NotResumable,
    NotRunning,
    RunOfHub,
    ShuttingDown,
    TooLarge,
    TooMany,
    UnknownAgent,
    UnknownConversation,
    UnsupportedEncoding,
    UpstreamFailed,
];

/// What setting something may fail with.
const SETTING: &[ErrorCode] = &[BodyTimeout, NotFound, TooLarge, TooMany, UnknownAgent, UnsupportedEncoding];

/// A run as it goes on, in the dialect of the door.
const STREAM: Content = Content::new("text/event-stream", r#"{"type":"string"}"#);

/// An object of the door.
const OBJECT: &[Answer] =
    &[Answer::new(200, "As that server answers.", &[Content::json(r#"{"type":"object"}"#)])];

/// A stream that begins with the run.
const STREAMED: &[Answer] = &[Answer::new(
    200,
    "The run, as it goes on.",
    &[STREAM, Content::new("text/plain", r#"{"type":"string"}"#)],
)];

/// The answer to a chat completion.
const COMPLETED: &[Answer] = &[Answer::new(
    200,
    "The answer, as a stream where `stream` is true.",
    &[Content::json(r#"{"type":"object","required":["id","object","choices"]}"#), STREAM],
)];

/// The request of one.
const CHAT: &[Content] = &[Content::json("ChatRequest")];

/// A door that begins a run and streams it.
const fn run(path: &'static str, summary: &'static str, body: &'static [Content]) -> Operation {
    Operation::new("POST", path, "clients", summary)
        .headers(&[CONVERSATION])
        .takes(body)
        .answers(STREAMED)
        .fails(BEGINNING)
}

/// A door that tells something about the agents.
const fn told(path: &'static str, summary: &'static str) -> Operation {
    Operation::new("GET", path, "clients", summary).answers(OBJECT)
}

/// The operation of OpenAI's chat completions at `path`.
const fn completions(path: &'static str) -> Operation {
    Operation::new("POST", path, "clients", "Chat completions in OpenAI's form: the model is an agent")
        .headers(&[CONVERSATION])
        .takes(CHAT)
        .answers(COMPLETED)
        .fails(BEGINNING)
        .form(FailureForm::OpenAi)
}

/// A response of OpenAI's API.
const RESPONSE: &[Answer] = &[Answer::new(
    200,
    "The response, as a stream where `stream` is true.",
    &[Content::json(r#"{"type":"object","required":["id","object","output"]}"#), STREAM],
)];

/// The operation of OpenAI's list of models at `path`.
const fn models(path: &'static str) -> Operation {
    told(path, "The agents, as models in OpenAI's form").form(FailureForm::OpenAi)
}

/// The operation that shows one agent as a model at `path`.
const fn model(path: &'static str) -> Operation {
    told(path, "One agent, as a model in OpenAI's form").fails(&[NotFound]).form(FailureForm::OpenAi)
}

/// A door of forge-ui that changes something.
const fn set(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    body: &'static [Content],
) -> Operation {
    Operation::new(method, path, "clients", summary).takes(body).answers(OBJECT).fails(SETTING)
}

/// All operations of the doors.
pub(super) const OPERATIONS: &[Operation] = &[
    completions("/v1/chat/completions"),
    Operation::new("POST", "/v1/responses", "clients", "Responses in OpenAI's form: the model is an agent")
        .headers(&[CONVERSATION])
        .takes(&[Content::json("ResponsesRequest")])
        .answers(RESPONSE)
        .fails(BEGINNING)
        .form(FailureForm::OpenAi),
    told("/v1/responses/{id}", "One run, as a response in OpenAI's form")
        .fails(&[NotFound, Elsewhere])
        .form(FailureForm::OpenAi),
    models("/v1/models"),
    model("/v1/models/{model}"),
    completions("/compat/bernard/v1/chat/completions"),
    models("/compat/bernard/v1/models"),
    model("/compat/bernard/v1/models/{model}"),
    completions("/compat/bernard/api/v1/chat/completions"),
    models("/compat/bernard/api/v1/models"),
    model("/compat/bernard/api/v1/models/{model}"),
    run(
        "/compat/deep-agent/chat/stream",
        "A turn in Deep Agent's form",
        &[Content::json("DeepAgentRequest")],
    ),
    run("/compat/ralph/chat/stream", "A turn in Ralph's form", &[Content::json("RalphRequest")]),
    run("/compat/ag-ui/{agent}", "A run in AG-UI's form", &[Content::json("AgUiRequest")]),
    run("/compat/ai-sdk/{agent}", "A turn in the form of the AI SDK", &[Content::json("AiSdkRequest")]),
    Operation::new(
        "GET",
        "/compat/ai-sdk/{agent}/{chat}/stream",
        "clients",
        "The run that still goes on in a chat",
    )
    .answers(&[
        Answer::new(200, "The run from its beginning.", &[STREAM]),
        Answer::new(204, "No run goes on.", &[]),
    ])
    .fails(BEGINNING),
    run("/compat/forge/chat/stream", "A turn in Forge's form", &[Content::json("ForgeRequest")]),
    told("/compat/forge/health", "Whether there are tools"),
    told("/compat/forge/config", "Which providers have keys"),
    Operation::new("GET", "/compat/forge/tools", "clients", "The tools of the agent behind the door")
        .answers(&[Answer::new(
            200,
            "As Forge answers.",
            &[Content::json(r#"{"type":"array","items":{"type":"object"}}"#)],
        )]),
    set("POST", "/compat/forge/tools/refresh", "Lists the tools again", &[]),
    set(
        "POST",
        "/compat/forge/mcp/validate",
        "Tries to reach an MCP server",
        &[Content::json(
            r#"{"type":"object","properties":{"url":{"type":"string","minLength":1},"api_key":{"type":["string","null"]}},"required":["url"]}"#,
        )],
    ),
    told("/compat/forge/models", "The agents as models"),
    set(
        "POST",
        "/compat/forge/models",
        "Adds a name for the agent behind the door",
        &[Content::json("ForgeModel")],
    ),
    set("POST", "/compat/forge/models/refresh", "Counts the models", &[]),
    set(
        "POST",
        "/compat/forge/models/fetch",
        "Shows all agents again",
        &[Content::json(
            r#"{"type":"object","properties":{"provider":{"type":"string","minLength":1}},"required":["provider"]}"#,
        )],
    ),
    told("/compat/forge/models/grouped", "The models by provider"),
    told("/compat/forge/models/suggestions/{provider}", "The agents, one of them recommended")
        .fails(&[NotFound]),
    set(
        "PUT",
        "/compat/forge/models/{provider}/{*model}",
        "Changes how a model is shown",
        &[Content::json(r#"{"type":"object"}"#)],
    ),
    set("DELETE", "/compat/forge/models/{provider}/{*model}", "Hides a model", &[]),
    told("/compat/forge/providers", "The providers, and whether their models are shown"),
    set(
        "PUT",
        "/compat/forge/providers/{provider}",
        "Sets whether the models of a provider are shown",
        &[Content::json(
            r#"{"type":"object","properties":{"enabled":{"type":"boolean"}},"required":["enabled"]}"#,
        )],
    ),
];
