//! Ways to connect an agent, as lines to paste, for an empty page.
//!
//! The lines are tested: they name dialects that the hub decodes, and those of coding agents are the ones of
//! docs/integrations/coding-agents.md.

/// A way to connect an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// What the reader wants to do.
    pub title: &'static str,
    /// What then happens, in a sentence or two.
    pub hint: &'static str,
    /// The lines to paste, each with the name of the program or library that it is for.
    pub lines: Vec<(&'static str, String)>,
}

/// A way as it is written in this file; `@` in its lines stands for the hub's address.
type Written = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// All ways, in the order of the page.
const WAYS: [Written; 5] = [
    (
        "Point an SDK here",
        "Calls of the model go through the hub, byte for byte in both directions, and show while they stream. Any other server with OpenAI's API goes by the name of its upstream, here vllm.",
        &[
            ("OpenAI", "export OPENAI_BASE_URL=@/proxy/openai/v1"),
            ("Anthropic", "export ANTHROPIC_BASE_URL=@/proxy/anthropic"),
            ("Gemini", "export GOOGLE_GEMINI_BASE_URL=@/proxy/gemini"),
            ("Ollama", "export OLLAMA_HOST=@/proxy/ollama"),
            ("Any other", "export OPENAI_BASE_URL=@/proxy/vllm/v1"),
        ],
    ),
    (
        "Pipe an agent",
        "What it prints passes through untouched, even when the hub is down.",
        &[
            (
                "Claude Code",
                "claude -p \"Fix the failing test\" --output-format stream-json --verbose --include-partial-messages | fanlight tee --url @ --dialect claude-code --conversation fix",
            ),
            (
                "Codex",
                "codex exec --json \"Fix the failing test\" | fanlight tee --url @ --dialect codex --conversation fix",
            ),
            (
                "opencode",
                "opencode run --format json \"Fix the failing test\" | fanlight tee --url @ --dialect opencode --conversation fix",
            ),
            ("Any other", "your-agent | fanlight tee --url @ --dialect anthropic --conversation my-agent"),
        ],
    ),
    (
        "Send OpenTelemetry",
        "An instrumented program needs no change.",
        &[(
            "OTLP",
            "export OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=@/v1/traces OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
        )],
    ),
    (
        "Publish from a program",
        "Each event exactly once. Adapters for frameworks are in the packages.",
        &[
            (
                "Python",
                "# pip install ./integrations/python
from fanlight import Run, SyncPublisher
with SyncPublisher(\"my-agent\", url=\"@\") as publisher:
    run = Run(publisher); run.text(\"Hello\"); run.end()",
            ),
            (
                "TypeScript",
                "// Node 22: npm install ./integrations/typescript
import { Publisher, Run } from \"fanlight\";
const publisher = new Publisher(\"my-agent\", { url: \"@\" });
const run = new Run(publisher); run.text(\"Hello\"); run.end(); await publisher.close();",
            ),
        ],
    ),
    (
        "Post a stream",
        "From any language, in any dialect; events show while the body is still arriving.",
        &[("HTTP", "curl -N -T - -X POST @/v1/ingest/openai-chat/my-agent < stream.sse")],
    ),
];

/// All ways for a hub at `origin`, such as `http://127.0.0.1:4600`.
pub fn starts(origin: &str) -> [Start; WAYS.len()] {
    WAYS.map(|(title, hint, lines)| {
        let lines = lines.iter().map(|(name, line)| (*name, line.replace('@', origin))).collect();
        Start { title, hint, lines }
    })
}

#[cfg(test)]
mod tests {
    //! The lines that people paste name what the hub has.

    use super::*;

    #[test]
    fn the_lines_name_this_hub_and_dialects_that_it_knows() {
        let ways = starts("http://h:1");
        let lines: Vec<&str> =
            ways.iter().flat_map(|way| &way.lines).map(|(_, line)| line.as_str()).collect();
        assert!(lines.iter().all(|line| line.matches("http://h:1").count() == 1), "{lines:?}");
        assert!(!lines.concat().contains('@'), "{lines:?}");
        let words_after = |mark: &str| -> Vec<String> {
            let rests = lines.iter().filter_map(|line| line.split_once(mark));
            rests.map(|(_, rest)| rest.split([' ', '/']).next().unwrap().to_owned()).collect()
        };
        let dialects = [words_after("--dialect "), words_after("/v1/ingest/")].concat();
        assert_eq!(dialects.len(), 5, "{dialects:?}");
        for dialect in dialects {
            assert!(model::dialect::DECODED.contains(&dialect.as_str()), "{dialect} cannot be decoded");
        }
    }

    #[test]
    fn the_lines_of_coding_agents_are_those_of_their_page() {
        let page = include_str!("../../docs/integrations/coding-agents.md");
        let ways = starts("http://h:1");
        let of_agents = ways.iter().flat_map(|way| &way.lines).filter(|(_, line)| line.contains(" fix"));
        let mut count = 0;
        for (name, line) in of_agents {
            let written = line.replace("--url http://h:1 ", "");
            assert!(page.lines().any(|said| said == written), "{name}: {written}");
            count += 1;
        }
        assert_eq!(count, 3);
    }
}
