//! What is said of variables.

use std::collections::BTreeMap;

use super::{AddressFacts, There, look, to_ask};

const HUB: &str = "http://127.0.0.1:4600";

fn known() -> AddressFacts {
    let there = [
        ("http://127.0.0.1:4601", There::Hub),
        ("http://127.0.0.1:4999", There::Nobody("connection refused".to_owned())),
        ("https://127.0.0.1:4600", There::Nobody("no TLS".to_owned())),
        ("http://127.0.0.1:11434", There::Other),
    ];
    AddressFacts {
        upstreams: ["openai", "anthropic"].map(str::to_owned).to_vec(),
        there: there.map(|(origin, there)| (origin.to_owned(), there)).into(),
    }
}

#[test]
fn the_hub_with_another_scheme_is_told_from_nobody() {
    let said = |value: &str| {
        let variables = [("OPENAI_BASE_URL".to_owned(), value.to_owned())].into();
        look(HUB, &variables, &known()).remove(0).seen
    };
    assert!(
        said("https://127.0.0.1:4600/proxy/openai/v1").ends_with("with https, which this hub does not speak")
    );
    assert!(said("http://127.0.0.1:4999/proxy/openai/v1").contains("nobody answers"));
    assert!(said("127.0.0.1:4600/proxy/openai/v1").contains("leads elsewhere"));
}

/// What is wrong, and how to mend it.
fn wrong(variables: &[(&str, &str)]) -> Vec<String> {
    let variables: BTreeMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    look(HUB, &variables, &known()).into_iter().filter_map(|finding| finding.mend).collect()
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

#[test]
fn every_base_url_is_compared_with_what_is_there() {
    let right = "set OPENAI_BASE_URL=http://127.0.0.1:4600/proxy/openai/v1";
    let said = |url: &str| wrong(&[("OPENAI_BASE_URL", url)]).join("");
    assert_eq!(said("http://127.0.0.1:4999/proxy/openai/v1"), right, "a wrong port");
    assert_eq!(said("https://127.0.0.1:4600/proxy/openai/v1"), right, "no TLS is spoken there");
    let other = said("http://127.0.0.1:4601/proxy/openai/v1");
    assert!(other.starts_with(right) && other.ends_with("--url http://127.0.0.1:4601"), "{other}");
    let misspelt = said("http://127.0.0.1:4600/proxy/opnai/v1");
    assert!(misspelt.starts_with("the upstreams are openai, anthropic"), "{misspelt}");
    assert_eq!(said("http://127.0.0.1:11434/v1"), "", "a model of this machine's own");
    let variables = [("OPENAI_BASE_URL".to_owned(), "http://localhost:4601/x".to_owned())].into();
    assert_eq!(to_ask(HUB, &variables), ["http://localhost:4601"]);
    let none = look(HUB, &BTreeMap::new(), &known());
    assert!(none.iter().any(|it| it.check == "base url" && it.seen.starts_with("none is set")), "{none:?}");
}
