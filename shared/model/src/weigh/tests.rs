//! Tests of what events weigh.

use super::*;

/// Every kind that has a text or a name somewhere, with `LONG` in all of them.
const KINDS: [&str; 28] = [
    r#"{"k":"run.start","run":"r","model":"LONG"}"#,
    r#"{"k":"run.start","run":"r","host":"LONG"}"#,
    r#"{"k":"run.start","run":"r","dialect":"LONG"}"#,
    r#"{"k":"run.start","run":"r","title":"LONG"}"#,
    r#"{"k":"run.start","run":"r","name":"LONG"}"#,
    r#"{"k":"run.update","run":"r","model":"LONG"}"#,
    r#"{"k":"run.update","run":"r","finish_reason":"LONG"}"#,
    r#"{"k":"run.end","run":"r","status":"complete","finish_reason":"LONG"}"#,
    r#"{"k":"agent.start","run":"r","agent":"a","name":"LONG"}"#,
    r#"{"k":"agent.start","run":"r","agent":"a","model":"LONG"}"#,
    r#"{"k":"agent.start","run":"r","agent":"a","text":"LONG"}"#,
    r#"{"k":"agent.end","run":"r","agent":"a","status":"complete","model":"LONG"}"#,
    r#"{"k":"message","message":"m","role":"LONG","text":""}"#,
    r#"{"k":"message","message":"m","role":"user","text":"LONG"}"#,
    r#"{"k":"part.delta","run":"r","part":"p","text":"LONG"}"#,
    r#"{"k":"part.replace","run":"r","part":"p","text":"LONG"}"#,
    r#"{"k":"part.end","run":"r","part":"p","signature":"LONG"}"#,
    r#"{"k":"tool.start","run":"r","tool":"t","name":"LONG"}"#,
    r#"{"k":"tool.start","run":"r","tool":"t","name":"n","given_id":"LONG"}"#,
    r#"{"k":"tool.call","run":"r","tool":"t","name":"LONG"}"#,
    r#"{"k":"tool.call","run":"r","tool":"t","arguments":"LONG"}"#,
    r#"{"k":"tool.result","run":"r","tool":"t","output":1,"embeds":["LONG"]}"#,
    r#"{"k":"tool.result","run":"r","tool":"t","output":1,"ref":{"bytes":1,"hash":"LONG"}}"#,
    r#"{"k":"status","run":"r","text":"LONG"}"#,
    r#"{"k":"error","run":"r","code":"LONG","message":""}"#,
    r#"{"k":"custom","run":"r","name":"LONG","value":1}"#,
    r#"{"k":"label","note":"LONG"}"#,
    r#"{"k":"of.a.later.version","run":"r","field":["LONG"]}"#,
];

#[test]
fn i7_an_event_weighs_what_was_received_whichever_field_it_stands_in() {
    for kind in KINDS {
        for bytes in [100, 100_000] {
            let json = kind.replace("LONG", &"x".repeat(bytes));
            let weight = weigh(&Envelope::parse(&json).unwrap());
            assert!(weight >= json.len() - 32, "{kind} of {} bytes weighs {weight}", json.len());
            assert!(weight <= json.len() + 512, "{kind} of {} bytes weighs {weight}", json.len());
        }
    }
}
