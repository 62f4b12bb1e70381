//! Notes which runs the calls through the proxy of this hub have open, in a small file beside its log. A call dies with the process that passes
//! it on, so the next life of the hub ends at once what it finds open there; other publishers it waits for.
//!
//! ```text
//! + 9c1d…  a run began, by the hash of its conversation and its name
//! - 9c1d…  it is over
//! ```
//!
//! The file is not synced: it outlives the process, and after a loss of power such a run is waited for like those of others. Who has
//! several hubs has a file for each, so no hub ends the calls of another.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use model::print::Fingerprint;
use model::{ConversationId, Envelope, Kind, RunId};
use parking_lot::Mutex;

use crate::access::private;

/// The name of the file.
pub(crate) const FILE: &str = "proxied-runs";

/// Most runs that are noted at the same time; beyond them a run is waited for after a crash like those of others.
const NOTED_MAX: usize = 10_000;

/// The file is written anew when it has so many more lines than runs are open.
const LINES_OVER: usize = 10_000;

/// The open runs of calls through the proxy, and those of the life before. Owned by the proxy. Its lock is held while a line is written,
/// by recorders alone.
#[derive(Debug, Default)]
pub(crate) struct OpenRunsFile {
    /// Where they are noted; `None` where everything goes with the process.
    noted: Option<Mutex<NotedRuns>>,
    /// What the life before left open, by hash.
    left: HashSet<String>,
}

/// The file and what it says.
#[derive(Debug)]
struct NotedRuns {
    /// The path of the file.
    path: PathBuf,
    /// The file; `None` if it could not be opened or written, and then nothing is noted any more.
    file: Option<File>,
    /// The hashes of the open runs, at most [`NOTED_MAX`].
    open: HashSet<String>,
    /// The number of lines in the file.
    lines: usize,
}

impl OpenRunsFile {
    /// Reads what the life before left open, and begins to note in the same file; `None` notes nothing. A file that cannot be read or
    /// written is logged: nothing depends on it but how soon a run ends after a crash.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        let Some(path) = path else { return Self::default() };
        let left = read(&path).unwrap_or_else(|error| {
            tracing::warn!(%error, path = %path.display(), "open runs of the proxy cannot be read");
            HashSet::new()
        });
        let mut noted = NotedRuns { path, file: None, open: HashSet::new(), lines: 0 };
        // What is left is ended as soon as the log is read back, and not needed after that.
        noted.write_anew();
        Self { noted: Some(Mutex::new(noted)), left }
    }

    /// Whether the life before left `run` of `conversation` open.
    pub(crate) fn has_left(&self, conversation: &ConversationId, run: &RunId) -> bool {
        !self.left.is_empty() && self.left.contains(&hash(conversation, run))
    }

    /// Notes the runs that begin in `events`. To be called before they are published, so that a crash between leaves no run out.
    pub(super) fn begin(&self, conversation: &ConversationId, events: &[Envelope]) {
        self.note(conversation, events, |kind| matches!(kind, Kind::RunStart(_)), NotedRuns::begin);
    }

    /// Notes the runs that end in `events`. To be called after they are published.
    pub(super) fn end(&self, conversation: &ConversationId, events: &[Envelope]) {
        self.note(conversation, events, |kind| matches!(kind, Kind::RunEnd(_)), NotedRuns::end);
    }

    fn note(
        &self,
        conversation: &ConversationId,
        events: &[Envelope],
        is_it: impl Fn(&Kind) -> bool,
        note: impl Fn(&mut NotedRuns, &str),
    ) {
        let Some(noted) = &self.noted else { return };
        for envelope in events.iter().filter(|envelope| is_it(&envelope.event.kind)) {
            note(&mut noted.lock(), &hash(conversation, &envelope.event.run));
        }
    }
}

impl NotedRuns {
    fn begin(&mut self, hash: &str) {
        if self.open.len() < NOTED_MAX && !self.open.contains(hash) {
            self.line('+', hash);
            self.open.insert(hash.to_owned());
        }
    }

    fn end(&mut self, hash: &str) {
        if self.open.remove(hash) {
            self.line('-', hash);
        }
    }

    /// Appends a line, or writes the file anew if it is long.
    fn line(&mut self, sign: char, hash: &str) {
        if self.lines >= self.open.len() + LINES_OVER {
            self.write_anew();
        }
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(format!("{sign}{hash}\n").as_bytes()) {
            tracing::warn!(%error, path = %self.path.display(), "open runs of the proxy are not noted any more");
            self.file = None;
        }
        self.lines += 1;
    }

    /// Writes a file with the open runs alone, and goes on in it.
    fn write_anew(&mut self) {
        let text = self.open.iter().map(|hash| format!("+{hash}\n")).collect::<Vec<_>>().concat();
        self.lines = self.open.len();
        self.file = match fresh(&self.path, &text) {
            Ok(file) => Some(file),
            Err(error) => {
                tracing::warn!(%error, path = %self.path.display(), "open runs of the proxy are not noted");
                None
            }
        };
    }
}

/// Puts a file with `text` in the place of the one at `path`, and returns it for more lines.
fn fresh(path: &Path, text: &str) -> io::Result<File> {
    let fresh = path.with_extension("new");
    let mut file = private().write(true).create(true).truncate(true).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&fresh, path)?;
    Ok(file)
}

/// The hashes of the runs that the file at `path` leaves open; of a damaged line nothing.
fn read(path: &Path) -> io::Result<HashSet<String>> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
        read => read?,
    };
    let mut open = HashSet::new();
    for line in text.lines() {
        if let Some(hash) = line.strip_prefix('+') {
            open.insert(hash.to_owned());
        } else if let Some(hash) = line.strip_prefix('-') {
            open.remove(hash);
        }
    }
    Ok(open)
}

/// Names a run in the file: what is erased from the log leaves no name there.
fn hash(conversation: &ConversationId, run: &RunId) -> String {
    Fingerprint::name_of(&[conversation.as_str(), run.as_str()])
}

#[cfg(test)]
mod tests {
    //! Tests of what is left open, and of the bounds.

    use model::Event;
    use model::event::{RunEnd, RunStart};

    use super::*;

    fn conversation() -> ConversationId {
        ConversationId::parse("c").unwrap()
    }

    fn said(run: &str, kind: Kind) -> [Envelope; 1] {
        let event = Event::new(&RunId::new(run), kind);
        [Envelope { event, seq: 0, at: 0, producer_at: None, publisher: None, by_hub: false }]
    }

    fn begin(runs: &OpenRunsFile, run: &str) {
        runs.begin(&conversation(), &said(run, Kind::RunStart(RunStart::default())));
    }

    fn end(runs: &OpenRunsFile, run: &str) {
        runs.end(&conversation(), &said(run, Kind::RunEnd(RunEnd::default())));
    }

    fn lines(path: &Path) -> usize {
        fs::read_to_string(path).unwrap().lines().count()
    }

    #[test]
    fn the_next_life_knows_what_was_open_and_the_one_after_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let runs = OpenRunsFile::new(Some(path.clone()));
        for run in ["a", "b"] {
            begin(&runs, run);
        }
        end(&runs, "a");
        let left =
            |runs: &OpenRunsFile| ["a", "b"].map(|run| runs.has_left(&conversation(), &RunId::new(run)));
        assert_eq!(left(&runs), [false, false], "nothing is left of this life");
        assert_eq!(left(&OpenRunsFile::new(Some(path.clone()))), [false, true]);
        assert_eq!(left(&OpenRunsFile::new(Some(path))), [false, false]);
        let nowhere = OpenRunsFile::new(None);
        begin(&nowhere, "a");
        assert_eq!(left(&nowhere), [false, false]);
    }

    #[test]
    fn i7_the_file_of_open_runs_is_bounded_and_so_is_what_it_notes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let runs = OpenRunsFile::new(Some(path.clone()));
        begin(&runs, "stays");
        for _ in 0..LINES_OVER {
            begin(&runs, "r");
            end(&runs, "r");
            assert!(runs.noted.as_ref().unwrap().lock().lines <= LINES_OVER + 2);
        }
        assert!(lines(&path) <= LINES_OVER + 2);
        for run in 0..NOTED_MAX + 5 {
            begin(&runs, &run.to_string());
        }
        assert_eq!(runs.noted.as_ref().unwrap().lock().open.len(), NOTED_MAX);
        let next = OpenRunsFile::new(Some(path));
        assert_eq!(next.left.len(), NOTED_MAX);
        assert!(next.has_left(&conversation(), &RunId::new("stays")));
    }
}
