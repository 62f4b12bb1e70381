//! Answers that come back in other words. Frameworks that loop through text write the answer anew in the next
//! request: they append what their tools gave, print arguments as Python does, or write calls as text.
//!
//! What is recognised are letters and digits, since quotes, white space and case are what changes.

use std::cell::Cell;
use std::hash::Hasher as _;

use super::asked::{RequestDigest, piece};
use super::memory::{AgentLoop, AwaitedCall};
use crate::request::{MessagePiece, ModelRequest};
use crate::turns::{ComparedTurn, ComparedWords, TurnSide, without_thinking};
use model::limits::TEXT_CALL_BYTES_MAX;
use model::print::Fingerprint;

/// What frameworks write before the result of a tool that they give back as words of the user.
const OBSERVATION: &str = "Observation:";

/// What smolagents writes before the calls of an answer.
const CALLS: &str = "Calling tools:";

/// What smolagents puts behind the last words of the user in the place of an answer whose tool failed, each with what stands behind the name of
/// the tool. The answer itself is left out.
const TOOL_FAILED: [(&str, char); 2] =
    [("\nError:\nError executing tool '", '\''), ("\nError:\nUnknown tool ", ',')];

/// Most bytes that are compared for one request, with all loops together: beyond, none counts as found. Requests are placed one after the other, so
/// one that is made to look like many answers must not hold up the others.
const COMPARED_BYTES_MAX: usize = 8 << 20;

/// What smolagents writes before what the user says next, in the message with the last result.
const NEW_TASK: &str = "\nNew task:\n";

/// The letters and digits of an answer's text: how many, and their hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnswerLetters {
    count: usize,
    print: u64,
}

impl AnswerLetters {
    /// The letters of an answer. Nothing for an answer without letters, and for one so long that it was not kept as a
    /// whole.
    pub(super) fn of(words: &ComparedWords) -> Option<Self> {
        let text = words.said();
        let mut hasher = Fingerprint::default();
        let count = letters(text).map(|(_, letter)| add(&mut hasher, letter)).count();
        (count > 0 && text.len() < TEXT_CALL_BYTES_MAX).then(|| Self { count, print: hasher.finish() })
    }

    /// What follows in `text` after these letters. Nothing if it does not begin with them, or goes on in the middle of
    /// a word.
    fn rest_of(self, text: &str) -> Option<&str> {
        let mut hasher = Fingerprint::default();
        let mut end = 0;
        let mut count = 0_usize;
        for (at, letter) in letters(text).take(self.count) {
            add(&mut hasher, letter);
            (end, count) = (at.saturating_add(letter.len_utf8()), count.saturating_add(1));
        }
        let rest = text.get(end..)?;
        let is_cut = rest.starts_with(char::is_alphanumeric);
        (count == self.count && !is_cut && hasher.finish() == self.print).then_some(rest)
    }
}

/// The text of a turn that may be an answer in other words.
pub(super) struct RetoldText {
    text: String,
    /// The number of bytes that may still be compared.
    left: Cell<usize>,
}

impl RetoldText {
    /// The text of the turn `at`. Nothing for a turn with calls of its own, and for a text that is longer than any answer whose letters are
    /// known can make it.
    pub(super) fn of(asked: &RequestDigest, request: &ModelRequest, at: usize) -> Option<Self> {
        let turn = asked.turns.get(at).filter(|turn| turn.words.calls.is_empty())?;
        let text = text_of(request, turn);
        let is_short = text.len() <= TEXT_CALL_BYTES_MAX.saturating_mul(2);
        is_short.then(|| Self { text, left: Cell::new(COMPARED_BYTES_MAX) })
    }

    /// Whether this is the last answer of a loop in other words: it begins with its text, and names all of its calls. What stands behind an
    /// answer without calls begins as frameworks begin it, since one answer may be the beginning of another.
    pub(super) fn is_answer_of(&self, known: &AgentLoop) -> bool {
        let Some(head) = known.head.filter(|head| head.letters.is_some() || !known.awaited.is_empty()) else {
            return false;
        };
        let scans = known.awaited.len().saturating_mul(2).saturating_mul(self.text.len());
        let bytes = head.letters.map_or(0, |letters| letters.count).saturating_add(scans);
        let Some(left) = self.left.get().checked_sub(bytes) else {
            self.left.set(0);
            return false;
        };
        self.left.set(left);
        let begins = head.letters.is_none_or(|letters| {
            let rest = letters.rest_of(&self.text);
            rest.is_some_and(|rest| !known.awaited.is_empty() || is_of_framework(rest))
        });
        begins && known.awaited.iter().all(|awaited| is_named(&self.text, awaited))
    }

    /// Whether everything was compared that was asked for.
    pub(super) fn is_compared(&self) -> bool {
        self.left.get() > 0
    }
}

/// Whether what stands behind an answer is nothing, or what frameworks put there.
fn is_of_framework(rest: &str) -> bool {
    let rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    rest.is_empty() || rest.starts_with(OBSERVATION) || rest.starts_with(CALLS)
}

/// What the client appended to the last answer of a loop when it wrote it into the turn `at`. Nothing for an answer
/// with calls: there the client only wrote the calls as text.
pub(super) fn appended(
    known: &AgentLoop,
    asked: &RequestDigest,
    request: &ModelRequest,
    at: usize,
) -> Option<String> {
    let letters = known.head.filter(|_| known.awaited.is_empty())?.letters?;
    let text = text_of(request, asked.turns.get(at)?);
    let rest = letters.rest_of(&text)?.trim_start_matches(|c: char| !c.is_alphanumeric()).trim_end();
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// What a framework tells of a tool that failed, in the place of the answer that called it.
pub(super) struct ToolFailure<'t> {
    /// What the user had said before.
    pub(super) before: &'t str,
    /// The name of the tool.
    pub(super) tool: &'t str,
    /// The text about the failure.
    pub(super) told: &'t str,
}

impl<'t> ToolFailure<'t> {
    /// What `text`, the last turn of the user, tells of a failure at its end.
    pub(super) fn of(text: &'t str) -> Option<Self> {
        let (at, begin, end) =
            TOOL_FAILED.iter().filter_map(|(begin, end)| Some((text.rfind(begin)?, begin, end))).max()?;
        let (before, told) = text.split_at_checked(at)?;
        let (tool, _) = told.get(begin.len()..)?.split_once(*end)?;
        let told = told.trim_start().strip_prefix("Error:\n").unwrap_or(told).trim_end();
        Some(Self { before, tool, told })
    }
}

/// The text of the last turn of a request, if it is the user's and short enough to be compared as a whole.
pub(super) fn last_of_user(asked: &RequestDigest, request: &ModelRequest) -> Option<String> {
    let turn = asked.turns.last().filter(|turn| turn.side == TurnSide::User)?;
    Some(text_of(request, turn)).filter(|text| text.len() <= TEXT_CALL_BYTES_MAX)
}

/// Whether a turn of the user is only what a tool gave back.
pub(super) fn is_observation(request: &ModelRequest, turn: &ComparedTurn) -> bool {
    let text = text_of(request, turn);
    text.trim_start().starts_with(OBSERVATION) && !text.contains(NEW_TASK)
}

/// Whether a turn has the words with which a framework begins another task.
pub(super) fn is_new_task(request: &ModelRequest, turn: &ComparedTurn) -> bool {
    text_of(request, turn).contains(NEW_TASK)
}

/// Whether a text has the id of a call as a word, and the name of its tool.
fn is_named(text: &str, AwaitedCall { call, .. }: &AwaitedCall) -> bool {
    let is_word = |(at, id): (usize, &str)| {
        let (before, behind) = (text.get(..at), text.get(at.saturating_add(id.len())..));
        !before.is_some_and(|before| before.ends_with(char::is_alphanumeric))
            && !behind.is_some_and(|behind| behind.starts_with(char::is_alphanumeric))
    };
    let given = call.given.as_str();
    !given.is_empty() && text.contains(call.name.as_str()) && text.match_indices(given).any(is_word)
}

/// The texts of a turn, without thinking.
fn text_of(request: &ModelRequest, turn: &ComparedTurn) -> String {
    let texts: Vec<&str> = turn
        .pieces
        .iter()
        .filter_map(|place| match piece(request, *place) {
            Some(MessagePiece::Text(text)) => Some(without_thinking(text)),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

/// The letters and digits of a text, with their places.
fn letters(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().filter(|(_, c)| c.is_alphanumeric())
}

/// Adds a letter to a hash, whatever its case.
fn add(hasher: &mut Fingerprint, letter: char) {
    for small in letter.to_lowercase() {
        hasher.write(small.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
