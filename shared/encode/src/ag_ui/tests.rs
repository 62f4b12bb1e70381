//! Tests of AG-UI: whatever happened, a client that verifies the protocol finds nothing wrong.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use serde_json::Value;

use crate::tests::encoded;
use crate::{EncodeOptions, encoding};
use model::testkit::history;

fn events(stream: &str) -> Vec<Value> {
    let events = stream.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap());
    events.map(|event| serde_json::from_str(event).unwrap()).collect()
}

/// What clients refuse.
#[derive(Default)]
struct Verifier {
    is_running: bool,
    open: HashSet<(String, String)>,
    agents: HashMap<String, bool>,
}

impl Verifier {
    fn take(&mut self, event: &Value) -> Result<(), String> {
        let kind = event["type"].as_str().unwrap();
        let id = ["messageId", "toolCallId", "subagentRunId"].iter().find_map(|key| event[key].as_str());
        let id = id.unwrap_or_default().to_owned();
        let wrong = || Err(format!("{event} with {:?}", self.open));
        if kind == "RUN_STARTED" {
            self.agents.clear();
            return if std::mem::replace(&mut self.is_running, true) { wrong() } else { Ok(()) };
        }
        if !self.is_running {
            return wrong();
        }
        let tool = || event["toolCallId"].as_str().unwrap_or_default().to_owned();
        match kind {
            "RUN_FINISHED" | "RUN_ERROR" => {
                let is_clean = self.open.is_empty() && self.agents.values().all(|done| *done);
                self.is_running = false;
                return if is_clean { Ok(()) } else { wrong() };
            }
            "SUBAGENT_STARTED" => {
                return if self.agents.insert(id, false).is_some() { wrong() } else { Ok(()) };
            }
            "SUBAGENT_FINISHED" | "SUBAGENT_ERROR" => {
                return if self.agents.insert(id, true) == Some(false) { Ok(()) } else { wrong() };
            }
            "TOOL_CALL_RESULT" => return if event["content"].is_string() { Ok(()) } else { wrong() },
            _ => {}
        }
        let scopes = ["TEXT_MESSAGE", "REASONING_MESSAGE", "REASONING", "TOOL_CALL"];
        let Some(scope) = scopes.iter().find(|scope| kind.starts_with(*scope)) else { return Ok(()) };
        let id = if *scope == "TOOL_CALL" { tool() } else { id };
        let key = ((*scope).to_owned(), id);
        let is_fine = match kind.strip_prefix(scope).unwrap() {
            "_START" => self.open.insert(key),
            "_END" => self.open.remove(&key),
            _ => self.open.contains(&key) && event["delta"].as_str().is_some_and(|delta| !delta.is_empty()),
        };
        if is_fine { Ok(()) } else { Err(event.to_string()) }
    }
}

fn verify(stream: &str) -> Result<(), String> {
    let mut verifier = Verifier::default();
    events(stream).iter().try_for_each(|event| verifier.take(event))
}

proptest! {
    #[test]
    fn clients_find_nothing_wrong_with_any_history(history in history(1..80)) {
        let mut encoder = encoding("ag-ui").unwrap().encoder(&EncodeOptions::default());
        let mut out = Vec::new();
        for envelope in &history {
            encoder.event(envelope, &mut out);
        }
        encoder.end(&mut out);
        let stream = String::from_utf8(out).unwrap();
        prop_assert_eq!(verify(&stream), Ok(()), "{}", stream);
    }
}

#[test]
fn sub_agents_calls_state_and_usage_have_their_events() {
    let stream = encoded(
        "ag-ui",
        r#"
        {"k":"message","message":"m1","role":"user","text":"Find it"}
        {"k":"run.start","run":"r","model":"m"}
        {"k":"agent.start","run":"r","agent":"a","name":"scout","text":"look"}
        {"k":"tool.start","run":"r","agent":"a","tool":"t","name":"ls"}
        {"k":"tool.args","run":"r","agent":"a","tool":"t","text":"{}"}
        {"k":"tool.call","run":"r","agent":"a","tool":"t"}
        {"k":"tool.result","run":"r","agent":"a","tool":"t","output":{"files":1}}
        {"k":"custom","run":"r","name":"state_snapshot","value":{"n":1}}
        {"k":"run.end","run":"r","status":"complete","usage":{"input_tokens":1,"output_tokens":2}}
        "#,
    );
    assert_eq!(verify(&stream), Ok(()));
    let kinds: Vec<_> =
        events(&stream).iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        kinds,
        [
            "RUN_STARTED",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "SUBAGENT_STARTED",
            "TOOL_CALL_START",
            "TOOL_CALL_ARGS",
            "TOOL_CALL_END",
            "TOOL_CALL_RESULT",
            "STATE_SNAPSHOT",
            "SUBAGENT_FINISHED",
            "RUN_FINISHED"
        ]
    );
    assert_eq!(events(&stream)[8]["content"], "{\"files\":1}");
}

#[test]
fn an_interrupt_names_its_call_as_the_call_began() {
    let stream = encoded(
        "ag-ui",
        r#"
        {"k":"run.start","run":"r"}
        {"k":"tool.call","run":"r","tool":"t","name":"ls","arguments":"{}"}
        {"k":"tool.result","run":"r","tool":"t","output":"x"}
        {"k":"run.end","run":"r","status":"complete"}
        {"k":"run.start","run":"s"}
        {"k":"tool.call","run":"s","tool":"t","name":"rm","arguments":"{}"}
        {"k":"approval.request","run":"s","tool":"t","text":"Sure?"}
        {"k":"run.end","run":"s","status":"complete"}
        "#,
    );
    assert_eq!(verify(&stream), Ok(()));
    let events = events(&stream);
    let begun: Vec<_> = events.iter().filter(|event| event["type"] == "TOOL_CALL_START").collect();
    assert_ne!(begun[0]["toolCallId"], begun[1]["toolCallId"]);
    let interrupt = &events.last().unwrap()["outcome"]["interrupts"][0];
    assert_eq!(interrupt["toolCallId"], begun[1]["toolCallId"]);
    assert_eq!(interrupt["id"], "t", "whoever answers names the call as the hub does");
}
