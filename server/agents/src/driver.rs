//! The life of one run, whoever does it: the hub's own loop with a model ([`crate::runner`]) or an agent in another server
//! ([`crate::remote`]). One task for each run; nobody who asked for the run is needed for it to go on.
//!
//! ```text
//! drain, stop ──┐
//! words ────────┤                    ┌─▶ events of the run ──▶ log, viewers
//! notes of calls┼─▶ drive ──▶ Source ┤
//! time ─────────┘                    └─▶ calls (of a model, of tools, of an agent elsewhere) ──▶ notes
//! ```
//!
//! What is to be done is decided by the [`Source`]; the driver decides what is heard first and when the run is over.

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

/// Longest sleep: the clock of the day may be set while it sleeps.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What a run is made of, whoever does it. Owned by its [`Source`].
#[derive(Debug)]
pub(crate) struct RunParts {
    /// What it takes of the hub.
    pub(crate) host: Arc<Host>,
    /// The name of its agent here.
    pub(crate) agent: CompactString,
    /// The way to its model, or to the agent itself.
    pub(crate) way: Way,
    /// Where the run is.
    pub(crate) place: RunAddress,
    /// Told whether the run goes on only when a person has answered.
    pub(crate) waits: watch::Sender<bool>,
    /// Told what a person is asked about.
    pub(crate) asked: Arc<AskedAbout>,
    /// Tools that whoever asked for the run executes.
    pub(crate) tools: Arc<[OfferedTool]>,
    /// Who asked for the run, and how it is to go.
    pub(crate) terms: Terms,
}

/// What leads a run from outside. Owned by the task that drives it.
#[derive(Debug)]
pub(crate) struct Reins {
    /// Cancelled when somebody stops the run.
    pub(crate) stop: CancellationToken,
    /// What is said to it.
    pub(crate) words: mpsc::Receiver<Word>,
}

/// What comes to whoever does a run.
#[derive(Debug)]
pub(crate) enum Input<N> {
    /// The hub stops: the run is over for now.
    Drain,
    /// A person stops the run.
    Stop,
    /// A person answers whether a call may be executed.
    Consent(ToolCallId, Answer),
    /// A person does not want to wait until a model is asked again.
    Again,
    /// Something came of what was asked or executed.
    Note(N),
    /// Time went by.
    Time,
}

/// Who does a run. Dropping it stops the run.
pub(crate) trait Source: Send {
    /// What comes of its calls.
    type Note: Send;

    /// What the run is made of.
    fn parts(&self) -> &RunParts;

    /// Begins, before anything is heard.
    fn start(&mut self) -> Result<(), PublishError>;

    /// The next that comes of its calls; waits for ever where it has none. May be dropped at any time without loss.
    fn note(&mut self) -> impl Future<Output = Self::Note> + Send;

    /// When [`Input::Time`] is due at the latest, in milliseconds since 1970.
    fn due(&self) -> Option<u64>;

    /// Takes what came. What it says is in the conversation when this returns.
    fn take(&mut self, input: Input<Self::Note>) -> Result<(), PublishError>;

    /// How often whoever answers was told all that was said in the conversation.
    fn told(&self) -> u64;

    /// Whether nothing more will come of the run.
    fn is_over(&self) -> bool;
}

/// Goes on until the run is over. True when something was said in the conversation that nobody was told who answers.
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

async fn go<S: Source>(source: &mut S, reins: &mut Reins) -> Result<bool, PublishError> {
    let drain = source.parts().host.drain.clone();
    // How often all was told when something was said last.
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
