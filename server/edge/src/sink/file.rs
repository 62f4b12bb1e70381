//! The sink into a file: one line for each event, with its conversation and epoch. The file is renamed when it is full, and
//! the oldest is removed.
//!
//! Its places are in the file itself: each file begins with the places of all conversations that were known by then, so a
//! hub that starts again reads the newest file and goes on behind it. What was said before the sink was set up is not
//! passed on.
//!
//! In a new epoch a conversation goes on with its old events or is another one under the same name. The time of the last
//! event that was written tells them apart; another one is written from its first event.

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

/// Before another try when the disk did not take something.
const RETRY: Duration = Duration::from_secs(2);

/// Most conversations whose place is remembered. One that is forgotten would be written from its first event again.
const PLACES_MAX: usize = 100_000;

/// A line of the file.
#[derive(Serialize)]
struct FileLine<'a> {
    conversation: &'a ConversationId,
    epoch: &'a Epoch,
    #[serde(flatten)]
    envelope: &'a Envelope,
}

/// At the beginning of a file: what comes next of a conversation comes after this.
#[derive(Serialize)]
struct Begin<'a> {
    conversation: &'a ConversationId,
    epoch: &'a Epoch,
    after: Seq,
    /// When the event `after` was taken; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
}

/// Instead of events that the hub does not have any more.
#[derive(Serialize)]
struct Hole<'a> {
    conversation: &'a ConversationId,
    epoch: &'a Epoch,
    /// The first and the last seq that are missing.
    missing: (Seq, Seq),
}

/// How far a conversation is written.
#[derive(Debug, Clone)]
struct Written {
    epoch: Epoch,
    seq: Seq,
    /// When the event `seq` was taken, as far as that is known.
    at: Option<u64>,
}

/// The places that lines say.
#[derive(Deserialize)]
struct FilePosition {
    conversation: ConversationId,
    epoch: Epoch,
    seq: Option<Seq>,
    after: Option<Seq>,
    at: Option<u64>,
    missing: Option<(Seq, Seq)>,
}

/// The file that is written, and how far each conversation is in it.
pub(super) struct Files {
    target: FileTarget,
    /// The open file and the bytes of its events.
    open: Option<(File, u64)>,
    places: IndexMap<ConversationId, Written>,
}

/// Writes what moves, until the hub drains; then what is there, once.
pub(super) async fn run(source: Source, mut files: Files) {
    blocking(|| files.go_on(&source));
    let drain = source.drain.clone();
    loop {
        let done = files.round(&source).await;
        if drain.is_cancelled() {
            return;
        }
        tokio::select! {
            () = source.follower.moved(), if done => {}
            () = tokio::time::sleep(RETRY), if !done => {}
            () = drain.cancelled() => {}
        }
    }
}

impl Files {
    /// Makes the file where there is none: what was said before stays out, and all that is said from now on comes into it. So
    /// nothing may be published before this has returned. Reads the list, and an event of each conversation.
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

    /// Goes on with a file that was there, behind the places that it says, and looks at everything there is.
    fn go_on(&mut self, source: &Source) {
        if self.open.is_none() && self.places.is_empty() {
            self.read();
        }
        for id in source.all() {
            source.follower.tell(&id);
        }
    }

    /// Reads the places that the file says.
    fn read(&mut self) {
        let Ok(file) = File::open(&self.target.path) else { return };
        for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
            // The last line may have been cut by a crash: it is written again.
            let Ok(place) = serde_json::from_slice::<FilePosition>(&line) else { continue };
            let missing = place.missing.map(|(_, last)| last);
            if let Some(seq) = place.seq.or(place.after).or(missing) {
                self.remember(place.conversation, Written { epoch: place.epoch, seq, at: place.at });
            }
        }
    }

    fn remember(&mut self, id: ConversationId, written: Written) {
        if self.places.len() >= PLACES_MAX && !self.places.contains_key(&id) {
            self.places.shift_remove_index(0);
        }
        self.places.insert(id, written);
    }

    /// Writes what moved. False when something is left that could not be written.
    async fn round(&mut self, source: &Source) -> bool {
        let mut failed = Vec::new();
        for id in source.moved() {
            let Some(conversation) = source.find(&id) else { continue };
            if let Err(error) = self.follow(source, &conversation).await {
                tracing::warn!(conversation = %id, path = %self.target.path.display(), %error, "a sink cannot write");
                // What was begun is read again from the last whole line.
                self.open = None;
                failed.push(id);
            }
        }
        for id in &failed {
            source.follower.tell(id);
        }
        failed.is_empty()
    }

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

    /// Opens the file to go on with it, without the line that a crash has cut. A new one begins with the places.
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

    fn rotate(&self) -> io::Result<(File, u64)> {
        rotate(&self.target.path, self.target.keep)?;
        self.open()
    }
}

/// Whether what was `written` is the beginning of the conversation as it is now.
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
        // Behind a hole, or written by a version that did not say it: where events are stored, a new epoch goes on with
        // the old ones.
        None => source.hub.log().durability() >= Durability::Stored,
    }
}

/// How many bytes of the file are whole lines, and how many of those are not its beginning.
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

fn line(lines: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *lines, value)?;
    lines.push(b'\n');
    Ok(())
}
