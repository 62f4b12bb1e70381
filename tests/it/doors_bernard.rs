//! Bernard's own client: its address below `/api`, and the conversation by its name in the body.

use serde_json::{Value, json};

use super::doors::{hub_of, post, seen, storyteller, told};

const PATH: &str = "/compat/bernard/api/v1/chat/completions";

fn asks(more: &Value) -> Value {
    let mut body = json!({"model": "bernard_agent", "messages": [{"role": "user", "content": "Weather?"}], "stream": true});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn bernards_client_names_its_conversation_in_the_body() {
    let origin = storyteller().await;
    let (hub, _place) = hub_of(&origin, "[compat]\nbernard = \"helper\"").await;
    for (field, thread) in [("thread_id", "t-1"), ("chatId", "t-2")] {
        let answer = post(&hub, PATH, &asks(&json!({field: thread}))).await;
        assert_eq!(answer.headers()["fanlight-conversation"], thread);
        let body = told(answer).await.0;
        assert!(body.contains("sunny") && body.ends_with("data: [DONE]\n\n"), "{body}");
        assert!(body.contains("\"role\":\"tool\""), "{body}");
    }
    // The same words in two threads are two conversations, and each goes on where it is named.
    let more = json!({"thread_id": "t-1", "messages": [{"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "It is sunny."}, {"role": "user", "content": "And tomorrow?"}]});
    told(post(&hub, PATH, &asks(&more)).await).await;
    let questions = async |name: &str| {
        let summary = seen(&hub, name).await;
        summary["messages"].as_array().unwrap().iter().filter(|it| it["role"] == "user").count()
    };
    assert_eq!((questions("t-1").await, questions("t-2").await), (2, 1));
    let wrong = post(&hub, PATH, &asks(&json!({"thread_id": 7}))).await;
    assert_eq!(wrong.status(), 400);
    assert!(told(wrong).await.0.contains("thread_id"));
}
