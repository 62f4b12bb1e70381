//! The audit log in the data folder: `audit.jsonl`, for its owner alone, which is only appended to; older
//! parts beside it under the number of their last line; and `audit.head`, which says where it ended last, so
//! that lines cut off at the end are missed.
//!
//! The crate `access` decides what a line holds and whether lines follow one another.
//!
//! ```text
//! audit-000000000412.jsonl   closed parts, up to 15, by the number of their last line
//! audit.jsonl                the newest part, at most 4 MiB
//! audit.head                 number and hash of the last line
//! ```
//!
//! A line that a crash has left unfinished is taken away at the next start and noted.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use access::audit::{AuditCheck, AuditEntry, AuditHead, Audited, AuditedAction, NotedViews, RefusalBudget};
use access::{TokenRecord, Tokens};
use parking_lot::Mutex;

use super::store::{StoreError, private, shown};
use event_log::clock;

/// From so many bytes on a part of the log is closed and another one begun.
pub const AUDIT_PART_BYTES_MAX: u64 = 4 << 20;

/// Most parts that are kept, the one that is written to among them; the oldest goes for another one.
pub const AUDIT_PARTS_MAX: usize = 16;

/// The part that is written to.
const NEWEST: &str = "audit.jsonl";

/// The file that notes where the log ended last.
const HEAD: &str = "audit.head";

/// The name of the principal for what the hub does by itself.
const HUB: &str = "hub";

/// The audit log of a hub. Owned by the gate. Lines are appended under one lock, so they are in the order of
/// their numbers; each is given to the operating system before `write` returns, and not synced.
#[derive(Debug)]
pub(crate) struct AuditLog {
    /// The data folder of the hub.
    folder: PathBuf,
    /// From so many bytes on a part is closed; [`AUDIT_PART_BYTES_MAX`] outside of tests.
    part_bytes_max: u64,
    state: Mutex<Writing>,
}

/// The end of the log, behind its lock.
#[derive(Debug)]
struct Writing {
    /// The number and the hash of the last line, which the next line has to follow.
    head: AuditHead,
    /// Bytes of the newest part.
    bytes: u64,
    /// How many refusals may still be written in this minute.
    budget: RefusalBudget,
    /// The views that were written lately.
    views: NotedViews,
}

/// What a log holds, read from its beginning to its end.
#[derive(Debug)]
pub struct AuditReport {
    /// The number and hash of the last line.
    pub head: AuditHead,
    /// The number of entries that are kept.
    pub entries: u64,
    /// The first line that does not follow the one before: its file, its number in that file, and why.
    pub fault: Option<(String, u64, String)>,
    /// The names of tokens that were made and not taken back, as far as the log knows.
    tokens: BTreeSet<String>,
    /// When the last entry was written, in milliseconds since 1970.
    last_at: u64,
}

/// A page of the log.
#[derive(Debug)]
pub(crate) struct AuditPage {
    /// The entries of the page, the newest first.
    pub(crate) entries: Vec<AuditEntry>,
    /// Whether older ones are kept.
    pub(crate) more: bool,
    /// The number and hash of the last line of the log.
    pub(crate) head: AuditHead,
}

fn wrong(path: &Path) -> impl Fn(io::Error) -> StoreError + '_ {
    |error| StoreError::Io { path: shown(path), error }
}

/// The parts of the log of `folder`, the oldest first.
fn parts(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut older = Vec::new();
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files.map_err(wrong(folder))?,
    };
    for file in files {
        let name = file.map_err(wrong(folder))?.file_name();
        let Some(name) = name.to_str() else { continue };
        let number = name.strip_prefix("audit-").and_then(|rest| rest.strip_suffix(".jsonl"));
        if let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) {
            older.push((number, folder.join(name)));
        }
    }
    older.sort();
    let newest = folder.join(NEWEST);
    let newest = newest.exists().then_some(newest);
    Ok(older.into_iter().map(|(_, path)| path).chain(newest).collect())
}

/// Reads the whole log of `folder` and checks whether each line follows the one before. The first fault is in
/// the report; an error means that a file cannot be read. A folder without a log is an empty log.
pub fn verify(folder: &Path) -> Result<AuditReport, StoreError> {
    let mut check = AuditCheck::default();
    let mut report = AuditReport {
        head: AuditHead::default(),
        entries: 0,
        fault: None,
        tokens: BTreeSet::new(),
        last_at: 0,
    };
    let remembered = read_head(folder)?;
    let mut is_met = remembered.n == 0;
    for path in parts(folder)? {
        let text = fs::read_to_string(&path).map_err(wrong(&path))?;
        for (number, line) in (1..).zip(text.lines()) {
            match check.take(line) {
                Ok(entry) => report.note(&entry),
                Err(fault) => report.fail(&path, number, fault.to_string()),
            }
            is_met |= check.head() == remembered;
        }
    }
    if !is_met {
        let why =
            format!("{HEAD} says that the log went up to the entry {}, which is not there", remembered.n);
        report.fail(&folder.join(NEWEST), check.entries(), why);
    }
    report.head = check.head();
    report.entries = check.entries();
    Ok(report)
}

/// Notes in the audit log of `folder`, if there is one, that somebody on this machine erased `what` from the files of its hub, which is stopped. Fails where the
/// log cannot be read or written.
pub fn note_erasure(folder: &Path, conversation: Option<&str>, what: &str) -> Result<(), StoreError> {
    // Without access control there is none.
    if parts(folder)?.is_empty() {
        return Ok(());
    }
    let (log, _, _) = AuditLog::found(folder, AUDIT_PART_BYTES_MAX)?;
    let erased = Audited::new(AuditedAction::Erase, "").with(format!("fanlight erase: {what}"));
    let erased = match conversation {
        Some(conversation) => erased.about(conversation),
        None => erased,
    };
    let mut state = log.state.lock();
    log.try_append(&mut state, erased)
}

impl AuditReport {
    /// Notes a fault; only the first counts.
    fn fail(&mut self, path: &Path, line: u64, why: String) {
        self.fault.get_or_insert_with(|| (shown(path), line, why));
    }

    /// Notes when an entry was written, and which tokens there are after it.
    fn note(&mut self, entry: &AuditEntry) {
        self.last_at = entry.at;
        let Some(name) = &entry.what.detail else { return };
        match entry.what.deed {
            AuditedAction::CreateToken => drop(self.tokens.insert(name.clone())),
            AuditedAction::RevokeToken => drop(self.tokens.remove(name)),
            _ => {}
        }
    }
}

/// Where the log ended when it was last written; the beginning if there is no file.
fn read_head(folder: &Path) -> Result<AuditHead, StoreError> {
    let path = folder.join(HEAD);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(AuditHead::default()),
        text => text.map_err(wrong(&path))?,
    };
    serde_json::from_str(&text).map_err(|error| StoreError::Json { path: shown(&path), error })
}

/// Takes away what a crash has left of a line at the end of the log. How many bytes that were.
fn mend(folder: &Path) -> Result<u64, StoreError> {
    let path = folder.join(NEWEST);
    let bytes = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        bytes => bytes.map_err(wrong(&path))?,
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let torn = bytes.len() - whole;
    if torn > 0 {
        let file = private().write(true).open(&path).map_err(wrong(&path))?;
        file.set_len(whole as u64).map_err(wrong(&path))?;
    }
    Ok(torn as u64)
}

impl AuditLog {
    /// The log of `folder`, which is looked through first, and says from here on that the hub has begun. `tokens` are those that there
    /// are: what became of them while no hub ran is noted.
    pub(crate) fn open(folder: &Path, tokens: &Tokens) -> Result<Self, StoreError> {
        Self::open_with(folder, tokens, AUDIT_PART_BYTES_MAX)
    }

    pub(super) fn open_with(folder: &Path, tokens: &Tokens, part_bytes_max: u64) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(wrong(folder))?;
        let (log, report, torn) = Self::found(folder, part_bytes_max)?;
        let mut start = Audited::new(AuditedAction::Start, HUB);
        if let Some((file, line, why)) = &report.fault {
            tracing::error!(file, line, why, "the audit log was changed by somebody else");
            start =
                start.with(format!("line {line} of {file} does not follow: {why}")).failed("audit_broken");
        } else if torn > 0 {
            start = start.with(format!("{torn} bytes of a line that was not finished were taken away"));
        }
        log.write(start);
        log.tokens_changed(&report.tokens, tokens, report.last_at);
        Ok(log)
    }

    /// The log that is in `folder`, what it holds, and how many bytes of an unfinished line were taken away. Nothing is written.
    fn found(folder: &Path, part_bytes_max: u64) -> Result<(Self, AuditReport, u64), StoreError> {
        let torn = mend(folder)?;
        let report = verify(folder)?;
        let bytes = fs::metadata(folder.join(NEWEST)).map_or(0, |about| about.len());
        let (budget, views) = (RefusalBudget::default(), NotedViews::default());
        let state = Mutex::new(Writing { head: report.head.clone(), bytes, budget, views });
        Ok((Self { folder: folder.to_owned(), part_bytes_max, state }, report, torn))
    }

    /// Notes which tokens came and went since `before`.
    pub(crate) fn tokens_between(&self, before: &Tokens, now: &Tokens) {
        let names = before.all().map(|record| record.name.to_string()).collect();
        self.tokens_changed(&names, now, 0);
    }

    /// Notes which tokens there are that are not `known`, and which known ones there are no more. `since`, in
    /// milliseconds since 1970, leaves out tokens that were made before it; 0 leaves out none.
    fn tokens_changed(&self, known: &BTreeSet<String>, now: &Tokens, since: u64) {
        // What was made before the log began, or before what is kept of it, is no news.
        let is_new = |record: &&TokenRecord| {
            !known.contains(record.name.as_str()) && (since == 0 || record.created >= since)
        };
        for record in now.all().filter(is_new) {
            self.write(Audited::new(AuditedAction::CreateToken, HUB).with(record.name.as_str()));
        }
        let there: BTreeSet<&str> = now.all().map(|record| record.name.as_str()).collect();
        for name in known.iter().filter(|name| !there.contains(name.as_str())) {
            self.write(Audited::new(AuditedAction::RevokeToken, HUB).with(name.as_str()));
        }
    }

    /// Writes what somebody did. Refusals are written up to a number in each minute, and views of one conversation by one principal once in
    /// ten. A log that cannot be written is said loudly, and
    /// stops nobody.
    pub(crate) fn write(&self, what: Audited) {
        let mut state = self.state.lock();
        if what.deed == AuditedAction::Refused {
            let (is_written, left_out) = state.budget.take(clock::now_ms());
            if let Some(count) = left_out {
                let more = format!("{count} more refusals of the minute before were not written");
                self.append(&mut state, Audited::new(AuditedAction::Refused, HUB).with(more));
            }
            if !is_written {
                return;
            }
        }
        if what.deed == AuditedAction::View {
            let conversation = what.conversation.as_deref().unwrap_or_default();
            if !state.views.take(&what.who, conversation, clock::now_ms()) {
                return;
            }
        }
        self.append(&mut state, what);
    }

    fn append(&self, state: &mut Writing, what: Audited) {
        if let Err(error) = self.try_append(state, what) {
            tracing::error!(%error, "an entry of the audit log was not written");
        }
    }

    /// Appends a line and then writes the head. A failure of the second leaves a head that is behind the log,
    /// which [`verify`] accepts.
    fn try_append(&self, state: &mut Writing, what: Audited) -> Result<(), StoreError> {
        let (mut line, head) = state.head.next(what, clock::now_ms());
        line.push('\n');
        if state.bytes > 0 && state.bytes + line.len() as u64 > self.part_bytes_max {
            self.begin_part(state)?;
        }
        let path = self.folder.join(NEWEST);
        let mut file = private().append(true).create(true).open(&path).map_err(wrong(&path))?;
        file.write_all(line.as_bytes()).map_err(wrong(&path))?;
        state.bytes += line.len() as u64;
        state.head = head;
        let head = serde_json::to_string(&state.head);
        let path = self.folder.join(HEAD);
        let head = head.map_err(|error| StoreError::Json { path: shown(&path), error })?;
        write_head(&path, &head).map_err(wrong(&path))
    }

    /// Closes the newest part under the number of its last line.
    fn begin_part(&self, state: &mut Writing) -> Result<(), StoreError> {
        let newest = self.folder.join(NEWEST);
        let closed = self.folder.join(format!("audit-{:012}.jsonl", state.head.n));
        fs::rename(&newest, &closed).map_err(wrong(&newest))?;
        state.bytes = 0;
        let all = parts(&self.folder)?;
        for old in all.iter().take((all.len() + 1).saturating_sub(AUDIT_PARTS_MAX)) {
            fs::remove_file(old).map_err(wrong(old))?;
        }
        Ok(())
    }

    /// Up to `limit` entries with numbers below `before`, the newest first. Reads whole parts, and holds the
    /// lock meanwhile.
    pub(crate) fn page(&self, before: u64, limit: usize) -> Result<AuditPage, StoreError> {
        // Nothing is written meanwhile, so no part is closed under the reader.
        let state = self.state.lock();
        let mut entries = Vec::new();
        for path in parts(&self.folder)?.iter().rev() {
            let text = fs::read_to_string(path).map_err(wrong(path))?;
            for line in text.lines().rev() {
                let Ok(entry) = serde_json::from_str::<AuditEntry>(line) else { continue };
                if entry.n < before {
                    entries.push(entry);
                }
                if entries.len() > limit {
                    entries.truncate(limit);
                    return Ok(AuditPage { entries, more: true, head: state.head.clone() });
                }
            }
        }
        Ok(AuditPage { entries, more: false, head: state.head.clone() })
    }
}

/// Puts `text` in place of what the file holds. The loss of power may take it: then it says less than the log.
fn write_head(path: &Path, text: &str) -> io::Result<()> {
    let fresh = path.with_extension("head.new");
    let mut file: File = private().write(true).create(true).truncate(true).open(&fresh)?;
    file.write_all(text.as_bytes())?;
    drop(file);
    fs::rename(&fresh, path)
}

#[cfg(test)]
mod tests;
