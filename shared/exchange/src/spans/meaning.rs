//! Reads what a span means from the conventions of OpenTelemetry (GenAI), OpenInference, OpenLLMetry
//! (Traceloop), Logfire and the AI SDK. Programs mix them: every span is checked for all of them, and the
//! first that has an answer counts.

use serde_json::Value;

use super::attributes::{Attributes, tree_of};
use super::{FinishedSpan, SpanEvent};
use ::model::event::{ErrorFact, Usage};
use ::model::json::Json;

mod model;
mod said;
mod tool;

pub(super) use said::{SpanMessage, SpanPiece};

/// The kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanRole {
    /// A call of a model.
    Model,
    /// The execution of a tool.
    Tool,
    /// The work of an agent.
    Agent,
    /// Anything else: a node of a graph, a request over HTTP.
    Step,
}

/// What a span says in terms of this project.
#[derive(Debug)]
pub(super) struct SpanMeaning {
    /// What kind of work the span is.
    pub(super) role: SpanRole,
    /// The name of the agent, the tool or the step.
    pub(super) name: String,
    /// The name of the conversation, if the span has one.
    pub(super) conversation: Option<String>,
    /// The name of the model.
    pub(super) model: Option<String>,
    /// What was said before, system prompt first.
    pub(super) input: Vec<SpanMessage>,
    /// What the model answered.
    pub(super) output: Vec<SpanMessage>,
    /// The tokens, as far as the span says.
    pub(super) usage: Option<Usage>,
    /// Why the model stopped, in the vendor's words.
    pub(super) finish_reason: Option<String>,
    /// The id of the call, for a tool.
    pub(super) call: Option<String>,
    /// The arguments, for a tool.
    pub(super) arguments: Option<String>,
    /// The result, for a tool.
    pub(super) result: Option<Json>,
    /// Why it failed, if it did.
    pub(super) error: Option<ErrorFact>,
}

/// The attributes that name a conversation. `thread.id` is not among them: it is a thread of the operating
/// system.
const CONVERSATION: [&str; 15] = [
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.chat_id",
    "ai.telemetry.metadata.conversationId",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.threadId",
    "ai.telemetry.metadata.chatId",
    "ai.settings.context.conversationId",
    "langsmith.metadata.thread_id",
    "langsmith.trace.session_id",
    "gen_ai.thread.id",
];

/// The fields of OpenInference's `metadata` that name a conversation.
const IN_METADATA: [&str; 4] = ["conversation_id", "session_id", "thread_id", "chat_id"];

/// The events of a span whose attributes are attributes of the span itself.
const DETAILS: [&str; 2] =
    ["gen_ai.client.inference.operation.details", "gen_ai.invoke_agent.operation.details"];

impl SpanMeaning {
    /// Reads the meaning of `span`.
    pub(super) fn of(span: &FinishedSpan) -> Self {
        let mut facts = span.attributes.clone();
        for event in span.events.iter().filter(|event| DETAILS.contains(&event.name.as_str())) {
            facts.join(&event.attributes);
        }
        let role = role(span, &facts);
        let mut meaning = Self {
            role,
            name: name(role, span, &facts),
            conversation: conversation(&facts),
            model: model::name(&facts),
            input: Vec::new(),
            output: Vec::new(),
            usage: model::usage(&facts),
            finish_reason: None,
            call: None,
            arguments: None,
            result: None,
            error: span.failed.then(|| failure(span, &facts)),
        };
        match role {
            SpanRole::Model | SpanRole::Agent => model::read(span, &facts, &mut meaning),
            SpanRole::Tool => tool::read(span, &facts, &mut meaning),
            // Only for the root, in case no span below it has a text.
            SpanRole::Step if span.parent.is_none() => model::read_plain(&facts, &mut meaning),
            SpanRole::Step => {}
        }
        meaning
    }
}

/// The role of a span. A pending span of Logfire is a step, since the finished one follows.
fn role(span: &FinishedSpan, facts: &Attributes) -> SpanRole {
    if facts.text("logfire.span_type") == Some("pending_span") {
        return SpanRole::Step;
    }
    let told = by_operation(facts).or_else(|| by_kind(facts)).or_else(|| by_ai_sdk(facts));
    told.unwrap_or_else(|| by_form(span, facts))
}

/// The role by OpenTelemetry's name of the operation.
fn by_operation(facts: &Attributes) -> Option<SpanRole> {
    match facts.text("gen_ai.operation.name")? {
        "chat" | "text_completion" | "generate_content" | "completion" | "message" | "responses" => {
            Some(SpanRole::Model)
        }
        "execute_tool" => Some(SpanRole::Tool),
        "invoke_agent" => Some(SpanRole::Agent),
        "embeddings" | "create_agent" | "invoke_workflow" | "plan" | "retrieval" => Some(SpanRole::Step),
        _ => None,
    }
}

/// The role by the kind that OpenInference, OpenLLMetry and `langsmith` name.
fn by_kind(facts: &Attributes) -> Option<SpanRole> {
    let kind =
        facts.first_text(&["openinference.span.kind", "traceloop.span.kind", "langsmith.span.kind"])?;
    match kind.to_ascii_lowercase().as_str() {
        "llm" => Some(SpanRole::Model),
        "tool" => Some(SpanRole::Tool),
        "agent" => Some(SpanRole::Agent),
        "chain" | "workflow" | "task" | "retriever" | "embedding" | "reranker" | "guardrail" => {
            Some(SpanRole::Step)
        }
        _ => None,
    }
}

/// The role by the AI SDK's operation: `ai.streamText` is an agent, `ai.streamText.doStream` one of its model
/// calls.
fn by_ai_sdk(facts: &Attributes) -> Option<SpanRole> {
    let operation = facts.text("ai.operationId")?;
    if operation == "ai.toolCall" {
        return Some(SpanRole::Tool);
    }
    let (_, step) = operation.split_once('.')?;
    Some(match step.split_once('.') {
        Some((_, "doGenerate" | "doStream")) => SpanRole::Model,
        None if step.starts_with("generate") || step.starts_with("stream") => SpanRole::Agent,
        _ => SpanRole::Step,
    })
}

/// The role by the attributes that are there, for instrumentations that do not name it.
fn by_form(span: &FinishedSpan, facts: &Attributes) -> SpanRole {
    let asks_model = facts.text("llm.request.type").is_some_and(|kind| matches!(kind, "chat" | "completion"));
    if asks_model || facts.has_prefix("gen_ai.prompt.0.") || facts.has_prefix("llm.input_messages.0.") {
        return SpanRole::Model;
    }
    if facts.get("gen_ai.tool.name").is_some() && facts.get("gen_ai.request.model").is_none() {
        return SpanRole::Tool;
    }
    if facts.get("gen_ai.agent.name").is_some() || facts.get("agent_name").is_some() {
        return if facts.get("gen_ai.request.model").is_some() && facts.get("all_messages_events").is_none() {
            SpanRole::Model
        } else {
            SpanRole::Agent
        };
    }
    let is_asked = facts.get("gen_ai.request.model").is_some()
        && (facts.get("request_data").is_some() || facts.has_prefix("gen_ai.usage."));
    if is_asked && !span.name.contains("mbedding") { SpanRole::Model } else { SpanRole::Step }
}

/// The name of an agent or tool, or that of the span.
fn name(role: SpanRole, span: &FinishedSpan, facts: &Attributes) -> String {
    let told = match role {
        SpanRole::Tool => {
            facts.first_text(&["gen_ai.tool.name", "tool.name", "ai.toolCall.name", "mcp.tool.name"])
        }
        SpanRole::Agent => {
            facts.first_text(&["gen_ai.agent.name", "agent.name", "agent_name", "ai.telemetry.functionId"])
        }
        SpanRole::Model | SpanRole::Step => None,
    };
    let told = told.or_else(|| facts.text("traceloop.entity.name"));
    let plain = ["execute_tool ", "invoke_agent ", "running tool: "];
    let rest = plain.iter().find_map(|start| span.name.strip_prefix(start));
    told.unwrap_or_else(|| rest.unwrap_or(&span.name)).to_owned()
}

/// The name of the conversation, which the program chose.
fn conversation(facts: &Attributes) -> Option<String> {
    let told = CONVERSATION.iter().find_map(|name| said::words(facts.get(name)?));
    told.or_else(|| {
        let metadata = facts.first_tree(&["metadata"])?;
        IN_METADATA.iter().find_map(|name| said::words(metadata.get(name)?))
    })
}

/// Why a span failed.
fn failure(span: &FinishedSpan, facts: &Attributes) -> ErrorFact {
    let thrown = span.events.iter().rev().find(|event| event.name == "exception");
    let of_thrown = |name: &str| thrown.and_then(|event: &SpanEvent| event.attributes.text(name));
    let code = facts.text("error.type").or_else(|| of_thrown("exception.type")).unwrap_or("error");
    let message = of_thrown("exception.message").or_else(|| facts.text("error.message"));
    let message = message.unwrap_or(&span.status_message);
    ErrorFact { code: code.into(), message: message.to_owned(), retryable: None, retry_after_ms: None }
}

/// `value` as JSON text; a string that contains JSON is that JSON.
fn json(value: &Value) -> Json {
    Json::of(&tree_of(value))
}

#[cfg(test)]
mod tests;
