//! What is seen of traces, and that their order makes no difference.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{ConversationEvents, SpanJoiner};
use crate::spans::{FinishedSpan, SpanId};
use model::ids::ToolCallId;
use model::limits::{SPAN_HELD_MS, SPANS_PER_TRACE_MAX, TRACE_QUIET_MS, TRACE_REMEMBERED_MS};
use model::summary;
use model::view::{RunView, View};

const MS: u64 = 1_000_000;
const NOW: u64 = 1_795_300_000_000;

fn id(number: u8) -> SpanId {
    [number; 8]
}

/// A span of the trace 1 that took from `from` to `to`, in milliseconds.
fn span(number: u8, parent: u8, (from, to): (u64, u64), attributes: Value) -> FinishedSpan {
    let Value::Object(mut attributes) = attributes else { panic!("an object") };
    if attributes.contains_key("gen_ai.operation.name") {
        attributes.insert(String::from("gen_ai.conversation.id"), json!("c1"));
    }
    FinishedSpan {
        trace: [1; 16],
        id: id(number),
        parent: (parent > 0).then(|| id(parent)),
        name: format!("span {number}"),
        start_ns: from * MS,
        end_ns: to * MS,
        attributes: attributes.into_iter().collect(),
        service: Some(String::from("weather-service")),
        host: Some(String::from("box-1")),
        ..FinishedSpan::default()
    }
}

fn agent(number: u8, parent: u8, times: (u64, u64), name: &str) -> FinishedSpan {
    span(number, parent, times, json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}))
}

fn tool(number: u8, parent: u8, times: (u64, u64), call: Option<&str>, city: &str) -> FinishedSpan {
    let mut facts = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.arguments": json!({"city": city}).to_string(),
        "gen_ai.tool.call.result": json!({"city": city, "degrees": 21}).to_string()});
    if let Some(call) = call {
        facts["gen_ai.tool.call.id"] = json!(call);
    }
    span(number, parent, times, facts)
}

fn call(id: &str, city: &str) -> Value {
    json!({"type": "tool_call", "id": id, "name": "get_weather", "arguments": {"city": city}})
}

fn result(id: &str, city: &str) -> Value {
    json!({"type": "tool_call_response", "id": id, "response": {"city": city, "degrees": 21}})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "content": text})
}

fn said(role: &str, parts: &[Value]) -> Value {
    json!({"role": role, "parts": parts})
}

fn model(number: u8, parent: u8, times: (u64, u64), input: &[Value], output: &[Value]) -> FinishedSpan {
    let facts = json!({"gen_ai.operation.name": "chat", "gen_ai.response.model": "gpt-5",
        "gen_ai.system_instructions": [text("Be brief.")],
        "gen_ai.input.messages": json!(input).to_string(),
        "gen_ai.output.messages": json!([said("assistant", output)]).to_string(),
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 4});
    span(number, parent, times, facts)
}

/// An agent that asks for the weather twice at once, lets a sub-agent look it up once more, and answers.
fn trace() -> Vec<FinishedSpan> {
    let asked = said("user", &[text("What is the weather?")]);
    let calls = [call("call_1", "Lisbon"), call("call_2", "Porto")];
    let delegation = json!({"type": "tool_call", "id": "call_3", "name": "ask_scout", "arguments": "{}"});
    let history = [
        asked.clone(),
        said("assistant", &calls),
        said("user", &[result("call_1", "Lisbon"), result("call_2", "Porto")]),
    ];
    let task = said("user", &[text("Look at Faro.")]);
    let scout = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask_scout",
        "gen_ai.tool.call.id": "call_3", "gen_ai.tool.call.arguments": "{}",
        "gen_ai.tool.call.result": "\"sunny\""});
    vec![
        model(2, 1, (10, 100), std::slice::from_ref(&asked), &calls),
        tool(3, 1, (110, 200), Some("call_1"), "Lisbon"),
        tool(4, 1, (110, 350), None, "Porto"),
        model(5, 1, (360, 400), &history, &[delegation]),
        model(8, 7, (420, 450), std::slice::from_ref(&task), &[call("call_1x", "Faro")]),
        tool(9, 7, (460, 500), Some("call_1x"), "Faro"),
        model(10, 7, (510, 540), &[task], &[text("Faro is sunny.")]),
        agent(7, 6, (415, 550), "scout"),
        span(6, 1, (410, 560), scout),
        model(11, 1, (570, 600), &history, &[text("Sunny everywhere.")]),
        agent(1, 0, (0, 610), "forecaster"),
    ]
}

/// The view of what was told, all of which must be of the conversation `c1`.
fn view(told: &[ConversationEvents]) -> View {
    let mut view = View::default();
    for told in told {
        assert_eq!(told.conversation.as_str(), "c1");
        for envelope in &told.envelopes {
            model::fold::fold(&mut view, envelope, &mut |_| {});
        }
    }
    view
}

/// The view without what depends on the order in which things were told.
fn plain(view: &View) -> Value {
    let mut view = serde_json::to_value(view).unwrap();
    view["items"] = Value::Null;
    view["seq"] = Value::Null;
    for (_, run) in view["runs"].as_object_mut().unwrap() {
        run["items"] = Value::Null;
        run["open"] = json!(run["open"].as_array().unwrap().len());
    }
    for (_, message) in view["messages"].as_object_mut().unwrap() {
        message["within"] = Value::Null;
    }
    view
}

/// The trace in exports of `sizes`, all within a moment, and then time.
fn at_once(spans: &[FinishedSpan], sizes: &[usize]) -> View {
    let (mut joiner, mut told, mut rest) = (SpanJoiner::default(), Vec::new(), spans);
    for size in sizes.iter().copied().chain([usize::MAX]) {
        let (export, later) = rest.split_at(size.min(rest.len()));
        rest = later;
        told.extend(joiner.take(export.to_vec(), NOW).told);
    }
    told.extend(joiner.tick(NOW + SPAN_HELD_MS));
    told.extend(joiner.tick(NOW + 2 * SPAN_HELD_MS));
    view(&told)
}

/// Each span in its own export when it ended, with time going by as it did.
fn live(spans: &[FinishedSpan]) -> View {
    let (mut joiner, mut told) = (SpanJoiner::default(), Vec::new());
    for span in spans {
        let now = NOW + span.end_ns / MS * 100;
        told.extend(joiner.tick(now));
        told.extend(joiner.take(vec![span.clone()], now).told);
    }
    told.extend(joiner.tick(NOW + 1_000_000));
    view(&told)
}

#[test]
fn spans_of_a_trace_are_one_run_with_true_latencies() {
    let view = at_once(&trace(), &[]);
    let seen = serde_json::to_value(summary::summary(&view)).unwrap();
    let run = &seen["runs"][0];
    assert_eq!(seen["anomalies"], json!([]), "{seen:#}");
    assert_eq!((&run["status"], &run["model"]), (&json!("complete"), &json!("gpt-5")), "{seen:#}");
    let run = view.runs.values().next().unwrap();
    assert_eq!((run.name.as_deref(), view.title.as_deref()), (Some("forecaster"), Some("weather-service")));
    assert_eq!(run.host.as_deref(), Some("box-1"));
    assert_eq!(run.usage.unwrap().input_tokens, 50);
    let took = |name: &str| run.tools[&ToolCallId::new(name)].exec_ms;
    assert_eq!((took("call_1"), took("call_2"), took("call_3")), (Some(90), Some(240), Some(150)));
    let messages: Vec<_> = view.messages.values().map(|it| (it.role.as_str(), it.text.as_str())).collect();
    assert_eq!(messages, [("system", "Be brief."), ("user", "What is the weather?")]);
}

#[test]
fn sub_agents_stand_below_the_call_that_started_them() {
    let view = at_once(&trace(), &[]);
    let run = view.runs.values().next().unwrap();
    let [(scout, facts)] = run.agents.iter().collect::<Vec<_>>()[..] else { panic!("{:?}", run.agents) };
    assert_eq!((facts.name.as_deref(), facts.depth), (Some("scout"), 1));
    assert_eq!(facts.tool.as_ref().map(ToolCallId::as_str), Some("call_3"));
    let of_scout = |name: &str| run.tools[&ToolCallId::new(name)].agent.as_ref() == Some(scout);
    assert_eq!((of_scout("call_1x"), of_scout("call_1"), of_scout("call_3")), (true, false, false));
    let texts: Vec<_> =
        run.parts.values().map(|part| (part.agent.is_some(), part.body.text.to_string())).collect();
    let used = |usage: Option<model::event::Usage>| usage.map(|it| (it.input_tokens, it.output_tokens));
    assert_eq!((used(facts.usage), used(run.usage)), (Some((20, 8)), Some((50, 20))), "two calls of five");
    assert_eq!(texts, [(true, "Faro is sunny.".to_owned()), (false, "Sunny everywhere.".to_owned())]);
}

#[test]
fn what_ended_shows_before_the_agent_has_and_the_guesses_come_true() {
    let spans = trace();
    let mut joiner = SpanJoiner::default();
    let mut told = joiner.take(spans[..1].to_vec(), NOW).told;
    assert_eq!(view_of(&told)["runs"].as_object().unwrap().len(), 1, "a run begins with its first span");
    told.extend(joiner.tick(NOW + SPAN_HELD_MS));
    let seen = view(&told);
    let run = seen.runs.values().next().unwrap();
    assert_eq!(run.tools.len(), 2, "calls show while they are executed");
    // The span in between has not come, but its children tell that somebody else is at work.
    assert_eq!(plain(&live(&spans)), plain(&at_once(&spans, &[])));
}

fn view_of(told: &[ConversationEvents]) -> Value {
    serde_json::to_value(view(told)).unwrap()
}

#[test]
fn results_without_spans_of_tools_come_from_the_next_request() {
    let asked = said("user", &[text("Hi")]);
    let history = [
        asked.clone(),
        said("assistant", &[call("call_1", "Lisbon")]),
        said("tool", &[result("call_1", "Lisbon")]),
    ];
    let spans = [
        model(2, 1, (10, 100), &[asked], &[call("call_1", "Lisbon")]),
        model(3, 1, (340, 400), &history, &[text("Sunny.")]),
        agent(1, 0, (0, 410), "a"),
    ];
    let view = at_once(&spans, &[1, 1]);
    let run = view.runs.values().next().unwrap();
    let tool = &run.tools[&ToolCallId::new("call_1")];
    assert_eq!((tool.exec_ms, tool.is_error), (Some(240), false));
    assert_eq!(tool.result.as_ref().unwrap().to_value(), json!({"city": "Lisbon", "degrees": 21}));
}

#[test]
fn spans_of_tools_with_positional_arguments_belong_to_the_calls_with_these_values() {
    let asked = said("user", &[text("Hi")]);
    let calls = [call("call_1", "Lisbon"), call("call_2", "Porto")];
    let of = |number: u8, city: &str| {
        let facts = json!({"openinference.span.kind": "TOOL", "tool.name": "get_weather",
            "input.value": json!({"args": [city], "kwargs": {}}).to_string(), "output.value": city});
        span(number, 1, (110, 200), facts)
    };
    let asking = model(2, 1, (10, 100), &[asked], &calls);
    for spans in [
        vec![asking.clone(), of(3, "Porto"), of(4, "Lisbon"), agent(1, 0, (0, 610), "a")],
        vec![of(3, "Porto"), of(4, "Lisbon"), agent(1, 0, (0, 610), "a"), asking],
    ] {
        let (mut joiner, mut told) = (SpanJoiner::default(), Vec::new());
        for (span, step) in spans.into_iter().zip(1..) {
            told.extend(joiner.take(vec![span], NOW + step * 5 * SPAN_HELD_MS).told);
            told.extend(joiner.tick(NOW + step * 5 * SPAN_HELD_MS + SPAN_HELD_MS));
        }
        let told: Vec<_> = told.into_iter().flat_map(|told| told.envelopes).collect();
        let mut view = View::default();
        for envelope in &told {
            model::fold::fold(&mut view, envelope, &mut |_| {});
        }
        let run = view.runs.values().next().unwrap();
        let tools: Vec<_> = run.tools.values().collect();
        assert_eq!(tools.len(), 2, "each call once: {tools:#?}");
        for tool in tools {
            let written: Value = serde_json::from_str(&tool.arguments.text.to_string()).unwrap();
            assert_eq!(tool.result.as_ref().unwrap().to_value(), written["city"], "{tool:#?}");
        }
    }
}

#[test]
fn spans_of_tools_without_a_result_leave_it_to_the_next_request() {
    let asked = said("user", &[text("Hi")]);
    let history = [
        asked.clone(),
        said("assistant", &[call("call_1", "Lisbon")]),
        said("tool", &[result("call_1", "Lisbon")]),
    ];
    let mut executed = tool(3, 1, (110, 200), Some("call_1"), "Lisbon");
    executed.attributes = without(&executed, "gen_ai.tool.call.result");
    let calling = model(2, 1, (10, 100), &[asked], &[call("call_1", "Lisbon")]);
    let answering = model(4, 1, (340, 400), &history, &[text("Sunny.")]);
    let root = agent(1, 0, (0, 410), "a");
    let told = |spans: &[FinishedSpan], sizes: &[usize]| {
        let view = at_once(spans, sizes);
        let run = view.runs.values().next().unwrap();
        let tool = &run.tools[&ToolCallId::new("call_1")];
        (tool.exec_ms, tool.result.as_ref().unwrap().to_value())
    };
    let expected = (Some(90), json!({"city": "Lisbon", "degrees": 21}));
    let spans = [calling.clone(), executed.clone(), answering.clone(), root.clone()];
    assert_eq!(told(&spans, &[1, 1, 1]), expected);
    assert_eq!(told(&[answering, executed.clone(), calling.clone(), root.clone()], &[1, 1, 1]), expected);
    assert_eq!(told(&[calling, executed, root], &[1, 1]), (Some(90), json!("")), "nobody has it");
}

#[test]
fn a_question_that_is_asked_again_in_another_trace_is_told_again() {
    let (mut joiner, mut told) = (SpanJoiner::default(), Vec::new());
    let asked = said("user", &[text("What is new?")]);
    let answered = said("assistant", &[text("Nothing.")]);
    let whole = [asked.clone(), answered.clone(), asked.clone(), answered, asked];
    let mut questions = Vec::new();
    for (trace, input) in [(1, &whole[..1]), (2, &whole[..1]), (3, &whole[..]), (4, &whole[..3])] {
        let from = u64::from(trace) * 10_000;
        let again = model(3, 1, (from + 110, from + 200), &whole[..2], &[text("Still nothing.")]);
        let spans = [
            model(2, 1, (from + 10, from + 100), input, &[text("Nothing.")]),
            again,
            agent(1, 0, (from, from + 210), "a"),
        ];
        let spans = spans.map(|span| FinishedSpan { trace: [trace; 16], ..span });
        told.extend(joiner.take(spans.to_vec(), NOW + from).told);
        told.extend(joiner.tick(NOW + from + SPAN_HELD_MS));
        let view = view(&told);
        questions.push(view.messages.values().filter(|said| said.role == "user").count());
    }
    assert_eq!(questions, [1, 2, 3, 4]);
}

#[test]
fn a_step_around_each_model_call_is_no_sub_agent() {
    let step = |number, times| span(number, 1, times, json!({"openinference.span.kind": "CHAIN"}));
    let asked = said("user", &[text("Hi")]);
    let asks = |number, parent, times, output: &[Value]| {
        model(number, parent, times, std::slice::from_ref(&asked), output)
    };
    let spans = [
        asks(3, 2, (10, 100), &[call("call_1", "Lisbon")]),
        tool(4, 2, (110, 300), Some("call_1"), "Lisbon"),
        step(2, (5, 310)),
        asks(6, 5, (320, 400), &[call("call_2", "Porto")]),
        tool(7, 5, (410, 600), Some("call_2"), "Porto"),
        step(5, (315, 610)),
        asks(9, 8, (620, 700), &[text("Sunny.")]),
        step(8, (615, 800)),
        agent(1, 0, (0, 810), "a"),
    ];
    let view = live(&spans);
    let run = view.runs.values().next().unwrap();
    assert!(run.agents.is_empty(), "{:?}", run.agents);
    assert_eq!((run.tools.len(), run.parts.len(), run.name.as_deref()), (2, 1, Some("a")));
}

#[test]
fn calls_of_a_model_inside_of_one_another_are_told_once() {
    let asked = said("user", &[text("Hi")]);
    let outer = model(2, 1, (10, 100), std::slice::from_ref(&asked), &[text("Hello.")]);
    let inner = model(3, 2, (20, 90), &[asked], &[text("Hello.")]);
    let view = at_once(&[inner, outer, agent(1, 0, (0, 110), "a")], &[1, 1]);
    let run = view.runs.values().next().unwrap();
    assert_eq!((run.parts.len(), run.usage.unwrap().input_tokens), (1, 10));
}

#[test]
fn a_failed_root_is_a_failed_run_and_a_failed_tool_a_failed_call() {
    let mut broken = tool(2, 1, (10, 20), Some("call_1"), "Lisbon");
    (broken.failed, broken.status_message) = (true, String::from("no route"));
    let broken = FinishedSpan { attributes: without(&broken, "gen_ai.tool.call.result"), ..broken };
    let mut root = agent(1, 0, (0, 30), "a");
    (root.failed, root.status_message) = (true, String::from("gave up"));
    let view = at_once(&[broken, root], &[1]);
    let run = view.runs.values().next().unwrap();
    assert_eq!(run.error.as_ref().unwrap().message, "gave up");
    assert_eq!(run.status, model::event::RunStatus::Error);
    let tool = &run.tools[&ToolCallId::new("call_1")];
    assert_eq!((tool.is_error, tool.result.as_ref().unwrap().as_str()), (true, "\"no route\""));
}

fn without(span: &FinishedSpan, name: &str) -> crate::spans::Attributes {
    span.attributes
        .iter()
        .filter(|(known, _)| *known != name)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[test]
fn a_trace_without_a_root_ends_when_it_is_quiet_unless_a_call_is_open() {
    let asked = said("user", &[text("Hi")]);
    let answered = model(2, 1, (10, 100), std::slice::from_ref(&asked), &[text("Hello.")]);
    let mut calling = model(2, 1, (10, 100), &[asked], &[call("call_1", "Lisbon")]);
    calling.trace = [2; 16];
    let mut joiner = SpanJoiner::default();
    let mut told = joiner.take(vec![answered, calling], NOW).told;
    told.extend(joiner.tick(NOW + SPAN_HELD_MS));
    assert!(view(&told).runs.values().all(RunView::is_running));
    told.extend(joiner.tick(NOW + TRACE_QUIET_MS));
    let running: Vec<_> = view(&told).runs.values().map(RunView::is_running).collect();
    assert_eq!(running, [false, true]);
    joiner.tick(NOW + TRACE_REMEMBERED_MS);
    assert_eq!((joiner.traces.len(), joiner.spans), (0, 0));
}

#[test]
fn what_is_not_about_agents_makes_no_conversation_and_spans_sent_again_change_nothing() {
    let mut joiner = SpanJoiner::default();
    let request = span(1, 0, (0, 5), json!({"http.request.method": "GET"}));
    assert_eq!(joiner.take(vec![request], NOW).told, []);
    assert_eq!(joiner.tick(NOW + SPAN_HELD_MS), []);
    assert_eq!(joiner.tick(NOW + 2 * TRACE_QUIET_MS), []);
    assert_eq!(joiner.traces.len(), 0);
    let twice: Vec<FinishedSpan> = trace().into_iter().chain(trace()).collect();
    assert_eq!(at_once(&twice, &[9]), at_once(&trace(), &[9]));
}

#[test]
fn the_conversation_is_that_of_whichever_span_names_it_else_the_trace() {
    let mut nameless = model(2, 1, (10, 100), &[said("user", &[text("Hi")])], &[text("Hello.")]);
    nameless.attributes = without(&nameless, "gen_ai.conversation.id");
    let mut joiner = SpanJoiner::default();
    assert_eq!(joiner.take(vec![nameless.clone()], NOW).told, []);
    let told = joiner.take(vec![agent(1, 0, (0, 110), "a")], NOW).told;
    assert_eq!(told.iter().map(|told| told.conversation.as_str()).collect::<Vec<_>>(), ["c1"]);
    let mut joiner = SpanJoiner::default();
    joiner.take(vec![nameless], NOW);
    let told = joiner.tick(NOW + SPAN_HELD_MS);
    assert_eq!(told[0].conversation.as_str(), "trace-0101010101010101");
}

#[test]
fn i7_a_trace_with_more_spans_than_the_limit_rejects_the_rest() {
    let mut joiner = SpanJoiner::default();
    let spans = (0..SPANS_PER_TRACE_MAX as u64 + 5).map(|number| FinishedSpan {
        trace: [1; 16],
        id: (number + 1).to_be_bytes(),
        parent: Some([255; 8]),
        ..FinishedSpan::default()
    });
    assert_eq!(joiner.take(spans.collect(), NOW).rejected, 5);
}

#[test]
fn spans_that_are_their_own_ancestors_do_no_harm() {
    let mut spans = trace();
    spans[10].parent = Some(id(8));
    let (mut joiner, mut told) = (SpanJoiner::default(), Vec::new());
    told.extend(joiner.take(spans, NOW).told);
    told.extend(joiner.tick(NOW + SPAN_HELD_MS));
    assert_eq!(view(&told).runs.len(), 1);
}

proptest! {
    #[test]
    fn every_order_and_every_split_gives_the_same_view(
        spans in Just(trace()).prop_shuffle(),
        sizes in proptest::collection::vec(0_usize..5, 0..8),
    ) {
        prop_assert_eq!(plain(&at_once(&spans, &sizes)), plain(&at_once(&trace(), &[])));
    }

    #[test]
    fn live_in_any_order_nothing_is_lost(spans in Just(trace()).prop_shuffle()) {
        let mut joiner = SpanJoiner::default();
        let mut told = Vec::new();
        for (span, step) in spans.iter().zip(1..) {
            told.extend(joiner.take(vec![span.clone()], NOW + step * 5 * SPAN_HELD_MS).told);
            told.extend(joiner.tick(NOW + step * 5 * SPAN_HELD_MS + SPAN_HELD_MS));
        }
        told.extend(joiner.tick(NOW + 100 * SPAN_HELD_MS));
        let mut seen = View::default();
        for envelope in told.iter().flat_map(|told| &told.envelopes) {
            model::fold::fold(&mut seen, envelope, &mut |_| {});
        }
        let run = seen.runs.values().next().unwrap();
        prop_assert_eq!((run.tools.values().filter(|tool| tool.result.is_some()).count(), run.parts.len()), (4, 2));
        prop_assert!(!run.is_running());
        prop_assert_eq!(run.usage.unwrap().input_tokens, 50);
    }
}
