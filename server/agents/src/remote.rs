//! Agents in other servers: the hub asks them in their own protocol and turns their answers into events of a
//! run, which everybody can view. The caller may hang up.
//!
//! ```text
//!            contract (pure)          RemoteAgentRequest            RemoteAnswerTranslator (pure)
//! view ──▶ request of that kind ──▶ upstream ──▶ decoder ──▶ events of the run ──▶ log, viewers
//! ```
//!
//! No request is repeated automatically, because what an agent does may have effects. A person may have it
//! repeated, and the run then goes on with a new answer. A run whose agent [pauses](pause) for a person stays
//! open until the person has answered.
//!
//! Reading order: this file (the state of such a run), `contract` (requests), `words` (histories in other
//! forms), `call` (sending), `translator` (answers), `pause` (questions to a person).

use std::sync::Arc;

use event_log::clock;
use hub::PublishError;
use model::event::{ErrorFact, Event, Kind, RunEnd, RunStart, RunStatus, RunUpdate, ToolState};
use model::view::{RunView, TopItem};
use model::{Json, ToolCallId, View};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::answer::failure;
use crate::asked_about::AskedAbout;
use crate::driver::{Input, RunParts, Source};
use crate::host::Host;
use crate::run::{Answer, HUB_STOPPED, RunAddress};
use crate::run_publisher::RunPublisher;
use crate::settings::{RemoteConfig, RemoteKind};

mod call;
mod contract;
mod pause;
mod translator;
mod words;

pub use words::ag_ui as ag_ui_messages;

use call::{Note, RemoteAgentRequest};
use contract::{Occasion, RemoteRequest};
use pause::{AgentQuestion, Pause, PauseState};
use translator::RemoteAnswerTranslator;
use words::SESSION;

/// The code of the failure of runs that were cut off when the hub died.
const HUB_DIED: &str = "hub_died";

/// How many notes of a call may wait; beyond them the call waits.
const NOTES_MAX: usize = 16;

/// A run that an agent elsewhere does: the state between its inputs.
#[derive(Debug)]
pub(crate) struct RemoteRun {
    /// The parts of every run.
    parts: RunParts,
    /// The agent's settings, as they were when the run began.
    config: Arc<RemoteConfig>,
    /// Publishes what the agent says; reads the run back.
    publisher: RunPublisher,
    /// The agent's name for its session, if the request named one.
    session: Option<String>,
    /// The agent's name for the run, if it has said one.
    theirs: Option<String>,
    /// What the agent waits for; also after a person has answered, until the agent goes on.
    standing: Option<PauseState>,
    /// Answers that came while the agent still spoke: a call that waits is told of before the pause is
    /// complete.
    early: Vec<(ToolCallId, Answer)>,
    /// Whether the agent has paused in this run: the tokens of its answers then add up.
    has_paused: bool,
    /// The call to the agent. Dropping it closes the connection.
    line: Option<ActiveCall>,
    /// Whether the run is over.
    is_over: bool,
}

/// A call to the agent that goes on, in a task of its own.
#[derive(Debug)]
struct ActiveCall {
    /// What the call reports. The last note is [`Note::Over`].
    notes: mpsc::Receiver<Note>,
    /// The task of the call, which ends with this.
    _call: AbortOnDropHandle<()>,
}

impl RemoteRun {
    /// Begins a new run, or goes on with an existing one: with a new answer, or where its agent waits for a
    /// person. The beginning is in the conversation when this returns.
    pub(crate) fn begin(config: Arc<RemoteConfig>, parts: RunParts) -> Result<Self, PublishError> {
        let mut publisher = RunPublisher::new(&parts.host, parts.place.clone()).at(config.price);
        let known = publisher.look().unwrap_or_default();
        let left = PauseState::of(&known);
        let is_left = left.is_some();
        let standing = left.filter(|standing| standing.is_answered() || waits(&known));
        let start = RunStart {
            name: Some(parts.agent.clone()),
            dialect: Some(config.speaks.dialect().into()),
            model: config.model.clone().filter(|_| config.speaks.has_models()),
            title: None,
            // Who serves the agent does not say on which machine it runs.
            host: None,
        };
        let mut told = vec![Event::new(&parts.place.run, Kind::RunStart(start))];
        if is_left && standing.is_none() {
            // The agent is asked anew, so the old pause is over.
            told.push(pause::goes_on(&parts.place.run));
        }
        publisher.say(told)?;
        let theirs = standing.as_ref().and_then(|standing| standing.pause.theirs.clone());
        let has_paused = standing.is_some();
        for call in standing.iter().flat_map(|standing| standing.pause.calls()) {
            asks_about(&parts.asked, &known, &call.tool);
        }
        Ok(Self {
            parts,
            config,
            publisher,
            session: None,
            theirs,
            standing,
            early: Vec::new(),
            has_paused,
            line: None,
            is_over: false,
        })
    }

    /// Takes a note of the call. False when the run is over.
    fn hear(&mut self, note: Note) -> Result<bool, PublishError> {
        match note {
            Note::Taken => self.taken()?,
            Note::Named(theirs) => self.theirs = Some(theirs),
            Note::Events(events) => self.say(events)?,
            Note::Over(end, asks, None) if !asks.is_empty() => return self.pause(end, asks),
            Note::Over(end, _, failure) => {
                self.over(end, failure)?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Publishes what the agent says. For calls about which it asks a person, the arguments are noted as they
    /// are then.
    fn say(&mut self, events: Vec<Event>) -> Result<(), PublishError> {
        let asked: Vec<ToolCallId> = events
            .iter()
            .filter_map(|event| match &event.kind {
                Kind::ApprovalRequest { tool, .. } => Some(tool.clone()),
                _ => None,
            })
            .collect();
        self.publisher.say(events)?;
        if let Some(known) = self.publisher.look().filter(|_| !asked.is_empty()) {
            for tool in &asked {
                asks_about(&self.parts.asked, &known, tool);
            }
        }
        Ok(())
    }

    /// Asks the agent for an answer to what was said last.
    fn ask(&mut self) {
        let (RunParts { agent, place, tools, terms, .. }, config) = (&self.parts, &self.config);
        let mut view = self.view();
        let before = without(&mut view, place);
        let fresh = clock::fresh_name();
        let (conversation, run) = (&place.conversation, &place.run);
        let asked = contract::asked(&Occasion {
            config,
            agent,
            conversation,
            run,
            view: &view,
            fresh: &fresh,
            tools,
            terms,
        });
        self.session.clone_from(&asked.session);
        let tale = RemoteAnswerTranslator::new(run.clone(), before.as_ref());
        self.call(asked, tale);
    }

    /// The view of the conversation.
    fn view(&self) -> View {
        self.parts.host.view(&self.parts.place.conversation).unwrap_or_default()
    }

    /// Starts a call, in a task of its own.
    fn call(&mut self, asked: RemoteRequest, tale: RemoteAnswerTranslator) {
        let (inbox, notes) = mpsc::channel(NOTES_MAX);
        let call =
            RemoteAgentRequest::new(&self.parts, &self.config, self.publisher.ticket(), (asked, tale), inbox);
        self.parts.waits.send_replace(false);
        self.line = Some(ActiveCall { notes, _call: AbortOnDropHandle::new(tokio::spawn(call.run())) });
    }

    /// Handles a pause of the agent: its run waits for a person, or is over if nothing is asked. False when
    /// it is over.
    fn pause(&mut self, end: RunEnd, asks: Vec<AgentQuestion>) -> Result<bool, PublishError> {
        self.line = None;
        let (place, config) = (&self.parts.place, &self.config);
        let (mut events, fresh) = (Vec::new(), clock::fresh_name());
        let theirs = self.theirs.clone();
        let known = self.publisher.look().unwrap_or_default();
        let run = (&place.run, &known);
        let Some(pause) = Pause::of(config.speaks, asks, theirs, run, (&fresh, &mut events)) else {
            self.over(end, None)?;
            return Ok(false);
        };
        if !pause::are_kept(&events) {
            return self.give_up(end, "pause_too_large", "what the agent asks is too large to be remembered");
        }
        self.has_paused = true;
        if end.usage.is_some() {
            let spent = RunUpdate { usage: end.usage, ..RunUpdate::default() };
            events.push(Event::new(&place.run, Kind::RunUpdate(spent)));
        }
        let calls: Vec<ToolCallId> = pause.calls().map(|call| call.tool.clone()).collect();
        self.standing = Some(PauseState { pause, answers: Vec::new() });
        self.publisher.say(events)?;
        let known = self.publisher.look().unwrap_or_default();
        let changed = calls.into_iter().filter(|tool| !asks_about(&self.parts.asked, &known, tool));
        let changed: Vec<ToolCallId> = changed.collect();
        for (tool, answer) in std::mem::take(&mut self.early) {
            // The arguments have changed since the person agreed.
            if !changed.contains(&tool) && !self.take(&tool, answer)? {
                return Ok(false);
            }
        }
        self.answer_all()
    }

    /// Takes a person's answer about a call. False when the run is over.
    fn consent(&mut self, tool: &ToolCallId, answer: Answer) -> Result<bool, PublishError> {
        if self.line.is_some() {
            // Only answers to a present question are kept: a second answer to the same one must not count for
            // the next pause.
            let asks = |run: RunView| run.tools.get(tool).is_some_and(|it| it.state == ToolState::Approval);
            let is_new = self.early.iter().all(|(early, _)| early != tool);
            if is_new && self.publisher.look().is_some_and(asks) {
                self.early.push((tool.clone(), answer));
            }
            return Ok(true);
        }
        if !self.take(tool, answer)? {
            return Ok(false);
        }
        self.answer_all()
    }

    /// Stores a person's answer in the conversation. False when the run is over.
    fn take(&mut self, tool: &ToolCallId, answer: Answer) -> Result<bool, PublishError> {
        let Some(standing) = &mut self.standing else { return Ok(true) };
        let told = standing.take(&self.parts.place.run, tool, answer);
        if !pause::are_kept(&told) {
            let what = "an answer is too large to be remembered; asked again, the agent begins anew";
            return self.give_up(RunEnd::default(), "answer_too_large", what);
        }
        self.publisher.say(told)?;
        Ok(true)
    }

    /// Ends a run that cannot wait for a person, and says why. Always false: the run is over.
    fn give_up(&mut self, end: RunEnd, code: &str, why: &str) -> Result<bool, PublishError> {
        self.cancel();
        self.over(end, Some(failure(code, why, false)))?;
        Ok(false)
    }

    /// Tells the agent the answers once all have been given. False when the run is over.
    fn answer_all(&mut self) -> Result<bool, PublishError> {
        let Some(standing) = self.standing.as_ref().filter(|standing| standing.is_answered()) else {
            self.parts.waits.send_replace(true);
            return Ok(true);
        };
        let (RunParts { agent, place, tools, terms, .. }, config) = (&self.parts, &self.config);
        let (view, fresh) = (self.view(), clock::fresh_name());
        let (conversation, run) = (&place.conversation, &place.run);
        let occasion =
            Occasion { config, agent, conversation, run, view: &view, fresh: &fresh, tools, terms };
        let Some(asked) = contract::goes_on(&occasion, standing) else {
            // The agent's protocol has no form for these answers, so the run is given up.
            self.cancel();
            self.end(RunStatus::Cancelled, RunEnd::default(), None)?;
            return Ok(false);
        };
        self.session.clone_from(&asked.session);
        let before = view.runs.get(run);
        let tale = RemoteAnswerTranslator::new(run.clone(), before).carrying(before, standing);
        self.call(asked, tale);
        Ok(true)
    }

    /// Ends the run for now, because the hub stops. A run that waits for a person waits again after a
    /// restart.
    fn interrupt(&mut self) -> Result<(), PublishError> {
        let waits = self.standing.is_some() && self.line.is_none();
        let what = if waits {
            "the hub stopped; the run waits again when it is back"
        } else {
            "the hub stopped while the agent answered; it can be asked again"
        };
        let run = &self.parts.place.run;
        let end = RunEnd { status: RunStatus::Interrupted, lost: waits, ..RunEnd::default() };
        let kinds = [Kind::Error(failure(HUB_STOPPED, what, true)), Kind::RunEnd(end)];
        self.publisher.say(kinds.into_iter().map(|kind| Event::new(run, kind)).collect())
    }

    /// Notes that the agent has taken the request: it knows now what was said.
    fn taken(&mut self) -> Result<(), PublishError> {
        let run = &self.parts.place.run;
        let mut told = Vec::new();
        if self.standing.take().is_some() {
            told.push(pause::goes_on(run));
        }
        if let Some(session) = &self.session {
            let value = Json::of(&serde_json::json!({"session": session}));
            told.push(Event::new(run, Kind::Custom { name: SESSION.into(), value }));
        }
        self.publisher.say(told)
    }

    /// Ends the run after an answer, or its failure.
    fn over(&mut self, end: RunEnd, failure: Option<ErrorFact>) -> Result<(), PublishError> {
        let status = match &failure {
            None => end.status,
            Some(fact) if fact.code == "upstream_cut" => RunStatus::Interrupted,
            Some(_) => RunStatus::Error,
        };
        self.end(status, end, failure)
    }

    /// Publishes the end of the run, with the tokens of its last answer.
    fn end(
        &mut self,
        status: RunStatus,
        end: RunEnd,
        failure: Option<ErrorFact>,
    ) -> Result<(), PublishError> {
        let run = &self.parts.place.run;
        let mut end = RunEnd { status, lost: false, ..end };
        // Agno reports the tokens of the whole run each time.
        let adds_up = self.has_paused && self.config.speaks != RemoteKind::Agno;
        let spent = end.usage.take_if(|_| adds_up);
        let spent =
            spent.map(|spent| Kind::RunUpdate(RunUpdate { usage: Some(spent), ..RunUpdate::default() }));
        let kinds = spent.into_iter().chain(failure.map(Kind::Error)).chain([Kind::RunEnd(end)]);
        self.publisher.say(kinds.map(|kind| Event::new(run, kind)).collect())
    }

    /// Tells the agent that the run is given up, if its protocol can say that. The answer does not matter.
    fn cancel(&self) {
        let config = &self.config;
        let Some(theirs) = &self.theirs else { return };
        let Some(asked) = contract::cancelled(config, self.session.as_deref(), theirs) else { return };
        let Ok(request) = call::request(config, &asked) else { return };
        let (way, patience) = (self.parts.way.clone(), config.patience);
        self.parts.host.tasks.spawn(async move {
            drop(tokio::time::timeout(patience, way.send(request)).await);
        });
    }
}

impl Source for RemoteRun {
    /// A note of the call; `None` if the call ended without a last note, which is a fault.
    type Note = Option<Note>;

    fn parts(&self) -> &RunParts {
        &self.parts
    }

    fn start(&mut self) -> Result<(), PublishError> {
        if self.standing.is_none() {
            self.ask();
        } else {
            self.is_over = !self.answer_all()?;
        }
        Ok(())
    }

    async fn note(&mut self) -> Option<Note> {
        match &mut self.line {
            Some(line) => line.notes.recv().await,
            None => std::future::pending().await,
        }
    }

    /// An agent elsewhere watches its own time, and the call watches for how long it is silent.
    fn due(&self) -> Option<u64> {
        None
    }

    fn take(&mut self, input: Input<Option<Note>>) -> Result<(), PublishError> {
        let goes_on = match input {
            Input::Drain => self.interrupt().map(|()| false),
            Input::Stop => {
                self.cancel();
                self.end(RunStatus::Cancelled, RunEnd::default(), None).map(|()| false)
            }
            Input::Consent(tool, answer) => self.consent(&tool, answer),
            // What an agent elsewhere waits for is its own matter.
            Input::Again | Input::Time => Ok(true),
            Input::Note(Some(note)) => self.hear(note),
            Input::Note(None) => {
                let what = failure("internal", "the call to the agent is gone", true);
                self.over(RunEnd::default(), Some(what)).map(|()| false)
            }
        };
        self.is_over = !goes_on?;
        Ok(())
    }

    /// The agent is told everything with its first request; later requests tell it only answers.
    fn told(&self) -> u64 {
        0
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Notes that a person is asked about a call of `run` with its present arguments. False if they differ from
/// those of an earlier question.
fn asks_about(asked: &AskedAbout, run: &RunView, tool: &ToolCallId) -> bool {
    run.tools.get(tool).is_none_or(|call| asked.remember(tool, &call.arguments.text))
}

/// Whether the run waits for a person, or will again when the hub resumes it. Not if the person has answered
/// already: the agent may have got the answer, and must not get it twice automatically.
pub(crate) fn waits(run: &RunView) -> bool {
    let was_stopped = || run.error.as_ref().is_some_and(|error| error.code == HUB_STOPPED);
    let is_asked = || PauseState::of(run).is_some_and(|standing| !standing.is_answered());
    (run.is_running() || (run.loss.is_some() && was_stopped())) && is_asked()
}

/// Removes the run from `view`, because an agent that is asked anew must not read its own earlier attempt.
fn without(view: &mut View, place: &RunAddress) -> Option<RunView> {
    view.items.retain(|item| !matches!(item, TopItem::Run(run) if *run == place.run));
    view.runs.shift_remove(&place.run)
}

/// Ends a run that was cut off when the hub died.
pub(crate) fn cut_off(host: &Arc<Host>, place: &RunAddress) -> Result<(), PublishError> {
    let what = "the hub died while the agent answered; it can be asked again, and may have gone on by itself";
    let end = RunEnd { status: RunStatus::Interrupted, ..RunEnd::default() };
    let kinds = [Kind::Error(failure(HUB_DIED, what, true)), Kind::RunEnd(end)];
    let events = kinds.into_iter().map(|kind| Event::new(&place.run, kind)).collect();
    RunPublisher::new(host, place.clone()).say(events)
}
