//! Brings what was said into a form in which it can be compared after clients send it back. Clients split and
//! join texts, rewrite arguments, give calls other ids and leave out thinking. So a turn is all that one side
//! said before the other spoke, without white space, thinking and ids.

use std::hash::Hasher as _;

use compact_str::CompactString;

use super::request::{MessagePiece, OmittedFile, RequestMessage, RequestRole};
use model::limits::{CALLS_AWAITED_MAX, TEXT_CALL_BYTES_MAX};
use model::print::Fingerprint;

/// The side whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnSide {
    /// The user, who asks.
    User,
    /// The model that answers.
    Assistant,
    /// The tools: the results of calls.
    Results,
}

/// What one side said before another spoke.
#[derive(Debug, Clone)]
pub(super) struct ComparedTurn {
    pub(super) side: TurnSide,
    pub(super) words: ComparedWords,
    /// The pieces of the turn: indices of messages, and of pieces in them.
    pub(super) pieces: Vec<(usize, usize)>,
}

/// The words of a turn in comparable form.
#[derive(Debug, Clone, Default)]
pub(super) struct ComparedWords {
    /// The text without white space, up to a limit.
    text: String,
    /// The calls, in order.
    pub(super) calls: Vec<ComparedCall>,
    files: Vec<u64>,
}

/// A tool call in comparable form.
#[derive(Debug, Clone)]
pub(super) struct ComparedCall {
    /// The vendor's id; empty if there is none. It is not compared.
    pub(super) id: CompactString,
    pub(super) name: CompactString,
    arguments: String,
}

impl ComparedWords {
    /// Appends text. What follows after [`TEXT_CALL_BYTES_MAX`] bytes is ignored.
    pub(super) fn text(&mut self, text: &str) {
        if self.text.len() < TEXT_CALL_BYTES_MAX {
            self.text.extend(text.chars().filter(|c| !c.is_whitespace()));
        }
    }

    /// Appends a call with its complete arguments. Calls over [`CALLS_AWAITED_MAX`] are ignored.
    pub(super) fn call(&mut self, id: &str, name: &str, arguments: &str) {
        if self.calls.len() < CALLS_AWAITED_MAX {
            let (id, name) = (CompactString::new(id), CompactString::new(name));
            self.calls.push(ComparedCall { id, name, arguments: canonical(arguments) });
        }
    }

    /// The text without white space, up to a limit.
    pub(super) fn said(&self) -> &str {
        &self.text
    }

    /// A copy with the same files and another text.
    pub(super) fn with_text(&self, text: &str) -> Self {
        let mut words = Self { files: self.files.clone(), ..Self::default() };
        words.text(text);
        words
    }

    fn file(&mut self, file: &OmittedFile) {
        let mut hasher = Fingerprint::default();
        hasher.write(file.kind.as_bytes());
        hasher.write_u64(file.print);
        self.files.push(hasher.finish());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty() && self.files.is_empty()
    }

    /// The hash of the words as a turn of `side`, called its print.
    pub(super) fn print(&self, side: TurnSide) -> u64 {
        let mut hasher = Fingerprint::default();
        hasher.write_u8(match side {
            TurnSide::User => 1,
            TurnSide::Assistant => 2,
            TurnSide::Results => 3,
        });
        hasher.write(self.text.as_bytes());
        for call in &self.calls {
            hasher.write_u8(0xff);
            hasher.write(call.name.as_bytes());
            hasher.write_u8(0xfe);
            hasher.write(call.arguments.as_bytes());
        }
        for file in &self.files {
            hasher.write_u64(*file);
        }
        hasher.finish()
    }

    /// Whether the words are so specific that no other loop is likely to have said the same.
    pub(super) fn is_telling(&self) -> bool {
        /// The length of one or two sentences. Short answers such as "yes" and "done" are common.
        const TELLING_BYTES: usize = 64;
        self.text.len() >= TELLING_BYTES || self.calls.iter().any(|call| is_telling(&call.id))
    }
}

/// Whether an id is unlikely to be given twice: its last word is long, as in `toolu_01A09q90qw90lq917835lq9` and not as
/// in `call_0` or `functions.search:3`.
pub(super) fn is_telling(id: &str) -> bool {
    const TELLING_BYTES: usize = 8;
    let last = id.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    last.len() >= TELLING_BYTES && last.bytes().any(|byte| byte.is_ascii_digit())
}

/// Arguments in one form, whatever their white space and the order of fields. Of very long arguments only the
/// length is compared.
fn canonical(arguments: &str) -> String {
    match arguments.trim() {
        "" | "null" | "{}" => String::from("{}"),
        text if text.len() <= TEXT_CALL_BYTES_MAX => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) => sorted(value).to_string(),
            Err(_not_json) => text.chars().filter(|c| !c.is_whitespace()).collect(),
        },
        text => text.len().to_string(),
    }
}

/// `value` with the fields of its objects sorted. The parser limits the depth of the recursion.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().map(|(name, value)| (name, sorted(value))).collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Object(fields.into_iter().collect())
        }
        other => other,
    }
}

/// The turns of `messages`. Instructions among them make no turn, since clients add and remove them freely;
/// they are published with the turn that follows them.
pub(super) fn turns(messages: &[RequestMessage]) -> Vec<ComparedTurn> {
    let mut turns: Vec<ComparedTurn> = Vec::new();
    let mut waiting = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for (place, piece) in message.pieces.iter().enumerate() {
            let Some(side) = side(&message.role, piece) else {
                waiting.push((at, place));
                continue;
            };
            if turns.last().is_none_or(|last| last.side != side) {
                turns.push(ComparedTurn { side, words: ComparedWords::default(), pieces: Vec::new() });
            }
            if let Some(turn) = turns.last_mut() {
                turn.pieces.append(&mut waiting);
                turn.pieces.push((at, place));
                add(&mut turn.words, side, piece);
            }
        }
    }
    if let Some(last) = turns.last_mut().filter(|last| last.side != TurnSide::Assistant) {
        last.pieces.append(&mut waiting);
    }
    turns.retain(|turn| turn.side != TurnSide::Assistant || !turn.words.is_empty());
    turns
}

/// The side whose turn a piece belongs to; nothing for instructions.
pub(super) fn side(role: &RequestRole, piece: &MessagePiece) -> Option<TurnSide> {
    match (piece, role) {
        (MessagePiece::Call { .. }, _) => Some(TurnSide::Assistant),
        (MessagePiece::Result { .. } | MessagePiece::Consent { .. }, _) | (_, RequestRole::Tool) => {
            Some(TurnSide::Results)
        }
        (MessagePiece::Text(_) | MessagePiece::File(_), RequestRole::Assistant) => Some(TurnSide::Assistant),
        (MessagePiece::Text(_) | MessagePiece::File(_), RequestRole::User | RequestRole::Other(_)) => {
            Some(TurnSide::User)
        }
        (MessagePiece::Text(_) | MessagePiece::File(_), RequestRole::System) => None,
    }
}

/// Adds a piece to the words of a turn.
fn add(words: &mut ComparedWords, side: TurnSide, piece: &MessagePiece) {
    match piece {
        MessagePiece::Text(text) if side == TurnSide::Assistant => words.text(without_thinking(text)),
        MessagePiece::Text(text) => words.text(text),
        // A file of the assistant is not compared: clients send it back in different forms.
        MessagePiece::File(_) if side == TurnSide::Assistant => {}
        MessagePiece::File(file) => words.file(file),
        MessagePiece::Call { id, name, arguments } => words.call(id, name, arguments),
        MessagePiece::Result { output, .. } => words.text(&output.to_text()),
        MessagePiece::Consent { approved, .. } => words.text(if *approved { "approved" } else { "declined" }),
    }
}

/// The text after the thinking that some clients leave in it.
pub(super) fn without_thinking(text: &str) -> &str {
    if !text.trim_start().starts_with("<think>") {
        return text;
    }
    text.split_once("</think>").map_or(text, |(_thinking, rest)| rest)
}

/// The hash of what was said including a turn, from the hash of what was said before it and the print of the
/// turn.
pub(super) fn after(before: u64, print: u64) -> u64 {
    let mut hasher = Fingerprint::default();
    hasher.write_u64(before);
    hasher.write_u64(print);
    hasher.finish()
}
