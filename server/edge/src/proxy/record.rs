//! The recorder of a call: reads the tape and turns it into events. It runs beside the call, and whatever
//! goes wrong here does not affect the call.
//!
//! The order of calls matters: the answer of one call must be known before the next one that builds on it is
//! placed. A caller sends the next one only after it has the answer, so the recorder of a call first waits
//! until those of older calls have read what was on their tapes at that moment.
//!
//! ```text
//! request: whole? ─▶ decompress, parse ─▶ my turn? ─▶ joiner: conversation and run ─▶ publish what is new in it
//! answer:  head ─▶ decompress, strike keys, decode ─▶ publish ─▶ … ─▶ end ─▶ joiner: does it wait? ─▶ publish
//! ```

use std::sync::Arc;

use dialects::Decoded;
use event_log::{blocking, room};
use exchange::{AnswerReader, AnswerSummary, ModelRequest, Placement, RequestDigest};
use model::limits::PROXY_REQUEST_BYTES_MAX;
use model::{ConversationId, Kind, RunId};
use tokio::sync::oneshot;

use super::calls::Proxy;
use super::copied::Recorded;
use super::lent::{CallEnd, Meter};
use super::order::Turn;
use super::secrets::{Striker, said_bytes};
use super::tape::{End, Reading, RequestState, Tape};
use crate::peers;
use event_log::clock;
use hub::{Attendant, Conversation, Publication};

mod decoder;
mod facts;

use decoder::{AnswerDecoder, ending};
pub(super) use facts::Facts;

/// How many bytes are read before other tasks get their turn.
const STEP_BYTES: usize = 8 << 10;

/// How many bytes are read before the recorder gives way to calls again.
const STRETCH_BYTES: usize = 64 << 10;

/// Texts of more bytes than this are parsed, and searched for keys, on a thread that may block.
const LONG_BYTES: usize = 256 << 10;

/// A recording that has begun, as the call sees it. Owned by the call, then by the body of its answer.
/// Dropping it tells the tape that the caller hung up, unless the call has ended.
#[derive(Debug)]
pub(super) struct Started {
    /// The recorded side of the tape.
    pub(super) recorded: Recorded,
    /// The conversation, once it is known.
    known: Option<ConversationId>,
    /// The receiver of the conversation, which the recorder tells.
    told: oneshot::Receiver<ConversationId>,
}

impl Started {
    /// The conversation of the call, if the recorder has placed it by now.
    pub(super) fn conversation(&mut self) -> Option<&ConversationId> {
        if self.known.is_none() {
            self.known = self.told.try_recv().ok();
        }
        self.known.as_ref()
    }
}

/// Begins to record a call. The recorder is a task of its own, on the recording threads.
/// `meter` measures what the call costs, if that is charged to somebody.
pub(super) fn start(proxy: &Arc<Proxy>, facts: Facts, meter: Option<Meter>) -> Started {
    let tape = Arc::new(Tape::new(&proxy.budget));
    let (tell, told) = oneshot::channel();
    let known = facts.conversation.clone();
    let turn = proxy.order.enter(facts.caller, &tape);
    let attendant = Attendant::new(&proxy.ownership.hub);
    let striker = Striker::new(&facts.secrets);
    let recording = Recording {
        proxy: Arc::clone(proxy),
        tape: Arc::clone(&tape),
        facts,
        turn,
        striker,
        attendant,
        tell: Some(tell),
        meter,
    };
    proxy.recorders.spawn(&proxy.ownership.tasks, recording.run());
    Started { recorded: Recorded::new(tape), known, told }
}

/// Turns one call into events. It is a task of the hub on the recording threads that ends with the call or
/// soon after; the drain waits for it.
#[derive(Debug)]
struct Recording {
    proxy: Arc<Proxy>,
    tape: Arc<Tape>,
    facts: Facts,
    turn: Turn,
    striker: Striker,
    /// Attends the run while the call goes on.
    attendant: Attendant,
    /// Tells the call its conversation; `None` once it has.
    tell: Option<oneshot::Sender<ConversationId>>,
    /// Measures what the call costs; `None` if it is charged to nobody.
    meter: Option<Meter>,
}

impl Recording {
    /// Reads the tape to its end. Waits for the whole request, for older recordings of the same caller, and
    /// then for each piece of the answer.
    async fn run(mut self) {
        let (body, asked, mut held) = self.tape.request().await;
        self.proxy.quiet.wait().await;
        // Of a request that was too large nothing is kept, and it has at least so many bytes.
        let bytes = if asked == RequestState::TooLarge { PROXY_REQUEST_BYTES_MAX } else { body.len() };
        let request = self.facts.read(body, asked, &mut held);
        if let Some(meter) = &mut self.meter {
            meter.asked(bytes, request.model.as_ref());
        }
        self.turn.comes().await;
        let answer = self.place(&request);
        drop(request);
        drop(held);
        let mut decoder = AnswerDecoder::new(answer);
        loop {
            let reading = self.tape.read().await;
            let end = reading.end.clone();
            let position = reading.position;
            self.decode(&mut decoder, reading).await;
            if decoder.answer.is_over() {
                self.settle(&mut decoder);
            }
            if let Some(end) = end {
                return self.finish(decoder, end);
            }
            self.turn.has_read(position);
        }
    }

    /// Asks the joiner for the place of the call, and publishes what its request says. A conversation that
    /// the joiner does not have in memory is recalled from the hub first.
    fn place(&mut self, request: &ModelRequest) -> AnswerReader {
        let proxy = Arc::clone(&self.proxy);
        let name = clock::fresh_name();
        let call = self.facts.call(&name);
        let before = proxy.joiner.lock().unknown(&call, request);
        // This may read from the log, so no lock is held. A conversation that cannot be read counts as
        // unknown.
        let before = before.and_then(|id| proxy.ownership.hub.look(&id).ok().flatten());
        let said = RequestDigest::of(request);
        let mut joiner = proxy.joiner.lock();
        if let Some(before) = before.as_ref().filter(|_| joiner.unknown(&call, request).is_some()) {
            before.read_view(|view| joiner.recall(before.id(), view, call.at));
        }
        let mut placement = joiner.place_asked(&call, request, said);
        // Taken before the joiner is released, so that nothing of a call that is placed later is published
        // before.
        let lock = proxy.publish_locks.take(&placement.conversation);
        drop(joiner);
        if let Some(before) = before {
            before.read_view(|view| placement.leave_out(view));
        }
        let Placement { conversation, run, events, answer, ended, .. } = placement;
        self.publish(&conversation, events);
        proxy.waiting.go_on(&conversation, &run, ended.as_ref());
        drop(lock);
        if let Some(tell) = self.tell.take() {
            // The call may have ended already.
            drop(tell.send(conversation));
        }
        answer
    }

    /// Decodes and publishes what was answered since the last reading, in small steps with room for other
    /// tasks between them.
    async fn decode(&mut self, decoder: &mut AnswerDecoder, reading: Reading) {
        room(self.proxy.ownership.hub.log()).await;
        let mut out = Decoded::default();
        if let Some(meter) = &mut self.meter {
            reading.head.iter().for_each(|head| meter.begun(head.status));
            meter.came(reading.answer.len() as u64);
        }
        if let Some(head) = reading.head {
            decoder.begin(&head, &self.facts.secrets, &mut out);
        }
        for stretch in reading.answer.blocks().flat_map(|block| block.chunks(STRETCH_BYTES)) {
            self.proxy.quiet.wait().await;
            for step in stretch.chunks(STEP_BYTES) {
                decoder.feed(step, &mut out);
                self.measure(&out);
                self.publish(decoder.answer.conversation(), std::mem::take(&mut out));
                tokio::task::yield_now().await;
            }
        }
        if reading.lost > 0 && !decoder.has_given_up {
            let why = format!(
                "the hub was too slow for this answer; {} bytes of it and what follows are not here",
                reading.lost
            );
            decoder.give_up(why, &mut out);
        }
        self.publish(decoder.answer.conversation(), out);
    }

    /// Tells the joiner that the answer is over for its caller, who goes on now although the body has not
    /// ended.
    fn settle(&mut self, decoder: &mut AnswerDecoder) {
        let mut out = Decoded::default();
        let heard = decoder.answer.settle(&mut out);
        self.measure(&out);
        self.conclude(heard, out);
    }

    /// Ends the answer when the tape has.
    fn finish(mut self, mut decoder: AnswerDecoder, end: End) {
        let mut out = Decoded::default();
        decoder.feed_rest(&mut out);
        let conversation = decoder.answer.conversation().clone();
        let charged = match &end {
            End::Whole => CallEnd::Whole,
            End::Nothing(_) => CallEnd::Unanswered,
            _ => CallEnd::CutOff,
        };
        let heard = decoder.answer.end(ending(end), &mut out);
        self.measure(&out);
        if let Some(meter) = &mut self.meter {
            meter.ended(charged);
        }
        match heard {
            Some(heard) => self.conclude(heard, out),
            None => self.publish(&conversation, out),
        }
    }

    /// Lets the meter see what was read of the answer.
    fn measure(&mut self, out: &Decoded) {
        if let Some(meter) = &mut self.meter {
            meter.read(out);
        }
    }

    /// Publishes `out`, and what the joiner says of the run after what was `heard`.
    fn conclude(&mut self, heard: AnswerSummary, out: Decoded) {
        let proxy = Arc::clone(&self.proxy);
        let mut joiner = proxy.joiner.lock();
        let placed = joiner.heard(heard, clock::now_ms());
        let _lock = proxy.publish_locks.take(&placed.conversation);
        drop(joiner);
        self.publish(&placed.conversation, out);
        self.publish(&placed.conversation, placed.events);
        if placed.waits {
            let attendant = std::mem::replace(&mut self.attendant, Attendant::new(&proxy.ownership.hub));
            proxy.waiting.begin(placed.conversation, placed.run, attendant);
        } else {
            // A run that an earlier attempt left waiting waits no longer.
            proxy.waiting.end(&placed.conversation, &placed.run);
        }
    }

    /// Publishes events with this call's keys removed.
    fn publish(&mut self, conversation: &ConversationId, mut decoded: Decoded) {
        if said_bytes(&decoded) > LONG_BYTES {
            blocking(|| self.striker.strike(&mut decoded));
        } else {
            self.striker.strike(&mut decoded);
        }
        let speaker = self.attendant.speaks_in(conversation);
        let publication = Publication { speaker, ..Publication::of(decoded.envelopes) };
        publish(&self.proxy, conversation, publication);
    }
}

/// Appends events. A failure is only logged, because the call must not be affected.
fn publish(proxy: &Proxy, conversation: &ConversationId, publication: Publication) {
    if publication.events.is_empty() {
        return;
    }
    let open_runs = &proxy.open_runs;
    let ends: Vec<_> =
        publication.events.iter().filter(|it| matches!(it.event.kind, Kind::RunEnd(_))).cloned().collect();
    open_runs.begin(conversation, &publication.events);
    if let Err(error) = peers::publish(&proxy.ownership, conversation, publication) {
        tracing::warn!(%conversation, %error, "a part of a call was not recorded");
    }
    open_runs.end(conversation, &ends);
}

/// Ends runs that have waited too long for results, in each round of upkeep (the setting `upkeep`). Never
/// returns. It is a task of its own, because recorders hold the joiner on threads of low priority.
pub(crate) async fn keep_up(proxy: Arc<Proxy>) {
    loop {
        tokio::time::sleep(proxy.upkeep).await;
        blocking(|| {
            let mut joiner = proxy.joiner.lock();
            let placed = joiner.tick(clock::now_ms());
            say(&proxy, placed);
            drop(joiner);
            proxy.gate.save_spending();
        });
    }
}

/// Reads back the conversations in which runs were going on when the hub stopped, and ends those whose calls ended with the process that
/// passed them on. Others may still publish, and are waited for.
pub(crate) fn read_back(proxy: &Proxy) -> Vec<Arc<Conversation>> {
    let unfinished = proxy.ownership.hub.read_back();
    for conversation in &unfinished {
        let is_over = |run: &RunId| proxy.open_runs.has_left(conversation.id(), run);
        proxy.ownership.hub.lose_runs(conversation, is_over);
    }
    unfinished
}

/// Ends all runs that wait for results, because the hub stops.
pub(crate) fn close(proxy: &Proxy) {
    let mut joiner = proxy.joiner.lock();
    let placed = joiner.close();
    say(proxy, placed);
    drop(joiner);
    proxy.gate.tell_rest_of_spending();
    proxy.gate.save_spending();
}

/// Publishes what the joiner says by itself. The caller must hold the joiner, so that nothing comes between.
fn say(proxy: &Proxy, placed: Vec<exchange::PlacedEvents>) {
    for it in placed {
        let _lock = proxy.publish_locks.take(&it.conversation);
        publish(proxy, &it.conversation, Publication::of(it.events.envelopes));
        if !it.waits {
            proxy.waiting.end(&it.conversation, &it.run);
        }
    }
}
