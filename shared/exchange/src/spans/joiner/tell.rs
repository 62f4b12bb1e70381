//! Publishes what a span says, once its place is known.
//!
//! | span | becomes |
//! |---|---|
//! | of a model | messages of the request that are new, results of earlier calls, parts and calls of the answer, `run.update` |
//! | of a tool | the call, if the model's span did not bring it, its result and its times |
//! | of an agent | the start and end of a sub-agent, when something of it is published |
//! | any other | nothing |

use compact_str::CompactString;

use super::calls::ModelWrittenCall;
use super::trace::SpanTrace;
use super::{HeldSpan, KnownMessages};
use crate::spans::hex;
use crate::spans::meaning::{SpanMessage, SpanPiece, SpanRole};
use model::event::{Kind, Message, PartEnd, PartKind, RunUpdate};
use model::ids::{AgentId, MessageId, PartId};
use model::print::Fingerprint;

impl SpanTrace {
    /// Publishes `held`, a step of `agent` (nothing stands for the main agent), at `now` in milliseconds
    /// since 1970. `messages` has the hashes of the messages that the conversation has already.
    pub(super) fn tell(
        &mut self,
        held: HeldSpan,
        agent: Option<&AgentId>,
        now: u64,
        messages: &mut KnownMessages,
    ) {
        self.ensure_agents(held.id);
        match held.meaning.role {
            SpanRole::Model => self.tell_model(&held, agent, now, messages),
            SpanRole::Tool if self.nodes.get(&held.id).is_some_and(|node| node.is_covered) => {}
            SpanRole::Tool => self.tell_tool(held, agent),
            SpanRole::Agent | SpanRole::Step => {}
        }
    }

    /// Publishes the call of a model, unless another span says the same.
    fn tell_model(
        &mut self,
        held: &HeldSpan,
        agent: Option<&AgentId>,
        now: u64,
        messages: &mut KnownMessages,
    ) {
        if self.is_said_elsewhere(held) {
            return;
        }
        let meaning = &held.meaning;
        self.tell_history(&meaning.input, agent.is_none(), (held.start_ms, now), messages);
        let is_latest = agent.is_none() && held.end_ms >= self.latest_ms;
        let latest = |text: &Option<String>| text.as_deref().filter(|_| is_latest).map(CompactString::new);
        let (model, finish_reason) = (latest(&meaning.model), latest(&meaning.finish_reason));
        if is_latest {
            self.latest_ms = held.end_ms;
        }
        self.has_text |= self.say_pieces(&hex(&held.id), &meaning.output, agent, held.end_ms);
        self.has_usage |= meaning.usage.is_some();
        if model.is_some() || finish_reason.is_some() || meaning.usage.is_some() {
            let update = RunUpdate { model, title: None, finish_reason, usage: meaning.usage };
            // The usage of a sub-agent counts for it too; the rest is about the run.
            let agent = agent.filter(|_| meaning.usage.is_some());
            self.push(Kind::RunUpdate(update), agent, held.end_ms);
        }
        if let Some(error) = &meaning.error {
            self.fail(error, agent, held.end_ms);
        }
    }

    /// Publishes what the request repeats: messages that the conversation does not have, and results of
    /// calls. Messages to a sub-agent are left out.
    fn tell_history(
        &mut self,
        input: &[SpanMessage],
        is_main: bool,
        times: (u64, u64),
        messages: &mut KnownMessages,
    ) {
        let (at, now) = times;
        for (place, said) in input.iter().enumerate() {
            for piece in &said.pieces {
                if let SpanPiece::Result { id, output, is_error } = piece {
                    self.owe(id, output, *is_error, at, now);
                }
            }
            if is_main && matches!(said.role.as_str(), "user" | "system") {
                let same = input.iter().take(place).filter(|before| *before == said).count();
                let text = said.text();
                let is_question = place.saturating_add(1) == input.len() && said.role == "user";
                let same =
                    if is_question { self.number_of_question(&text, same, at, messages) } else { same };
                self.say_message(&said.role, &text, same, at, messages);
            }
        }
    }

    /// The number of equal messages before the question `text`, the last message of a request that began at
    /// `at`. It is `same`, the number within the request, unless an earlier trace asked the same and this
    /// request does not repeat that.
    fn number_of_question(&self, text: &str, same: usize, at: u64, messages: &KnownMessages) -> usize {
        let known = |same: usize| messages.get(&print(&["user", text, &same.to_string()]));
        if self.asked.contains(&print(&["user", text])) || known(same).is_none_or(|before| *before >= at) {
            return same;
        }
        let last = same.saturating_add(messages.len());
        (same..=last).find(|same| known(*same).is_none()).unwrap_or(same)
    }

    /// Publishes a message, unless the conversation has it. `same` is the number of equal messages before it
    /// in the request.
    pub(super) fn say_message(
        &mut self,
        role: &str,
        text: &str,
        same: usize,
        at: u64,
        messages: &mut KnownMessages,
    ) {
        let print = print(&[role, text, &same.to_string()]);
        if text.is_empty() || messages.contains_key(&print) {
            return;
        }
        messages.insert(print, at);
        self.asked.insert(self::print(&[role, text]));
        let message = MessageId::new(&format!("m-{print:016x}"));
        let message = Message { message, role: role.into(), text: text.to_owned(), files: Vec::new() };
        self.push(Kind::Message(message), None, at);
    }

    /// Publishes an answer. False if it is empty. `prefix` makes the ids of its parts unique.
    pub(super) fn say_pieces(
        &mut self,
        prefix: &str,
        output: &[SpanMessage],
        agent: Option<&AgentId>,
        at: u64,
    ) -> bool {
        let pieces = output.iter().flat_map(|said| &said.pieces);
        let mut has_said = false;
        for (number, piece) in (1_u64..).zip(pieces) {
            let fresh = format!("{prefix}.{number}");
            let (kind, text) = match piece {
                SpanPiece::Text(text) => (PartKind::Text, text),
                SpanPiece::Thinking(text) => (PartKind::Thinking, text),
                SpanPiece::Call { id, name, arguments } => {
                    has_said = true;
                    self.announce(&ModelWrittenCall { id, name, arguments, fresh: &fresh }, agent, at);
                    continue;
                }
                SpanPiece::Result { .. } => continue,
            };
            has_said = true;
            let part = PartId::new(&fresh);
            self.push(Kind::PartStart { part: part.clone(), kind }, agent, at);
            let delta = Kind::PartDelta { part: part.clone(), off: Some(0), text: text.as_str().into() };
            self.push(delta, agent, at);
            let end =
                PartEnd { part, len: None, hash: None, duration_ms: None, hidden: false, signature: None };
            self.push(Kind::PartEnd(end), agent, at);
        }
        has_said
    }
}

/// The hash of `words`.
pub(super) fn print(words: &[&str]) -> u64 {
    Fingerprint::of(words)
}
