//! Makes ids and names of calls that the APIs accept.
//!
//! What is acceptable stays unchanged, so that a model sees the ids that it gave itself. Anything else is
//! replaced by a hash of it: the same id always becomes the same other id, which keeps a call and its result
//! together.

use model::ids::ToolCallId;
use model::print::Fingerprint;

/// The length of the longest id of a call that the Chat Completions API accepts, in bytes.
pub(super) const ID_BYTES_MAX: usize = 40;

/// The length of the longest name of a tool that both APIs accept, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// An id that is made from `text`.
///
/// It is `call_` and 16 hex digits of a SHA-256 hash of both; it is accepted by both APIs.
pub(super) fn other_id(text: &str, number: u64) -> ToolCallId {
    ToolCallId::new(&format!("call_{:016x}", Fingerprint::of(&[text, &number.to_string()])))
}

/// The id if the Chat Completions API accepts it, else another one that is made from it and that no other id
/// becomes.
pub(super) fn short_id(id: &ToolCallId) -> ToolCallId {
    let is_fine = id.as_str().len() <= ID_BYTES_MAX && !id.as_str().contains(char::is_control);
    if is_fine { id.clone() } else { other_id(id.as_str(), 0) }
}

/// The id if the Messages API accepts it (letters, digits, `_` and `-`), else another one that is made from
/// it and that no other id becomes.
pub(super) fn plain_id(id: &ToolCallId) -> ToolCallId {
    if is_plain(id.as_str()) { id.clone() } else { other_id(id.as_str(), 0) }
}

/// The name of a tool in the characters that both APIs accept.
///
/// Any other character becomes `_`, and the name is cut after 64 characters. Different names may become the
/// same.
pub fn tool_name(name: &str) -> String {
    name.chars().map(|c| if is_plain_char(c) { c } else { '_' }).take(NAME_BYTES_MAX).collect()
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_plain_char)
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
