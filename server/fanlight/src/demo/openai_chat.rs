//! A model call as a stream of OpenAI's chat completions API.
//!
//! ```text
//! data: {"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}],…}
//! data: …                                        deltas of reasoning_content, content and tool_calls
//! data: {"choices":[{"delta":{},"finish_reason":"stop"}],…}
//! data: {"choices":[],"usage":{…}}
//! data: [DONE]
//! ```
//!
//! A failing call ends with an `error` object instead.

use std::time::Duration;

use serde_json::{Value, json};

use super::pacing::{DemoRandom, first_token, written};
use super::script::ScriptPiece;
use super::stage::{ModelCall, ScheduledText, id_in};

/// The stream of one model call. Times count from the beginning of the call.
pub(super) fn stream(
    pieces: &[ScriptPiece],
    call: &ModelCall<'_>,
    dice: &mut DemoRandom,
) -> Vec<ScheduledText> {
    let mut writer = TimedChatStream { call, beats: Vec::new(), at: first_token(dice) };
    writer.delta(&json!({"role": "assistant", "content": ""}));
    let mut calls = 0_u32;
    for piece in pieces {
        match piece {
            ScriptPiece::Think { text, rate } => {
                for (pause, text) in written(text, rate.unwrap_or(call.rate), dice) {
                    writer.later(pause).delta(&json!({"reasoning_content": text}));
                }
            }
            ScriptPiece::Say { text, rate } => {
                for (pause, text) in written(text, rate.unwrap_or(call.rate), dice) {
                    writer.later(pause).delta(&json!({"content": text}));
                }
            }
            ScriptPiece::Call { id, name, arguments } => {
                let id = id_in(call.run, id);
                let function = json!({"name": name, "arguments": ""});
                let first = json!({"index": calls, "id": id, "type": "function", "function": function});
                writer.delta(&json!({"tool_calls": [first]}));
                for (pause, text) in written(arguments, call.rate, dice) {
                    let more = json!({"index": calls, "function": {"arguments": text}});
                    writer.later(pause).delta(&json!({"tool_calls": [more]}));
                }
                calls = calls.saturating_add(1);
            }
            ScriptPiece::Fail { code, message } => {
                writer.write(&json!({"error": {"message": message, "type": code, "code": code}}));
                return writer.beats;
            }
        }
    }
    let reason = if calls > 0 { "tool_calls" } else { "stop" };
    writer.choice(&json!({}), &json!(reason));
    let (input, output) = (call.input_tokens, super::stage::tokens(pieces));
    let usage = json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input.saturating_add(output)});
    writer.chunk(&json!([]), &usage);
    writer.beats.push(ScheduledText { at: writer.at, text: String::from("data: [DONE]\n\n") });
    writer.beats
}

/// Collects the chunks of the stream with their times.
struct TimedChatStream<'a> {
    /// What each chunk repeats about the call.
    call: &'a ModelCall<'a>,
    /// The chunks so far, in order of time.
    beats: Vec<ScheduledText>,
    /// When the next chunk is sent.
    at: Duration,
}

impl TimedChatStream<'_> {
    /// Moves the time of the next chunk.
    fn later(&mut self, pause: Duration) -> &mut Self {
        self.at = self.at.saturating_add(pause);
        self
    }

    fn delta(&mut self, delta: &Value) {
        self.choice(delta, &Value::Null);
    }

    /// Adds a chunk with one choice.
    fn choice(&mut self, delta: &Value, reason: &Value) {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        self.chunk(&json!([choice]), &Value::Null);
    }

    /// Adds a chunk to the stream.
    fn chunk(&mut self, choices: &Value, usage: &Value) {
        self.write(&json!({
            "id": format!("chatcmpl-{}", self.call.name),
            "object": "chat.completion.chunk",
            "created": self.call.created,
            "model": self.call.model,
            "choices": choices,
            "usage": usage,
        }));
    }

    fn write(&mut self, value: &Value) {
        self.beats.push(ScheduledText { at: self.at, text: format!("data: {value}\n\n") });
    }
}
