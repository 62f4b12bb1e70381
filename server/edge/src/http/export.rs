//! `GET /v1/conversations/{c}/export/{format}`: a conversation as a file, or one turn or run of it. Documents
//! are made from the view; native events and dialects from the log, piece by piece. Each piece is made when
//! it is this request's turn, and waits for the reader in a file. So an export takes bounded memory, however
//! large it is and however slow its reader.
//!
//! | format | is made of | is |
//! |---|---|---|
//! | `md`, `html`, … | the view | a document for people or other programs |
//! | `jsonl` | the log | the events as they are, one per line |
//! | `native` | the log, or the state if it lacks the beginning | what [`import`] reads |
//! | a name of a dialect | the log | a stream in that dialect, as a recording of it |

use std::io::{self, Write as _};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use compact_str::CompactString;
use encode::document::export::{DocumentFormat, DocumentOptions, FORMATS, format};
use encode::document::only::{ExportSelection, is_of};
use encode::{ENCODINGS, Encode, EncodeOptions, EncoderSpec, encoding};
use event_log::LogError;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use model::code::ErrorCode;
use model::limits::PIECE_BYTES_TARGET;
use model::{Envelope, Seq, View};

use super::conversations::{find, masked, tag, unchanged};
use super::import;
use super::spool::{Spool, place, spooled, turn, written};
use crate::inbound::caller::Caller;
use crate::inbound::params::{Path, Query};
use crate::inbound::problem::Problem;
use crate::work::Work;
use crate::work::{Open, OpenKind, Task, Turn};
use hub::Conversation;
use hub::Hub;

/// Most events that are read from the log at once.
const PAGE: usize = 1_000;

/// The two formats that contain the events themselves.
const NATIVE: [&str; 2] = [LINES, "native"];

/// The format with nothing but the events.
const LINES: &str = "jsonl";

/// The policy in case a browser shows the file after all: a page without an origin that may do nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

/// `GET /v1/conversations/{c}/export/{format}`: answers with the conversation in the wanted format, as a file
/// to be saved. 304 if the client has that position; 404 `unknown_dialect` for an unknown format,
/// `unknown_conversation`, or `not_found` for a run or turn that is not there; 410 for events that the log
/// has not kept; 429 without a turn or a place.
pub(crate) async fn export(
    (State(hub), State(work)): (State<Arc<Hub>>, State<Arc<Work>>),
    caller: Caller,
    Path((name, wanted)): Path<(String, String)>,
    Query(choice): Query<DocumentOptions>,
    Query(only): Query<ExportSelection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let conversation = find(&hub, &work, &name).await?;
    let wanted = ExportFormat::of(&wanted).ok_or_else(|| unknown(&wanted))?;
    if let Some(unchanged) = unchanged(&conversation, &caller, &headers) {
        return Ok(unchanged);
    }
    let whose = Source { conversation: Arc::clone(&conversation), caller };
    match wanted {
        ExportFormat::Document(format) => document_of((hub, work), &whose, format, choice, only).await,
        ExportFormat::Events => {
            stream_of((hub, work), whose, "application/x-ndjson", "jsonl", Writer::Lines, only).await
        }
        ExportFormat::Native if only.name().is_some() => {
            Err(Problem::bad_request("native is a whole conversation; jsonl has the events of one turn"))
        }
        ExportFormat::Native => native((hub, work), whose).await,
        ExportFormat::Dialect(dialect) => {
            let extension = if dialect.content_type.contains("json") { "jsonl" } else { "sse" };
            let options = EncodeOptions {
                conversation: CompactString::new(conversation.id().as_str()),
                ..EncodeOptions::default()
            };
            let writer = Writer::Dialect(dialect.encoder(&options));
            stream_of((hub, work), whose, dialect.content_type, extension, writer, only).await
        }
    }
}

/// The format of an export. A name that a document and a dialect share means the document.
enum ExportFormat {
    /// A document made of the view.
    Document(&'static DocumentFormat),
    /// The events alone, one per line.
    Events,
    /// The events with a header, to be imported.
    Native,
    /// A stream in a dialect.
    Dialect(&'static EncoderSpec),
}

impl ExportFormat {
    /// The format of that name; `None` if there is none.
    fn of(name: &str) -> Option<Self> {
        if NATIVE.contains(&name) {
            return Some(if name == LINES { Self::Events } else { Self::Native });
        }
        format(name).map(Self::Document).or_else(|| encoding(name).map(Self::Dialect))
    }
}

/// The problem for an unknown format; it names all formats.
fn unknown(wanted: &str) -> Problem {
    let documents = FORMATS.iter().map(|format| format.name);
    // If a dialect and a document have the same name, it means the document.
    let dialects = ENCODINGS.iter().map(|encoding| encoding.name).filter(|name| format(name).is_none());
    let names: Vec<&str> = NATIVE.into_iter().chain(documents).chain(dialects).collect();
    let detail = format!("there is no format {wanted:?}; there are {}", names.join(", "));
    Problem::new(ErrorCode::UnknownDialect, detail)
}

/// What is exported, and to whom. Everything read from it passes through the caller's role.
#[derive(Debug, Clone)]
struct Source {
    conversation: Arc<Conversation>,
    caller: Caller,
}

impl Source {
    /// `view` as the caller is told it.
    fn masked(&self, view: View) -> View {
        masked(self.caller.mask().map(AsRef::as_ref), view)
    }

    /// What the caller is told of `envelope`, which was read from the log; nothing where that is all of it.
    fn told(&self, envelope: &Arc<Envelope>) -> Option<Vec<Arc<Envelope>>> {
        let mask = self.caller.mask()?;
        Some(self.conversation.read_view(|view| mask.read(std::slice::from_ref(envelope), view)))
    }
}

/// The part of the view that `only` names. Fails with `not_found` if there is none.
fn reduced(conversation: &Conversation, only: &ExportSelection) -> Result<View, Problem> {
    let mut view = conversation.view();
    if only.reduce(&mut view) {
        return Ok(view);
    }
    let detail = format!("the conversation has no {:?}", only.name().unwrap_or_default());
    Err(Problem::new(ErrorCode::NotFound, detail))
}

/// Makes a document from the view.
async fn document_of(
    (hub, work): (Arc<Hub>, Arc<Work>),
    source: &Source,
    format: &'static DocumentFormat,
    choice: DocumentOptions,
    only: ExportSelection,
) -> Result<Response, Problem> {
    let (from, part) = (source.clone(), only.clone());
    let make = move |spool: &mut Spool| {
        let mut view = reduced(&from.conversation, &part)?;
        hub.make_whole(&from.conversation, &mut view);
        let view = from.masked(view);
        format.write(&view, from.conversation.id().as_str(), choice, spool)?;
        Ok(view.seq)
    };
    let (seq, body) = spooled(&work, source.conversation.read_view(Task::of), make).await?;
    Ok(file(source, &only, format.content_type, format.extension, seq, body))
}

/// Exports what can be imported again: the events, or the state if the log does not have all of them, because
/// it forgot the first or could not keep some one by one.
async fn native((hub, work): (Arc<Hub>, Arc<Work>), source: Source) -> Result<Response, Problem> {
    let conversation = Arc::clone(&source.conversation);
    let (header, all) = (import::header(conversation.id()), ExportSelection::default());
    let begins_later = matches!(hub.read(&conversation, 0, 1).await, Err(LogError::Gone { .. }));
    if begins_later || hub.gap(&conversation).await?.is_some() {
        let from = source.clone();
        let make = move |spool: &mut Spool| {
            let (view, at) = from.conversation.state();
            let view = from.masked(view);
            spool.write_all(&header)?;
            spool.write_all(&import::begin(&view, at))?;
            Ok(view.seq)
        };
        let (seq, body) = spooled(&work, conversation.read_view(Task::of), make).await?;
        return Ok(file(&source, &all, "application/x-ndjson", "native.jsonl", seq, body));
    }
    let writer = Writer::Native(header);
    stream_of((hub, work), source, "application/x-ndjson", "native.jsonl", writer, all).await
}

/// Appends an event as a line of JSON.
fn line(out: &mut Vec<u8>, envelope: &Envelope) -> io::Result<()> {
    serde_json::to_writer(&mut *out, envelope)?;
    out.push(b'\n');
    Ok(())
}

/// The form in which events are written to the file.
enum Writer {
    /// The events as they are, one per line.
    Lines,
    /// The events for an import: after this first line, and with whole results.
    Native(Vec<u8>),
    /// A stream in a dialect, written by its encoder.
    Dialect(Box<dyn Encode>),
}

/// A file that is made while it is sent. The body of the answer owns it; dropping it, when the client leaves,
/// gives back the place among the transfers.
struct Sending {
    hub: Arc<Hub>,
    work: Arc<Work>,
    source: Source,
    writer: Writer,
    /// The runs and messages that are wanted; `None` for all.
    part: Option<View>,
    /// The last event that was written.
    at: Seq,
    /// The last event that will be written.
    head: Seq,
    is_over: bool,
    /// The place of the file among the transfers that are open.
    _open: Open,
}

/// Exports events by `writer`, from the first to the present head; what is appended meanwhile is not in the
/// file. Fails before the first byte with `gone` if the log has not kept all of them, or with `too_many`. A
/// later failure cuts the connection, so that the file is not taken for complete.
async fn stream_of(
    (hub, work): (Arc<Hub>, Arc<Work>),
    source: Source,
    content_type: &'static str,
    extension: &str,
    writer: Writer,
    only: ExportSelection,
) -> Result<Response, Problem> {
    let conversation = Arc::clone(&source.conversation);
    let open = place(&work, OpenKind::Transfer)?;
    let turn = turn(&work, Task::Piece).await?.turn();
    if let Some((first, last)) = hub.gap(&conversation).await? {
        let detail = format!(
            "the log has not kept the events {first} to {last} of {} one by one; documents and the format native have \
             what came of them",
            conversation.id()
        );
        return Err(Problem::new(ErrorCode::Gone, detail));
    }
    let part = only.name().map(|_| reduced(&conversation, &only)).transpose()?;
    let (head, from) = (conversation.head(), source.clone());
    let sending = Sending { hub, work, source: from, writer, part, at: 0, head, is_over: false, _open: open };
    // If even the first piece cannot be made, the request is refused, instead of a file that breaks off.
    let (first, sending) = sending.next(turn).await?;
    let rest = stream::try_unfold(sending, |sending| async {
        if sending.is_over {
            return Ok(None);
        }
        // However long the turn takes: the reader already has the beginning.
        let turn = sending.work.turn(Task::Piece).await;
        sending.next(turn).await.map(Some).map_err(|problem| io::Error::other(problem.told().1))
    });
    let pieces = stream::iter([Ok(first)]).chain(rest);
    let bytes = pieces.map_ok(|piece| piece.into_data_stream().map_err(io::Error::other)).try_flatten();
    Ok(file(&source, &only, content_type, extension, head, Body::from_stream(bytes)))
}

impl Sending {
    /// Writes what the caller is told of one event.
    fn write(&mut self, envelope: &Arc<Envelope>, out: &mut Vec<u8>) {
        match self.source.told(envelope) {
            None => self.write_told(envelope, out),
            Some(told) => {
                for envelope in &told {
                    self.write_told(envelope, out);
                }
            }
        }
    }

    /// Writes one event if it is wanted. With its whole result it may have megabytes.
    fn write_told(&mut self, envelope: &Envelope, out: &mut Vec<u8>) {
        if self.part.as_ref().is_some_and(|part| !is_of(part, &envelope.event)) {
            return;
        }
        let written = match &mut self.writer {
            Writer::Lines => line(out, envelope),
            Writer::Native(_) => line(out, &self.hub.made_whole(&self.source.conversation, envelope)),
            Writer::Dialect(encoder) => {
                encoder.event(&self.hub.made_whole(&self.source.conversation, envelope), out);
                Ok(())
            }
        };
        // Writing to memory cannot fail, and an event contains nothing that cannot be written.
        drop(written);
    }

    /// Makes the next piece, of about [`PIECE_BYTES_TARGET`] bytes or of one event, when it is this request's
    /// turn.
    async fn next(self, turn: Turn) -> Result<(Body, Self), Problem> {
        let work = Arc::clone(&self.work);
        let left = usize::try_from(self.head.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let page = match left {
            0 => Vec::new(),
            _ => self.hub.read(&self.source.conversation, self.at, left.min(PAGE)).await?.envelopes,
        };
        let (sending, spool) = written(work, turn, move |spool| self.fill(spool, &page)).await?;
        Ok((spool.body(), sending))
    }

    /// Writes as much of `page`, which begins with the next event, as fits into a piece.
    fn fill(mut self, spool: &mut Spool, page: &[Arc<Envelope>]) -> Result<Self, Problem> {
        let mut out = match &mut self.writer {
            Writer::Native(header) => std::mem::take(header),
            _ => Vec::new(),
        };
        let (from, head) = (self.at, self.head);
        for envelope in page.iter().filter(|envelope| envelope.seq <= head) {
            self.write(envelope, &mut out);
            spool.write_all(&out)?;
            out.clear();
            self.at = envelope.seq;
            if spool.len() >= PIECE_BYTES_TARGET as u64 {
                break;
            }
        }
        if self.at >= head {
            self.is_over = true;
            if let Writer::Dialect(encoder) = &mut self.writer {
                encoder.end(&mut out);
            }
        } else if self.at == from {
            return Err(LogError::Unreadable(Arc::from("the log has less than its head")).into());
        }
        spool.write_all(&out)?;
        Ok(self)
    }
}

/// The answer: a file with a name, in the state of `seq`.
fn file(
    Source { conversation, caller }: &Source,
    only: &ExportSelection,
    content_type: &'static str,
    extension: &str,
    seq: Seq,
    body: Body,
) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    let part = only.name().map(|name| format!("-{name}")).unwrap_or_default();
    let name = format!("{}{part}.{extension}", conversation.id());
    let texts = [
        (header::CONTENT_TYPE, content_type.to_owned()),
        (header::CONTENT_DISPOSITION, disposition(&name)),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::ETAG, tag(conversation, caller, seq)),
        (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
    ];
    for (header, text) in texts {
        // All of these are ASCII, so they can be headers.
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(header, value);
        }
    }
    response
}

/// The header that makes a browser save the file as `name`: in ASCII for old browsers, exactly for others.
fn disposition(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let mut plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    if plain.starts_with('.') {
        plain.insert(0, '_');
    }
    let letter = |byte: u8| {
        if is_plain(char::from(byte)) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    let exact = name.bytes().map(letter).collect::<Vec<_>>().concat();
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

#[cfg(test)]
mod tests;
