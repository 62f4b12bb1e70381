//! OpenAI responses, as OpenAI and some ten other servers stream them: SSE with typed events about the items of an
//! output, or a JSON body where the answer was not streamed or failed. One response is one run; a second response in
//! the same stream is a second run.
//!
//! Items are known by their place in the output: servers have been seen to give an item another id with each event. What
//! the end of an item says counts before what was streamed of it.

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

use call::ToldResult;
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

/// What the objects mean.
#[derive(Debug)]
struct ResponsesMeaning {
    writer: EventWriter,
    /// The items of the response that goes on, by their place in the output.
    items: BTreeMap<u64, OpenItem>,
    /// How many items of it have begun; servers have been seen to give all of them the same place.
    begun: usize,
    /// The ids of those items.
    ids: BTreeSet<CompactString>,
    /// The place of the item that was spoken of last.
    latest: u64,
    /// A person has to consent to a call before the provider goes on.
    is_paused: bool,
    /// The calls of the last response that hand the run over to another agent, as the caller does it.
    handoffs: BTreeSet<CompactString>,
}

/// What the names of tools begin with that hand the run over, in OpenAI's Agents SDK and those that copy it.
const HANDOFF: &str = "transfer_to_";

impl ObjectMeaning for ResponsesMeaning {
    const NAME: &'static str = NAME;

    fn object(&mut self, line: u64, name: &str, text: &str, out: &mut Decoded) {
        let event: ResponsesStreamEvent<'_> = match serde_json::from_str(text) {
            Ok(event) => event,
            // Keep-alives need no content.
            Err(_) if matches!(name, "ping" | "keepalive") => return,
            Err(error) => {
                let detail = format!("line {line}: {error}: {}", excerpt(text));
                return self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            }
        };
        let whole = || ForeignField::parse(text).unwrap_or_default();
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
            _ if kind.ends_with("_output") && self.told(whole(), out) => {}
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

    fn goes_on(&mut self, kind: &str, response: ForeignField<'_>, out: &mut Decoded) {
        let body: ResponseBody<'_> = response.object();
        self.writer.begin(body.model.text().as_deref(), out);
        if kind == "response.queued" {
            self.writer.push(Kind::Status { text: String::from("queued") }, out);
        }
    }

    /// Objects without a type: a response that was not streamed, or an error body.
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

    /// An item of the next request, which callers put between two responses: what came of a call. False when it is of a
    /// call that nobody knows.
    fn told(&mut self, whole: ForeignField<'_>, out: &mut Decoded) -> bool {
        let body: OutputItem<'_> = whole.object();
        let told = ToldResult::start(&body);
        let is_known = told.is_known(&self.writer);
        if is_known {
            if let Some(id) = body.call_id.word() {
                self.handoffs.remove(&*id);
            }
            told.whole(&body, &mut self.writer, out);
        }
        is_known
    }

    /// Something of the vendor's own. After the end of a response nobody waits for it.
    fn unknown(&mut self, whole: ForeignField<'_>, out: &mut Decoded) {
        if whole.is_truthy() && (self.writer.is_running() || !self.writer.has_begun()) {
            self.writer.begin(None, out);
            self.writer.raw(whole, None, out);
        }
    }

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

    fn item_done(&mut self, event: &ResponsesStreamEvent<'_>, out: &mut Decoded) {
        let index = event.output_index.count().unwrap_or(self.latest);
        self.latest = index;
        self.whole_item(index, event.item, out);
    }

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

    /// An item begins.
    fn note(&mut self, body: &OutputItem<'_>) {
        self.begun = self.begun.saturating_add(1);
        if self.ids.len() <= ITEMS_PER_RUN_MAX
            && let Some(id) = body.id.word()
        {
            self.ids.insert(CompactString::new(&id));
        }
    }

    /// Something about one item; false when nobody knows what `fact` means.
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

    /// Whether something can be told of the item at `index`. There is one anomaly for all that have no room.
    fn has_room_at(&self, index: u64) -> bool {
        self.items.len() <= ITEMS_PER_RUN_MAX || self.items.contains_key(&index)
    }

    /// A response is over.
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

    /// The whole output closes what is open, and has what was not streamed. Some servers leave it empty.
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

    /// The response ends, be it that the stream said so, that another one begins or that no more bytes come.
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

fn nameless_failure() -> ErrorFact {
    let (code, message) = (CompactString::const_new("failed"), String::from("the response failed"));
    ErrorFact { code, message, retryable: None, retry_after_ms: None }
}

#[cfg(test)]
mod tests;
