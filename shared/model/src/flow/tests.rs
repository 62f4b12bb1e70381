//! Tests of lanes, answers and brackets, on views that the fold made.

use crate::fold::fold;
use crate::{Envelope, View};

use super::*;

/// The view of events, one JSON object a line; `at` rises by 100 ms where it is not given.
fn view(lines: &str) -> View {
    let mut view = View::default();
    for (n, line) in (1_u64..).zip(lines.lines().map(str::trim).filter(|line| !line.is_empty())) {
        let mut envelope = Envelope::parse(line).unwrap();
        envelope.seq = n;
        if envelope.at == 0 {
            envelope.at = n * 100;
        }
        fold(&mut view, &envelope, &mut |_| {});
    }
    view
}

fn print(lane: &[FlowRow]) -> String {
    let one = |row: &FlowRow| {
        let name = match &row.item {
            Item::Part(id) => id.as_str().to_owned(),
            Item::Tool(id) => id.as_str().to_owned(),
            Item::Agent(id) => id.as_str().to_owned(),
            Item::Note(n) => format!("note{n}"),
        };
        let rank = match row.rank {
            RowRank::Asked => "!!",
            RowRank::Kept => "!",
            RowRank::Step => "",
            RowRank::Detail => "?",
        };
        let bracket = row.bracket.map_or(String::new(), |b| format!("[{}]", b.size));
        format!("{name}{rank}{bracket}")
    };
    lane.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn texts_after_the_last_step_are_the_answer() {
    let view = view(
        r#"{"k":"run.start","run":"r"}
        {"k":"part.start","run":"r","part":"a","kind":"text"}
        {"k":"part.delta","run":"r","part":"a","text":"let me look"}
        {"k":"part.start","run":"r","part":"th","kind":"thinking"}
        {"k":"tool.call","run":"r","tool":"t","name":"ls","arguments":"{}"}
        {"k":"tool.result","run":"r","tool":"t","output":"x"}
        {"k":"part.start","run":"r","part":"b","kind":"text"}
        {"k":"raw","run":"r","name":"odd","value":1}
        {"k":"part.start","run":"r","part":"c","kind":"text"}"#,
    );
    let flow = Flow::of(&view.runs[0]);
    assert_eq!(print(flow.lane(None)), "a th t b! note0? c!");
    assert_eq!((flow.tools, flow.steps, flow.failed), (1, 2, 0));
    assert!(flow.has_steps());
}

#[test]
fn a_run_that_ends_on_a_step_keeps_its_last_text() {
    let lines = r#"{"k":"run.start","run":"r"}
        {"k":"part.start","run":"r","part":"a","kind":"text"}
        {"k":"tool.call","run":"r","tool":"t","name":"ls","arguments":"{}"}"#;
    assert_eq!(print(Flow::of(&view(lines).runs[0]).lane(None)), "a t");
    let ended = format!("{lines}\n{}", r#"{"k":"run.end","run":"r","status":"error"}"#);
    assert_eq!(print(Flow::of(&view(&ended).runs[0]).lane(None)), "a! t");
}

#[test]
fn sub_agents_have_lanes_of_their_own() {
    let view = view(
        r#"{"k":"run.start","run":"r"}
        {"k":"agent.start","run":"r","agent":"x","name":"researcher"}
        {"k":"tool.call","run":"r","agent":"x","tool":"t1","name":"web"}
        {"k":"agent.start","run":"r","agent":"y","parent":"x"}
        {"k":"tool.call","run":"r","agent":"y","tool":"t2","name":"web"}
        {"k":"tool.result","run":"r","agent":"y","tool":"t2","output":"boom","is_error":true}
        {"k":"part.start","run":"r","part":"a","kind":"text"}"#,
    );
    let flow = Flow::of(&view.runs[0]);
    assert_eq!(print(flow.lane(None)), "x a!");
    assert_eq!(print(flow.lane(Some(&AgentId::new("x")))), "t1 y");
    assert_eq!(print(flow.lane(Some(&AgentId::new("y")))), "t2!", "a failed call stays");
    assert_eq!(flow.counts(&AgentId::new("y")), CallCounts { done: 0, failed: 1, open: 0 });
    assert_eq!(flow.counts(&AgentId::new("x")), CallCounts { done: 0, failed: 0, open: 1 });
    assert_eq!((flow.agents, flow.failed), (2, 1));
}

#[test]
fn a_call_that_waits_for_consent_comes_out_of_the_agents_around_it() {
    let lines = r#"{"k":"run.start","run":"r"}
        {"k":"agent.start","run":"r","agent":"x","name":"researcher"}
        {"k":"agent.start","run":"r","agent":"y","parent":"x"}
        {"k":"agent.start","run":"r","agent":"z"}
        {"k":"tool.call","run":"r","agent":"y","tool":"t","name":"deploy","arguments":"{}"}
        {"k":"approval.request","run":"r","agent":"y","tool":"t","text":"Deploy?"}"#;
    let shown = |view: &View| {
        let flow = Flow::of(&view.runs[0]);
        [None, Some("x"), Some("y")]
            .map(|agent| print(flow.lane(agent.map(AgentId::new).as_ref())))
            .join(" | ")
    };
    assert_eq!(shown(&view(lines)), "x!! z | y!! | t!!");
    let answered =
        format!("{lines}\n{}", r#"{"k":"approval.answer","run":"r","agent":"y","tool":"t","approved":true}"#);
    assert_eq!(shown(&view(&answered)), "x z | y | t");
}

#[test]
fn calls_that_overlap_stand_under_one_bracket() {
    let view = view(
        r#"{"k":"run.start","run":"r"}
        {"k":"tool.state","run":"r","tool":"a","state":"executing","at":1000}
        {"k":"tool.state","run":"r","tool":"b","state":"executing","at":1100}
        {"k":"tool.state","run":"r","tool":"c","state":"executing","at":1150}
        {"k":"tool.result","run":"r","tool":"a","output":"","at":1300}
        {"k":"tool.result","run":"r","tool":"b","output":"","at":3300}
        {"k":"tool.result","run":"r","tool":"c","output":"","at":1250}
        {"k":"tool.state","run":"r","tool":"d","state":"executing","at":4000}
        {"k":"tool.state","run":"r","tool":"e","state":"pending","at":4000}"#,
    );
    let flow = Flow::of(&view.runs[0]);
    assert_eq!(print(flow.lane(None)), "a[3] b[3] c[3] d e");
    let bracket = flow.lane(None)[0].bracket.unwrap();
    assert_eq!(bracket.took, Some((2300, 300 + 2200 + 100)));
    assert!(bracket.is_first && !bracket.is_last && flow.lane(None)[2].bracket.unwrap().is_last);
}

#[test]
fn a_call_that_was_written_after_another_had_ended_is_not_beside_it() {
    let view = view(
        r#"{"k":"run.start","run":"r"}
        {"k":"tool.state","run":"r","tool":"a","state":"executing","at":1000}
        {"k":"tool.result","run":"r","tool":"a","output":"","exec_ms":2300,"at":1004}
        {"k":"tool.call","run":"r","tool":"b","at":1004}
        {"k":"tool.result","run":"r","tool":"b","output":"","exec_ms":5,"at":1005}"#,
    );
    assert_eq!(print(Flow::of(&view.runs[0]).lane(None)), "a b");
}

#[test]
fn failures_and_questions_are_always_there() {
    let view = view(
        r#"{"k":"run.start","run":"r"}
        {"k":"approval.request","run":"r","tool":"t","text":"deploy?"}
        {"k":"error","run":"r","code":"overloaded","message":"try later","retryable":true}"#,
    );
    assert_eq!(print(Flow::of(&view.runs[0]).lane(None)), "t!! note0!");
}

#[test]
fn agents_that_name_each_other_as_parents_are_both_drawn() {
    let view = view(
        r#"
        {"k":"agent.start","run":"r","agent":"a","parent":"b"}
        {"k":"agent.start","run":"r","agent":"b","parent":"a"}
        {"k":"agent.start","run":"r","agent":"c","parent":"c"}
        "#,
    );
    let flow = Flow::of(&view.runs[0]);
    assert_eq!(print(flow.lane(None)), "a c");
    assert_eq!(print(flow.lane(Some(&AgentId::new("a")))), "b");
}

#[test]
fn what_is_said_inside_a_run_stands_where_it_was_said() {
    let view = view(
        r#"
        {"k":"run.start","run":"r"}
        {"k":"message","run":"r","message":"m1","role":"user","text":"one"}
        {"k":"part.start","run":"r","part":"a","kind":"text"}
        {"k":"tool.start","run":"r","tool":"t","name":"ls"}
        {"k":"message","run":"r","message":"m2","role":"user","text":"two"}
        {"k":"part.start","run":"r","part":"b","kind":"text"}
        {"k":"message","message":"m3","role":"user","text":"three"}
        "#,
    );
    let print = |turn: &ConversationSection<'_>| match turn {
        ConversationSection::Message(_, message) => message.text.to_string(),
        ConversationSection::Run(stretch) => {
            format!("{:?}{}", stretch.items, if stretch.is_last { "." } else { "" })
        }
    };
    let turns: Vec<String> = turns(&view).iter().map(print).collect();
    assert_eq!(turns, ["one", "0..2", "two", "2..3", "three", "3..3."], "the run may go on");
}

#[test]
fn a_message_that_names_no_run_stands_where_it_came() {
    let lines = r#"
        {"k":"run.start","run":"r"}
        {"k":"message","message":"m1","role":"user","text":"question"}
        {"k":"tool.call","run":"r","tool":"t","name":"ls","arguments":"{}"}
        {"k":"message","message":"m2","role":"user","text":"reason"}
        {"k":"part.start","run":"r","part":"a","kind":"text"}
        {"k":"run.end","run":"r","status":"complete"}
        {"k":"message","message":"m3","role":"user","text":"more"}
        "#;
    let view = view(lines);
    let print = |turn: &ConversationSection<'_>| match turn {
        ConversationSection::Message(_, message) => message.text.to_string(),
        ConversationSection::Run(stretch) => format!("{:?}", stretch.items),
    };
    let turns: Vec<String> = turns(&view).iter().map(print).collect();
    assert_eq!(turns, ["question", "0..1", "reason", "1..2", "more"]);
    let id = crate::RunId::new("r");
    assert_eq!((stretch_from(&view, &id, 0), stretch_from(&view, &id, 1)), (0..1, 1..usize::MAX));
    let flows = [0..1, 1..2].map(|range| Flow::of_stretch(&view.runs[0], range));
    assert_eq!((flows[0].tools, flows[1].tools), (1, 0), "each call is counted once");
}

#[test]
fn what_the_hub_keeps_for_itself_stands_only_where_everything_does() {
    let view = view(
        r#"
        {"k":"run.start","run":"r"}
        {"k":"custom","run":"r","name":"progress","value":1}
        {"k":"custom","run":"r","name":"remote_pause","value":2}
        "#,
    );
    let ranks: Vec<RowRank> = Flow::of(&view.runs[0]).lane(None).iter().map(|row| row.rank).collect();
    assert_eq!(ranks, [RowRank::Step, RowRank::Detail]);
}

#[test]
fn agents_nest_only_so_deep_and_none_is_left_out() {
    let start = |at: usize| {
        let parent = at.checked_sub(1).map(|above| format!(r#","parent":"a{above}""#)).unwrap_or_default();
        format!(r#"{{"k":"agent.start","run":"r","agent":"a{at}"{parent}}}"#)
    };
    let starts = (0..500).map(start);
    let lines = std::iter::once(r#"{"k":"run.start","run":"r"}"#.to_owned()).chain(starts);
    let view = view(&lines.collect::<Vec<_>>().join("\n"));
    let run = &view.runs[0];
    let flow = Flow::of(run);
    let deepest = run.agents.keys().map(|id| lanes_to(run, id).len()).max();
    assert_eq!(deepest, Some(AGENT_LANES_DEPTH_MAX));
    let rows: usize =
        std::iter::once(None).chain(run.agents.keys().map(Some)).map(|agent| flow.lane(agent).len()).sum();
    assert_eq!(rows, 500, "each stands in one lane");
    assert_eq!(lanes_to(run, &AgentId::new("a2")), ["a2", "a1", "a0"].map(AgentId::new));
}
