//! Marks the secrets in the texts of a folded view: one that comes with a history from elsewhere is treated as its events would be.

use model::text::SharedText;
use model::view::{AgentView, PartView, RunView, Streamed, ToolView};
use model::{Json, View};

use crate::marks::Redactor;

impl Redactor {
    /// Marks the secrets in all texts of `view`.
    pub fn view(&self, view: &mut View) {
        self.optional(&mut view.title);
        self.optional(&mut view.label.title);
        self.optional(&mut view.label.note);
        view.label.ratings.iter_mut().for_each(|rating| self.optional(&mut rating.why));
        view.label.tags.iter_mut().for_each(|tag| self.name(tag));
        for message in view.messages.values_mut() {
            self.name(&mut message.role);
            self.shared(&mut message.text);
        }
        for run in view.runs.values_mut() {
            self.run(run);
        }
    }

    fn run(&self, run: &mut RunView) {
        self.names([&mut run.model, &mut run.dialect, &mut run.name, &mut run.finish_reason]);
        self.optional(&mut run.title);
        self.optional(&mut run.activity);
        let lost = run.loss.as_mut().and_then(|loss| loss.error.as_mut());
        for error in run.error.iter_mut().chain(lost) {
            self.name(&mut error.code);
            self.string(&mut error.message);
        }
        if let Some(loss) = &mut run.loss {
            self.optional(&mut loss.activity);
        }
        for part in run.parts.values_mut() {
            self.part(part);
        }
        for tool in run.tools.values_mut() {
            self.tool(tool);
        }
        for agent in run.agents.values_mut() {
            self.agent(agent);
        }
        for note in &mut run.notes {
            self.json_of(note);
        }
    }

    fn part(&self, part: &mut PartView) {
        self.streamed(&mut part.body);
        self.optional(&mut part.signature);
    }

    fn tool(&self, tool: &mut ToolView) {
        self.name(&mut tool.name);
        self.names([&mut tool.given_id]);
        self.streamed(&mut tool.arguments);
        self.streamed(&mut tool.output);
        for json in [&mut tool.result, &mut tool.files, &mut tool.embeds] {
            self.optional_json(json);
        }
        self.optional(&mut tool.question);
    }

    fn agent(&self, agent: &mut AgentView) {
        self.names([&mut agent.name]);
        self.optional(&mut agent.task);
    }

    /// What of a text is known stays known: only its hash and length are those of what is said now.
    fn streamed(&self, streamed: &mut Streamed) {
        let Some(marked) = self.json_text(&streamed.text) else { return };
        let whole = Streamed::whole(&marked);
        streamed.len = whole.len.saturating_add(streamed.cut).saturating_add(streamed.missing);
        (streamed.text, streamed.hash) = (whole.text, whole.hash);
    }

    fn shared(&self, text: &mut SharedText) {
        if let Some(marked) = self.text(text) {
            *text = Streamed::whole(&marked).text;
        }
    }

    /// Marks the secrets in a value that is kept as it came, by way of its JSON.
    fn json_of<T: serde::Serialize + serde::de::DeserializeOwned>(&self, value: &mut T) {
        let mut json = Json::of(value);
        let before = json.clone();
        self.json(&mut json);
        if json != before
            && let Ok(marked) = serde_json::from_str(json.as_str())
        {
            *value = marked;
        }
    }
}
