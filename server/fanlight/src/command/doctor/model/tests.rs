//! How upstreams are asked.

use super::*;

#[test]
fn the_hub_says_how_an_upstream_is_asked() {
    let told = r#"{"upstreams":[{"name":"gw","api":"gemini","url":"https://llm.example"},
        {"name":"vllm","api":"openai","url":"http://127.0.0.1:8000"},{"name":"six","api":"openai","url":"http://[::1]:1"},
        {"name":"home","api":"ollama","url":"http://localhost:1"},{"name":"far","api":"ollama","url":"https://10.0.0.1"}]}"#;
    let upstreams = UpstreamList::of(told);
    let cases = [
        ("gw", Api::Gemini, false),
        ("vllm", Api::OpenAi, true),
        ("six", Api::OpenAi, true),
        ("home", Api::Ollama, true),
        ("far", Api::Ollama, false),
        // Which the hub does not know.
        ("anthropic", Api::Anthropic, false),
    ];
    for (name, api, is_near) in cases {
        assert_eq!(upstreams.model(name), ModelEndpoint { api, is_near }, "{name}");
    }
    assert_eq!(UpstreamList::of("<html>").model("ollama"), ModelEndpoint { api: Api::Ollama, is_near: true });
}
