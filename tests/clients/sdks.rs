//! The vendors' own packages, through the proxy and without it: the same bytes, and the same events made of them.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tests::TestHub;
use tests::replayer::{self, RecordedExchange, exchanges};
use tests::wait::patiently;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use tests::installed;

const AGENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/agents");

/// Recordings beside the work tree; what is not there is made up of the rest.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/traces/exchanges");

/// Calls in both forms, in case that no recording is at hand.
fn own() -> Vec<RecordedExchange> {
    let exchange = |name: &str, dialect: &str, request: Value, answer: String| RecordedExchange {
        name: format!("own-{name}"),
        dialect: dialect.to_owned(),
        path: String::new(),
        request,
        answer,
    };
    let stream = |folder: &str| {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/upstream").join(folder).join("call.sse");
        std::fs::read_to_string(file).unwrap()
    };
    let ask = json!([{"role": "user", "content": "Hello?"}]);
    let chat = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello ☀."}, "finish_reason": "stop"}]});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": [{"type": "text", "text": "Hello ☀."}], "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 2}});
    let response = json!({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-5", "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "output": [{"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Hello ☀.", "annotations": []}]}]});
    let chats = json!({"model": "gpt-5", "messages": ask});
    let responds = json!({"model": "gpt-5", "input": ask});
    let messages = json!({"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": ask});
    vec![
        exchange("0", "openai-chat", chats.clone(), stream("chat")),
        exchange("1", "openai-chat", chats, chat.to_string()),
        exchange("2", "openai-responses", responds.clone(), stream("responses")),
        exchange("3", "openai-responses", responds, response.to_string()),
        exchange("4", "anthropic-messages", messages.clone(), stream("messages")),
        exchange("5", "anthropic-messages", messages, message.to_string()),
    ]
}

/// What the program `file` prints of `exchanges`, where its calls go to `openai` and `anthropic`.
async fn printed(file: &str, exchanges: &[RecordedExchange], openai: String, anthropic: String) -> String {
    let folder = TempDir::new().unwrap();
    std::fs::copy(Path::new(AGENTS).join(file), folder.path().join(file)).unwrap();
    let mut program = if Path::new(file).extension().is_some_and(|kind| kind == "mjs") {
        std::os::unix::fs::symlink(installed::node_modules(), folder.path().join("node_modules")).unwrap();
        installed::node()
    } else {
        installed::python()
    };
    let lines = exchanges.iter().fold(String::new(), |all, it| {
        let stream = !it.answer.trim_start().starts_with('{');
        let line = json!({"name": it.name, "dialect": it.dialect, "request": it.request, "stream": stream});
        all + &line.to_string() + "\n"
    });
    run(
        program.arg(file).current_dir(folder.path()),
        &lines,
        &[("OPENAI_BASE_URL", openai), ("ANTHROPIC_BASE_URL", anthropic)],
    )
    .await
}

async fn run(program: &mut Command, lines: &str, places: &[(&str, String)]) -> String {
    program.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    program.env("OPENAI_API_KEY", "sk-none").env("ANTHROPIC_API_KEY", "sk-none").envs(places.iter().cloned());
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut running = program.spawn().unwrap();
    let mut stdin = running.stdin.take().unwrap();
    let lines = lines.to_owned();
    let writing = tokio::spawn(async move {
        // A program that ended early says why on stderr.
        stdin.write_all(lines.as_bytes()).await.unwrap_or_default();
    });
    let ended = patiently("the program", running.wait_with_output()).await.unwrap();
    writing.await.unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    let last = said.lines().last().unwrap_or_default();
    assert!(ended.status.success(), "{places:?}, after {last}: {}", String::from_utf8_lossy(&ended.stderr));
    said
}

/// Asks all exchanges in `dialects` with the program `file`, directly and through a hub.
async fn is_the_same(file: &str, dialects: &[&str]) {
    let all = exchanges(Path::new(RECORDED)).into_iter().chain(own());
    let asked: Vec<_> = all.filter(|exchange| dialects.contains(&exchange.dialect.as_str())).collect();
    let upstream = replayer::start(&asked).await;
    let hub = TestHub::start_with(&[
        "--upstream",
        &upstream.named("openai"),
        "--upstream",
        &upstream.named("anthropic"),
    ])
    .await;
    let direct = printed(file, &asked, upstream.url("/v1"), upstream.url("")).await;
    let proxied = printed(file, &asked, hub.url("/proxy/openai/v1"), hub.url("/proxy/anthropic")).await;
    for exchange in &asked {
        assert!(
            direct.contains(&format!("{} 200 ", exchange.name)),
            "{file}: {} was not asked",
            exchange.name
        );
    }
    let differs = direct.lines().zip(proxied.lines()).find(|(one, other)| one != other);
    assert_eq!(differs, None, "{file}");
    assert_eq!(direct.len(), proxied.len(), "{file}");
    // And all of it was seen.
    let calls = u64::try_from(asked.len()).unwrap();
    assert_eq!(hub.number("proxy_calls_total").await, 2 * calls);
    assert_eq!(hub.number("proxy_copies_lost_total").await, 0);
    assert!(hub.json("/v1/conversations").await["total"].as_u64().unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_openais_python_package_gets_the_same_bytes() {
    is_the_same("sdk_openai.py", &["openai-chat", "openai-responses"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_anthropics_python_package_gets_the_same_bytes() {
    is_the_same("sdk_anthropic.py", &["anthropic-messages"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn i12_the_packages_for_javascript_get_the_same_bytes() {
    is_the_same("sdk.mjs", &["openai-chat", "openai-responses", "anthropic-messages"]).await;
}
