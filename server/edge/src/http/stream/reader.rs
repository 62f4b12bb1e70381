//! A reader of a conversation in a foreign dialect, and its place. What comes next is encoded only when the connection
//! asks for it, so a slow reader finds the texts that came meanwhile joined.

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

use crate::http::conversations::{Seat, masked};
use crate::work::Task;
use agents::Started;
use event_log::clock;
use hub::Cursor;

use crate::failures::{FELL_BEHIND, HUB_STOPS, INTERRUPTED, STOPPED};

/// Events that are read back from the log at once.
const EVENTS_AT_ONCE: usize = 2_000;

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

/// Where the telling of a run begins for whoever asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum StartAt {
    /// At its beginning.
    Beginning,
    /// Behind what was told before it waited for a person.
    GoesOn,
    /// At its newest event.
    Now,
    /// Behind the `told`-th thing that was told of the event `seq`.
    Behind {
        /// The event.
        seq: Seq,
        /// How much of it was told.
        told: usize,
    },
}

impl StartAt {
    /// The place that an id of a told event names, as [`Reader::with_places`] makes them.
    pub(in crate::http) fn place(id: &str) -> Option<Self> {
        let (seq, told) = id.split_once('-')?;
        Some(Self::Behind { seq: seq.parse().ok()?, told: told.parse().ok()? })
    }
}

/// A reader of one conversation in one dialect. Owned by its connection; dropping it gives up the seat of a viewer.
#[derive(Debug)]
pub(in crate::http) struct Reader {
    seat: Seat,
    encoder: Box<dyn Encode>,
    encoding: &'static EncoderSpec,
    wanted: Wanted,
    ends_with_run: bool,
    /// Nothing: it has not been told yet what there is.
    cursor: Option<Cursor>,
    /// The next events are not in memory any more.
    is_behind: bool,
    is_over: bool,
    /// How the run ended that was told last, as far as it was.
    ended: Option<RunStatus>,
    /// Between two signs of life on a silent stream.
    ping: Duration,
    answering: Option<Answering>,
    /// Told right behind the beginning of the run.
    prologue: Option<Kind>,
    /// What is hidden from whoever reads.
    mask: Option<Arc<Mask>>,
    /// Each told event has an id; of the event of that seq so many things were told before.
    places: Option<(Seq, usize)>,
}

impl Reader {
    pub(super) fn new(
        seat: Seat,
        encoder: Box<dyn Encode>,
        encoding: &'static EncoderSpec,
        wanted: Wanted,
        ends_with_run: bool,
    ) -> Self {
        let ping = seat.shared.config.ping(encoding, None);
        Self {
            seat,
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
            Some(mask) => self.seat.conversation.look(|view| mask.read(&envelopes, view)),
        }
    }

    /// Gives each told event an id from which the stream can be taken up again: the seq of its event, and which of the
    /// things that are told of that it is. Texts are not joined then.
    pub(in crate::http) fn with_places(mut self) -> Self {
        self.places = Some((0, 0));
        self
    }

    /// Goes to the place from which the run is told. What is to be told there at once.
    pub(in crate::http) async fn begin_at(&mut self, from: StartAt) -> Option<Bytes> {
        match from {
            StartAt::Beginning => None,
            StartAt::GoesOn => Some(self.go_on().await),
            StartAt::Now => {
                let head = self.seat.conversation.head();
                self.cursor = Some(Cursor { seq: head, tick: 0 });
                self.replay(head, &mut Vec::new()).await;
                let Wanted::Run(run) = &self.wanted else { return None };
                let is_over = |view: &View| view.runs.get(run).is_none_or(|run| !run.is_running());
                self.is_over = self.seat.conversation.look(|view| view.seq <= head && is_over(view));
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

    /// The run that its caller has begun, from its beginning to its end.
    pub(in crate::http) fn answering(
        seat: Seat,
        encoder: Box<dyn Encode>,
        encoding: &'static EncoderSpec,
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

    /// `ping` lies between two signs of life.
    pub(in crate::http) fn with_ping(self, ping: Duration) -> Self {
        Self { ping, ..self }
    }

    /// Whether all is told.
    pub(in crate::http) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether what was told ended in a failure.
    pub(in crate::http) fn has_failed(&self) -> bool {
        self.ended.is_some_and(|status| status != RunStatus::Complete)
    }

    /// Tells that the run goes on which was told up to the cursor, and came to no end: what it is told from then on fits
    /// what its caller has.
    pub(in crate::http) async fn go_on(&mut self) -> Bytes {
        let mut told = Vec::new();
        self.replay(self.cursor.unwrap_or_default().seq, &mut told).await;
        let Wanted::Run(run) = self.wanted.clone() else { return Bytes::new() };
        let end = RunEnd { status: RunStatus::Complete, ..RunEnd::default() };
        self.say(Event::new(&run, Kind::RunEnd(end)), &mut told);
        let mut out = Vec::new();
        self.say(Event::new(&run, Kind::RunStart(RunStart::default())), &mut out);
        Bytes::from(out)
    }

    /// Tells again what was told up to `until`, into `told`: the encoder knows it then.
    async fn replay(&mut self, until: Seq, told: &mut Vec<u8>) {
        let mut after = 0;
        let (shared, conversation) = (Arc::clone(&self.seat.shared), Arc::clone(&self.seat.conversation));
        while after < until {
            let _turn = shared.work.turn(Task::Piece).await;
            let Ok(page) = shared.hub.read(&conversation, after, EVENTS_AT_ONCE).await else { break };
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
                () = tokio::time::sleep(self.ping) => {
                    if let Some(heartbeat) = self.encoding.heartbeat(clock::now_ms()) {
                        return Some(Bytes::from(heartbeat.into_owned()));
                    }
                }
                () = shared.drain.cancelled() => {
                    // Who only watches sees by a missing end that it was cut off.
                    self.answering.as_ref()?;
                    self.fail("shutting_down", HUB_STOPS, &mut out);
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
        let cursor = self.cursor.unwrap_or_default();
        let Some(slice) = self.seat.conversation.next(cursor, BATCH_BYTES_TARGET) else {
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

    /// What comes after the cursor from the log. Where it is not there either, nothing could stand in for what is missing:
    /// the client is told, and that is the end.
    async fn read_back(&mut self, out: &mut Vec<u8>) {
        let cursor = self.cursor.unwrap_or_default();
        let shared = Arc::clone(&self.seat.shared);
        let _turn = shared.work.turn(Task::Piece).await;
        match shared.hub.read(&self.seat.conversation, cursor.seq, EVENTS_AT_ONCE).await {
            Ok(page) if !page.envelopes.is_empty() => {
                let seq = page.envelopes.last().map_or(cursor.seq, |envelope| envelope.seq);
                self.cursor = Some(Cursor { seq, ..cursor });
                self.take_all(page.envelopes, out);
            }
            _ => self.fell_behind(out),
        }
    }

    /// Says that events are gone, in the dialect's own words for a failure.
    fn fell_behind(&mut self, out: &mut Vec<u8>) {
        self.fail("fell_behind", FELL_BEHIND, out);
    }

    /// Ends the stream with a failure. Who asked for the run is told that it failed, since no more will be told of it.
    fn fail(&mut self, code: &str, message: &str, out: &mut Vec<u8>) {
        self.ended = Some(RunStatus::Error);
        let run = match &self.wanted {
            Wanted::Run(id) => Some(id.clone()),
            _ => self.seat.conversation.look(|view| view.runs.last().map(|(id, _)| id.clone())),
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

    /// Tells something that is not in the log.
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

    /// What there is so far, in short; told before anything else.
    pub(super) fn join(&mut self, told: &mut impl Write) -> io::Result<()> {
        let out = &mut Vec::new();
        let view = masked(self.mask.as_deref(), self.seat.conversation.view());
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
            Wanted::All => view.runs.last().map(|(_, run)| run),
            Wanted::Run(id) => view.runs.get(id),
            Wanted::Latest | Wanted::Next => None,
        };
        run.is_some_and(|run| !run.is_running())
    }

    /// Takes `envelopes`, texts joined, but for a reader whose events have places.
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

    fn tell(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        let envelope = self.seat.shared.hub.made_whole(&self.seat.conversation, envelope);
        let Some((seq, told)) = self.places.filter(|_| envelope.seq > 0) else {
            return self.encoder.event(&envelope, out);
        };
        let mut events = Vec::new();
        self.encoder.event(&envelope, &mut events);
        let skipped = if envelope.seq == seq { told } else { 0 };
        number(&events, envelope.seq, skipped, out);
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

/// Adds `events` of the event `seq` to `out`, each with its id, but for the first `skipped`.
fn number(events: &[u8], seq: Seq, skipped: usize, out: &mut Vec<u8>) {
    let (mut rest, mut number) = (events, 0_usize);
    while let Some(end) = rest.windows(2).position(|two| two == b"\n\n") {
        let (event, after) = rest.split_at_checked(end.saturating_add(2)).unwrap_or((rest, &[]));
        (rest, number) = (after, number.saturating_add(1));
        if number > skipped {
            out.extend_from_slice(format!("id: {seq}-{number}\n").as_bytes());
            out.extend_from_slice(event);
        }
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
            RunStatus::Interrupted => Some(("interrupted", INTERRUPTED)),
            RunStatus::Cancelled if !self.says_cancelled => Some(("cancelled", STOPPED)),
            _ => None,
        }
    }
}
