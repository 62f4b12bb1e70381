//! What the reader is told of a link that the hub ended for good, and what helps.

use model::code::CloseCode;

/// See [`ending`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// What happened.
    pub title: &'static str,
    /// What to do.
    pub advice: &'static str,
}

/// The code of the protocol of sockets for those who are not let in.
const POLICY: u16 = 1008;

/// What the close code `code` means to the reader.
pub fn ending(code: u16) -> Ending {
    let is = |wanted: &[CloseCode]| wanted.iter().any(|it| it.number() == code);
    let (title, advice) = if is(&[CloseCode::NoCommonVersion]) {
        ("The hub speaks another version than this page", "Reload to get the page that belongs to it.")
    } else if is(&[CloseCode::BadFrame, CloseCode::FrameTooLarge]) {
        (
            "The hub did not understand this page",
            "Reload it. Should that come again, tell those who run the hub.",
        )
    } else if is(&[CloseCode::NoHello]) {
        ("This page was too slow for the hub", "Reload to try again.")
    } else if is(&[CloseCode::Unauthenticated]) {
        ("You are not logged in any more", "Reload to log in.")
    } else if is(&[CloseCode::Forbidden]) {
        (
            "You may not look at anything here",
            "Ask those who run the hub for a grant, then reload and log in with it.",
        )
    } else if is(&[CloseCode::ShuttingDown]) {
        ("The hub stops", "Reload when it is back.")
    } else if code == POLICY {
        ("The hub does not let this page in", "Reload; it may ask who you are.")
    } else {
        ("The hub ended the connection", "Reload to connect again.")
    };
    Ending { title, advice }
}
