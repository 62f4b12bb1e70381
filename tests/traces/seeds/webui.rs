//! Seed 0: what Agno says, what Open WebUI is told, and how OpenAI streams calls.

use encode::document::open_webui::{OpenWebUiOptions, ResultForm, content};
use serde_json::{Value, json};

use super::{Seed, accepted, accepted_piece, assert_means, encoded, native, objects, sse, view};

const ARGUMENTS: &str = r#"{"label": "\"a\" & <b>"}"#;
const RESULT: &str = r#"{"title":"it's"}"#;

/// As HTML attributes have it.
fn escaped(text: &str) -> String {
    let signs = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")];
    signs.iter().fold(text.to_owned(), |text, (sign, name)| text.replace(sign, name))
}

/// The printed block with its places filled.
fn filled(seed: &Seed, heading: &str) -> String {
    let block = seed.block(heading, 0);
    let block = block.replace("{tool_call_id}", "call_one").replace("{tool_name}", "read_block");
    let block = block.replace("{html_escaped_json_arguments}", &escaped(ARGUMENTS));
    block.replace("{html_escaped_json_result}", &escaped(RESULT))
}

fn emitted(content: &str) -> String {
    sse(&[json!({"type": "message", "data": {"content": content}})])
}

const CALL: &str = r#"
    {"k":"run.start"}
    {"k":"tool.call","tool":"call_one","name":"read_block","arguments":"{\"label\": \"\\\"a\\\" & <b>\"}"}
    {"k":"tool.state","tool":"call_one","state":"executing"}
"#;

fn shown(events: &str) -> String {
    content(
        &view(&native(events)).runs[0],
        OpenWebUiOptions { form: ResultForm::Attributes, ..OpenWebUiOptions::default() },
    )
}

#[test]
fn format_tool_call_in_progress() {
    let seed = Seed::open(0);
    let block = filled(&seed, "Format: Tool Call In Progress");
    assert_eq!(shown(CALL), block);
    assert_means(
        "open-webui",
        &emitted(&block),
        r#"
        r1 run.start dialect="open-webui"
        r1 tool.start call_one name="read_block"
        r1 tool.call call_one arguments="{\"label\": \"\\\"a\\\" & <b>\"}"
        r1 tool.state call_one state="executing"
        r1 run.end status="complete"
    "#,
    );
}

#[test]
fn format_tool_call_completed() {
    let seed = Seed::open(0);
    let block = filled(&seed, "Format: Tool Call Completed");
    assert_eq!(
        shown(&format!("{CALL}{{\"k\":\"tool.result\",\"tool\":\"call_one\",\"output\":{RESULT}}}")),
        block
    );
    assert_means(
        "open-webui",
        &emitted(&block),
        r#"
        r1 run.start dialect="open-webui"
        r1 tool.start call_one name="read_block"
        r1 tool.call call_one arguments="{\"label\": \"\\\"a\\\" & <b>\"}"
        r1 tool.result call_one output={"title":"it's"}
        r1 run.end status="complete"
    "#,
    );
}

#[test]
fn optional_attributes() {
    let seed = Seed::open(0);
    let files = r#"[{"type":"image","url":"/a.png"}]"#;
    let attributes = format!(" files=\"{}\" embeds=\"{}\">", escaped(files), escaped("[\"<p>\"]"));
    let block = filled(&seed, "Format: Tool Call Completed").replacen(">\n", &format!("{attributes}\n"), 1);
    let events = format!(
        "{CALL}{{\"k\":\"tool.result\",\"tool\":\"call_one\",\"output\":{RESULT},\"files\":{files},\"embeds\":[\"<p>\"]}}"
    );
    assert_eq!(shown(&events), block);
    assert_means(
        "open-webui",
        &emitted(&block),
        r#"
        r1 run.start dialect="open-webui"
        r1 tool.start call_one name="read_block"
        r1 tool.call call_one arguments="{\"label\": \"\\\"a\\\" & <b>\"}"
        r1 tool.result call_one embeds=["<p>"] files=[{"type":"image","url":"/a.png"}] output={"title":"it's"}
        r1 run.end status="complete"
    "#,
    );
}

/// How the pipe shows a call that failed.
#[test]
fn a_result_that_says_error_is_one() {
    for result in ["Error: no such file", "\"Error: no such file\""] {
        let block = format!(
            "<details type=\"tool_calls\" done=\"true\" id=\"c\" name=\"read\" arguments=\"{{}}\" result=\"{}\">\n\
             <summary>Tool Executed</summary>\n</details>\n",
            escaped(result)
        );
        let (envelopes, told) = accepted("open-webui", &emitted(&block));
        assert!(told.contains("tool.result c is_error=true output=\"no such file\""), "{told}");
        let failed = content(
            &view(&envelopes).runs[0],
            OpenWebUiOptions { form: ResultForm::Attributes, ..OpenWebUiOptions::default() },
        );
        assert!(failed.contains("result=\"&quot;Error: no such file&quot;\""), "{failed}");
    }
}

/// Blocks are not brought together by their ids: a pipe that says complete and then failed writes two.
#[test]
fn a_second_block_that_says_error_counts() {
    let block = |result: &str| {
        format!(
            "<details type=\"tool_calls\" done=\"true\" id=\"c\" name=\"read\" arguments=\"{{}}\" result=\"{result}\">\n\
             <summary>Tool Executed</summary>\n</details>\n\n"
        )
    };
    let (envelopes, _) = accepted("open-webui", &emitted(&(block("no file") + &block("Error: no file"))));
    let view = view(&envelopes);
    assert_eq!((view.runs[0].tools.len(), view.runs[0].tools[0].is_error), (1, true));
}

#[test]
fn a_result_is_a_source() {
    let events = format!(
        "{CALL}{{\"k\":\"tool.result\",\"tool\":\"call_one\",\"output\":\"{}\"}}",
        "é".repeat(20_000)
    );
    let said = objects(&encoded("open-webui", &native(&events)));
    let sources: Vec<_> = said.iter().filter(|event| event["type"] == "source").collect();
    let [source] = sources[..] else { panic!("{said:?}") };
    assert_eq!(source["data"]["source"]["name"], "🔧 read_block");
    assert_eq!(source["data"]["document"], json!(["é".repeat(500)]));
    let metadata = &source["data"]["metadata"][0];
    let whole = metadata["full_result"].as_str().unwrap();
    assert_eq!(metadata["source"], "read_block");
    assert!(whole.starts_with("éé") && whole.len() < 17_000 && whole.contains("more)"), "{}", whole.len());
    let failed =
        format!("{CALL}{{\"k\":\"tool.result\",\"tool\":\"call_one\",\"output\":\"no\",\"is_error\":true}}");
    let said = objects(&encoded("open-webui", &native(&failed)));
    let source = said.iter().find(|event| event["type"] == "source").unwrap();
    assert_eq!(source["data"]["document"], json!(["Error: no"]));
}

#[test]
fn the_end_of_a_sub_agent_is_done() {
    let events = r#"
        {"k":"run.start"}
        {"k":"agent.start","agent":"a","name":"scout"}
        {"k":"agent.end","agent":"a","status":"complete"}
    "#;
    let said = objects(&encoded("open-webui", &native(events)));
    let end = said.iter().find(|event| event["data"]["description"] == "Sub-agent completed").unwrap();
    assert_eq!(end["data"]["done"], true);
}

#[test]
fn how_events_reach_the_frontend() {
    let seed = Seed::open(0);
    let calls = objects(&seed.block("How Events Reach the Frontend", 0));
    assert_eq!(calls.len(), 3);
    assert_means(
        "open-webui",
        &sse(&calls),
        r#"
        r1 run.start dialect="open-webui"
        r1 status text="Reading..."
        r1 part.start p1 kind="text"
        r1 part.delta p1 @0 text="<details open>"
        r1 part.delta p1 @14 text="...</details>"
        r1 status text="Complete"
        r1 part.end p1
        r1 run.end status="complete"
    "#,
    );
    let events = r#"
        {"k":"run.start"}
        {"k":"status","text":"Reading..."}
        {"k":"run.end","status":"complete"}
    "#;
    let said = objects(&encoded("open-webui", &native(events)));
    assert_eq!(said, [calls[0].clone(), calls[2].clone()]);
}

#[test]
fn content_block_internal_structure() {
    let seed = Seed::open(0);
    let blocks = objects(&seed.block("Content Block Internal Structure (Middleware)", 0));
    let texts: Vec<_> = blocks.iter().filter_map(|block| block["content"].as_str()).collect();
    let [before, after] = texts[..] else { panic!("{texts:?}") };
    let events = format!(
        r#"{{"k":"run.start"}}
        {{"k":"part.delta","part":"p1","text":"{before}"}}
        {{"k":"tool.call","tool":"c","name":"search","arguments":"{{}}"}}
        {{"k":"tool.result","tool":"c","output":"found"}}
        {{"k":"part.delta","part":"p2","text":"{after}"}}"#
    );
    let text = shown(&events);
    let places = [before, "<details type=\"tool_calls\" done=\"true\"", "</details>", after]
        .map(|part| text.find(part));
    assert!(places.is_sorted() && places[0].is_some(), "{text}");
}

/// What the user sees, made of the events above it.
#[test]
fn what_the_user_sees() {
    let seed = Seed::open(0);
    let block = seed.block("Complete SSE Event Flow (After Implementation)", 0);
    let stream: String = block.lines().map(|line| line.replacen("SSE: ", "data: ", 1) + "\n\n").collect();
    let (envelopes, _) = accepted("ralph", &stream);
    let said = objects(&encoded("open-webui", &envelopes));
    let last =
        said.iter().rfind(|event| event["type"] == "replace").unwrap()["data"]["content"].as_str().unwrap();
    let seen: Vec<String> = last
        .lines()
        .filter(|line| {
            !line.is_empty()
                && !line.starts_with("<summary>")
                && !line.starts_with('&')
                && *line != "</details>"
        })
        .map(|line| {
            line.split(" name=\"").nth(1).map_or(line.to_owned(), |name| {
                format!("[▶] View Result from {}", name.split('"').next().unwrap())
            })
        })
        .collect();
    let printed = seed.block("What the User Sees in OpenWebUI", 1);
    let wanted: Vec<_> = printed
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.split("    ").next().unwrap().trim_end())
        .collect();
    assert_eq!(seen, wanted, "{last}");
    assert!(said.iter().any(|event| event["type"] == "status" && event["data"]["done"] == true));
}

#[test]
fn openai_sse_event_sequence() {
    let seed = Seed::open(0);
    let mut chunks: Vec<_> = (0..4).map(|nth| seed.json("SSE Event Sequence", nth)).collect();
    let mut rest = chunks[2].clone();
    rest["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = "\"Oslo\"}".into();
    chunks.insert(3, rest);
    let stream = sse(&chunks) + "data: [DONE]\n\n";
    let envelopes = assert_means(
        "openai-chat",
        &stream,
        r#"
        r1 run.start dialect="openai-chat"
        r1 tool.start call_one name="get_harvest"
        r1 tool.args call_one @0 text="{\"vineyard\":"
        r1 tool.args call_one @12 text="\"Oslo\"}"
        r1 tool.call call_one
        r1 run.end finish_reason="tool_calls" status="complete"
    "#,
    );
    // Nothing is said yet, which is an empty text as well as none.
    chunks[0]["choices"][0]["delta"]["content"] = "".into();
    let said: Vec<_> = objects(&encoded("openai-chat", &envelopes));
    let choices: Vec<_> = said
        .iter()
        .filter(|object| object.is_object())
        .map(|object| json!({"choices": object["choices"]}))
        .collect();
    assert_eq!(choices, chunks);
    assert_eq!(said.last(), Some(&"[DONE]".into()));
}

/// Rule 5: parallel calls interleave.
#[test]
fn openai_parallel_calls_interleave() {
    let seed = Seed::open(0);
    let [begin, more] = [1, 2].map(|nth| seed.json("SSE Event Sequence", nth));
    let second = |chunk: &Value| {
        let mut chunk = chunk.clone();
        let call = &mut chunk["choices"][0]["delta"]["tool_calls"][0];
        call["index"] = 1.into();
        if call["id"].is_string() {
            call["id"] = "call_two".into();
        }
        chunk
    };
    let end = |chunk: &Value| {
        let mut chunk = chunk.clone();
        chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = "1}".into();
        chunk
    };
    let flow = [
        begin.clone(),
        second(&begin),
        more.clone(),
        second(&more),
        end(&more),
        end(&second(&more)),
        seed.json("SSE Event Sequence", 3),
    ];
    let view = view(&accepted("openai-chat", &sse(&flow)).0);
    let calls: Vec<_> = view.runs[0]
        .tools
        .iter()
        .map(|(id, tool)| format!("{id} {} {}", tool.name, tool.arguments.text))
        .collect();
    assert_eq!(calls, ["call_one get_harvest {\"vineyard\":1}", "call_two get_harvest {\"vineyard\":1}"]);
}

/// One of Agno's events, with a call where it is about one.
fn agno(name: &str) -> Value {
    let tool = json!({"tool_call_id": "c1", "tool_name": "read_file", "tool_args": {"path": "a"}, "tool_call_error": null,
        "result": null, "metrics": null, "requires_confirmation": null, "confirmed": null});
    let mut event = json!({"created_at": 1, "event": name, "agent_id": "a", "agent_name": "A", "run_id": "r", "session_id": "s"});
    if name.starts_with("Tool") {
        event["tool"] = tool;
    }
    match name {
        "ToolCallCompleted" => event["tool"]["result"] = "text".into(),
        "ToolCallError" => event["error"] = "no such file".into(),
        "RunContent" | "RunIntermediateContent" => event["content"] = "Hm".into(),
        "RunCompleted" => event["content"] = "Hm".into(),
        _ => {}
    }
    event
}

fn agno_stream(names: &[&str]) -> String {
    sse(&names.iter().map(|name| json!({"event": name, "data": agno(name)})).collect::<Vec<_>>())
}

#[test]
fn agno_tool_call_event_types() {
    let seed = Seed::open(0);
    for name in seed.table("Tool Call Event Types") {
        let name = name.strip_suffix("Event").unwrap().to_owned();
        let mut event = agno(&name);
        if name == "ToolCallArgsDelta" {
            event["tool_call_name"] = "read_file".into();
            event["arguments_delta"] = "{}".into();
        }
        let told = accepted_piece("agno", &sse(&[json!({"event": name, "data": event})])).1;
        assert!(!told.contains(" raw "), "{name} is known: {told}");
    }
}

#[test]
fn agno_internal_flow_with_tool_calls() {
    let stream = agno_stream(&[
        "RunStarted",
        "RunContent",
        "ToolCallStarted",
        "ToolCallCompleted",
        "RunContent",
        "RunCompleted",
    ]);
    assert_means(
        "agno",
        &stream,
        r#"
        r1 run.start dialect="agno" producer_at=1000
        r1 part.start p1 kind="text" producer_at=1000
        r1 part.delta p1 @0 producer_at=1000 text="Hm"
        r1 part.end p1 producer_at=1000
        r1 tool.start c1 name="read_file" producer_at=1000
        r1 tool.call c1 arguments="{\"path\":\"a\"}" producer_at=1000
        r1 tool.state c1 producer_at=1000 state="executing"
        r1 tool.result c1 output="text" producer_at=1000
        r1 part.start p2 kind="text" producer_at=1000
        r1 part.delta p2 @0 producer_at=1000 text="Hm"
        r1 part.end p2 producer_at=1000
        r1 run.end producer_at=1000 status="complete"
    "#,
    );
    let stream =
        agno_stream(&["RunStarted", "ToolCallStarted", "ToolCallError", "RunContent", "RunCompleted"]);
    assert_means(
        "agno",
        &stream,
        r#"
        r1 run.start dialect="agno" producer_at=1000
        r1 tool.start c1 name="read_file" producer_at=1000
        r1 tool.call c1 arguments="{\"path\":\"a\"}" producer_at=1000
        r1 tool.state c1 producer_at=1000 state="executing"
        r1 tool.result c1 is_error=true output="no such file" producer_at=1000
        r1 part.start p1 kind="text" producer_at=1000
        r1 part.delta p1 @0 producer_at=1000 text="Hm"
        r1 part.end p1 producer_at=1000
        r1 run.end producer_at=1000 status="complete"
    "#,
    );
}

#[test]
fn agno_full_event_type_list() {
    let seed = Seed::open(0);
    let names = seed.table("Full Event Type List");
    assert_eq!(names.len(), 26);
    for name in names {
        let name = name.strip_suffix("Event").unwrap();
        let wire = if name == "IntermediateRunContent" { "RunIntermediateContent" } else { name };
        let (_, told) = accepted_piece("agno", &agno_stream(&[wire]));
        assert!(!told.contains(" raw "), "{name}: {told}");
    }
}
