//! The ways to make something visible, as lines to paste: what an empty page shows.

/// One way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// What it is for.
    pub title: &'static str,
    /// One sentence more.
    pub hint: &'static str,
    /// The line.
    pub line: String,
}

/// The ways that there are, for a hub at `origin`, like `http://127.0.0.1:4600`.
pub fn starts(origin: &str) -> [Start; 3] {
    let socket = origin.replacen("http", "ws", 1);
    [
        Start {
            title: "Post a stream",
            hint: "Any supported dialect; events show while the body is still arriving.",
            line: format!("curl -N -T - -X POST {origin}/v1/ingest/openai-chat/my-agent < stream.sse"),
        },
        Start {
            title: "Pipe an agent",
            hint: "Its output passes through untouched, even when the hub is down.",
            line: format!(
                "your-agent | fanlight tee --url {origin} --dialect anthropic --conversation my-agent"
            ),
        },
        Start {
            title: "Publish over a WebSocket",
            hint: "Subprotocol fanlight.v1: hello first, then pub frames with native events.",
            line: format!(
                r#"websocat --protocol fanlight.v1 {socket}/v1/ws <<< $'{{"t":"hello","versions":["1"]}}\n{{"t":"pub","id":1,"conv":"my-agent","events":[{{"k":"status","run":"r1","text":"hello"}}]}}'"#
            ),
        },
    ]
}

#[cfg(test)]
mod tests {
    //! The lines that people paste hold frames that the hub takes.

    use shared::frame::parse_client;

    use super::*;

    #[test]
    fn the_frames_of_the_websocket_line_are_frames() {
        let [post, pipe, socket] = starts("http://h:1");
        assert!(post.line.contains("http://h:1/v1/ingest/openai-chat/"));
        assert!(pipe.line.contains("--url http://h:1 "));
        let dialect = pipe.line.split("--dialect ").nth(1).unwrap().split(' ').next().unwrap();
        assert!(shared::dialect::DECODED.contains(&dialect), "{dialect} cannot be decoded");
        let (_, frames) = socket.line.split_once("$'").unwrap();
        for frame in frames.trim_end_matches('\'').split("\\n") {
            parse_client(frame).unwrap();
        }
    }
}
