//! Tests of ranks and of what is slow.

use super::*;

fn group(latencies: &[u64]) -> ToolLatencies {
    ToolLatencies { latencies: latencies.to_vec(), ..ToolLatencies::default() }
}

#[test]
fn ranks_are_values_that_some_call_had() {
    assert_eq!(group(&[]).p50(), None);
    assert_eq!(group(&[7]).p95(), Some(7));
    assert_eq!(group(&[1, 2, 3, 4]).p50(), Some(2));
    let hundred: Vec<u64> = (1..=100).collect();
    assert_eq!(group(&hundred).p95(), Some(95));
}

#[test]
fn slow_is_three_times_the_usual_but_never_under_ten_seconds() {
    assert!(!group(&[]).is_slow(10_000, false) && group(&[]).is_slow(10_001, false));
    assert!(!group(&[200, 300]).is_slow(10_000, false) && group(&[200, 300]).is_slow(10_001, false));
    assert!(!group(&[5_000]).is_slow(15_000, false) && group(&[5_000]).is_slow(15_001, false));
    // A call that is over does not make itself usual.
    assert!(group(&[1_000, 20_000]).is_slow(20_000, true));
    assert!(!group(&[19_000, 20_000]).is_slow(20_000, true));
    assert_eq!(group(&[4_100]).slow_word(13_120, false).as_deref(), Some("3.2× usual (p95 4.1 s)"));
    assert_eq!(group(&[12_000]).slow_word(12_000, true).as_deref(), Some("slow: over 10 s"));
    assert_eq!(group(&[4_100]).slow_word(9_000, false), None);
}

#[test]
fn calls_are_grouped_by_tool_in_order_of_first_call() {
    let mut view = View::default();
    let run = view.runs.entry(RunId::new("r")).or_default();
    for (id, name, state) in
        [("1", "b", ToolState::Complete), ("2", "a", ToolState::Error), ("3", "b", ToolState::Executing)]
    {
        let tool = ToolView {
            name: name.into(),
            state,
            exec_ms: Some(10),
            executing_at: Some(100),
            ended_at: Some(110),
            ..ToolView::default()
        };
        run.tools.insert(ToolCallId::new(id), tool);
    }
    let groups = groups(&view, |_| true);
    let short: Vec<_> = groups.iter().map(|g| (g.name.as_str(), g.calls.len(), g.failed, g.p50())).collect();
    assert_eq!(short, [("b", 2, 0, Some(10)), ("a", 1, 1, Some(10))]);
    let running = &view.runs[0].tools[2];
    assert_eq!(taken_ms(running, 1_100), Some(1_000));
}
