//! Messages for the next model call, made from a view: how an agent goes on after a crash, or with another model.
//!
//! ```text
//! any interleaved log ──fold──▶ view ──▶ history: who said what, step by step ──▶ the shape of one API
//! ```
//!
//! A view has what each API wants to have apart: texts, calls and results of one run in the order in which they came,
//! results often in the middle of a text that went on. [`mod@history`] takes that apart into steps, each one answer of the
//! model with its calls and their results; [`openai`] and [`anthropic`] write the steps by the rules of their API:
//!
//! * A call with a result is kept, with its id, and its result stands directly behind it.
//! * A call without a result is left out, since both APIs refuse a call that nobody answers. With
//!   [`UnfinishedCalls::Answer`] it is kept and answered: that it was interrupted, cancelled, or not executed. A call
//!   whose definition never became whole is left out in any case: there is nothing to answer.
//! * What sub-agents did inside is left out; the call that started them is kept, with what they gave back.
//! * A response that broke off is kept as far as it came and followed by a note that says so, once; what came when the model
//!   was asked again stands behind the note.
//! * The hub's own agents say where one answer ends and the next begins. Elsewhere it is guessed: a text behind calls, and a call
//!   that was begun when another had its result, are of the next answer.
//! * Thinking is carried where the provider signed it, and to the API that signs; others do not take it back.
//! * No message is empty, and ids and names are those that the API takes.

use serde::Serialize;

use model::view::View;

pub mod anthropic;
pub mod history;
pub mod openai;

mod files;
mod names;

pub use history::{UnfinishedCalls, history};
pub use names::tool_name;

/// The name of the custom event of the hub's own agents that says that an answer broke off, and how much of
/// it there is: a [`PartialResponse`].
pub const PARTIAL_ANSWER: &str = "partial_answer";

/// A note that a response broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PartialResponse {
    /// Always true; the field that logs of such responses have.
    pub is_partial: bool,
    /// How much of the response there is, in percent, if the source says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_percentage: Option<u8>,
}

impl PartialResponse {
    /// The text that tells the model about it.
    pub fn note(self) -> String {
        match self.completion_percentage {
            Some(percent) => format!("[Previous response was interrupted at {percent}%]"),
            None => "[Previous response was interrupted at ?%]".to_owned(),
        }
    }
}

/// The model of the newest run that names one.
fn model(view: &View) -> Option<&str> {
    view.runs.values().rev().find_map(|run| run.model.as_deref())
}

#[cfg(test)]
mod tests;
