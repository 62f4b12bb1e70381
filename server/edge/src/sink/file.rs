//! The sink into a file: one line of JSON for each event, with its conversation and epoch. A full file is
//! renamed, and the oldest is deleted.
//!
//! The file itself keeps the positions: each file begins with the positions of all conversations that were
//! known then. So a hub that starts again reads the newest file and continues it. Events from before the sink
//! was set up are not passed on.
//!
//! In a new epoch a conversation either goes on with its old events or is a different one of the same name.
//! The time of the last written event distinguishes them; a different one is written from its first event.
//!
//! ```json
//! {"conversation": "c", "epoch": "3k9f", "after": 41, "at": 1795300000000}
//! {"conversation": "c", "epoch": "3k9f", "k": "part.delta", "run": "r7", "seq": 42, "at": 1795300000123}
//! {"conversation": "c", "epoch": "3k9f", "missing": [43, 90]}
//! ```
//!
//! A write that fails is repeated every two seconds from the same place; the file is cut back to its last
//! whole line first.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::time::Duration;

use event_log::{LogError, blocking};
use indexmap::IndexMap;
use model::frame::Durability;
use model::{ConversationId, Envelope, Epoch, Seq};
use serde::{Deserialize, Serialize};

use super::{FileTarget, Flush, Source};
use agents::rotate;
use hub::Conversation;

/// The pause before the next attempt after a failed write.
const RETRY: Duration = Duration::from_secs(2);

/// Most conversations whose position is remembered. One that is forgotten would be written from its first
/// event again.
const PLACES_MAX: usize = 100_000;

/// A line with an event.
#[derive(Serialize)]
struct FileLine<'a> {
    conversation: &'a ConversationId,
    epoch: &'a Epoch,
    #[serde(flatten)]
    envelope: &'a Envelope,
}

/// A line at the beginning of a file: the events of this conversation begin after this position.
#[derive(Serialize)]
struct Begin<'a> {
    conversation: &'a ConversationId,
    epoch: &'a Epoch,
    after: Seq,
    /// When the event `after` was taken, in milliseconds since 1970; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
}

/// A line in the place of events that the hub no longer has.
#[derive(Serialize)]
struct Hole<'a> {
    conversation: &'a ConversationId,
    epoch: &'a Epoch,
    /// The first and the last missing seq.
    missing: (Seq, Seq),
}

/// The position up to which a conversation is written.
#[derive(Debug, Clone)]
struct Written {
    epoch: Epoch,
    /// The last event that is written.
    seq: Seq,
    /// When the event `seq` was taken, in milliseconds since 1970, if known.
    at: Option<u64>,
}

/// The position that a line of any kind states.
#[derive(Deserialize)]
struct FilePosition {
    conversation: ConversationId,
    epoch: Epoch,
    /// The seq of a line with an event.
    seq: Option<Seq>,
    /// The seq of a line at the beginning of a file.
    after: Option<Seq>,
    at: Option<u64>,
    /// The first and the last seq of a hole.
    missing: Option<(Seq, Seq)>,
}

/// The file that is written, and the position of each conversation in it. Owned by the task of the sink.
/// Dropping it closes the file; a new one continues it.
pub(super) struct Files {
    /// The path of the file, and the size at which the next one begins.
    target: FileTarget,
    /// The open file, and how many bytes of events it has; `None` before the first write and after a failure.
    open: Option<(File, u64)>,
    /// The least recently added position comes first.
    places: IndexMap<ConversationId, Written>,
}

/// Writes events as they come until the hub drains, and then once more what is left.
pub(super) async fn run(source: Source, mut files: Files) {
    blocking(|| files.go_on(&source));
    let drain = source.drain.clone();
    loop {
        let done = files.round(&source).await;
        if drain.is_cancelled() {
            return;
        }
        tokio::select! {
            () = source.follower.changed(), if done => {}
            () = tokio::time::sleep(RETRY), if !done => {}
            () = drain.cancelled() => {}
        }
    }
}

impl Files {
    /// Makes the file if it does not exist. Everything that was said before stays out of it, and everything
    /// after comes into it, so nothing may be published before this returns. Reads the list and one event of
    /// each conversation.
    pub(super) fn set_up(target: FileTarget, source: &Source) -> Self {
        let mut files = Self { target, open: None, places: IndexMap::new() };
        if files.target.path.exists() {
            return files;
        }
        for row in source.rows() {
            let at = source.logged_at(&row.conversation, row.head);
            files.remember(row.conversation, Written { epoch: row.epoch, seq: row.head, at });
        }
        match files.open() {
            Ok(open) => files.open = Some(open),
            Err(error) => {
                tracing::warn!(path = %files.target.path.display(), %error, "a sink cannot write");
            }
        }
        files
    }

    /// Continues an existing file from the positions that it states, and looks at all conversations.
    fn go_on(&mut self, source: &Source) {
        if self.open.is_none() && self.places.is_empty() {
            self.read();
        }
        for id in source.all() {
            source.follower.tell(&id);
        }
    }

    /// Reads the positions in the file.
    fn read(&mut self) {
        let Ok(file) = File::open(&self.target.path) else { return };
        for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
            // A crash may have cut the last line; that event is written again.
            let Ok(place) = serde_json::from_slice::<FilePosition>(&line) else { continue };
            let missing = place.missing.map(|(_, last)| last);
            if let Some(seq) = place.seq.or(place.after).or(missing) {
                self.remember(place.conversation, Written { epoch: place.epoch, seq, at: place.at });
            }
        }
    }

    /// Remembers a position, in the place of the oldest one beyond the limit.
    fn remember(&mut self, id: ConversationId, written: Written) {
        if self.places.len() >= PLACES_MAX && !self.places.contains_key(&id) {
            self.places.shift_remove_index(0);
        }
        self.places.insert(id, written);
    }

    /// Writes the events of conversations that moved. False if some could not be written.
    async fn round(&mut self, source: &Source) -> bool {
        let mut failed = Vec::new();
        for id in source.moved() {
            let Some(conversation) = source.find(&id) else { continue };
            if let Err(error) = self.follow(source, &conversation).await {
                tracing::warn!(conversation = %id, path = %self.target.path.display(), %error, "a sink cannot write");
                // The file is opened again, which cuts off what was begun.
                self.open = None;
                failed.push(id);
            }
        }
        for id in &failed {
            source.follower.tell(id);
        }
        failed.is_empty()
    }

    /// Writes everything that comes after the position of a conversation, and a line for events that the hub
    /// no longer has. Fails if the file or the log does; what was written before counts.
    async fn follow(&mut self, source: &Source, conversation: &Conversation) -> io::Result<()> {
        let (id, epoch) = (conversation.id(), conversation.epoch());
        loop {
            let known = self.places.get(id).filter(|written| goes_on(source, conversation, written));
            let after = known.map_or(0, |written| written.seq);
            let mut lines = Vec::new();
            let (last, at) = match source.read(conversation, after).await {
                Ok(envelopes) => {
                    for envelope in &envelopes {
                        let envelope = &*source.whole(conversation, envelope);
                        line(&mut lines, &FileLine { conversation: id, epoch, envelope })?;
                    }
                    envelopes.last().map_or((after, None), |envelope| (envelope.seq, Some(envelope.at)))
                }
                Err(LogError::Gone { begins_after }) => {
                    line(&mut lines, &Hole { conversation: id, epoch, missing: (after + 1, begins_after) })?;
                    (begins_after, None)
                }
                Err(error) => return Err(io::Error::other(error)),
            };
            if last == after {
                return Ok(());
            }
            blocking(|| self.write(&lines))?;
            self.remember(id.clone(), Written { epoch: epoch.clone(), seq: last, at });
        }
    }

    /// Writes lines, to a new file if the present one is full.
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let (file, bytes) = match self.open.take() {
            Some((file, bytes)) if bytes < self.target.max_bytes => (file, bytes),
            Some(_) => self.rotate()?,
            None => self.open()?,
        };
        let (file, bytes) = self.open.insert((file, bytes));
        file.write_all(lines)?;
        if self.target.flush == Flush::Synced {
            file.sync_data()?;
        }
        *bytes = bytes.saturating_add(lines.len() as u64);
        Ok(())
    }

    /// Opens the file to continue it and cuts off the line that a crash has left incomplete. A new file
    /// begins with the positions.
    fn open(&self) -> io::Result<(File, u64)> {
        if let Some(folder) = self.target.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&self.target.path)?;
        let (whole, events) = whole_bytes(&self.target.path)?;
        if whole < file.metadata()?.len() {
            file.set_len(whole)?;
        }
        if whole == 0 {
            let mut lines = Vec::new();
            for (conversation, Written { epoch, seq, at }) in &self.places {
                line(&mut lines, &Begin { conversation, epoch, after: *seq, at: *at })?;
            }
            file.write_all(&lines)?;
        }
        Ok((file, events))
    }

    /// Renames the full file and opens a new one. The oldest file beyond the number that is kept is deleted.
    fn rotate(&self) -> io::Result<(File, u64)> {
        rotate(&self.target.path, self.target.keep)?;
        self.open()
    }
}

/// Whether `written` is a position in the conversation as it is now.
fn goes_on(source: &Source, conversation: &Conversation, written: &Written) -> bool {
    let Written { epoch, seq, at } = written;
    if *seq > conversation.head() {
        return false;
    }
    if epoch == conversation.epoch() || *seq == 0 {
        return true;
    }
    match at {
        Some(at) => source.taken_at(conversation, *seq) == Some(*at),
        // After a hole, or if an older version wrote the line without a time: with a log that stores events,
        // a new epoch goes on with the old events.
        None => source.hub.log().durability() >= Durability::Stored,
    }
}

/// How many bytes of the file are whole lines, and how many of these are lines after its beginning. Reads the
/// file.
fn whole_bytes(path: &Path) -> io::Result<(u64, u64)> {
    let mut reader = BufReader::new(File::open(path)?);
    let (mut whole, mut events, mut line) = (0_u64, 0_u64, Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        if line.last() == Some(&b'\n') {
            whole = whole.saturating_add(line.len() as u64);
            let is_event =
                serde_json::from_slice::<FilePosition>(&line).is_ok_and(|place| place.after.is_none());
            events = events.saturating_add(if is_event { line.len() as u64 } else { 0 });
        }
        line.clear();
    }
    Ok((whole, events))
}

/// Appends `value` as a line of JSON.
fn line(lines: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *lines, value)?;
    lines.push(b'\n');
    Ok(())
}
