//! OpenAI responses, as OpenAI and some ten other servers stream them: SSE with typed events about the items
//! of an output, or a JSON body where the answer was not streamed or failed. One response is one run; a
//! second response in the same stream is a second run.
//!
//! ```text
//! {"type":"response.created","response":{"id":"resp_1","model":"gpt","status":"in_progress"}}
//! {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","content":[]}}
//! {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hi"}
//! {"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}}
//! {"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":2}}}
//! ```
//!
//! | event | becomes |
//! |---|---|
//! | `response.created` | the start of a run; the run before it is interrupted if it has items |
//! | `response.queued` | a status |
//! | `response.in_progress` | nothing, or the start of a run that has none |
//! | `response.output_item.added`, `.done` | an item begins or is whole: see `OpenItem` |
//! | any other `response.…` about an item | a piece of that item |
//! | `response.completed`, `.incomplete` | the end of the run: complete, with the tokens; the finish reason is that of `incomplete_details`, else the status |
//! | `response.failed` | the end of the run with an error, which is written once even if `error` came before |
//! | `response.cancelled` | the end of the run: cancelled |
//! | `error` | a failure |
//! | `…_output` without `response.` | the result of a call: callers put items of their next request between two responses |
//! | `ping`, `keepalive` | nothing |
//! | anything else | raw, unless the response is over |
//!
//! There is no `[DONE]`; a gateway's is ignored. A stream that ends without one of the four ends is
//! interrupted. After `mcp_approval_request` the provider waits for a person: the run counts as paused.
//! `sequence_number` and `obfuscation` are not decoded.
//!
//! Items are known by their place in the output (`output_index`): servers have been seen to give an item
//! another id with each event. What the end of an item says counts before what was streamed of it.

use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;

use super::fault::fault;
use super::field::ForeignField;
use super::framing::excerpt;
use super::objects::{ObjectDecoder, ObjectMeaning};
use super::writer::{EventWriter, RunEnding};
use super::{Decode, DecodeOptions, Decoded};
use model::anomaly::AnomalyCode;
use model::event::{ErrorFact, Kind, RunStatus, ToolState};
use model::limits::ITEMS_PER_RUN_MAX;

mod call;
mod item;
mod prose;
mod tools;
mod wire;

use call::ResponsesResult;
use item::OpenItem;
use wire::{OutputItem, ResponseBody, ResponsesStreamEvent};

/// The name of the dialect.
pub const NAME: &str = "openai-responses";

/// A decoder for one stream.
pub fn decoder(options: DecodeOptions) -> Box<dyn Decode> {
    Box::new(ObjectDecoder::new(ResponsesMeaning {
        writer: EventWriter::new(NAME, options),
        items: BTreeMap::new(),
        begun: 0,
        ids: BTreeSet::new(),
        latest: 0,
        is_paused: false,
        handoffs: BTreeSet::new(),
    }))
}

/// The meaning of one stream of responses.
#[derive(Debug)]
struct ResponsesMeaning {
    writer: EventWriter,
    /// The items of the open response, by their place in the output.
    items: BTreeMap<u64, OpenItem>,
    /// The number of its items that have begun; servers have been seen to give all of them the same place.
    begun: usize,
    /// The ids of those items.
    ids: BTreeSet<CompactString>,
    /// The place of the item that the last event was about, for events that name none.
    latest: u64,
    /// A person has to consent to a call before the provider goes on.
    is_paused: bool,
    /// The ids of calls that hand the run over to another agent and have no result. The caller executes them
    /// by asking that agent, so the next response means that they are complete.
    handoffs: BTreeSet<CompactString>,
}

/// How the names of tools begin that hand the run over to another agent, in OpenAI's Agents SDK and those
/// that copy it.
const HANDOFF: &str = "transfer_to_";

impl ObjectMeaning for ResponsesMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let event: ResponsesStreamEvent<'_> = match crate::field::read(text) {
            Ok(event) => event,
            // Keep-alives need no content.
            Err(_) if matches!(name, "ping" | "keepalive") => return,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let whole = || ForeignField::parse_read(text);
        let kind = event.kind.word().unwrap_or_else(|| name.into());
        match &*kind {
            "ping" | "keepalive" => {}
            "response.created" => self.created(event.response, out),
            "response.queued" | "response.in_progress" => self.goes_on(&kind, event.response, out),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                // Servers repeat themselves: the end of a response that is over is nothing.
                if self.writer.has_begun() && !self.writer.is_running() {
                    return;
                }
                self.over(&kind, event.response, out);
            }
            "response.output_item.added" => self.item_added(&event, out),
            "response.output_item.done" => self.item_done(&event, out),
            "error" => self.fail(whole(), out),
            "" => self.untyped(&event, whole(), out),
            _ if kind.ends_with("_output") && self.input_result(whole(), out) => {}
            _ => {
                let fact = kind.strip_prefix("response.");
                if !fact.is_some_and(|fact| self.item_fact(fact, &event, out)) {
                    self.unknown(whole(), out);
                }
            }
        }
    }

    fn finish(&mut self, out: &mut Decoded) {
        self.close(RunEnding::default(), out);
    }

    fn writer(&mut self) -> &mut EventWriter {
        &mut self.writer
    }
}

impl ResponsesMeaning {
    /// Begins a response and its run. A start that is repeated before anything else was said is the same
    /// response.
    fn created(&mut self, response: ForeignField<'_>, out: &mut Decoded) {
        let body: ResponseBody<'_> = response.object();
        // Repeated before anything else was said, it is the same response.
        if !self.items.is_empty() {
            self.close(RunEnding::default(), out);
        }
        self.writer.begin(body.model.text().as_deref(), out);
        // The agent that took over speaks. Nobody says otherwise that the call is over.
        for id in std::mem::take(&mut self.handoffs) {
            self.writer.state(&id, ToolState::Complete, None, out);
        }
    }

    /// Takes how a response stands that is not over. `kind` is the type of the event.
    fn goes_on(&mut self, kind: &str, response: ForeignField<'_>, out: &mut Decoded) {
        let body: ResponseBody<'_> = response.object();
        self.writer.begin(body.model.text().as_deref(), out);
        if kind == "response.queued" {
            self.writer.push(Kind::Status { text: String::from("queued") }, out);
        }
    }

    /// Takes an object without a type: a response that was not streamed, or an error body.
    fn untyped(&mut self, event: &ResponsesStreamEvent<'_>, whole: ForeignField<'_>, out: &mut Decoded) {
        let body: ResponseBody<'_> = whole.object();
        if body.object.text().is_some_and(|object| object == "response") || body.output.is_list() {
            self.close(RunEnding::default(), out);
            return self.over("response.completed", whole, out);
        }
        let is_message = event.message.is_some() || event.detail.is_some();
        if event.error.is_truthy() || (is_message && !self.writer.is_running()) {
            return self.fail(whole, out);
        }
        self.unknown(whole, out);
    }

    /// Takes an item of the next request, which callers put between two responses: the result of a call.
    /// Returns false, and writes nothing, if the call was not in this stream.
    fn input_result(&mut self, whole: ForeignField<'_>, out: &mut Decoded) -> bool {
        let body: OutputItem<'_> = whole.object();
        let result = ResponsesResult::start(&body);
        let is_known = result.is_known(&self.writer);
        if is_known {
            if let Some(id) = body.call_id.word() {
                self.handoffs.remove(&*id);
            }
            result.whole(&body, &mut self.writer, out);
        }
        is_known
    }

    /// Passes on something of the vendor's own. After the end of a response it is ignored.
    fn unknown(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        if whole.is_truthy() && (self.writer.is_running() || !self.writer.has_begun()) {
            self.writer.begin(None, out);
            self.writer.raw(whole, None, out);
        }
    }

    /// Begins an item. One that is open at the same place ends.
    fn item_added(&mut self, event: &ResponsesStreamEvent<'_>, out: &mut Decoded) {
        let next = if self.items.is_empty() { 0 } else { self.latest.saturating_add(1) };
        let index = event.output_index.count().unwrap_or(next);
        if !self.has_room_at(index) {
            return;
        }
        self.writer.begin(None, out);
        self.latest = index;
        if let Some(mut unfinished) = self.items.remove(&index) {
            unfinished.stop(true, &mut self.writer, out);
        }
        let body: OutputItem<'_> = event.item.object();
        self.note(&body);
        self.items.insert(index, OpenItem::start(&body, &mut self.writer, out));
    }

    /// Ends the item that the event names.
    fn item_done(&mut self, event: &ResponsesStreamEvent<'_>, out: &mut Decoded) {
        let index = event.output_index.count().unwrap_or(self.latest);
        self.latest = index;
        self.whole_item(index, event.item, out);
    }

    /// Takes an item as a whole: it ends what was streamed of it, or is written at once if nothing was.
    fn whole_item(&mut self, index: u64, whole: ForeignField<'_>, out: &mut Decoded) {
        if !self.has_room_at(index) {
            return;
        }
        self.writer.begin(None, out);
        let body: OutputItem<'_> = whole.object();
        if !self.items.contains_key(&index) {
            self.note(&body);
        }
        let writer = &mut self.writer;
        let item = self.items.entry(index).or_insert_with(|| OpenItem::start(&body, writer, out));
        self.is_paused |= item.is_asking();
        item.whole(whole, &body, writer, out);
        let is_handoff = body.kind.text().is_some_and(|kind| kind == "function_call")
            && body.name.text().is_some_and(|name| name.starts_with(HANDOFF));
        if is_handoff && self.handoffs.len() <= ITEMS_PER_RUN_MAX {
            self.handoffs.extend(body.call_id.word().map(CompactString::from));
        }
    }

    /// Counts an item that begins, and notes its id.
    fn note(&mut self, body: &OutputItem<'_>) {
        self.begun = self.begun.saturating_add(1);
        if self.ids.len() <= ITEMS_PER_RUN_MAX
            && let Some(id) = body.id.word()
        {
            self.ids.insert(CompactString::new(&id));
        }
    }

    /// Takes an event about one item, of the type `response.{fact}`. Returns false if the event is unknown.
    /// An item whose start was not received begins.
    fn item_fact(&mut self, fact: &str, event: &ResponsesStreamEvent<'_>, out: &mut Decoded) -> bool {
        let place = event.output_index.count();
        if place.is_none() && !event.item_id.is_some() && self.items.is_empty() {
            return false;
        }
        let index = place.unwrap_or(self.latest);
        if !self.has_room_at(index) {
            return true;
        }
        self.writer.begin(None, out);
        self.latest = index;
        if !self.items.contains_key(&index) {
            self.note(&OutputItem { id: event.item_id, ..OutputItem::default() });
        }
        let writer = &mut self.writer;
        let item = self
            .items
            .entry(index)
            .or_insert_with(|| OpenItem::without_start(index, fact, event, writer, out));
        item.fact(fact, event, writer, out)
    }

    /// Whether there is room for the item at `index` (I7). What has none is ignored; the writer has one
    /// anomaly for all of it.
    fn has_room_at(&self, index: u64) -> bool {
        self.items.len() <= ITEMS_PER_RUN_MAX || self.items.contains_key(&index)
    }

    /// Takes the end of a response, with its whole output. `kind` is the type of the event; the status of the
    /// response counts before it.
    fn over(&mut self, kind: &str, response: ForeignField<'_>, out: &mut Decoded) {
        let body: ResponseBody<'_> = response.object();
        self.writer.begin(body.model.text().as_deref(), out);
        let status = body.status.word().unwrap_or_else(|| kind.trim_start_matches("response.").into());
        self.fill(body.output, out);
        if status == "failed" && !self.writer.has_failed() {
            let fact = if body.error.is_truthy() { fault(body.error) } else { nameless_failure() };
            self.writer.fail(fact, out);
        }
        let (is_whole, said) = match &*status {
            "cancelled" => (false, Some(RunStatus::Cancelled)),
            // A body that says how far a response is which goes on elsewhere.
            "queued" | "in_progress" => (false, Some(RunStatus::Interrupted)),
            _ => (true, None),
        };
        let finish_reason = Some(body.finish_reason(&status));
        self.close(
            RunEnding {
                is_whole,
                status: said,
                finish_reason,
                usage: wire::usage(body.usage),
                ..RunEnding::default()
            },
            out,
        );
    }

    /// Takes the whole output of a response: it ends what is open, and has items that were not streamed.
    /// Items that were streamed and are over are not written again. Some servers leave the output empty.
    fn fill(&mut self, output: ForeignField<'_>, out: &mut Decoded) {
        let output = output.list();
        let is_known = self.begun.max(self.items.len()) >= output.len();
        for (index, item) in (0_u64..).zip(output) {
            let id = item.object::<OutputItem<'_>>().id.word();
            let was_streamed = is_known || id.is_some_and(|id| self.ids.contains(&*id));
            let is_taken = self.items.contains_key(&index);
            match (was_streamed, is_taken) {
                (true, false) => {}
                (true, true) | (false, false) => self.whole_item(index, item, out),
                (false, true) => {
                    let last = self.items.last_key_value().map_or(0, |(last, _)| *last);
                    self.whole_item(last.saturating_add(1), item, out);
                }
            }
        }
    }

    /// Ends the response and its run: the stream said so, another one begins, or no more bytes come. `ending`
    /// says how.
    fn close(&mut self, ending: RunEnding, out: &mut Decoded) {
        let items = std::mem::take(&mut self.items);
        self.ids.clear();
        self.begun = 0;
        let is_paused = std::mem::take(&mut self.is_paused);
        if !self.writer.is_running() {
            return;
        }
        let is_whole = ending.is_whole && !self.writer.has_failed();
        for (_, mut item) in items {
            item.stop(is_whole, &mut self.writer, out);
        }
        self.writer.end(RunEnding { is_paused, ..ending }, out);
    }
}

/// The failure of a response that gives no reason.
fn nameless_failure() -> ErrorFact {
    let (code, message) = (CompactString::const_new("failed"), String::from("the response failed"));
    ErrorFact { code, message, retryable: None, retry_after_ms: None }
}

#[cfg(test)]
mod tests;
