//! The reader of a conversation in a foreign dialect. It encodes the next events only when the connection
//! asks for more, so for a slow reader the deltas that came meanwhile are joined (I5). It keeps no queue: it
//! is a cursor, and an encoder that remembers what it has begun.
//!
//! Events come from the ring; those that the ring no longer has are read back from the log. A foreign dialect
//! has no snapshot that could replace missing events, so a reader for whom they are gone ends with an error.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use encode::{Encode, EncoderSpec};
use model::conflate::conflate;
use model::event::{ErrorFact, Event, Kind, RunEnd, RunStart, RunStatus, ToolState};
use model::limits::BATCH_BYTES_TARGET;
use model::unfold::unfold;
use model::{Envelope, Mask, RunId, Seq, View};
use tokio::sync::watch;

use crate::http::conversations::{HttpViewer, masked};
use crate::work::Task;
use agents::Started;
use event_log::clock;
use hub::Cursor;

mod places;

pub(in crate::http) use places::StartAt;
use places::number;

use crate::failures::{FELL_BEHIND, HUB_STOPS, INTERRUPTED, STOPPED};

/// Most events that are read back from the log at once.
const EVENTS_AT_ONCE: usize = 2_000;

/// What the reader of an answer needs to know, whose caller has started the run.
#[derive(Debug, Clone, Default)]
pub(in crate::http) struct Answering {
    /// Whether the dialect can say that a run was stopped.
    pub(in crate::http) says_cancelled: bool,
    /// Whether the run waits for a person, if callers of the dialect answer that with another request.
    pub(in crate::http) is_waiting: Option<watch::Receiver<bool>>,
}

/// The runs that are encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StreamedRuns {
    /// All runs of the conversation.
    All,
    /// The newest run, or the first that begins if there is none yet.
    Latest,
    /// The first run that begins from now on.
    Next,
    /// The run with this id.
    Run(RunId),
}

/// The reader of one conversation in one dialect. Owned by its connection; dropping it leaves the
/// conversation as a viewer.
#[derive(Debug)]
pub(in crate::http) struct Reader {
    /// The conversation, entered as a viewer.
    viewer: HttpViewer,
    encoder: Box<dyn Encode>,
    encoding: &'static EncoderSpec,
    wanted: StreamedRuns,
    ends_with_run: bool,
    /// Up to where events were read; `None` before the first piece.
    cursor: Option<Cursor>,
    /// Whether the next events are no longer in memory.
    is_behind: bool,
    is_over: bool,
    /// The status of the run that ended last.
    ended: Option<RunStatus>,
    /// How long the stream may be silent before it sends a keep-alive message.
    ping: Duration,
    /// Set if the reader is the caller of the run: it is told how the run ends, whatever happens.
    answering: Option<Answering>,
    /// Encoded right after the beginning of the run.
    prologue: Option<Kind>,
    /// What is hidden from whoever reads.
    mask: Option<Arc<Mask>>,
    /// If items get ids: the seq of an event, and how many of its items to skip.
    places: Option<(Seq, usize)>,
}

impl Reader {
    /// A reader at the beginning of the conversation. Call [`Reader::join`] first for the short form of what
    /// there is.
    pub(super) fn new(
        viewer: HttpViewer,
        encoder: Box<dyn Encode>,
        encoding: &'static EncoderSpec,
        wanted: StreamedRuns,
        ends_with_run: bool,
    ) -> Self {
        let ping = viewer.reading.config.ping(encoding, None);
        Self {
            viewer,
            encoder,
            encoding,
            wanted,
            ends_with_run,
            cursor: None,
            is_behind: false,
            is_over: false,
            ended: None,
            ping,
            answering: None,
            prologue: None,
            mask: None,
            places: None,
        }
    }

    /// Leaves out what `mask` hides.
    pub(super) fn with_mask(self, mask: Option<Arc<Mask>>) -> Self {
        Self { mask, ..self }
    }

    /// What is told of `envelopes`.
    fn told(&self, envelopes: Vec<Arc<Envelope>>) -> Vec<Arc<Envelope>> {
        match &self.mask {
            None => envelopes,
            Some(mask) => self.viewer.conversation.read_view(|view| mask.read(&envelopes, view)),
        }
    }

    /// Gives each item an id from which the stream can be taken up again: the seq of its event and the number
    /// of the item. Deltas are not joined then.
    pub(in crate::http) fn with_places(mut self) -> Self {
        self.places = Some((0, 0));
        self
    }

    /// Goes to the place where the stream begins. Returns what must be sent first, if anything.
    pub(in crate::http) async fn begin_at(&mut self, from: StartAt) -> Option<Bytes> {
        match from {
            StartAt::Beginning => None,
            StartAt::GoesOn => Some(self.go_on().await),
            StartAt::Now => {
                let head = self.viewer.conversation.head();
                self.cursor = Some(Cursor { seq: head, tick: 0 });
                self.replay(head, &mut Vec::new()).await;
                let StreamedRuns::Run(run) = &self.wanted else { return None };
                let is_over = |view: &View| view.runs.get(run).is_none_or(|run| !run.is_running());
                self.is_over = self.viewer.conversation.read_view(|view| view.seq <= head && is_over(view));
                None
            }
            StartAt::Behind { seq, told } => {
                let before = seq.saturating_sub(1);
                self.cursor = Some(Cursor { seq: before, tick: 0 });
                self.replay(before, &mut Vec::new()).await;
                self.places = Some((seq, told));
                None
            }
        }
    }

    /// A reader of the run that its caller has started, from its beginning to its end.
    pub(in crate::http) fn answering(
        viewer: HttpViewer,
        encoder: Box<dyn Encode>,
        encoding: &'static EncoderSpec,
        started: &Started,
        answering: Answering,
    ) -> Self {
        let wanted = StreamedRuns::Run(started.place.run.clone());
        let reader = Self::new(viewer, encoder, encoding, wanted, true);
        let cursor = Some(Cursor { seq: started.after.seq, tick: 0 });
        Self { cursor, answering: Some(answering), ..reader }
    }

    /// Encodes `kind` right after the beginning of the run.
    pub(in crate::http) fn with_prologue(mut self, kind: Option<Kind>) -> Self {
        self.prologue = kind;
        self
    }

    /// Sends keep-alive messages after `ping` of silence.
    pub(in crate::http) fn with_ping(self, ping: Duration) -> Self {
        Self { ping, ..self }
    }

    /// Whether everything was encoded.
    pub(in crate::http) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the run that was encoded failed.
    pub(in crate::http) fn has_failed(&self) -> bool {
        self.ended.is_some_and(|status| status != RunStatus::Complete)
    }

    /// Continues a run that the caller has up to the cursor: the encoder is brought to that point and then
    /// begins the run again, so that what follows fits what the caller has.
    pub(in crate::http) async fn go_on(&mut self) -> Bytes {
        let mut told = Vec::new();
        self.replay(self.cursor.unwrap_or_default().seq, &mut told).await;
        let StreamedRuns::Run(run) = self.wanted.clone() else { return Bytes::new() };
        let end = RunEnd { status: RunStatus::Complete, ..RunEnd::default() };
        self.say(Event::new(&run, Kind::RunEnd(end)), &mut told);
        let mut out = Vec::new();
        self.say(Event::new(&run, Kind::RunStart(RunStart::default())), &mut out);
        Bytes::from(out)
    }

    /// Encodes everything up to `until` again and discards it, so that the encoder is in the state of that
    /// point.
    async fn replay(&mut self, until: Seq, told: &mut Vec<u8>) {
        let mut after = 0;
        let (reading, conversation) = (self.viewer.reading.clone(), Arc::clone(&self.viewer.conversation));
        while after < until {
            let _turn = reading.work.turn(Task::Piece).await;
            let Ok(page) = reading.hub.read(&conversation, after, EVENTS_AT_ONCE).await else { break };
            let Some(last) = page.envelopes.last() else { break };
            after = last.seq;
            for envelope in self.told(page.envelopes).iter().filter(|envelope| envelope.seq <= until) {
                if self.wants(envelope) {
                    self.tell(envelope, told);
                }
            }
            told.clear();
        }
    }

    /// The next piece of the stream; `None` at its end. May be cancelled between two pieces.
    pub(in crate::http) async fn piece(&mut self) -> Option<Bytes> {
        let reading = self.viewer.reading.clone();
        let conversation = Arc::clone(&self.viewer.conversation);
        loop {
            let mut appended = std::pin::pin!(conversation.appended());
            appended.as_mut().enable();
            let mut out = Vec::new();
            if std::mem::take(&mut self.is_behind) {
                self.read_back(&mut out).await;
            }
            // Checked first: all events that it concerns have been appended before.
            let waits = self.waits();
            let has_more = !self.is_over && self.advance(&mut out);
            if !out.is_empty() {
                return Some(Bytes::from(out));
            }
            if self.is_over || conversation.is_over() {
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
                () = appended => {}
                () = changed(is_waiting) => {}
                () = tokio::time::sleep(self.ping) => {
                    if let Some(heartbeat) = self.encoding.heartbeat(clock::now_ms()) {
                        return Some(Bytes::from(heartbeat.into_owned()));
                    }
                }
                () = reading.drain.cancelled() => {
                    // A mere watcher notices by the missing end that it was cut off.
                    self.answering.as_ref()?;
                    self.fail("shutting_down", HUB_STOPS, &mut out);
                    return Some(Bytes::from(out)).filter(|out| !out.is_empty());
                }
            }
        }
    }

    /// Whether the run waits for a person and its caller can answer.
    fn waits(&self) -> bool {
        let is_waiting = self.answering.as_ref().and_then(|answering| answering.is_waiting.as_ref());
        let StreamedRuns::Run(run) = &self.wanted else { return false };
        is_waiting.is_some_and(|it| *it.borrow())
            && self.viewer.conversation.read_view(|view| {
                let run = view.runs.get(run);
                run.is_some_and(|run| run.tools.values().any(|tool| tool.state == ToolState::Approval))
            })
    }

    /// Ends the stream of a run that waits. The caller answers with another request and gets what follows
    /// there.
    fn pause(&mut self, out: &mut Vec<u8>) {
        if let StreamedRuns::Run(run) = self.wanted.clone() {
            let end = RunEnd { status: RunStatus::Complete, ..RunEnd::default() };
            self.say(Event::new(&run, Kind::RunEnd(end)), out);
        }
        self.end(out);
    }

    /// Encodes what comes after the cursor. True if there may be more.
    fn advance(&mut self, out: &mut Vec<u8>) -> bool {
        let cursor = self.cursor.unwrap_or_default();
        let Some(slice) = self.viewer.conversation.next(cursor, BATCH_BYTES_TARGET) else {
            self.is_behind = true;
            return true;
        };
        if slice.is_empty() {
            return false;
        }
        self.cursor = Some(slice.cursor);
        self.take_all(slice.events, out);
        for envelope in &self.told(slice.ephemera) {
            self.take(envelope, out);
        }
        true
    }

    /// Encodes what the log has after the cursor. If it has nothing, the stream ends with an error, because
    /// nothing can replace the missing events.
    async fn read_back(&mut self, out: &mut Vec<u8>) {
        let cursor = self.cursor.unwrap_or_default();
        let reading = self.viewer.reading.clone();
        let _turn = reading.work.turn(Task::Piece).await;
        match reading.hub.read(&self.viewer.conversation, cursor.seq, EVENTS_AT_ONCE).await {
            Ok(page) if !page.envelopes.is_empty() => {
                let seq = page.envelopes.last().map_or(cursor.seq, |envelope| envelope.seq);
                self.cursor = Some(Cursor { seq, ..cursor });
                self.take_all(page.envelopes, out);
            }
            _ => self.fell_behind(out),
        }
    }

    /// Ends the stream because events are gone.
    fn fell_behind(&mut self, out: &mut Vec<u8>) {
        self.fail("fell_behind", FELL_BEHIND, out);
    }

    /// Ends the stream with an error. The caller of the run is told that it failed, because no more will
    /// follow.
    fn fail(&mut self, code: &str, message: &str, out: &mut Vec<u8>) {
        self.ended = Some(RunStatus::Error);
        let run = match &self.wanted {
            StreamedRuns::Run(id) => Some(id.clone()),
            _ => self.viewer.conversation.read_view(|view| view.runs.last().map(|(id, _)| id.clone())),
        };
        let run = run.unwrap_or_else(RunId::none);
        let (code, message) = (code.into(), message.to_owned());
        let error = ErrorFact { code, message, retryable: Some(true), retry_after_ms: None };
        self.say(Event::new(&run, Kind::Error(error)), out);
        if self.answering.is_some() {
            let end = RunEnd { status: RunStatus::Error, ..RunEnd::default() };
            self.say(Event::new(&run, Kind::RunEnd(end)), out);
        }
        self.end(out);
    }

    /// Encodes an event that is not in the log.
    fn say(&mut self, event: Event, out: &mut Vec<u8>) {
        let envelope = Envelope {
            event,
            seq: 0,
            at: clock::now_ms(),
            producer_at: None,
            publisher: None,
            by_hub: false,
        };
        self.encoder.event(&envelope, out);
    }

    /// Writes a short form of everything so far, before all else.
    pub(super) fn join(&mut self, told: &mut impl Write) -> io::Result<()> {
        let out = &mut Vec::new();
        let view = masked(self.mask.as_deref(), self.viewer.conversation.view());
        self.cursor = Some(Cursor { seq: view.seq, tick: 0 });
        if self.wanted == StreamedRuns::Latest
            && let Some((id, _)) = view.runs.last()
        {
            self.wanted = StreamedRuns::Run(id.clone());
        }
        if !matches!(self.wanted, StreamedRuns::Latest | StreamedRuns::Next) {
            for envelope in unfold(&view) {
                if self.wants(&envelope) {
                    self.tell(&envelope, out);
                    told.write_all(out)?;
                    out.clear();
                }
            }
        }
        if self.ends_with_run && self.is_told(&view) {
            self.end(out);
        }
        told.write_all(out)
    }

    /// Whether the run that ends the stream is over already.
    fn is_told(&self, view: &View) -> bool {
        let run = match &self.wanted {
            StreamedRuns::All => view.runs.last().map(|(_, run)| run),
            StreamedRuns::Run(id) => view.runs.get(id),
            StreamedRuns::Latest | StreamedRuns::Next => None,
        };
        run.is_some_and(|run| !run.is_running())
    }

    /// Encodes `envelopes` with joined deltas, unless items get ids.
    fn take_all(&mut self, envelopes: Vec<Arc<Envelope>>, out: &mut Vec<u8>) {
        let envelopes = self.told(envelopes);
        if self.places.is_some() {
            for envelope in &envelopes {
                self.take(envelope, out);
            }
            return;
        }
        for envelope in &conflate(&envelopes) {
            self.take(envelope, out);
        }
    }

    /// Encodes an event if it is wanted, and ends the stream with the run if that was asked for.
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
        if let Kind::RunEnd(end) = &envelope.event.kind {
            self.ended = Some(end.status);
        }
        self.tell(envelope, out);
        if let Some(kind) = self.prologue.take_if(|_| matches!(envelope.event.kind, Kind::RunStart(_))) {
            self.say(Event::new(&envelope.event.run, kind), out);
        }
        if self.ends_with_run && matches!(envelope.event.kind, Kind::RunEnd(_)) {
            self.end(out);
        }
    }

    /// Passes an event to the encoder, with its whole result, and numbers the items if they get ids.
    fn tell(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        let envelope = self.viewer.reading.hub.made_whole(&self.viewer.conversation, envelope);
        let Some((seq, told)) = self.places.filter(|_| envelope.seq > 0) else {
            return self.encoder.event(&envelope, out);
        };
        let mut events = Vec::new();
        self.encoder.event(&envelope, &mut events);
        let skipped = if envelope.seq == seq { told } else { 0 };
        number(&events, envelope.seq, skipped, out);
    }

    /// Whether the event is of a wanted run. The first beginning decides for `Latest` and `Next`.
    fn wants(&mut self, envelope: &Envelope) -> bool {
        let event = &envelope.event;
        if matches!(self.wanted, StreamedRuns::Latest | StreamedRuns::Next) {
            if !matches!(event.kind, Kind::RunStart(_)) {
                return false;
            }
            self.wanted = StreamedRuns::Run(event.run.clone());
        }
        match &self.wanted {
            StreamedRuns::Run(run) => event.run == *run,
            _ => true,
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.is_over = true;
        self.encoder.end(out);
    }
}

/// Waits until it changes whether the run waits for a person; for ever if nobody can tell.
async fn changed(is_waiting: Option<&mut watch::Receiver<bool>>) {
    if let Some(is_waiting) = is_waiting
        && is_waiting.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

impl Answering {
    /// The error for a run that ended in a way for which the dialect has no words.
    fn broken(&self, status: RunStatus) -> Option<(&'static str, &'static str)> {
        match status {
            RunStatus::Interrupted => Some(("interrupted", INTERRUPTED)),
            RunStatus::Cancelled if !self.says_cancelled => Some(("cancelled", STOPPED)),
            _ => None,
        }
    }
}
