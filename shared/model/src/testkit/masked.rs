//! Random histories for the laws of masks: histories, roles, and the same history with other contents in all that a role hides.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::subsequence;

use super::{events, history, logged};
use crate::envelope::Envelope;
use crate::event::{Cost, Currency, Event, Kind, ResultRef, Usage};
use crate::ids::PublisherId;
use crate::json::Json;
use crate::mask::{Hideable, Mask};
use crate::view::View;

/// The tool of each call of the random histories.
fn tool_name(call: &str) -> &'static str {
    match call {
        "t1" => "run_sql",
        "t2" => "web_fetch",
        _ => "read",
    }
}

/// Random histories in which each call has its own tool, with publishers, raw and custom events, and messages of tools.
fn told(seed: Vec<Arc<Envelope>>) -> Vec<Arc<Envelope>> {
    let mut events: Vec<Event> = Vec::new();
    for (number, envelope) in seed.into_iter().enumerate() {
        let mut event = envelope.event.clone();
        match &mut event.kind {
            Kind::ToolStart(start) => start.name = tool_name(start.tool.as_str()).into(),
            Kind::ToolCall { tool, name, .. } => *name = Some(tool_name(tool.as_str()).into()),
            Kind::Message(message) if number.is_multiple_of(3) => message.role = "tool".into(),
            Kind::Status { .. } if number.is_multiple_of(3) => {
                event.kind = Kind::Raw { name: "x".into(), value: Json::string("raw") };
            }
            Kind::Anomaly(_) => continue,
            _ => {}
        }
        events.push(event);
    }
    let mut all = logged(events);
    for envelope in &mut all {
        Arc::make_mut(envelope).publisher = Some(PublisherId::new("ann"));
    }
    all
}

/// Random histories for a mask, each with what may happen to a run whose publisher is lost.
pub fn any_history(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Arc<Envelope>>> {
    (history(len), 0_usize..60).prop_map(|(seed, at)| told(troubled(seed, at)))
}

/// Roles that hide some of what can be hidden, and users always.
///
/// # Panics
/// Never: the words and patterns are known.
pub fn mask() -> impl Strategy<Value = Mask> {
    let words = subsequence(Hideable::ALL.to_vec(), 0..=5);
    let tools = subsequence(vec!["run_*", "*fetch", "nothing"], 0..=2);
    (words, tools).prop_map(|(words, tools)| {
        let words = words.into_iter().map(Hideable::word).chain(["users"]);
        Mask::new("guest", words, tools).expect("a mask")
    })
}

/// What the hub says of runs whose publishers are lost, put between the events of a random history.
fn troubled(seed: Vec<Arc<Envelope>>, at: usize) -> Vec<Arc<Envelope>> {
    let lines = r#"{"k":"run.stalled","run":"r1","since":1}
        {"k":"error","run":"r1","code":"publisher_lost","message":"m"}
        {"k":"run.end","run":"r1","status":"interrupted","lost":true}"#;
    let trouble = events(lines);
    let mut all: Vec<Event> = seed.into_iter().map(|envelope| envelope.event.clone()).collect();
    let (first, more) = (at.min(all.len()), trouble.len() - at % 3);
    all.splice(first..first, trouble.into_iter().take(more));
    logged(all)
}

/// `envelope` with other contents in everything that `mask` hides, of other lengths; `view` is the last one.
pub fn altered(mask: &Mask, envelope: &Envelope, view: &View, salt: u64) -> Envelope {
    let mut new = envelope.clone();
    let run = view.runs.get(&envelope.event.run);
    let name = |tool: &crate::ToolCallId| {
        run.and_then(|run| run.tools.get(tool)).map_or(String::new(), |tool| tool.name.to_string())
    };
    let other = format!("other {salt} {}", "é".repeat((salt % 40) as usize));
    let off = (!salt.is_multiple_of(3)).then_some(salt % 500);
    let used = |usage: &mut Option<Usage>| {
        if usage.is_some() && mask.hides(Hideable::Costs) {
            let cost = Some(Cost::new(salt, Currency::USD));
            *usage = Some(Usage { input_tokens: salt, output_tokens: salt * 3, cost, ..Usage::default() });
        }
    };
    let is_thinking = |part: &crate::PartId| mask.hides_part(run.and_then(|run| run.parts.get(part)));
    match &mut new.event.kind {
        Kind::PartDelta { part, off: at, text } if is_thinking(part) => (*at, *text) = (off, other.into()),
        Kind::PartReplace { part, text } if is_thinking(part) => *text = other,
        Kind::PartEnd(end) if is_thinking(&end.part) => {
            (end.len, end.hash, end.signature) = (off, Some("00".into()), Some(other));
        }
        Kind::ToolArgs { tool, off: at, text } if mask.hides_arguments_of(&name(tool)) => {
            (*at, *text) = (off, other.into());
        }
        Kind::ToolCall { tool, arguments, .. } if mask.hides_arguments_of(&name(tool)) => {
            *arguments = salt.is_multiple_of(2).then_some(other);
        }
        Kind::ApprovalRequest { tool, text } if mask.hides_arguments_of(&name(tool)) => *text = Some(other),
        Kind::ToolOutput { tool, off: at, text } if mask.hides_results_of(&name(tool)) => {
            (*at, *text) = (off, other.into());
        }
        Kind::ToolResult(result) if mask.hides_results_of(&name(&result.tool)) => {
            result.output = Json::string(&other);
            result.files = salt.is_multiple_of(2).then(|| Json::string(&other));
            result.embeds = salt.is_multiple_of(5).then(|| Json::string(&other));
            let reference = ResultRef { bytes: 9_000_000 + salt, hash: format!("{salt:032x}").into() };
            result.reference = salt.is_multiple_of(3).then_some(reference);
        }
        Kind::Message(message) if mask.hides_message_of(&message.role) => message.text = other,
        Kind::AgentStart(start) => {
            used(&mut start.usage);
            if mask.hides_some_arguments() {
                start.text = Some(other);
            }
        }
        Kind::AgentEnd(end) => used(&mut end.usage),
        Kind::RunStart(start) if mask.hides(Hideable::Users) => {
            start.host = salt.is_multiple_of(3).then(|| other.into());
        }
        Kind::RunUpdate(update) => used(&mut update.usage),
        Kind::RunEnd(end) => used(&mut end.usage),
        Kind::Custom { name, value } | Kind::Raw { name, value } => {
            (*name, *value) = (other.as_str().into(), Json::string(&other));
        }
        Kind::Label(change) if mask.hides(Hideable::Users) => change.by = Some(other.into()),
        Kind::Anomaly(anomaly) => anomaly.detail = other,
        _ => {}
    }
    if mask.hides(Hideable::Users) {
        new.publisher = Some(PublisherId::new(&format!("p{salt}")));
    }
    new
}

/// Random histories of each run of a law's test; `PROPTEST_CASES` asks for more.
const CASES: u32 = 1_000;

/// As many histories as are asked for.
pub fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig::with_cases(asked.unwrap_or(CASES))
}
