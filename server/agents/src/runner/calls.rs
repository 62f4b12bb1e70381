//! The open calls of a run: being written, waiting for consent, for others or for their turn, or executing.
//!
//! Calls are executed in batches: once as many are written as the plan says, or no other was written for the
//! time that it says, or the answer is complete. Calls whose arguments name the same `item_id` are executed
//! one after another, in the order in which they were written; all others at the same time.
//!
//! ```text
//! Writing ──written──▶ Ready ──batch──▶ Queued ──its turn──▶ Executing ──▶ finished
//!    │ asks a person                       ▲
//!    └────────────▶ Consent ──agreed───────┘
//! ```

use std::collections::HashSet;

use compact_str::CompactString;
use indexmap::IndexMap;
use model::ToolCallId;

use crate::run::Execute;
use crate::settings::Plan;

/// The durations of a call, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CallDurations {
    /// From being written until it was executed; `None` if it never was.
    pub(super) queued_ms: Option<u64>,
    /// How long it was executed; `None` if it never was.
    pub(super) exec_ms: Option<u64>,
}

/// The open calls of one run, in the order in which the model wrote them. Part of the agent.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The open calls by their ids in the run.
    open: IndexMap<ToolCallId, Call>,
    /// All calls that were ever begun, so that none begins twice.
    begun: HashSet<ToolCallId>,
    /// Whether the answer is complete, so that no other call will come.
    all_written: bool,
}

/// A call that is open.
#[derive(Debug)]
struct Call {
    /// The name of the tool.
    name: CompactString,
    /// The arguments as far as they are written: JSON text.
    arguments: String,
    /// The `item_id` in its arguments: calls with the same one are executed one after another.
    item: Option<CompactString>,
    /// The stage of the call.
    stage: Stage,
}

/// The stage of a call; times are in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The model is still writing it.
    Writing,
    /// A person is asked about it.
    Consent { since: u64 },
    /// The call is written and waits for its batch.
    Ready { since: u64 },
    /// The batch of the call has begun, and the call waits for its turn.
    Queued { since: u64 },
    /// The call is being executed.
    Executing { queued_ms: u64, since: u64 },
}

impl Calls {
    /// Notes that the model begins to write a call. False if it has begun before.
    pub(super) fn begin(&mut self, tool: &ToolCallId, name: &str) -> bool {
        let is_new = self.begun.insert(tool.clone());
        if is_new {
            let call =
                Call { name: name.into(), arguments: String::new(), item: None, stage: Stage::Writing };
            self.open.insert(tool.clone(), call);
        }
        is_new
    }

    /// Whether the call was ever begun.
    pub(super) fn knows(&self, tool: &ToolCallId) -> bool {
        self.begun.contains(tool)
    }

    /// Notes a call that others execute.
    pub(super) fn leave(&mut self, tool: &ToolCallId) {
        self.begun.insert(tool.clone());
    }

    /// Appends to the arguments of a call.
    pub(super) fn more(&mut self, tool: &ToolCallId, text: &str) {
        if let Some(call) = self.open.get_mut(tool).filter(|call| call.stage == Stage::Writing) {
            call.arguments.push_str(text);
        }
    }

    /// Notes that a call is written. Returns whether a person must be asked; `None` if it is not a call of
    /// this run that is being written.
    pub(super) fn written(
        &mut self,
        tool: &ToolCallId,
        name: Option<&str>,
        arguments: Option<&str>,
        plan: &Plan,
        now: u64,
    ) -> Option<bool> {
        let call = self.open.get_mut(tool).filter(|call| call.stage == Stage::Writing)?;
        if let Some(name) = name {
            call.name = name.into();
        }
        if let Some(arguments) = arguments {
            arguments.clone_into(&mut call.arguments);
        }
        call.item = item(&call.arguments);
        let asks = plan.asks_before(&call.name);
        call.stage = if asks { Stage::Consent { since: now } } else { Stage::Ready { since: now } };
        Some(asks)
    }

    /// Adds a call that was written before the run was resumed.
    pub(super) fn inherit(&mut self, tool: &ToolCallId, name: &str, arguments: &str, asks: bool, now: u64) {
        self.begin(tool, name);
        if let Some(call) = self.open.get_mut(tool) {
            arguments.clone_into(&mut call.arguments);
            call.item = item(arguments);
            call.stage = if asks { Stage::Consent { since: now } } else { Stage::Ready { since: now } };
        }
    }

    /// Notes that the answer is complete.
    pub(super) fn all_written(&mut self) {
        self.all_written = true;
    }

    /// Notes that the next answer begins.
    pub(super) fn next_answer(&mut self) {
        self.all_written = false;
    }

    /// Lets a call be executed to which a person agreed, perhaps with changed arguments. False if nobody was
    /// asked. It does not wait for a batch.
    pub(super) fn consent(&mut self, tool: &ToolCallId, arguments: Option<&str>) -> bool {
        let Some(call) = self.open.get_mut(tool) else { return false };
        let Stage::Consent { since } = call.stage else { return false };
        if let Some(arguments) = arguments {
            arguments.clone_into(&mut call.arguments);
            call.item = item(arguments);
        }
        call.stage = Stage::Queued { since };
        true
    }

    /// Whether a person is asked about the call.
    pub(super) fn awaits_consent(&self, tool: &ToolCallId) -> bool {
        self.open.get(tool).is_some_and(|call| matches!(call.stage, Stage::Consent { .. }))
    }

    /// The calls about which a person is asked, with their arguments.
    pub(super) fn asked_about(&self) -> impl Iterator<Item = (&ToolCallId, &str)> {
        let asked = self.open.iter().filter(|(_, call)| matches!(call.stage, Stage::Consent { .. }));
        asked.map(|(tool, call)| (tool, call.arguments.as_str()))
    }

    /// Whether a person is asked about some calls and no other can go on meanwhile.
    pub(super) fn wait_for_consent(&self) -> bool {
        let mut open = self.open.values();
        !self.open.is_empty()
            && open.all(|call| matches!(call.stage, Stage::Consent { .. } | Stage::Queued { .. }))
            && self.open.values().any(|call| matches!(call.stage, Stage::Consent { .. }))
    }

    /// Moves calls that can be executed now to that stage, and returns them.
    pub(super) fn dispatch(&mut self, plan: &Plan, now: u64) -> Vec<Execute> {
        if self.batch_at(plan).is_some_and(|at| at <= now) {
            for call in self.open.values_mut() {
                if let Stage::Ready { since } = call.stage {
                    call.stage = Stage::Queued { since };
                }
            }
        }
        let mut busy = Vec::new();
        let mut count = 0;
        for call in self.open.values().filter(|call| matches!(call.stage, Stage::Executing { .. })) {
            count += 1;
            busy.extend(call.item.clone());
        }
        let mut next = Vec::new();
        for (tool, call) in &mut self.open {
            let Stage::Queued { since } = call.stage else {
                // The call that was written first goes first, even while a person is asked about it.
                if !matches!(call.stage, Stage::Executing { .. }) {
                    busy.extend(call.item.clone());
                }
                continue;
            };
            let is_free = call.item.as_ref().is_none_or(|item| !busy.contains(item));
            busy.extend(call.item.clone());
            if count >= plan.calls_at_once || !is_free {
                continue;
            }
            count += 1;
            let queued_ms = now.saturating_sub(since);
            call.stage = Stage::Executing { queued_ms, since: now };
            let (name, arguments) = (call.name.clone(), call.arguments.clone());
            next.push(Execute { tool: tool.clone(), name, arguments, queued_ms });
        }
        next
    }

    /// When the batch of written calls begins unless another call is written.
    fn batch_at(&self, plan: &Plan) -> Option<u64> {
        let ready = self.open.values().filter_map(|call| match call.stage {
            Stage::Ready { since } => Some(since),
            _ => None,
        });
        let (count, newest) =
            ready.fold((0_usize, None::<u64>), |(count, newest), since| (count + 1, newest.max(Some(since))));
        let newest = newest?;
        let at_once = self.all_written || count >= plan.batch_calls;
        Some(if at_once { newest } else { newest.saturating_add(plan.batch_ms) })
    }

    /// Removes a call that is over. Returns how long it took; `None` if it is not open.
    pub(super) fn finish(&mut self, tool: &ToolCallId, now: u64) -> Option<CallDurations> {
        let call = self.open.shift_remove(tool)?;
        Some(match call.stage {
            Stage::Executing { queued_ms, since } => {
                CallDurations { queued_ms: Some(queued_ms), exec_ms: Some(now.saturating_sub(since)) }
            }
            _ => CallDurations::default(),
        })
    }

    /// The calls that have been executing for too long.
    pub(super) fn overdue(&self, plan: &Plan, now: u64) -> Vec<ToolCallId> {
        let is_over = |call: &Call| matches!(call.stage, Stage::Executing { since, .. } if since.saturating_add(plan.call_ms) <= now);
        self.open.iter().filter(|(_, call)| is_over(call)).map(|(tool, _)| tool.clone()).collect()
    }

    /// Removes calls that the model did not finish writing, and returns them.
    pub(super) fn drop_unwritten(&mut self) -> Vec<ToolCallId> {
        let unwritten = self.open.iter().filter(|(_, call)| call.stage == Stage::Writing);
        let unwritten: Vec<_> = unwritten.map(|(tool, _)| tool.clone()).collect();
        self.open.retain(|_, call| call.stage != Stage::Writing);
        unwritten
    }

    /// Removes all open calls, and returns each with whether it was executing.
    pub(super) fn drop_all(&mut self) -> Vec<(ToolCallId, bool)> {
        let executes = |call: &Call| matches!(call.stage, Stage::Executing { .. });
        std::mem::take(&mut self.open).into_iter().map(|(tool, call)| (tool, executes(&call))).collect()
    }

    /// Whether no call is open.
    pub(super) fn are_over(&self) -> bool {
        self.open.is_empty()
    }

    /// When to look again, in milliseconds since 1970.
    pub(super) fn due(&self, plan: &Plan) -> Option<u64> {
        let ends = self.open.values().filter_map(|call| match call.stage {
            Stage::Executing { since, .. } => Some(since.saturating_add(plan.call_ms)),
            _ => None,
        });
        ends.chain(self.batch_at(plan)).min()
    }
}

/// The `item_id` in a call's arguments: a string or a number, as text.
fn item(arguments: &str) -> Option<CompactString> {
    #[derive(serde::Deserialize)]
    struct Item {
        item_id: serde_json::Value,
    }
    match serde_json::from_str::<Item>(arguments).ok()?.item_id {
        serde_json::Value::String(text) => Some(text.into()),
        serde_json::Value::Number(number) => Some(number.to_string().into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
