//! Tests of reconstruction: each API's rules hold for any history, and what an agent needs to go on is there.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use model::testkit::{events, folded, history as any_history, logged};

mod rules;

fn view(lines: &str) -> View {
    folded(&logged(events(lines)))
}

fn openai(lines: &str, unfinished: UnfinishedCalls) -> Value {
    let request = serde_json::to_value(openai::request(&view(lines), unfinished)).unwrap();
    rules::openai(&request["messages"]).unwrap();
    request
}

fn anthropic(lines: &str, unfinished: UnfinishedCalls) -> Value {
    let request = serde_json::to_value(anthropic::request(&view(lines), unfinished)).unwrap();
    rules::anthropic(&request["messages"]).unwrap();
    request
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_history_obeys_the_rules_of_each_api(history in any_history(0..80), answer in any::<bool>()) {
        let view = folded(&history);
        let unfinished = if answer { UnfinishedCalls::Answer } else { UnfinishedCalls::LeaveOut };
        let openai = serde_json::to_value(openai::request(&view, unfinished)).unwrap();
        prop_assert_eq!(rules::openai(&openai["messages"]), Ok(()), "{}", openai);
        let anthropic = serde_json::to_value(anthropic::request(&view, unfinished)).unwrap();
        prop_assert_eq!(rules::anthropic(&anthropic["messages"]), Ok(()), "{}", anthropic);
    }
}

/// Texts stream on while calls run, and results come in between.
const INTERLEAVED: &str = r#"
    {"k":"message","message":"m1","role":"system","text":"Be brief."}
    {"k":"message","message":"m2","role":"user","text":"How much?"}
    {"k":"run.start","run":"r","model":"m-1"}
    {"k":"part.start","run":"r","part":"h","kind":"thinking"}
    {"k":"part.delta","run":"r","part":"h","text":"hm"}
    {"k":"part.start","run":"r","part":"a","kind":"text"}
    {"k":"part.delta","run":"r","part":"a","text":"I look. "}
    {"k":"tool.call","run":"r","tool":"t1","name":"sql","arguments":"{\"q\":1}"}
    {"k":"tool.state","run":"r","tool":"t1","state":"executing"}
    {"k":"tool.call","run":"r","tool":"t2","name":"web.search","arguments":""}
    {"k":"tool.state","run":"r","tool":"t2","state":"executing"}
    {"k":"tool.result","run":"r","tool":"t2","output":"two","is_error":true}
    {"k":"part.start","run":"r","part":"b","kind":"text"}
    {"k":"part.delta","run":"r","part":"b","text":"It is "}
    {"k":"tool.result","run":"r","tool":"t1","output":[{"type":"text","text":"41"},{"type":"text","text":"42"}]}
    {"k":"part.delta","run":"r","part":"b","text":"42."}
    {"k":"run.end","run":"r","status":"complete"}
    {"k":"message","message":"m3","role":"user","text":"Thanks"}
"#;

#[test]
fn results_stand_directly_behind_their_calls_however_they_came() {
    let request = openai(INTERLEAVED, UnfinishedCalls::LeaveOut);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        request,
        json!({"model": "m-1", "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "How much?"},
            {"role": "assistant", "content": "I look. ", "tool_calls": [call("t1", "sql", "{\"q\":1}"), call("t2", "web_search", "{}")]},
            {"role": "tool", "tool_call_id": "t1", "content": "41\n42"},
            {"role": "tool", "tool_call_id": "t2", "content": "Error: two"},
            {"role": "assistant", "content": "It is 42."},
            {"role": "user", "content": "Thanks"},
        ]})
    );
}

#[test]
fn thinking_goes_back_only_where_it_was_signed_and_to_whom_signs() {
    let end = r#"{"k":"part.end","run":"r","part":"h","signature":"EqoB"}"#;
    let start = r#"    {"k":"part.start","run":"r","part":"a","kind":"text"}"#;
    let signed = INTERLEAVED.replacen(start, &format!("{end}\n{start}"), 1);
    let content = |lines: &str| anthropic(lines, UnfinishedCalls::LeaveOut)["messages"][1]["content"].clone();
    assert_eq!(content(&signed)[0], json!({"type": "thinking", "thinking": "hm", "signature": "EqoB"}));
    assert_eq!(content(&signed)[1], json!({"type": "text", "text": "I look. "}));
    assert_eq!(content(INTERLEAVED)[0], json!({"type": "text", "text": "I look. "}));
    assert!(!openai(&signed, UnfinishedCalls::LeaveOut).to_string().contains("hm"));
}

#[test]
fn user_turns_are_merged_and_results_stand_first() {
    let lines = INTERLEAVED.replace(r#"{"k":"part.start","run":"r","part":"b","kind":"text"}"#, "");
    let lines = lines.lines().filter(|line| !line.contains(r#""part":"b""#)).collect::<Vec<_>>().join("\n");
    let request = anthropic(&lines, UnfinishedCalls::LeaveOut);
    assert_eq!(
        request,
        json!({"model": "m-1", "system": "Be brief.", "messages": [
            {"role": "user", "content": [{"type": "text", "text": "How much?"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look. "},
                {"type": "tool_use", "id": "t1", "name": "sql", "input": {"q": 1}},
                {"type": "tool_use", "id": "t2", "name": "web_search", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "41\n42"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "two", "is_error": true},
                {"type": "text", "text": "Thanks"},
            ]},
        ]})
    );
}

/// One call gave its result, one was running, one was being written when the stream broke.
const BROKEN: &str = r#"
    {"k":"message","message":"m","role":"user","text":"Go"}
    {"k":"run.start","run":"r"}
    {"k":"part.start","run":"r","part":"a","kind":"text"}
    {"k":"part.delta","run":"r","part":"a","text":"The solution involves"}
    {"k":"tool.call","run":"r","tool":"done","name":"ls","arguments":"{}"}
    {"k":"tool.result","run":"r","tool":"done","output":""}
    {"k":"tool.call","run":"r","tool":"ran","name":"rm","arguments":"{}"}
    {"k":"tool.state","run":"r","tool":"ran","state":"executing"}
    {"k":"tool.start","run":"r","tool":"written","name":"cp"}
    {"k":"tool.args","run":"r","tool":"written","text":"{\"fr"}
    {"k":"custom","run":"r","name":"cognition_out","value":{"is_partial":true,"completion_percentage":65}}
    {"k":"run.end","run":"r","status":"error"}
"#;

#[test]
fn what_was_done_before_a_failure_is_kept_and_the_break_is_told() {
    let request = openai(BROKEN, UnfinishedCalls::LeaveOut);
    assert_eq!(request["partial"], json!({"is_partial": true, "completion_percentage": 65}));
    let messages = request["messages"].as_array().unwrap();
    assert_eq!(messages[1]["tool_calls"].as_array().unwrap().len(), 1);
    assert_eq!(messages[2], json!({"role": "tool", "tool_call_id": "done", "content": "completed"}));
    let note = json!({"role": "system", "content": "[Previous response was interrupted at 65%]"});
    assert_eq!(messages.last(), Some(&note));
    let request = anthropic(BROKEN, UnfinishedCalls::LeaveOut);
    let last = request["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        last["content"][1],
        json!({"type": "text", "text": "[Previous response was interrupted at 65%]"})
    );
}

#[test]
fn a_call_that_ran_can_be_answered_as_interrupted_one_half_written_never() {
    let request = openai(BROKEN, UnfinishedCalls::Answer);
    let messages = request["messages"].as_array().unwrap();
    let calls: Vec<&Value> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| &message["tool_call_id"])
        .collect();
    assert_eq!(calls, ["done", "ran"]);
    assert!(messages.iter().any(|message| {
        message["content"].as_str().is_some_and(|text| text.contains("may have had effects"))
    }));
}

#[test]
fn calls_one_after_the_other_are_answers_one_after_the_other() {
    let lines = r#"
        {"k":"message","message":"m","role":"user","text":"Go"}
        {"k":"run.start","run":"r"}
        {"k":"tool.call","run":"r","tool":"t1","name":"a","arguments":"{}"}
        {"k":"tool.result","run":"r","tool":"t1","output":"1"}
        {"k":"status","run":"r","text":"time passes"}
        {"k":"status","run":"r","text":"time passes"}
        {"k":"status","run":"r","text":"time passes"}
        {"k":"tool.call","run":"r","tool":"t2","name":"b","arguments":"{}"}
        {"k":"tool.result","run":"r","tool":"t2","output":"2"}
    "#;
    let request = openai(lines, UnfinishedCalls::LeaveOut);
    let roles: Vec<&Value> = request["messages"].as_array().unwrap().iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "tool"]);
    assert_eq!(request.get("partial"), None, "a run that goes on and waits for the model is not partial");
}

#[test]
fn inner_steps_of_sub_agents_are_left_out_and_what_they_gave_back_is_kept() {
    let lines = r#"
        {"k":"message","message":"m","role":"user","text":"Go"}
        {"k":"run.start","run":"r"}
        {"k":"tool.call","run":"r","tool":"task","name":"task","arguments":"{\"do\":\"read\"}"}
        {"k":"agent.start","run":"r","agent":"a","tool":"task","name":"reader"}
        {"k":"part.start","run":"r","agent":"a","part":"p","kind":"text"}
        {"k":"part.delta","run":"r","agent":"a","part":"p","text":"inner"}
        {"k":"tool.call","run":"r","agent":"a","tool":"inner","name":"read","arguments":"{}"}
        {"k":"tool.result","run":"r","agent":"a","tool":"inner","output":"inner"}
        {"k":"agent.end","run":"r","agent":"a","status":"complete"}
        {"k":"tool.result","run":"r","tool":"task","output":{"found":3}}
        {"k":"run.end","run":"r","status":"complete"}
    "#;
    let text = anthropic(lines, UnfinishedCalls::Answer).to_string();
    assert!(!text.contains("inner"), "{text}");
    assert!(text.contains(r#"{\"found\":3}"#), "{text}");
}

#[test]
fn the_same_id_in_two_runs_and_ids_that_an_api_refuses_become_others_that_still_pair() {
    let run = |run: &str, id: &str| {
        format!(
            r#"
            {{"k":"run.start","run":"{run}"}}
            {{"k":"tool.call","run":"{run}","tool":"{id}","name":"fs.read file","arguments":"[1]"}}
            {{"k":"tool.result","run":"{run}","tool":"{id}","output":"x"}}
            {{"k":"run.end","run":"{run}","status":"complete"}}
            "#
        )
    };
    let long = "i".repeat(60);
    let lines =
        [run("r1", "functions.x:0"), run("r2", "functions.x:0"), run("r3", ""), run("r4", &long)].concat();
    let request = openai(&lines, UnfinishedCalls::LeaveOut);
    let messages = &request["messages"];
    assert_eq!(messages[0]["tool_calls"][0]["id"], "functions.x:0", "an id is kept where it can be");
    assert_eq!(messages[0]["tool_calls"][0]["function"]["arguments"], r#"{"arguments":[1]}"#);
    let request = anthropic(&lines, UnfinishedCalls::LeaveOut);
    assert_eq!(request["messages"][0]["role"], "user", "the first is never the assistant");
    assert_eq!(request["messages"][1]["content"][0]["name"], "fs_read_file");
}

#[test]
fn arguments_are_an_object_whatever_the_model_wrote() {
    for (written, sent) in [
        ("", "{}"),
        (r#"{"a": 1.50}"#, r#"{"a": 1.50}"#),
        (r#""{\"a\":1}""#, r#"{"a":1}"#),
        (r#""text""#, r#"{"arguments":"text"}"#),
        (r#"{"a":"#, r#"{"arguments":"{\"a\":"}"#),
    ] {
        let line = json!({"k": "tool.call", "run": "r", "tool": "t", "name": "n", "arguments": written});
        let lines = format!("{line}\n{}", r#"{"k":"tool.result","run":"r","tool":"t","output":1}"#);
        let request = openai(&lines, UnfinishedCalls::LeaveOut);
        assert_eq!(request["messages"][0]["tool_calls"][0]["function"]["arguments"], sent, "{written}");
    }
}

#[test]
fn an_unfinished_answer_at_the_end_has_no_white_space_behind_it() {
    let lines = r#"
        {"k":"message","message":"m","role":"user","text":"Go"}
        {"k":"run.start","run":"r"}
        {"k":"part.start","run":"r","part":"a","kind":"text"}
        {"k":"part.delta","run":"r","part":"a","text":"So \n"}
    "#;
    let request = anthropic(lines, UnfinishedCalls::LeaveOut);
    assert_eq!(request["messages"][1]["content"][0]["text"], "So");
    assert_eq!(request["partial"]["is_partial"], true);
}

/// The same of a run of the hub's own agents.
fn own(lines: &str) -> View {
    let mut view = view(lines);
    view.runs.values_mut().for_each(|run| (run.own, run.dialect) = (true, Some("runner".into())));
    view
}

fn roles(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
}

/// Of one answer a call was over before the text behind it and the next call came.
const OWN: &str = r#"
    {"k":"message","message":"m","role":"user","text":"Go"}
    {"k":"run.start","run":"r"}
    {"k":"part.delta","run":"r","part":"a","text":"I look."}
    {"k":"tool.call","run":"r","tool":"t1","name":"a","arguments":"{}"}
    {"k":"tool.result","run":"r","tool":"t1","output":"1"}
    {"k":"part.delta","run":"r","part":"b","text":"Meanwhile"}
    {"k":"tool.call","run":"r","tool":"t2","name":"b","arguments":"{}"}
    {"k":"tool.result","run":"r","tool":"t2","output":"2"}
    {"k":"part.delta","run":"r","part":"c","text":", I wait."}
    {"k":"custom","run":"r","name":"next_answer","value":null}
"#;

#[test]
fn what_the_hub_knows_to_be_one_answer_goes_back_as_one() {
    let request = serde_json::to_value(openai::request(&own(OWN), UnfinishedCalls::Answer)).unwrap();
    rules::openai(&request["messages"]).unwrap();
    assert_eq!(roles(&request), ["user", "assistant", "tool", "tool"], "{request}");
    assert_eq!(request["messages"][1]["content"], "I look.\n\nMeanwhile\n\n, I wait.");
    assert_eq!(request["messages"][1]["tool_calls"].as_array().map(Vec::len), Some(2));
    let request = serde_json::to_value(anthropic::request(&own(OWN), UnfinishedCalls::Answer)).unwrap();
    rules::anthropic(&request["messages"]).unwrap();
    assert_eq!(roles(&request), ["user", "assistant", "user"], "{request}");
    let kinds: Vec<_> =
        request["messages"][1]["content"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    assert_eq!(kinds, ["text", "tool_use", "tool_use"]);
    // Whoever else writes such an event knows nothing of it.
    assert_eq!(roles(&openai(OWN, UnfinishedCalls::Answer)).len(), 6);
}

#[test]
fn an_answer_that_broke_off_is_marked_once_wherever_the_next_one_begins() {
    let torn = r#"
        {"k":"message","message":"m","role":"user","text":"Go"}
        {"k":"run.start","run":"r"}
        {"k":"part.delta","run":"r","part":"a","text":"One half"}
        {"k":"custom","run":"r","name":"partial_answer","value":{"is_partial":true,"completion_percentage":65}}
    "#;
    let note = "[Previous response was interrupted at 65%]";
    let told = |lines: &str| {
        let request = serde_json::to_value(openai::request(&own(lines), UnfinishedCalls::Answer)).unwrap();
        rules::openai(&request["messages"]).unwrap();
        request["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["content"].as_str().unwrap().to_owned())
            .collect()
    };
    let told: &dyn Fn(&str) -> Vec<String> = &told;
    assert_eq!(told(torn), ["Go", "One half", note]);
    let next = r#"{"k":"custom","run":"r","name":"next_answer","value":null}
        {"k":"part.delta","run":"r","part":"b","text":"and the other"}
        {"k":"run.end","run":"r","status":"complete"}"#;
    assert_eq!(told(&format!("{torn}\n{next}")), ["Go", "One half", note, "and the other"]);
    let end = r#"{"k":"error","run":"r","code":"hub_stopped","message":"later"}
        {"k":"run.end","run":"r","status":"interrupted"}"#;
    assert_eq!(told(&format!("{torn}\n{end}")), ["Go", "One half", note]);
    let again = r#"{"k":"run.start","run":"r"}"#;
    assert_eq!(told(&format!("{torn}\n{end}\n{again}\n{next}")), ["Go", "One half", note, "and the other"]);
    // An agent elsewhere that failed and was asked again: it says nothing of its answers but that.
    let far = torn.replace("partial_answer", "else");
    let error = r#"{"k":"error","run":"r","code":"far","message":"no"}"#;
    let note = "[Previous response was interrupted at ?%]";
    let again = format!("{far}\n{error}\n{end}\n{again}\n{next}");
    assert_eq!(told(&again), ["Go", "One half", note, "and the other"]);
}

#[test]
fn a_rejected_call_is_told_in_front_of_the_reason() {
    let request = openai(
        r#"{"k":"run.start","run":"r"}
        {"k":"message","run":"r","message":"m1","role":"user","text":"Clean up"}
        {"k":"tool.call","run":"r","tool":"t","name":"rm","arguments":"{}"}
        {"k":"approval.request","run":"r","tool":"t"}
        {"k":"approval.answer","run":"r","tool":"t","approved":false}
        {"k":"message","message":"m2","role":"user","text":"Not that folder"}
        {"k":"part.delta","run":"r","part":"p","text":"Understood."}
        {"k":"run.end","run":"r","status":"complete"}"#,
        UnfinishedCalls::LeaveOut,
    );
    let told: Vec<(&str, &str)> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["role"].as_str().unwrap(), it["content"].as_str().unwrap_or("")))
        .collect();
    let wanted = [
        ("user", "Clean up"),
        ("assistant", ""),
        ("tool", "Error: The call was rejected and not executed."),
        ("user", "Not that folder"),
        ("assistant", "Understood."),
    ];
    assert_eq!(told, wanted);
}
