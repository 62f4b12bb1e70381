//! Why something was not written, and whether that passes.
//!
//! ```text
//! SQLSTATE class 22, 23, 54   refused   data, integrity, limits of the program: the same again would fail again
//! 53100                       passing   the disk of the database is full
//! all others, no answer       passing   the same again, after a pause
//! ```

use tokio_postgres::error::SqlState;

/// Why a group was not written.
pub(super) enum GroupFailure {
    /// The database refuses something in it.
    Refused(String),
    /// The failure passes with time.
    Passing { code: &'static str, what: String },
    /// The life is over.
    Over,
}

impl GroupFailure {
    /// What `error` comes to.
    pub(super) fn of(error: &tokio_postgres::Error) -> Self {
        let what = said(error);
        match error.code() {
            Some(code) if is_refusal(code) => Self::Refused(what),
            Some(&SqlState::DISK_FULL) => Self::Passing { code: "disk_full", what },
            _ => Self::Passing { code: "disk_failing", what },
        }
    }
}

/// What went wrong, with its causes. No part of it holds the password.
pub(super) fn said(error: &tokio_postgres::Error) -> String {
    let mut said = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        said = format!("{said}: {cause}");
        source = cause.source();
    }
    said
}

/// Whether what is to be written is refused, by a database that works.
fn is_refusal(code: &SqlState) -> bool {
    // Data, integrity, limits of the program.
    ["22", "23", "54"].iter().any(|class| code.code().starts_with(class))
}
