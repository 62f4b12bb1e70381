//! Views through a mask.

use super::{Hideable, Mask};
use crate::anomaly::Anomalies;
use crate::json::Json;
use crate::text::SharedText;
use crate::view::{AgentView, PartView, RunView, Streamed, ToolView, View};

impl Mask {
    /// Takes out of `view` what is hidden. The view was projected by the narrowed lens before, so it holds nothing of the kinds
    /// that no role sees.
    pub fn hide_in(&self, view: &mut View) {
        view.anomalies = Anomalies::default();
        for message in view.messages.values_mut() {
            if self.hides_message_of(&message.role) {
                message.text = SharedText::default();
                message.files.clear();
            }
        }
        if self.hides(Hideable::Users) {
            view.label.by = None;
            view.label.ratings.iter_mut().for_each(|rating| rating.by = None);
        }
        view.runs.values_mut().for_each(|run| self.hide_in_run(run));
    }

    /// Takes out of a run what is hidden.
    pub(crate) fn hide_in_run(&self, run: &mut RunView) {
        run.raw_bytes = 0;
        run.parts.values_mut().for_each(|part| self.hide_in_part(part));
        run.tools.values_mut().for_each(|tool| self.hide_in_tool(tool));
        run.agents.values_mut().for_each(|agent| self.agent(agent));
        if self.hides(Hideable::Costs) {
            run.usage = None;
        }
        if self.hides(Hideable::Users) {
            run.host = None;
        }
    }

    /// Takes the text out of a part that is hidden; that it is there stays.
    pub(crate) fn hide_in_part(&self, part: &mut PartView) {
        if self.hides_part(Some(part)) {
            part.body = Streamed::default();
            part.signature = None;
        }
    }

    /// Takes arguments and results out of a call, as far as they are hidden; its name, state and times stay.
    pub(crate) fn hide_in_tool(&self, tool: &mut ToolView) {
        if self.hides_arguments_of(&tool.name) {
            tool.arguments = Streamed::default();
            tool.question = None;
        }
        if self.hides_results_of(&tool.name) {
            tool.output = Streamed { late: tool.output.late, ..Streamed::default() };
            tool.result = tool.result.as_ref().map(|_| Json::string(""));
            tool.result_cut = 0;
            tool.result_ref = None;
            tool.files = None;
            tool.embeds = None;
        }
    }

    /// Takes task and usage out of a sub-agent, as far as they are hidden.
    fn agent(&self, agent: &mut AgentView) {
        if self.hides_some_arguments() {
            agent.task = None;
        }
        if self.hides(Hideable::Costs) {
            agent.usage = None;
        }
    }
}
