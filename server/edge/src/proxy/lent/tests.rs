//! Tests of where keys are put, and what they are lent for.

use super::*;

#[test]
fn a_key_is_where_the_api_wants_it_and_nothing_of_the_caller_is_left() {
    let mut key = HeaderValue::from_static("vendor-key");
    // As the settings read it.
    key.set_sensitive(true);
    for (api, path, name, value) in [
        (Api::OpenAi, "/v1/chat/completions", "authorization", "Bearer vendor-key"),
        (Api::Ollama, "/api/chat", "authorization", "Bearer vendor-key"),
        (Api::Anthropic, "/v1/messages", "x-api-key", "vendor-key"),
        (Api::Anthropic, "/v1/chat/completions", "authorization", "Bearer vendor-key"),
        (Api::Gemini, "/v1beta/models/g:generateContent", "x-goog-api-key", "vendor-key"),
        (Api::Gemini, "/v1beta/openai/chat/completions", "authorization", "Bearer vendor-key"),
    ] {
        let mut headers = HeaderMap::new();
        for name in &KEYS {
            headers.append(name, HeaderValue::from_static("of the caller"));
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        put(&mut headers, api, path, &key);
        assert_eq!(headers.len(), 2, "{path}");
        assert_eq!(headers[name], value, "{path}");
        assert!(headers[name].is_sensitive());
        assert_eq!(headers[ACCEPT_ENCODING], "identity");
    }
}

#[test]
fn a_key_is_lent_for_what_can_be_counted() {
    let of = |method: Method, path: &str| Wish::of(Api::OpenAi, &method, path);
    for (method, path, wish) in [
        (Method::POST, "/v1/chat/completions", Wish::Model),
        (Method::POST, "/v1/responses", Wish::Model),
        (Method::GET, "/v1/models", Wish::Free),
        (Method::GET, "/v1/models/gpt-5", Wish::Free),
        (Method::POST, "/v1/messages/count_tokens", Wish::Free),
        (Method::POST, "/v1/embeddings", Wish::Embedding),
        (Method::GET, "/v1/responses/resp_1", Wish::Other),
        (Method::GET, "/v1/files", Wish::Other),
        (Method::GET, "/v1/models/../files", Wish::Other),
        (Method::GET, "/v1/models/%2e%2e/files", Wish::Other),
        (Method::POST, "/v1/files;/chat/completions", Wish::Other),
        (Method::POST, "/v1/files/..//chat/completions", Wish::Other),
        (Method::DELETE, "/v1/models/own", Wish::Other),
        (Method::POST, "/v1/batches", Wish::Other),
        (Method::POST, "/v1/threads/t/messages", Wish::Other),
    ] {
        assert_eq!(of(method.clone(), path), wish, "{method} {path}");
    }
}

#[test]
fn a_key_in_a_header_of_the_answer_is_taken_out() {
    let mut headers = HeaderMap::new();
    headers.insert("x-echo", HeaderValue::from_static("got vendor-key here"));
    headers.insert("x-other", HeaderValue::from_static("vendor"));
    mask_headers(&mut headers, &HeaderValue::from_static("vendor-key"));
    assert_eq!(
        (&headers["x-echo"], &headers["x-other"]),
        (&HeaderValue::from_static("[key]"), &HeaderValue::from_static("vendor"))
    );
}
