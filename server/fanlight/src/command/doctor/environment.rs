//! What is set in the environment of an agent that would be started from here.

use std::collections::BTreeMap;

use super::CheckResult;

/// Where agents look for the address of their model.
const BASE_URLS: [(&str, &str); 4] = [
    ("OPENAI_BASE_URL", "openai/v1"),
    ("OPENAI_API_BASE", "openai/v1"),
    ("ANTHROPIC_BASE_URL", "anthropic"),
    ("GOOGLE_GEMINI_BASE_URL", "gemini"),
];

/// Where exporters of spans look for theirs.
const EXPORTERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// Proxies of the system.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// Looks at the variables; `base` is the hub.
pub(super) fn look(base: &str, variables: &BTreeMap<String, String>) -> Vec<CheckResult> {
    let mut findings = Vec::new();
    for (name, place) in BASE_URLS {
        if let Some(value) = variables.get(name) {
            findings.extend(base_url(name, value, base, place));
        }
    }
    for name in EXPORTERS {
        if let Some(value) = variables.get(name) {
            findings.push(exporter(name, value, base));
        }
    }
    let protocols = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    if protocols.iter().any(|name| variables.get(*name).is_some_and(|value| value == "grpc")) {
        let mend = "set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf";
        findings.push(CheckResult::wrong(
            "spans",
            "spans are sent over gRPC, which the hub does not take",
            mend,
        ));
    }
    findings.extend(system_proxy(base, variables));
    if findings.iter().all(|finding| finding.ok) {
        findings.push(CheckResult::well("environment", "nothing in it stands in the way"));
    }
    findings
}

/// An address of a model: elsewhere it is none of our business.
fn base_url(name: &str, value: &str, base: &str, place: &str) -> Option<CheckResult> {
    let rest = value.strip_prefix(base)?;
    Some(misplaced(value, rest, base, place).map_or_else(
        || CheckResult::well("base url", format!("{name} leads through the proxy")),
        |(seen, mend)| CheckResult::wrong("base url", format!("{name} {seen}"), format!("set {name}={mend}")),
    ))
}

/// What is wrong with a base URL of the hub whose path is `rest`, and the right one.
pub(super) fn misplaced(value: &str, rest: &str, base: &str, place: &str) -> Option<(String, String)> {
    let right = format!("{base}/proxy/{place}");
    let rest = rest.trim_end_matches('/');
    if !rest.starts_with("/proxy/") {
        return Some((format!("is {value}, which is the hub itself and not its proxy"), right));
    }
    if rest.ends_with("/v1/v1") {
        return Some((format!("is {value}, with /v1 doubled"), right));
    }
    if place.ends_with("/v1") && !rest.ends_with("/v1") {
        return Some((format!("is {value}, without the /v1 at its end"), right));
    }
    if !place.ends_with("/v1") && rest.ends_with("/v1") {
        return Some((format!("is {value}; its client adds /v1 by itself"), right));
    }
    None
}

fn exporter(name: &str, value: &str, base: &str) -> CheckResult {
    let right = if name.contains("TRACES") { format!("{base}/v1/traces") } else { base.to_owned() };
    match value.trim_end_matches('/') {
        value if value == right => CheckResult::well("spans", format!("{name} leads here")),
        value if value.starts_with(base) => {
            CheckResult::wrong("spans", format!("{name} is {value}"), format!("set {name}={right}"))
        }
        value => CheckResult::well("spans", format!("{name} leads elsewhere, to {value}")),
    }
}

/// A proxy of the system that would get what is meant for this machine.
fn system_proxy(base: &str, variables: &BTreeMap<String, String>) -> Option<CheckResult> {
    let is_set = |name: &&&str| variables.get(**name).is_some_and(|value| !value.is_empty());
    let name = PROXIES.iter().find(is_set)?;
    let host = base.split("://").nth(1)?.split(['/', ':']).next()?;
    let free =
        ["NO_PROXY", "no_proxy"].iter().find_map(|name| variables.get(*name)).cloned().unwrap_or_default();
    let is_free = free.split(',').map(str::trim).any(|free| free == "*" || free == host);
    if is_free {
        return None;
    }
    let mend = format!("set NO_PROXY={host},localhost");
    Some(CheckResult::wrong("system proxy", format!("{name} takes what agents send to {host} as well"), mend))
}

#[cfg(test)]
mod tests;
