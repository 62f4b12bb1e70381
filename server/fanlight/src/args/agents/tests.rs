//! Tables of agents that fit, and what is said of those that do not.

use agents::{StreamTarget, ToolServer};

use super::*;
use crate::args::layers;

fn agent(table: &str) -> Result<AgentConfig, String> {
    let settings: AgentSettings = layers::fit(layers::table(table)?)?;
    let servers = BTreeMap::from([(String::from("time"), McpSettings::default())]);
    settings.agent("a", &[], &servers)
}

fn server(table: &str) -> Result<ToolServer, String> {
    let settings: McpSettings = layers::fit(layers::table(table)?)?;
    settings.server("time")
}

#[test]
fn a_runner_has_a_model_and_a_place_for_it() {
    let fits =
        agent("kind = 'runner'\nprovider = 'anthropic'\nmodel = 'm'\ntools = ['time']\ncall_seconds = 7")
            .unwrap();
    let AgentKind::Runner(runner) = fits.kind else { panic!("{fits:?}") };
    assert_eq!((runner.plan.call_ms, runner.plan.name.as_deref()), (7_000, Some("a")));
    for (table, why) in [
        ("", "the agent \"a\": its kind is \"\"; there are runner, agno, langgraph, ag-ui"),
        ("kind = 'runner'\nprovider = 'openai'", "the agent \"a\": a runner has a model"),
        ("kind = 'runner'\nmodel = 'm'", "the agent \"a\": a runner has a provider, or the url of one"),
        (
            "kind = 'runner'\nmodel = 'm'\nprovider = 'nobody'",
            "the agent \"a\": no provider is named \"nobody\"",
        ),
        ("kind = 'runner'\nmodel = 'm'\nurl = 'ftp://x'", "the agent \"a\": the URL of the upstream"),
        (
            "kind = 'runner'\nmodel = 'm'\nprovider = 'openai'\ntools = ['x']",
            "the agent \"a\": its tools \"x\" have no table [mcp.x]",
        ),
        ("kind = 'runner'\nmodle = 'm'", "unknown field: found `modle`"),
    ] {
        let error = agent(table).unwrap_err();
        assert!(error.starts_with(why), "{table}: {error}");
    }
}

/// With everything that may stand in it.
const ANTHROPIC: &str = r#"
provider:
  name: "anthropic"
  api_url: "https://api.anthropic.com/v1/messages"

stream:
  enabled: true
  format: "sse" # Server-Sent Events

  # Sinks receive raw SSE events
  sinks:
    - type: websocket
      url: "${THREAD_UI_WEBSOCKET_URL:-ws://localhost:8080/events}"
      reconnect_attempts: 3
      buffer_on_disconnect: true

    - type: file
      path: ".ai/threads/{thread_id}/sse-stream.jsonl"
      format: "jsonl"

  # What to extract from SSE events
  extract:
    text: "$.delta.text" # JSONPath to text content
    tool_calls: "$.content_blocks[?type=='tool_use']"
    reasoning: "$.content_blocks[?type=='thinking']"
    stop_reason: "$.stop_reason"
"#;

#[test]
fn a_provider_is_described_in_a_file() {
    let place = tempfile::tempdir().unwrap();
    let of = |yaml: &str| {
        let file = place.path().join("provider.yaml");
        std::fs::write(&file, yaml).unwrap();
        agent(&format!("kind = 'runner'\nmodel = 'm'\nprovider = '{}'", file.display()))
    };
    let AgentKind::Runner(known) = of(ANTHROPIC).unwrap().kind else { panic!("no runner") };
    assert_eq!((known.provider.path, known.dialect.is_none()), ("", true));
    assert_eq!(known.provider.upstream.place(), "https://api.anthropic.com");
    assert_eq!(known.provider.key_env.as_deref(), Some("ANTHROPIC_API_KEY"));
    let sinks = known.sinks.iter().map(|sink| matches!(sink.target, StreamTarget::Socket(_)));
    assert_eq!(sinks.collect::<Vec<_>>(), [true, false]);
    for (instead, why) in [
        (
            "- type: kafka",
            "line 12, at \"type\": there is no sink of the type \"kafka\"; there are websocket, file and return",
        ),
        (
            "- type: websocket\n      path: x",
            "line 13, at \"path\": this is for a sink of the type file, not websocket",
        ),
        (
            "- type: return\n    - type: websocket",
            "line 13, at \"type\": a sink of the type websocket has a url",
        ),
    ] {
        let yaml = ANTHROPIC.replacen("- type: websocket", instead, 1);
        let yaml = if instead.contains("return") { yaml.replace("      url:", "      # url:") } else { yaml };
        let error = of(&yaml).unwrap_err();
        assert!(error.ends_with(why), "{error}");
    }
    let error = of(&ANTHROPIC.replace("reconnect_attempts", "attempts")).unwrap_err();
    assert!(error.contains("attempts") && error.contains("line 14"), "{error}");
    let error = of(&ANTHROPIC.replace("text: \"$.delta.text\"", "text: \"delta\"")).unwrap_err();
    assert!(error.contains("provider.yaml: line 23, at \"text\": "), "{error}");
    let own = "provider:\n  name: acme\n  api_url: http://127.0.0.1:9/answers\nstream:\n  extract:\n    text: $.say";
    let AgentKind::Runner(own) = of(own).unwrap().kind else { panic!("no runner") };
    assert_eq!((own.dialect.unwrap().name(), own.provider.key_env), ("acme", None));
    let error = of(&ANTHROPIC.replace("enabled: true", "enabled: false")).unwrap_err();
    assert!(error.ends_with("the hub takes streams alone"), "{error}");
}

#[test]
fn what_the_agent_itself_hears_has_the_room_that_is_set() {
    let place = tempfile::tempdir().unwrap();
    let of = |sinks: &str| {
        let file = place.path().join("provider.yaml");
        let provider = "provider:\n  name: openai\n  api_url: http://127.0.0.1:9/v1\nstream:\n  sinks:\n";
        std::fs::write(&file, format!("{provider}{sinks}")).unwrap();
        let table = format!("kind = 'runner'\nmodel = 'm'\nprovider = '{}'", file.display());
        match agent(&table)?.kind {
            AgentKind::Runner(runner) => Ok((runner.notes_max, runner.sinks.len())),
            AgentKind::Remote(_) => Err(String::from("no runner")),
        }
    };
    assert_eq!(of("    - type: return\n      buffer_size: 3\n"), Ok((3, 0)));
    assert_eq!(of("    - type: return\n"), Ok((NOTES_MAX, 0)));
    assert_eq!(
        of("    - type: file\n      path: x\n      buffer_size: 3\n"),
        Ok((NOTES_MAX, 1)),
        "another's"
    );
    for size in ["0", "1048577", "18446744073709551615"] {
        let error = of(&format!("    - type: return\n      buffer_size: {size}\n")).unwrap_err();
        let why =
            format!("line 7, at \"buffer_size\": {size} is not a size of a buffer; allowed are 1 to 1048576");
        assert!(error.ends_with(&why), "{error}");
    }
}

#[test]
fn an_agent_elsewhere_has_a_url_and_no_settings_of_a_runner() {
    for kind in RemoteKind::ALL {
        let table = format!(
            "kind = '{}'\nurl = 'http://127.0.0.1:7777/x'\nmodel = 'm'\nsilence_seconds = 3",
            kind.name()
        );
        let fits = agent(&table).unwrap();
        assert!(matches!(fits.kind, AgentKind::Remote(remote) if remote.speaks == *kind));
    }
    let error = agent("kind = 'agno'").unwrap_err();
    assert_eq!(error, "the agent \"a\": an agent elsewhere has a url");
    let error = agent("kind = 'agno'\nurl = 'http://127.0.0.1:7777'").unwrap_err();
    assert!(error.contains("an agent of the kind agno has a model"), "{error}");
    let error = agent("kind = 'agno'\nurl = 'http://127.0.0.1:7777'\nsystem = 'Be brief.'").unwrap_err();
    assert!(
        error.ends_with("has kind, url, model, key_env, ca, silence_seconds and price, and nothing else"),
        "{error}"
    );
}

#[test]
fn a_server_with_tools_has_a_command_or_a_url() {
    assert!(server("command = ['mcp-server-time']\nenv = { TZ = 'UTC' }").is_ok());
    assert!(server("url = 'http://127.0.0.1:3001/mcp'\nkey_env = 'KEY'").is_ok());
    let far = "url = 'https://tools.example/mcp'\nheaders = { Authorization = 'Token ${KEY}', X-Team = 'a' }";
    assert!(server(far).is_ok());
    for table in [
        "",
        "command = ['x']\nurl = 'http://127.0.0.1:1'",
        "url = 'nowhere'",
        "command = ['x']\nkey_env = 'K'",
        "command = ['x']\nheaders = { A = 'b' }",
        "command = ['x']\nca = 'ca.pem'",
        "url = 'https://tools.example/mcp'\nca = '/nowhere/ca.pem'",
        "url = 'https://tools.example/mcp'\nheaders = { 'a b' = 'c' }",
        "url = 'https://tools.example/mcp'\nkey_env = 'K'\nheaders = { authorization = 'b' }",
    ] {
        let error = server(table).unwrap_err();
        assert!(error.starts_with("the tools \"time\": "), "{table}: {error}");
    }
    assert!(McpSettings::default().server("a__b").unwrap_err().contains("no two _ in a row"));
}
