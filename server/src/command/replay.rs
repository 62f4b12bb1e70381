//! `fanlight replay`: publishes a recording through the public door, byte for byte, at a believable pace.

use std::io;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use server::client::Publisher;
use tokio::fs::File;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::time::Instant;

use super::native::understood;
use super::{Failure, Output, runtime};
use crate::args::{ReplayArgs, Speed};

mod pace;

use pace::Pace;

/// Most bytes that are sent at once; a longer line of a recording goes in pieces.
const PIECE_BYTES_MAX: u64 = 1 << 20;

/// Publishes the recording and says where the conversation stands then.
pub(crate) fn run(args: &ReplayArgs, mut output: Output) -> Result<(), Failure> {
    let runtime = runtime::one_thread()?;
    let taken = runtime.block_on(async {
        let file = File::open(&args.file).await.map_err(|error| Failure::Usage {
            what: format!("cannot read {}: {error}", args.file.display()),
            mend: String::from("name a recording that is there"),
        })?;
        let publisher = Publisher::new(args.hub.address());
        let body = paced(BufReader::new(file), args.speed);
        let stream = &args.stream;
        let (dialect, body) = understood(&stream.dialect, stream.run.as_ref(), body);
        let published = publisher.ingest(&dialect, &stream.conversation, stream.run.as_ref(), body);
        published.await.map_err(|error| Failure::publishing(&error))
    })?;
    let odd = match taken.anomalies {
        0 => String::new(),
        odd => format!(", {odd} of them odd"),
    };
    output.line(&format!(
        "published {} events{odd}; {} stands at {}",
        taken.events, args.stream.conversation, taken.position
    ))
}

struct Recording {
    file: BufReader<File>,
    pace: Pace,
    speed: Speed,
    due: Instant,
}

/// The bytes of `file`, each piece when it is due.
fn paced(file: BufReader<File>, speed: Speed) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let recording = Recording { file, pace: Pace::default(), speed, due: Instant::now() };
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
                if let Speed::Times(times) = recording.speed {
                    recording.due += pause.div_f64(times);
                    tokio::time::sleep_until(recording.due).await;
                }
                break;
            }
        }
        Ok((!piece.is_empty()).then(|| (Bytes::from(piece), recording)))
    })
}
