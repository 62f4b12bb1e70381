//! The other side of the tape: reads what was asked and answered, and takes it into conversations. Runs beside the call;
//! whatever goes wrong here leaves the call alone.
//!
//! The order of calls matters: what one call answered must be known before the next one that builds on it is placed. A
//! caller sends the next one only after it got the answer before, so the recorder of a call first lets those of older
//! calls read what was there at that moment.

use std::sync::Arc;

use dialects::Decoded;
use event_log::{blocking, room};
use exchange::{AnswerReader, AnswerSummary, ModelRequest, Placement, RequestDigest};
use model::ConversationId;
use tokio::sync::oneshot;

use super::copied::Recorded;
use super::order::Turn;
use super::secrets::{Striker, said_bytes};
use super::tape::{End, Reading, Tape};
use crate::state::Shared;
use event_log::clock;
use hub::{Attendant, Publication};

mod facts;
mod hearing;

pub(super) use facts::Facts;
use hearing::{Hearing, ending};

/// Bytes that are read in one go; then others have their turn.
const STEP_BYTES: usize = 8 << 10;

/// Bytes that are read until calls go first again.
const STRETCH_BYTES: usize = 64 << 10;

/// What is longer than this is read, and searched for keys, where it keeps no other call waiting, in bytes.
const LONG_BYTES: usize = 256 << 10;

/// A recording that has begun, as the call sees it.
#[derive(Debug)]
pub(super) struct Started {
    /// The tape, told the end of the call when this is dropped.
    pub(super) recorded: Recorded,
    known: Option<ConversationId>,
    told: oneshot::Receiver<ConversationId>,
}

impl Started {
    /// The conversation, where it is known by now.
    pub(super) fn conversation(&mut self) -> Option<&ConversationId> {
        if self.known.is_none() {
            self.known = self.told.try_recv().ok();
        }
        self.known.as_ref()
    }
}

/// Begins to record a call.
pub(super) fn start(shared: &Arc<Shared>, facts: Facts) -> Started {
    let tape = Arc::new(Tape::new(&shared.proxy.budget));
    let (tell, told) = oneshot::channel();
    let known = facts.conversation.clone();
    let turn = shared.proxy.order.enter(facts.caller, &tape);
    let attendant = Attendant::new(&shared.hub);
    let striker = Striker::new(&facts.secrets);
    let recording = Recording {
        shared: Arc::clone(shared),
        tape: Arc::clone(&tape),
        facts,
        turn,
        striker,
        attendant,
        tell: Some(tell),
    };
    shared.proxy.recorders.spawn(&shared.tasks, recording.run());
    Started { recorded: Recorded::new(tape), known, told }
}

/// Turns one recorded call into events. Runs in a task of its own, which ends with the call or soon after.
#[derive(Debug)]
struct Recording {
    shared: Arc<Shared>,
    tape: Arc<Tape>,
    facts: Facts,
    turn: Turn,
    striker: Striker,
    attendant: Attendant,
    tell: Option<oneshot::Sender<ConversationId>>,
}

impl Recording {
    async fn run(mut self) {
        let (body, asked, mut held) = self.tape.request().await;
        self.shared.proxy.lull.begins().await;
        let request = self.facts.read(body, asked, &mut held);
        self.turn.comes().await;
        let answer = self.place(&request);
        drop(request);
        drop(held);
        let mut hearing = Hearing::new(answer);
        loop {
            let reading = self.tape.read().await;
            let end = reading.end.clone();
            let position = reading.position;
            self.hear(&mut hearing, reading).await;
            if hearing.answer.is_over() {
                self.settle(&mut hearing);
            }
            if let Some(end) = end {
                return self.finish(hearing, end);
            }
            self.turn.has_read(position);
        }
    }

    /// Finds the place of the call, and says what its request says.
    fn place(&mut self, request: &ModelRequest) -> AnswerReader {
        let shared = Arc::clone(&self.shared);
        let name = clock::fresh_name();
        let call = self.facts.call(&name);
        let before = shared.proxy.joiner.lock().unknown(&call, request);
        // From the log, perhaps: nobody is to wait for that. One that cannot be read is as if there was none.
        let before = before.and_then(|id| shared.hub.find(&id).ok().flatten());
        let said = RequestDigest::of(request);
        let mut joiner = shared.proxy.joiner.lock();
        if let Some(before) = before.as_ref().filter(|_| joiner.unknown(&call, request).is_some()) {
            before.look(|view| joiner.recall(before.id(), view, call.at));
        }
        let mut placement = joiner.place_asked(&call, request, said);
        // Nothing of a call that is placed later may be said before.
        let floor = shared.proxy.floors.take(&placement.conversation);
        drop(joiner);
        if let Some(before) = before {
            before.look(|view| placement.leave_out(view));
        }
        let Placement { conversation, run, events, answer, ended, .. } = placement;
        self.publish(&conversation, events);
        shared.proxy.waiting.go_on(&conversation, &run, ended.as_ref());
        drop(floor);
        if let Some(tell) = self.tell.take() {
            // The caller may have gone.
            drop(tell.send(conversation));
        }
        answer
    }

    /// Takes what was answered since the last time.
    async fn hear(&mut self, hearing: &mut Hearing, reading: Reading) {
        room(self.shared.hub.log()).await;
        let mut out = Decoded::default();
        if let Some(head) = reading.head {
            hearing.begin(&head, &self.facts.secrets, &mut out);
        }
        for stretch in reading.answer.chunks(STRETCH_BYTES) {
            self.shared.proxy.lull.begins().await;
            for step in stretch.chunks(STEP_BYTES) {
                hearing.feed(step, &mut out);
                self.publish(hearing.answer.conversation(), std::mem::take(&mut out));
                tokio::task::yield_now().await;
            }
        }
        if reading.lost > 0 && !hearing.is_deaf {
            let why = format!(
                "the hub was too slow for this answer; {} bytes of it and what follows are not here",
                reading.lost
            );
            hearing.go_deaf(why, &mut out);
        }
        self.publish(hearing.answer.conversation(), out);
    }

    /// The answer is over for its caller, who goes on now; only its body is not.
    fn settle(&mut self, hearing: &mut Hearing) {
        let mut out = Decoded::default();
        let heard = hearing.answer.settle(&mut out);
        self.conclude(heard, out);
    }

    fn finish(mut self, mut hearing: Hearing, end: End) {
        let mut out = Decoded::default();
        hearing.feed_rest(&mut out);
        let conversation = hearing.answer.conversation().clone();
        match hearing.answer.end(ending(end), &mut out) {
            Some(heard) => self.conclude(heard, out),
            None => self.publish(&conversation, out),
        }
    }

    /// Says `out` and what becomes of the run after what was `heard`.
    fn conclude(&mut self, heard: AnswerSummary, out: Decoded) {
        let shared = Arc::clone(&self.shared);
        let mut joiner = shared.proxy.joiner.lock();
        let placed = joiner.heard(heard, clock::now_ms());
        let _floor = shared.proxy.floors.take(&placed.conversation);
        drop(joiner);
        self.publish(&placed.conversation, out);
        self.publish(&placed.conversation, placed.events);
        if placed.waits {
            let attendant = std::mem::replace(&mut self.attendant, Attendant::new(&shared.hub));
            shared.proxy.waiting.begin(placed.conversation, placed.run, attendant);
        } else {
            // An attempt that another one took the place of may have said otherwise.
            shared.proxy.waiting.end(&placed.conversation, &placed.run);
        }
    }

    fn publish(&mut self, conversation: &ConversationId, mut decoded: Decoded) {
        if said_bytes(&decoded) > LONG_BYTES {
            blocking(|| self.striker.strike(&mut decoded));
        } else {
            self.striker.strike(&mut decoded);
        }
        let speaker = self.attendant.speaks_in(conversation);
        let publication = Publication { speaker, ..Publication::of(decoded.envelopes) };
        publish(&self.shared, conversation, publication);
    }
}

/// Appends, or says in the trace that it did not: the call is not to be harmed.
fn publish(shared: &Shared, conversation: &ConversationId, publication: Publication) {
    if publication.events.is_empty() {
        return;
    }
    if let Err(error) = shared.fanout.publish(conversation, publication) {
        tracing::warn!(%conversation, %error, "a part of a call was not recorded");
    }
}

/// Ends what waits too long for results, once a second. Does not end; a task of its own, since those that record hold the
/// joiner in threads that step back.
pub(crate) async fn keep_up(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(shared.config.upkeep).await;
        blocking(|| {
            let mut joiner = shared.proxy.joiner.lock();
            let placed = joiner.tick(clock::now_ms());
            say(&shared, placed);
        });
    }
}

/// The hub stops: nobody will bring the results that are waited for.
pub(crate) fn close(shared: &Shared) {
    let mut joiner = shared.proxy.joiner.lock();
    let placed = joiner.close();
    say(shared, placed);
}

/// Publishes what the joiner says by itself. It must be held until then, so that nothing comes between.
fn say(shared: &Shared, placed: Vec<exchange::PlacedEvents>) {
    for it in placed {
        let _floor = shared.proxy.floors.take(&it.conversation);
        publish(shared, &it.conversation, Publication::of(it.events.envelopes));
        if !it.waits {
            shared.proxy.waiting.end(&it.conversation, &it.run);
        }
    }
}
