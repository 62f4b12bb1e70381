//! The state of a graph: whole (`values`), or what a step changed in it (`updates`), and the questions that
//! stop a graph.
//!
//! ```text
//! values    {"messages": [all so far], "todos": […], "__interrupt__": [{"value": {"action_requests": [{"name": "rm", "args": {}}]}}]}
//! updates   {"agent": {"messages": [new ones]}, "__interrupt__": […]}
//! ```
//!
//! The first state of a run is what it began with, so its messages are history. Messages of later states are
//! written if they were not streamed.

use compact_str::CompactString;
use serde::Deserialize;

use super::messages::MessageSource;
use super::spoken::CallDelta;
use super::stage::LangGraphCall;
use super::wire::{LangChainMessage, MessageSpeaker};
use super::{LangGraphMeaning, hash_of};
use crate::Decoded;
use crate::field::ForeignField;
use model::json::Json;
use model::limits::ITEMS_PER_RUN_MAX;

/// The field of a state that has its messages.
const MESSAGES: &str = "messages";

/// The field of a state that has the questions to a person.
const INTERRUPT: &str = "__interrupt__";

/// Most messages of an earlier run that are searched for calls without results.
const LOOKED_BACK_MAX: usize = 8;

/// A question to a person, in the shapes of several versions.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct GraphInterrupt<'a> {
    #[serde(borrow)]
    value: ForeignField<'a>,
    #[serde(borrow)]
    payload: ForeignField<'a>,
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow, rename = "interrupt_id")]
    long_id: ForeignField<'a>,
}

/// The actions that a person is asked about, one or a list; servers in Python and in JavaScript spell them in
/// two ways.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct InterruptRequest<'a> {
    #[serde(borrow, rename = "action_requests")]
    all: ForeignField<'a>,
    #[serde(borrow, rename = "actionRequests")]
    all_js: ForeignField<'a>,
    #[serde(borrow, rename = "action_request")]
    single: ForeignField<'a>,
    #[serde(borrow, rename = "actionRequest")]
    single_js: ForeignField<'a>,
    #[serde(borrow)]
    name: ForeignField<'a>,
    #[serde(borrow)]
    action: ForeignField<'a>,
    #[serde(borrow)]
    args: ForeignField<'a>,
    #[serde(borrow)]
    description: ForeignField<'a>,
}

impl LangGraphMeaning {
    /// Takes the whole state of the graph in the namespace `path`.
    pub(super) fn values(&mut self, path: &[CompactString], value: ForeignField<'_>, out: &mut Decoded) {
        let entries = value.entries();
        let messages = entries.iter().find(|(name, _)| name == MESSAGES).map(|(_, value)| *value);
        let messages = LangChainMessage::list(messages.unwrap_or_default());
        if path.is_empty() && !std::mem::replace(&mut self.has_state, true) {
            for message in &messages {
                self.earlier(message, out);
            }
            self.left_open(&messages, out);
        } else {
            self.write_state_messages(path, &messages, out);
        }
        self.rest("state", path, &entries, out);
        self.is_incomplete = false;
        self.ask_all(interrupts(&entries), out);
    }

    /// Writes calls of an earlier run that wait for their results, since this run continues with them.
    fn left_open(&mut self, messages: &[LangChainMessage<'_>], out: &mut Decoded) {
        let answered: Vec<_> = messages.iter().filter_map(|it| it.body.tool_call_id.words()).collect();
        let calls = messages.iter().rev().take(LOOKED_BACK_MAX).flat_map(|it| it.body.tool_calls.list());
        for call in calls {
            let call: CallDelta<'_> = call.object();
            let (id, name) = (call.id.words().unwrap_or_default(), call.name.word().unwrap_or_default());
            if !id.is_empty()
                && !answered.contains(&id)
                && !self.stage.knows(&id)
                && self.stage.w.has_room(out)
            {
                self.stage.whole_call(&id, &name, call.args.as_json_text(), None, out);
            }
        }
    }

    /// Writes the messages of a state that were not written yet.
    fn write_state_messages(
        &mut self,
        path: &[CompactString],
        messages: &[LangChainMessage<'_>],
        out: &mut Decoded,
    ) {
        let agent = if path.is_empty() {
            None
        } else {
            // What the sub-agent was told to do tells which call it works for.
            let task = messages.iter().find(|message| message.speaker == MessageSpeaker::Other("user"));
            let task = task.map(LangChainMessage::text);
            self.stage.agent(path, None, task.as_deref(), out)
        };
        let place = MessageSource { agent, key: CompactString::default() };
        for message in messages {
            match message.speaker {
                // In a state all messages are whole, whatever they are called.
                MessageSpeaker::Model { .. } => self.whole(message, &place, out),
                _ => self.message(message, &place, out),
            }
        }
    }

    /// Takes what a step changed in the state, by node. An empty list of questions is a breakpoint: the graph
    /// stops and asks nothing.
    pub(super) fn updates(&mut self, path: &[CompactString], value: ForeignField<'_>, out: &mut Decoded) {
        self.is_incomplete = false;
        self.has_state = true;
        let nodes = value.entries();
        for (node, change) in nodes.iter().filter(|(node, _)| node != INTERRUPT) {
            // A node that ran several times at once tells of each.
            for change in change.list() {
                let entries = change.entries();
                let messages = entries.iter().find(|(name, _)| name == MESSAGES).map(|(_, value)| *value);
                self.write_state_messages(path, &LangChainMessage::list(messages.unwrap_or_default()), out);
                let name = format!("state.{node}");
                self.rest(&name, path, &entries, out);
            }
        }
        let asked = interrupts(&nodes);
        if asked.is_list() && asked.list().is_empty() {
            // A breakpoint between two nodes, which asks nothing.
            self.stage.w.begin(None, out);
            self.is_asked = true;
        }
        self.ask_all(asked, out);
    }

    /// Writes what a state has beside its messages as a custom event, if it is new.
    fn rest(
        &mut self,
        name: &str,
        path: &[CompactString],
        entries: &[(String, ForeignField<'_>)],
        out: &mut Decoded,
    ) {
        let rest = entries.iter().filter(|(name, value)| {
            name != MESSAGES && name != INTERRUPT && value.is_some() && (value.is_truthy() || name != "error")
        });
        let rest: Vec<String> = rest
            .map(|(name, value)| format!("{}:{}", Json::string(name).as_str(), value.as_json_text()))
            .collect();
        if rest.is_empty() {
            return;
        }
        let text = format!("{{{}}}", rest.join(","));
        let hash = hash_of(&text);
        if std::mem::replace(&mut self.last_state, hash) == hash {
            return;
        }
        let agent = self.agent_at(path, out);
        self.stage.w.custom(name, ForeignField::parse(&text).unwrap_or_default(), agent.as_ref(), out);
    }

    /// Takes the questions for which the graph stops; those that were written before are ignored, and those
    /// beyond [`ITEMS_PER_RUN_MAX`].
    pub(super) fn ask_all(&mut self, interrupts: ForeignField<'_>, out: &mut Decoded) {
        for item in interrupts.list() {
            let interrupt: GraphInterrupt<'_> = item.object();
            let id = interrupt.id.word().or_else(|| interrupt.long_id.word());
            let key = id.unwrap_or_else(|| item.as_json_text().into());
            let is_new = self.interrupts.len() < ITEMS_PER_RUN_MAX && self.interrupts.insert(hash_of(&key));
            if is_new {
                let value = [interrupt.value, interrupt.payload].into_iter().find(|value| value.is_some());
                self.ask(item, value.unwrap_or(item), out);
            }
        }
    }

    /// Writes a question as a custom event, and an approval request for each call that it names and that is
    /// found.
    fn ask(&mut self, whole: ForeignField<'_>, value: ForeignField<'_>, out: &mut Decoded) {
        self.stage.w.begin(None, out);
        self.is_asked = true;
        self.is_incomplete = false;
        // Whoever answers needs it to the letter; the calls that it asks about come behind it, in its order.
        self.stage.w.custom("interrupt", whole, None, out);
        for (item, beside) in requests(value) {
            let request: InterruptRequest<'_> = item.object();
            let name = request.name.word().or_else(|| request.action.word()).unwrap_or_default();
            let waiting = self.find_call(&name, request.args, LangGraphCall::is_unasked, out);
            // A tool may also ask while it runs.
            let Some(id) = waiting.or_else(|| self.stage.find(&name, request.args, |_| true)) else {
                continue;
            };
            let question =
                request.description.word().or_else(|| beside.word()).map(std::borrow::Cow::into_owned);
            self.stage.ask(&id, question, out);
        }
    }

    /// The oldest open call that is meant by its name and arguments. Calls of open messages are written
    /// first, if they are whole.
    pub(super) fn find_call(
        &mut self,
        name: &str,
        args: ForeignField<'_>,
        fits: fn(&LangGraphCall) -> bool,
        out: &mut Decoded,
    ) -> Option<CompactString> {
        if name.is_empty() {
            return None;
        }
        if let Some(id) = self.stage.find(name, args, fits) {
            return Some(id);
        }
        for spoken in self.open.values_mut() {
            if spoken.calls.iter_mut().any(|entry| entry.call.call().name() == name) {
                spoken.write_whole_calls(&mut self.stage, out);
            }
        }
        self.stage.find(name, args, fits)
    }
}

/// The questions in a state; absent if there are none.
fn interrupts<'a>(entries: &[(String, ForeignField<'a>)]) -> ForeignField<'a> {
    entries.iter().find(|(name, _)| name == INTERRUPT).map(|(_, value)| *value).unwrap_or_default()
}

/// The calls that a person is asked about, with the description beside each.
fn requests(value: ForeignField<'_>) -> Vec<(ForeignField<'_>, ForeignField<'_>)> {
    let items = value.list().into_iter().flat_map(|item| {
        let request: InterruptRequest<'_> = item.object();
        let lists = [request.all, request.all_js];
        let mut requests: Vec<ForeignField<'_>> = lists.into_iter().flat_map(ForeignField::list).collect();
        if requests.is_empty() {
            // Some servers say the same in both forms.
            requests.extend([request.single, request.single_js].into_iter().filter(|it| it.is_object()));
        }
        let requests = if requests.is_empty() { vec![item] } else { requests };
        requests.into_iter().map(move |inner| (inner, request.description))
    });
    items.collect()
}
