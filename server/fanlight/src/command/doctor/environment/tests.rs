//! What is said of variables.

use std::collections::BTreeMap;

use super::look;

const HUB: &str = "http://127.0.0.1:4600";

/// What is wrong, and how to mend it.
fn wrong(variables: &[(&str, &str)]) -> Vec<String> {
    let variables: BTreeMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    look(HUB, &variables).into_iter().filter_map(|finding| finding.mend).collect()
}

#[test]
fn base_urls_that_miss_the_proxy_are_named_with_the_right_one() {
    let right = ["set OPENAI_BASE_URL=http://127.0.0.1:4600/proxy/openai/v1"];
    for bad in ["/v1", "", "/proxy/openai", "/proxy/openai/v1/v1"] {
        assert_eq!(wrong(&[("OPENAI_BASE_URL", &format!("{HUB}{bad}"))]), right, "{bad}");
    }
    let anthropic = format!("{HUB}/proxy/anthropic");
    for good in [
        ("OPENAI_BASE_URL", format!("{HUB}/proxy/openai/v1")),
        ("OPENAI_BASE_URL", format!("{HUB}/proxy/openai/~weather/v1/")),
        ("OPENAI_BASE_URL", String::from("https://api.openai.com/v1")),
        ("ANTHROPIC_BASE_URL", anthropic.clone()),
    ] {
        assert_eq!(wrong(&[(good.0, &good.1)]), Vec::<String>::new(), "{good:?}");
    }
    let said = wrong(&[("ANTHROPIC_BASE_URL", &format!("{anthropic}/v1"))]);
    assert_eq!(said, ["set ANTHROPIC_BASE_URL=http://127.0.0.1:4600/proxy/anthropic"]);
}

#[test]
fn exporters_need_the_right_path_and_http() {
    assert_eq!(wrong(&[("OTEL_EXPORTER_OTLP_ENDPOINT", HUB)]), Vec::<String>::new());
    let doubled = format!("{HUB}/v1/traces");
    let said = wrong(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &doubled)]);
    assert_eq!(said, ["set OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4600"]);
    let said = wrong(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", HUB)]);
    assert_eq!(said, ["set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4600/v1/traces"]);
    assert_eq!(wrong(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).len(), 1);
}

#[test]
fn a_system_proxy_that_takes_loopback_is_named() {
    let proxy = ("HTTP_PROXY", "http://proxy:3128");
    assert_eq!(wrong(&[proxy]), ["set NO_PROXY=127.0.0.1,localhost"]);
    assert_eq!(wrong(&[proxy, ("NO_PROXY", "localhost, 127.0.0.1")]), Vec::<String>::new());
}
