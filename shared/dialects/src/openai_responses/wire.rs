//! The JSON objects of the Responses API, with the fields that the decoder reads. One struct has the fields
//! of all events, one those of all items: each type uses some of them.

use serde::Deserialize;

use crate::field::ForeignField;
use model::event::Usage;

/// One event of a stream. An answer that was not streamed and an error body have the same outer shape.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesStreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    /// The response ([`ResponseBody`]), in the events about its state.
    #[serde(borrow)]
    pub(super) response: ForeignField<'a>,
    /// The item ([`OutputItem`]), in `output_item.added` and `.done`.
    #[serde(borrow)]
    pub(super) item: ForeignField<'a>,
    /// The id of the item; not used to find it, since servers change it.
    #[serde(borrow)]
    pub(super) item_id: ForeignField<'a>,
    /// The place of the item in the output, from 0.
    #[serde(borrow)]
    pub(super) output_index: ForeignField<'a>,
    /// The number of the content part in its item, from 0.
    #[serde(borrow)]
    pub(super) content_index: ForeignField<'a>,
    /// The number of the part of a summary of reasoning, from 0.
    #[serde(borrow)]
    pub(super) summary_index: ForeignField<'a>,
    /// The number of the command in a `shell_call`, from 0.
    #[serde(borrow)]
    pub(super) command_index: ForeignField<'a>,
    /// What is new: a text, or an object with one.
    #[serde(borrow)]
    pub(super) delta: ForeignField<'a>,
    /// The whole text, in `output_text.done` and its like.
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    /// The whole refusal, in `refusal.done`.
    #[serde(borrow)]
    pub(super) refusal: ForeignField<'a>,
    /// The content part ([`ResponsesObject`]), in `content_part.added` and `.done`.
    #[serde(borrow)]
    pub(super) part: ForeignField<'a>,
    /// The citation, in `output_text.annotation.added`.
    #[serde(borrow)]
    pub(super) annotation: ForeignField<'a>,
    /// The name of the tool, which newer servers repeat in `function_call_arguments.done`.
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    /// The whole arguments, in `function_call_arguments.done`.
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
    /// The whole input, in `custom_tool_call_input.done`.
    #[serde(borrow)]
    pub(super) input: ForeignField<'a>,
    /// The code of an interpreter call; of an error, its name.
    #[serde(borrow)]
    pub(super) code: ForeignField<'a>,
    /// The number of a preview of a picture, from 0.
    #[serde(borrow)]
    pub(super) partial_image_index: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    /// Of the error bodies of gateways.
    #[serde(borrow)]
    pub(super) detail: ForeignField<'a>,
}

/// A whole response, or how far it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponseBody<'a> {
    #[serde(borrow)]
    pub(super) object: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) model: ForeignField<'a>,
    /// `completed`, `incomplete`, `failed`, `cancelled`, `queued` or `in_progress`.
    #[serde(borrow)]
    pub(super) status: ForeignField<'a>,
    /// All items. The backend of `ChatGPT` leaves it empty although items were streamed.
    #[serde(borrow)]
    pub(super) output: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) usage: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    /// Why the response is not complete: `max_output_tokens` or `content_filter`.
    #[serde(borrow)]
    incomplete_details: ForeignField<'a>,
}

impl ResponseBody<'_> {
    /// Why it is not complete, or else how it ended.
    pub(super) fn finish_reason(&self, status: &str) -> compact_str::CompactString {
        let why: ResponsesObject<'_> = self.incomplete_details.object();
        why.reason.word().map_or_else(|| status.into(), |reason| compact_str::CompactString::new(&reason))
    }
}

/// An item of the output; each type uses some of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputItem<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    /// The item's own id (`fc_…`, `msg_…`).
    #[serde(borrow)]
    pub(super) id: ForeignField<'a>,
    /// The id by which results name a call that the caller executes (`call_…`).
    #[serde(borrow)]
    pub(super) call_id: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) name: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) status: ForeignField<'a>,
    /// The parts of a message, or of reasoning that is not summarized.
    #[serde(borrow)]
    pub(super) content: ForeignField<'a>,
    /// The summary of reasoning, in parts.
    #[serde(borrow)]
    pub(super) summary: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) arguments: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) input: ForeignField<'a>,
    /// What a shell call or a search does: commands, or a query with its sources.
    #[serde(borrow)]
    pub(super) action: ForeignField<'a>,
    /// What a patch does: `type`, `path` and `diff`.
    #[serde(borrow)]
    pub(super) operation: ForeignField<'a>,
    /// The queries of a search in files.
    #[serde(borrow)]
    pub(super) queries: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) code: ForeignField<'a>,
    /// The MCP server of a call.
    #[serde(borrow)]
    pub(super) server_label: ForeignField<'a>,
    /// Where a shell call runs: in a container of the provider, or with the caller.
    #[serde(borrow)]
    pub(super) environment: ForeignField<'a>,
    /// Who searches for tools: `client` or the provider.
    #[serde(borrow)]
    pub(super) execution: ForeignField<'a>,
    /// What a person has to confirm before the caller executes a call of the computer.
    #[serde(borrow)]
    pub(super) pending_safety_checks: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) output: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) outputs: ForeignField<'a>,
    /// The picture of an image call, base64; the result of a program.
    #[serde(borrow)]
    pub(super) result: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) results: ForeignField<'a>,
    /// The tools that an MCP server or a search has.
    #[serde(borrow)]
    pub(super) tools: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) error: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) revised_prompt: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) size: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) quality: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) background: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) output_format: ForeignField<'a>,
}

/// The small objects inside of items and events: content parts, actions, outputs of commands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesObject<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) text: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) refusal: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) annotations: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) message: ForeignField<'a>,
    /// Where a search on the web found something.
    #[serde(borrow)]
    pub(super) sources: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) stdout: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) stderr: ForeignField<'a>,
    /// How a command ended: `exit` with a code, or a timeout.
    #[serde(borrow)]
    pub(super) outcome: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) exit_code: ForeignField<'a>,
    #[serde(borrow)]
    pub(super) reason: ForeignField<'a>,
}

/// Counts of tokens as the API names them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResponsesUsage<'a> {
    #[serde(borrow)]
    input_tokens: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens: ForeignField<'a>,
    #[serde(borrow)]
    input_tokens_details: ForeignField<'a>,
    #[serde(borrow)]
    output_tokens_details: ForeignField<'a>,
}

/// The parts of the input or of the output tokens.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResponsesUsageDetails<'a> {
    #[serde(borrow)]
    cached_tokens: ForeignField<'a>,
    #[serde(borrow)]
    reasoning_tokens: ForeignField<'a>,
}

/// The tokens of a response; nothing if `field` counts none.
pub(super) fn usage(field: ForeignField<'_>) -> Option<Usage> {
    let fields: ResponsesUsage<'_> = field.object();
    let (input, output) = (fields.input_tokens.count(), fields.output_tokens.count());
    if input.is_none() && output.is_none() {
        return None;
    }
    let read: ResponsesUsageDetails<'_> = fields.input_tokens_details.object();
    let written: ResponsesUsageDetails<'_> = fields.output_tokens_details.object();
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        reasoning_tokens: written.reasoning_tokens.count().unwrap_or(0),
        cached_tokens: read.cached_tokens.count().unwrap_or(0),
        cost: None,
    })
}
