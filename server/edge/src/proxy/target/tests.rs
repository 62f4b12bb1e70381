//! Tests of what paths say.

use super::*;
use axum::http::Method;

fn parse(path: &str) -> (String, Option<String>, String) {
    let target = Target::parse(path).unwrap();
    let conversation = target.conversation.map(|conversation| conversation.as_str().to_owned());
    (target.upstream.to_owned(), conversation, target.rest.to_owned())
}

#[test]
fn paths_fall_into_upstream_conversation_and_rest() {
    let of = |upstream: &str, conversation: Option<&str>, rest: &str| {
        (upstream.to_owned(), conversation.map(str::to_owned), rest.to_owned())
    };
    assert_eq!(
        parse("/proxy/openai/v1/chat/completions?a=1"),
        of("openai", None, "/v1/chat/completions?a=1")
    );
    assert_eq!(parse("/proxy/openai"), of("openai", None, ""));
    assert_eq!(parse("/proxy/openai/"), of("openai", None, "/"));
    assert_eq!(parse("/proxy/openai?a"), of("openai", None, "?a"));
    assert_eq!(parse("/proxy/x/~c/v1"), of("x", Some("c"), "/v1"));
    assert_eq!(parse("/proxy/x/~a%20b%C3%BC?q"), of("x", Some("a bü"), "?q"));
    assert_eq!(parse("/proxy/x/v1/~c/%2F"), of("x", None, "/v1/~c/%2F"));
}

#[test]
fn names_that_are_none_are_refused() {
    for path in ["/proxy/x/~/v1", "/proxy/x/~%FF/v1", "/proxy/x/~a%2Fb/v1", "/proxy/x/~%0A/v1"] {
        assert!(Target::parse(path).is_err(), "{path}");
    }
}

#[test]
fn calls_of_models_are_known_by_their_paths() {
    use upstream::Api::{Anthropic, Gemini, Ollama, OpenAi};
    assert_eq!(api(OpenAi, &Method::POST, "/v1/chat/completions"), Some(ModelApi::OpenAiChat));
    assert_eq!(api(Gemini, &Method::POST, "/v1beta/openai/chat/completions"), Some(ModelApi::OpenAiChat));
    assert_eq!(api(OpenAi, &Method::POST, "/v1/responses"), Some(ModelApi::OpenAiResponses));
    assert_eq!(api(Anthropic, &Method::POST, "/v1/messages"), Some(ModelApi::Anthropic));
    assert_eq!(api(OpenAi, &Method::POST, "/v1/messages"), Some(ModelApi::Anthropic));
    assert_eq!(api(OpenAi, &Method::POST, "/v1/threads/t/messages"), None);
    assert_eq!(api(Gemini, &Method::POST, "/v1beta/models/g:streamGenerateContent"), Some(ModelApi::Gemini));
    assert_eq!(api(Ollama, &Method::POST, "/api/chat"), Some(ModelApi::OllamaChat));
    assert_eq!(api(OpenAi, &Method::POST, "/api/chat"), None);
    for path in [
        "/v1/models",
        "/v1/embeddings",
        "/v1/messages/count_tokens",
        "/v1/responses/r1",
        "/v1/messages/batches",
        "",
    ] {
        assert_eq!(api(Anthropic, &Method::POST, path), None, "{path}");
    }
}

#[test]
fn the_events_of_a_socket_are_those_of_the_responses_api() {
    use upstream::Api::OpenAi;
    for path in ["/v1/responses", "/v1/realtime", "/openai/v1/realtime/", "/backend-api/codex/responses"] {
        assert_eq!(api_of_socket(OpenAi, &Method::GET, path), Some(ModelApi::OpenAiResponses), "{path}");
    }
    for path in ["/v1/chat/completions", "/v1/realtime/sessions", "/v1/responses/r1", "/ws"] {
        assert_eq!(api_of_socket(OpenAi, &Method::GET, path), None, "{path}");
    }
    assert_eq!(api(OpenAi, &Method::GET, "/v1/responses"), None);
}
