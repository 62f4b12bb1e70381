//! Tests of what models cost.

use std::sync::Arc;

use event_log::MemoryLog;
use model::event::Currency;
use model::{ConversationId, Envelope};

use super::*;
use crate::hub::Hub;

fn price(input: u64) -> Price {
    Price { input, output: 0, cached: input, reasoning: 0, currency: Currency::USD }
}

/// What the run `r` has cost once `frames` are published, one line an event.
fn cost(frames: &[&str]) -> Option<String> {
    costs(frames).0
}

/// The same, and what its first sub-agent has cost.
fn costs(frames: &[&str]) -> (Option<String>, Option<String>) {
    let prices = [("gpt-5*", 2_000_000), ("gpt-5-mini*", 1_000_000), ("*", 7_000_000)];
    let prices = Prices::new(prices.map(|(pattern, input)| (pattern.into(), price(input))));
    let hub = Hub::new(Arc::new(MemoryLog::default())).with_prices(prices);
    let id = ConversationId::parse("c").unwrap();
    for frame in frames {
        let events = frame.lines().map(|line| Envelope::parse(line).unwrap()).collect();
        hub.publish(&id, Publication::of(events)).unwrap();
    }
    let found = hub.find(&id).unwrap().unwrap();
    let of = |usage: Option<Usage>| usage.and_then(|usage| usage.cost).map(|cost| cost.to_string());
    found.read_view(|view| {
        let run = &view.runs[0];
        (of(run.usage), run.agents.first().and_then(|(_, agent)| of(agent.usage)))
    })
}

const USED: &str = r#"{"k":"run.update","run":"r","usage":{"input_tokens":500000,"output_tokens":9}}"#;

fn start(model: &str) -> String {
    format!(r#"{{"k":"run.start","run":"r","model":"{model}"}}"#)
}

#[test]
fn the_price_is_that_of_the_nearest_name() {
    assert_eq!(cost(&[&start("gpt-5.2"), USED]).as_deref(), Some("1 USD"));
    assert_eq!(cost(&[&start("gpt-5-mini-2026"), USED, USED]).as_deref(), Some("1 USD"));
    assert_eq!(
        cost(&[&format!("{}\n{USED}", start("gpt-5-mini"))]).as_deref(),
        Some("0.5 USD"),
        "in one frame"
    );
    assert_eq!(cost(&[&start("other"), USED]).as_deref(), Some("3.5 USD"));
    assert_eq!(cost(&[r#"{"k":"run.start","run":"r"}"#, USED]), None, "nobody knows the model");
}

#[test]
fn the_total_at_the_end_counts_once_and_who_says_a_cost_is_believed() {
    let end = r#"{"k":"run.end","run":"r","usage":{"input_tokens":1000000}}"#;
    assert_eq!(cost(&[&start("gpt-5"), end]).as_deref(), Some("2 USD"));
    assert_eq!(
        cost(&[&start("gpt-5"), USED, end]).as_deref(),
        Some("2 USD"),
        "the tokens of the whole are more than those that were priced on the way"
    );
    let own = r#"{"k":"run.update","run":"r","usage":{"input_tokens":5,"cost":{"amount":"0.25","currency":"EUR"}}}"#;
    assert_eq!(cost(&[&start("gpt-5"), own, end]).as_deref(), Some("0.25 EUR"));
    let at_once = format!("{}\n{own}\n{end}", start("gpt-5"));
    assert_eq!(cost(&[&at_once]).as_deref(), Some("0.25 EUR"), "in one frame");
    let again = r#"{"k":"run.end","run":"r","usage":{"input_tokens":3000000}}"#;
    assert_eq!(
        cost(&[&start("gpt-5"), end, &start("gpt-5"), again]).as_deref(),
        Some("6 USD"),
        "a run that went on"
    );
}

#[test]
fn what_a_sub_agent_uses_costs_what_its_model_does() {
    let line = |k: &str, more: &str| format!(r#"{{"k":"{k}","run":"r","agent":"a"{more}}}"#);
    let used = line("run.update", r#","usage":{"input_tokens":500000}"#);
    let both = |cost: &str| (Some(String::from(cost)), Some(String::from(cost)));
    let begin = line("agent.start", "");
    assert_eq!(
        costs(&[&start("gpt-5"), &begin, &used]),
        both("1 USD"),
        "that of the run where no other is known"
    );
    let small = line("agent.start", r#","model":"gpt-5-mini""#);
    assert_eq!(costs(&[&start("gpt-5"), &small, &used]), both("0.5 USD"));
    assert_eq!(costs(&[&format!("{}\n{small}\n{used}", start("gpt-5"))]), both("0.5 USD"), "in one frame");
    let end = line("agent.end", r#","usage":{"input_tokens":1000000}"#);
    let of_agent = |frames: &[&str]| costs(frames).1;
    assert_eq!(costs(&[&start("gpt-5"), &small, &end]), (None, Some(String::from("1 USD"))));
    assert_eq!(of_agent(&[&start("gpt-5"), &small, &used, &end]).as_deref(), Some("1 USD"));
    let named = line("agent.end", r#","model":"gpt-5-mini","usage":{"input_tokens":2000000}"#);
    assert_eq!(of_agent(&[&start("gpt-5"), &begin, &named]).as_deref(), Some("2 USD"));
    let told = line("run.update", r#","usage":{"input_tokens":5,"cost":{"amount":"0.25","currency":"EUR"}}"#);
    assert_eq!(of_agent(&[&start("gpt-5"), &begin, &told, &end]).as_deref(), Some("0.25 EUR"));
    let at_once = [start("gpt-5"), begin, told, end].join("\n");
    assert_eq!(of_agent(&[&at_once]).as_deref(), Some("0.25 EUR"), "in one frame");
}
