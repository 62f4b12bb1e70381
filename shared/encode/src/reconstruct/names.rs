//! Ids and names of calls, as APIs take them.

use model::ids::ToolCallId;
use model::print::Fingerprint;

/// Longest id of a call that the Chat Completions API takes, in bytes.
pub(super) const ID_BYTES_MAX: usize = 40;

/// Longest name of a tool that both APIs take, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// An id that is made from `text`.
pub(super) fn other_id(text: &str, number: u64) -> ToolCallId {
    ToolCallId::new(&format!("call_{:016x}", Fingerprint::of(&[text, &number.to_string()])))
}

/// The id where the Chat Completions API takes it, else another one that only this id becomes.
pub(super) fn short_id(id: &ToolCallId) -> ToolCallId {
    let is_fine = id.as_str().len() <= ID_BYTES_MAX && !id.as_str().contains(char::is_control);
    if is_fine { id.clone() } else { other_id(id.as_str(), 0) }
}

/// The id where the Messages API takes it (letters, digits, `_` and `-`), else another one that only this id becomes.
pub(super) fn plain_id(id: &ToolCallId) -> ToolCallId {
    if is_plain(id.as_str()) { id.clone() } else { other_id(id.as_str(), 0) }
}

/// The name of a tool in the letters that both APIs take.
pub fn tool_name(name: &str) -> String {
    name.chars().map(|c| if is_plain_char(c) { c } else { '_' }).take(NAME_BYTES_MAX).collect()
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_plain_char)
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
