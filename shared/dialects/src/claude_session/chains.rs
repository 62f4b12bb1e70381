//! Side chains: lines of agents between those of the main one. They name the line before them, newer ones their agent,
//! but none the call that started the agent. That is told from what the agent is to do.

use std::collections::HashMap;

use compact_str::CompactString;

use crate::anthropic::AnthropicBlock;
use crate::claude_code::ClaudeStream;
use crate::field::{ForeignField, ForeignFields};
use model::print::Fingerprint;

/// Most lines that are remembered, twice: those of now and those of before.
const REMEMBERED_MAX: usize = 16 << 10;

/// The calls that the lines of side chains belong to, by the hash of the line's or the agent's id.
#[derive(Debug, Default)]
pub(super) struct SideChains {
    now: HashMap<u64, CompactString>,
    before: HashMap<u64, CompactString>,
}

impl SideChains {
    /// The call whose agent wrote the line; empty for the main agent. An agent that no call is known of stands for itself.
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

    /// The call that asks for just what the first line of the chain says; of several the first that has no chain yet.
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

    fn get(&self, id: &str) -> Option<CompactString> {
        let key = key(id);
        self.now.get(&key).or_else(|| self.before.get(&key)).cloned()
    }

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
