//! How many activity rings turn: too many are distracting, and work for the browser.

use model::event::ToolState;
use model::frame::ConversationRow;
use model::view::{Item, View};

use crate::fleet;

/// With more rings than this, all stand still; their times go on.
pub const TURNING_MAX: usize = 12;

/// From this number down they turn again; it is lower, so that a class on the conversation does not change
/// back and forth.
const TURNING_AGAIN: usize = 8;

/// How many of the newest runs are counted; running ones are among them.
const RUNS: usize = 16;

/// The number of rings in a conversation: active runs, and their executing calls.
pub fn of_view(view: &View) -> usize {
    let runs = view.runs.values().rev().take(RUNS).filter(|run| run.is_running());
    runs.map(|run| {
        let calls = run.open.iter().filter(|item| match item {
            Item::Tool(id) => run.tools.get(id).is_some_and(|tool| tool.state == ToolState::Executing),
            _ => false,
        });
        calls.count().saturating_add(1)
    })
    .sum()
}

/// The number of rings in the list.
pub fn of_rows<'a>(rows: impl Iterator<Item = &'a ConversationRow>) -> usize {
    rows.filter(|row| fleet::state(row, 0) == "running").count()
}

/// Whether `count` rings stand still. `stood` is whether they did before.
pub fn stand(stood: bool, count: usize) -> bool {
    count > if stood { TURNING_AGAIN } else { TURNING_MAX }
}

#[cfg(test)]
mod tests {
    //! Tests of the count.

    use model::Envelope;
    use model::fold::fold;

    use super::*;

    #[test]
    fn too_many_rings_stand_still_until_few_are_left() {
        assert!(!stand(false, 12) && stand(false, 13));
        assert!(stand(true, 9) && !stand(true, 8));
    }

    #[test]
    fn runs_and_calls_at_work_are_counted() {
        let mut view = View::default();
        for line in [
            r#"{"k":"run.start","run":"r","seq":1,"at":1}"#,
            r#"{"k":"tool.call","run":"r","tool":"a","name":"x","arguments":"{}","seq":2,"at":1}"#,
            r#"{"k":"tool.state","run":"r","tool":"a","state":"executing","seq":3,"at":1}"#,
            r#"{"k":"tool.call","run":"r","tool":"b","name":"x","arguments":"{}","seq":4,"at":1}"#,
        ] {
            fold(&mut view, &Envelope::parse(line).unwrap(), &mut |_| {});
        }
        assert_eq!(of_view(&view), 2);
        fold(
            &mut view,
            &Envelope::parse(r#"{"k":"run.end","run":"r","status":"complete","seq":5,"at":1}"#).unwrap(),
            &mut |_| {},
        );
        assert_eq!(of_view(&view), 0);
    }
}
