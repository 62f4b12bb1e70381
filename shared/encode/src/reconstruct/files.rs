//! Files of messages where an API has no part of its own for them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::event::{FileKind, MessageFile};

/// What a file of text holds; `None` for another one, and where its contents are not here or no UTF-8.
pub(super) fn text(file: &MessageFile) -> Option<String> {
    let data = file.data.as_deref().filter(|_| file.kind() == Some(FileKind::Text))?;
    String::from_utf8(STANDARD.decode(data).ok()?).ok()
}

/// A file in words: its name with its text, or that it is not here.
pub(super) fn in_words(file: &MessageFile) -> String {
    match text(file) {
        Some(text) => format!("[file: {}]\n{text}", file.name),
        None => format!("[file: {}, {}, which is not here any more]", file.name, file.mime),
    }
}
