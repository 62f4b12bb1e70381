//! The files of the page, as the binary hands them to the hub.

use rust_embed::{EmbeddedFile, RustEmbed};

/// The files of the built page, by their names. The binary brings them, so that this crate can be compiled before the page is built, and
/// is not compiled anew when the page changes. By default there are none.
#[derive(Debug, Clone, Copy)]
pub struct PageFiles(fn(&str) -> Option<EmbeddedFile>);

impl PageFiles {
    /// The files of a folder that is part of the binary.
    pub fn of<Folder: RustEmbed>() -> Self {
        Self(Folder::get)
    }

    /// The file of this name; `None` if there is none.
    pub(crate) fn get(self, name: &str) -> Option<EmbeddedFile> {
        (self.0)(name)
    }
}

impl Default for PageFiles {
    fn default() -> Self {
        Self(|_| None)
    }
}
