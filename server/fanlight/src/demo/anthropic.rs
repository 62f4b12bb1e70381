//! A model call as a stream of Anthropic's messages API.
//!
//! ```text
//! message_start · ping · (content_block_start · content_block_delta … · content_block_stop) … · message_delta · message_stop
//! ```
//!
//! A failing call ends with an `error` event instead.

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
    let mut writer = AnthropicSchedule { beats: Vec::new(), at: first_token(dice) };
    writer.start(call);
    let mut reason = "end_turn";
    for (index, piece) in (0_u32..).zip(pieces) {
        match piece {
            ScriptPiece::Think { text, rate } => {
                let rate = rate.unwrap_or(call.rate);
                writer.open(index, &json!({"type": "thinking", "thinking": "", "signature": ""}));
                writer.deltas(index, written(text, rate, dice), "thinking_delta", "thinking");
                let signature = json!({"type": "signature_delta", "signature": "ZGVtbw=="});
                writer.event("content_block_delta", &json!({"index": index, "delta": signature}));
            }
            ScriptPiece::Say { text, rate } => {
                writer.open(index, &json!({"type": "text", "text": ""}));
                writer.deltas(index, written(text, rate.unwrap_or(call.rate), dice), "text_delta", "text");
            }
            ScriptPiece::Call { id, name, arguments } => {
                reason = "tool_use";
                let id = id_in(call.run, id);
                writer.open(index, &json!({"type": "tool_use", "id": id, "name": name, "input": {}}));
                let written = written(arguments, call.rate, dice);
                writer.deltas(index, written, "input_json_delta", "partial_json");
            }
            ScriptPiece::Fail { code, message } => {
                writer.event("error", &json!({"error": {"type": code, "message": message}}));
                return writer.beats;
            }
        }
        writer.event("content_block_stop", &json!({"index": index}));
    }
    let usage = json!({"output_tokens": super::stage::tokens(pieces)});
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    writer.event("message_delta", &json!({"delta": delta, "usage": usage}));
    writer.event("message_stop", &json!({}));
    writer.beats
}

/// Collects the events of the stream with their times.
struct AnthropicSchedule {
    /// The events so far, in order of time.
    beats: Vec<ScheduledText>,
    /// When the next event is sent.
    at: Duration,
}

impl AnthropicSchedule {
    /// Adds `message_start` and a `ping`.
    fn start(&mut self, call: &ModelCall<'_>) {
        let message = json!({
            "id": format!("msg_{}", call.name),
            "type": "message",
            "role": "assistant",
            "model": call.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": {"input_tokens": call.input_tokens, "output_tokens": 1},
        });
        self.event("message_start", &json!({"message": message}));
        self.event("ping", &json!({}));
    }

    /// Begins a content block.
    fn open(&mut self, index: u32, block: &Value) {
        self.event("content_block_start", &json!({"index": index, "content_block": block}));
    }

    /// Adds a text as deltas of a block, each after its pause.
    fn deltas(&mut self, index: u32, written: Vec<(Duration, &str)>, kind: &str, field: &str) {
        for (pause, text) in written {
            self.at = self.at.saturating_add(pause);
            let delta = json!({"type": kind, field: text});
            self.event("content_block_delta", &json!({"index": index, "delta": delta}));
        }
    }

    /// Adds an event with its name and type.
    fn event(&mut self, name: &str, fields: &Value) {
        let mut event = json!({"type": name});
        if let (Some(event), Some(fields)) = (event.as_object_mut(), fields.as_object()) {
            event.extend(fields.clone());
        }
        self.beats.push(ScheduledText { at: self.at, text: format!("event: {name}\ndata: {event}\n\n") });
    }
}
