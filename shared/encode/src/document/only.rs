//! Reduces a view to a part of its conversation: one turn, or one run.
//!
//! An export of a part is made in two steps: the whole conversation is folded, then
//! [`ExportSelection::reduce`] removes what was not asked for. So the part is the same as in a document of
//! the whole, and a document that is made from events can be limited with [`is_of`] to those of the part.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use model::anomaly::Anomalies;
use model::event::{Event, Kind};
use model::ids::{MessageId, RunId};
use model::view::{TopItem, View};

/// The part of a conversation that is exported; all of it if neither field is set. If both are set, only
/// `message` counts.
///
/// It comes from a request of a reader; an id that does not exist selects nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExportSelection {
    /// The turn that begins with this message: all items before the next message of the user. For a message
    /// that was said inside a run, that run.
    pub message: Option<MessageId>,
    /// This run, with the messages that were said inside it.
    pub run: Option<RunId>,
}

impl ExportSelection {
    /// The id that names the part; nothing for all of the conversation.
    pub fn name(&self) -> Option<&str> {
        let run = || self.run.as_ref().map(RunId::as_str);
        self.message.as_ref().map(MessageId::as_str).or_else(run)
    }

    /// Removes all else from `view`. False if it has no such part; it is unchanged then.
    /// Messages that were said inside a selected run stay with it. What remains keeps its order; anomalies of
    /// the conversation are removed with the rest, since it is not known which part they belong to.
    pub fn reduce(&self, view: &mut View) -> bool {
        let items = match (&self.message, &self.run) {
            (None, None) => return true,
            (Some(message), _) => view
                .messages
                .contains_key(message)
                .then(|| turn(view, message).into_iter().cloned().collect::<HashSet<_>>()),
            (None, Some(run)) => {
                view.runs.contains_key(run).then(|| HashSet::from([TopItem::Run(run.clone())]))
            }
        };
        let Some(mut items) = items else { return false };
        let inside = view.messages.iter().filter(|(_, message)| {
            message.within.as_ref().is_some_and(|within| items.contains(&TopItem::Run(within.run.clone())))
        });
        let inside: Vec<TopItem> = inside.map(|(id, _)| TopItem::Message(id.clone())).collect();
        items.extend(inside);
        view.items.retain(|item| items.contains(item));
        view.messages.retain(|id, _| items.contains(&TopItem::Message(id.clone())));
        view.runs.retain(|id, _| items.contains(&TopItem::Run(id.clone())));
        // Anomalies are not known by turn.
        view.anomalies = Anomalies::default();
        true
    }
}

/// The items of the turn that begins with `message`, in order: all before the next message of the user, and
/// what was said inside its runs. For a message that was said inside a run, that run too.
pub fn turn<'a>(view: &'a View, message: &MessageId) -> Vec<&'a TopItem> {
    let within = |id: &MessageId| Some(&view.messages.get(id)?.within.as_ref()?.run);
    let (own, mut is_on, mut items) = (within(message), false, Vec::new());
    let mut runs: Vec<&RunId> = own.into_iter().collect();
    for item in &view.items {
        let is_of = match item {
            TopItem::Run(id) => {
                if is_on {
                    runs.push(id);
                }
                is_on || own == Some(id)
            }
            TopItem::Message(id) => {
                let is_inside = within(id).is_some_and(|run| runs.contains(&run));
                let is_next = !is_inside && view.messages.get(id).is_some_and(|said| said.role == "user");
                is_on = id == message || (is_on && !is_next);
                is_on || is_inside
            }
        };
        if is_of {
            items.push(item);
        }
    }
    items
}

/// Whether `event` is about a message or a run of `view`.
///
/// An event that concerns neither a run nor a message (for example a fork) is of no part.
pub fn is_of(view: &View, event: &Event) -> bool {
    match &event.kind {
        Kind::Message(message) => view.messages.contains_key(&message.message),
        _ => view.runs.contains_key(&event.run),
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what belongs to a turn.

    use super::*;
    use model::{Envelope, fold::fold};

    const LINES: [&str; 8] = [
        r#"{"k":"message","message":"a","role":"user","text":"One?","seq":1,"at":1}"#,
        r#"{"k":"run.start","run":"r","seq":2,"at":2}"#,
        r#"{"k":"part.delta","run":"r","part":"p","text":"1","seq":3,"at":3}"#,
        r#"{"k":"message","message":"b","role":"user","text":"And then?","run":"r","seq":4,"at":4}"#,
        r#"{"k":"run.end","run":"r","status":"complete","seq":5,"at":5}"#,
        r#"{"k":"message","message":"c","role":"user","text":"Two?","seq":6,"at":6}"#,
        r#"{"k":"message","message":"d","role":"system","text":"Be brief.","seq":7,"at":7}"#,
        r#"{"k":"run.start","run":"s","seq":8,"at":8}"#,
    ];

    fn events() -> Vec<Envelope> {
        LINES.iter().map(|line| Envelope::parse(line).unwrap()).collect()
    }

    fn part(only: &ExportSelection) -> Option<(Vec<String>, Vec<u64>)> {
        let mut view = View::default();
        for event in events() {
            fold(&mut view, &event, &mut |_| {});
        }
        if !only.reduce(&mut view) {
            return None;
        }
        let items = view.items.iter().map(|item| match item {
            TopItem::Message(id) => id.to_string(),
            TopItem::Run(id) => id.to_string(),
        });
        let seqs = events().into_iter().filter(|it| is_of(&view, &it.event)).map(|it| it.seq);
        Some((items.collect(), seqs.collect()))
    }

    fn of(message: &str) -> ExportSelection {
        ExportSelection { message: Some(MessageId::new(message)), run: None }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_turn_is_a_message_and_what_came_of_it() {
        assert_eq!(part(&of("a")), Some((names(&["a", "r", "b"]), vec![1, 2, 3, 4, 5])));
        assert_eq!(part(&of("c")), Some((names(&["c", "d", "s"]), vec![6, 7, 8])));
        assert_eq!(part(&of("z")), None);
    }

    #[test]
    fn what_was_said_inside_a_run_belongs_to_it() {
        assert_eq!(part(&of("b")), Some((names(&["r", "b"]), vec![2, 3, 4, 5])));
        let run = |run: &str| ExportSelection { message: None, run: Some(RunId::new(run)) };
        assert_eq!(part(&run("r")), Some((names(&["r", "b"]), vec![2, 3, 4, 5])));
        assert_eq!(part(&run("s")), Some((names(&["s"]), vec![8])));
        assert_eq!(part(&run("z")), None);
    }

    #[test]
    fn all_is_wanted_where_nothing_is_said() {
        assert_eq!(part(&ExportSelection::default()).map(|(items, _)| items.len()), Some(6));
        assert_eq!((ExportSelection::default().name(), of("a").name()), (None, Some("a")));
    }
}
