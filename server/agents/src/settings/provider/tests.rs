//! Where requests go, and with which key.

use super::*;

fn uri(name: &str, url: Option<&str>) -> String {
    let provider = Provider::new(name, url, None, &[]).unwrap();
    provider.upstream.uri(provider.path).unwrap().to_string()
}

#[test]
fn a_provider_is_where_its_vendor_is_or_where_it_is_said_to_be() {
    assert_eq!(uri("openai", None), "https://api.openai.com/v1/chat/completions");
    assert_eq!(uri("anthropic", None), "https://api.anthropic.com/v1/messages");
    assert_eq!(
        uri("gemini", None),
        "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"
    );
    assert_eq!(uri("llamacpp", Some("http://127.0.0.1:9/v1")), "http://127.0.0.1:9/v1/chat/completions");
    assert_eq!(uri("mine", Some("http://127.0.0.1:9/v1/")), "http://127.0.0.1:9/v1/chat/completions");
    assert_eq!(uri("anthropic", Some("http://127.0.0.1:9")), "http://127.0.0.1:9/v1/messages");
    let whole = "https://api.anthropic.com/v1/messages";
    assert_eq!(uri("anthropic", Some(whole)), whole);
    let named = [Upstream::new("mine", "http://127.0.0.1:9", Api::Anthropic).unwrap()];
    assert_eq!(Provider::new("mine", None, None, &named).unwrap().api, ModelApi::Anthropic);
}

#[test]
fn a_provider_that_nobody_knows_is_named_with_those_that_there_are() {
    let error = Provider::new("nobody", None, None, &[]).unwrap_err().to_string();
    assert!(error.starts_with("no provider is named \"nobody\"; there are openai, anthropic"), "{error}");
}

#[test]
fn a_usual_key_goes_to_the_usual_place_alone() {
    let key = |url, key_env| Provider::new("openai", url, key_env, &[]).unwrap().key_env;
    assert_eq!(key(None, None).unwrap(), "OPENAI_API_KEY");
    assert_eq!(key(Some("http://127.0.0.1:9/v1"), None), None);
    assert_eq!(key(Some("http://127.0.0.1:9/v1"), Some("MINE")).unwrap(), "MINE");
}
