//! Tests of the tree, of paths and of what belongs to whom.

use model::Envelope;
use model::fold::fold;

use super::*;

fn view() -> View {
    let lines = [
        r#"{"k":"run.start","run":"r","name":"lead","at":1}"#,
        r#"{"k":"agent.start","run":"r","agent":"a","name":"research","text":"find it","at":2}"#,
        r#"{"k":"agent.start","run":"r","agent":"b","name":"write","at":3}"#,
        r#"{"k":"agent.start","run":"r","agent":"c","name":"web","parent":"a","at":4}"#,
        r#"{"k":"tool.call","run":"r","agent":"a","tool":"t1","name":"look","arguments":"{\"q\":\"x\"}","at":5}"#,
        r#"{"k":"tool.result","run":"r","agent":"a","tool":"t1","output":"y","at":6}"#,
        r#"{"k":"tool.call","run":"r","agent":"c","tool":"t2","name":"fetch","arguments":"{}","at":7}"#,
        r#"{"k":"tool.result","run":"r","agent":"c","tool":"t2","output":"y","is_error":true,"at":8}"#,
        r#"{"k":"tool.call","run":"r","tool":"t3","name":"own","arguments":"{}","at":9}"#,
        r#"{"k":"run.update","run":"r","agent":"c","usage":{"input_tokens":1200,"output_tokens":34,"cost":{"amount":"0.0042","currency":"USD"}},"at":9}"#,
        r#"{"k":"agent.end","run":"r","agent":"a","status":"complete","at":10}"#,
        r#"{"k":"agent.start","run":"r","agent":"x","parent":"y","at":11}"#,
        r#"{"k":"agent.start","run":"r","agent":"y","parent":"x","at":12}"#,
    ];
    let mut view = View::default();
    for line in lines {
        fold(&mut view, &Envelope::parse(line).unwrap(), &mut |_| {});
    }
    view
}

#[test]
fn each_agent_stands_under_the_one_that_called_it() {
    let view = view();
    let told = |depth| {
        let branches = tree(&view, depth);
        branches.into_iter().map(|it| (it.name, it.depth)).collect::<Vec<_>>()
    };
    let wanted = [("lead", 0), ("research", 1), ("web", 2), ("write", 1), ("x", 1), ("y", 2)];
    assert_eq!(told(None), wanted.map(|(name, depth)| (name.to_owned(), depth)));
    assert_eq!(told(Some(0)), [("lead".to_owned(), 0)]);
    assert_eq!(told(Some(1)).len(), 4);
    let all = tree(&view, None);
    assert_eq!((all[1].counts.done, all[2].counts.failed, all[0].counts.open), (1, 1, 1));
    assert_eq!(
        (all[1].status, all[1].span, all[1].task.as_str()),
        (RunStatus::Complete, (2, Some(10)), "find it")
    );
}

#[test]
fn an_agent_has_used_what_it_used_itself() {
    let used: Vec<_> = tree(&view(), None).iter().take(4).map(Branch::used).collect();
    assert_eq!(used, ["1.2k tokens · $0.0042", "", "1.2k tokens · $0.0042", ""]);
}

#[test]
fn a_path_leads_from_the_first_to_the_agent_and_always_ends() {
    let view = view();
    let run = &view.runs[0];
    assert_eq!(path_line(run, &AgentId::new("c")), "main ▸ research ▸ web");
    assert_eq!(path_line(run, &AgentId::new("y")), "main ▸ x ▸ y");
    assert_eq!(path(run, &AgentId::new("nobody")), []);
}

#[test]
fn the_calls_of_an_agent_are_its_own_and_those_below_it() {
    let view = view();
    let calls = |agent: &str| {
        let mut found: Vec<String> = calls_below(&view, &(RunId::new("r"), AgentId::new(agent)))
            .into_iter()
            .map(|(_, tool)| tool.to_string())
            .collect();
        found.sort();
        found
    };
    assert_eq!(calls("a"), ["t1", "t2"]);
    assert_eq!(calls("c"), ["t2"]);
    assert_eq!(calls("b"), Vec::<String>::new());
}

#[test]
fn the_ticker_says_what_was_done_last() {
    let view = view();
    let run = &view.runs[0];
    let lines = ticker(run, &Flow::of(run), &AgentId::new("a"));
    assert_eq!(lines.len(), 2);
    assert!(lines[0].contains("web") && lines[1].starts_with("✓ look"), "{lines:?}");
}

#[test]
fn an_answer_is_that_of_its_agent_alone() {
    let mut view = View::default();
    for line in [
        r#"{"k":"run.start","run":"r","seq":1}"#,
        r#"{"k":"agent.start","run":"r","agent":"a","name":"a","seq":2}"#,
        r#"{"k":"part.start","run":"r","part":"m","kind":"text","text":"main","seq":3}"#,
        r#"{"k":"part.start","run":"r","agent":"a","part":"t","kind":"thinking","seq":4}"#,
        r#"{"k":"part.delta","run":"r","part":"t","text":"hm","seq":5}"#,
        r#"{"k":"part.start","run":"r","agent":"a","part":"p","kind":"text","seq":6}"#,
        r#"{"k":"part.delta","run":"r","part":"p","text":"**three** filings","seq":7}"#,
    ] {
        fold(&mut view, &Envelope::parse(line).unwrap(), &mut |_| {});
    }
    assert_eq!(answer(&view.runs[0], &AgentId::new("a")), "**three** filings");
    assert_eq!(answer(&view.runs[0], &AgentId::new("b")), "");
}
