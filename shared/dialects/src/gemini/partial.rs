//! Arguments that are streamed as values with their places (`$.trip.stops[0].city`), put together into JSON.
//!
//! ```text
//! {"jsonPath":"$.city","stringValue":"Os"}     tool.args {"city":"Os
//! {"jsonPath":"$.city","stringValue":"lo"}     tool.args lo
//! {"jsonPath":"$.days","numberValue":3}        tool.args ","days":3
//! the call ends                                tool.args }
//! ```
//!
//! The places come in the order of the text nearly always: then each value is written at once, as the next
//! piece of the JSON. If one does not, the pieces stop and the whole arguments follow at the end of the call.
//! For that the values are kept as a tree, up to [`PART_BYTES_MAX`].

use serde_json::{Map, Value};

use super::wire::PartialArg;
use crate::Decoded;
use crate::writer::{EventWriter, OpenCall};
use model::anomaly::AnomalyCode;
use model::limits::{JSON_DEPTH_MAX, PART_BYTES_MAX};

/// The arguments of one call so far.
#[derive(Debug, Default)]
pub(super) struct PartialArguments {
    /// Arguments that came as a whole; they count before the pieces.
    whole: Option<String>,
    /// The values so far.
    tree: Value,
    /// The place of the last value; empty before the first.
    last: Vec<PathStep>,
    /// The last value is a string, and the quote at its end is not written yet: more of it may come.
    in_string: bool,
    /// A value came out of order: what was written cannot be continued.
    is_out_of_order: bool,
    /// The size of all pieces so far, for the limit.
    bytes: usize,
    /// Something was odd, and an anomaly says so. There is one for each call.
    is_odd: bool,
}

/// A step from a value to one inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    /// To a field of an object.
    Key(String),
    /// To an item of a list.
    Index(usize),
}

impl PartialArguments {
    /// Takes arguments that come as a whole after all.
    pub(super) fn set_whole(&mut self, json: &str) {
        self.whole = Some(json.to_owned());
    }

    /// Takes the next value, or more of the string that came last, and writes it if it continues the JSON. A
    /// place that is none, does not fit or goes over the limit is an anomaly, and its value is lost.
    pub(super) fn take(
        &mut self,
        piece: &PartialArg<'_>,
        call: &mut OpenCall,
        w: &EventWriter,
        out: &mut Decoded,
    ) {
        let path = piece.json_path.text().unwrap_or_default();
        let text = piece.string_value.text();
        self.bytes =
            self.bytes.saturating_add(path.len()).saturating_add(text.as_ref().map_or(8, |t| t.len()));
        if self.bytes > PART_BYTES_MAX {
            let detail = format!("{}: streamed arguments of more than {PART_BYTES_MAX} bytes", call.id());
            return self.odd(AnomalyCode::TooLarge, detail, w, out);
        }
        let steps = steps(&path).filter(|steps| matches!(steps.first(), Some(PathStep::Key(_))));
        let Some(steps) = steps else {
            let detail = format!("{}: no place in the arguments: {path:?}", call.id());
            return self.odd(AnomalyCode::BadArguments, detail, w, out);
        };
        if self.in_string && steps == self.last {
            let text = text.unwrap_or_default();
            if let Some(Value::String(string)) = find(&mut self.tree, &steps) {
                string.push_str(&text);
            }
            return self.write(&escaped(&text), call, w, out);
        }
        let value = match text {
            Some(text) => Value::String(text.into_owned()),
            None => [piece.number_value, piece.bool_value]
                .into_iter()
                .find_map(|field| serde_json::from_str(field.as_json_text()).ok())
                .unwrap_or(Value::Null),
        };
        let next = self.way_to(&steps);
        let is_string = value.is_string();
        let json = value.to_string();
        if !put(&mut self.tree, &steps, value) {
            let detail = format!("{}: {path:?} does not fit what came before", call.id());
            return self.odd(AnomalyCode::BadArguments, detail, w, out);
        }
        match next {
            Some(next) => {
                let json = if is_string { json.strip_suffix('"').unwrap_or(&json) } else { &json };
                self.write(&format!("{next}{json}"), call, w, out);
            }
            None => self.is_out_of_order = true,
        }
        (self.last, self.in_string) = (steps, is_string);
    }

    /// Ends the arguments. Returns the whole of them if they are not what was written in pieces.
    pub(super) fn end(&mut self, call: &mut OpenCall, w: &EventWriter, out: &mut Decoded) -> Option<String> {
        if let Some(whole) = self.whole.take() {
            return Some(whole);
        }
        if self.is_out_of_order {
            return Some(self.tree.to_string());
        }
        let rest = self.closing(0);
        self.write(&rest, call, w, out);
        None
    }

    /// Writes the next piece of the JSON, while the pieces are in order.
    fn write(&self, json: &str, call: &mut OpenCall, w: &EventWriter, out: &mut Decoded) {
        if !self.is_out_of_order {
            call.args(json, w, out);
        }
    }

    /// The JSON between the last value and the one at `steps`; nothing if that is before the last one or
    /// inside of it.
    fn way_to(&self, steps: &[PathStep]) -> Option<String> {
        if self.is_out_of_order {
            return None;
        }
        let common = self.last.iter().zip(steps).take_while(|(a, b)| a == b).count();
        let ahead = steps.get(common..)?;
        let mut json = self.closing(common.saturating_add(1));
        match (self.last.get(common), ahead.first()?) {
            (None, _) if self.last.is_empty() => open(ahead, &mut json)?,
            (Some(PathStep::Index(last)), PathStep::Index(next)) if *next == last.checked_add(1)? => {
                json.push(',');
                open_rest(ahead, &mut json)?;
            }
            (Some(PathStep::Key(_)), PathStep::Key(_))
                if get(&self.tree, steps.get(..=common)?).is_none() =>
            {
                json.push(',');
                open_rest(ahead, &mut json)?;
            }
            _ => return None,
        }
        Some(json)
    }

    /// The JSON that ends the last value and the containers around it, down to `depth` steps from the
    /// outside.
    fn closing(&self, depth: usize) -> String {
        let mut json = String::new();
        if self.in_string {
            json.push('"');
        }
        let inner = self.last.get(depth..).unwrap_or_default();
        json.extend(inner.iter().rev().map(|step| if matches!(step, PathStep::Key(_)) { '}' } else { ']' }));
        json
    }

    /// Writes an anomaly, unless the call has one.
    fn odd(&mut self, code: AnomalyCode, detail: String, w: &EventWriter, out: &mut Decoded) {
        if !std::mem::replace(&mut self.is_odd, true) {
            w.anomaly(code, detail, out);
        }
    }
}

/// Opens the container of the first of `steps`, and all that follow. Nothing if a list would not begin with
/// its first item.
fn open(steps: &[PathStep], json: &mut String) -> Option<()> {
    json.push(match steps.first()? {
        PathStep::Key(_) => '{',
        PathStep::Index(0) => '[',
        PathStep::Index(_) => return None,
    });
    open_rest(steps, json)
}

/// Writes the keys and containers along `steps`, the first of which is in a container that is open.
fn open_rest(steps: &[PathStep], json: &mut String) -> Option<()> {
    let (first, rest) = steps.split_first()?;
    if let PathStep::Key(key) = first {
        json.push_str(&Value::from(key.as_str()).to_string());
        json.push(':');
    }
    if rest.is_empty() { Some(()) } else { open(rest, json) }
}

/// `text` as it is inside of a JSON string.
fn escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted.strip_prefix('"').and_then(|quoted| quoted.strip_suffix('"')).unwrap_or_default().to_owned()
}

/// The value at `steps`; nothing if there is none.
fn get<'a>(tree: &'a Value, steps: &[PathStep]) -> Option<&'a Value> {
    steps.iter().try_fold(tree, |value, step| match step {
        PathStep::Key(key) => value.get(key),
        PathStep::Index(index) => value.get(index),
    })
}

/// The value at `steps`, to change it; nothing if there is none.
fn find<'a>(tree: &'a mut Value, steps: &[PathStep]) -> Option<&'a mut Value> {
    steps.iter().try_fold(tree, |value, step| match step {
        PathStep::Key(key) => value.get_mut(key),
        PathStep::Index(index) => value.get_mut(index),
    })
}

/// Puts `value` at `steps` and makes the containers around it. False if something else is there, or a list
/// would get a hole.
fn put(tree: &mut Value, steps: &[PathStep], value: Value) -> bool {
    let place = steps.iter().try_fold(tree, |at, step| match step {
        PathStep::Key(key) => {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            Some(at.as_object_mut()?.entry(key.as_str()).or_insert(Value::Null))
        }
        PathStep::Index(index) => {
            if at.is_null() {
                *at = Value::Array(Vec::new());
            }
            let list = at.as_array_mut()?;
            if *index == list.len() {
                list.push(Value::Null);
            }
            list.get_mut(*index)
        }
    });
    let Some(place) = place else { return false };
    *place = value;
    true
}

/// The steps of a JSON path that names one place: `$.a['b c'][0]`. Nothing for any other, or one with more
/// than [`JSON_DEPTH_MAX`] steps.
fn steps(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() >= JSON_DEPTH_MAX {
            return None;
        }
        if let Some(name) = rest.strip_prefix('.') {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            let (name, after) = name.split_at_checked(end)?;
            steps.push(PathStep::Key(Some(name).filter(|name| !name.is_empty())?.to_owned()));
            rest = after;
        } else if let Some((name, after)) = quoted(rest, "['", "']").or_else(|| quoted(rest, "[\"", "\"]")) {
            steps.push(PathStep::Key(name.to_owned()));
            rest = after;
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(PathStep::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(steps)
}

/// What `text` has between `begin`, with which it must begin, and the next `end`, and what follows that.
fn quoted<'a>(text: &'a str, begin: &str, end: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(begin)?.split_once(end)
}

#[cfg(test)]
mod tests;
