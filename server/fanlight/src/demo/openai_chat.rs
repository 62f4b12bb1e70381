//! A model call as a chat completions server streams it.

use std::time::Duration;

use serde_json::{Value, json};

use super::pacing::{Dice, first_token, written};
use super::script::Piece;
use super::stage::{Beat, ModelCall, id_in};

/// The stream of one model call.
pub(super) fn stream(pieces: &[Piece], call: &ModelCall<'_>, dice: &mut Dice) -> Vec<Beat> {
    let mut writer = Writer { call, beats: Vec::new(), at: first_token(dice) };
    writer.delta(&json!({"role": "assistant", "content": ""}));
    let mut calls = 0_u32;
    for piece in pieces {
        match piece {
            Piece::Think { text, rate } => {
                for (pause, text) in written(text, rate.unwrap_or(call.rate), dice) {
                    writer.later(pause).delta(&json!({"reasoning_content": text}));
                }
            }
            Piece::Say { text, rate } => {
                for (pause, text) in written(text, rate.unwrap_or(call.rate), dice) {
                    writer.later(pause).delta(&json!({"content": text}));
                }
            }
            Piece::Call { id, name, arguments } => {
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
            Piece::Fail { code, message } => {
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
    writer.beats.push(Beat { at: writer.at, text: String::from("data: [DONE]\n\n") });
    writer.beats
}

struct Writer<'a> {
    call: &'a ModelCall<'a>,
    beats: Vec<Beat>,
    at: Duration,
}

impl Writer<'_> {
    fn later(&mut self, pause: Duration) -> &mut Self {
        self.at = self.at.saturating_add(pause);
        self
    }

    fn delta(&mut self, delta: &Value) {
        self.choice(delta, &Value::Null);
    }

    fn choice(&mut self, delta: &Value, reason: &Value) {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        self.chunk(&json!([choice]), &Value::Null);
    }

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
        self.beats.push(Beat { at: self.at, text: format!("data: {value}\n\n") });
    }
}
