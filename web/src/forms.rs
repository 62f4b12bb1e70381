//! The forms of calls that wait for consent. What the reader writes stays, whatever happens to the call, its
//! row and the rest of the page; rows with an open form stay on the page.
//!
//! Forms are kept by conversation and call, not by component: a card that leaves the document and comes back
//! shows what was written. They are lost with the page.

use model::view::{Item, RunView};
use model::{ConversationId, RunId};

use crate::control::{At, CommandOutcome};
use crate::latency::CallKey;

/// The form of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Form {
    /// No form is open.
    #[default]
    Closed,
    /// Other arguments, as JSON, or the answer to a question; with the text so far.
    Edit(String),
    /// A reason for the rejection, with the text so far.
    Reject(String),
}

/// All open forms, by conversation and call. There are as many as the reader opened and has not closed.
#[derive(Debug, Default)]
pub struct Forms {
    /// None of them is [`Form::Closed`]. Recordings have no conversation.
    written: Vec<(Option<ConversationId>, CallKey, Form)>,
}

impl Forms {
    /// The form of a call; [`Form::Closed`] if none is open.
    pub fn get(&self, conversation: Option<&ConversationId>, call: &CallKey) -> Form {
        let mut of_call = self.of(conversation).filter(|(its, _)| *its == call);
        of_call.next().map(|(_, form)| form.clone()).unwrap_or_default()
    }

    /// Replaces the form of a call; [`Form::Closed`] removes it.
    pub fn set(&mut self, conversation: Option<&ConversationId>, call: &CallKey, form: Form) {
        self.written.retain(|(of, its, _)| of.as_ref() != conversation || its != call);
        if form != Form::Closed {
            self.written.push((conversation.cloned(), call.clone(), form));
        }
    }

    /// Takes the result of a command: the form of a call is closed once its command was done. After a refusal
    /// it stays, so that it can be mended and sent again.
    pub fn hear(&mut self, came: &CommandOutcome) {
        if let CommandOutcome { at: At::Call(run, tool), done: Some(done) } = came {
            self.set(Some(&done.conversation), &(run.clone(), tool.clone()), Form::Closed);
        }
    }

    /// Whether a call of the run `id` has an open form.
    pub fn has(&self, conversation: Option<&ConversationId>, id: &RunId) -> bool {
        self.of(conversation).any(|((run, _), _)| run == id)
    }

    /// The items of the run `id` that must stay on the page: the calls with an open form, and the agents
    /// above them.
    pub fn kept(&self, conversation: Option<&ConversationId>, id: &RunId, run: &RunView) -> Vec<Item> {
        let mut kept = Vec::new();
        for ((_, call), _) in self.of(conversation).filter(|((its, _), _)| its == id) {
            kept.push(Item::Tool(call.clone()));
            let mut above = run.tools.get(call).and_then(|tool| tool.agent.clone());
            // The loop ends even if agents name each other as parents.
            while let Some(agent) = above.filter(|agent| !kept.contains(&Item::Agent(agent.clone()))) {
                above = run.agents.get(&agent).and_then(|it| it.parent.clone());
                kept.push(Item::Agent(agent));
            }
        }
        kept
    }

    /// The open forms of a conversation.
    fn of(&self, conversation: Option<&ConversationId>) -> impl Iterator<Item = (&CallKey, &Form)> {
        let its = self.written.iter().filter(move |(of, ..)| of.as_ref() == conversation);
        its.map(|(_, call, form)| (call, form))
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what stays.

    use model::code::ErrorCode;
    use model::command::{CommandAction, Done};
    use model::fold::fold;
    use model::frame::ServerFrame;
    use model::{AgentId, Envelope, Epoch, Position, ToolCallId, View};

    use super::*;
    use crate::control::Control;

    fn call(name: &str) -> CallKey {
        (RunId::new("r"), ToolCallId::new(name))
    }

    #[test]
    fn what_is_written_stays_with_its_call_and_its_conversation() {
        let (mut forms, here) = (Forms::default(), ConversationId::parse("c").unwrap());
        forms.set(Some(&here), &call("t"), Form::Edit("{".to_owned()));
        forms.set(Some(&here), &call("t"), Form::Edit("{}".to_owned()));
        assert_eq!(forms.get(Some(&here), &call("t")), Form::Edit("{}".to_owned()));
        assert_eq!(forms.get(Some(&here), &call("u")), Form::Closed);
        let other = ConversationId::parse("d").unwrap();
        assert_eq!(forms.get(Some(&other), &call("t")), Form::Closed, "calls elsewhere have the same names");
        assert!(forms.has(Some(&here), &RunId::new("r")) && !forms.has(Some(&other), &RunId::new("r")));
        forms.set(Some(&here), &call("t"), Form::Closed);
        assert!(!forms.has(Some(&here), &RunId::new("r")));
    }

    #[test]
    fn the_agents_above_what_is_written_stay_too() {
        let mut view = View::default();
        for line in [
            r#"{"k":"run.start","run":"r","seq":1}"#,
            r#"{"k":"agent.start","run":"r","agent":"a","name":"a","seq":2}"#,
            r#"{"k":"agent.start","run":"r","agent":"b","parent":"a","name":"b","seq":3}"#,
            r#"{"k":"tool.call","run":"r","agent":"b","tool":"t","name":"deploy","arguments":"{}","seq":4}"#,
        ] {
            fold(&mut view, &Envelope::parse(line).unwrap(), &mut |_| {});
        }
        let (mut forms, run) = (Forms::default(), &view.runs[0]);
        assert_eq!(forms.kept(None, &RunId::new("r"), run), []);
        forms.set(None, &call("t"), Form::Reject(String::new()));
        let agent = |name: &str| Item::Agent(AgentId::new(name));
        assert_eq!(
            forms.kept(None, &RunId::new("r"), run),
            [Item::Tool(ToolCallId::new("t")), agent("b"), agent("a")]
        );
        assert_eq!(forms.kept(None, &RunId::new("s"), run), []);
    }

    #[test]
    fn what_is_written_stays_until_it_was_done() {
        let (mut forms, mut control) = (Forms::default(), Control::default());
        let (here, written) = (ConversationId::parse("c").unwrap(), Form::Edit("{}".to_owned()));
        forms.set(Some(&here), &call("t"), written.clone());
        forms.set(Some(&here), &call("u"), written.clone());
        let give = |control: &mut Control, id: &str| {
            let (run, tool) = call("t");
            let action = CommandAction::Approve {
                run: Some(run.clone()),
                tool: tool.clone(),
                arguments: None,
                saw: None,
            };
            control.give(At::Call(run, tool), here.clone(), id, action, &View::default());
        };
        give(&mut control, "1");
        let (id, message) = ("1".into(), "the hub stops".to_owned());
        let refused = ServerFrame::Refused { id, code: ErrorCode::ShuttingDown, message };
        forms.hear(&control.take(&refused).unwrap());
        assert_eq!(forms.get(Some(&here), &call("t")), written, "it can be mended and sent again");
        give(&mut control, "2");
        assert_eq!(forms.get(Some(&here), &call("t")), written, "nobody has said yet that it was done");
        let after = Position { epoch: Epoch::new("e"), seq: 1 };
        let done = Done { id: "2".into(), conversation: here.clone(), run: None, after };
        forms.hear(&control.take(&ServerFrame::Done(done)).unwrap());
        assert_eq!(forms.get(Some(&here), &call("t")), Form::Closed);
        assert_eq!(forms.get(Some(&here), &call("u")), written, "another call");
    }
}
