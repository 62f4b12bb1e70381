//! `fanlight replay`: publishes a recording to the hub's public endpoint, each event once, at a believable
//! pace.

use std::io;

use bytes::Bytes;
use client::CourierEvent;
use futures_util::StreamExt as _;
use futures_util::future::ready;
use futures_util::stream::{self, Stream};
use model::event::Class;
use model::fold::{complete, fold};
use model::{Envelope, View};
use parking_lot::Mutex;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::time::Instant;

use super::native::{complain_of_dialect, courier, events, step_decoder};
use super::{CommandError, ResultOutput, output, runtime};
use crate::args::{ReplayArgs, ReplaySpeed};

mod pace;

use pace::RecordingPacer;

/// How many bytes are sent at a time at most; a longer line of a recording is split.
const PIECE_BYTES_MAX: u64 = 1 << 20;

/// Publishes the recording and prints the position of the conversation. It fails if the hub cannot be reached
/// at first; it waits for a hub that is lost later.
pub(crate) fn run(args: &ReplayArgs, mut output: ResultOutput) -> Result<(), CommandError> {
    let stream = &args.stream;
    let decoder = step_decoder(&stream.dialect, stream.run.as_ref())?;
    let mut courier = courier(args.hub.address()?, &stream.conversation, "replay");
    let broken = Mutex::new(None);
    let mut view = View::default();
    let standing = runtime::one_thread()?.block_on(async {
        let file = File::open(&args.file).await.map_err(|error| unreadable(args, &error))?;
        courier.connect().await.map_err(|error| CommandError::carrying(&error))?;
        let body = paced(BufReader::new(file), args.speed)
            .filter_map(|piece| ready(piece.map_err(|error| *broken.lock() = Some(error)).ok()));
        let events = events(decoder, body).inspect(|events| {
            complain_of_dialect(events);
            fold_all(&mut view, events);
        });
        courier.carry(events, tell).await.map_err(|error| CommandError::carrying(&error))
    })?;
    if let Some(error) = broken.into_inner() {
        return Err(unreadable(args, &error));
    }
    let warnings = match view.anomalies.total {
        0 => String::new(),
        1 => String::from(", with 1 warning"),
        warnings => format!(", with {warnings} warnings"),
    };
    let position = standing.position.map(|position| position.to_string()).unwrap_or_default();
    let forgotten = match standing.missing {
        0 => String::new(),
        missing => format!("; the hub was restarted without a log and forgot {missing} of them"),
    };
    output.line(&format!(
        "published {} events{warnings}; {} stands at {position}{forgotten}",
        standing.offered, stream.conversation
    ))
}

/// The error for a recording that cannot be read.
fn unreadable(args: &ReplayArgs, error: &io::Error) -> CommandError {
    CommandError::Usage {
        what: format!("cannot read {}: {error}", args.file.display()),
        mend: String::from("name a recording that is there"),
    }
}

/// Folds events as the hub does, to count anomalies.
fn fold_all(view: &mut View, events: &[Envelope]) {
    for envelope in events.iter().filter(|envelope| envelope.event.kind.class() != Class::Ephemeral) {
        let mut envelope = Envelope { seq: view.seq.saturating_add(1), ..envelope.clone() };
        complete(view, &mut envelope.event);
        fold(view, &envelope, &mut |_| {});
    }
}

/// Says on stderr what the courier reports.
fn tell(news: CourierEvent) {
    match news {
        CourierEvent::Connected => {}
        CourierEvent::Lost { why, retry_ms, .. } => {
            output::complain(&format!("the hub is not there, trying again in {retry_ms} ms: {why}"));
        }
        CourierEvent::Forgotten { missing } => {
            output::complain(&format!("the hub has forgotten {missing} events that cannot be sent again"));
        }
    }
}

/// A recording that is read as fast as its pace allows.
struct ReplaySource {
    /// What is left of the recording.
    file: BufReader<File>,
    /// Says where pieces end, and the pause before each.
    pace: RecordingPacer,
    /// The speed, by which pauses are shortened.
    speed: ReplaySpeed,
    /// When the last piece was due: pauses count from there, so that what sending takes does not add up.
    due: Instant,
}

/// The bytes of `file`, each piece when it is due.
fn paced(file: BufReader<File>, speed: ReplaySpeed) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let recording = ReplaySource { file, pace: RecordingPacer::default(), speed, due: Instant::now() };
    stream::try_unfold(recording, |mut recording| async {
        let mut piece = Vec::new();
        loop {
            let from = piece.len();
            let read = (&mut recording.file).take(PIECE_BYTES_MAX).read_until(b'\n', &mut piece).await?;
            if read == 0 {
                break;
            }
            let line = piece.get(from..).unwrap_or_default();
            if let Some(pause) = recording.pace.take(line) {
                if let ReplaySpeed::Times(times) = recording.speed {
                    recording.due += pause.div_f64(times);
                    tokio::time::sleep_until(recording.due).await;
                }
                break;
            }
        }
        Ok((!piece.is_empty()).then(|| (Bytes::from(piece), recording)))
    })
}
