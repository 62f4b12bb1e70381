//! Publishes a script: run after run, conversation after conversation, within bounds.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use event_log::clock;
use futures_util::stream::{self, Stream};
use model::event::{Event, Kind, Message, RunEnd, RunStart, RunStatus, Usage};
use model::{ConversationId, Envelope, MessageId, RunId};
use tokio::time::Instant;

use super::native::NativeSchedule;
use super::pacing::DemoRandom;
use super::script::{DemoDialect, DemoScript, ScriptPiece, ScriptRun, ScriptStep};
use super::{anthropic, openai_chat};
use client::{HttpPublisher, HubAddress, PublishError};

/// How many runs a conversation has before a new one begins.
const RUNS_PER_CONVERSATION: u32 = 6;

/// How many conversations a script makes; together they are all that a demo ever makes.
const CONVERSATIONS_MAX: u32 = 40;

/// How many failures in a row end a script: the hub is gone.
const FAILURES_MAX: u32 = 5;

/// The pause after a failure.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);

/// The bounds of the pause between two runs, in milliseconds.
const PAUSE_MS: (u64, u64) = (5_000, 9_000);

/// A text that is sent at its time, counted from the beginning of its stream.
#[derive(Debug)]
pub(super) struct ScheduledText {
    /// The time at which it is sent.
    pub(super) at: Duration,
    /// One or more whole events of the stream.
    pub(super) text: String,
}

/// What the stream of a model call says about the call.
#[derive(Debug)]
pub(super) struct ModelCall<'a> {
    /// The run of which it is a step.
    pub(super) run: &'a RunId,
    /// A name that is unique in the conversation.
    pub(super) name: String,
    /// The model that answers.
    pub(super) model: &'a str,
    /// When the call began, in seconds since 1970.
    pub(super) created: u64,
    /// How many tokens the model has to read.
    pub(super) input_tokens: u64,
    /// The pace in tokens per second.
    pub(super) rate: u32,
}

/// The id `id` of a script within `run`: real ids are never repeated.
pub(super) fn id_in(run: &RunId, id: &str) -> String {
    format!("{id}_{run}")
}

/// About how many tokens a model wrote.
pub(super) fn tokens(pieces: &[ScriptPiece]) -> u64 {
    let bytes = pieces.iter().map(|piece| match piece {
        ScriptPiece::Think { text, .. }
        | ScriptPiece::Say { text, .. }
        | ScriptPiece::Call { arguments: text, .. } => text.len(),
        ScriptPiece::Fail { .. } => 0,
    });
    bytes.sum::<usize>() as u64 / 4
}

/// Publishes the runs of one script.
#[derive(Debug)]
pub(super) struct DemoPublisher {
    /// The way to the hub, the same that any client has.
    publisher: HttpPublisher,
    /// The script that is published.
    play: DemoScript,
    /// Varies times; seeded, so that a demo is the same each time.
    dice: DemoRandom,
}

/// The run that is being published.
struct CurrentRun<'a> {
    conversation: &'a ConversationId,
    run: RunId,
    /// How many tokens the model has to read by now.
    context: u64,
    /// The number of tokens that it has written.
    written: u64,
    /// The number of the present step, from 1.
    step: u32,
}

impl DemoPublisher {
    pub(super) fn new(address: HubAddress, play: DemoScript, seed: u64) -> Self {
        Self { publisher: HttpPublisher::new(address), play, dice: DemoRandom::new(seed.saturating_add(7)) }
    }

    /// Publishes until the script is over or the hub is gone. May be cancelled at any point; the run that is
    /// being published then stays open.
    pub(super) async fn play(mut self) {
        let scenes = std::mem::take(&mut self.play.scenes);
        let (conversations, runs) =
            if self.play.once { (1, 1) } else { (CONVERSATIONS_MAX, RUNS_PER_CONVERSATION) };
        let mut scenes = scenes.iter().cycle();
        let mut failures = 0;
        for number in 1..=conversations {
            let name =
                if number == 1 { self.play.name.clone() } else { format!("{}-{number}", self.play.name) };
            let Ok(conversation) = ConversationId::parse(&name) else { return };
            for run in 1..=runs {
                let Some(scene) = scenes.next() else { return };
                match self.scene(&conversation, run, scene).await {
                    Ok(()) => failures = 0,
                    // The hub is draining: the demo is over.
                    Err(PublishError::Refused { status: 503, .. }) => return,
                    Err(error) => {
                        tracing::warn!(conversation = %conversation, %error, "the demo could not publish");
                        failures += 1;
                        if failures >= FAILURES_MAX {
                            return;
                        }
                        tokio::time::sleep(FAILURE_PAUSE).await;
                    }
                }
                let (from, to) = PAUSE_MS;
                tokio::time::sleep(Duration::from_millis(self.dice.roll(from, to))).await;
            }
        }
    }

    /// Publishes one run of the script.
    async fn scene(
        &mut self,
        conversation: &ConversationId,
        number: u32,
        scene: &ScriptRun,
    ) -> Result<(), PublishError> {
        let run = RunId::new(&format!("r{number}"));
        let opening = [
            Event::new(
                &RunId::none(),
                Kind::Message(Message {
                    message: MessageId::new(&format!("m{number}")),
                    role: "user".into(),
                    text: scene.user.clone(),
                    files: Vec::new(),
                }),
            ),
            Event::new(
                &run,
                Kind::RunStart(RunStart {
                    model: Some(self.play.model.as_str().into()),
                    dialect: None,
                    title: Some(scene.title.clone()),
                    name: Some(self.play.agent.as_str().into()),
                    host: None,
                }),
            ),
        ];
        self.events(conversation, opening).await?;
        let context = 600 + scene.user.len() as u64 / 4 + u64::from(number) * 900;
        let mut current = CurrentRun { conversation, run, context, written: 0, step: 0 };
        for step in &scene.steps {
            current.step = current.step.saturating_add(1);
            self.step(&mut current, step).await?;
        }
        if self.play.dialect == DemoDialect::Native {
            let usage =
                Usage { input_tokens: current.context, output_tokens: current.written, ..Usage::default() };
            let end = RunEnd { status: RunStatus::Complete, usage: Some(usage), ..RunEnd::default() };
            self.events(conversation, [Event::new(&current.run, Kind::RunEnd(end))]).await?;
        }
        Ok(())
    }

    /// Publishes a step as one stream.
    async fn step(&mut self, current: &mut CurrentRun<'_>, step: &ScriptStep) -> Result<(), PublishError> {
        let rate = self.play.rate;
        let call = ModelCall {
            run: &current.run,
            name: format!("{}-{}", current.run, current.step),
            model: &self.play.model,
            created: clock::now_ms() / 1_000,
            input_tokens: current.context,
            rate,
        };
        let (dialect, beats) = composed(&self.play, step, &call, current.step, &mut self.dice);
        if let ScriptStep::Write(pieces) = step {
            current.written = current.written.saturating_add(tokens(pieces));
        }
        let sent: usize = beats.iter().map(|beat| beat.text.len()).sum();
        current.context = current.context.saturating_add(sent as u64 / 40);
        let publishing =
            self.publisher.ingest(dialect, current.conversation, Some(&current.run), performance(beats));
        publishing.await.map(drop)
    }

    /// Publishes native events to the hub.
    async fn events(
        &self,
        conversation: &ConversationId,
        events: impl IntoIterator<Item = Event>,
    ) -> Result<(), PublishError> {
        let envelopes = events.into_iter().map(|event| Envelope {
            event,
            seq: 0,
            at: 0,
            producer_at: None,
            publisher: None,
            by_hub: false,
        });
        self.publisher.events(conversation, &envelopes.collect::<Vec<_>>()).await.map(drop)
    }
}

/// The stream of a step, and its dialect: that of the model for its output, the native one for everything
/// else. `number` is that of the step.
fn composed(
    play: &DemoScript,
    step: &ScriptStep,
    call: &ModelCall<'_>,
    number: u32,
    dice: &mut DemoRandom,
) -> (&'static str, Vec<ScheduledText>) {
    match (play.dialect, step) {
        (DemoDialect::OpenAiChat, ScriptStep::Write(pieces)) => {
            ("openai-chat", openai_chat::stream(pieces, call, dice))
        }
        (DemoDialect::Anthropic, ScriptStep::Write(pieces)) => {
            ("anthropic", anthropic::stream(pieces, call, dice))
        }
        _ => ("fanlight", NativeSchedule::new(call.run, play.rate, format!("s{number}p"), dice).of(step)),
    }
}

/// The texts, each at its time.
fn performance(beats: Vec<ScheduledText>) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
    let start = Instant::now();
    stream::unfold(VecDeque::from(beats), move |mut beats| async move {
        let beat = beats.pop_front()?;
        tokio::time::sleep_until(start + beat.at).await;
        Some((Ok(Bytes::from(beat.text)), beats))
    })
}

#[cfg(test)]
mod tests;
