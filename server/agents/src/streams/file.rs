//! The sink into a file: one event per line. A full file is renamed, and the oldest is deleted.
//!
//! Runs that write to one file share one writer: a second one would not know that the first has renamed the
//! file.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf, absolute};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use event_log::blocking;
use tokio::sync::{Mutex, mpsc};

use crate::rotate::rotate;
use crate::run::RunAddress;
use crate::settings::StreamFile;

/// Most events that are written at once.
const AT_ONCE: usize = 256;

/// The writers in use, by path.
type Writers = BTreeMap<PathBuf, Weak<Mutex<Writer>>>;

/// The writers of this process.
static WRITERS: parking_lot::Mutex<Writers> = parking_lot::Mutex::new(Writers::new());

/// Writes to one file, for all runs that use it.
#[derive(Debug)]
struct Writer {
    /// The absolute path of the file.
    path: PathBuf,
    /// The file and its size in bytes, while it is open.
    open: Option<(File, u64)>,
}

/// Writes events until no more can come.
pub(super) async fn run(
    target: &StreamFile,
    place: &RunAddress,
    mut inbox: mpsc::Receiver<Arc<str>>,
    lost: &AtomicU64,
) {
    let path = match target.path.filled() {
        Ok(path) => PathBuf::from(path.replace("{thread_id}", place.conversation.as_str())),
        Err(why) => return tracing::warn!(why, "a sink of the provider has no file"),
    };
    let writer = writer_at(&path);
    let mut events = Vec::new();
    let mut has_failed = false;
    while inbox.recv_many(&mut events, AT_ONCE).await > 0 {
        let mut lines = String::new();
        for event in &events {
            lines.push_str(event);
            lines.push('\n');
        }
        let mut turn = writer.lock().await;
        let written = blocking(|| turn.write(target, lines.as_bytes()));
        drop(turn);
        if let Err(error) = written {
            lost.fetch_add(events.len() as u64, Ordering::Relaxed);
            if !std::mem::replace(&mut has_failed, true) {
                tracing::warn!(path = %path.display(), %error, "a sink of the provider cannot write");
            }
        }
        events.clear();
    }
    // The file may have been moved away. The next writer opens whatever is at the path then.
    writer.lock().await.open = None;
}

/// The one writer of a file. It is dropped with the last run that uses it.
fn writer_at(path: &Path) -> Arc<Mutex<Writer>> {
    // One file may be named in two ways. A path that cannot be made absolute cannot be opened either.
    let path = absolute(path).unwrap_or_else(|_no_name| path.to_owned());
    let mut writers = WRITERS.lock();
    writers.retain(|_, writer| writer.strong_count() > 0);
    if let Some(writer) = writers.get(&path).and_then(Weak::upgrade) {
        return writer;
    }
    let writer = Arc::new(Mutex::new(Writer { path: path.clone(), open: None }));
    writers.insert(path, Arc::downgrade(&writer));
    writer
}

impl Writer {
    /// Writes whole lines. After a failure the file is closed, and its end is checked when it is opened
    /// again.
    fn write(&mut self, target: &StreamFile, lines: &[u8]) -> io::Result<()> {
        let is_full = |bytes: u64| target.max_bytes.is_some_and(|max| bytes >= max);
        let (mut file, mut bytes) = match self.open.take() {
            Some(known) => known,
            None => append_to(&self.path)?,
        };
        if is_full(bytes) {
            rotate(&self.path, target.keep)?;
            (file, bytes) = append_to(&self.path)?;
        }
        file.write_all(lines)?;
        self.open = Some((file, bytes.saturating_add(lines.len() as u64)));
        Ok(())
    }
}

/// Opens the file for appending, at the beginning of a line.
fn append_to(path: &Path) -> io::Result<(File, u64)> {
    if let Some(folder) = path.parent() {
        create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let bytes = file.metadata()?.len();
    if bytes == 0 || ends_a_line(path)? {
        return Ok((file, bytes));
    }
    // The last line was torn by a failed write or a crash. The next event must not be appended to it.
    file.write_all(b"\n")?;
    Ok((file, bytes.saturating_add(1)))
}

/// Whether the last line of a file that is not empty is complete.
fn ends_a_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0_u8];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
