//! Steps of an interaction: what the model says and thinks, files, calls of the caller's tools and of the
//! vendor's own, their results.
//!
//! | type of step or delta | becomes |
//! |---|---|
//! | `text`, `model_output` | text; annotations are custom events `citation` |
//! | `thought`, `thought_summary`, `thought_signature` | reasoning; with a signature and no text it is hidden |
//! | `function_call`, `arguments_delta` | a call, handed over to the caller |
//! | `google_search_call` and other `…_call` | a call that the vendor executes |
//! | `…_result` | the result of a call, when the step stops |
//! | `image`, `audio`, `video`, `document` | a file |
//! | `user_input` | a message of the user |
//! | anything else | raw |

use compact_str::CompactString;

use super::wire::InteractionContent;
use crate::Decoded;
use crate::field::ForeignField;
use crate::gemini::data_url;
use crate::writer::{CallOutcome, EventWriter, OpenCall, OpenPart};
use model::event::PartKind;
use model::json::Json;

/// A step that has begun and not stopped. What it is shows only in its content.
#[derive(Debug, Default)]
pub(super) struct OpenStep {
    /// The open text or reasoning.
    part: Option<OpenPart>,
    /// A signature was received: a thought without text is hidden, not empty.
    is_signed: bool,
    /// Something of the step was written.
    has_told: bool,
    /// The call that it makes.
    call: Option<InteractionCall>,
    /// The result that it has, until it stops.
    result: Option<InteractionResult>,
}

/// A call as far as it is known. It begins once its id is known, or without one when arguments come or the
/// step stops.
#[derive(Debug)]
struct InteractionCall {
    id: CompactString,
    name: CompactString,
    server: bool,
    /// Arguments that came as a whole; they count only if none are streamed.
    input: Option<String>,
    /// The call in the events; nothing before it begins.
    open: Option<OpenCall>,
}

/// The result of a call, as far as it is known. Each delta may have some of its fields.
#[derive(Debug)]
struct InteractionResult {
    call_id: CompactString,
    output: Option<Json>,
    is_error: bool,
}

impl OpenStep {
    /// Takes the step as it begins, a delta of it, or a piece of its content.
    pub(super) fn take(&mut self, whole: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        self.take_nested(whole, 0, w, out);
    }

    /// Takes content; `depth` is 1 inside of a `model_output`, which cannot be in another one.
    fn take_nested(&mut self, whole: ForeignField<'_>, depth: u8, w: &mut EventWriter, out: &mut Decoded) {
        let body: InteractionContent<'_> = whole.object();
        let kind = body.kind.text().unwrap_or_default();
        match &*kind {
            "text" => {
                self.write(PartKind::Text, &body.text.text().unwrap_or_default(), w, out);
                annotate(body.annotations, w, out);
            }
            "text_annotation" | "text_annotation_delta" => annotate(body.annotations, w, out),
            "model_output" if depth == 0 => {
                for piece in body.content.list() {
                    self.take_nested(piece, 1, w, out);
                }
            }
            "thought" | "thought_summary" | "thought_signature" => self.think(&body, w, out),
            "arguments_delta" => self.arguments(&body, w, out),
            "image" | "audio" | "video" | "document" => self.file(&body, w, out),
            "user_input" => user_input(&body, w, out),
            kind if kind.ends_with("_call") => self.call(kind, &body, w, out),
            kind if kind.ends_with("_result") => self.result(&body),
            _ if whole.is_truthy() && w.has_room(out) => w.raw(whole, None, out),
            _ => {}
        }
    }

    /// Ends the step. If it is not whole (`is_whole`), a call without whole arguments stays open and ends
    /// with its run.
    pub(super) fn stop(mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(part) = self.part.take() {
            part.end(false, w, out);
        } else if self.is_signed && !self.has_told && w.has_room(out) {
            w.whole_part(PartKind::Thinking, "", true, None, out);
        }
        self.close_call(is_whole, w, out);
        if let Some(result) = self.result {
            let output = result.output.unwrap_or_else(|| Json::of(&()));
            let outcome = if result.is_error { CallOutcome::error(output) } else { CallOutcome::of(output) };
            w.result(&result.call_id, outcome, None, out);
        }
    }

    /// Continues the open text or reasoning, or begins another.
    fn write(&mut self, kind: PartKind, text: &str, w: &mut EventWriter, out: &mut Decoded) {
        self.has_told |= !text.is_empty();
        OpenPart::go_on(&mut self.part, kind, text, None, w, out);
    }

    /// Writes reasoning, and notes a signature.
    fn think(&mut self, body: &InteractionContent<'_>, w: &mut EventWriter, out: &mut Decoded) {
        self.is_signed |= body.signature.word().is_some();
        let pieces = body.summary.list().into_iter().chain(body.content.list());
        let texts = pieces.map(|piece| piece.object::<InteractionContent<'_>>().text).chain([body.text]);
        for text in texts.filter_map(ForeignField::word) {
            self.write(PartKind::Thinking, &text, w, out);
        }
    }

    /// Writes a file: its address, or a `data:` URL.
    fn file(&mut self, body: &InteractionContent<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(part) = self.part.take() {
            part.end(false, w, out);
        }
        let url = body.uri.word().map(Into::into).or_else(|| {
            let base64 = body.base64.word()?;
            Some(data_url(&body.mime_type.text().unwrap_or_default(), &base64))
        });
        // A step may begin with the type alone.
        if let Some(url) = url
            && w.has_room(out)
        {
            self.has_told = true;
            w.whole_part(PartKind::File, &url, false, None, out);
        }
    }

    /// Takes a call, or more of what is known of it. Another id begins another call.
    fn call(&mut self, kind: &str, body: &InteractionContent<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let id = body.id.words().unwrap_or_default();
        let is_another =
            self.call.as_ref().is_some_and(|call| !id.is_empty() && !call.id.is_empty() && call.id != *id);
        if is_another {
            self.close_call(true, w, out);
        }
        let server = kind != "function_call";
        let name = body
            .name
            .word()
            .or_else(|| if server { kind.strip_suffix("_call").map(Into::into) } else { None });
        let call = self.call.get_or_insert_with(|| InteractionCall {
            id: CompactString::default(),
            name: CompactString::default(),
            server,
            input: None,
            open: None,
        });
        if call.id.is_empty() {
            call.id = CompactString::new(&id);
        }
        if let Some(name) = name {
            call.name = CompactString::new(&name);
        }
        match body.arguments.text() {
            Some(_) => self.arguments(body, w, out),
            None if body.arguments.is_truthy() => call.input = Some(body.arguments.as_json_text().to_owned()),
            None => {}
        }
        if let Some(call) = &mut self.call
            && !call.id.is_empty()
        {
            call.opened(w, out);
        }
    }

    /// Writes a piece of the text of the arguments.
    fn arguments(&mut self, body: &InteractionContent<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let text = body.arguments.text().unwrap_or_default();
        if let Some(call) = &mut self.call
            && let Some(open) = call.opened(w, out)
        {
            open.args(&text, w, out);
        }
    }

    /// Takes a result, or more of what is known of it.
    fn result(&mut self, body: &InteractionContent<'_>) {
        let result = self.result.get_or_insert_with(|| InteractionResult {
            call_id: CompactString::default(),
            output: None,
            is_error: false,
        });
        if let Some(id) = body.call_id.words() {
            result.call_id = CompactString::new(&id);
        }
        if body.result.is_some() {
            result.output = Some(body.result.json());
        }
        result.is_error |= body.is_error.is_true();
    }

    /// Ends the call. It is written if the step or its arguments are whole.
    fn close_call(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        let Some(mut call) = self.call.take() else { return };
        let input = call.input.take();
        if let Some(open) = call.opened(w, out)
            && (is_whole || open.is_whole())
        {
            let input = if open.is_empty() { input } else { None };
            open.written(input, w, out);
        }
    }
}

impl InteractionCall {
    /// The call in the events, begun if it is not; nothing if there is no room for it.
    fn opened(&mut self, w: &mut EventWriter, out: &mut Decoded) -> Option<&mut OpenCall> {
        if self.open.is_none() && w.has_room(out) {
            self.open = Some(w.open_call(&self.id, &self.name, self.server, None, out));
        }
        let open = self.open.as_mut()?;
        if !self.name.is_empty() && open.name() != self.name {
            open.set_name(&self.name);
        }
        Some(open)
    }
}

/// Writes the citations of a text as custom events.
fn annotate(annotations: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
    for annotation in annotations.list() {
        if w.has_room(out) {
            w.custom("citation", annotation, None, out);
        }
    }
}

/// Writes what the user said, which the API repeats, as a message.
fn user_input(body: &InteractionContent<'_>, w: &mut EventWriter, out: &mut Decoded) {
    let mut text: String = body.content.text().unwrap_or_default().into();
    for piece in body.content.list() {
        text.push_str(&piece.object::<InteractionContent<'_>>().text.text().unwrap_or_default());
    }
    if !text.is_empty() && w.has_room(out) {
        w.message("user", &text, out);
    }
}
