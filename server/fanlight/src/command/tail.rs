//! `fanlight tail`: shows a conversation in the terminal. It continues after the loss of the socket and of
//! the hub.
//!
//! `pretty` formats events for people, `paint` colours text.

use std::io::{IsTerminal as _, Write};

use client::{SessionError, SessionUpdate, ViewerSession};
use model::frame::{SnapshotReason, SubscriptionId, SubscriptionOptions};
use model::until::{Until, UntilWatch};
use model::{ConversationId, Envelope, Kind, Lens, Position, Seq, View};

use super::{CommandError, ResultOutput, output, runtime, terminal};
use crate::args::TailArgs;

mod label;
mod paint;
mod pretty;

use paint::Palette;
use pretty::PrettyPrinter;

/// Shows a conversation until a signal or until the awaited condition is met.
pub(crate) fn run(args: &TailArgs, output: ResultOutput) -> Result<(), CommandError> {
    let printer = if args.json {
        TailPrinter::Json
    } else {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colours = !plain && std::io::stdout().is_terminal();
        TailPrinter::Pretty(Box::new(PrettyPrinter::new(Palette::new(colours))))
    };
    let mut tail = TailCommand {
        output,
        printer,
        until: args.until.clone().map(|until| UntilWatch::new(until, None)),
        name: args.conversation.clone(),
        outage: false,
        seen: args.from.as_ref().map_or(0, |from| from.seq),
        seen_before: None,
    };
    runtime::one_thread()?.block_on(async {
        tokio::select! {
            done = tail.follow(args) => done,
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    })
}

/// The format of the output.
enum TailPrinter {
    /// One envelope on each line.
    Json,
    /// Readable lines for people.
    Pretty(Box<PrettyPrinter>),
}

/// The state of the command.
struct TailCommand<W> {
    /// Where the conversation goes; messages about the hub go to stderr.
    output: ResultOutput<W>,
    /// The printer that writes it.
    printer: TailPrinter,
    /// What ends the command; `None` for a signal alone.
    until: Option<UntilWatch>,
    /// The name of the conversation.
    name: ConversationId,
    /// Whether the loss of the hub was reported.
    outage: bool,
    /// The newest seq that was shown.
    seen: Seq,
    /// The newest seq that was shown in the epoch before, until the state of the new one is there.
    seen_before: Option<Seq>,
}

impl<W: Write> TailCommand<W> {
    /// Shows updates until the condition is met. Fails if the session ends for good, for example because the
    /// hub refuses the token.
    async fn follow(&mut self, args: &TailArgs) -> Result<(), CommandError> {
        let mut session = ViewerSession::new(args.hub.address()?);
        let wish = SubscriptionOptions::of(Lens { level: args.level.into(), ..Lens::default() });
        let sub = match args.from.clone() {
            Some(have) => session.resume_as(args.conversation.clone(), have, View::default(), wish).await,
            None => session.subscribe_as(args.conversation.clone(), wish).await,
        };
        loop {
            let update = session.next().await.map_err(|error| closed(&error))?;
            if self.take(&session, sub, update)? {
                self.end_line()?;
                session.close().await;
                return Ok(());
            }
        }
    }

    /// Shows an update. Returns whether the condition is met.
    fn take(
        &mut self,
        session: &ViewerSession,
        sub: SubscriptionId,
        update: SessionUpdate,
    ) -> Result<bool, CommandError> {
        let Some(view) = session.view(sub) else { return Ok(false) };
        match update {
            SessionUpdate::Connected(_) if self.outage => {
                self.outage = false;
                output::complain("the hub is there again");
            }
            SessionUpdate::Lost { why, .. } if !self.outage => {
                self.outage = true;
                self.end_line()?;
                output::complain(&format!("the hub is not there ({why}); trying again until it is"));
            }
            SessionUpdate::Subscribed { why: Some(why), .. } => {
                self.end_line()?;
                match why {
                    // What was lost is known when the state is there.
                    SnapshotReason::EpochChanged => self.seen_before = Some(self.seen),
                    why => output::complain(reloaded(why)),
                }
            }
            SessionUpdate::Snapshot { .. } => {
                let position = session.position(sub);
                if let Some(seen) = self.seen_before.take() {
                    output::complain(&begun_anew(seen, view.seq));
                }
                self.seen = view.seq;
                self.snapshot(position, view)?;
            }
            SessionUpdate::Events { events, .. } => {
                let ends =
                    |watch: &UntilWatch| *watch.until() == Until::RunEnd && events.iter().any(ends_run);
                let ended = self.until.as_ref().is_some_and(ends);
                self.seen = view.seq;
                self.events(events, view)?;
                // Until everything has arrived, only new events count: a run that ended long ago does not
                // meet the condition.
                let is_live = session.is_live(sub);
                return Ok(ended || is_live && self.until.as_mut().is_some_and(|watch| watch.is_met(view)));
            }
            SessionUpdate::Live { .. } => {
                return Ok(self.until.as_mut().is_some_and(|watch| watch.is_met(view)));
            }
            SessionUpdate::Refused { code, message, .. } => {
                return Err(CommandError::new(
                    format!("the hub refused: {code}: {message}"),
                    "fix what the hub names, and try again",
                ));
            }
            _ => {}
        }
        Ok(false)
    }

    /// Shows the view of a snapshot.
    fn snapshot(&mut self, position: Option<Position>, view: &View) -> Result<(), CommandError> {
        match &mut self.printer {
            TailPrinter::Json => {
                if let Some(position) = position.filter(|position| position.seq > 0) {
                    output::complain(&format!(
                        "what was there up to {position} came as a snapshot and is not in this output; \
                         `fanlight export {} --format native` writes all of it, one envelope a line",
                        self.name
                    ));
                }
                Ok(())
            }
            TailPrinter::Pretty(pretty) => {
                let text = pretty.snapshot(view);
                self.output.bytes(text.as_bytes())
            }
        }
    }

    /// Shows events as they arrive.
    fn events(&mut self, events: Vec<Envelope>, view: &View) -> Result<(), CommandError> {
        let mut text = String::new();
        for envelope in events {
            match &mut self.printer {
                TailPrinter::Json => {
                    // An envelope can always be serialized, since it arrived as JSON.
                    text.push_str(&terminal::json(serde_json::to_string(&envelope).unwrap_or_default()));
                    text.push('\n');
                }
                TailPrinter::Pretty(pretty) => pretty.event(&envelope, view, &mut text),
            }
        }
        self.output.bytes(text.as_bytes())
    }

    /// Ends an open line before a message.
    fn end_line(&mut self) -> Result<(), CommandError> {
        if let TailPrinter::Pretty(pretty) = &mut self.printer {
            let mut text = String::new();
            pretty.break_line(&mut text);
            self.output.bytes(text.as_bytes())?;
        }
        Ok(())
    }
}

/// Whether the event ends a run.
fn ends_run(envelope: &Envelope) -> bool {
    matches!(envelope.event.kind, Kind::RunEnd(_))
}

/// The message for a snapshot, by its reason.
fn reloaded(why: SnapshotReason) -> &'static str {
    match why {
        SnapshotReason::EpochChanged => "the conversation goes on in a new epoch",
        SnapshotReason::AheadOfHead => "the hub knows less than was seen here and starts over",
        SnapshotReason::TooOld => "the hub keeps less than was missed; what is in between came as a snapshot",
        SnapshotReason::Cheaper | SnapshotReason::Lagging | SnapshotReason::Requested => {
            "what was missed came as a snapshot"
        }
    }
}

/// The message for the state of a new epoch at `now`, where events up to `seen` were shown of the one before.
fn begun_anew(seen: Seq, now: Seq) -> String {
    match seen.checked_sub(now) {
        Some(lost) if lost > 0 => {
            format!("the hub has lost the last {lost} of {seen} events and goes on from there")
        }
        _ => reloaded(SnapshotReason::EpochChanged).to_owned(),
    }
}

/// The error for a session that has ended for good.
fn closed(error: &SessionError) -> CommandError {
    CommandError::new(error.to_string(), "look at --url and --token, and at the versions of both sides")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_named_where_numbers_are_missing_and_nowhere_else() {
        assert_eq!(begun_anew(10, 7), "the hub has lost the last 3 of 10 events and goes on from there");
        for now in [10, 11] {
            assert!(!begun_anew(10, now).contains("lost"), "{now}");
        }
    }
}
