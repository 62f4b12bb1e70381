//! What a person is asked: whether a call may run (`permission.*`), and questions of the agent
//! (`question.*`).

use compact_str::CompactString;
use indexmap::IndexMap;

use super::REMEMBERED_MAX;
use super::tools::OpenCodeCalls;
use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::EventWriter;
use model::event::Kind;
use model::ids::AgentId;

/// The calls that wait for a person, by the id of the question.
#[derive(Debug, Default)]
pub(super) struct PendingQuestions(IndexMap<CompactString, CompactString>);

impl PendingQuestions {
    /// Forgets all questions, since no run is open.
    pub(super) fn begin(&mut self) {
        self.0.clear();
    }

    /// Writes that a person is asked. A question, and a permission that belongs to no call, is a custom event
    /// too.
    pub(super) fn ask(
        &mut self,
        kind: &str,
        value: ForeignField<'_>,
        agent: Option<&AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let ask = ForeignFields::of(value);
        let tool = ForeignFields::of(ask.get("tool"));
        let call = ask.get("callID").word().or_else(|| tool.get("callID").word());
        let name = kind.split('.').next().unwrap_or(kind);
        let is_question = name == "question";
        let call = call.filter(|call| w.knows_call(call));
        if is_question || call.is_none() {
            w.custom(name, value, agent, out);
        }
        let Some(call) = call else { return };
        if let Some(id) = ask.get("id").words().filter(|_| self.0.len() < REMEMBERED_MAX) {
            self.0.insert(CompactString::new(id), CompactString::new(&call));
        }
        let text = if is_question { question(&ask) } else { permission(&ask) };
        w.push_by(agent, Kind::ApprovalRequest { tool: w.tool_id(&call), text }, out);
    }

    /// Writes the person's answer, if the call waits for it.
    pub(super) fn answer(
        &mut self,
        kind: &str,
        answer: &ForeignFields<'_>,
        tools: &mut OpenCodeCalls,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        let id = answer.any(&["requestID", "permissionID", "id"]).words().unwrap_or_default();
        let Some(call) = self.0.swap_remove(&*id) else { return };
        if !tools.is_waiting(&call) || !w.knows_call(&call) {
            return;
        }
        let reply = answer.any(&["reply", "response"]).text();
        let approved = kind != "question.rejected" && reply.as_deref() != Some("reject");
        if !approved {
            tools.give_up(&call);
        }
        let text = answer.get("message").word().map(std::borrow::Cow::into_owned);
        let kind = Kind::ApprovalAnswer { tool: w.tool_id(&call), approved, text };
        w.push_by(tools.agent_of(&call).as_ref(), kind, out);
    }
}

/// The text of a permission: its title, else what is to be permitted and for which patterns.
fn permission(ask: &ForeignFields<'_>) -> Option<String> {
    if let Some(title) = ask.get("title").word() {
        return Some(title.into_owned());
    }
    let what = ask.any(&["permission", "type"]).word()?;
    let patterns = ask.any(&["patterns", "pattern"]);
    let patterns: Vec<_> =
        patterns.list().into_iter().chain([patterns]).filter_map(ForeignField::word).collect();
    Some(format!("{what} {}", patterns.join(", ")).trim_end().to_owned())
}

/// The texts of all questions, one a line.
fn question(ask: &ForeignFields<'_>) -> Option<String> {
    let questions = ask.get("questions").list().into_iter();
    let texts: Vec<_> =
        questions.filter_map(|question| ForeignFields::of(question).get("question").word()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
