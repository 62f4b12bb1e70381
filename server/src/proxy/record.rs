//! The other side of the tape: reads what was asked and answered, and takes it into conversations. Runs beside the call;
//! whatever goes wrong here leaves the call alone.
//!
//! The order of calls matters: what one call answered must be known before the next one that builds on it is placed. A
//! caller sends the next one only after it got the answer before, so the recorder of a call first lets those of older
//! calls read what was there at that moment.

use std::sync::Arc;
use std::time::Duration;

use compact_str::CompactString;
use shared::ConversationId;
use shared::anomaly::{Anomaly, AnomalyCode};
use shared::dialect::Decoded;
use shared::event::{ErrorFact, Kind};
use shared::exchange::{Answer, Api, Asked as Said, Call, Ending, Heard, Placement, Request};
use tokio::sync::oneshot;

use super::copied::Recorded;
use super::inflate::{Encoding, Inflate};
use super::order::Turn;
use super::secrets::{Secrets, Strike};
use super::tape::{Asked, End, Fault, Head, Held, Reading, Tape};
use crate::clock;
use crate::hub::{Attendant, Publication};
use crate::log::{blocking, room};
use crate::state::Shared;
use crate::tally::TALLY;

/// Bytes that are read in one go; then others have their turn.
const STEP_BYTES: usize = 16 << 10;

/// How long a recorder lets a call go first. An upstream on the same machine has answered by then, and until it has, it and
/// the caller want the cores; nobody sees a call later by so little.
const LULL: Duration = Duration::from_millis(2);

/// What is longer than this is read, and searched for keys, where it keeps no other call waiting, in bytes.
const LONG_BYTES: usize = 256 << 10;

/// What is known of a call beside its bytes.
#[derive(Debug)]
pub(super) struct Facts {
    /// The API that it speaks.
    pub(super) api: Api,
    /// Its path at the upstream, without the query.
    pub(super) path: String,
    /// The name of the upstream.
    pub(super) upstream: CompactString,
    /// The fingerprint of its key.
    pub(super) caller: u64,
    /// The conversation, where it names one.
    pub(super) conversation: Option<ConversationId>,
    /// The session, where a header names one.
    pub(super) session: Option<String>,
    /// How often it was tried before.
    pub(super) attempts_before: Option<u32>,
    /// The call of a tool that its agent works for.
    pub(super) parent: Option<String>,
    /// How its body is packed; nothing where that is not known here.
    pub(super) encodings: Option<Vec<Encoding>>,
    /// Its keys, which are kept nowhere: for as long as the call is recorded, to find them in errors.
    pub(super) secrets: Arc<Secrets>,
}

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
    let recording = Recording {
        shared: Arc::clone(shared),
        tape: Arc::clone(&tape),
        facts,
        turn,
        attendant,
        tell: Some(tell),
    };
    shared.proxy.recorders.spawn(&shared.tasks, recording.run());
    Started { recorded: Recorded::new(tape), known, told }
}

/// See the module.
#[derive(Debug)]
struct Recording {
    shared: Arc<Shared>,
    tape: Arc<Tape>,
    facts: Facts,
    turn: Turn,
    attendant: Attendant,
    tell: Option<oneshot::Sender<ConversationId>>,
}

/// An answer that is being read.
#[derive(Debug)]
struct Hearing {
    answer: Answer,
    packed: Option<Inflate>,
    /// The answer is an error, which may have the keys of the call in it.
    strike: Option<Strike>,
    /// What follows cannot be read.
    is_deaf: bool,
}

impl Recording {
    async fn run(mut self) {
        let (body, asked, mut held) = self.tape.request().await;
        tokio::time::sleep(LULL).await;
        let request = self.facts.read(body, asked, &mut held);
        self.turn.comes().await;
        let answer = self.place(&request);
        drop(request);
        drop(held);
        let mut hearing = Hearing { answer, packed: None, strike: None, is_deaf: false };
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
    fn place(&mut self, request: &Request) -> Answer {
        let shared = Arc::clone(&self.shared);
        let name = clock::fresh_name();
        let call = self.facts.call(&name);
        let before = shared.proxy.joiner.lock().unknown(&call, request);
        // From the log, perhaps: nobody is to wait for that. One that cannot be read is as if there was none.
        let before = before.and_then(|id| shared.hub.find(&id).ok().flatten());
        let said = Said::of(request);
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
        let mut steps = reading.answer.chunks(STEP_BYTES).peekable();
        while let Some(step) = steps.next() {
            hearing.feed(step, &mut out);
            self.publish(hearing.answer.conversation(), std::mem::take(&mut out));
            if steps.peek().is_some() {
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
    fn conclude(&mut self, heard: Heard, out: Decoded) {
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
            blocking(|| self.facts.secrets.strike(&mut decoded));
        } else {
            self.facts.secrets.strike(&mut decoded);
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

impl Facts {
    /// As the joiner wants them.
    fn call<'a>(&'a self, name: &'a str) -> Call<'a> {
        Call {
            upstream: &self.upstream,
            caller: self.caller,
            conversation: self.conversation.clone(),
            session: self.session.as_deref(),
            attempts_before: self.attempts_before,
            parent: self.parent.as_deref(),
            name,
            at: clock::now_ms(),
        }
    }

    /// What `body` asks.
    fn read(&self, body: Vec<u8>, asked: Asked, held: &mut Held) -> Request {
        let unread = |why: &str| Request::unread(self.api, &self.path, why);
        match asked {
            Asked::TooLarge => return unread("it is larger than the proxy keeps"),
            Asked::Broken | Asked::Open => return unread("the caller did not send all of it"),
            Asked::Whole => {}
        }
        let Some(encodings) = &self.encodings else {
            return unread("it is packed in a way that is not known here");
        };
        let body = match Inflate::new(encodings).and_then(|mut packed| packed.feed(body)) {
            Ok(body) => body,
            Err(error) => return unread(&format!("it cannot be unpacked: {error}")),
        };
        if !held.resize(body.len()) {
            return unread("the proxy holds too much already");
        }
        if body.len() > LONG_BYTES {
            blocking(|| Request::read(self.api, &self.path, &body))
        } else {
            Request::read(self.api, &self.path, &body)
        }
    }
}

impl Hearing {
    fn begin(&mut self, head: &Head, secrets: &Arc<Secrets>, out: &mut Decoded) {
        self.answer.begin(head.status, head.retry_after_ms);
        self.strike = (head.status >= 400).then(|| Strike::new(secrets));
        match head.encodings.as_deref().map(Inflate::new) {
            Some(Ok(packed)) => self.packed = Some(packed),
            Some(Err(error)) => self.go_deaf(format!("the answer cannot be unpacked: {error}"), out),
            None => self.go_deaf(String::from("the answer is packed in a way that is not known here"), out),
        }
    }

    fn feed(&mut self, bytes: &[u8], out: &mut Decoded) {
        if self.is_deaf {
            return;
        }
        let Some(packed) = &mut self.packed else { return };
        match packed.feed(bytes.to_vec()) {
            Ok(plain) => match &mut self.strike {
                // What was packed may be long.
                Some(strike) if plain.len() > LONG_BYTES => {
                    let struck = blocking(|| strike.feed(&plain));
                    self.answer.feed(&struck, out);
                }
                Some(strike) => self.answer.feed(&strike.feed(&plain), out),
                None => self.answer.feed(&plain, out),
            },
            Err(error) => self.go_deaf(format!("the answer cannot be unpacked: {error}"), out),
        }
    }

    /// Takes what was held back, since nothing follows it.
    fn feed_rest(&mut self, out: &mut Decoded) {
        if let Some(strike) = &mut self.strike {
            self.answer.feed(&strike.rest(), out);
        }
    }

    /// Gives the rest of the answer up.
    fn go_deaf(&mut self, detail: String, out: &mut Decoded) {
        self.is_deaf = true;
        TALLY.copies_lost.one();
        out.push(self.answer.run(), Kind::Anomaly(Anomaly { code: AnomalyCode::CopyLost, detail }));
    }
}

/// How much there is to be searched for keys.
fn said_bytes(decoded: &Decoded) -> usize {
    let events = decoded.envelopes.iter().map(|envelope| &envelope.event.kind);
    let lengths = events.map(|kind| match kind {
        Kind::Error(fact) => fact.message.len(),
        Kind::Anomaly(odd) => odd.detail.len(),
        Kind::Custom { value, .. } | Kind::Raw { value, .. } => value.as_str().len(),
        _ => 0,
    });
    lengths.sum()
}

/// In the words of the joiner.
fn ending(end: End) -> Ending {
    let failed = |code: &str, message: String| {
        let code = CompactString::new(code);
        Ending::Failed(ErrorFact { code, message, retryable: true, retry_after_ms: None })
    };
    match end {
        End::Whole => Ending::Whole,
        End::HungUp => Ending::Cancelled,
        End::Cut(reason) => {
            failed("upstream_cut", format!("the upstream broke off in the middle of its answer: {reason}"))
        }
        End::Nothing(Fault::Unreachable(reason)) => {
            failed("upstream_unreachable", format!("the upstream cannot be reached: {reason}"))
        }
        End::Nothing(Fault::Failed(reason)) => {
            failed("upstream_failed", format!("the upstream gave no answer: {reason}"))
        }
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
fn say(shared: &Shared, placed: Vec<shared::exchange::Placed>) {
    for it in placed {
        let _floor = shared.proxy.floors.take(&it.conversation);
        publish(shared, &it.conversation, Publication::of(it.events.envelopes));
        if !it.waits {
            shared.proxy.waiting.end(&it.conversation, &it.run);
        }
    }
}
