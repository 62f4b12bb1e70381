//! The modes `tasks` and `debug`: nodes as they begin and end. They say what the others do not: when a call is executed,
//! and why a node failed.
//!
//! ```text
//! {"id": "65ab…", "name": "tools", "input": [{"type": "tool_call", "id": "call_1", …}], …}       it begins
//! {"id": "65ab…", "name": "tools", "error": "ValueError('offline')", "result": {}, "interrupts": []}   it is over
//! ```

use compact_str::CompactString;
use serde::Deserialize;

use super::LangGraphMeaning;
use super::spoken::CallDelta;
use super::stage::CallResult;
use crate::Decoded;
use crate::field::ForeignField;
use model::event::ErrorFact;

/// Most calls in the input of one task that are read.
const CALLS_PER_TASK_MAX: usize = 64;

/// A task that begins or is over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GraphTask<'a> {
    #[serde(borrow)]
    id: ForeignField<'a>,
    /// What the task works on; for the node `tools`, the calls that it executes.
    #[serde(borrow)]
    input: ForeignField<'a>,
    /// Why it failed, as text or as a dumped exception.
    #[serde(borrow)]
    error: ForeignField<'a>,
    /// The questions for which it stopped.
    #[serde(borrow)]
    interrupts: ForeignField<'a>,
    /// The task, in the mode `debug`.
    #[serde(borrow)]
    payload: ForeignField<'a>,
}

/// A call beside the state that its tool may look at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CallWithState<'a> {
    #[serde(borrow)]
    tool_call: ForeignField<'a>,
}

/// An exception, as LangChain's `dumps` writes what it cannot write.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DumpedException<'a> {
    #[serde(borrow)]
    repr: ForeignField<'a>,
}

impl LangGraphMeaning {
    /// Takes a task of the graph in the namespace `path` that begins or is over.
    pub(super) fn task(&mut self, path: &[CompactString], value: ForeignField<'_>, out: &mut Decoded) {
        let outer: GraphTask<'_> = value.object();
        let task: GraphTask<'_> = if outer.payload.is_object() { outer.payload.object() } else { outer };
        let Some(id) = task.id.word() else { return };
        if task.input.is_some() {
            self.begin_calls(&id, task.input, out);
        }
        if task.error.is_truthy() {
            self.fail_task(&id, path, task.error, out);
        }
        self.ask_all(task.interrupts, out);
    }

    /// Writes that the calls are executed which the input of the task names.
    fn begin_calls(&mut self, task: &str, input: ForeignField<'_>, out: &mut Decoded) {
        let mut only = None;
        let mut count = 0_usize;
        for item in input.list().into_iter().take(CALLS_PER_TASK_MAX) {
            let inner = item.object::<CallWithState<'_>>().tool_call;
            let call: CallDelta<'_> = if inner.is_object() { inner.object() } else { item.object() };
            let Some(id) = call.id.words().filter(|id| !id.is_empty()) else { continue };
            if call.name.is_some() && self.ensure_written(&id, out) {
                self.stage.run(&id, None, out);
                only = Some(CompactString::new(&id));
                count = count.saturating_add(1);
            }
        }
        // Of several it is not said which one failed.
        if let Some(only) = only.filter(|_| count == 1) {
            self.stage.name_run(task, &only);
        }
    }

    /// Takes the failure of a task: of the call that it executes, and of the run if the task is one of the
    /// outermost graph.
    fn fail_task(&mut self, task: &str, path: &[CompactString], error: ForeignField<'_>, out: &mut Decoded) {
        let repr = error.object::<DumpedException<'_>>().repr;
        let said = if repr.is_some() { repr } else { error };
        if let Some(id) = self.stage.call_of_run(task) {
            let given = CallResult { id: &id, name: "", output: said, is_error: true, agent: None };
            self.stage.result(&given, None, out);
        }
        // What fails inside of a call may be caught there; where it is not, the task of the call fails as well.
        if path.is_empty() {
            let message = said.text().unwrap_or_else(|| said.as_json_text().into());
            let name = message.split('(').next().unwrap_or_default();
            let is_name =
                !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
            let code = if is_name { CompactString::new(name) } else { "task_failed".into() };
            let fact =
                ErrorFact { code, message: message.into_owned(), retryable: None, retry_after_ms: None };
            self.stage.w.fail(fact, out);
        }
    }

    /// Writes a failure if the stream is over without a word about its end and calls of the newest message
    /// have no result: a tool raised, or the program ended.
    pub(super) fn fail_at_calls(&mut self, out: &mut Decoded) {
        for key in self.open.keys().cloned().collect::<Vec<_>>() {
            self.end_message(&key, true, out);
        }
        let left = self.stage.left();
        let Some((first, others)) = left.split_first() else { return };
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        let message = format!("the stream ended before the call of {first}{more} had a result");
        let code = CompactString::const_new("no_result");
        self.stage.w.fail(ErrorFact { code, message, retryable: None, retry_after_ms: None }, out);
    }
}
