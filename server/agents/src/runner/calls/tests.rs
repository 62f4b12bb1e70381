//! When calls are executed, and after whom.

use proptest::prelude::*;

use super::*;

fn plan() -> Plan {
    Plan { calls_at_once: 8, ..Plan::new("m") }
}

fn write(calls: &mut Calls, id: &str, arguments: &str, now: u64) {
    let tool = ToolCallId::new(id);
    calls.begin(&tool, "t");
    assert_eq!(calls.written(&tool, None, Some(arguments), &plan(), now), Some(false));
}

fn begun(calls: &mut Calls, now: u64) -> Vec<String> {
    calls.dispatch(&plan(), now).into_iter().map(|execute| execute.tool.to_string()).collect()
}

#[test]
fn test_multiple_tools_batched() {
    let mut calls = Calls::default();
    write(&mut calls, "a", "{}", 1_000);
    write(&mut calls, "b", "{}", 1_060);
    assert!(begun(&mut calls, 1_159).is_empty());
    assert_eq!(calls.due(&plan()), Some(1_160));
    assert_eq!(begun(&mut calls, 1_160), ["a", "b"]);
}

#[test]
fn each_call_that_is_written_begins_the_delay_anew() {
    let mut calls = Calls::default();
    for (number, id) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let now = 90 * number as u64;
        assert!(begun(&mut calls, now).is_empty());
        write(&mut calls, id, "{}", now);
        assert_eq!(calls.due(&plan()), Some(now + 100));
    }
    assert!(begun(&mut calls, 369).is_empty());
    assert_eq!(begun(&mut calls, 370), ["a", "b", "c", "d"]);
    for id in ["a", "b", "c", "d"] {
        calls.finish(&ToolCallId::new(id), 400);
    }
    // The fifth does not wait, so the first never waits longer than four delays.
    for (number, id) in ["e", "f", "g", "h", "i"].into_iter().enumerate() {
        write(&mut calls, id, "{}", 1_000 + 90 * number as u64);
    }
    assert_eq!(begun(&mut calls, 1_360).len(), 5);
}

#[test]
fn batches_are_as_large_and_wait_as_long_as_the_plan_says() {
    let plan = Plan { batch_calls: 2, batch_ms: 7, ..plan() };
    let mut calls = Calls::default();
    write(&mut calls, "a", "{}", 10);
    assert_eq!(calls.due(&plan), Some(17));
    assert!(calls.dispatch(&plan, 16).is_empty());
    assert_eq!(calls.dispatch(&plan, 17).len(), 1);
    write(&mut calls, "b", "{}", 20);
    write(&mut calls, "c", "{}", 20);
    assert_eq!(calls.dispatch(&plan, 20).len(), 2);
}

#[test]
fn test_batch_size_threshold() {
    let mut calls = Calls::default();
    for id in ["a", "b", "c", "d"] {
        write(&mut calls, id, "{}", 5);
        assert!(begun(&mut calls, 5).is_empty());
    }
    write(&mut calls, "e", "{}", 5);
    assert_eq!(begun(&mut calls, 5), ["a", "b", "c", "d", "e"]);
}

#[test]
fn test_batch_delay_timer() {
    let mut calls = Calls::default();
    write(&mut calls, "a", "{}", 0);
    assert_eq!(calls.due(&plan()), Some(100));
    assert!(begun(&mut calls, 99).is_empty());
    assert_eq!(begun(&mut calls, 100), ["a"]);
    write(&mut calls, "b", "{}", 500);
    calls.all_written();
    assert_eq!(begun(&mut calls, 500), ["b"], "nobody else will come");
}

#[test]
fn test_groups_by_item_id() {
    let mut calls = Calls::default();
    for (id, arguments) in
        [("a", r#"{"item_id":7}"#), ("b", r#"{"item_id":"x"}"#), ("c", r#"{"item_id":"7"}"#), ("d", "{}")]
    {
        write(&mut calls, id, arguments, 0);
    }
    calls.all_written();
    assert_eq!(begun(&mut calls, 10), ["a", "b", "d"]);
    assert!(begun(&mut calls, 20).is_empty());
    assert_eq!(
        calls.finish(&ToolCallId::new("a"), 300),
        Some(CallDurations { queued_ms: Some(10), exec_ms: Some(290) })
    );
    assert_eq!(begun(&mut calls, 300), ["c"]);
}

#[test]
fn i7_no_more_are_executed_at_once_than_the_plan_says() {
    let mut calls = Calls::default();
    for number in 0..20 {
        write(&mut calls, &format!("t{number}"), "{}", 0);
    }
    assert_eq!(begun(&mut calls, 0).len(), 8);
    calls.finish(&ToolCallId::new("t3"), 1);
    assert_eq!(begun(&mut calls, 1), ["t8"]);
}

#[test]
fn a_call_that_waits_for_consent_holds_back_those_of_its_item_alone() {
    let plan = Plan { needs_consent: vec!["t".into()], ..Plan::new("m") };
    let mut calls = Calls::default();
    let asked = ToolCallId::new("asked");
    calls.begin(&asked, "t");
    assert_eq!(calls.written(&asked, None, Some(r#"{"item_id":1}"#), &plan, 0), Some(true));
    for (id, item) in [("same", 1), ("other", 2)] {
        let tool = ToolCallId::new(id);
        calls.begin(&tool, "free");
        calls.written(&tool, None, Some(&format!(r#"{{"item_id":{item}}}"#)), &plan, 0);
    }
    calls.all_written();
    assert_eq!(begun(&mut calls, 0), ["other"]);
    assert!(calls.consent(&asked, Some(r#"{"item_id":3}"#)));
    assert!(!calls.consent(&asked, None), "asked once");
    assert_eq!(begun(&mut calls, 1), ["asked", "same"]);
}

proptest! {
    /// Whatever is written and finished when: of one item never two at once, each call once, in order, and none is left.
    #[test]
    fn calls_of_an_item_go_one_after_the_other_and_all_go(
        items in prop::collection::vec(prop::option::of(0_u8..3), 1..40),
        steps in prop::collection::vec((0_u64..60, any::<bool>(), any::<prop::sample::Index>()), 1..200),
    ) {
        let mut calls = Calls::default();
        let (mut now, mut written) = (0, 0);
        let mut executing: Vec<usize> = Vec::new();
        let mut order: Vec<usize> = Vec::new();
        let mut step = |calls: &mut Calls, now: u64, executing: &mut Vec<usize>| {
            for id in begun(calls, now) {
                let number: usize = id.parse().unwrap();
                if items[number].is_some() {
                    assert!(!executing.iter().any(|other| items[*other] == items[number]), "two of one item");
                }
                assert!(!order.contains(&number), "twice");
                let earlier = order.iter().filter(|it| items[**it].is_some() && items[**it] == items[number]);
                assert!(earlier.max().is_none_or(|last| *last < number), "out of order");
                order.push(number);
                executing.push(number);
            }
            assert!(executing.len() <= 8);
            order.len()
        };
        for (wait, writes, which) in steps {
            now += wait;
            if writes && written < items.len() {
                let arguments = items[written].map_or("{}".to_owned(), |item| format!("{{\"item_id\":{item}}}"));
                write(&mut calls, &written.to_string(), &arguments, now);
                written += 1;
            } else if !executing.is_empty() {
                let number = executing.swap_remove(which.index(executing.len()));
                calls.finish(&ToolCallId::new(&number.to_string()), now).unwrap();
            }
            step(&mut calls, now, &mut executing);
        }
        calls.all_written();
        loop {
            now += 1;
            let count = step(&mut calls, now, &mut executing);
            let Some(number) = executing.pop() else {
                assert_eq!(count, written);
                break;
            };
            calls.finish(&ToolCallId::new(&number.to_string()), now).unwrap();
        }
        assert!(calls.are_over());
    }
}
