//! One candidate of an answer: its text, reasoning, files and calls. The first is the main agent's answer;
//! others are told apart as agents of their own, so that no text is mixed.
//!
//! Calls are whole in the Gemini API. Vertex can stream their arguments: the first piece has the name and
//! `willContinue`, later ones have only pieces, and an empty one ends the call. That last one may be missing,
//! so anything else ends the call too.

use std::collections::VecDeque;
use std::hash::Hasher as _;

use compact_str::CompactString;

use super::partial::PartialArguments;
use super::wire::{GeminiCallFields, GeminiCandidate, GeminiContent, GeminiFile, GeminiPart, SafetyRating};
use crate::Decoded;
use crate::field::ForeignField;
use crate::writer::{CallOutcome, EventWriter, OpenCall, OpenPart};
use model::event::{Kind, PartKind, RunStatus};
use model::ids::AgentId;
use model::print::Fingerprint;

/// The name of the call for code that the vendor executes.
const CODE_EXECUTION: &str = "code_execution";

/// A candidate of the open run. The meaning owns it and calls [`OpenCandidate::end`] before it is dropped.
#[derive(Debug)]
pub(super) struct OpenCandidate {
    /// The agent that stands for the candidate; nothing for the first one.
    agent: Option<AgentId>,
    /// The open text or reasoning.
    part: Option<OpenPart>,
    /// Something was written: a signature now says nothing about hidden reasoning before it.
    has_begun: bool,
    /// The call whose arguments are streamed.
    call: Option<StreamedCall>,
    /// Calls without a result, oldest first, as name and id: results may come without an id.
    unanswered: VecDeque<(CompactString, CompactString)>,
    /// Hashes of the notes that were written last: servers repeat them with each piece.
    told: [u64; 4],
    /// The last finish reason.
    finish: Option<CompactString>,
}

/// A call whose arguments may come in pieces.
#[derive(Debug)]
struct StreamedCall {
    call: OpenCall,
    args: PartialArguments,
}

impl OpenCandidate {
    /// A candidate of which nothing was received yet.
    pub(super) fn new(agent: Option<AgentId>) -> Self {
        Self {
            agent,
            part: None,
            has_begun: false,
            call: None,
            unanswered: VecDeque::new(),
            told: [0; 4],
            finish: None,
        }
    }

    /// Why the model stopped, as the stream said last; nothing if it did not.
    pub(super) fn finish_reason(&self) -> Option<&CompactString> {
        self.finish.as_ref()
    }

    /// Takes a piece of the candidate, or all of it.
    pub(super) fn take(&mut self, body: &GeminiCandidate<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let content: GeminiContent<'_> = body.content.object();
        for part in content.parts.list() {
            self.take_part(part, w, out);
        }
        self.notes(body, w, out);
        if let Some(reason) = body.finish_reason.word() {
            self.close_part(w, out);
            self.close_call(true, w, out);
            self.finish = Some(CompactString::new(&reason));
        }
        // After a good end it only repeats what is plain to see.
        let message = body.finish_message.word().filter(|_| self.finish.as_deref() != Some("STOP"));
        if let Some(message) = message {
            w.push_by(self.agent.as_ref(), Kind::Status { text: message.into_owned() }, out);
        }
    }

    /// Takes the end of the stream. An open call is written if the answer is whole (`is_whole`). An agent
    /// that stands for the candidate ends.
    pub(super) fn end(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        self.close_part(w, out);
        self.close_call(is_whole, w, out);
        if let Some(agent) = &self.agent {
            let status = if is_whole { RunStatus::Complete } else { RunStatus::Interrupted };
            w.close_agent(agent, status, out);
        }
    }

    /// Writes one part. Anything but more text of the same kind ends the open text, and anything but a piece
    /// of its arguments ends the open call.
    fn take_part(&mut self, whole: ForeignField<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let part: GeminiPart<'_> = whole.object();
        let is_thought = part.thought.is_true();
        if part.thought_signature.is_truthy() && !self.has_begun && !is_thought {
            // Thinking went before, and the provider keeps it to itself.
            self.has_begun = true;
            w.whole_part(PartKind::Thinking, "", true, self.agent.as_ref(), out);
        }
        if let Some(text) = part.text.text() {
            if text.is_empty() {
                return;
            }
            self.has_begun = true;
            self.close_call(true, w, out);
            let kind = if is_thought { PartKind::Thinking } else { PartKind::Text };
            return OpenPart::go_on(&mut self.part, kind, &text, self.agent.as_ref(), w, out);
        }
        self.close_part(w, out);
        self.has_begun = true;
        if part.function_call.is_object() {
            return self.function_call(&part.function_call.object(), w, out);
        }
        self.close_call(true, w, out);
        if part.executable_code.is_object() {
            self.server_call(CODE_EXECUTION, part.executable_code, part.executable_code, w, out);
        } else if part.code_execution_result.is_object() {
            self.code_result(&part.code_execution_result.object(), w, out);
        } else if part.tool_call.is_object() {
            let body: GeminiCallFields<'_> = part.tool_call.object();
            let name = body.tool_type.word().or_else(|| body.name.word()).unwrap_or_default();
            self.server_call(&name, part.tool_call, body.args, w, out);
        } else if part.tool_response.is_object() {
            let body: GeminiCallFields<'_> = part.tool_response.object();
            let id = body.id.words().unwrap_or_default();
            w.result(&id, CallOutcome::of(body.response.json()), self.agent.as_ref(), out);
        } else if part.function_response.is_object() {
            self.function_response(&part.function_response.object(), w, out);
        } else if part.inline_data.is_object() || part.file_data.is_object() {
            self.file(&part, w, out);
        } else if !part.thought_signature.is_some() && w.has_room(out) {
            w.raw(whole, self.agent.as_ref(), out);
        }
    }

    /// Takes a call of the caller's tools: whole, or the next piece of one whose arguments are streamed.
    fn function_call(&mut self, body: &GeminiCallFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let (id, name) = (body.id.words().unwrap_or_default(), body.name.word());
        let pieces = body.partial_args.list();
        let is_same = self.call.as_ref().is_some_and(|open| !id.is_empty() && open.call.id() == id);
        let says_something = name.is_some() || body.args.is_truthy() || !pieces.is_empty();
        if (name.is_some() && !is_same) || (self.call.is_none() && says_something) {
            self.close_call(true, w, out);
            if !w.has_room(out) {
                return;
            }
            let name = name.unwrap_or_default();
            let call = w.open_call(&id, &name, false, self.agent.as_ref(), out);
            self.unanswered.push_back((CompactString::new(&name), CompactString::new(call.id())));
            self.call = Some(StreamedCall { call, args: PartialArguments::default() });
        }
        let Some(open) = &mut self.call else { return };
        if body.args.is_truthy() {
            open.args.set_whole(body.args.as_json_text());
        }
        for piece in pieces {
            open.args.take(&piece.object(), &mut open.call, w, out);
        }
        if !body.will_continue.is_true() {
            self.close_call(true, w, out);
        }
    }

    /// Writes a call that the vendor executes itself.
    fn server_call(
        &mut self,
        name: &str,
        whole: ForeignField<'_>,
        args: ForeignField<'_>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) {
        if !w.has_room(out) {
            return;
        }
        let id = whole.object::<GeminiCallFields<'_>>().id;
        let mut call = w.open_call(&id.words().unwrap_or_default(), name, true, self.agent.as_ref(), out);
        call.written(args.is_truthy().then(|| args.as_json_text().to_owned()), w, out);
    }

    /// Writes the result of code that the vendor executed.
    fn code_result(&mut self, body: &GeminiCallFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let has_failed = body.outcome.word().is_some_and(|outcome| outcome != "OUTCOME_OK");
        let output = if body.output.is_some() { body.output } else { body.outcome }.json();
        let outcome = if has_failed { CallOutcome::error(output) } else { CallOutcome::of(output) };
        w.result(&body.id.words().unwrap_or_default(), outcome, self.agent.as_ref(), out);
    }

    /// Writes the result of one of the caller's tools. Without an id it is that of the oldest call of that
    /// name.
    fn function_response(&mut self, body: &GeminiCallFields<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let (id, name) = (body.id.words().unwrap_or_default(), body.name.text().unwrap_or_default());
        let place = self
            .unanswered
            .iter()
            .position(|(called, known)| if id.is_empty() { *called == *name } else { *known == *id });
        let known = place.and_then(|place| self.unanswered.remove(place));
        let id = known.map_or_else(|| CompactString::new(&id), |(_, id)| id);
        w.result(&id, CallOutcome::of(body.response.json()), self.agent.as_ref(), out);
    }

    /// Writes a file: its address, or a `data:` URL.
    fn file(&mut self, part: &GeminiPart<'_>, w: &mut EventWriter, out: &mut Decoded) {
        if !w.has_room(out) {
            return;
        }
        let file: GeminiFile<'_> =
            if part.inline_data.is_object() { part.inline_data.object() } else { part.file_data.object() };
        let url = match file.file_uri.word() {
            Some(address) => address.into_owned(),
            None => {
                data_url(&file.mime_type.text().unwrap_or_default(), &file.content.text().unwrap_or_default())
            }
        };
        w.whole_part(PartKind::File, &url, false, self.agent.as_ref(), out);
    }

    /// Writes, as custom events, where the answer comes from and which filter blocked it, each time that it
    /// changes.
    fn notes(&mut self, body: &GeminiCandidate<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let blocked = |rating: &ForeignField<'_>| rating.object::<SafetyRating<'_>>().blocked.is_true();
        let blocked = body.safety_ratings.list().iter().any(blocked);
        let notes = [
            ("grounding", body.grounding_metadata),
            ("citations", body.citation_metadata),
            ("url_context", body.url_context_metadata),
            // Ratings come with each piece; only one that blocks is worth a note.
            ("safety_ratings", if blocked { body.safety_ratings } else { ForeignField::default() }),
        ];
        for ((name, note), told) in notes.into_iter().zip(&mut self.told) {
            let mut hasher = Fingerprint::default();
            hasher.write(note.as_json_text().as_bytes());
            if note.is_truthy()
                && std::mem::replace(told, hasher.finish()) != hasher.finish()
                && w.has_room(out)
            {
                w.custom(name, note, self.agent.as_ref(), out);
            }
        }
    }

    fn close_part(&mut self, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(part) = self.part.take() {
            part.end(false, w, out);
        }
    }

    /// Ends the streamed call. Without an end of its own it is written only if the answer is whole.
    fn close_call(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        if let Some(StreamedCall { mut call, mut args }) = self.call.take()
            && is_whole
        {
            let instead = args.end(&mut call, w, out);
            call.written(instead, w, out);
        }
    }
}

/// The `data:` URL of a file that came with its content in base64.
pub(crate) fn data_url(mime_type: &str, base64: &str) -> String {
    format!("data:{mime_type};base64,{base64}")
}
