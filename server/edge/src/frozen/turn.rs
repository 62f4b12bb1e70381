//! The copy of one turn while it goes on: reads what is logged of the original, and appends what belongs into the copy, until no run of it goes on.

use std::collections::HashSet;
use std::sync::Arc;

use access::FrozenShare;
use event_log::{LogError, blocking};
use hub::{AppendError, Conversation, Fanout, OpenError, PublishError};
use model::event::{ErrorFact, Event, Kind};
use model::{ConversationId, Envelope, Position, RunId, Seq};

use super::following::unreadable;
use crate::fork::{ends, said};

/// Most events that are copied at once.
const EVENTS_AT_ONCE: usize = 500;

/// The code of the failure in a copy that cannot go on to the end of its runs.
const BROKE_OFF: &str = "copy_broke_off";

/// The reason why a task that writes a copy ended.
#[derive(Debug)]
pub(super) enum FollowEnd {
    /// No run of the copy goes on.
    Finished,
    /// The copy or the original is not this hub's any more, or gone.
    Moved,
    /// Events that belong into the copy are nowhere to be read; what is missing.
    Missing(String),
    /// The copy or the original could not be read or written; the value says why.
    Failed(String),
}

/// The copy of one turn, on which this hub writes.
pub(super) struct TurnCopy {
    /// The name of the copy.
    copy: ConversationId,
    /// The runs of the turn. No other run ever comes into the copy.
    runs: HashSet<RunId>,
    /// The seq of the original up to which it was looked through.
    at: Seq,
    /// In which epoch of the original that seq is one.
    last: LastCopied,
}

/// In which epoch of the original its last event was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastCopied {
    /// In the epoch that it has now.
    OfThisEpoch,
    /// In an earlier epoch, which may have had events that were never stored.
    OfAnotherEpoch,
}

impl TurnCopy {
    /// `copy`, which shows a turn of `original` as `shows` says, and goes on after the last event that was copied.
    pub(super) fn new(copy: &Conversation, original: &Conversation, shows: &FrozenShare) -> Self {
        let mark = copy.copied_up_to();
        let is_doubtful = mark.as_ref().is_some_and(|mark| mark.is_of_another(original.epoch()));
        Self {
            copy: copy.id().clone(),
            runs: copy.read_view(|view| view.runs.keys().cloned().collect()),
            at: mark.map_or(0, |mark| mark.seq).max(shows.seq),
            last: if is_doubtful { LastCopied::OfAnotherEpoch } else { LastCopied::OfThisEpoch },
        }
    }

    /// Copies what the original has of the turn, as it is logged, until no run of the copy goes on. Safe to cancel.
    pub(super) async fn follow(mut self, fanout: &Fanout, original: &Arc<Conversation>) -> FollowEnd {
        if self.last == LastCopied::OfAnotherEpoch {
            match self.is_continued_by(fanout, original).await {
                Ok(true) => {}
                Ok(false) => return self.break_off(fanout, original),
                Err(error) => return FollowEnd::Failed(error.to_string()),
            }
        }
        self.last = LastCopied::OfThisEpoch;
        loop {
            let mut appended = std::pin::pin!(original.appended());
            // Before the look, so that nothing is missed that comes meanwhile.
            appended.as_mut().enable();
            if original.is_followed() || original.is_over() {
                return FollowEnd::Moved;
            }
            let page = match fanout.hub().read(original, self.at, EVENTS_AT_ONCE).await {
                Ok(page) => page,
                Err(LogError::Gone { .. }) => return self.break_off(fanout, original),
                Err(error) => return FollowEnd::Failed(error.to_string()),
            };
            let Some(last) = page.envelopes.last().map(|last| last.seq) else {
                if page.head != self.at {
                    return self.break_off(fanout, original);
                }
                appended.await;
                continue;
            };
            if page.envelopes.first().is_some_and(|first| first.seq != self.at + 1) {
                return self.break_off(fanout, original);
            }
            let its = page.envelopes.iter().filter(|envelope| self.is_of(&envelope.event));
            let its: Vec<Envelope> = blocking(|| {
                its.map(|envelope| fanout.hub().made_whole(original, envelope).into_owned()).collect()
            });
            self.at = last;
            if let Some(end) = self.write(fanout, original, its) {
                return end;
            }
        }
    }

    /// Whether the event that was copied last is still the one with its seq. A conversation that begins a new epoch keeps the events that were stored, with their
    /// seqs; from then on the same seq may be another event. False where that event is not to be had.
    async fn is_continued_by(&self, fanout: &Fanout, original: &Arc<Conversation>) -> Result<bool, LogError> {
        let found = blocking(|| fanout.hub().find(&self.copy)).map_err(unreadable)?;
        let Some(copy) = found else { return Ok(false) };
        let mut last = Vec::new();
        for (conversation, seq) in [(original, self.at), (&copy, copy.head())] {
            match fanout.hub().read(conversation, seq.saturating_sub(1), 1).await {
                Ok(page) => last.extend(page.envelopes.first().filter(|it| it.seq == seq).cloned()),
                Err(LogError::Gone { .. } | LogError::Unknown) => {}
                Err(error) => return Err(error),
            }
        }
        let [original, copy] = &last[..] else { return Ok(false) };
        Ok(original.at == copy.at && original.event == copy.event)
    }

    /// Whether an event belongs into the copy: it is of one of the runs, whatever it says.
    fn is_of(&self, event: &Event) -> bool {
        let is_loose = event.run.is_none() && event.kind.is_of_conversation();
        !is_loose && self.runs.contains(&event.run)
    }

    /// Appends `its` to the copy, and shows them. Returns why nothing more is written, if that is so.
    fn write(&self, fanout: &Fanout, original: &Conversation, its: Vec<Envelope>) -> Option<FollowEnd> {
        // The mark names an event that is in both, so that it can be found again in another epoch.
        let seq = its.last()?.seq.max(1);
        let up_to = Position { epoch: original.epoch().clone(), seq };
        let written = blocking(|| fanout.hub().copy_on(&self.copy, its, up_to));
        fanout.deliver(&self.copy);
        match written {
            Ok(true) => None,
            Ok(false) | Err(PublishError::Append(AppendError::Frozen)) => Some(FollowEnd::Finished),
            Err(
                PublishError::Append(AppendError::Retired | AppendError::Elsewhere)
                | PublishError::Open(OpenError::Elsewhere { .. }),
            ) => Some(FollowEnd::Moved),
            Err(error) => Some(FollowEnd::Failed(error.to_string())),
        }
    }

    /// Ends the runs of the copy, and says in each what is missing: events of the original after those that were copied are not in the log.
    fn break_off(&self, fanout: &Fanout, original: &Conversation) -> FollowEnd {
        let head = original.head();
        let message = if self.last == LastCopied::OfAnotherEpoch || head < self.at {
            "the hub has lost what came after this: its log ends before the end of what was shown here"
                .to_owned()
        } else {
            format!(
                "what came after this is missing: the hub's log no longer has events {} to {head} one by one",
                self.at + 1
            )
        };
        let runs = match fanout.hub().find(&self.copy) {
            Ok(Some(copy)) => copy.read_view(|view| ends(view).collect::<Vec<_>>()),
            Ok(None) => return FollowEnd::Moved,
            Err(error) => return FollowEnd::Failed(error.to_string()),
        };
        let fact = ErrorFact {
            code: BROKE_OFF.into(),
            message: message.clone(),
            retryable: None,
            retry_after_ms: None,
        };
        let events = runs.into_iter().flat_map(|end| [Event::new(&end.run, Kind::Error(fact.clone())), end]);
        let events = events.map(|event| said(event, 0)).collect();
        match self.write(fanout, original, events) {
            None | Some(FollowEnd::Finished) => FollowEnd::Missing(message),
            Some(end) => end,
        }
    }
}

#[cfg(test)]
mod tests;
