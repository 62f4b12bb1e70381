//! `PUT /v1/conversations/{c}/events`: imports a conversation that `export --format native` has written. The
//! file is read to its end before anything is stored. If a line is wrong it is named, and nothing is stored.
//!
//! ```json
//! {"fanlight": "native", "version": 1, "conversation": "c"}
//! {"state": {"seq": 120}, "at": 1795300000000}
//! {"k": "run.start", "run": "r7", "seq": 121, "at": 1795300000123}
//! ```
//!
//! The line with the state is there only if the log no longer has the first events. Events follow one another
//! without a gap, from 1 or after the state. Empty lines are skipped.

use std::io::BufRead;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use model::code::ErrorCode;
use model::event::{Class, EventError};
use model::limits::{IMPORT_BYTES_MAX, NUMBER_MAX};
use model::{ConversationId, Envelope, Seq, View, snapshot};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::body;
use super::native::EventsReceipt;
use super::spool::{place, turn};
use crate::inbound::params::{self, Path};
use crate::inbound::problem::Problem;
use crate::work::Work;
use crate::work::{OpenKind, Task};
use hub::Fanout;
use hub::{History, ImportError};
use tokio_util::sync::CancellationToken;

/// The version of the file format that this hub writes and reads.
const VERSION: u32 = 1;

/// The name of the format in the first line.
const FORMAT: &str = "native";

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    /// The name of the format, [`FORMAT`].
    fanlight: String,
    /// The version of the format, [`VERSION`].
    version: u32,
    /// The name that the conversation had; the path decides which it gets.
    conversation: ConversationId,
}

/// The second line, if the log does not have the first events: the state that the events continue.
#[derive(Debug, Serialize, Deserialize)]
struct Begin<'a> {
    #[serde(borrow)]
    state: &'a RawValue,
    /// When the state was reached, in milliseconds since 1970.
    at: u64,
}

/// Makes the first line of a file of `conversation`.
pub(super) fn header(conversation: &ConversationId) -> Vec<u8> {
    let header = Header { fanlight: FORMAT.to_owned(), version: VERSION, conversation: conversation.clone() };
    line(&header)
}

/// Makes the line with a state and its time.
pub(super) fn begin(view: &View, at: u64) -> Vec<u8> {
    let state =
        String::from_utf8(snapshot::encode(view)).ok().and_then(|json| RawValue::from_string(json).ok());
    state.map(|state| line(&Begin { state: &state, at })).unwrap_or_default()
}

/// A value as a line of JSON.
fn line(value: &impl Serialize) -> Vec<u8> {
    // Names, numbers and JSON can always be written.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Makes the conversation from the file in the body, or nothing. Answers with the position, how many events
/// were taken and which anomalies the fold found. 400 `bad_event` with the line, 409 if the conversation has
/// events, 413 for a body over `IMPORT_BYTES_MAX`, 429 without a turn or a place, 503 while the hub drains.
/// An import is finished even if its client leaves meanwhile.
pub(crate) async fn import(
    State(fanout): State<Arc<Fanout>>,
    State(work): State<Arc<Work>>,
    State(drain): State<CancellationToken>,
    Path(conversation): Path<String>,
    request: Request,
) -> Result<Json<EventsReceipt>, Problem> {
    let conversation = params::conversation(&conversation)?;
    let durability = params::durability(request.headers(), fanout.hub().log().durability())?;
    if drain.is_cancelled() {
        return Err(Problem::shutting_down());
    }
    let _open = place(&work, OpenKind::Transfer)?;
    let mut body = body::spooled(request, IMPORT_BYTES_MAX, &work).await?;
    let turn = turn(&work, Task::of_bytes(usize::try_from(body.len()).unwrap_or(usize::MAX))).await?;
    // Reading takes some seconds for the largest files, which is too long for a thread that serves sockets.
    // It is finished even if its client leaves meanwhile, and holds its turn until then.
    let reading = work.run(move || (read(body.reader()), turn));
    let (history, turn) =
        reading.await.map_err(|error| Problem::new(ErrorCode::Internal, error.to_string()))?;
    let imported = fanout.hub().import(&conversation, history?).await?;
    drop(turn);
    fanout.deliver(&conversation);
    // The import has waited for the highest durability that the log offers.
    Ok(Json(EventsReceipt::of(imported.position, imported.events, imported.anomalies, durability)))
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        if let ImportError::Open(error) = error {
            return error.into();
        }
        Self::new(error.code(), error.to_string())
    }
}

/// Reads the whole file; the problem names the line that is wrong.
fn read(body: impl BufRead) -> Result<History, Problem> {
    let mut history = History::default();
    let mut seq: Seq = 0;
    let mut has_header = false;
    for (number, line) in (1..).zip(body.split(b'\n')) {
        let wrong = |why: String| Problem::new(ErrorCode::BadEvent, format!("line {number}: {why}"));
        let line = line?;
        let text = std::str::from_utf8(&line).map_err(|error| wrong(error.to_string()))?.trim();
        if text.is_empty() {
            continue;
        }
        if !has_header {
            check(text).map_err(wrong)?;
            has_header = true;
            continue;
        }
        if seq == 0
            && let Ok(begin) = serde_json::from_str::<Begin<'_>>(text)
        {
            let view =
                snapshot::decode(begin.state.get().as_bytes()).map_err(|error| wrong(error.to_string()))?;
            bounded("state.seq", view.seq).and_then(|()| bounded("at", begin.at)).map_err(wrong)?;
            seq = view.seq;
            history.state = Some((view, begin.at));
            continue;
        }
        let envelope = event(text, seq.saturating_add(1)).map_err(wrong)?;
        seq = envelope.seq;
        history.envelopes.push(envelope);
    }
    match seq {
        0 => Err(Problem::new(ErrorCode::BadEvent, "there is nothing in the file")),
        _ => Ok(history),
    }
}

/// Refuses a number that is larger than any that is taken from outside.
fn bounded(field: &'static str, number: u64) -> Result<(), String> {
    let error = EventError::Number { field, number };
    if number > NUMBER_MAX { Err(error.to_string()) } else { Ok(()) }
}

/// Checks the first line.
fn check(text: &str) -> Result<(), String> {
    let header: Header = serde_json::from_str(text)
        .map_err(|error| format!("this is not how an export of the format native begins: {error}"))?;
    match (header.fanlight.as_str(), header.version) {
        (FORMAT, VERSION) => Ok(()),
        (FORMAT, other) => Err(format!("version {other} of the format is not known here, only {VERSION} is")),
        (other, _) => Err(format!("the format is {other:?}, not {FORMAT:?}")),
    }
}

/// Reads one event, which must have the seq `expected` (I1) and be of a kind that the log keeps.
fn event(text: &str, expected: Seq) -> Result<Envelope, String> {
    let envelope = Envelope::received(text).map_err(|error| error.to_string())?;
    if envelope.seq != expected {
        return Err(format!("the event has the seq {}, {expected} is expected", envelope.seq));
    }
    if envelope.event.kind.class() == Class::Ephemeral {
        return Err(String::from("an event of this kind has no place in a log"));
    }
    Ok(envelope)
}

#[cfg(test)]
mod tests;
