//! What no model API has: executed tools, questions to people, sub-agents. Published as native events, one
//! per line.

use std::time::Duration;

use model::event::{
    AgentEnd, AgentStart, Kind, PartEnd, PartKind, RunStatus, ToolProgress, ToolResult, ToolStart, ToolState,
    ToolStateChange,
};
use model::{AgentId, Event, Json, PartId, RunId, ToolCallId};

use super::pacing::{DemoRandom, first_token, written};
use super::script::{BackgroundWork, ScriptAgent, ScriptCall, ScriptPiece, ScriptStep};
use super::stage::{ScheduledText, id_in};

/// From this duration on, a call reports its progress.
const PROGRESS_FROM: Duration = Duration::from_millis(2_500);

/// The native events of a step, with their times from its beginning.
#[derive(Debug)]
pub(super) struct NativeSchedule<'a> {
    /// The run that all events belong to.
    run: &'a RunId,
    /// The pace in tokens per second.
    rate: u32,
    /// Makes the ids of parts unique in the run.
    prefix: String,
    /// How many parts the step has so far.
    parts: u32,
    /// Varies the times.
    dice: &'a mut DemoRandom,
    /// The events so far, in no order.
    beats: Vec<ScheduledText>,
}

/// When something happens in a step, and which agent does it.
#[derive(Debug, Clone)]
struct ScorePlace {
    /// The time from the beginning of the step.
    at: Duration,
    /// A sub-agent; `None` for the main agent.
    agent: Option<AgentId>,
}

impl<'a> NativeSchedule<'a> {
    /// A schedule without events.
    pub(super) fn new(run: &'a RunId, rate: u32, prefix: String, dice: &'a mut DemoRandom) -> Self {
        Self { run, rate, prefix, parts: 0, dice, beats: Vec::new() }
    }

    /// The events of `step`, done by the main agent, in order of time.
    pub(super) fn of(mut self, step: &ScriptStep) -> Vec<ScheduledText> {
        self.step(step, ScorePlace { at: Duration::ZERO, agent: None });
        self.beats.sort_by_key(|beat| beat.at);
        self.beats
    }

    /// The id of a call in the run.
    fn tool(&self, id: &str) -> ToolCallId {
        ToolCallId::new(&id_in(self.run, id))
    }

    /// Adds an event at that place.
    fn put(&mut self, place: &ScorePlace, kind: Kind) {
        let event = Event::new(self.run, kind).by(place.agent.clone());
        // Our own events can always be serialized.
        let mut text = serde_json::to_string(&event).unwrap_or_default();
        text.push('\n');
        self.beats.push(ScheduledText { at: place.at, text });
    }

    /// Adds the events of a step. Returns when it is over.
    fn step(&mut self, step: &ScriptStep, place: ScorePlace) -> Duration {
        match step {
            ScriptStep::Status(text) => {
                self.put(&place, Kind::Status { text: text.clone() });
                place.at
            }
            ScriptStep::Write(pieces) => self.write(pieces, place),
            ScriptStep::Work(work) => {
                let ends = work.iter().map(|work| match work {
                    BackgroundWork::Call(call) => self.call(call, place.clone()),
                    BackgroundWork::Agent(agent) => self.agent(agent, &place),
                });
                ends.max().unwrap_or(place.at)
            }
        }
    }

    /// Adds the events of a model call. Returns when it is over.
    fn write(&mut self, pieces: &[ScriptPiece], mut place: ScorePlace) -> Duration {
        place.at = place.at.saturating_add(first_token(self.dice));
        for piece in pieces {
            match piece {
                ScriptPiece::Think { text, rate } => self.part(PartKind::Thinking, text, *rate, &mut place),
                ScriptPiece::Say { text, rate } => self.part(PartKind::Text, text, *rate, &mut place),
                ScriptPiece::Call { id, name, arguments } => {
                    let tool = self.tool(id);
                    let start = ToolStart {
                        tool: tool.clone(),
                        name: name.as_str().into(),
                        server: false,
                        given_id: None,
                    };
                    self.put(&place, Kind::ToolStart(start));
                    for (pause, text) in written(arguments, self.rate, self.dice) {
                        place.at = place.at.saturating_add(pause);
                        let (tool, text) = (tool.clone(), text.into());
                        self.put(&place, Kind::ToolArgs { tool, off: None, text });
                    }
                    self.put(&place, Kind::ToolCall { tool, name: None, arguments: None });
                }
                ScriptPiece::Fail { code, message } => {
                    let error = model::event::ErrorFact {
                        code: code.as_str().into(),
                        message: message.clone(),
                        retryable: Some(true),
                        retry_after_ms: None,
                    };
                    self.put(&place, Kind::Error(error));
                }
            }
        }
        place.at
    }

    /// Adds a part that is written at `rate` tokens per second.
    fn part(&mut self, kind: PartKind, text: &str, rate: Option<u32>, place: &mut ScorePlace) {
        self.parts = self.parts.saturating_add(1);
        let part = PartId::new(&format!("{}{}", self.prefix, self.parts));
        self.put(place, Kind::PartStart { part: part.clone(), kind });
        for (pause, text) in written(text, rate.unwrap_or(self.rate), self.dice) {
            place.at = place.at.saturating_add(pause);
            self.put(place, Kind::PartDelta { part: part.clone(), off: None, text: text.into() });
        }
        let end = PartEnd { part, len: None, hash: None, duration_ms: None, hidden: false, signature: None };
        self.put(place, Kind::PartEnd(end));
    }

    /// Adds a call that is executed. Returns when it is over.
    fn call(&mut self, call: &ScriptCall, mut place: ScorePlace) -> Duration {
        let tool = self.tool(&call.id);
        let queued = self.dice.about(call.after);
        place.at = place.at.saturating_add(queued);
        if let Some((question, wait)) = &call.ask {
            let text = Some(question.clone());
            self.put(&place, Kind::ApprovalRequest { tool: tool.clone(), text });
            place.at = place.at.saturating_add(*wait);
            self.put(&place, Kind::ApprovalAnswer { tool: tool.clone(), approved: true, text: None });
        }
        let takes = self.dice.about(call.takes);
        self.executing(&tool, queued, &place);
        self.meanwhile(call, &tool, takes, &place);
        place.at = place.at.saturating_add(takes);
        self.result(tool, &call.result, call.is_error, Some(takes), &place);
        place.at
    }

    /// Adds the beginning of an execution.
    fn executing(&mut self, tool: &ToolCallId, queued: Duration, place: &ScorePlace) {
        let change = ToolStateChange {
            tool: tool.clone(),
            state: ToolState::Executing,
            queued_ms: Some(millis(queued)),
            exec_ms: None,
        };
        self.put(place, Kind::ToolState(change));
    }

    /// Adds what a call prints or, if it prints nothing, its progress.
    fn meanwhile(&mut self, call: &ScriptCall, tool: &ToolCallId, takes: Duration, place: &ScorePlace) {
        let lines: Vec<&str> = call.output.split_inclusive('\n').collect();
        let steps = u32::try_from(lines.len()).unwrap_or(u32::MAX).saturating_add(1);
        for (number, line) in (1..).zip(lines) {
            let at = place.at.saturating_add(takes / steps * number);
            let kind = Kind::ToolOutput { tool: tool.clone(), off: None, text: line.into() };
            self.put(&ScorePlace { at, ..place.clone() }, kind);
        }
        if call.output.is_empty() && takes >= PROGRESS_FROM {
            for tenth in 1..10 {
                let at = place.at.saturating_add(takes / 10 * tenth);
                let progress = ToolProgress {
                    current: Some(u64::from(tenth) * 10),
                    total: Some(100),
                    ..ToolProgress::new(tool.clone())
                };
                self.put(&ScorePlace { at, ..place.clone() }, Kind::ToolProgress(progress));
            }
        }
    }

    /// Adds a result: JSON if `text` is JSON, otherwise a string.
    fn result(
        &mut self,
        tool: ToolCallId,
        text: &str,
        is_error: bool,
        took: Option<Duration>,
        place: &ScorePlace,
    ) {
        let output = Json::parse(text).unwrap_or_else(|| Json::string(text));
        let result = ToolResult { exec_ms: took.map(millis), ..ToolResult::new(tool, output, is_error) };
        self.put(place, Kind::ToolResult(result));
    }

    /// Adds a sub-agent with its steps. Returns when it is over.
    fn agent(&mut self, agent: &ScriptAgent, place: &ScorePlace) -> Duration {
        let call = agent.call.as_deref().map(|id| self.tool(id));
        let mut outside = ScorePlace { at: place.at.saturating_add(agent.after), agent: place.agent.clone() };
        if let Some(call) = &call {
            self.executing(call, agent.after, &outside);
        }
        let mut inside =
            ScorePlace { at: outside.at, agent: Some(AgentId::new(&id_in(self.run, &agent.id))) };
        let start = AgentStart {
            name: Some(agent.name.as_str().into()),
            parent: outside.agent.clone(),
            tool: call.clone(),
            text: Some(agent.task.clone()),
            ..AgentStart::default()
        };
        self.put(&inside, Kind::AgentStart(start));
        for step in &agent.steps {
            inside.at = self.step(step, inside.clone());
        }
        self.put(&inside, Kind::AgentEnd(AgentEnd::of(RunStatus::Complete)));
        if let Some(call) = call {
            let took = inside.at.saturating_sub(outside.at);
            outside.at = inside.at;
            self.result(call, &agent.result, false, Some(took), &outside);
        }
        inside.at
    }
}

/// Milliseconds, as events have them.
fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
