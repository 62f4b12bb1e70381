//! Marks the secrets in the texts of an event. What comes in pieces is left to [`crate::EventStreams`].

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use compact_str::CompactString;
use model::Json;
use model::event::{Event, FileKind, Kind, LabelChange, MessageFile};

use crate::marks::Redactor;

impl Redactor {
    /// Marks the secrets in the name of a file, and in its contents if that is a text. Others are left as they are: what
    /// is inside of pictures and PDF is not looked at.
    fn file(&self, file: &mut MessageFile) {
        self.name(&mut file.name);
        if file.kind() != Some(FileKind::Text) {
            return;
        }
        let bytes = file.data.as_deref().and_then(|data| STANDARD.decode(data).ok());
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(marked) = text.and_then(|text| self.text(&text)) {
            *file = MessageFile::new(&file.name, &file.mime, STANDARD.encode(marked));
        }
    }

    /// Marks the secrets in all texts of `event` that are whole: all but those of deltas and of replaced parts. Ids are left as they are,
    /// since others name them.
    pub fn event(&self, event: &mut Event) {
        match &mut event.kind {
            Kind::PartDelta { .. }
            | Kind::ToolArgs { .. }
            | Kind::ToolOutput { .. }
            | Kind::PartReplace { .. } => {}
            Kind::RunStart(start) => {
                self.names([&mut start.model, &mut start.dialect, &mut start.name, &mut start.host]);
                self.optional(&mut start.title);
            }
            Kind::RunUpdate(update) => {
                self.names([&mut update.model, &mut update.finish_reason]);
                self.optional(&mut update.title);
            }
            Kind::RunEnd(end) => self.names([&mut end.finish_reason]),
            Kind::AgentStart(start) => {
                self.names([&mut start.model, &mut start.name]);
                self.optional(&mut start.text);
            }
            Kind::AgentEnd(end) => self.names([&mut end.model]),
            Kind::Message(message) => {
                self.name(&mut message.role);
                self.string(&mut message.text);
                message.files.iter_mut().for_each(|file| self.file(file));
            }
            Kind::PartEnd(end) => self.optional(&mut end.signature),
            Kind::ToolStart(start) => {
                self.name(&mut start.name);
                self.names([&mut start.given_id]);
            }
            Kind::ToolCall { name, arguments, .. } => {
                self.names([name]);
                if let Some(text) = arguments
                    && let Some(marked) = self.json_text(text)
                {
                    *text = marked;
                }
            }
            Kind::ToolResult(result) => {
                self.json(&mut result.output);
                self.optional_json(&mut result.files);
                self.optional_json(&mut result.embeds);
            }
            Kind::ToolProgress(progress) => {
                self.optional(&mut progress.text);
                self.names([&mut progress.phase]);
                self.optional_json(&mut progress.data);
            }
            Kind::Status { text } => self.string(text),
            Kind::Error(error) => {
                self.name(&mut error.code);
                self.string(&mut error.message);
            }
            Kind::ApprovalRequest { text, .. } | Kind::ApprovalAnswer { text, .. } => self.optional(text),
            Kind::Label(change) => self.label(change),
            Kind::Custom { name, value } | Kind::Raw { name, value } => {
                self.name(name);
                self.json(value);
            }
            Kind::Anomaly(anomaly) => self.string(&mut anomaly.detail),
            Kind::Unknown(unknown) => self.fields(&mut unknown.fields),
            Kind::Fork { .. }
            | Kind::RunStalled { .. }
            | Kind::PartStart { .. }
            | Kind::ToolState(_)
            | Kind::Rate { .. } => {}
        }
    }

    /// Marks what people wrote about a conversation.
    fn label(&self, change: &mut LabelChange) {
        self.optional(&mut change.title);
        self.optional(&mut change.note);
        if let Some(rating) = &mut change.rating {
            self.optional(&mut rating.why);
        }
        for tag in change.tags.iter_mut().flatten() {
            self.name(tag);
        }
    }

    pub(crate) fn string(&self, text: &mut String) {
        if let Some(marked) = self.text(text) {
            *text = marked;
        }
    }

    pub(crate) fn optional(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.string(text);
        }
    }

    pub(crate) fn name(&self, name: &mut CompactString) {
        if let Some(marked) = self.text(name) {
            *name = marked.into();
        }
    }

    pub(crate) fn names<const N: usize>(&self, names: [&mut Option<CompactString>; N]) {
        names.into_iter().flatten().for_each(|name| self.name(name));
    }

    pub(crate) fn optional_json(&self, json: &mut Option<Json>) {
        if let Some(json) = json {
            self.json(json);
        }
    }
}
