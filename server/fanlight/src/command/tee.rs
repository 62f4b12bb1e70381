//! `fanlight tee`: copies stdin to stdout, byte for byte and at once, and publishes it to a hub, each event
//! once, as far as the hub accepts it.
//!
//! The pipe has priority. It runs on the main thread with blocking reads and writes; everything that depends
//! on a hub happens on another thread, behind a [`Spool`] that never blocks its writer:
//!
//! ```text
//! stdin ──▶ stdout
//!   └─▶ spool (memory, then disk) ──▶ decoder ──▶ courier ──▶ hub
//! ```

use std::io::{self, Read};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use client::{Courier, CourierEvent, CourierStatus, HubAbsence, Spool};
use compact_str::CompactString;
use dialects::Decode;
use event_log::machine;
use futures_util::{StreamExt as _, stream};
use model::Envelope;
use model::event::Kind;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::native::{complain_of_dialect, courier, events, step_decoder};
use super::{CommandError, ResultOutput, output, runtime};
use crate::args::TeeArgs;

/// How many bytes wait for a hub in memory; further ones wait on disk.
const MEMORY_BYTES_MAX: usize = 16 << 20;

/// How many bytes are read at a time.
const READ_BYTES: usize = 64 << 10;

/// Copies stdin to stdout and publishes it. Fails only where the pipe itself does: what the hub does not take
/// is a message on stderr.
pub(crate) fn run(args: &TeeArgs, output: ResultOutput) -> Result<(), CommandError> {
    let spool = Spool::new(MEMORY_BYTES_MAX, args.buffer.0);
    let publishing = publishing(args, Arc::clone(&spool));
    let copied = copy(io::stdin().lock(), output, &spool);
    spool.end();
    close_stdout();
    let (trouble, standing) = match publishing {
        Ok(publishing) => publishing.farewell(args.wait.0),
        Err(trouble) => (Some(trouble), CourierStatus::default()),
    };
    if let Some(trouble) = trouble.or_else(|| what_is_missing(&spool, &standing)) {
        output::complain(&format!(
            "not everything reached the hub: {trouble}\n  {} bytes went through the pipe, which was not disturbed; {} \
             events reached the hub",
            spool.standing().offered,
            standing.acked
        ));
    }
    copied
}

/// What the hub does not have although it accepted everything that was left.
fn what_is_missing(spool: &Spool, standing: &CourierStatus) -> Option<String> {
    let kept = spool.standing();
    if kept.refused > 0 {
        let disk = kept.stuck.map(|why| format!("; the disk took no more: {why}")).unwrap_or_default();
        return Some(format!(
            "the hub was slower than the pipe, and the last {} bytes had no room to wait in (--buffer){disk}",
            kept.refused
        ));
    }
    (standing.missing > 0).then(|| {
        format!(
            "the hub was restarted without a log and forgot {} events that are not here any more",
            standing.missing
        )
    })
}

/// Copies until stdin ends or nobody reads stdout any more.
fn copy(mut input: impl Read, mut output: ResultOutput, spool: &Spool) -> Result<(), CommandError> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let bytes = match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => buffer.get(..read).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(CommandError::new(
                    format!("cannot read stdin: {error}"),
                    "look at what stdin is connected to",
                ));
            }
        };
        output.bytes(bytes)?;
        spool.offer(Bytes::copy_from_slice(bytes));
    }
}

/// Closes stdout now, so that the next program of the pipe does not wait for the hub.
fn close_stdout() {
    #[cfg(unix)]
    if let Ok(nothing) = std::fs::File::options().write(true).open("/dev/null") {
        // If this fails, stdout is closed with the process.
        rustix::stdio::dup2_stdout(&nothing).ok();
    }
}

/// What went wrong, if anything did, and the progress.
type PublishingOutcome = (Option<String>, CourierStatus);

/// The thread that publishes.
struct PublishingThread {
    /// Gets one message when the thread is done; closed if it panicked.
    outcome: mpsc::Receiver<PublishingOutcome>,
    /// Ends the thread, which then reports how far it came.
    give_up: oneshot::Sender<()>,
    /// What the thread knows about the hub.
    watch: Arc<HubWatch>,
}

/// What is known about the hub.
#[derive(Debug, Default)]
struct HubWatch {
    /// Whether the hub was ever reached, and why it is missing now.
    state: Mutex<(bool, Option<String>)>,
    /// Notified when waiting is pointless.
    hopeless: Notify,
}

impl HubWatch {
    /// Takes news of the courier. Waiting is pointless for a hub that was never reached and is still missing
    /// at the end.
    fn take(&self, news: CourierEvent, is_ended: bool) {
        let mut state = self.state.lock();
        match news {
            CourierEvent::Connected => *state = (true, None),
            CourierEvent::Forgotten { .. } => {}
            CourierEvent::Lost { why, absence, .. } => {
                state.1 = Some(why);
                if is_ended && !state.0 && absence == HubAbsence::Nobody {
                    self.hopeless.notify_one();
                }
            }
        }
    }

    /// Why the hub is missing, if it is.
    fn absence(&self) -> Option<String> {
        self.state.lock().1.clone()
    }
}

/// Starts the thread that publishes. The error says why that failed.
fn publishing(args: &TeeArgs, spool: Arc<Spool>) -> Result<PublishingThread, String> {
    let failed = |failure: CommandError| failure.to_string();
    let runtime = runtime::one_thread().map_err(failed)?;
    let decoder = step_decoder(&args.stream.dialect, args.stream.run.as_ref()).map_err(failed)?;
    let host = host(args);
    let address = args.hub.address().map_err(failed)?;
    let mut courier = courier(address.clone(), &args.stream.conversation, "tee");
    let watch = Arc::new(HubWatch::default());
    let seen = Arc::clone(&watch);
    let (give_up, given_up) = oneshot::channel();
    let (done, outcome) = mpsc::sync_channel(1);
    let body = move || {
        let trouble = runtime.block_on(async {
            tokio::select! {
                trouble = publish(&mut courier, (decoder, host), &spool, &seen) => trouble,
                () = seen.hopeless.notified() => {
                    Some(format!("no hub answers at {address}: {}", seen.absence().unwrap_or_default()))
                }
                _ = given_up => Some(String::new()),
            }
        });
        // If stdout broke, nobody waits for this.
        drop(done.send((trouble, courier.standing())));
    };
    let spawned = thread::Builder::new().name(String::from("publish")).spawn(body);
    spawned.map(|_thread| PublishingThread { outcome, give_up, watch }).map_err(|error| error.to_string())
}

/// The name of the machine that the hub is told: the given one, else the machine's own; none if an empty one is given.
fn host(args: &TeeArgs) -> Option<CompactString> {
    let given = args.machine.as_deref().map(CompactString::from);
    given.or_else(|| machine::name().cloned()).filter(|name| !name.is_empty())
}

/// Says in `events` on which machine each run begins, unless the stream itself says it.
fn place(events: &mut [Envelope], host: Option<&CompactString>) {
    for envelope in events {
        if let Kind::RunStart(start) = &mut envelope.event.kind
            && start.host.is_none()
        {
            start.host = host.cloned();
        }
    }
}

/// Publishes the content of the spool, as what runs on the machine `host`. Returns what went wrong, if anything did.
async fn publish(
    courier: &mut Courier,
    (decoder, host): (Box<dyn Decode>, Option<CompactString>),
    spool: &Arc<Spool>,
    watch: &HubWatch,
) -> Option<String> {
    let broken = Mutex::new(None);
    let body = stream::unfold((), async |()| match spool.take().await {
        Ok(piece) => piece.map(|piece| (piece, ())),
        Err(error) => {
            *broken.lock() = Some(format!("what waited on disk cannot be read: {error}"));
            None
        }
    });
    let events = events(decoder, body).map(|mut events| {
        complain_of_dialect(&events);
        place(&mut events, host.as_ref());
        events
    });
    let carried = courier.carry(events, |news| watch.take(news, spool.is_ended())).await;
    carried.err().map(|error| error.to_string()).or(broken.into_inner())
}

impl PublishingThread {
    /// Waits until the hub has taken the rest, but at most for `wait`.
    fn farewell(self, wait: Duration) -> PublishingOutcome {
        if let Ok(outcome) = self.outcome.recv_timeout(wait) {
            return outcome;
        }
        // The thread may have ended just now.
        self.give_up.send(()).ok();
        match self.outcome.recv() {
            Ok((Some(given_up), standing)) if given_up.is_empty() => {
                let absent = self.watch.absence().map(|why| format!(" ({why})")).unwrap_or_default();
                let trouble = format!(
                    "the hub was slower than the pipe and did not take the rest within {} ms{absent}",
                    wait.as_millis()
                );
                (Some(trouble), standing)
            }
            Ok(outcome) => outcome,
            Err(_broke) => (Some(String::from("the publishing thread broke")), CourierStatus::default()),
        }
    }
}
