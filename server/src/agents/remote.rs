//! Agents elsewhere: the hub asks them in the words of their own contract and takes what they answer into a run, for
//! everybody who watches. Whoever asked may hang up.
//!
//! ```text
//!            contract (pure)            Call                  Tale (pure)
//! view ──▶ request of that kind ──▶ upstream ──▶ decoder ──▶ events of the run ──▶ log, viewers
//! ```
//!
//! Nothing is asked twice by itself: what an agent does may have effects. A person may have it asked again, and then the
//! run goes on with a new answer.

use std::sync::Arc;

use compact_str::CompactString;
use shared::event::{ErrorFact, Event, Kind, RunEnd, RunStart, RunStatus};
use shared::view::{RunView, TopItem};
use shared::{Json, View};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::clock;
use crate::config::RemoteConfig;
use crate::hub::PublishError;
use crate::runner::{HUB_STOPPED, Place, Scribe, Way, Word, failure};
use crate::state::Shared;

mod call;
mod contract;
mod tale;
mod words;

use call::{Call, Note};
use contract::Occasion;
use tale::Tale;

/// The agent's own event that says by what name an agent elsewhere remembers the conversation.
const SESSION: &str = "remote_session";

/// The failure of runs that were cut off when the hub died.
const HUB_DIED: &str = "hub_died";

/// Notes of a call that wait to be read; beyond it the call waits.
const NOTES_MAX: usize = 16;

/// A run that an agent elsewhere does.
#[derive(Debug)]
pub(super) struct Errand {
    parts: Parts,
    scribe: Scribe,
    /// What the agent calls its session and the run, as far as it said so.
    session: Option<String>,
    theirs: Option<String>,
    /// Something was said in the conversation that the agent has not been told.
    has_news: bool,
}

/// What an errand is made of.
#[derive(Debug)]
pub(super) struct Parts {
    /// The hub.
    pub(super) shared: Arc<Shared>,
    /// What was set about the agent.
    pub(super) config: Arc<RemoteConfig>,
    /// Its name here.
    pub(super) agent: CompactString,
    /// The way to it.
    pub(super) way: Way,
    /// Where the run is.
    pub(super) place: Place,
    /// Cancelled when somebody stops the run.
    pub(super) stop: CancellationToken,
    /// What comes from outside.
    pub(super) words: mpsc::Receiver<Word>,
}

impl Errand {
    /// A run that begins, or one that is there goes on with a new answer. That it does is in the conversation when this
    /// returns.
    pub(super) fn begin(parts: Parts) -> Result<Self, PublishError> {
        let mut scribe = Scribe::new(&parts.shared, parts.place.clone());
        let start = RunStart {
            name: Some(parts.agent.clone()),
            dialect: Some(parts.config.speaks.dialect().into()),
            model: parts.config.model.clone().filter(|_| parts.config.speaks.has_models()),
            title: None,
        };
        scribe.say(vec![Event::new(&parts.place.run, Kind::RunStart(start))])?;
        Ok(Self { parts, scribe, session: None, theirs: None, has_news: false })
    }

    /// Goes on until the run is over. True when something was said that the agent has not been told.
    pub(super) async fn run(mut self) -> bool {
        if let Err(error) = self.go().await {
            let Place { conversation, run } = &self.parts.place;
            tracing::error!(%conversation, %run, %error, "a run cannot go on: its events are not taken");
            return false;
        }
        self.has_news
    }

    async fn go(&mut self) -> Result<(), PublishError> {
        let (inbox, mut notes) = mpsc::channel(NOTES_MAX);
        // To drop it hangs up.
        let _call = self.ask(inbox);
        loop {
            tokio::select! {
                biased;
                () = self.parts.shared.drain.cancelled() => {
                    let what = "the hub stopped while the agent answered; it can be asked again";
                    return self.end(RunStatus::Interrupted, RunEnd::default(), Some(failure(HUB_STOPPED, what, true)));
                }
                () = self.parts.stop.cancelled() => {
                    self.cancel();
                    return self.end(RunStatus::Cancelled, RunEnd::default(), None);
                }
                Some(word) = self.parts.words.recv() => self.has_news |= matches!(word, Word::Said),
                note = notes.recv() => match note {
                    Some(Note::Taken) => self.taken()?,
                    Some(Note::Named(theirs)) => self.theirs = Some(theirs),
                    Some(Note::Said(events)) => self.scribe.say(events)?,
                    Some(Note::Over(end, failure)) => return self.over(end, failure),
                    None => {
                        let what = failure("internal", "the call to the agent is gone", true);
                        return self.over(RunEnd::default(), Some(what));
                    }
                },
            }
        }
    }

    /// Asks for an answer to what was said last.
    fn ask(&mut self, inbox: mpsc::Sender<Note>) -> AbortOnDropHandle<()> {
        let Parts { shared, config, agent, place, way, .. } = &self.parts;
        let found = shared.hub.find(&place.conversation).ok().flatten();
        let mut view = found.map(|found| found.view()).unwrap_or_default();
        let before = without(&mut view, place);
        let fresh = clock::fresh_name();
        let (conversation, run) = (&place.conversation, &place.run);
        let asked =
            contract::asked(&Occasion { config, agent, conversation, run, view: &view, fresh: &fresh });
        self.session.clone_from(&asked.session);
        let call = Call {
            shared: Arc::clone(shared),
            config: Arc::clone(config),
            way: way.clone(),
            run: run.clone(),
            asked,
            tale: Tale::new(run.clone(), before.as_ref()),
            ticket: self.scribe.ticket(),
            inbox,
        };
        AbortOnDropHandle::new(tokio::spawn(call.run()))
    }

    /// The agent took the request: it knows now what was said.
    fn taken(&mut self) -> Result<(), PublishError> {
        let Some(session) = &self.session else { return Ok(()) };
        let value = Json::of(&serde_json::json!({"session": session}));
        let note = Kind::Custom { name: SESSION.into(), value };
        self.scribe.say(vec![Event::new(&self.parts.place.run, note)])
    }

    fn over(&mut self, end: RunEnd, failure: Option<ErrorFact>) -> Result<(), PublishError> {
        let status = match &failure {
            None => end.status,
            Some(fact) if fact.code == "upstream_cut" => RunStatus::Interrupted,
            Some(_) => RunStatus::Error,
        };
        self.end(status, end, failure)
    }

    fn end(
        &mut self,
        status: RunStatus,
        end: RunEnd,
        failure: Option<ErrorFact>,
    ) -> Result<(), PublishError> {
        let run = &self.parts.place.run;
        let end = Kind::RunEnd(RunEnd { status, lost: false, ..end });
        let kinds = failure.map(Kind::Error).into_iter().chain([end]);
        self.scribe.say(kinds.map(|kind| Event::new(run, kind)).collect())
    }

    /// Tells the agent that nobody waits any more, where its contract has words for that. Whether it hears is its affair.
    fn cancel(&self) {
        let Parts { config, way, .. } = &self.parts;
        let Some(theirs) = &self.theirs else { return };
        let Some(asked) = contract::cancelled(config, self.session.as_deref(), theirs) else { return };
        let Ok(request) = call::request(config, &asked) else { return };
        let (way, patience) = (way.clone(), config.patience);
        self.parts.shared.tasks.spawn(async move {
            drop(tokio::time::timeout(patience, way.send(request)).await);
        });
    }
}

/// Takes the run out of `view`: what it said is not told to who is asked for it anew.
fn without(view: &mut View, place: &Place) -> Option<RunView> {
    view.items.retain(|item| !matches!(item, TopItem::Run(run) if *run == place.run));
    view.runs.shift_remove(&place.run)
}

/// The end of a run that was cut off when the hub died.
pub(super) fn cut_off(shared: &Arc<Shared>, place: &Place) -> Result<(), PublishError> {
    let what = "the hub died while the agent answered; it can be asked again, and may have gone on by itself";
    let end = RunEnd { status: RunStatus::Interrupted, ..RunEnd::default() };
    let kinds = [Kind::Error(failure(HUB_DIED, what, true)), Kind::RunEnd(end)];
    let events = kinds.into_iter().map(|kind| Event::new(&place.run, kind)).collect();
    Scribe::new(shared, place.clone()).say(events)
}
