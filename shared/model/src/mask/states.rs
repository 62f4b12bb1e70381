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
            }
        }
        view.runs.values_mut().for_each(|run| self.run(run));
    }

    fn run(&self, run: &mut RunView) {
        run.raw_bytes = 0;
        run.parts.values_mut().for_each(|part| self.part(part));
        run.tools.values_mut().for_each(|tool| self.tool(tool));
        run.agents.values_mut().for_each(|agent| self.agent(agent));
        if self.hides(Hideable::Costs) {
            run.usage = None;
        }
    }

    fn part(&self, part: &mut PartView) {
        if self.hides_part(Some(part)) {
            part.body = Streamed::default();
            part.signature = None;
        }
    }

    fn tool(&self, tool: &mut ToolView) {
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

    fn agent(&self, agent: &mut AgentView) {
        if self.hides_some_arguments() {
            agent.task = None;
        }
        if self.hides(Hideable::Costs) {
            agent.usage = None;
        }
    }
}
