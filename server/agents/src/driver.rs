//! The life of one run, whoever does it: the hub's own loop with a model ([`crate::runner`]) or an agent in
//! another server ([`crate::remote`]). Each run is one task, which needs nobody to watch it.
//!
//! ```text
//! drain, stop ──┐
//! words ────────┤                    ┌─▶ events of the run ──▶ log, viewers
//! notes of calls┼─▶ drive ──▶ Source ┤
//! time ─────────┘                    └─▶ calls (of a model, of tools, of an agent elsewhere) ──▶ notes
//! ```
//!
//! The [`Source`] decides what is done; the driver decides the order in which inputs are heard and when the
//! run is over.

use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use event_log::clock;
use exchange::OfferedTool;
use hub::PublishError;
use model::ToolCallId;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::asked_about::AskedAbout;
use crate::host::Host;
use crate::run::{Answer, RunAddress, Word, left_unheard};
use crate::terms::Terms;
use crate::way::Way;

/// The longest sleep, because the time of day may be set while it sleeps.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// The parts of a run, whoever does it. Owned by its [`Source`].
#[derive(Debug)]
pub(crate) struct RunParts {
    /// The parts of the hub that it uses.
    pub(crate) host: Arc<Host>,
    /// The name of its agent in the settings.
    pub(crate) agent: CompactString,
    /// The way to its model, or to the agent itself.
    pub(crate) way: Way,
    /// The conversation and the run.
    pub(crate) place: RunAddress,
    /// Set to true while the run goes on only after a person's answer.
    pub(crate) waits: watch::Sender<bool>,
    /// Where it notes what a person is asked about.
    pub(crate) asked: Arc<AskedAbout>,
    /// Tools that the caller executes.
    pub(crate) tools: Arc<[OfferedTool]>,
    /// What the caller has said besides the messages.
    pub(crate) terms: Terms,
}

/// How a run is led from outside. Owned by the task that drives it.
#[derive(Debug)]
pub(crate) struct Reins {
    /// Cancelled when somebody stops the run.
    pub(crate) stop: CancellationToken,
    /// What is said to the run.
    pub(crate) words: mpsc::Receiver<Word>,
}

/// An input for whoever does a run.
#[derive(Debug)]
pub(crate) enum Input<N> {
    /// The hub stops: the run is over for now.
    Drain,
    /// A person stops the run.
    Stop,
    /// A person answers whether a call may be executed.
    Consent(ToolCallId, Answer),
    /// A person does not want to wait until the model is asked again.
    Again,
    /// Something came from the model, a tool or an agent.
    Note(N),
    /// The time for which [`Source::due`] asked has come, or some time has passed.
    Time,
}

/// Whoever does a run. Dropping it stops the run without a word in the conversation.
pub(crate) trait Source: Send {
    /// What comes from its model, tools or agent.
    type Note: Send;

    /// The parts of the run.
    fn parts(&self) -> &RunParts;

    /// Begins, before any input is taken.
    fn start(&mut self) -> Result<(), PublishError>;

    /// Waits for the next note, for ever if none can come. Cancelling it loses nothing.
    fn note(&mut self) -> impl Future<Output = Self::Note> + Send;

    /// When [`Input::Time`] is due at the latest, in milliseconds since 1970; `None` for whenever.
    fn due(&self) -> Option<u64>;

    /// Takes an input. What it says about it is in the conversation when this returns.
    fn take(&mut self, input: Input<Self::Note>) -> Result<(), PublishError>;

    /// How often whoever answers was told everything that had been said in the conversation.
    fn told(&self) -> u64;

    /// Whether the run is over.
    fn is_over(&self) -> bool;
}

/// Drives a run until it is over. True if something was said in the conversation of which whoever answers was
/// not told.
pub(crate) async fn drive<S: Source>(mut source: S, mut reins: Reins) -> bool {
    match go(&mut source, &mut reins).await {
        Ok(has_news) => has_news | left_unheard(&mut reins.words),
        Err(error) => {
            let RunAddress { conversation, run } = &source.parts().place;
            tracing::error!(%conversation, %run, %error, "a run cannot go on: its events are not taken");
            false
        }
    }
}

/// Takes inputs until the run is over.
async fn go<S: Source>(source: &mut S, reins: &mut Reins) -> Result<bool, PublishError> {
    let drain = source.parts().host.drain.clone();
    // How often everything had been told when something was last said.
    let mut news: Option<u64> = None;
    source.start()?;
    while !source.is_over() {
        let due = source.due();
        let wait = due.map(|due| Duration::from_millis(due.saturating_sub(clock::now_ms())));
        let input = tokio::select! {
            biased;
            () = drain.cancelled() => Input::Drain,
            () = reins.stop.cancelled() => Input::Stop,
            Some(word) = reins.words.recv() => match word {
                Word::Consent(tool, answer) => Input::Consent(tool, answer),
                Word::Again => Input::Again,
                Word::MessagePublished => {
                    news = Some(source.told());
                    continue;
                }
            },
            note = source.note() => Input::Note(note),
            () = tokio::time::sleep(wait.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN)) => Input::Time,
        };
        source.take(input)?;
    }
    Ok(news == Some(source.told()))
}
