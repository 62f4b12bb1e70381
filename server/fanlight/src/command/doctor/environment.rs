//! Checks of the environment variables that an agent started from here would have. Pure: the variables and
//! what answers at other addresses are arguments.
//!
//! | variable | right value |
//! |---|---|
//! | `OPENAI_BASE_URL`, `OPENAI_API_BASE` | `HUB/proxy/openai/v1` |
//! | `ANTHROPIC_BASE_URL` | `HUB/proxy/anthropic`; its client adds `/v1` |
//! | `GOOGLE_GEMINI_BASE_URL` | `HUB/proxy/gemini` |
//! | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` | `HUB/v1/traces` |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | `HUB` |
//! | `HTTP_PROXY`, `ALL_PROXY` | not set, or `NO_PROXY` has the hub's host |

use std::collections::BTreeMap;

use super::CheckResult;

/// The variables in which agents find the URL of their model, each with the path below `/proxy/`.
const BASE_URLS: [(&str, &str); 4] = [
    ("OPENAI_BASE_URL", "openai/v1"),
    ("OPENAI_API_BASE", "openai/v1"),
    ("ANTHROPIC_BASE_URL", "anthropic"),
    ("GOOGLE_GEMINI_BASE_URL", "gemini"),
];

/// The variables in which exporters of spans find their endpoint.
const EXPORTERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// The variables with proxies of the system.
const PROXIES: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// What answers at an address of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum There {
    /// Nothing answers, for this reason.
    Nobody(String),
    /// A hub answers.
    Hub,
    /// Another program answers.
    Other,
}

/// What the hub and this machine say about the addresses in the variables.
#[derive(Debug, Default)]
pub(super) struct AddressFacts {
    /// The upstreams of the hub; empty if it did not list them.
    pub(super) upstreams: Vec<String>,
    /// What answers at other addresses of this machine, by scheme, host and port.
    pub(super) there: BTreeMap<String, There>,
}

/// The scheme, host and port of `url`.
fn origin(url: &str) -> &str {
    let from = url.find("://").map_or(0, |at| at.saturating_add(3));
    let end = url.get(from..).and_then(|rest| rest.find(['/', '?'])).map(|at| from.saturating_add(at));
    end.and_then(|end| url.get(..end)).unwrap_or(url)
}

/// The scheme of `url`.
fn scheme(url: &str) -> &str {
    url.split("://").next().unwrap_or_default()
}

/// Whether `value` has the host and port of `base` and another scheme.
fn is_other_scheme(value: &str, base: &str) -> bool {
    let host = |url: &str| origin(url).split_once("://").map(|(_, host)| host.to_owned());
    scheme(value) != scheme(base) && host(value).is_some() && host(value) == host(base)
}

/// Whether `origin` is on this machine.
fn is_local(origin: &str) -> bool {
    let host = origin.split("://").nth(1).unwrap_or_default();
    ["127.", "localhost", "[::1]", "0.0.0.0"].iter().any(|local| host.starts_with(local))
}

/// The addresses of this machine in the variables, except for that of the hub at `base`. The caller asks what
/// answers there.
pub(super) fn to_ask(base: &str, variables: &BTreeMap<String, String>) -> Vec<String> {
    let values = BASE_URLS.iter().filter_map(|(name, _)| variables.get(*name));
    let mut origins: Vec<String> = values.map(|value| origin(value).to_owned()).collect();
    origins.retain(|origin| origin != base && is_local(origin));
    origins.sort();
    origins.dedup();
    origins
}

/// Checks the variables. `base` is the URL of the hub.
pub(super) fn look(
    base: &str,
    variables: &BTreeMap<String, String>,
    known: &AddressFacts,
) -> Vec<CheckResult> {
    let mut findings = Vec::new();
    for (name, place) in BASE_URLS {
        if let Some(value) = variables.get(name) {
            findings.push(base_url(name, value, base, place, known));
        }
    }
    if findings.is_empty() {
        let seen = format!(
            "none is set, so what is started from here calls its models past the hub (OPENAI_BASE_URL={base}/proxy/openai/v1 would lead through it)"
        );
        findings.push(CheckResult::well("base url", seen));
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

/// Checks a variable with the URL of a model.
fn base_url(name: &str, value: &str, base: &str, place: &str, known: &AddressFacts) -> CheckResult {
    let right = format!("set {name}={base}/proxy/{place}");
    let Some(rest) = value.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    else {
        return match known.there.get(origin(value)) {
            _ if is_other_scheme(value, base) => CheckResult::wrong(
                "base url",
                format!("{name} is {value}, with {}, which this hub does not speak", scheme(value)),
                right,
            ),
            Some(There::Nobody(why)) => CheckResult::wrong(
                "base url",
                format!("{name} is {value}, where nobody answers: {why}"),
                right,
            ),
            Some(There::Hub) => CheckResult::wrong(
                "base url",
                format!("{name} is {value}, which is another hub than {base}"),
                format!("{right}, or look at that hub with --url {}", origin(value)),
            ),
            _ => {
                let seen =
                    format!("{name} leads elsewhere, to {value}: its calls do not pass through the hub");
                CheckResult::well("base url", seen)
            }
        };
    };
    if let Some((seen, mend)) = misplaced(value, rest, base, place) {
        return CheckResult::wrong("base url", format!("{name} {seen}"), format!("set {name}={mend}"));
    }
    let upstream = rest.trim_start_matches("/proxy/").split('/').next().unwrap_or_default();
    if !known.upstreams.is_empty() && !known.upstreams.iter().any(|it| it == upstream) {
        let seen = format!("{name} is {value}, and the hub has no upstream {upstream:?}");
        let mend = format!("the upstreams are {}; {right}", known.upstreams.join(", "));
        return CheckResult::wrong("base url", seen, mend);
    }
    CheckResult::well("base url", format!("{name} leads through the proxy"))
}

/// What is wrong with a base URL of the hub whose path is `rest`, and the right URL; `None` if it is right.
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

/// Checks a variable with an endpoint for spans.
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

/// Checks that no proxy of the system gets requests to this machine.
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
