//! A history as two sides that speak in turn. Only words are compared, without white space: clients join and
//! cut texts, and leave out thinking and calls.

use std::hash::Hasher as _;

use model::print::Fingerprint;

use crate::spoken::Spoken;

/// The most questions at the end of a history that may have stayed without an answer.
const UNANSWERED_MAX: usize = 16;

/// What one side said before the other spoke again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Side {
    is_answer: bool,
    words: String,
}

/// A place in a history at which the hub may have been asked before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clue {
    /// The hash of the agent and of all that was said up to the place.
    pub asked: u64,
    /// The answer that the history has there; nothing where it has none.
    pub answer: Option<String>,
}

/// What is remembered of a run that answers `messages`: the hash of all that was asked, and the words of the
/// answer before this run, where the caller's own calls came in between.
pub(super) fn asked(agent: &str, messages: &[Spoken]) -> (u64, String) {
    let mut sides = sides(messages);
    let before = sides.pop_if(|side| side.is_answer).map_or_else(String::new, |begun| begun.words);
    (key(agent, &sides), before)
}

/// The places at which the hub was asked before, if `messages` continue something that it answered. The order
/// is: a question that failed and is asked again, questions that stayed without an answer (the newest first),
/// the last answer.
pub fn clues(agent: &str, messages: &[Spoken]) -> Vec<Clue> {
    let spoken: Vec<&Spoken> = messages.iter().filter(|spoken| spoken.role != "system").collect();
    let open = spoken.iter().rev().take_while(|spoken| spoken.role != "assistant").count();
    let answered = spoken.len().saturating_sub(open);
    let is_first = answered == 0;
    let up_to = |end: usize| sides(spoken.iter().take(end).copied());
    // A first question that is asked again has no history by which it could be distinguished from others.
    let asked_again = (!is_first && open > 0).then_some(spoken.len());
    let unanswered = (1..open).rev().take(UNANSWERED_MAX).map(|count| answered + count);
    let mut clues: Vec<Clue> = asked_again
        .into_iter()
        .chain(unanswered)
        .map(|end| Clue { asked: key(agent, &up_to(end)), answer: None })
        .collect();
    let mut sides = up_to(answered);
    if let Some(last) = sides.pop() {
        clues.push(Clue { asked: key(agent, &sides), answer: Some(last.words) });
    }
    clues
}

/// The words of a text without white space.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// The hash of the words of an answer.
pub(super) fn hash(words: &str) -> u64 {
    Fingerprint::of(&[words])
}

/// The hash of an agent and of what was said to it and by it.
fn key(agent: &str, sides: &[Side]) -> u64 {
    let mut hasher = Fingerprint::default();
    hasher.write(agent.as_bytes());
    hasher.write_u8(0xff);
    for side in sides {
        hasher.write_u8(u8::from(side.is_answer));
        hasher.write(side.words.as_bytes());
        hasher.write_u8(0xff);
    }
    hasher.finish()
}

/// The sides of a history, in order. Instructions are left out: clients change them as they like.
fn sides<'a>(messages: impl IntoIterator<Item = &'a Spoken>) -> Vec<Side> {
    let mut sides: Vec<Side> = Vec::new();
    for spoken in messages {
        let is_answer = match spoken.role.as_str() {
            "assistant" => true,
            "system" => continue,
            _ => false,
        };
        let words = plain(&spoken.text);
        match sides.last_mut() {
            Some(last) if last.is_answer == is_answer => last.words.push_str(&words),
            _ => sides.push(Side { is_answer, words }),
        }
    }
    sides
}

#[cfg(test)]
mod tests;
