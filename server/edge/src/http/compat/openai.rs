//! OpenAI's API, `POST /v1/chat/completions` and `GET /v1/models`, for any of its clients, and with [`responses`]
//! `POST /v1/responses`. The model is the name of an agent.
//!
//! Calls of the agent's own tools are not in the answer, because such a client would execute every call that
//! it sees. Clients that ask for them (with the field `tool_progress` or the header `Fanlight-Tools: show`,
//! or through `/compat/bernard`) get Bernard's form of the stream, with whole calls, progress and results.
//!
//! A run whose field `stream` is true is a stream of chunks; otherwise the answer waits for the end of the
//! run and is one object. A failed run is an error and never a short answer. Answers say where the run is in
//! `Fanlight-Conversation` and `Fanlight-Run`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use compact_str::CompactString;
use encode::Caller;
use encode::openai_chat::completion;
use model::code::ErrorCode;
use model::event::RunStatus;
use model::view::RunView;
use serde_json::{Value, json};

use super::answer::{self, AnswerStyle, told, with_left_out};
use super::{Begun, Thread, TurnRequest, begin, behind, of_header, of_thread, over, read, sampling};
use crate::inbound::params::Path;
use crate::state::Shared;
use agents::{Refusal, Terms};

mod fault;
mod request;
pub(crate) mod responses;

use fault::Fault;
use request::ChatRequest;

/// The header that asks for calls of the agent's own tools, with the value `show`.
const TOOLS: &str = "fanlight-tools";

/// What clients of OpenAI's API may call below `/v1` and the hub does not serve. Each stands for the paths below
/// it too.
const UNSERVED: [&str; 14] = [
    "responses",
    "completions",
    "chat",
    "embeddings",
    "moderations",
    "images",
    "audio",
    "videos",
    "files",
    "uploads",
    "batches",
    "assistants",
    "threads",
    "realtime",
];

/// The refusal of a path of OpenAI's API that is not served: 404 `unknown_url` in OpenAI's form, which names
/// what is served. `None` for any other path.
pub(crate) fn unserved(method: &Method, path: &str) -> Option<Response> {
    let first = path.strip_prefix("/v1/")?.split('/').next()?;
    UNSERVED.contains(&first).then(|| {
        let message = format!(
            "{method} {path}: only chat completions and responses are served here: POST /v1/chat/completions, \
             POST /v1/responses, GET /v1/responses/{{id}}, GET /v1/models and GET /v1/models/{{model}}"
        );
        let fault = Fault::new(StatusCode::NOT_FOUND, "unknown_url", &message);
        Fault { is_final: true, ..fault }.into_response()
    })
}

/// `POST /v1/chat/completions`: starts a run of the agent that the model names. Answers 200 with a stream or
/// an object; 400 with `invalid_json` or `invalid_value` and the field, or with `context_length_exceeded` if
/// the model could not take the conversation; 404 with `model_not_found`; 502 for a run that failed or was
/// stopped; and the statuses of the hub's own codes in OpenAI's form.
pub(crate) async fn chat(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    answer(&shared, &headers, request, false).await.unwrap_or_else(Fault::into_response)
}

/// `POST /compat/bernard/v1/chat/completions`, with or without `/api` before `/v1`: does the same for
/// Bernard's clients, whose models need not be agents and whose streams show calls of the agent's tools.
pub(crate) async fn bernard(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    answer(&shared, &headers, request, true).await.unwrap_or_else(Fault::into_response)
}

/// Reads the request, starts the run, and answers as a stream or in one piece. The conversation is that of
/// the header, that of the body's thread (Bernard's clients alone), or the one whose history the request
/// repeats.
async fn answer(
    shared: &Arc<Shared>,
    headers: &HeaderMap,
    request: Request,
    is_bernard: bool,
) -> Result<Response, Fault> {
    let body = read(headers, request).await?;
    let wish = ChatRequest::read(&body)?;
    let model = wish.model.as_deref();
    let agent = if is_bernard {
        behind((&shared.agents, &shared.config), "bernard", model)?
    } else {
        agent_of(shared, model)?
    };
    let door = if is_bernard { "bernard" } else { "openai" };
    let thread = match of_header(headers)? {
        Some(id) => Thread::Named(id),
        None => match &wish.thread {
            Some(name) if is_bernard => Thread::Named(of_thread(name)),
            _ => Thread::Told(super::caller(door, headers, &wish.whose)),
        },
    };
    let refused = shared.agents.refuses_of_sampling(&agent, &wish.sampling);
    if let Some(why) = sampling::no_form(&agent, &refused, &wish.sampling) {
        return Err(Fault::of_field("response_format", &why));
    }
    let ChatRequest {
        messages, results, tools, streams, wants_usage, shows_tools, sampling, left_out, ..
    } = wish;
    let terms = Terms { sampling, ..Terms::default() };
    let shows = is_bernard || shows_tools || headers.get(TOOLS).is_some_and(|value| value == "show");
    let mut caller = Caller { wants_usage, ..Caller::default() };
    if !streams {
        caller.tools = tools.iter().map(|tool| tool.name.clone()).collect();
    }
    let asked = TurnRequest { results, tools, terms, ..TurnRequest::new(door, agent, thread, messages) };
    if streams {
        let dialect = if shows { "bernard" } else { "openai-chat" };
        let style = AnswerStyle { caller, ..AnswerStyle::default() };
        return Ok(answer::answer(shared, answer::DoorRequest { asked, dialect, style, left_out }).await?);
    }
    in_one_piece(shared, asked, left_out, |begun, run| completion(begun.run(), run, &caller)).await
}

/// Begins the run, waits for its end, and answers with what `write` makes of it. What of the request is ignored, `left_out` and what the
/// agent leaves out, is named in the answer. Fails with whatever [`begin`] and [`whole`] fail with.
async fn in_one_piece(
    shared: &Arc<Shared>,
    asked: TurnRequest,
    left_out: Vec<String>,
    write: impl FnOnce(&Begun, &RunView) -> Vec<u8>,
) -> Result<Response, Fault> {
    let mut begun = begin(shared, asked).await?;
    let left_out: Vec<String> =
        left_out.into_iter().chain(begun.left_out.iter().map(|it| (*it).to_owned())).collect();
    let answer = whole(&begun, write).await;
    begun.attended.over();
    Ok(with_left_out(answer?, &left_out))
}

/// The agent that the model names. Fails with `invalid_value` without a model and with `model_not_found` if
/// it is no agent; the text lists those that there are.
fn agent_of(shared: &Shared, model: Option<&str>) -> Result<CompactString, Fault> {
    let model = model.filter(|model| !model.is_empty());
    let model = model.ok_or_else(|| Fault::of_field("model", "the request names no model"))?;
    if shared.agents.knows(model) { Ok(model.into()) } else { Err(no_model(shared, model)) }
}

/// The failure for a model that is no agent; names the agents.
fn no_model(shared: &Shared, model: &str) -> Fault {
    let names: Vec<_> = shared.agents.names().collect();
    let there_are = match names.as_slice() {
        [] => String::from("no agent is set: they are tables [agents.NAME] of the hub's settings"),
        names => format!("a model is an agent of this hub; there are {}", names.join(", ")),
    };
    Fault::no_model(format!("The model `{model}` does not exist: {there_are}"))
}

/// Waits for the end of the run and answers in one piece. Fails if the run did not complete, or if the hub
/// drains.
async fn whole(begun: &Begun, write: impl FnOnce(&Begun, &RunView) -> Vec<u8>) -> Result<Response, Fault> {
    let run = over(begun).await?;
    if run.status != RunStatus::Complete {
        return Err(failed(&run));
    }
    let mut response = object(write(begun, &run));
    response.headers_mut().extend(told(begun));
    Ok(response)
}

/// An answer whose body is a JSON object.
fn object(body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A failed run as an error: 400 `context_length_exceeded` where the conversation is too long for the model,
/// otherwise 502 with the run's own code. The agent has already tried as often as it may, so clients are told
/// not to repeat the request.
fn failed(run: &RunView) -> Fault {
    let (code, message) = match (run.status, &run.error) {
        (RunStatus::Cancelled, _) => ("cancelled", "the run was stopped"),
        (_, Some(error)) => (error.code.as_str(), error.message.as_str()),
        _ => ("interrupted", "the run was interrupted"),
    };
    if code == "context_limit" {
        return Fault::new(StatusCode::BAD_REQUEST, "context_length_exceeded", message);
    }
    Fault { is_final: true, ..Fault::new(StatusCode::BAD_GATEWAY, code, message) }
}

/// `GET /v1/models`: the agents.
pub(crate) async fn models(State(shared): State<Arc<Shared>>) -> Response {
    let models: Vec<Value> = shared.agents.names().map(told_model).collect();
    axum::Json(json!({"object": "list", "data": models})).into_response()
}

/// `GET /v1/models/{model}`: one agent.
pub(crate) async fn model(State(shared): State<Arc<Shared>>, Path(model): Path<String>) -> Response {
    if shared.agents.knows(&model) {
        axum::Json(told_model(&model)).into_response()
    } else {
        no_model(&shared, &model).into_response()
    }
}

/// An agent in the form of OpenAI's list of models. The hub does not know when an agent was made, so
/// `created` is 0.
fn told_model(name: &str) -> Value {
    json!({"id": name, "object": "model", "created": 0, "owned_by": "fanlight"})
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        if refusal.code == ErrorCode::UnknownAgent {
            return Self::no_model(refusal.why);
        }
        let status = StatusCode::from_u16(refusal.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, refusal.code.as_str(), &refusal.why)
    }
}
