//! Who commanded what in a run of the hub's agents, as the row of a call and the end of a run say it. The hub leaves an event
//! `custom` named `fanlight.command` for each command. Others cannot write into such a run, so the names are the hub's; a role
//! that hides the names of users is not shown these events.

use model::ToolCallId;
use model::command::COMMANDED;
use model::view::{NoteBody, RunView};
use serde::Deserialize;

/// What such an event holds.
#[derive(Debug, Deserialize)]
struct Signature {
    /// The name of the principal.
    by: String,
    /// The command: say, stop, approve, reject, retry, fork.
    command: String,
    /// The call that it was about.
    #[serde(default)]
    tool: Option<String>,
    /// Whether somebody changed what was there: the arguments of a call, a message.
    #[serde(default)]
    edited: bool,
}

/// The commands in `run`, the newest first; none in a run of somebody else, whose events may say anything.
fn signatures(run: &RunView) -> impl Iterator<Item = Signature> {
    let notes = run.notes.iter().rev().filter(|_| run.own);
    notes.filter_map(|note| match &note.body {
        NoteBody::Custom { name, value } if name == COMMANDED => serde_json::from_str(value.as_str()).ok(),
        _ => None,
    })
}

/// Who decided about the call `id`, and how: `approved by ann`. `None` where nobody has, or it is not known who.
pub fn of_call(run: &RunView, id: &ToolCallId) -> Option<String> {
    let is_of = |signature: &Signature| signature.tool.as_deref() == Some(id.as_str());
    let Signature { by, command, edited, .. } = signatures(run).find(is_of)?;
    match command.as_str() {
        "approve" if edited => Some(format!("edited and approved by {by}")),
        "approve" => Some(format!("approved by {by}")),
        "reject" => Some(format!("rejected by {by}")),
        _ => None,
    }
}

/// What people did with the run itself, the oldest first: `edited by ann`, `stopped by bob`.
pub fn of_run(run: &RunView) -> Vec<String> {
    let said = |Signature { by, command, edited, .. }| match command.as_str() {
        "stop" => Some(format!("stopped by {by}")),
        "retry" => Some(format!("continued by {by}")),
        "fork" if edited => Some(format!("edited by {by}")),
        _ => None,
    };
    let mut all: Vec<String> = signatures(run).filter_map(said).collect();
    all.reverse();
    all
}

#[cfg(test)]
mod tests {
    //! What is read of commands, and from whom it is not believed.

    use model::{Envelope, View};

    use super::*;

    /// The run of these events, which the hub wrote or somebody else.
    fn run(by_hub: bool, lines: &[&str]) -> RunView {
        let mut view = View::default();
        for (seq, line) in (1..).zip([r#"{"k":"run.start","run":"r"}"#].iter().chain(lines)) {
            let envelope = Envelope { seq, by_hub, ..Envelope::parse(line).unwrap() };
            model::fold::fold(&mut view, &envelope, &mut |_| {});
        }
        view.runs.values().next().unwrap().clone()
    }

    const APPROVED: &str = r#"{"k":"custom","run":"r","name":"fanlight.command","value":{"by":"bob","command":"approve","tool":"a"}}"#;
    const EDITED: &str = r#"{"k":"custom","run":"r","name":"fanlight.command","value":{"by":"ann","command":"approve","tool":"b","edited":true}}"#;
    const REJECTED: &str = r#"{"k":"custom","run":"r","name":"fanlight.command","value":{"by":"eve","command":"reject","tool":"c"}}"#;
    const STOPPED: &str =
        r#"{"k":"custom","run":"r","name":"fanlight.command","value":{"by":"bob","command":"stop"}}"#;
    const FORKED: &str = r#"{"k":"custom","run":"r","name":"fanlight.command","value":{"by":"ann","command":"fork","edited":true}}"#;

    #[test]
    fn a_call_has_the_name_of_who_decided_about_it_and_a_run_of_who_stopped_it() {
        let run = run(true, &[FORKED, APPROVED, EDITED, REJECTED, STOPPED]);
        let of = |id: &str| of_call(&run, &ToolCallId::new(id));
        assert_eq!(of("a").as_deref(), Some("approved by bob"));
        assert_eq!(of("b").as_deref(), Some("edited and approved by ann"));
        assert_eq!(of("c").as_deref(), Some("rejected by eve"));
        assert_eq!(of("d"), None);
        assert_eq!(of_run(&run), ["edited by ann", "stopped by bob"]);
    }

    #[test]
    fn in_a_run_of_somebody_else_nobody_is_believed() {
        let run = run(false, &[APPROVED, STOPPED]);
        assert_eq!(of_call(&run, &ToolCallId::new("a")), None);
        assert!(of_run(&run).is_empty());
    }

    #[test]
    fn what_is_no_command_is_passed_over() {
        let odd = r#"{"k":"custom","run":"r","name":"fanlight.command","value":"approved"}"#;
        let other =
            r#"{"k":"custom","run":"r","name":"plan","value":{"by":"eve","command":"approve","tool":"a"}}"#;
        let run = run(true, &[APPROVED, odd, other]);
        assert_eq!(of_call(&run, &ToolCallId::new("a")).as_deref(), Some("approved by bob"));
    }
}
