//! How many rings turn: too many of them are noise, and work for the browser.

use model::event::ToolState;
use model::frame::ConversationRow;
use model::view::{Item, View};

use crate::fleet;

/// More rings than this stand still; their times go on.
pub const TURNING_MAX: usize = 12;

/// When there are no more than this again, they turn: a class above the conversation is not to change back and forth.
const TURNING_AGAIN: usize = 8;

/// The newest runs that are looked at: those that go on are among them.
const RUNS: usize = 16;

/// Rings of a conversation: its runs that go on, and their calls that execute.
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

/// Rings of the list.
pub fn of_rows<'a>(rows: impl Iterator<Item = &'a ConversationRow>) -> usize {
    rows.filter(|row| fleet::state(row, 0) == "running").count()
}

/// Whether the rings stand still when there are `count`, after they `stood` or turned.
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
