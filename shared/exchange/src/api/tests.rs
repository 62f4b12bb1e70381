//! What paths say.

use super::ModelApi;

#[test]
fn the_path_says_which_api_it_is_whatever_stands_before() {
    let known = [
        ("/v1/chat/completions", ModelApi::OpenAiChat),
        ("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", ModelApi::OpenAiChat),
        ("chat/completions", ModelApi::OpenAiChat),
        ("/v1/completions", ModelApi::OpenAiCompletions),
        ("/backend-api/codex/responses", ModelApi::OpenAiResponses),
        ("/v1/messages", ModelApi::Anthropic),
        (
            "/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict",
            ModelApi::Anthropic,
        ),
        ("/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", ModelApi::Gemini),
        ("/v1beta/models/gemini-2.5-flash:generateContent", ModelApi::Gemini),
        ("/api/chat", ModelApi::OllamaChat),
        ("/api/generate", ModelApi::OllamaGenerate),
        ("/v2/chat", ModelApi::Cohere),
    ];
    for (path, api) in known {
        assert_eq!(ModelApi::of_path(path), Some(api), "{path}");
        assert!(model::dialect::DECODED.contains(&api.dialect()), "{path}");
    }
}

#[test]
fn paths_without_a_conversation_are_of_no_api() {
    for path in [
        "/v1/models",
        "/v1/messages/count_tokens",
        "/v1/embeddings",
        "/v1/responses/resp_1/input_items",
        "/",
        "",
    ] {
        assert_eq!(ModelApi::of_path(path), None, "{path}");
    }
}

#[test]
fn the_model_is_in_the_path_where_the_api_has_it_there() {
    assert_eq!(
        ModelApi::model_in("/v1beta/models/gemini-2.5-flash:generateContent").as_deref(),
        Some("gemini-2.5-flash")
    );
    assert_eq!(ModelApi::model_in("/v1/messages"), None);
}
