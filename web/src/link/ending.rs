//! What the reader is told about a session that the hub closed for good, with advice.

use model::code::CloseCode;

/// The texts of [`ending`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// What happened, as a heading.
    pub title: &'static str,
    /// What the reader can do.
    pub advice: &'static str,
}

/// The WebSocket close code of a policy violation: the page was not let in.
const POLICY: u16 = 1008;

/// The texts for the close code `code`.
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
            "You may not view anything here",
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
