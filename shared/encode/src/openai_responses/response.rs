//! A response as an object: at the beginning and the end of a stream, and in one piece for callers that do
//! not stream.

use model::event::{PartKind, RunStatus, Usage};
use model::ids::RunId;
use model::view::{Item, RunView};

use super::item::{ItemStatus, OutputItem};
use crate::openai_chat::{MODEL, finish_reason};
use crate::{Caller, FAILED, ObjectWriter};

/// What ids of responses begin with.
const PREFIX: &str = "resp_";

/// The states that a response is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseStatus {
    InProgress,
    Completed,
    /// The model had no room for the rest of its answer.
    OutOfTokens,
    /// The provider filtered the answer.
    Filtered,
    /// A person stopped it. Only a response in one piece says so.
    Cancelled,
    Failed,
}

impl ResponseStatus {
    /// The state of a run that is complete.
    pub(super) fn of_complete(run: &RunView) -> Self {
        match finish_reason(run) {
            "length" => Self::OutOfTokens,
            // A refusal is a whole answer here: it has an item of its own.
            "content_filter" if run.finish_reason.as_deref() != Some("refusal") => Self::Filtered,
            _ => Self::Completed,
        }
    }

    /// The name of the event that tells it.
    pub(super) fn event(self) -> &'static str {
        match self {
            Self::InProgress => "response.in_progress",
            Self::Completed => "response.completed",
            Self::OutOfTokens | Self::Filtered => "response.incomplete",
            Self::Failed | Self::Cancelled => "response.failed",
        }
    }

    /// The word of the field `status`.
    fn word(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::OutOfTokens | Self::Filtered => "incomplete",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Why the answer is not whole; nothing if it is.
    fn incomplete(self) -> Option<&'static str> {
        match self {
            Self::OutOfTokens => Some("max_output_tokens"),
            Self::Filtered => Some("content_filter"),
            _ => None,
        }
    }
}

/// The id of the response that a run is. A caller who names it with `previous_response_id` means the run's conversation, so it
/// has both.
pub(super) fn response_id(conversation: &str, run: &RunId) -> String {
    format!("{PREFIX}{run}.{conversation}")
}

/// The id of the item at `place` of a response's output. It contains that of the response: callers who leave the history to the
/// server send ids of items in its place.
pub(super) fn item_id(prefix: &str, place: usize, response: &str) -> String {
    format!("{prefix}_{place}.{}", response.strip_prefix(PREFIX).unwrap_or(response))
}

/// The run and the conversation of an id that a response has been given for a run without a dot in its name; `None` for any
/// other id.
pub fn split_response_id(id: &str) -> Option<(RunId, &str)> {
    let (run, conversation) = id.strip_prefix(PREFIX)?.split_once('.')?;
    Some((RunId::new(run), conversation))
}

/// The run and the conversation of the id of an item in an output, as [`split_response_id`] has them; `None` for any other id.
pub fn split_item_id(id: &str) -> Option<(RunId, &str)> {
    let (_prefix, rest) = id.split_once('_')?;
    let (place, response) = rest.split_once('.')?;
    let (run, conversation) = response.split_once('.')?;
    place.bytes().all(|byte| byte.is_ascii_digit()).then(|| (RunId::new(run), conversation))
}

/// A run as the response to one request, with the calls that the caller has to execute. A run that broke off
/// becomes a failed response.
pub fn response(conversation: &str, id: &RunId, run: &RunView, caller: &Caller) -> Vec<u8> {
    let mut out = Vec::new();
    let status = match run.status {
        RunStatus::Running => ResponseStatus::InProgress,
        RunStatus::Complete => ResponseStatus::of_complete(run),
        RunStatus::Cancelled => ResponseStatus::Cancelled,
        RunStatus::Error | RunStatus::Interrupted => ResponseStatus::Failed,
    };
    let response = response_id(conversation, id);
    let shown = run.items.iter().filter_map(|item| output_item(run, item, caller));
    let items: Vec<OutputItem> = shown.enumerate().map(|(place, item)| item.at(place, &response)).collect();
    ObjectWriter::write(&mut out, |object| fill(object, &response, run, status, &items));
    out
}

/// An item of a run as an item of the output; nothing for what the API has no item for, what sub-agents did, and calls
/// that are not the caller's.
fn output_item(run: &RunView, item: &Item, caller: &Caller) -> Option<OutputItem> {
    let status = if run.open.contains(item) { ItemStatus::InProgress } else { ItemStatus::Completed };
    match item {
        Item::Part(id) => {
            let part = run.parts.get(id)?;
            let is_shown = part.agent.is_none() && part.kind != PartKind::File;
            is_shown.then(|| OutputItem::of_part(id, part.kind).filled(&part.body.text, status))
        }
        Item::Tool(id) => {
            let tool = run.tools.get(id)?;
            let is_meant = tool.agent.is_none() && caller.tools.contains(&tool.name);
            is_meant.then(|| OutputItem::of_call(id, &tool.name).filled(&tool.arguments.text, status))
        }
        _ => None,
    }
}

/// Writes the fields of a response. Those that repeat the request have the values of a request without them: the
/// stream of a viewer has no request.
pub(super) fn fill(
    object: &mut ObjectWriter<'_>,
    id: &str,
    run: &RunView,
    status: ResponseStatus,
    items: &[OutputItem],
) {
    object.put("id", id).put("object", "response").put("created_at", &(run.started_at / 1000));
    object.put("status", status.word());
    match &run.error {
        _ if status != ResponseStatus::Failed => object.put("error", &()),
        Some(error) => object.nest("error", |fields| {
            fields.put("code", error.code.as_str()).put("message", error.message.as_str());
        }),
        None => object.nest("error", |fields| {
            fields.put("code", "server_error").put("message", FAILED);
        }),
    };
    match status.incomplete() {
        Some(reason) => object.nest("incomplete_details", |details| {
            details.put("reason", reason);
        }),
        None => object.put("incomplete_details", &()),
    };
    object.put("instructions", &()).nest("metadata", |_nothing| {});
    object.put("model", run.model.as_deref().unwrap_or(MODEL));
    object.nest_all("output", items, OutputItem::fill);
    object.put("parallel_tool_calls", &true).put("previous_response_id", &()).put("temperature", &());
    object.put("tool_choice", "auto").put::<[(); 0]>("tools", &[]).put("top_p", &());
    match run.usage.filter(|_| status != ResponseStatus::InProgress) {
        Some(usage) => object.nest("usage", |fields| fill_usage(fields, usage)),
        None => object.put("usage", &()),
    };
}

/// Writes the counts of tokens as the API names them.
fn fill_usage(object: &mut ObjectWriter<'_>, usage: Usage) {
    object.put("input_tokens", &usage.input_tokens).nest("input_tokens_details", |details| {
        details.put("cached_tokens", &usage.cached_tokens);
    });
    object.put("output_tokens", &usage.output_tokens).nest("output_tokens_details", |details| {
        details.put("reasoning_tokens", &usage.reasoning_tokens);
    });
    object.put("total_tokens", &usage.input_tokens.saturating_add(usage.output_tokens));
}
