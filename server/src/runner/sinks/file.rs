//! The sink into a file: one event a line. A file that is full is renamed, and the oldest removed.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::config::StreamFile;
use crate::log::blocking;
use crate::runner::Place;
use crate::sink::shift;

/// Events that are written at once.
const AT_ONCE: usize = 256;

/// Writes what comes, until nothing more does.
pub(super) async fn run(
    target: &StreamFile,
    place: &Place,
    mut inbox: mpsc::Receiver<Arc<str>>,
    lost: &AtomicU64,
) {
    let path = match target.path.filled() {
        Ok(path) => PathBuf::from(path.replace("{thread_id}", place.conversation.as_str())),
        Err(why) => return tracing::warn!(why, "a sink of the provider has no file"),
    };
    let mut events = Vec::new();
    let mut open = None;
    let mut has_failed = false;
    while inbox.recv_many(&mut events, AT_ONCE).await > 0 {
        let mut lines = String::new();
        for event in &events {
            lines.push_str(event);
            lines.push('\n');
        }
        let written = blocking(|| write(target, &path, &mut open, lines.as_bytes()));
        if let Err(error) = written {
            lost.fetch_add(events.len() as u64, Ordering::Relaxed);
            open = None;
            if !std::mem::replace(&mut has_failed, true) {
                tracing::warn!(path = %path.display(), %error, "a sink of the provider cannot write");
            }
        }
        events.clear();
    }
}

fn write(target: &StreamFile, path: &Path, open: &mut Option<(File, u64)>, lines: &[u8]) -> io::Result<()> {
    let is_full = |bytes: u64| target.max_bytes.is_some_and(|max| bytes >= max);
    let (mut file, bytes) = match open.take() {
        Some(known) => known,
        None => append_to(path)?,
    };
    let mut bytes = bytes;
    if is_full(bytes) {
        shift(path, target.keep)?;
        (file, bytes) = append_to(path)?;
    }
    file.write_all(lines)?;
    *open = Some((file, bytes.saturating_add(lines.len() as u64)));
    Ok(())
}

fn append_to(path: &Path) -> io::Result<(File, u64)> {
    if let Some(folder) = path.parent() {
        create_dir_all(folder)?;
    }
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}
