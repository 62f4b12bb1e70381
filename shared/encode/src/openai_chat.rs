//! Encodes OpenAI chat completions for any client of that API, and Bernard's form of it, which also has the
//! progress and the results of tools.
//!
//! | fact | becomes |
//! |---|---|
//! | a run starts | a chunk with the role |
//! | text, reasoning, refusal | `delta.content`, `reasoning_content`, `refusal` |
//! | a file, once it is whole | `delta.images` |
//! | a call | `delta.tool_calls`, with its arguments in pieces |
//! | a run is complete | a chunk with `finish_reason`, one with `usage` and no choices |
//! | a run failed | the usage, an event `{"error": …}` |
//! | a run broke off or was cancelled | the usage |
//! | the end of the stream | `[DONE]`, unless a run broke off |
//!
//! Both carry one assistant's answer: what sub-agents say and call is left out. A run that broke off has no
//! `finish_reason`, and no `[DONE]` follows it. Text cannot be taken back, so one that was replaced follows
//! after an empty line.
//!
//! A caller takes each call in the answer as one that it has to execute, so the answer has only the caller's
//! own calls; see [`Caller`].
//!
//! ```text
//! data: {"id":"chatcmpl-r1","object":"chat.completion.chunk","created":1770000000,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
//! data: {…,"choices":[{"index":0,"delta":{"content":"Noon."},"finish_reason":null}]}
//! data: {…,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}
//! data: {…,"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}
//! data: [DONE]
//! ```
//!
//! `id` is the same in all chunks of a run, `created` is the time of the event in seconds.

use std::collections::HashMap;

use super::{
    Caller, Encode, EncodeOptions, Fact, FactContext, FactEncoder, FactSink, ObjectWriter, PartStep,
    RunSequencer, ToolStep, data_event,
};
use model::event::{PartKind, RunStatus, ToolState, Usage};
use model::ids::ToolCallId;
use model::view::{PartView, RunView, ToolView};

mod bernard;
mod whole;

pub(super) use bernard::encoder as bernard;
pub use whole::completion;

/// The model of a run that names none; clients expect one.
pub(super) const MODEL: &str = "fanlight";

/// What is written between two texts.
const APART: &str = "\n\n";

/// An encoder for one stream.
pub(super) fn encoder(options: &EncodeOptions) -> Box<dyn Encode> {
    let caller = options.caller.clone();
    Box::new(RunSequencer::new(FactEncoder::new(OpenAiChatEncoder {
        caller,
        ..OpenAiChatEncoder::default()
    })))
}

/// The state of one stream: what the client was already sent.
#[derive(Debug, Default)]
struct OpenAiChatEncoder {
    /// A run is open.
    is_open: bool,
    /// A run broke off, so that the stream as a whole is not done.
    is_broken: bool,
    /// The index of each call in the message. Calls that are not for the reader have none.
    calls: HashMap<ToolCallId, usize>,
    /// Who reads the stream as the answer to a request; nothing for a viewer.
    caller: Option<Caller>,
    /// The text so far does not end with white space, so another text must be separated from it.
    runs_on: bool,
}

impl FactSink for OpenAiChatEncoder {
    fn fact(&mut self, scene: &FactContext<'_>, fact: Fact<'_>, out: &mut Vec<u8>) {
        if let Fact::RunStart = fact {
            return self.start(scene, out);
        }
        if !self.is_open || scene.agent.is_some() {
            return;
        }
        match fact {
            Fact::Part(_, part, PartStep::Start) => self.set_apart(scene, part, out),
            Fact::Part(_, part, PartStep::Delta(text)) => {
                if part.kind == PartKind::Text {
                    self.runs_on = !text.ends_with(char::is_whitespace);
                }
                text_chunk(scene, part, text, out);
            }
            Fact::Part(_, part, PartStep::Replaced) => replaced(scene, part, out),
            Fact::Part(_, part, PartStep::End) => image_chunk(scene, part, out),
            Fact::Tool(id, tool, step) => self.call(scene, id, tool, step, out),
            Fact::RunEnd => self.end_run(scene, out),
            _ => {}
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        if !self.is_open && !self.is_broken {
            out.extend_from_slice(b"data: [DONE]\n\n");
        }
    }
}

impl OpenAiChatEncoder {
    /// Begins the message of a run. All but the state of the stream is reset.
    fn start(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        let (is_broken, caller) = (self.is_broken, self.caller.take());
        *self = Self { is_open: true, is_broken, caller, ..Self::default() };
        delta_chunk(scene, out, |delta| {
            delta.put("role", "assistant").put("content", "");
        });
    }

    /// Writes a separator between two texts of a caller's answer, unless the first ends with white space:
    /// calls may have been between them that the answer does not have.
    fn set_apart(&mut self, scene: &FactContext<'_>, part: &PartView, out: &mut Vec<u8>) {
        if part.kind == PartKind::Text && self.caller.is_some() && std::mem::take(&mut self.runs_on) {
            text_chunk(scene, part, APART, out);
        }
    }

    /// Writes one step of a call, if it is for the reader.
    fn call(
        &mut self,
        scene: &FactContext<'_>,
        id: &ToolCallId,
        tool: &ToolView,
        step: ToolStep<'_>,
        out: &mut Vec<u8>,
    ) {
        let next = self.calls.len();
        match step {
            ToolStep::Start if self.is_meant(tool) => {
                let index = *self.calls.entry(id.clone()).or_insert(next);
                call_chunk(scene, out, |call| {
                    call.put("index", &index).put("id", id.as_str()).put("type", "function");
                    call.nest("function", |function| {
                        function.put("name", tool.name.as_str()).put("arguments", "");
                    });
                });
            }
            ToolStep::Args(text) => {
                let Some(index) = self.calls.get(id) else { return };
                call_chunk(scene, out, |call| {
                    call.put("index", index).nest("function", |function| {
                        function.put("arguments", text);
                    });
                });
            }
            _ => {}
        }
    }

    /// Whether the reader gets a call: a viewer gets all, a caller those that it has to execute.
    fn is_meant(&self, tool: &ToolView) -> bool {
        self.caller.as_ref().is_none_or(|caller| caller.tools.contains(&tool.name))
    }

    /// Ends the message of a run.
    fn end_run(&mut self, scene: &FactContext<'_>, out: &mut Vec<u8>) {
        self.is_open = false;
        self.is_broken |= end_run(scene, self.caller.as_ref(), out);
    }
}

/// Writes the end of a run. True if the run broke off, for which this dialect has no event.
fn end_run(scene: &FactContext<'_>, caller: Option<&Caller>, out: &mut Vec<u8>) -> bool {
    let run = scene.run;
    let usage_chunk = |scene: &FactContext<'_>, out: &mut Vec<u8>| {
        if caller.is_none_or(|caller| caller.wants_usage) {
            usage_chunk(scene, out);
        }
    };
    match run.status {
        RunStatus::Complete => chunk(scene, out, |choice| {
            choice.nest("delta", |_nothing| {});
            choice.put("finish_reason", finish_reason(run));
        }),
        RunStatus::Error => {
            usage_chunk(scene, out);
            error_event(run, out);
            return false;
        }
        _ => {
            usage_chunk(scene, out);
            return true;
        }
    }
    usage_chunk(scene, out);
    false
}

/// Writes more of the main agent's text.
fn text_chunk(scene: &FactContext<'_>, part: &PartView, text: &str, out: &mut Vec<u8>) {
    let field = match part.kind {
        PartKind::Text => "content",
        PartKind::Thinking => "reasoning_content",
        PartKind::Refusal => "refusal",
        // The address of a file is written once it is complete.
        PartKind::File => return,
    };
    delta_chunk(scene, out, |delta| {
        delta.put(field, text);
    });
}

/// Writes the new text after the old one, with a separator: the dialect cannot take back text.
fn replaced(scene: &FactContext<'_>, part: &PartView, out: &mut Vec<u8>) {
    if !part.body.text.is_empty() {
        text_chunk(scene, part, &format!("\n\n{}", part.body.text), out);
    }
}

/// Writes a file, once its address is complete. Other parts need no end.
fn image_chunk(scene: &FactContext<'_>, part: &PartView, out: &mut Vec<u8>) {
    if part.kind != PartKind::File || part.body.text.is_empty() {
        return;
    }
    delta_chunk(scene, out, |delta| {
        delta.nest_one("images", |image| {
            image.put("type", "image_url").nest("image_url", |url| {
                url.put("url", &part.body.text);
            });
        });
    });
}

/// Writes a chunk with a piece of a call.
fn call_chunk(scene: &FactContext<'_>, out: &mut Vec<u8>, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    delta_chunk(scene, out, |delta| {
        delta.nest_one("tool_calls", fill);
    });
}

/// Writes a chunk with a delta and no finish reason.
fn delta_chunk(scene: &FactContext<'_>, out: &mut Vec<u8>, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    chunk(scene, out, |choice| {
        choice.nest("delta", fill).put("finish_reason", &());
    });
}

/// Writes a chunk with one choice.
fn chunk(scene: &FactContext<'_>, out: &mut Vec<u8>, fill: impl FnOnce(&mut ObjectWriter<'_>)) {
    data_event(out, |chunk| {
        head(scene, chunk);
        chunk.nest_one("choices", |choice| {
            choice.put("index", &0);
            fill(choice);
        });
    });
}

/// Writes the fields that all chunks have. `created` is the time of the event, in seconds.
fn head(scene: &FactContext<'_>, chunk: &mut ObjectWriter<'_>) {
    chunk.put("id", &chunk_id(scene)).put("object", "chat.completion.chunk");
    chunk.put("created", &(scene.at / 1000)).put("model", scene.run.model.as_deref().unwrap_or(MODEL));
}

/// The id of the answer: the same for all chunks of a run.
fn chunk_id(scene: &FactContext<'_>) -> String {
    format!("chatcmpl-{}", scene.run_id)
}

/// Writes the usage of the run in a chunk without choices, if it is known.
fn usage_chunk(scene: &FactContext<'_>, out: &mut Vec<u8>) {
    let Some(usage) = scene.run.usage else { return };
    data_event(out, |chunk| {
        head(scene, chunk);
        chunk.put::<[(); 0]>("choices", &[]).nest("usage", |object| fill_usage(object, usage));
    });
}

/// Writes the counts of tokens as the API names them.
fn fill_usage(object: &mut ObjectWriter<'_>, usage: Usage) {
    let total = usage.input_tokens.saturating_add(usage.output_tokens);
    object.put("prompt_tokens", &usage.input_tokens).put("completion_tokens", &usage.output_tokens);
    object.put("total_tokens", &total);
    if usage.cached_tokens > 0 {
        object.nest("prompt_tokens_details", |details| {
            details.put("cached_tokens", &usage.cached_tokens);
        });
    }
    if usage.reasoning_tokens > 0 {
        object.nest("completion_tokens_details", |details| {
            details.put("reasoning_tokens", &usage.reasoning_tokens);
        });
    }
}

/// Writes the failure of a run.
fn error_event(run: &RunView, out: &mut Vec<u8>) {
    let (code, message) = match &run.error {
        Some(error) => (error.code.as_str(), error.message.as_str()),
        None => ("error", "the run failed"),
    };
    data_event(out, |event| {
        event.nest("error", |error| {
            error.put("message", message).put("type", code).put("code", code);
        });
    });
}

/// The finish reason in the API's terms. Calls that were left to the caller take precedence over the reason
/// that the model gave.
pub(super) fn finish_reason(run: &RunView) -> &'static str {
    if run.tools.values().any(|tool| tool.agent.is_none() && tool.state == ToolState::Pending) {
        return "tool_calls";
    }
    match run.finish_reason.as_deref() {
        Some(
            "length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS" | "model_context_window_exceeded",
        ) => "length",
        Some("content_filter" | "refusal" | "SAFETY" | "content-filter") => "content_filter",
        _ => "stop",
    }
}

#[cfg(test)]
mod tests;
