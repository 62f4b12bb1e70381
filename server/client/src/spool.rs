//! A queue of bytes that never blocks its writer: in memory first, then in files, both bounded.
//!
//! ```text
//! offer ──▶ memory (newest) ──[ thread, when it is a quarter full ]──▶ files (older) ──▶ take
//!              └──────────────────── while there are no files ─────────────────────▶
//! ```
//!
//! The files have no names, so nothing of them is left when the process ends, however it ends.
//!
//! Once bytes do not fit, they and all later ones are only counted: a stream with a hole is worse for a hub
//! than one that breaks off.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// The most bytes of one file; a file is removed once it was read completely.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The memory is moved to disk when this fraction of it (one in so many) is full; the rest is for bytes that
/// arrive during the writing.
const SPILL_AT: usize = 4;

/// How many bytes are read from a file at a time.
const READ_BYTES: u64 = 64 << 10;

/// A bounded queue of bytes, in memory and then on disk. The owner must call [`Spool::end`] when no more
/// bytes come.
#[derive(Debug)]
pub struct Spool {
    state: Mutex<SpoolState>,
    /// Notified when there is something to take, or the end was reached.
    changed: Notify,
    /// Notified when there is enough in memory to be moved, or the end was reached.
    filled: Condvar,
    memory_bytes_max: usize,
    disk_bytes_max: u64,
}

#[derive(Debug, Default)]
struct SpoolState {
    files: VecDeque<SpoolFile>,
    memory: VecDeque<Bytes>,
    memory_bytes: usize,
    /// Whether the thread is moving bytes that belong between the files and the memory.
    moving: bool,
    /// Why no more bytes are moved to files.
    stuck: Option<String>,
    ended: bool,
    standing: SpoolStatus,
}

/// The progress of a spool, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpoolStatus {
    /// Bytes that were offered.
    pub offered: u64,
    /// Bytes that were taken out.
    pub taken: u64,
    /// Bytes that were moved to files.
    pub spilled: u64,
    /// Bytes that did not fit and were refused.
    pub refused: u64,
    /// Why the files could not be written, if they could not.
    pub stuck: Option<String>,
}

/// A file of the spool.
#[derive(Debug)]
struct SpoolFile {
    file: Arc<Mutex<File>>,
    written: u64,
    read: u64,
}

impl Spool {
    /// A spool with at most this many bytes in memory and in files; without files if `disk_bytes_max` is 0.
    /// It starts a thread.
    pub fn new(memory_bytes_max: usize, disk_bytes_max: u64) -> Arc<Self> {
        let spool = Arc::new(Self {
            state: Mutex::default(),
            changed: Notify::new(),
            filled: Condvar::new(),
            memory_bytes_max,
            disk_bytes_max,
        });
        let mover = Arc::clone(&spool);
        let spawned = thread::Builder::new().name(String::from("spool")).spawn(move || mover.spill());
        if let Err(error) = spawned {
            spool.state.lock().stuck = Some(error.to_string());
        }
        spool
    }

    /// Adds bytes, or only counts them if they do not fit. Never waits for a disk or a reader.
    pub fn offer(&self, bytes: Bytes) {
        let mut state = self.state.lock();
        state.standing.offered = state.standing.offered.saturating_add(bytes.len() as u64);
        let memory_bytes = state.memory_bytes.saturating_add(bytes.len());
        if state.standing.refused > 0 || memory_bytes > self.memory_bytes_max {
            state.standing.refused = state.standing.refused.saturating_add(bytes.len() as u64);
        } else {
            state.memory_bytes = memory_bytes;
            state.memory.push_back(bytes);
        }
        let is_due = state.memory_bytes >= self.memory_bytes_max / SPILL_AT;
        drop(state);
        self.changed.notify_one();
        if is_due {
            self.filled.notify_one();
        }
    }

    /// Notes that no more bytes will be offered.
    pub fn end(&self) {
        self.state.lock().ended = true;
        self.changed.notify_one();
        self.filled.notify_one();
    }

    /// Whether [`Spool::end`] was called.
    pub fn is_ended(&self) -> bool {
        self.state.lock().ended
    }

    /// The progress so far.
    pub fn standing(&self) -> SpoolStatus {
        let state = self.state.lock();
        SpoolStatus { stuck: state.stuck.clone(), ..state.standing.clone() }
    }

    /// Waits for the next bytes; `None` after the last ones, or after the last ones that fitted. For one
    /// reader; the wait can be cancelled.
    pub async fn take(&self) -> io::Result<Option<Bytes>> {
        loop {
            let changed = self.changed.notified();
            // Not in the head of the match, where the lock would be held until its end.
            let next = self.state.lock().next();
            match next {
                SpoolRead::File(file, offset, count) => return self.read(&file, offset, count).map(Some),
                SpoolRead::Memory(bytes) => return Ok(Some(bytes)),
                SpoolRead::End => return Ok(None),
                SpoolRead::Wait => {}
            }
            changed.await;
        }
    }

    fn read(&self, file: &Mutex<File>, offset: u64, count: u64) -> io::Result<Bytes> {
        let mut bytes = Vec::new();
        {
            let mut file = file.lock();
            file.seek(SeekFrom::Start(offset))?;
            (&mut *file).take(count).read_to_end(&mut bytes)?;
        }
        let mut state = self.state.lock();
        state.standing.taken = state.standing.taken.saturating_add(bytes.len() as u64);
        if let Some(piece) = state.files.front_mut() {
            piece.read = piece.read.saturating_add(bytes.len() as u64);
        }
        state.drop_read();
        Ok(Bytes::from(bytes))
    }

    /// Moves the memory to files whenever it is full enough, until the end.
    fn spill(&self) {
        let mut state = self.state.lock();
        loop {
            let is_full = state.memory_bytes >= self.memory_bytes_max / SPILL_AT;
            let fits = state.file_bytes().saturating_add(state.memory_bytes as u64) <= self.disk_bytes_max;
            if state.ended {
                return;
            }
            if !is_full || !fits || state.stuck.is_some() {
                self.filled.wait(&mut state);
                continue;
            }
            let pieces = std::mem::take(&mut state.memory);
            let bytes = std::mem::take(&mut state.memory_bytes);
            state.moving = true;
            let file = state.file_for_more();
            drop(state);
            let written = file.and_then(|(file, offset)| {
                write(&file, offset, &pieces)?;
                Ok(file)
            });
            state = self.state.lock();
            state.moving = false;
            match written {
                Ok(file) => state.moved(file, bytes as u64),
                Err(error) => state.put_back(pieces, bytes, &error),
            }
            self.changed.notify_one();
        }
    }
}

fn write(file: &Mutex<File>, offset: u64, pieces: &VecDeque<Bytes>) -> io::Result<()> {
    let mut file = file.lock();
    file.seek(SeekFrom::Start(offset))?;
    for piece in pieces {
        file.write_all(piece)?;
    }
    Ok(())
}

/// The next step of a reader.
enum SpoolRead {
    File(Arc<Mutex<File>>, u64, u64),
    Memory(Bytes),
    Wait,
    End,
}

impl SpoolState {
    fn next(&mut self) -> SpoolRead {
        if let Some(piece) = self.files.front()
            && piece.read < piece.written
        {
            let count = piece.written.saturating_sub(piece.read).min(READ_BYTES);
            return SpoolRead::File(Arc::clone(&piece.file), piece.read, count);
        }
        if self.moving {
            return SpoolRead::Wait;
        }
        if let Some(bytes) = self.memory.pop_front() {
            self.memory_bytes = self.memory_bytes.saturating_sub(bytes.len());
            self.standing.taken = self.standing.taken.saturating_add(bytes.len() as u64);
            return SpoolRead::Memory(bytes);
        }
        if self.ended || self.standing.refused > 0 { SpoolRead::End } else { SpoolRead::Wait }
    }

    /// Removes files that were read completely. The newest one stays while the thread may write to it.
    fn drop_read(&mut self) {
        while let Some(piece) = self.files.front()
            && piece.read == piece.written
            && !(self.moving && self.files.len() == 1)
        {
            self.files.pop_front();
        }
    }

    /// The bytes in the files, including what was read of them.
    fn file_bytes(&self) -> u64 {
        self.files.iter().map(|piece| piece.written).sum()
    }

    /// The file to which more is written, and the offset.
    fn file_for_more(&self) -> io::Result<(Arc<Mutex<File>>, u64)> {
        match self.files.back() {
            Some(piece) if piece.written < FILE_BYTES_MAX => Ok((Arc::clone(&piece.file), piece.written)),
            _ => Ok((Arc::new(Mutex::new(tempfile::tempfile()?)), 0)),
        }
    }

    /// Notes bytes that were moved to `file`.
    fn moved(&mut self, file: Arc<Mutex<File>>, bytes: u64) {
        self.standing.spilled = self.standing.spilled.saturating_add(bytes);
        match self.files.back_mut() {
            Some(piece) if Arc::ptr_eq(&piece.file, &file) => {
                piece.written = piece.written.saturating_add(bytes);
            }
            _ => self.files.push_back(SpoolFile { file, written: bytes, read: 0 }),
        }
        self.drop_read();
    }

    /// Takes back bytes that the disk refused: they stay in memory, before those that arrived meanwhile, even
    /// if that exceeds the limit.
    fn put_back(&mut self, mut pieces: VecDeque<Bytes>, bytes: usize, error: &io::Error) {
        pieces.append(&mut self.memory);
        self.memory = pieces;
        self.memory_bytes = self.memory_bytes.saturating_add(bytes);
        self.stuck = Some(error.to_string());
        self.drop_read();
    }
}

#[cfg(test)]
mod tests;
