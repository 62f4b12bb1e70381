//! Files of messages: images, PDF and texts with which somebody asks.
//!
//! ```text
//! on its way in:   name, type, data (base64)             a command, a door, an event from outside, an export
//! in the log:      name, type, bytes, hash               the hub keeps the data beside the event, under its hash
//! ```

use compact_str::CompactString;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::EventError;
use crate::limits::{
    FILE_BYTES_MAX, FILE_NAME_BYTES_MAX, FILES_BYTES_MAX, FILES_PER_MESSAGE_MAX, NUMBER_MAX,
};

/// A file of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageFile {
    /// The name of the file.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub name: CompactString,
    /// The media type of the file, such as `image/png`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub mime: CompactString,
    /// The size of the file in bytes; the hub fills it in.
    #[serde(default)]
    pub bytes: u64,
    /// The name under which the hub has its contents; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub hash: Option<CompactString>,
    /// The contents of the file in base64: on the way to the hub, and in exports. The hub keeps them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// The kinds of files that models take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// PNG, JPEG, GIF, WebP.
    Image,
    /// A PDF document.
    Pdf,
    /// Texts: plain, Markdown, CSV, JSON and others, in UTF-8.
    Text,
}

impl FileKind {
    /// All kinds of files.
    pub const ALL: [Self; 3] = [Self::Image, Self::Pdf, Self::Text];

    /// The word for it in settings and lists.
    pub fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Pdf => "pdf",
            Self::Text => "text",
        }
    }

    /// The kind with this word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// The kind of files of this media type; `None` if no model takes them. Parameters as `; charset=utf-8` are
    /// not looked at.
    pub fn of(mime: &str) -> Option<Self> {
        let plain = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match plain.as_str() {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Some(Self::Image),
            "application/pdf" => Some(Self::Pdf),
            "application/json"
            | "application/xml"
            | "application/yaml"
            | "application/x-yaml"
            | "application/toml"
            | "application/javascript"
            | "application/x-ndjson" => Some(Self::Text),
            text if text.starts_with("text/") => Some(Self::Text),
            _ => None,
        }
    }
}

/// Why a file is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// No model takes files of this type.
    #[error("the file {0:?} is of the type {1:?}; PNG, JPEG, GIF, WebP, PDF and texts are taken")]
    Kind(String, String),
    /// The file is too large; the values are its name and its size in bytes.
    #[error("the file {0:?} has {1} bytes, the limit is {FILE_BYTES_MAX}")]
    TooLarge(String, u64),
    /// The file is empty; the value is its name.
    #[error("the file {0:?} is empty")]
    Empty(String),
    /// The contents of the file are no base64; the value is its name.
    #[error("the contents of the file {0:?} are not base64 with the standard alphabet and padding")]
    NoBase64(String),
    /// The message has too many files; the value is their number.
    #[error("{0} files come with the message, the limit is {FILES_PER_MESSAGE_MAX}")]
    TooMany(usize),
    /// The files of the message are too large together; the value is their size in bytes.
    #[error("the files of the message have {0} bytes together, the limit is {FILES_BYTES_MAX}")]
    TooLargeTogether(u64),
}

impl MessageFile {
    /// A file with contents in base64, whose size is computed. A name that is empty becomes `file`, one that is
    /// too long is cut.
    pub fn new(name: &str, mime: &str, data: String) -> Self {
        let name = if name.trim().is_empty() { "file" } else { name };
        let end = name.floor_char_boundary(FILE_NAME_BYTES_MAX);
        let name = CompactString::new(name.get(..end).unwrap_or(name));
        let bytes = decoded_bytes(&data);
        Self { name, mime: mime.into(), bytes, hash: None, data: Some(data) }
    }

    /// The kind of the file; `None` for one that no model takes.
    pub fn kind(&self) -> Option<FileKind> {
        FileKind::of(&self.mime)
    }

    /// Checks a file that comes from outside, with its contents.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn check(&self) -> Result<(), FileError> {
        let name = || self.name.chars().take(80).collect::<String>();
        if self.kind().is_none() {
            return Err(FileError::Kind(name(), self.mime.chars().take(80).collect()));
        }
        let data = self.data.as_deref().unwrap_or_default();
        if data.is_empty() {
            return Err(FileError::Empty(name()));
        }
        if !is_base64(data) {
            return Err(FileError::NoBase64(name()));
        }
        let bytes = decoded_bytes(data);
        if bytes > FILE_BYTES_MAX as u64 { Err(FileError::TooLarge(name(), bytes)) } else { Ok(()) }
    }
}

/// Checks the files of one message, each and together.
///
/// # Errors
/// Names the first file with which something is wrong, or the limit that they cross together.
pub fn check_files(files: &[MessageFile]) -> Result<(), FileError> {
    if files.len() > FILES_PER_MESSAGE_MAX {
        return Err(FileError::TooMany(files.len()));
    }
    files.iter().try_for_each(MessageFile::check)?;
    let bytes = files.iter().map(|file| decoded_bytes(file.data.as_deref().unwrap_or_default())).sum();
    if bytes > FILES_BYTES_MAX as u64 { Err(FileError::TooLargeTogether(bytes)) } else { Ok(()) }
}

/// Reads the files of an event from JSON. Fails for anything but a list of files, and for a size over [`NUMBER_MAX`].
pub(super) fn read(json: Option<&RawValue>) -> Result<Vec<MessageFile>, EventError> {
    let files = json.map(|json| serde_json::from_str::<Vec<MessageFile>>(json.get())).transpose()?;
    let files = files.unwrap_or_default();
    match files.iter().find(|file| file.bytes > NUMBER_MAX) {
        Some(file) => Err(EventError::Number { field: "bytes", number: file.bytes }),
        None => Ok(files),
    }
}

/// Whether `text` is base64 with the standard alphabet and padding.
fn is_base64(text: &str) -> bool {
    let bare = text.trim_end_matches('=');
    let is_padded = text.len().is_multiple_of(4) && text.len().saturating_sub(bare.len()) <= 2;
    is_padded && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/')
}

/// The number of bytes that `base64` stands for.
fn decoded_bytes(base64: &str) -> u64 {
    let bare = base64.trim_end_matches('=').len() as u64;
    bare.saturating_mul(3) / 4
}

#[cfg(test)]
mod tests {
    //! Tests of what is taken.

    use super::*;

    fn file(mime: &str, data: &str) -> MessageFile {
        MessageFile::new("a.png", mime, data.to_owned())
    }

    #[test]
    fn the_size_is_that_of_the_contents() {
        for (data, bytes) in [("", 0), ("QQ==", 1), ("QUI=", 2), ("QUJD", 3), ("QUJDRA==", 4)] {
            assert_eq!(file("image/png", data).bytes, bytes, "{data}");
        }
    }

    #[test]
    fn i7_a_file_is_taken_at_its_limit_and_refused_over_it() {
        let of = |bytes: usize| file("image/png", &"A".repeat(bytes.div_ceil(3) * 4));
        let most = FILE_BYTES_MAX / 3 * 3;
        assert_eq!(of(most).check(), Ok(()));
        assert!(matches!(of(most + 3).check(), Err(FileError::TooLarge(..))));
        let many = vec![file("image/png", "QUJD"); FILES_PER_MESSAGE_MAX];
        assert_eq!(check_files(&many), Ok(()));
        let more = vec![file("image/png", "QUJD"); FILES_PER_MESSAGE_MAX + 1];
        assert_eq!(check_files(&more), Err(FileError::TooMany(FILES_PER_MESSAGE_MAX + 1)));
        let together = vec![of(most); FILES_BYTES_MAX / most + 1];
        assert!(matches!(check_files(&together), Err(FileError::TooLargeTogether(_))));
    }

    #[test]
    fn what_no_model_takes_is_refused_by_name() {
        let refused = |mime: &str, data: &str| file(mime, data).check().unwrap_err().to_string();
        assert!(refused("application/zip", "QUJD").contains("\"a.png\" is of the type \"application/zip\""));
        assert!(refused("image/png", "").contains("empty"));
        for odd in ["QUJ", "QU JD", "QUJ-", "====", "Q==="] {
            assert!(refused("image/png", odd).contains("base64"), "{odd}");
        }
    }

    #[test]
    fn kinds_are_told_by_the_media_type() {
        for (mime, kind) in [
            ("image/PNG", Some(FileKind::Image)),
            ("image/svg+xml", None),
            ("application/pdf", Some(FileKind::Pdf)),
            ("text/csv; charset=utf-8", Some(FileKind::Text)),
            ("application/json", Some(FileKind::Text)),
            ("audio/wav", None),
            ("", None),
        ] {
            assert_eq!(FileKind::of(mime), kind, "{mime}");
        }
        assert!(FileKind::ALL.into_iter().all(|kind| FileKind::of_word(kind.word()) == Some(kind)));
    }
}
