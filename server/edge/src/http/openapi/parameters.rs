//! Parameters that several operations have, and those of paths.

use super::operation::{Parameter, Shape};

/// The level of detail that a reader wants.
pub(super) const LEVEL: Parameter = Parameter::new(
    "level",
    "How much detail: states and results, whole texts too, or everything as it comes.",
    Shape::OneOf(&["critical", "parts", "deltas"]),
);
/// The kinds of events that a reader wants.
pub(super) const KINDS: Parameter =
    Parameter::new("kinds", "Kinds of events between commas; others are left out.", Shape::Text);
/// The agent that a reader wants, with those below it.
pub(super) const ROOT: Parameter = Parameter::new("root", "Only this agent and those below it.", Shape::Text);
/// The number of levels of agents that a reader wants.
pub(super) const DEPTH: Parameter =
    Parameter::new("depth", "Only that many levels of agents.", Shape::Whole(0, Some(u32::MAX as u64)));
/// The position after which events are wanted.
pub(super) const AFTER: Parameter =
    Parameter::new("after", "A position, EPOCH:SEQ: only events after it. `-` is none.", Shape::Text);
/// The position after which events are wanted, as browsers send it.
pub(super) const LAST_EVENT_ID: Parameter = Parameter::new(
    "Last-Event-ID",
    "As browsers send it when they connect again; it comes before `after`.",
    Shape::Text,
);
/// The run of a stream.
pub(super) const RUN: Parameter = Parameter::new(
    "run",
    "`all`, `latest`, `next`, or the id of a run; one that has not begun after 10 s is not_found.",
    Shape::Text,
);
/// The end of a stream.
pub(super) const UNTIL: Parameter = Parameter::new(
    "until",
    "Where the stream ends; without it, when its client leaves.",
    Shape::OneOf(&["run.end"]),
);
/// Modes of a dialect.
pub(super) const MODES: Parameter =
    Parameter::new("stream_mode", "Modes of the dialect langgraph; once for each.", Shape::Texts);
/// The beginning of a time.
pub(super) const FROM: Parameter =
    Parameter::new("from", "When it begins, in milliseconds since 1970.", Shape::Whole(0, None));
/// The end of a time.
pub(super) const TO: Parameter =
    Parameter::new("to", "When it ends, in milliseconds since 1970.", Shape::Whole(0, None));
/// The entity tag that a client has.
pub(super) const IF_NONE_MATCH: Parameter = Parameter::new(
    "If-None-Match",
    "The ETag of what the client has: the answer is 304 if nothing has changed.",
    Shape::Text,
);
/// The durability for which the answer waits.
pub(super) const DURABILITY: Parameter = Parameter::new(
    "Fanlight-Durability",
    "What the answer promises; `stored` without it, or less where the log offers less.",
    Shape::OneOf(&["memory", "stored", "synced", "replicated"]),
);
/// The publisher, for exactly-once.
pub(super) const PUBLISHER: Parameter = Parameter::new(
    "Fanlight-Publisher",
    "ID/EPOCH/SEQ, or ID/EPOCH/FIRST-LAST for events that are numbered one by one: what was taken before is not taken again.",
    Shape::Pattern("^[!-~]+/[0-9]+/[0-9]+(-[0-9]+)?$"),
);
/// The conversation of a request that does not name it in its path.
pub(super) const CONVERSATION: Parameter = Parameter::new(
    "Fanlight-Conversation",
    "The conversation; without it the hub finds or makes one. The answer names it in the same header.",
    Shape::Text,
);

/// The parameters in a path of the router, in their order.
pub(super) fn in_path(path: &str) -> Vec<Parameter> {
    let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    named.map(|name| of_path(path, name.trim_start_matches('*'))).collect()
}

/// The parameter `name` of `path`. A name that is not known here has no description, which a test refuses.
fn of_path(path: &str, name: &str) -> Parameter {
    let is_read = path.contains("/stream/");
    let (name, about, shape) = match name {
        "conversation" => {
            ("conversation", "The name of a conversation, at most 128 bytes of UTF-8.", Shape::Name)
        }
        "dialect" if is_read => {
            ("dialect", "A dialect that can be written.", Shape::Known(super::native::written_dialects))
        }
        "dialect" => (
            "dialect",
            "A dialect that can be read: `auto` or a name in docs/dialects/README.md, or one of the settings.",
            Shape::Text,
        ),
        "format" => ("format", "A format of exports.", Shape::Known(super::native::export_formats)),
        "hash" => (
            "hash",
            "The hash of a large result: 32 hex digits, 16 in older logs.",
            Shape::Pattern("^([0-9a-fA-F]{16}){1,2}$"),
        ),
        "name" => ("name", "The name of a file: `event.json`, `view.json`, ….", Shape::Text),
        "id" => ("id", "The short name of a link.", Shape::Text),
        "secret" => ("secret", "The secret of a link.", Shape::Text),
        "document" => ("document", "The name of a document, with slashes for its folders.", Shape::Text),
        "upstream" => ("upstream", "The name of an upstream.", Shape::Text),
        "path" => (
            "path",
            "The path at the upstream, with its slashes; `~NAME/` in front names a conversation.",
            Shape::Text,
        ),
        "rest" => {
            ("rest", "What a client appends to its base URL, with its slashes; it is not read.", Shape::Text)
        }
        "model" => ("model", "The name of an agent, which is a model to such clients.", Shape::Text),
        "agent" => ("agent", "The name of an agent.", Shape::Text),
        "chat" => ("chat", "The id of a chat, as the client chose it.", Shape::Text),
        "provider" => ("provider", "The name of a provider; agents are models of `fanlight`.", Shape::Text),
        "assistant" => {
            ("assistant", "An assistant: the name of an agent, or the id that is made of it.", Shape::Text)
        }
        "thread" => ("thread", "A thread: a conversation, by the name that its client chose.", Shape::Text),
        "run" => ("run", "The id of a run.", Shape::Text),
        "checkpoint" => ("checkpoint", "The id of a checkpoint.", Shape::Text),
        _ => ("", "", Shape::Text),
    };
    Parameter::new(name, about, shape)
}
