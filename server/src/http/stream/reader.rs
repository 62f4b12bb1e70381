//! A reader of a conversation in a foreign dialect, and its place. What comes next is encoded only when the connection
//! asks for it, so a slow reader finds the texts that came meanwhile joined.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use shared::conflate::conflate;
use shared::encode::{Encode, Encoding};
use shared::event::{ErrorFact, Event, Kind, RunEnd, RunStatus};
use shared::limits::BATCH_BYTES_TARGET;
use shared::unfold::unfold;
use shared::{Envelope, RunId, View};

use crate::agents::Started;
use crate::clock;
use crate::http::conversations::Seat;
use crate::hub::Cursor;

/// Events that are read back from the log at once.
const EVENTS_AT_ONCE: usize = 2_000;

/// Between two heartbeats on a silent stream.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);

/// For whom a run is told who asked for it.
#[derive(Debug, Clone, Copy)]
struct Answering {
    /// The dialect has words for a run that was stopped.
    says_cancelled: bool,
}

/// Which runs are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of them.
    All,
    /// The newest one; the first that begins where there is none yet.
    Latest,
    /// The first that begins from now on.
    Next,
    /// This one.
    Run(RunId),
}

/// See the module.
#[derive(Debug)]
pub(in crate::http) struct Reader {
    seat: Seat,
    encoder: Box<dyn Encode>,
    encoding: &'static Encoding,
    wanted: Wanted,
    ends_with_run: bool,
    /// Nothing: it has not been told yet what there is.
    cursor: Option<Cursor>,
    /// The next events are not in memory any more.
    is_behind: bool,
    is_over: bool,
    answering: Option<Answering>,
}

impl Reader {
    pub(super) fn new(
        seat: Seat,
        encoder: Box<dyn Encode>,
        encoding: &'static Encoding,
        wanted: Wanted,
        ends_with_run: bool,
    ) -> Self {
        Self {
            seat,
            encoder,
            encoding,
            wanted,
            ends_with_run,
            cursor: None,
            is_behind: false,
            is_over: false,
            answering: None,
        }
    }

    /// The run that its caller has begun, from its beginning to its end.
    pub(in crate::http) fn answering(
        seat: Seat,
        encoder: Box<dyn Encode>,
        encoding: &'static Encoding,
        started: &Started,
        says_cancelled: bool,
    ) -> Self {
        let wanted = Wanted::Run(started.place.run.clone());
        let reader = Self::new(seat, encoder, encoding, wanted, true);
        let cursor = Some(Cursor { seq: started.after.seq, tick: 0 });
        Self { cursor, answering: Some(Answering { says_cancelled }), ..reader }
    }

    /// The next piece of the stream; nothing at its end.
    pub(in crate::http) async fn piece(&mut self) -> Option<Bytes> {
        let shared = Arc::clone(&self.seat.shared);
        let conversation = Arc::clone(&self.seat.conversation);
        loop {
            let mut moved = std::pin::pin!(conversation.moved());
            moved.as_mut().enable();
            let mut out = Vec::new();
            if std::mem::take(&mut self.is_behind) {
                self.read_back(&mut out).await;
            }
            let has_more = !self.is_over && self.advance(&mut out);
            if !out.is_empty() {
                return Some(Bytes::from(out));
            }
            if self.is_over {
                return None;
            }
            if has_more {
                continue;
            }
            tokio::select! {
                () = moved => {}
                () = tokio::time::sleep(HEARTBEAT_EVERY) => {
                    if let Some(heartbeat) = self.encoding.heartbeat(clock::now_ms()) {
                        return Some(Bytes::from(heartbeat.into_owned()));
                    }
                }
                () = shared.drain.cancelled() => {
                    // Who only watches sees by a missing end that it was cut off.
                    self.answering?;
                    self.fail("shutting_down", "the hub stops; the run goes on when it is back", &mut out);
                    return Some(Bytes::from(out)).filter(|out| !out.is_empty());
                }
            }
        }
    }

    /// Encodes what comes after the cursor. True when there may be more at once.
    fn advance(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(cursor) = self.cursor else {
            self.join(out);
            return true;
        };
        let Some(slice) = self.seat.conversation.next(cursor, BATCH_BYTES_TARGET) else {
            self.is_behind = true;
            return true;
        };
        if slice.is_empty() {
            return false;
        }
        self.cursor = Some(slice.cursor);
        for envelope in conflate(&slice.events) {
            self.take(&envelope, out);
        }
        for envelope in &slice.ephemera {
            self.take(envelope, out);
        }
        true
    }

    /// What comes after the cursor from the log. Where it is not there either, nothing could stand in for what is missing:
    /// the client is told, and that is the end.
    async fn read_back(&mut self, out: &mut Vec<u8>) {
        let cursor = self.cursor.unwrap_or_default();
        let hub = Arc::clone(&self.seat.shared.hub);
        match hub.read(&self.seat.conversation, cursor.seq, EVENTS_AT_ONCE).await {
            Ok(page) if !page.envelopes.is_empty() => {
                let seq = page.envelopes.last().map_or(cursor.seq, |envelope| envelope.seq);
                self.cursor = Some(Cursor { seq, ..cursor });
                for envelope in conflate(&page.envelopes) {
                    self.take(&envelope, out);
                }
            }
            _ => self.fell_behind(out),
        }
    }

    /// Says that events are gone, in the dialect's own words for a failure.
    fn fell_behind(&mut self, out: &mut Vec<u8>) {
        self.fail("fell_behind", "the reader fell behind what the hub keeps; connect again", out);
    }

    /// Ends the stream with a failure. Who asked for the run is told that it failed, since no more will be told of it.
    fn fail(&mut self, code: &str, message: &str, out: &mut Vec<u8>) {
        let run = match &self.wanted {
            Wanted::Run(id) => Some(id.clone()),
            _ => self.seat.conversation.look(|view| view.runs.last().map(|(id, _)| id.clone())),
        };
        let run = run.unwrap_or_else(RunId::none);
        let (code, message) = (code.into(), message.to_owned());
        let error = ErrorFact { code, message, retryable: true, retry_after_ms: None };
        self.say(Event::new(&run, Kind::Error(error)), out);
        if self.answering.is_some() {
            let end = RunEnd { status: RunStatus::Error, ..RunEnd::default() };
            self.say(Event::new(&run, Kind::RunEnd(end)), out);
        }
        self.end(out);
    }

    /// Tells something that is not in the log.
    fn say(&mut self, event: Event, out: &mut Vec<u8>) {
        let envelope = Envelope { event, seq: 0, at: clock::now_ms(), producer_at: None, publisher: None };
        self.encoder.event(&envelope, out);
    }

    /// What there is so far, in short.
    fn join(&mut self, out: &mut Vec<u8>) {
        let view = self.seat.conversation.view();
        self.cursor = Some(Cursor { seq: view.seq, tick: 0 });
        if self.wanted == Wanted::Latest
            && let Some((id, _)) = view.runs.last()
        {
            self.wanted = Wanted::Run(id.clone());
        }
        if !matches!(self.wanted, Wanted::Latest | Wanted::Next) {
            for envelope in unfold(&view) {
                if self.wants(&envelope) {
                    self.tell(&envelope, out);
                }
            }
        }
        if self.ends_with_run && self.is_told(&view) {
            self.end(out);
        }
    }

    /// Whether the run that ends the stream is over already.
    fn is_told(&self, view: &View) -> bool {
        let run = match &self.wanted {
            Wanted::All => view.runs.last().map(|(_, run)| run),
            Wanted::Run(id) => view.runs.get(id),
            Wanted::Latest | Wanted::Next => None,
        };
        run.is_some_and(|run| !run.is_running())
    }

    fn take(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        if self.is_over || !self.wants(envelope) {
            return;
        }
        if let Some(answering) = self.answering
            && let Kind::RunEnd(end) = &envelope.event.kind
            && let Some((code, message)) = answering.broken(end.status)
        {
            return self.fail(code, message, out);
        }
        self.tell(envelope, out);
        if self.ends_with_run && matches!(envelope.event.kind, Kind::RunEnd(_)) {
            self.end(out);
        }
    }

    fn tell(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        let envelope = self.seat.shared.hub.made_whole(&self.seat.conversation, envelope);
        self.encoder.event(&envelope, out);
    }

    fn wants(&mut self, envelope: &Envelope) -> bool {
        let event = &envelope.event;
        if matches!(self.wanted, Wanted::Latest | Wanted::Next) {
            if !matches!(event.kind, Kind::RunStart(_)) {
                return false;
            }
            self.wanted = Wanted::Run(event.run.clone());
        }
        match &self.wanted {
            Wanted::Run(run) => event.run == *run,
            _ => true,
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.is_over = true;
        self.encoder.end(out);
    }
}

impl Answering {
    /// What is told of a run that ended in a way for which the dialect has no words.
    fn broken(self, status: RunStatus) -> Option<(&'static str, &'static str)> {
        match status {
            RunStatus::Interrupted => Some(("interrupted", "the run was interrupted")),
            RunStatus::Cancelled if !self.says_cancelled => Some(("cancelled", "the run was stopped")),
            _ => None,
        }
    }
}
