//! Reads calls by rules: each comes complete or in pieces, with an id, an index, both or neither. Pieces of
//! one call have the same index, or the same id; a piece with neither belongs to the call before it.

use compact_str::CompactString;
use indexmap::IndexMap;
use serde_json::Value;

use super::rules::CallRule;
use super::{is_truthy, outcome};
use crate::Decoded;
use crate::agents::AgentParts;
use crate::writer::{EventWriter, OpenCall};

/// The calls of one run that are being written.
#[derive(Debug, Default)]
pub(super) struct CustomCalls {
    /// The open calls, by index or id.
    open: IndexMap<CompactString, OpenCall>,
    /// The ids of the calls, by the same keys, to see that an index is used for another call.
    ids: IndexMap<CompactString, CompactString>,
}

/// A call, or a piece of one, as the rule finds it.
struct CustomCallPiece<'v> {
    id: &'v str,
    /// The index of the call, as text.
    place: Option<String>,
    name: &'v str,
    /// A piece of the arguments as text, or all of them as an object.
    arguments: Option<&'v Value>,
}

impl CustomCalls {
    /// Reads the calls that `rule` finds in `value`. False if there are none.
    pub(super) fn take(
        &mut self,
        rule: &CallRule,
        value: &Value,
        parts: &mut AgentParts,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        let mut is_known = false;
        for node in nodes(rule, value) {
            let id = rule.id.first(node).map(words).unwrap_or_default();
            let name = rule.name.first(node).and_then(Value::as_str).unwrap_or_default();
            let arguments = rule.arguments.first(node);
            if id.is_empty() && name.is_empty() && arguments.is_none() {
                continue;
            }
            is_known = true;
            parts.close_all(w, out);
            let place = rule.index.first(node).map(words);
            self.piece(&CustomCallPiece { id: &id, place, name, arguments }, w, out);
            let (result, error) = (rule.result.first(node), rule.error.first(node));
            if result.is_some() || error.is_some_and(is_truthy) {
                self.written(true, w, out);
                w.result(&id, outcome(result, error), None, out);
            }
        }
        is_known
    }

    /// Reads the results that `rule` finds in `value`. False if there are none.
    pub(super) fn results(
        &mut self,
        rule: &CallRule,
        value: &Value,
        parts: &mut AgentParts,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> bool {
        let mut is_known = false;
        for node in nodes(rule, value) {
            let (result, error) = (rule.result.first(node), rule.error.first(node));
            let Some(id) = rule.id.first(node).map(words).filter(|id| !id.is_empty()) else { continue };
            if result.is_none() && !error.is_some_and(is_truthy) {
                continue;
            }
            is_known = true;
            parts.close_all(w, out);
            self.written(true, w, out);
            w.result(&id, outcome(result, error), None, out);
        }
        is_known
    }

    fn piece(&mut self, piece: &CustomCallPiece<'_>, w: &mut EventWriter, out: &mut Decoded) {
        let CustomCallPiece { id, place, name, arguments } = piece;
        let (id, name) = (*id, *name);
        let key = match (place, id) {
            (Some(place), _) => Some(compact_str::format_compact!("at {place}")),
            (None, "") => None,
            (None, id) => Some(compact_str::format_compact!("id {id}")),
        };
        // A piece without an id and an index belongs to the call before it, unless it begins one.
        let key = match key {
            Some(key) => key,
            None if name.is_empty() => match self.open.last() {
                Some((key, _)) => key.clone(),
                None => return,
            },
            None => compact_str::format_compact!("new {}", self.open.len()),
        };
        let is_other =
            !id.is_empty() && self.ids.get(&key).is_some_and(|known| !known.is_empty() && known != id);
        if is_other && let Some(mut call) = self.open.shift_remove(&key) {
            call.written(None, w, out);
        }
        if !self.open.contains_key(&key) {
            if name.is_empty() && (id.is_empty() || w.knows_call(id)) || !w.has_room(out) {
                return;
            }
            self.ids.insert(key.clone(), CompactString::new(id));
            self.open.insert(key.clone(), w.open_call(id, name, false, None, out));
        }
        let Some(call) = self.open.get_mut(&key) else { return };
        match *arguments {
            Some(Value::String(text)) => call.args(text, w, out),
            // An empty object at the start of a call stands for arguments that come in pieces.
            Some(Value::Object(fields)) if fields.is_empty() => {}
            Some(Value::Null) | None => {}
            Some(whole) if call.is_empty() => call.args(&whole.to_string(), w, out),
            Some(_) => {}
        }
    }

    /// Ends all open calls. If the stream broke off, only calls with complete arguments count as written.
    pub(super) fn written(&mut self, is_whole: bool, w: &mut EventWriter, out: &mut Decoded) {
        for (_, mut call) in std::mem::take(&mut self.open) {
            if is_whole || call.is_whole() {
                call.written(None, w, out);
            }
        }
    }
}

/// The values of the calls that the rule finds.
fn nodes<'v>(rule: &CallRule, value: &'v Value) -> Vec<&'v Value> {
    if rule.path.is_empty() { vec![value] } else { rule.path.all(value).collect() }
}

/// The content of a string, or the JSON of any other value.
fn words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
