//! Tests of the numbers' names and form.

use super::*;
use crate::access::Gate;
use crate::config::Config;

fn page() -> String {
    let redactor =
        crate::redaction::Redaction::default().redactor(&crate::config::LogChoice::Memory).unwrap();
    let shared = Shared::new(Config::default(), Gate::default(), None, Some(redactor)).unwrap();
    text(&shared, Some(&Measured::default()))
}

fn names(page: &str) -> Vec<&str> {
    page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect()
}

#[test]
fn every_number_is_explained_in_the_document_and_the_other_way_round() {
    let document = include_str!("../../../../docs/metrics.md");
    let page = page();
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.split(['`', '{']).next());
    let told: Vec<&str> = rows.filter(|name| name.starts_with("fanlight_")).collect();
    assert_eq!(names(&page), told);
}

#[test]
fn each_family_has_a_head_and_lines_with_whole_names_and_numbers() {
    let page = page();
    let mut family = "";
    for line in page.lines() {
        if let Some(head) = line.strip_prefix("# ") {
            let mut words = head.split(' ');
            let (what, name) = (words.next().unwrap(), words.next().unwrap());
            assert!(["HELP", "TYPE"].contains(&what) && words.next().is_some(), "{line}");
            family = name;
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert_eq!(name.split('{').next().unwrap(), family);
        assert!(value.parse::<f64>().unwrap() >= 0.0, "{line}");
    }
}

#[test]
fn counters_are_named_as_such() {
    for line in page().lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
    }
}

#[test]
fn nobody_is_counted_where_nobody_is() {
    let page = page();
    for name in [
        "sockets",
        "subscriptions",
        "list_subscriptions",
        "readers",
        "tasks",
        "ring_bytes",
        "log_queue_bytes",
    ] {
        assert!(page.contains(&format!("\nfanlight_{name} 0\n")), "{name}: {page}");
    }
}

#[test]
fn the_dashboard_for_grafana_names_only_metrics_that_there_are_and_all_of_the_log() {
    let dashboard = include_str!("../../../../docs/grafana.json");
    serde_json::from_str::<serde_json::Value>(dashboard).unwrap();
    let page = page();
    let known = names(&page);
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let mut named = std::collections::BTreeSet::new();
    for (at, _) in dashboard.match_indices("fanlight_") {
        let name = dashboard.get(at..).unwrap().split(|c| !is_name(c)).next().unwrap();
        let family =
            ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(known.contains(&family), "{name} is no metric");
        named.insert(family);
    }
    let of_log = ["runs_ended", "tool_calls", "tool_calls_failed", "tokens", "cost"];
    for family in of_log.map(|name| format!("fanlight_{name}_total")) {
        assert!(named.contains(family.as_str()), "{family} is not shown");
    }
}
