//! Decides which failed call is unfolded by itself: the newest, until something else begins. It also keeps the states of calls as last seen, so that
//! only changes are announced.

use std::collections::HashMap;

use model::event::ToolState;
use model::view::Item;
use model::{RunId, ToolCallId, View};

use crate::latency::CallKey;

/// Whether the call failed in the newest run and nothing has begun since. Calls that ran in parallel with it
/// do not count.
pub fn failed_last(view: &View, run: &RunId, id: &ToolCallId) -> bool {
    let Some((_, it)) = view.runs.last().filter(|(newest, _)| *newest == run) else { return false };
    let Some(tool) = it.tools.get(id).filter(|tool| tool.state == ToolState::Error) else { return false };
    let Some(ended_at) = tool.ended_at else { return false };
    let after = it.items.iter().rev().take_while(|item| !matches!(item, Item::Tool(other) if other == id));
    let mut after = after.map(|item| match item {
        Item::Tool(other) => it.tools.get(other).is_some_and(|other| other.started_at < ended_at),
        _ => false,
    });
    after.all(|ran_beside| ran_beside)
}

/// The states of the calls as last seen. The page keeps one for the conversation that is open.
#[derive(Debug, Default)]
pub struct States(HashMap<CallKey, ToolState>);

impl States {
    /// Forgets the states of all calls.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// Records a snapshot: nothing in it is news.
    pub fn see_all(&mut self, view: &View) {
        self.forget();
        for (run, it) in &view.runs {
            for (id, tool) in &it.tools {
                self.see((run.clone(), id.clone()), tool.state);
            }
        }
    }

    /// Records the state of a call. Returns whether it changed.
    pub fn see(&mut self, call: CallKey, state: ToolState) -> bool {
        self.0.insert(call, state) != Some(state)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what counts as newest, and as seen.

    use model::Envelope;
    use model::fold::fold;

    use super::*;

    fn view(lines: &[&str]) -> View {
        let mut view = View::default();
        for line in lines {
            fold(&mut view, &Envelope::parse(line).unwrap(), &mut |_| {});
        }
        view
    }

    const BEGINNING: [&str; 4] = [
        r#"{"k":"run.start","run":"r","seq":1,"at":1}"#,
        r#"{"k":"tool.call","run":"r","tool":"a","name":"look","arguments":"{}","seq":2,"at":2}"#,
        r#"{"k":"tool.call","run":"r","tool":"b","name":"look","arguments":"{}","seq":3,"at":3}"#,
        r#"{"k":"tool.result","run":"r","tool":"a","output":"no","is_error":true,"seq":4,"at":9}"#,
    ];

    fn shown(more: &[&str]) -> bool {
        let lines: Vec<&str> = BEGINNING.into_iter().chain(more.iter().copied()).collect();
        failed_last(&view(&lines), &RunId::new("r"), &ToolCallId::new("a"))
    }

    #[test]
    fn a_failure_is_the_newest_until_something_begins() {
        assert!(shown(&[]), "a call that ran beside it is nothing new");
        assert!(!shown(&[
            r#"{"k":"tool.call","run":"r","tool":"c","name":"look","arguments":"{}","seq":5,"at":11}"#
        ]));
        assert!(!shown(&[r#"{"k":"part.start","run":"r","part":"p","kind":"text","seq":5,"at":11}"#]));
        assert!(!shown(&[r#"{"k":"run.start","run":"s","seq":5,"at":11}"#]));
    }

    #[test]
    fn what_did_not_fail_is_never_shown_by_itself() {
        let view = view(&BEGINNING);
        assert!(!failed_last(&view, &RunId::new("r"), &ToolCallId::new("b")));
        assert!(!failed_last(&view, &RunId::new("r"), &ToolCallId::new("z")));
    }

    #[test]
    fn what_failed_before_a_snapshot_is_not_news_after_it() {
        let mut states = States::default();
        states.see_all(&view(&BEGINNING));
        let call = |name: &str| (RunId::new("r"), ToolCallId::new(name));
        assert!(!states.see(call("a"), ToolState::Error), "it is told of again, but it failed before");
        assert!(states.see(call("b"), ToolState::Error) && !states.see(call("b"), ToolState::Error));
        assert!(states.see(call("c"), ToolState::Error), "it began since");
    }
}
