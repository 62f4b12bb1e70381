//! The forms in which values leave a graph: by the name of an SSE event, as tuples, as parts that name their
//! type, or bare. The mode of a value says what it means.
//!
//! ```text
//! event: updates|tools:9f                   mode and namespace in the name of the event
//! ["updates", value]                        several modes
//! [["tools:9f"], "updates", value]          several modes, with sub-graphs
//! [["tools:9f"], value]                     one mode, with sub-graphs
//! {"type":"updates","ns":[],"data":value}   parts
//! value                                     one mode
//! ```

use compact_str::CompactString;

use super::agents::steps;
use super::{LangGraphMeaning, TaggedObject, is_runnable_event, wire};
use crate::Decoded;
use crate::fault::fault;
use crate::field::ForeignField;
use crate::objects::ObjectMeaning as _;
use model::event::Kind;

impl LangGraphMeaning {
    /// Takes a value of `mode` from the graph in the namespace `path`.
    pub(super) fn mode(
        &mut self,
        mode: &str,
        path: &[CompactString],
        value: ForeignField<'_>,
        out: &mut Decoded,
    ) {
        match mode {
            "end" => return self.close(true, out),
            "error" => return self.fail(value, out),
            _ => self.stage.w.begin(None, out),
        }
        match mode {
            "messages" | "messages-tuple" => {
                let pair = value.list();
                if let Some((message, about)) = pair.first().zip(pair.get(1)) {
                    self.message_tuple(path, *message, *about, out);
                }
            }
            "messages/metadata" => self.note_namespaces(value),
            "messages/partial" => self.growing(path, value, false, out),
            "messages/complete" => self.growing(path, value, true, out),
            "values" => self.values(path, value, out),
            "updates" => self.updates(path, value, out),
            "custom" => {
                if !self.report(value, out) {
                    let agent = self.agent_at(path, out);
                    self.stage.w.custom("custom", value, agent.as_ref(), out);
                }
            }
            "tools" => self.tool_event(path, value, None, out),
            "metadata" => {}
            "events" if value.is_list() => {
                for event in value.list() {
                    self.runnable_event(event, out);
                }
            }
            _ => {
                if matches!(mode, "tasks" | "debug") {
                    self.task(path, value, out);
                }
                // Checkpoints, tasks and what debugging shows: a step of the graph is done.
                self.is_incomplete &= mode == "feedback";
                let agent = self.agent_at(path, out);
                self.stage.w.raw(value, agent.as_ref(), out);
            }
        }
    }

    /// Takes an object or array without a name: a tuple, a part, or the bare value of a single mode.
    pub(super) fn unnamed(&mut self, whole: ForeignField<'_>, tagged: &TaggedObject<'_>, out: &mut Decoded) {
        if whole.is_list() {
            return self.array(&whole.list(), out);
        }
        if tagged.ns.is_some() && tagged.kind.word().is_some() {
            let path = path_of(tagged.ns);
            self.mode(&tagged.kind.text().unwrap_or_default(), &path, tagged.data, out);
            return self.ask_all(tagged.interrupts, out);
        }
        let is_update = || {
            let entries = whole.entries();
            !entries.is_empty() && entries.iter().all(|(_, value)| value.is_object() || !value.is_some())
        };
        if tagged.messages.is_list() {
            self.mode("values", &[], whole, out);
        } else if tagged.interrupt.is_some() || is_update() {
            self.mode("updates", &[], whole, out);
        } else if tagged.kind.text().as_deref() == Some("error") && self.stage.w.is_running() {
            // The answer to a command of the client: the run goes on.
            let code = tagged.error.word().unwrap_or_else(|| "error".into());
            let text = format!("{code}: {}", fault(whole).message);
            self.stage.w.push(Kind::Status { text }, out);
        } else if tagged.error.is_truthy() || (tagged.detail.is_some() && !self.stage.w.is_running()) {
            self.fail(whole, out);
        } else {
            self.stage.w.begin(None, out);
            self.stage.w.raw(whole, None, out);
        }
    }

    /// Takes an array: a tuple, or the items of a whole recording.
    fn array(&mut self, items: &[ForeignField<'_>], out: &mut Decoded) {
        match items {
            [mode, value] if mode.word().is_some() => {
                self.mode(&mode.text().unwrap_or_default(), &[], *value, out);
            }
            [path, mode, value] if mode.word().is_some() && (path.is_list() || path.text().is_some()) => {
                self.mode(&mode.text().unwrap_or_default(), &path_of(*path), *value, out);
            }
            [path, value]
                if path.list().is_empty() && path.is_list() || is_path(*path) && items.len() == 2 =>
            {
                self.spaced(&path_of(*path), *value, out);
            }
            [message, about] if wire::LangChainMessage::read(*message).is_some() && about.is_object() => {
                self.stage.w.begin(None, out);
                self.message_tuple(&[], *message, *about, out);
            }
            // The items of a whole recording.
            items => {
                for item in items {
                    let tagged: TaggedObject<'_> = item.object();
                    if is_runnable_event(&tagged) {
                        self.runnable_event(*item, out);
                    } else if item.is_object() {
                        self.unnamed(*item, &tagged, out);
                    } else if item.list().len() < items.len().max(4) {
                        self.array(&item.list(), out);
                    }
                }
            }
        }
    }

    /// Takes the value of a single mode with the namespace of its graph. The value shows which mode it is.
    fn spaced(&mut self, path: &[CompactString], value: ForeignField<'_>, out: &mut Decoded) {
        let pair = value.list();
        let is_message =
            value.is_list() && pair.first().is_some_and(|it| wire::LangChainMessage::read(*it).is_some());
        let mode = if is_message {
            "messages"
        } else if value.object::<TaggedObject<'_>>().messages.is_list() {
            "values"
        } else {
            "updates"
        };
        self.mode(mode, path, value, out);
    }
}

/// The steps of a namespace, which is a list of them or one string.
pub(super) fn path_of(path: ForeignField<'_>) -> Vec<CompactString> {
    match path.text() {
        Some(text) => steps(&text),
        None => path.list().into_iter().filter_map(|step| step.word().map(CompactString::from)).collect(),
    }
}

/// Whether it is a list of the steps of a namespace.
fn is_path(path: ForeignField<'_>) -> bool {
    path.is_list() && path.list().iter().all(|step| step.text().is_some_and(|step| step.contains(':')))
}
