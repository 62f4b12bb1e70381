//! Events as lines that a person can read: run, kind, id, and what is left as JSON.

use dialects::Decoded;
use model::Envelope;
use serde_json::{Map, Value};

/// One line for each event.
pub(crate) fn lines(decoded: &Decoded) -> String {
    decoded.envelopes.iter().map(|envelope| line(envelope) + "\n").collect()
}

fn line(envelope: &Envelope) -> String {
    let Value::Object(mut fields) = serde_json::to_value(envelope).unwrap() else { unreachable!() };
    assert_eq!(fields.remove("at"), Some(Value::from(0)), "the hub's time is the hub's");
    let run = take(&mut fields, "run").unwrap_or_else(|| "-".to_owned());
    let mut words = vec![run];
    words.extend(take(&mut fields, "agent").map(|agent| format!("({agent})")));
    words.extend(take(&mut fields, "k"));
    words.extend(take(&mut fields, "part").or_else(|| take(&mut fields, "tool")));
    if let Some(off) = take(&mut fields, "off") {
        words.push(format!("@{off}"));
    }
    words.extend(fields.iter().map(|(name, value)| format!("{name}={value}")));
    words.join(" ")
}

fn take(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    fields.remove(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}
