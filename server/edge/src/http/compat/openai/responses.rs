//! OpenAI's responses API, `POST /v1/responses` and `GET /v1/responses/{id}`, for clients that take it by
//! default, such as the Agents SDK. The model is the name of an agent.
//!
//! A caller sends the whole history as `input`, or the questions of it with ids of items in the place of answers
//! (`item_reference`, as the AI SDK does), or only what is new with `previous_response_id`. The ids of responses
//! and items name the run and its conversation. A response that is not the newest is continued in a fork, as every
//! history that parts from its conversation.
//!
//! Calls of the agent's own tools are not in the answer, because such a client would execute every call that it
//! sees. Answers say where the run is in `Fanlight-Conversation` and `Fanlight-Run`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use encode::Caller;
use encode::openai_responses::{response, split_item_id, split_response_id};
use event_log::blocking;
use exchange::continuation::Extent;
use hub::{Conversation, OpenError};
use model::event::ToolState;
use model::view::{RunView, ToolView, TopItem};
use model::{ConversationId, RunId, ToolCallId, View};

use super::fault::Fault;
use super::{agent_of, in_one_piece, object};
use crate::http::compat::answer::{DoorRequest, answer};
use crate::http::compat::{CallResult, Thread, TurnRequest, caller, of_header, of_thread, read, sampling};
use crate::http::hubs::asked;
use crate::inbound::params::Path;
use crate::state::Shared;
use agents::{Refusal, Spoken, Terms};

mod request;

use request::ResponsesRequest;

/// The door, as settings name it. It has the settings of the one for chat completions: both have the same clients.
const DOOR: &str = "openai";

/// `POST /v1/responses`: starts a run of the agent that the model names. Answers 200 with a stream or an object; 400 with
/// `invalid_json` or `invalid_value` and the field, with `previous_response_not_found`, or with `context_length_exceeded` if
/// the model could not take the conversation; 404 with `model_not_found`; 502 for a run that failed or was stopped; and the
/// statuses of the hub's own codes in OpenAI's form.
pub(crate) async fn create(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    created(&shared, &headers, request).await.unwrap_or_else(Fault::into_response)
}

/// `GET /v1/responses/{id}`: the response as it is, for a run that is over or still goes on. Answers 404 with
/// `not_found` for an id that is none of a run here.
pub(crate) async fn retrieve(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Response {
    retrieved(&shared, &id).unwrap_or_else(Fault::into_response)
}

/// Reads the request, starts the run, and answers as a stream or in one piece.
async fn created(shared: &Arc<Shared>, headers: &HeaderMap, request: Request) -> Result<Response, Fault> {
    let body = read(headers, request).await?;
    let wish = ResponsesRequest::read(&body)?;
    let agent = agent_of(shared, wish.model.as_deref())?;
    let (mut messages, mut extent) = (wish.messages, Extent::Perhaps);
    let thread = match (of_header(headers)?, &wish.previous, &wish.reference, &wish.conversation) {
        (_, Some(previous), ..) => {
            let (id, earlier) = earlier(shared, previous, &wish.results)?;
            // The system's instructions stay in front.
            let at = messages.iter().take_while(|spoken| spoken.role == "system").count();
            messages.splice(at..at, earlier);
            extent = Extent::All;
            Thread::Exactly(id)
        }
        (Some(id), None, ..) => Thread::Named(id),
        (None, None, Some(item), _) => {
            let (found, _run) = find(shared, split_item_id(item))?
                .ok_or_else(|| Fault::of_field("input", &format!("no item {item} is known here")))?;
            extent = Extent::All;
            Thread::Exactly(found.id().clone())
        }
        (None, None, None, Some(name)) => Thread::Named(of_thread(name)),
        (None, None, None, None) => Thread::Told(caller(DOOR, headers, &wish.whose)),
    };
    let refused = shared.agents.refuses_of_sampling(&agent, &wish.sampling);
    if let Some(why) = sampling::no_form(&agent, &refused, &wish.sampling) {
        return Err(Fault::of_field("text.format", &why));
    }
    let terms = Terms { sampling: wish.sampling, ..Terms::default() };
    let own = wish.tools.iter().map(|tool| tool.name.clone()).collect();
    let (results, tools, left_out) = (wish.results, wish.tools, wish.left_out);
    let asked =
        TurnRequest { extent, results, tools, terms, ..TurnRequest::new(DOOR, agent, thread, messages) };
    if wish.streams {
        let wish = DoorRequest { left_out, ..DoorRequest::new(asked, "openai-responses") };
        return Ok(answer(shared, wish).await?);
    }
    let caller = Caller { tools: own, ..Caller::default() };
    in_one_piece(shared, asked, left_out, |begun, run| {
        response(begun.conversation().as_str(), begun.run(), run, &caller)
    })
    .await
}

/// The conversation of the response `previous`, and what its persons had said up to it. Fails with
/// `previous_response_not_found` if there is no such run, with `elsewhere` if another hub has it, and with `invalid_value` if
/// one of `results` is of no call that the run has left to its caller: it would be lost.
fn earlier(
    shared: &Shared,
    previous: &str,
    results: &[CallResult],
) -> Result<(ConversationId, Vec<Spoken>), Fault> {
    let unknown = || {
        let message = format!("previous_response_id: no response {previous} is known here");
        let param = Some(String::from("previous_response_id"));
        Fault { param, ..Fault::new(StatusCode::BAD_REQUEST, "previous_response_not_found", &message) }
    };
    let (conversation, run) = find(shared, split_response_id(previous))?.ok_or_else(unknown)?;
    let said = conversation.read_view(|view| said_before(view, &run)).ok_or_else(unknown)?;
    let stray = conversation.read_view(|view| {
        let newest = view.runs.last().filter(|(newest, _)| **newest == run);
        let waiting = |call| newest.is_some_and(|(_, it)| left_calls(it).any(|(id, _)| id == call));
        results.iter().find(|given| !waiting(&given.tool)).map(|given| given.tool.clone())
    });
    if let Some(call) = stray {
        let why = format!("no call {call} of {previous} waits for a result");
        return Err(Fault::of_field("input", &why));
    }
    Ok((conversation.id().clone(), said))
}

/// What persons had said before `run` began and inside it, such as why they rejected a call; `None` if the conversation does not
/// have that run.
fn said_before(view: &View, run: &RunId) -> Option<Vec<Spoken>> {
    let begin = view.items.iter().position(|item| matches!(item, TopItem::Run(id) if id == run))?;
    let messages = view.items.iter().enumerate().filter_map(|(at, item)| match item {
        TopItem::Message(id) => view
            .messages
            .get(id)
            .filter(|message| at < begin || message.within.as_ref().is_some_and(|within| within.run == *run)),
        TopItem::Run(_) => None,
    });
    Some(messages.filter(|it| it.role == "user").map(|it| Spoken::user(it.text.as_str())).collect())
}

/// The conversation and the run that an id of a response or an item names, if this hub has the conversation. Fails with
/// `elsewhere` if another hub has it.
fn find(shared: &Shared, named: Option<(RunId, &str)>) -> Result<Option<(Arc<Conversation>, RunId)>, Fault> {
    let Some((run, name)) = named else { return Ok(None) };
    let Ok(name) = ConversationId::parse(name) else { return Ok(None) };
    match blocking(|| shared.hub.find(&name)) {
        Ok(Some(found)) if found.is_followed() => Err(asked::go_to(&name, None).into()),
        Ok(found) => Ok(found.map(|found| (found, run))),
        Err(OpenError::Elsewhere { .. }) => Err(asked::go_to(&name, None).into()),
        Err(error) => Err(Refusal::new(error.code(), error.to_string()).into()),
    }
}

/// The calls that a run has left to its caller.
fn left_calls(run: &RunView) -> impl Iterator<Item = (&ToolCallId, &ToolView)> {
    let calls = run.tools.iter().filter(|_| !run.is_running());
    calls.filter(|(_, tool)| tool.agent.is_none() && tool.state == ToolState::Pending)
}

/// The response of this id as one object. The calls that the run has left to its caller are in it.
fn retrieved(shared: &Shared, id: &str) -> Result<Response, Fault> {
    let unknown =
        || Fault::new(StatusCode::NOT_FOUND, "not_found", &format!("no response {id} is known here"));
    let (conversation, run) = find(shared, split_response_id(id))?.ok_or_else(unknown)?;
    let view: RunView = conversation.read_view(|view| view.runs.get(&run).cloned()).ok_or_else(unknown)?;
    let caller =
        Caller { tools: left_calls(&view).map(|(_, tool)| tool.name.clone()).collect(), ..Caller::default() };
    Ok(object(response(conversation.id().as_str(), &run, &view, &caller)))
}
