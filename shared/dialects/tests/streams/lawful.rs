//! What holds for the events of any stream of a model's dialect, good or bad. The tests of recordings (`tests/traces`) take
//! this file as it is.

use std::collections::{BTreeMap, BTreeSet};

use dialects::Decoded;
use model::event::Kind;

/// Fails when the events break a promise of the decoders.
pub(crate) fn assert_lawful(decoded: &Decoded, run_goes_on: bool, what: &str) {
    let mut running: Option<&str> = None;
    let mut runs = BTreeSet::new();
    let mut parts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut ended = BTreeSet::new();
    let mut calls: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut has_run_update = false;
    for event in decoded.envelopes.iter().map(|envelope| &envelope.event) {
        let run = event.run.as_str();
        match &event.kind {
            Kind::RunStart(_) => {
                assert!(running.is_none() || run_goes_on, "{what}: {run} starts inside of another run");
                assert!(runs.insert(run), "{what}: {run} starts twice");
                running = Some(run);
            }
            Kind::RunEnd(_) => assert_eq!(running.take(), Some(run), "{what}: {run} ends but does not run"),
            Kind::RunUpdate(_) => has_run_update = true,
            Kind::Anomaly(_) | Kind::ToolResult(_) => {}
            // History stands between runs, or belongs to the one that goes on.
            Kind::Message(_) if event.run.is_none() => {
                assert_eq!(running, None, "{what}: {event:?} inside of a run");
            }
            _ => assert_eq!(running, Some(run), "{what}: {event:?} outside of its run"),
        }
        match &event.kind {
            Kind::PartStart { part, .. } => {
                assert!(parts.insert(part.as_str(), 0).is_none(), "{what}: {part} starts twice");
            }
            Kind::PartDelta { part, off, text } => {
                let len = parts.get_mut(part.as_str()).expect(what);
                assert!(!text.is_empty() && !ended.contains(part.as_str()), "{what}: {event:?}");
                assert_eq!(*off, Some(*len), "{what}: offset of {part}");
                *len += text.len() as u64;
            }
            Kind::PartReplace { part, text } => {
                *parts.get_mut(part.as_str()).expect(what) = text.len() as u64;
            }
            Kind::PartEnd(end) => assert!(ended.insert(end.part.as_str()), "{what}: {} ends twice", end.part),
            Kind::ToolStart(start) => {
                let old = calls.insert((run, start.tool.as_str()), 0);
                assert!(old.is_none(), "{what}: {} starts twice", start.tool);
            }
            Kind::ToolArgs { tool, off, text } => {
                let len = calls.get_mut(&(run, tool.as_str())).expect(what);
                assert_eq!(*off, Some(*len), "{what}: offset of {tool}");
                *len += text.len() as u64;
            }
            Kind::ToolCall { tool, .. } => {
                assert!(calls.contains_key(&(run, tool.as_str())), "{what}: {tool}");
            }
            _ => {}
        }
    }
    assert!(running.is_none() || (run_goes_on && has_run_update), "{what}: {running:?} never ends");
    assert_eq!(parts.len(), ended.len(), "{what}: parts left open");
}
