//! `fanlight tee`: stdin → stdout, byte for byte and at once; and the same bytes to a hub, as far as it goes along.
//!
//! The pipe comes first. It runs on the main thread with plain blocking reads and writes; all that a hub can do happens
//! on another thread, behind a [`Backlog`] that never blocks the one who fills it.

use std::io::{self, Read};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use server::client::{PublishError, Publisher};
use tokio::sync::oneshot;

use super::native::understood;
use super::{Failure, Output, output, runtime};
use crate::args::TeeArgs;

mod backlog;

use backlog::Backlog;

/// Most bytes that wait for a hub; beyond it the publishing ends, not the pipe.
const BACKLOG_BYTES_MAX: usize = 16 << 20;

/// How long the hub may take to accept what is left when stdin has ended.
const FAREWELL: Duration = Duration::from_secs(3);

/// Between two attempts to reach a hub that is down.
const RETRY: Duration = Duration::from_millis(500);

/// Bytes that are read at once.
const READ_BYTES: usize = 64 << 10;

/// Copies stdin to stdout and publishes it.
pub(crate) fn run(args: &TeeArgs, output: Output) -> Result<(), Failure> {
    let backlog = Arc::new(Backlog::new(BACKLOG_BYTES_MAX));
    let publishing = publishing(args, Arc::clone(&backlog));
    let copied = copy(io::stdin().lock(), output, &backlog);
    backlog.end();
    close_stdout();
    let trouble = match publishing {
        Ok(publishing) => publishing.farewell(),
        Err(trouble) => Some(trouble),
    };
    if let Some(trouble) = trouble {
        output::complain(&format!(
            "not everything reached the hub: {trouble}\n  \
             {} bytes went through the pipe, which was not disturbed; {} of them left for the hub",
            backlog.offered(),
            backlog.taken()
        ));
    }
    copied
}

/// The copy. Ends with stdin, or when nobody reads stdout any more.
fn copy(mut input: impl Read, mut output: Output, backlog: &Backlog) -> Result<(), Failure> {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let bytes = match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => buffer.get(..read).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(Failure::new(
                    format!("cannot read stdin: {error}"),
                    "look at what stdin is connected to",
                ));
            }
        };
        output.bytes(bytes)?;
        backlog.offer(Bytes::copy_from_slice(bytes));
    }
}

/// Lets the next program in the pipe see the end now, not when the hub is done.
fn close_stdout() {
    #[cfg(unix)]
    if let Ok(nothing) = std::fs::File::options().write(true).open("/dev/null") {
        // When it fails, the end comes with the end of this process.
        rustix::stdio::dup2_stdout(&nothing).ok();
    }
}

/// The thread that publishes.
struct Publishing {
    /// What went wrong, if anything did.
    trouble: mpsc::Receiver<Option<String>>,
    give_up: oneshot::Sender<()>,
}

/// Starts publishing; says why when that does not work.
fn publishing(args: &TeeArgs, backlog: Arc<Backlog>) -> Result<Publishing, String> {
    let runtime = runtime::one_thread().map_err(|failure| failure.to_string())?;
    let publisher = Publisher::new(args.hub.address());
    let (spoken, conversation) = (args.stream.dialect.clone(), args.stream.conversation.clone());
    let run = args.stream.run.clone();
    let full = Arc::clone(&backlog);
    let (give_up, given_up) = oneshot::channel();
    let publish = async move {
        loop {
            let body = Backlog::stream(Arc::clone(&backlog));
            let (dialect, body) = understood(&spoken, run.as_ref(), body);
            match publisher.ingest(&dialect, &conversation, run.as_ref(), body).await {
                Ok(_taken) => return None,
                // Nothing has been taken from the backlog yet: the hub may come up while the pipe runs.
                Err(error @ PublishError::Unreachable { .. }) => {
                    if tokio::time::timeout(RETRY, backlog.ended()).await.is_ok() {
                        return Some(error.to_string());
                    }
                }
                Err(error) => {
                    backlog.stop();
                    return Some(error.to_string());
                }
            }
        }
    };
    let (done, trouble) = mpsc::sync_channel(1);
    let body = move || {
        let trouble = runtime.block_on(async {
            tokio::select! {
                trouble = publish => trouble,
                trouble = full.overflow() => Some(trouble),
                _ = given_up => Some(format!("it did not take the rest within {} s", FAREWELL.as_secs())),
            }
        });
        // Nobody waits for it any more when stdout broke.
        drop(done.send(trouble));
    };
    let spawned = thread::Builder::new().name(String::from("publish")).spawn(body);
    spawned.map(|_thread| Publishing { trouble, give_up }).map_err(|error| error.to_string())
}

impl Publishing {
    /// Waits for the hub to take what is left, though not for ever. Says what went wrong, if anything did.
    fn farewell(self) -> Option<String> {
        let trouble = self.trouble.recv_timeout(FAREWELL).or_else(|_late| {
            // The thread may just have ended by itself.
            self.give_up.send(()).ok();
            self.trouble.recv()
        });
        trouble.unwrap_or_else(|_broke| Some(String::from("the publishing thread broke")))
    }
}

#[cfg(test)]
mod tests;
