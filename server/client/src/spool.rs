//! Bytes that wait: filled without ever blocking, in memory first and in files beyond that, both bounded.
//!
//! ```text
//! offer ──▶ memory (newest) ──[ thread, when it is a quarter full ]──▶ files (older) ──▶ take
//!              └──────────────────── while there are no files ─────────────────────▶
//! ```
//!
//! The files have no names, so nothing of them is left when the process ends, however it ends. Once bytes do not fit, they
//! and all that come later are only counted: what a hub would make of a stream with a hole in it is worse than what it
//! makes of one that breaks off.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// Most bytes of one file; a file that was read is removed as a whole.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// What part of the memory is full when it is moved: the rest is for what comes while the disk is written to.
const SPILL_AT: usize = 4;

/// Bytes that are read from a file at once.
const READ_BYTES: u64 = 64 << 10;

/// A bounded queue of bytes, in memory and then on disk. Whoever makes one calls [`Spool::end`] when nothing more
/// comes.
#[derive(Debug)]
pub struct Spool {
    state: Mutex<SpoolState>,
    /// Woken when there is something to take, or the end has come.
    changed: Notify,
    /// Woken when there is enough in memory to be moved, or the end has come.
    filled: Condvar,
    memory_bytes_max: usize,
    disk_bytes_max: u64,
}

#[derive(Debug, Default)]
struct SpoolState {
    files: VecDeque<SpoolFile>,
    memory: VecDeque<Bytes>,
    memory_bytes: usize,
    /// Whether the thread has bytes in hand that belong between files and memory.
    moving: bool,
    /// Why nothing goes into files any more.
    stuck: Option<String>,
    ended: bool,
    standing: SpoolStatus,
}

/// How far a spool has come, in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpoolStatus {
    /// What was offered.
    pub offered: u64,
    /// What was taken out again.
    pub taken: u64,
    /// What went through files.
    pub spilled: u64,
    /// What did not fit.
    pub refused: u64,
    /// Why the files took no more, when they did not.
    pub stuck: Option<String>,
}

/// One of the files.
#[derive(Debug)]
struct SpoolFile {
    file: Arc<Mutex<File>>,
    written: u64,
    read: u64,
}

impl Spool {
    /// A spool of at most so many bytes in memory and in files; without files when `disk_bytes_max` is 0.
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

    /// Adds bytes, or counts them only when they do not fit. Never waits for a disk or for a reader.
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

    /// Nothing more will be offered.
    pub fn end(&self) {
        self.state.lock().ended = true;
        self.changed.notify_one();
        self.filled.notify_one();
    }

    /// Whether [`Spool::end`] was called.
    pub fn is_ended(&self) -> bool {
        self.state.lock().ended
    }

    /// How far it has come.
    pub fn standing(&self) -> SpoolStatus {
        let state = self.state.lock();
        SpoolStatus { stuck: state.stuck.clone(), ..state.standing.clone() }
    }

    /// The next bytes; nothing after the last, or after the last that fitted. For one reader, which may give up waiting.
    pub async fn take(&self) -> io::Result<Option<Bytes>> {
        loop {
            let changed = self.changed.notified();
            // Not in the head of the match, whose locks last to its end.
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

    /// Moves what is in memory into files whenever it is a quarter full, until the end.
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

/// What is to be taken.
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

    /// Removes files that were read to their end. The newest stays while the thread may write to it.
    fn drop_read(&mut self) {
        while let Some(piece) = self.files.front()
            && piece.read == piece.written
            && !(self.moving && self.files.len() == 1)
        {
            self.files.pop_front();
        }
    }

    /// What the files hold, with what was read of them.
    fn file_bytes(&self) -> u64 {
        self.files.iter().map(|piece| piece.written).sum()
    }

    /// The file that takes more, and where.
    fn file_for_more(&self) -> io::Result<(Arc<Mutex<File>>, u64)> {
        match self.files.back() {
            Some(piece) if piece.written < FILE_BYTES_MAX => Ok((Arc::clone(&piece.file), piece.written)),
            _ => Ok((Arc::new(Mutex::new(tempfile::tempfile()?)), 0)),
        }
    }

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

    /// The disk did not take it: it stays in memory, before what came meanwhile, though that may be too much by as much.
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
