//! Recorded exchanges of real agent loops, request for request: all of them are read, and the calls of each loop are
//! found to be one.

use std::collections::BTreeMap;
use std::path::Path;

use dialects::Decoded;
use exchange::{
    AnswerEnd, CallContext, CallJoiner, ModelApi, ModelRequest, OfferedTool, PlacementReason, RequestRole,
};
use model::event::{RunStatus, ToolState};
use model::fold::{complete, fold};
use model::{Envelope, View};
use serde_json::Value;
use tests::recordings::recordings;

/// From an answer to the next request.
const BETWEEN_MS: u64 = 250;

/// What a recording has of one call: the request as it is read, and the answer.
type Exchange = (ModelRequest, String);

/// The calls of a recording to a model's API; none for recordings of other protocols.
fn calls(path: &Path) -> Vec<Exchange> {
    let text = std::fs::read_to_string(path).unwrap();
    let exchanges: Vec<Value> = serde_json::from_str(&text).unwrap();
    let of_models = exchanges.into_iter().filter(|exchange| exchange["dialect"] != "ag-ui");
    let read = of_models.map(|exchange| {
        let path = exchange["path"].as_str().unwrap();
        let api = ModelApi::of_path(path).unwrap_or_else(|| panic!("{path}"));
        let request = ModelRequest::read(api, path, exchange["request"].to_string().as_bytes());
        (request, exchange["response_stream"].as_str().unwrap().to_owned())
    });
    read.collect()
}

#[test]
fn every_recorded_request_is_read_without_an_anomaly() {
    for path in recordings("exchanges") {
        for (request, _) in calls(&path) {
            assert_eq!(request.anomalies, [], "{}", path.display());
            assert!(
                request.is_read && request.model.is_some() && !request.messages.is_empty(),
                "{request:?}"
            );
        }
    }
}

/// Whether a call of `name` may be the answer to `request`: it asks for that tool, or the tool is one that ends loops.
fn is_output(request: &ModelRequest, name: &str) -> bool {
    let ends = ["final_result", "final_answer", "set_model_response"];
    let is_known = |it: &&OfferedTool| {
        let rest = ends.iter().find_map(|end| it.name.strip_prefix(end));
        let says =
            it.description.as_deref().is_some_and(|text| text.contains("which ends this conversation"));
        says || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let offered = request.tools.iter().filter(|it| it.name == name);
    request.forced.as_deref() == Some(name) || offered.filter(is_known).count() > 0
}

/// What a hub has after a recording, and why each call was put where it is.
fn played(path: &Path) -> (BTreeMap<String, View>, Vec<PlacementReason>) {
    let mut joiner = CallJoiner::default();
    let mut views: BTreeMap<String, View> = BTreeMap::new();
    let mut whys = Vec::new();
    let mut now = 1_795_300_000_000;
    let mut append = |name: &str, events: Decoded, at: u64| {
        let view = views.entry(name.to_owned()).or_default();
        for Envelope { mut event, .. } in events.envelopes {
            complete(view, &mut event);
            let envelope =
                Envelope { event, seq: view.seq + 1, at, producer_at: None, publisher: None, by_hub: false };
            fold(view, &envelope, &mut |_| {});
        }
    };
    for (number, (request, answer)) in calls(path).into_iter().enumerate() {
        now += BETWEEN_MS;
        let call = CallContext {
            upstream: "recorded",
            caller: 1,
            conversation: None,
            session: None,
            attempts_before: None,
            parent: None,
            name: &format!("c{number}"),
            at: now,
        };
        let mut placement = joiner.place(&call, &request);
        whys.push(placement.why);
        let name = placement.conversation.to_string();
        append(&name, std::mem::take(&mut placement.events), now);
        let mut out = Decoded::default();
        placement.answer.begin(200, None);
        placement.answer.feed(answer.as_bytes(), &mut out);
        let heard = placement.answer.end(AnswerEnd::Whole, &mut out).unwrap();
        append(&name, out, now);
        now += 100;
        append(&name, joiner.heard(heard, now).events, now);
    }
    (views, whys)
}

#[test]
fn recorded_loops_are_one_conversation_each() {
    for path in recordings("exchanges") {
        let name = path.display();
        let all = calls(&path);
        let (views, whys) = played(&path);
        for ((request, _), why) in all.iter().zip(whys) {
            let goes_on = request.messages.iter().any(|said| said.role == RequestRole::Assistant);
            assert_eq!(goes_on, why != PlacementReason::New, "{name}");
            assert_ne!(why, PlacementReason::Fork, "{name}");
        }
        for view in views.values() {
            assert_eq!(view.anomalies.total, 0, "{name}: {:?}", view.anomalies);
            for run in view.runs.values() {
                // Some loops take the arguments of a last call for their answer.
                let is_left = run.is_running();
                assert!(is_left || run.status == RunStatus::Complete, "{name}: {:?}", run.status);
                for tool in run.tools.values() {
                    let is_ours = tool.state == ToolState::Complete && tool.latency_ms() == Some(BETWEEN_MS);
                    // A call that is the answer itself is complete at once, and nothing comes back for it. The request says
                    // which one that is (docs/decisions/0025).
                    let is_answer = tool.state == ToolState::Complete
                        && tool.result.is_none()
                        && all.iter().any(|(request, _)| is_output(request, &tool.name));
                    assert!(is_ours || is_answer || tool.server || is_left, "{name}: {tool:?}");
                }
            }
        }
    }
}
