//! Files that a reader asks with: what they are, which of them are taken, and how they are called. Without the browser.

use model::event::{FileKind, MessageFile, check_files};

use crate::format;

/// The media type of a file: what the browser says, if that is a type that models take; otherwise plain text if all of
/// `bytes` is, as for code, of which browsers know no type.
pub fn mime_of(told: &str, bytes: &[u8]) -> String {
    let is_text = || !bytes.is_empty() && !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok();
    match FileKind::of(told) {
        Some(FileKind::Text) if !is_text() => "application/octet-stream".to_owned(),
        Some(_) => told.to_owned(),
        None if is_text() => "text/plain".to_owned(),
        None if told.is_empty() => "application/octet-stream".to_owned(),
        None => told.to_owned(),
    }
}

/// `files` with `new` among them.
///
/// # Errors
/// Says, for the reader, why `new` is not taken: by the hub, or by the agent `agent`, which takes the kinds `takes`.
pub fn with(
    files: &[MessageFile],
    new: MessageFile,
    (agent, takes): (&str, &[FileKind]),
) -> Result<Vec<MessageFile>, String> {
    let mut all = files.to_vec();
    all.push(new);
    check_files(&all).map_err(|error| format!("Not attached: {error}."))?;
    let refused = all.last().filter(|file| file.kind().is_none_or(|kind| !takes.contains(&kind)));
    match refused {
        None => Ok(all),
        Some(file) => {
            Err(format!("Not attached: {agent} does not take {} ({}).", kind_word(file), file.name))
        }
    }
}

/// What a file is, in a word for the reader.
fn kind_word(file: &MessageFile) -> &'static str {
    match file.kind() {
        Some(FileKind::Image) => "images",
        Some(FileKind::Pdf) => "PDF",
        Some(FileKind::Text) => "files of text",
        None => "files of this type",
    }
}

/// The type and size of a file, as they stand beside its name.
pub fn words(file: &MessageFile) -> String {
    let kind = match file.kind() {
        Some(FileKind::Pdf) => "PDF".to_owned(),
        Some(FileKind::Text) => "text".to_owned(),
        Some(FileKind::Image) | None => file
            .mime
            .split('/')
            .nth(1)
            .unwrap_or(&file.mime)
            .split(';')
            .next()
            .unwrap_or_default()
            .to_uppercase(),
    };
    format!("{kind} · {}", format::bytes(file.bytes))
}

/// What is said with files, where there may be no text: the text, or the names of the files.
pub fn said(text: &str, files: &[MessageFile]) -> String {
    if !text.trim().is_empty() || files.is_empty() {
        return text.to_owned();
    }
    files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The values of `accept` for the browser's file dialog.
pub fn accept(takes: &[FileKind]) -> String {
    let of = |kind: &FileKind| match kind {
        FileKind::Image => "image/png,image/jpeg,image/gif,image/webp",
        FileKind::Pdf => "application/pdf",
        FileKind::Text => "text/*,.md,.json,.yaml,.toml,.csv,.log,.rs,.py,.ts,.js,.sql",
    };
    takes.iter().map(of).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    //! Tests of what is taken.

    use model::limits::FILES_PER_MESSAGE_MAX;

    use super::*;

    fn image() -> MessageFile {
        MessageFile::new("a.png", "image/png", "QUJD".to_owned())
    }

    #[test]
    fn code_is_text_even_if_the_browser_does_not_know_its_type() {
        assert_eq!(mime_of("", b"fn main() {}"), "text/plain");
        assert_eq!(mime_of("video/mp2t", b"let a = 1;"), "text/plain", "TypeScript");
        assert_eq!(mime_of("image/png", b"\x89PNG"), "image/png");
        assert_eq!(mime_of("", b"\x00\x01"), "application/octet-stream");
        assert_eq!(mime_of("text/plain", b"\xff\xfe"), "application/octet-stream");
        assert_eq!(mime_of("application/zip", b"PK\x03\x00"), "application/zip");
    }

    #[test]
    fn what_the_agent_does_not_take_is_refused_in_words() {
        let all = with(&[], image(), ("helper", &FileKind::ALL)).unwrap();
        assert_eq!(all.len(), 1);
        let refused = with(&[], image(), ("helper", &[FileKind::Text])).unwrap_err();
        assert_eq!(refused, "Not attached: helper does not take images (a.png).");
        let many = vec![image(); FILES_PER_MESSAGE_MAX];
        assert!(with(&many, image(), ("helper", &FileKind::ALL)).unwrap_err().contains("the limit is 8"));
    }

    #[test]
    fn a_file_is_told_by_its_type_and_size() {
        assert_eq!(words(&image()), "PNG · 3 B");
        assert_eq!(words(&MessageFile::new("a", "application/pdf", "QUJD".to_owned())), "PDF · 3 B");
        assert_eq!((said("", &[image()]), said("x", &[image()])), ("a.png".to_owned(), "x".to_owned()));
    }
}
