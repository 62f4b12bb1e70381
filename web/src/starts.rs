//! The ways to make something visible, as lines to paste: what an empty page shows.

/// One way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// What it is for.
    pub title: &'static str,
    /// One sentence more.
    pub hint: &'static str,
    /// The lines: what each is for, and what to paste.
    pub lines: Vec<(&'static str, String)>,
}

/// The ways that there are, for a hub at `origin`, like `http://127.0.0.1:4600`.
pub fn starts(origin: &str) -> [Start; 3] {
    [
        Start {
            title: "Point an SDK here",
            hint: "Calls of the model go through the hub, byte for byte in both directions, and show while they stream.",
            lines: vec![
                ("OpenAI", format!("export OPENAI_BASE_URL={origin}/proxy/openai/v1")),
                ("Anthropic", format!("export ANTHROPIC_BASE_URL={origin}/proxy/anthropic")),
            ],
        },
        Start {
            title: "Pipe an agent",
            hint: "What it prints passes through untouched, even when the hub is down.",
            lines: vec![(
                "Shell",
                format!(
                    "your-agent | fanlight tee --url {origin} --dialect anthropic --conversation my-agent"
                ),
            )],
        },
        Start {
            title: "Post a stream",
            hint: "From any language, in any dialect; events show while the body is still arriving.",
            lines: vec![(
                "HTTP",
                format!("curl -N -T - -X POST {origin}/v1/ingest/openai-chat/my-agent < stream.sse"),
            )],
        },
    ]
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
        assert!(lines.iter().all(|line| line.contains("http://h:1") && !line.contains('\n')), "{lines:?}");
        let word_after = |mark: &str| {
            let line = lines.iter().find_map(|line| line.split_once(mark)).unwrap().1;
            line.split([' ', '/']).next().unwrap().to_owned()
        };
        for dialect in [word_after("--dialect "), word_after("/v1/ingest/")] {
            assert!(shared::dialect::DECODED.contains(&dialect.as_str()), "{dialect} cannot be decoded");
        }
    }
}
