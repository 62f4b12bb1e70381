//! The word of each kind of events, which is its `k` on the wire.

use super::Kind;

impl Kind {
    /// The word on the wire, such as `part.delta`.
    pub fn word(&self) -> &str {
        match self {
            Self::Fork { .. } => "fork",
            Self::Label(_) => "label",
            Self::RunStart(_) => "run.start",
            Self::RunUpdate(_) => "run.update",
            Self::RunStalled { .. } => "run.stalled",
            Self::RunEnd(_) => "run.end",
            Self::AgentStart(_) => "agent.start",
            Self::AgentEnd(_) => "agent.end",
            Self::Message(_) => "message",
            Self::PartStart { .. } => "part.start",
            Self::PartDelta { .. } => "part.delta",
            Self::PartReplace { .. } => "part.replace",
            Self::PartEnd(_) => "part.end",
            Self::ToolStart(_) => "tool.start",
            Self::ToolArgs { .. } => "tool.args",
            Self::ToolCall { .. } => "tool.call",
            Self::ToolState(_) => "tool.state",
            Self::ToolOutput { .. } => "tool.output",
            Self::ToolResult(_) => "tool.result",
            Self::ToolProgress(_) => "tool.progress",
            Self::Status { .. } => "status",
            Self::Error(_) => "error",
            Self::ApprovalRequest { .. } => "approval.request",
            Self::ApprovalAnswer { .. } => "approval.answer",
            Self::Custom { .. } => "custom",
            Self::Raw { .. } => "raw",
            Self::Anomaly(_) => "anomaly",
            Self::Rate { .. } => "rate",
            Self::Unknown(unknown) => &unknown.k,
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests that the words are those of the wire.

    use super::super::wire::KNOWN;
    use super::super::{Kind, parse_event};

    #[test]
    fn the_word_of_a_kind_is_its_name_on_the_wire() {
        // Every field that some kind cannot do without.
        let fields = r#""run":"r","agent":"a","since":1,"part":"p","kind":"text","text":"t","tool":"t","name":"n","state":"executing",
            "status":"complete","message":"m","role":"user","approved":true,"value":1,"tokens":1,"code":"c","title":"t",
            "from":{"conversation":"c","epoch":"e","seq":1}"#;
        let mut read = 0;
        for word in KNOWN.into_iter().chain(["of.a.later.version"]) {
            // A kind for which that is too little says nothing here.
            let Ok(event) = parse_event(&format!(r#"{{"k":"{word}",{fields}}}"#)) else { continue };
            assert_eq!(event.kind.word(), word);
            assert_eq!(matches!(event.kind, Kind::Unknown(_)), !KNOWN.contains(&word), "{word}");
            read += 1;
        }
        assert!(read >= 24, "{read} kinds were read");
    }
}
