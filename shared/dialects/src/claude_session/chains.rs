//! Side chains: lines of sub-agents between those of the main agent. They name the line before them
//! (`parentUuid`), newer ones their agent (`agentId`), but none the call that started the agent. That is
//! found by the task: the first line of a chain is the prompt of the call.

use std::collections::HashMap;

use compact_str::CompactString;

use crate::anthropic::AnthropicBlock;
use crate::claude_code::ClaudeStream;
use crate::field::{ForeignField, ForeignFields};
use model::print::Fingerprint;

/// Most ids that are remembered, twice: the newest ones and those before them (I7).
const REMEMBERED_MAX: usize = 16 << 10;

/// The calls that the lines of side chains belong to, by the hash of the line's or the agent's id. The older
/// half is forgotten at once when the newer one is full.
#[derive(Debug, Default)]
pub(super) struct SideChains {
    /// The newest ids, at most [`REMEMBERED_MAX`].
    now: HashMap<u64, CompactString>,
    /// The ids before the newest, at most [`REMEMBERED_MAX`].
    before: HashMap<u64, CompactString>,
}

impl SideChains {
    /// The call whose agent wrote the line; empty for the main agent. An agent whose call is not known is
    /// named by its own id.
    pub(super) fn of(&mut self, line: &ForeignFields<'_>, work: &ClaudeStream) -> CompactString {
        if !line.get("isSidechain").is_true() {
            return CompactString::default();
        }
        let agent = line.get("agentId").words().unwrap_or_default();
        let uuid = line.get("uuid").words().unwrap_or_default();
        let parent = line.get("parentUuid").words().unwrap_or_default();
        let known = [&agent, &parent].into_iter().filter(|id| !id.is_empty()).find_map(|id| self.get(id));
        let call = known.or_else(|| self.started_by(line, work)).unwrap_or_else(|| {
            let own = [&agent, &uuid].into_iter().find(|id| !id.is_empty());
            own.map_or(CompactString::const_new("side"), |id| CompactString::new(id))
        });
        for id in [&agent, &uuid].into_iter().filter(|id| !id.is_empty()) {
            self.put(id, call.clone());
        }
        call
    }

    /// The call whose prompt is the text of the line; of several the first that has no chain yet.
    fn started_by(&self, line: &ForeignFields<'_>, work: &ClaudeStream) -> Option<CompactString> {
        let content = ForeignFields::of(line.get("message")).get("content");
        let first = content.list().first().map(|block| block.object::<AnthropicBlock<'_>>().text);
        let text = content.word().or_else(|| first.and_then(ForeignField::word))?;
        let mut asking = work.calls.iter().filter(|(_, call)| call.prompt.as_deref() == Some(&*text));
        asking.find(|(id, _)| !self.has(id)).map(|(id, _)| id.clone())
    }

    /// Whether a chain belongs to the call.
    fn has(&self, call: &CompactString) -> bool {
        let key = key(&format!("call {call}"));
        self.now.contains_key(&key) || self.before.contains_key(&key)
    }

    /// The call of a line or agent.
    fn get(&self, id: &str) -> Option<CompactString> {
        let key = key(id);
        self.now.get(&key).or_else(|| self.before.get(&key)).cloned()
    }

    /// Remembers the call of a line or agent, and that the call has a chain.
    fn put(&mut self, id: &str, call: CompactString) {
        if self.now.len() >= REMEMBERED_MAX {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.insert(key(&format!("call {call}")), CompactString::default());
        self.now.insert(key(id), call);
    }
}

fn key(id: &str) -> u64 {
    Fingerprint::of(&[id])
}
