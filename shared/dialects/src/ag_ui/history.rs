//! The list of all messages (`MESSAGES_SNAPSHOT`, and `input.messages` of `RUN_STARTED`), which some
//! producers send beside the stream and some in its place.
//!
//! What is before the last message of the user is history. What is after it is what the run did: mostly it
//! was streamed, and the list only repeats it (under other ids, in the worst case) or corrects it. A run that
//! has streamed nothing is written from the list alone.

use std::collections::HashSet;

use compact_str::CompactString;
use indexmap::IndexMap;

use super::calls::AgUiCalls;
use super::texts::{AgUiTexts, MessageVoice};
use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::EventWriter;
use model::ids::AgentId;
use model::limits::MESSAGES_MAX;
use model::print::Fingerprint;

/// What is known of the messages of others, over all runs of the stream.
#[derive(Debug, Default)]
pub(super) struct AgUiHistory {
    /// The messages that were written, by id, with the hash of each: one that changes is written again.
    told: IndexMap<CompactString, u64>,
    /// Hashes of all that was written, whatever its id: some producers make up new ids for each list.
    seen: HashSet<u64>,
    /// The id of the instructions, which some producers change while the run goes on.
    system: Option<CompactString>,
    /// Something that the run itself did was written from the list.
    has_own: bool,
}

/// A message of the list, with its fields read.
struct HistoryMessage<'a> {
    fields: ForeignFields<'a>,
    whole: ForeignField<'a>,
    id: String,
    role: String,
    text: String,
    /// The hash of role and text, with a number if the same is said several times.
    hash: u64,
}

impl AgUiHistory {
    /// Begins a run. What was written stays known, up to a limit.
    pub(super) fn begin(&mut self) {
        self.has_own = false;
        if self.seen.len() > MESSAGES_MAX {
            self.seen.clear();
        }
    }

    /// Writes what is new in `list`. If `may_have_own`, assistant messages after the last one of the user may
    /// be the run's own.
    #[expect(clippy::too_many_arguments, reason = "the parts of one decoder")]
    pub(super) fn tell(
        &mut self,
        list: ForeignField<'_>,
        may_have_own: bool,
        texts: &mut AgUiTexts,
        calls: &mut AgUiCalls,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let entries = entries(list);
        let own =
            entries.iter().rposition(|entry| entry.role == "user").map_or(0, |last| last.saturating_add(1));
        let ends_in_answer = entries.last().is_some_and(|entry| entry.role == "assistant");
        let is_silent = !texts.has_text() && !calls.has_call();
        let tells_own = may_have_own && ends_in_answer && (is_silent || self.has_own);
        for (at, entry) in entries.iter().enumerate() {
            let is_own = may_have_own && at >= own;
            match entry.role.as_str() {
                "assistant" if is_own => {
                    let is_known = !texts.is_news(MessageVoice::Text, &entry.id, &entry.text, w, out);
                    if tells_own {
                        self.own(entry, is_known, texts, calls, agent, w, out);
                    }
                }
                "assistant" => {
                    if !entry.text.is_empty()
                        && texts.is_news(MessageVoice::Text, &entry.id, &entry.text, w, out)
                    {
                        self.message(entry, w, out);
                    }
                }
                "reasoning" if is_own => {
                    let is_news = texts.is_news(MessageVoice::Thinking, &entry.id, &entry.text, w, out);
                    if tells_own && is_news && self.seen.insert(entry.hash) {
                        texts.whole((MessageVoice::Thinking, &entry.id), &entry.text, agent, w, out);
                    }
                }
                "reasoning" => {}
                "tool" => self.tool(entry, calls, w, out),
                "activity" => {
                    if self.seen.insert(entry.hash) {
                        w.custom("activity_snapshot", entry.whole, agent, out);
                    }
                }
                _ => self.message(entry, w, out),
            }
        }
    }

    /// Writes what the run did and did not stream: a message of the assistant, with its calls.
    #[expect(clippy::too_many_arguments, reason = "the parts of one decoder")]
    fn own(
        &mut self,
        entry: &HistoryMessage<'_>,
        is_known: bool,
        texts: &mut AgUiTexts,
        calls: &mut AgUiCalls,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        self.has_own = true;
        if !is_known && !entry.text.is_empty() && self.seen.insert(entry.hash) {
            texts.whole((MessageVoice::Text, &entry.id), &entry.text, agent, w, out);
        }
        for call in entry.fields.get("toolCalls").list() {
            let call = ForeignFields::of(call);
            let function = ForeignFields::of(call.get("function"));
            let id = call.get("id").words().unwrap_or_default();
            let hash = hash_of(&[&id, &entry.role]);
            if !calls.is_known(&id) && self.seen.insert(hash) {
                let name = function.get("name").words().unwrap_or_default();
                let arguments = function.get("arguments").words().unwrap_or_default();
                calls.whole(&id, (&name, &arguments), agent, w, out);
            }
        }
    }

    /// Writes the result of a call, which may be new: the caller executed it, or the producer streams none.
    /// The result of an unknown call is a message.
    fn tool(
        &mut self,
        entry: &HistoryMessage<'_>,
        calls: &mut AgUiCalls,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let id = entry.fields.get("toolCallId").words().unwrap_or_default();
        if calls.is_waiting(&id) {
            let output = entry.fields.get("content").json();
            calls.gave_back(&id, output, entry.fields.get("error").is_truthy(), w, out);
        } else if !calls.is_known(&id) {
            self.message(entry, w, out);
        }
    }

    /// Writes a message of somebody else, or of an earlier run, unless it was written before.
    fn message(&mut self, entry: &HistoryMessage<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let mut id = CompactString::new(&entry.id);
        if self.told.get(&id) == Some(&entry.hash) {
            return;
        }
        if !self.told.contains_key(&id) {
            if !self.seen.insert(entry.hash) || self.told.len() >= MESSAGES_MAX {
                return;
            }
            if id.is_empty() {
                id = compact_str::format_compact!("history-{:016x}", entry.hash);
            }
            if matches!(entry.role.as_str(), "system" | "developer") {
                id.clone_from(self.system.get_or_insert_with(|| id.clone()));
            }
        }
        self.told.insert(id.clone(), entry.hash);
        w.message_as(&id, &entry.role, &entry.text, out);
    }
}

/// The messages of a list. The hash of a text that occurs several times counts its occurrences, so that each
/// has its own.
fn entries(list: ForeignField<'_>) -> Vec<HistoryMessage<'_>> {
    let mut times = IndexMap::new();
    let entries = list.list().into_iter().map(|whole| {
        let fields = ForeignFields::of(whole);
        let role = fields.get("role").words().unwrap_or_default().into_owned();
        let text = text_of(fields.get("content"));
        let times: &mut u32 = times.entry(hash_of(&[&role, &text])).or_insert(0);
        *times = times.saturating_add(1);
        let hash = hash_of(&[&role, &text, &times.to_string()]);
        let id = fields.get("id").words().unwrap_or_default().into_owned();
        HistoryMessage { fields, whole, id, role, text, hash }
    });
    entries.collect()
}

/// A hash of texts, long enough to compare them by it ([`Fingerprint::of`]).
fn hash_of(words: &[&str]) -> u64 {
    Fingerprint::of(words)
}

/// The text of a message: a string, or the texts of its blocks, joined.
fn text_of(content: ForeignField<'_>) -> String {
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let texts = content.list().into_iter().map(|block| ForeignFields::of(block).get("text").text());
    texts.flatten().collect()
}
