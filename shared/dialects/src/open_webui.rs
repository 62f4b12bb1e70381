//! Open WebUI: the events that its server sends to a page about one message, `{"type", "data"}`, alone or
//! inside of `{"chat_id", "message_id", "data"}`.
//!
//! ```text
//! {"type":"status","data":{"description":"Searching","done":false}}
//! {"type":"message","data":{"content":"It is "}}
//! {"type":"replace","data":{"content":"<details type=\"tool_calls\" done=\"true\" id=\"c1\" name=\"now\" arguments=\"{}\">…</details>\nIt is noon."}}
//! {"type":"chat:completion","data":{"output":[{"type":"message","content":[{"type":"output_text","text":"It is noon."}]}],"done":true}}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `message`, `chat:message:delta` | more of the message |
//! | `replace`, `chat:message` | the whole message |
//! | `chat:completion` | content, items (`output`), deltas of a chat completion, tokens, errors, the end |
//! | `status` | a status; `done` says whether something still goes on |
//! | `chat:message:error` | a failure |
//! | `files`, `embeds`, `source`, `citation` | custom events |
//! | `chat:title` | the title of the run |
//! | `chat:tasks:cancel` | the run is cancelled |
//! | `notification`, `confirmation`, `input`, `execute`, tags, tasks, follow-ups | custom events |
//! | anything else | raw |
//!
//! The message is text that grows or is replaced as a whole, with calls, reasoning and code as `<details>`
//! blocks in it (`content`); newer servers send a list of items instead, all of it each time (`output`). What
//! comes again is compared with what was written, so that only what is new becomes an event.
//!
//! Streams of pipes have no end of their own: one that ends with nothing open is whole.

use super::agents::unwrapped;
use super::fault::fault;
use super::field::{ForeignField, ForeignFields};
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::openai_chat::usage;
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{Kind, RunStatus, RunUpdate, Usage};

mod content;
mod details;
mod output;
mod page;

use content::ContentReader;
use page::OpenWebUiMessage;

/// The name of the dialect.
pub const NAME: &str = "open-webui";

/// Most objects around an event that are unwrapped.
const WRAPPINGS_MAX: usize = 4;

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(OpenWebUiMeaning {
        writer: EventWriter::new(NAME, options),
        page: OpenWebUiMessage::default(),
        content: ContentReader::default(),
        usage: None,
        is_busy: false,
    }))
}

/// The meaning of the events about one message.
#[derive(Debug)]
struct OpenWebUiMeaning {
    writer: EventWriter,
    /// What was written of the message.
    page: OpenWebUiMessage,
    /// Reads the text of the message.
    content: ContentReader,
    /// The tokens that were reported last.
    usage: Option<Usage>,
    /// The last status said that something still goes on.
    is_busy: bool,
}

impl ObjectMeaning for OpenWebUiMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let Some(whole) = ForeignField::parse(text) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
        };
        let mut event = unwrapped(name, whole).1;
        for _ in 0..WRAPPINGS_MAX {
            let fields = ForeignFields::of(event);
            let inner = fields.get("data");
            if fields.get("type").text().is_some() || !inner.is_object() {
                break;
            }
            event = inner;
        }
        let fields = ForeignFields::of(event);
        self.writer.begin(fields.get("model").text().as_deref(), out);
        match fields.get("type").word() {
            Some(kind) => self.event(&kind, fields.get("data"), event, out),
            None if fields.get("choices").is_list() || fields.get("error").is_truthy() => {
                self.completion(event, out);
            }
            None => match fields.get("content").text() {
                Some(content) => self.set(&content, out),
                None => self.writer.raw(whole, None, out),
            },
        }
    }

    fn fail(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        let mut fact = fault(whole);
        let error = ForeignFields::of(whole).get("error");
        let inner = ForeignFields::of(if error.is_object() { error } else { whole });
        if let Some(content) = inner.get("content").word() {
            fact.message = content.into_owned();
        }
        self.writer.fail(fact, out);
    }

    fn done(&mut self, out: &mut Decoded) {
        self.close(Some(RunStatus::Complete), out);
    }

    fn finish(&mut self, out: &mut Decoded) {
        let is_whole = !self.is_busy && self.writer.is_running() && !self.content.is_inside();
        self.close(is_whole.then_some(RunStatus::Complete), out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl OpenWebUiMeaning {
    /// Takes an event of this type.
    fn event(&mut self, kind: &str, payload: ForeignField<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        let fields = ForeignFields::of(payload);
        let content = fields.get("content").text();
        match (kind, content) {
            ("message" | "chat:message:delta", Some(text)) => self.append(&text, out),
            ("replace" | "chat:message", Some(text)) => self.set(&text, out),
            ("status", _) => self.status(&fields, out),
            ("chat:completion", _) => self.completion(payload, out),
            ("chat:message:error", _) => self.fail(payload, out),
            ("files" | "chat:message:files", _) => self.custom("files", fields.get("files"), payload, out),
            ("embeds" | "chat:message:embeds", _) => {
                self.custom("embeds", fields.get("embeds"), payload, out);
            }
            ("source" | "citation", _) => self.custom("citation", payload, payload, out),
            ("chat:title", _) => self.title(payload, out),
            ("chat:tasks:cancel", _) => self.close(Some(RunStatus::Cancelled), out),
            (
                "notification"
                | "confirmation"
                | "input"
                | "execute"
                | "chat:tags"
                | "chat:message:tasks"
                | "chat:message:follow_ups",
                _,
            ) => {
                let name = kind.rsplit(':').next().unwrap_or(kind);
                self.custom(name, payload, payload, out);
            }
            _ => self.writer.raw(whole, None, out),
        }
    }

    /// Takes more of the message's text.
    fn append(&mut self, text: &str, out: &mut Decoded) {
        self.content.append(text, &mut self.page, &mut self.writer, out);
    }

    /// Takes the whole text of the message.
    fn set(&mut self, text: &str, out: &mut Decoded) {
        self.content.set(text, &mut self.page, &mut self.writer, out);
    }

    /// Writes a custom event with `inner`, or with `payload` if that is absent.
    fn custom(&mut self, name: &str, inner: ForeignField<'_>, payload: ForeignField<'_>, out: &mut Decoded) {
        self.writer.custom(name, if inner.is_some() { inner } else { payload }, None, out);
    }

    /// Writes a title, if there is one.
    fn title(&mut self, title: ForeignField<'_>, out: &mut Decoded) {
        let title = title.word().map(std::borrow::Cow::into_owned);
        if title.is_some() {
            self.writer.push(Kind::RunUpdate(RunUpdate { title, ..RunUpdate::default() }), out);
        }
    }

    /// Takes a status. A hidden one is not written, but says whether something goes on.
    fn status(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        self.is_busy = !fields.get("done").is_true();
        if let Some(text) = fields.get("description").word().filter(|_| !fields.get("hidden").is_true()) {
            self.writer.push(Kind::Status { text: text.into_owned() }, out);
        }
    }

    /// Takes the state of the answer, in whatever shape the server of that version has it. Items take the
    /// place of all text before.
    fn completion(&mut self, payload: ForeignField<'_>, out: &mut Decoded) {
        let fields = ForeignFields::of(payload);
        let output = fields.get("output");
        if output.is_list() && output.is_truthy() {
            // What the items say takes the place of all text before.
            output::set(output, &mut self.page, &mut self.writer, out);
            self.content = ContentReader::default();
        } else if let Some(content) = fields.get("content").text() {
            self.set(&content, out);
        }
        for choice in fields.get("choices").list() {
            let choice = ForeignFields::of(choice);
            let delta = ForeignFields::of(choice.any(&["delta", "message"]));
            if let Some(text) = delta.any(&["reasoning_content", "reasoning"]).word() {
                self.page.think(&text, &mut self.writer, out);
            }
            if let Some(text) = delta.get("content").word() {
                self.append(&text, out);
            }
        }
        for source in fields.get("sources").list() {
            self.writer.custom("citation", source, None, out);
        }
        self.usage = usage(fields.get("usage")).or(self.usage);
        self.title(fields.get("title"), out);
        if fields.get("error").is_truthy() {
            self.fail(payload, out);
        }
        if fields.get("done").is_true() {
            self.close(Some(RunStatus::Complete), out);
        }
    }

    /// Ends the message and its run.
    fn close(&mut self, status: Option<RunStatus>, out: &mut Decoded) {
        self.content.end(&mut self.page, &mut self.writer, out);
        std::mem::take(&mut self.page).close(&self.writer, out);
        self.content = ContentReader::default();
        let status = status.filter(|status| *status != RunStatus::Complete || !self.writer.has_failed());
        let usage = self.usage.take();
        self.writer.end(RunEnding { status, usage, ..RunEnding::default() }, out);
    }
}
