//! A reader of a conversation in a foreign dialect, and its place. What comes next is encoded only when the connection
//! asks for it, so a slow reader finds the texts that came meanwhile joined.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use shared::conflate::conflate;
use shared::encode::{Encode, Encoding};
use shared::event::{ErrorFact, Event, Kind, RunEnd, RunStart, RunStatus, ToolState};
use shared::limits::BATCH_BYTES_TARGET;
use shared::unfold::unfold;
use shared::{Envelope, RunId, View};
use tokio::sync::watch;

use crate::agents::Started;
use crate::clock;
use crate::http::conversations::Seat;
use crate::hub::Cursor;

/// Events that are read back from the log at once.
const EVENTS_AT_ONCE: usize = 2_000;

/// Between two heartbeats on a silent stream.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);

/// For whom a run is told who asked for it.
#[derive(Debug, Clone, Default)]
pub(in crate::http) struct Answering {
    /// The dialect has words for a run that was stopped.
    pub(in crate::http) says_cancelled: bool,
    /// Whether the run waits for a person, where the dialect has words for that: its callers answer with a request.
    pub(in crate::http) is_waiting: Option<watch::Receiver<bool>>,
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
    /// Told right behind the beginning of the run.
    prologue: Option<Kind>,
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
            prologue: None,
        }
    }

    /// The run that its caller has begun, from its beginning to its end.
    pub(in crate::http) fn answering(
        seat: Seat,
        encoder: Box<dyn Encode>,
        encoding: &'static Encoding,
        started: &Started,
        answering: Answering,
    ) -> Self {
        let wanted = Wanted::Run(started.place.run.clone());
        let reader = Self::new(seat, encoder, encoding, wanted, true);
        let cursor = Some(Cursor { seq: started.after.seq, tick: 0 });
        Self { cursor, answering: Some(answering), ..reader }
    }

    /// `kind` is told right behind the beginning of the run.
    pub(in crate::http) fn with_prologue(mut self, kind: Option<Kind>) -> Self {
        self.prologue = kind;
        self
    }

    /// Tells that the run goes on which was told up to the cursor, and came to no end: what it is told from then on fits
    /// what its caller has.
    pub(in crate::http) async fn go_on(&mut self) -> Bytes {
        let (mut told, mut after) = (Vec::new(), 0);
        let until = self.cursor.unwrap_or_default().seq;
        let (hub, conversation) = (Arc::clone(&self.seat.shared.hub), Arc::clone(&self.seat.conversation));
        while after < until {
            let Ok(page) = hub.read(&conversation, after, EVENTS_AT_ONCE).await else { break };
            let Some(last) = page.envelopes.last() else { break };
            after = last.seq;
            for envelope in page.envelopes.iter().filter(|envelope| envelope.seq <= until) {
                if self.wants(envelope) {
                    self.tell(envelope, &mut told);
                }
            }
        }
        let Wanted::Run(run) = self.wanted.clone() else { return Bytes::new() };
        let end = RunEnd { status: RunStatus::Complete, ..RunEnd::default() };
        self.say(Event::new(&run, Kind::RunEnd(end)), &mut told);
        let mut out = Vec::new();
        self.say(Event::new(&run, Kind::RunStart(RunStart::default())), &mut out);
        Bytes::from(out)
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
            // Looked at first: everything that it is about was said before.
            let waits = self.waits();
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
            if waits {
                self.pause(&mut out);
                return Some(Bytes::from(out)).filter(|out| !out.is_empty());
            }
            let is_waiting = self.answering.as_mut().and_then(|answering| answering.is_waiting.as_mut());
            tokio::select! {
                () = moved => {}
                () = changed(is_waiting) => {}
                () = tokio::time::sleep(HEARTBEAT_EVERY) => {
                    if let Some(heartbeat) = self.encoding.heartbeat(clock::now_ms()) {
                        return Some(Bytes::from(heartbeat.into_owned()));
                    }
                }
                () = shared.drain.cancelled() => {
                    // Who only watches sees by a missing end that it was cut off.
                    self.answering.as_ref()?;
                    self.fail("shutting_down", "the hub stops; the run goes on when it is back", &mut out);
                    return Some(Bytes::from(out)).filter(|out| !out.is_empty());
                }
            }
        }
    }

    /// Whether the run waits for a person to whom its caller can speak.
    fn waits(&self) -> bool {
        let is_waiting = self.answering.as_ref().and_then(|answering| answering.is_waiting.as_ref());
        let Wanted::Run(run) = &self.wanted else { return false };
        is_waiting.is_some_and(|it| *it.borrow())
            && self.seat.conversation.look(|view| {
                let run = view.runs.get(run);
                run.is_some_and(|run| run.tools.values().any(|tool| tool.state == ToolState::Approval))
            })
    }

    /// Ends the stream of a run that waits: its caller answers with another request, and is told what comes then.
    fn pause(&mut self, out: &mut Vec<u8>) {
        if let Wanted::Run(run) = self.wanted.clone() {
            let end = RunEnd { status: RunStatus::Complete, ..RunEnd::default() };
            self.say(Event::new(&run, Kind::RunEnd(end)), out);
        }
        self.end(out);
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
        if let Some(answering) = &self.answering
            && let Kind::RunEnd(end) = &envelope.event.kind
            && let Some((code, message)) = answering.broken(end.status)
        {
            return self.fail(code, message, out);
        }
        self.tell(envelope, out);
        if let Some(kind) = self.prologue.take_if(|_| matches!(envelope.event.kind, Kind::RunStart(_))) {
            self.say(Event::new(&envelope.event.run, kind), out);
        }
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

/// Waits until it changes whether the run waits for a person; for ever where nobody says so.
async fn changed(is_waiting: Option<&mut watch::Receiver<bool>>) {
    if let Some(is_waiting) = is_waiting
        && is_waiting.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

impl Answering {
    /// What is told of a run that ended in a way for which the dialect has no words.
    fn broken(&self, status: RunStatus) -> Option<(&'static str, &'static str)> {
        match status {
            RunStatus::Interrupted => Some(("interrupted", "the run was interrupted")),
            RunStatus::Cancelled if !self.says_cancelled => Some(("cancelled", "the run was stopped")),
            _ => None,
        }
    }
}
