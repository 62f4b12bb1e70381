//! Tests of the numbers' names and form.

use std::collections::{BTreeMap, BTreeSet};

use event_log::measure::LatencyCounts;
use event_log::{MeasureSum, Metric};

use super::*;
use crate::access::Gate;
use crate::config::Config;

fn page() -> String {
    let redactor =
        crate::redaction::Redaction::default().redactor(&crate::log_choice::LogChoice::Memory).unwrap();
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

/// A page on which every family of the log has a line, and so its labels.
fn page_of_log() -> String {
    let one = |metric| MeasureSum {
        metric,
        start: 0,
        agent: "a".into(),
        model: "m".into(),
        tool: "t".into(),
        detail: "d".into(),
        amount: 1,
        latencies: LatencyCounts::of(20, 1),
    };
    let mut page = Page::default();
    measured::put(&mut page, &Measured { sums: Metric::ALL.map(one).into(), since: 0 });
    page.text
}

/// The names of the labels in braces that `text` begins with.
fn labels(text: &str) -> BTreeSet<&str> {
    let Some((inside, _)) = text.strip_prefix('{').and_then(|text| text.split_once('}')) else {
        return BTreeSet::new();
    };
    inside
        .split(',')
        .filter_map(|pair| Some(pair.split_once('=')?.0.trim_end_matches(['!', '~']).trim()))
        .collect()
}

/// The metrics of a query, each with the labels of its selector.
fn selected(query: &str) -> Vec<(&str, BTreeSet<&str>)> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let names = query.match_indices("fanlight_").filter_map(|(at, _)| {
        let rest = query.get(at..)?;
        let name = rest.split(|c| !is_name(c)).next()?;
        Some((name, labels(rest.strip_prefix(name)?)))
    });
    names.collect()
}

/// The labels by which a query groups, and those that its legend shows.
fn grouped<'a>(query: &'a str, legend: &'a str) -> BTreeSet<&'a str> {
    let groups =
        query.split("by (").skip(1).filter_map(|rest| rest.split_once(')')).map(|(inside, _)| inside);
    let shown = legend.split("{{").skip(1).filter_map(|rest| rest.split_once("}}")).map(|(inside, _)| inside);
    groups.flat_map(|inside| inside.split(',')).chain(shown).map(str::trim).collect()
}

#[test]
fn each_query_of_the_dashboard_for_grafana_has_its_metrics_with_the_labels_it_uses() {
    let dashboard: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/grafana.json")).unwrap();
    // What is written on a page of each: the names of lines with their labels.
    let (of_hub, of_log) = (page(), page_of_log());
    let lines = of_hub.lines().chain(of_log.lines()).filter(|line| !line.starts_with('#'));
    let known: BTreeMap<&str, BTreeSet<&str>> = lines
        .map(|line| {
            let name = line.split(['{', ' ']).next().unwrap();
            (name, labels(line.strip_prefix(name).unwrap()))
        })
        .collect();
    let mut used = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        for target in targets {
            let (query, legend) =
                (target["expr"].as_str().unwrap(), target["legendFormat"].as_str().unwrap());
            let selected = selected(query);
            assert!(!selected.is_empty(), "{query} asks for nothing");
            for (name, of_selector) in selected {
                let has = known.get(name).unwrap_or_else(|| panic!("{name} is no metric: {query}"));
                let wanted = &grouped(query, legend) | &of_selector;
                assert!(wanted.is_subset(has), "{name} has {has:?}: {query}, {legend}");
                used.insert(name);
            }
        }
    }
    for name in names(&of_log) {
        let is_used = used.iter().any(|it| {
            it.strip_prefix(name).is_some_and(|end| ["", "_bucket", "_sum", "_count"].contains(&end))
        });
        assert!(is_used, "{name} is in no panel");
    }
}
