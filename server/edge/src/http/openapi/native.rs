//! The interface of the hub itself: one conversation, and questions about all of them.

use encode::ENCODINGS;
use encode::document::export::FORMATS;
use model::code::ErrorCode::{
    self, AgentUnavailable, BadConversation, BadEvent, BadPosition, BodyTimeout, ConsentMismatch,
    ConversationExists, DiskFailing, DiskFull, DurabilityUnavailable, Elsewhere, Gone, LogFailed,
    MethodNotAllowed, NotFound, NotResumable, NotRunning, PublishNotGranted, PublisherFenced, PublisherGap,
    RunOfHub, ShuttingDown, StillRunning, TooLarge, TooMany, UnknownAgent, UnknownConversation,
    UnknownDialect, UnsupportedEncoding,
};

use super::operation::{Answer, Content, Operation, Parameter, Shape};
use super::parameters::{
    AFTER, DEPTH, DURABILITY, FROM, IF_NONE_MATCH, KINDS, LAST_EVENT_ID, LEVEL, MODES, PUBLISHER, ROOT, RUN,
    TO, UNTIL,
};

/// The dialects in which a conversation can be streamed.
pub(super) fn written_dialects() -> Vec<&'static str> {
    ENCODINGS.iter().map(|encoding| encoding.name).collect()
}

/// The formats of exports, each once.
pub(super) fn export_formats() -> Vec<&'static str> {
    let documents = FORMATS.iter().map(|format| format.name);
    let mut all: Vec<_> = ["jsonl", "native"].into_iter().chain(documents).collect();
    for dialect in written_dialects() {
        if !all.contains(&dialect) {
            all.push(dialect);
        }
    }
    all
}

/// An answer of JSON.
macro_rules! json {
    ($about:literal, $schema:literal) => {
        &[Answer::new(200, $about, &[Content::json($schema)])]
    };
}

/// An answer for clients that have it already.
const UNCHANGED: Answer = Answer::new(304, "The client has it.", &[]);

/// A live stream of events.
const LIVE: Content = Content::new("text/event-stream", "EventStream");

/// A conversation in a dialect; the type is the dialect's own.
const STREAMED: Answer = Answer::new(
    200,
    "The conversation in that dialect.",
    &[
        Content::new("text/event-stream", r#"{"type":"string"}"#),
        Content::new("application/x-ndjson", r#"{"type":"string"}"#),
        Content::new("text/plain", r#"{"type":"string"}"#),
    ],
);

/// What reading from the log may fail with, when it is many questions at once, or has less than what is asked for.
const READING: &[ErrorCode] = &[Gone, LogFailed, TooMany];

/// What publishing may fail with.
const PUBLISHING: &[ErrorCode] = &[
    BadEvent,
    BodyTimeout,
    DiskFailing,
    DiskFull,
    DurabilityUnavailable,
    PublishNotGranted,
    PublisherFenced,
    PublisherGap,
    RunOfHub,
    ShuttingDown,
    TooLarge,
    TooMany,
    UnknownConversation,
    UnsupportedEncoding,
];

/// What a stream in a dialect may fail with.
const STREAMING: &[ErrorCode] = &[Gone, NotFound, ShuttingDown, TooMany, UnknownDialect];

/// A page of lines.
const LIMIT: Parameter = Parameter::new(
    "limit",
    "How many at most; more than the hub gives are as many as it gives.",
    Shape::Whole(0, None),
);

/// Operations across all conversations, and about the hub.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation::new("GET", "/healthz", "hub", "Whether the process answers")
        .answers(&[Answer::new(200, "It does.", &[Content::new("text/plain", r#"{"const":"ok\n"}"#)])]),
    Operation::new("GET", "/readyz", "hub", "Whether the hub takes work and keeps it")
        .answers(&[Answer::new(200, "It does.", &[Content::new("text/plain", r#"{"type":"string"}"#)])])
        .fails(&[DiskFailing, DiskFull, LogFailed, ShuttingDown]),
    Operation::new("GET", "/metrics", "hub", "The metrics of the hub, for Prometheus")
        .answers(&[Answer::new(200, "The metrics.", &[Content::new("text/plain", r#"{"type":"string"}"#)])]),
    Operation::new("GET", "/v1/load", "hub", "How much of its CPU limit the hub uses")
        .about("Other hubs of its log ask it when they are overloaded.")
        .answers(json!("The load.", "HubLoad")),
    Operation::new("GET", "/openapi.json", "hub", "This document")
        .answers(json!("An OpenAPI 3.1 document.", r#"{"type":"object","required":["openapi","paths"]}"#)),
    Operation::new("GET", "/schema/{name}", "hub", "A JSON Schema of the wire, or the table of bounds")
        .headers(&[IF_NONE_MATCH])
        .answers(&[
            Answer::new(
                200,
                "The file.",
                &[Content::json(r#"{"type":"object"}"#), Content::new("text/plain", r#"{"type":"string"}"#)],
            ),
            UNCHANGED,
        ])
        .fails(&[NotFound]),
    Operation::new("GET", "/v1/access", "hub", "Who the caller is and what they may do")
        .query(&[Parameter::new(
            "conversation",
            "The name of a conversation, which need not exist: the answer then says in `may` what the caller may do there.",
            Shape::Name,
        )])
        .answers(json!("The caller.", "Access"))
        .fails(&[BadConversation]),
    Operation::new("GET", "/v1/audit", "hub", "Who did what, the newest first")
        .query(&[
            Parameter::new("before", "Only entries with a smaller number.", Shape::Whole(0, None)),
            LIMIT,
        ])
        .answers(json!("A page of the log.", "AuditPage"))
        .fails(&[NotFound]),
    Operation::new("GET", "/v1/budgets", "proxy", "What tokens may spend with the hub's keys, and have spent")
        .answers(json!("The budgets.", "Budgets"))
        .fails(&[NotFound]),
    Operation::new("GET", "/v1/agents", "hub", "The agents of this hub that can be asked")
        .answers(json!("The agents.", "AgentList")),
    Operation::new("GET", "/v1/upstreams", "proxy", "The model APIs to which the hub passes calls on")
        .answers(json!("The upstreams.", "Upstreams")),
    Operation::new("GET", "/v1/conversations", "across", "The list of conversations: pinned ones, then the newest activity")
        .query(&[
            LIMIT,
            Parameter::new("after", "What the page before gave as `next`.", Shape::Pattern("^(pinned:)?[0-9]+:.+$")),
            Parameter::new(
                "state",
                "Only those whose newest run is in this state.",
                Shape::OneOf(&["running", "complete", "error", "cancelled", "interrupted"]),
            ),
            Parameter::new("pinned", "Only those that are pinned, or only those that are not.", Shape::OneOf(&["true", "false"])),
            Parameter::new(
                "archived",
                "Which of those that are archived; without it none.",
                Shape::OneOf(&["no", "only", "all"]),
            ),
            Parameter::new("tag", "Only those with this tag.", Shape::Text),
        ])
        .answers(json!("A page of the list.", "ConversationList"))
        .fails(READING),
    Operation::new("GET", "/v1/events", "across", "The events of several conversations, live")
        .query(&[
            Parameter::new("conversation", "A conversation; once for each.", Shape::Texts).needed(),
            Parameter::new("after", "Positions between commas, one for each conversation; `-` is none.", Shape::Text),
            LEVEL,
            KINDS,
            ROOT,
            DEPTH,
        ])
        .headers(&[LAST_EVENT_ID])
        .answers(&[Answer::new(200, "A stream without an end.", &[LIVE])])
        .fails(&[BadPosition, Elsewhere, LogFailed, ShuttingDown, TooMany]),
    Operation::new("GET", "/v1/search", "across", "Searches complete texts")
        .query(&[
            Parameter::new("q", "Words that all occur; \"in quotes\" adjacent ones, wor* beginnings.", Shape::Pattern("[0-9A-Za-z]"))
                .needed(),
            Parameter::new("conversation", "Only in this conversation.", Shape::Name),
            Parameter::new(
                "kind",
                "Only texts of this kind.",
                Shape::OneOf(&["text", "thinking", "arguments", "result", "message"]),
            ),
            Parameter::new("since", "Only texts of this time or later, in milliseconds since 1970.", Shape::Whole(0, None)),
            Parameter::new("until", "Only texts before this time, which is after `since`.", Shape::Whole(0, None)),
            Parameter::new(
                "tool",
                "Only arguments and results of tools whose name contains it; the case of ASCII letters does not count.",
                Shape::Pattern("^.{1,1024}$"),
            ),
            Parameter::new(
                "agent",
                "Only in conversations whose main agent has a name that contains it, likewise.",
                Shape::Pattern("^.{1,1024}$"),
            ),
            Parameter::new(
                "state",
                "Only in conversations whose newest run is in this state.",
                Shape::OneOf(&["running", "complete", "error", "cancelled", "interrupted"]),
            ),
            Parameter::new(
                "archived",
                "Which of the conversations that are archived; without it all.",
                Shape::OneOf(&["no", "only", "all"]),
            ),
            Parameter::new("tag", "Only in conversations with this tag.", Shape::Pattern("^.{1,1024}$")),
            Parameter::new("before", "What the page before gave as `next`.", Shape::Whole(0, None)),
            LIMIT,
        ])
        .answers(json!("What was found, the newest first.", "Found"))
        .fails(READING),
    Operation::new("GET", "/v1/tools", "across", "How often each tool was called, and how long it took")
        .answers(json!("The tools by name.", "Tools"))
        .fails(READING),
    Operation::new("GET", "/v1/series", "across", "Sums over time")
        .query(&[
            Parameter::new("metric", "Names of metrics between commas; docs/protocol.md lists them.", Shape::Pattern("^[a-z0-9_]+(,[a-z0-9_]+)*$"))
                .needed(),
            FROM,
            TO,
            Parameter::new("step", "How long a step is: a number of hours or days.", Shape::Pattern("^[1-9][0-9]{0,5}[hd]$")),
            Parameter::new("by", "Groups between commas: agent, model, tool, reason.", Shape::Pattern("^((agent|model|tool|reason),?)*$")),
        ])
        .answers(json!("A line of numbers for each metric and group.", "Series"))
        .fails(READING),
    Operation::new("GET", "/v1/usage", "across", "What was used, as a table")
        .query(&[
            Parameter::new("by", "Groups between commas: agent, model, tool, day; agent without it.", Shape::Pattern("^((agent|model|tool|day),?)*$")),
            FROM,
            TO,
            Parameter::new("format", "The same as with `Accept`.", Shape::OneOf(&["json", "csv"])),
        ])
        .answers(&[Answer::new(
            200,
            "The table.",
            &[Content::json("UsageTable"), Content::new("text/csv", r#"{"type":"string"}"#)],
        )])
        .fails(READING),
    Operation::new("GET", "/v1/ws", "conversations", "Makes the connection a WebSocket")
        .about("Subprotocol fanlight.v1; the frames are in schema/client-frame.json and schema/server-frame.json.")
        .answers(&[Answer::new(101, "The connection is a WebSocket now.", &[])])
        .fails(&[ErrorCode::LogUnavailable, ShuttingDown, TooMany, ErrorCode::Unauthenticated]),
    Operation::new("POST", "/v1/traces", "conversations", "Takes spans of OpenTelemetry")
        .headers(&[DURABILITY])
        .takes(&[
            Content::json("OtlpTraces"),
            Content::new("application/x-protobuf", r#"{"type":"string","format":"binary"}"#),
        ])
        .answers(&[Answer::new(
            200,
            "An ExportTraceServiceResponse, which counts the spans that were refused.",
            &[Content::json(r#"{"type":"object"}"#), Content::new("application/x-protobuf", "")],
        )])
        .fails(&[BodyTimeout, DiskFailing, DiskFull, DurabilityUnavailable, LogFailed, ShuttingDown, TooLarge, UnsupportedEncoding]),
    Operation::new("POST", "/v1/shares", "sharing", "Makes a link to one conversation")
        .about("A frozen link shows the conversation, or one turn of it, as it is at this moment; a live one as it goes on, a turn until its runs end.")
        .takes(&[Content::json("ShareRequest")])
        .answers(&[Answer::new(201, "The link; its secret is told here alone.", &[Content::json("ShareMade")])])
        .fails(&[BodyTimeout, Elsewhere, LogFailed, NotFound, TooLarge, TooMany, UnknownConversation]),
    Operation::new("GET", "/v1/shares", "sharing", "The links that the caller may revoke, or those to one conversation")
        .query(&[Parameter::new("conversation", "All links to this one, which the caller must be able to see.", Shape::Text)])
        .answers(json!("The links without their secrets.", "Shares")),
    Operation::new("DELETE", "/v1/shares/{id}", "sharing", "Revokes a link")
        .about("Whoever came by it is cut off.")
        .answers(&[Answer::new(204, "It is gone.", &[])])
        .fails(&[NotFound, TooMany]),
];

/// Operations on one conversation.
pub(super) const WHOLE: &[Operation] = &[
    Operation::new("GET", "/v1/conversations/{conversation}", "conversations", "The state of a conversation")
        .query(&[
            Parameter::new("summary", "With it, whatever its value, the short form.", Shape::Text),
            Parameter::new(
                "newest",
                "Of a long conversation the newest part alone, of at most so many bytes; 0 is all of it.",
                Shape::Whole(0, None),
            ),
        ])
        .headers(&[IF_NONE_MATCH])
        .answers(&[
            Answer::new(200, "The state; its position is the ETag.", &[Content::json("ViewOrSummary")]),
            UNCHANGED,
        ])
        .fails(&[Gone, TooMany, UnknownConversation]),
    Operation::new("GET", "/v1/conversations/{conversation}/events", "conversations", "The events of a conversation")
        .about("Live, or with `Accept: application/x-ndjson` a page of the log, with its position in Fanlight-Position.")
        .query(&[AFTER, LIMIT, LEVEL, KINDS, ROOT, DEPTH])
        .headers(&[LAST_EVENT_ID])
        .answers(&[Answer::new(
            200,
            "The events.",
            &[LIVE, Content::new("application/x-ndjson", "EventLines")],
        )])
        .fails(&[BadPosition, Gone, ShuttingDown, TooMany, UnknownConversation]),
    Operation::new("POST", "/v1/conversations/{conversation}/events", "conversations", "Publishes events, all or none")
        .headers(&[DURABILITY, PUBLISHER])
        .takes(&[
            Content::json(r##"{"type":"array","maxItems":10000,"items":{"$ref":"#/components/schemas/Event"}}"##),
            Content::new("application/x-ndjson", "EventLines"),
        ])
        .answers(json!("They were taken, now or before.", "Taken"))
        .fails(PUBLISHING),
    Operation::new("PUT", "/v1/conversations/{conversation}/events", "conversations", "Imports a conversation")
        .about("The body is what an export in the format `native` has written.")
        .headers(&[DURABILITY])
        .takes(&[Content::new("application/x-ndjson", "EventLines")])
        .answers(json!("It is there, and stored.", "Taken"))
        .fails(&[
            BadEvent,
            BodyTimeout,
            ConversationExists,
            DiskFailing,
            DiskFull,
            DurabilityUnavailable,
            Gone,
            ShuttingDown,
            TooLarge,
            TooMany,
            UnsupportedEncoding,
        ]),
    Operation::new("DELETE", "/v1/conversations/{conversation}", "conversations", "Deletes a conversation with everything that belongs to it")
        .about("The answer comes when nothing of it is left where the log stores. Whoever uses the name afterwards begins a new conversation.")
        .query(&[Parameter::new(
            "force",
            "`true` to delete it although runs go on: those of the hub's agents are stopped first.",
            Shape::OneOf(&["true", "false"]),
        )])
        .answers(&[Answer::new(204, "It is gone.", &[])])
        .fails(&[LogFailed, StillRunning, TooMany, UnknownConversation]),
    Operation::new("POST", "/v1/conversations/{conversation}/move", "conversations", "Has another hub of the log go on with a conversation")
        .about("Publishers, viewers and commands go on. It stays while a request that writes to it is open, or a run of the hub's own agents goes on in it.")
        .query(&[Parameter::new("to", "The URL of the other hub, as its hub_address says it.", Shape::Text)])
        .answers(json!("Which hub has it now.", "Moved"))
        .fails(&[Elsewhere, LogFailed, StillRunning, TooMany, UnknownConversation]),
    Operation::new("GET", "/v1/conversations/{conversation}/export/{format}", "conversations", "A conversation as a file")
        .query(&[
            Parameter::new("message", "Only the turn that begins with this message.", Shape::Text),
            Parameter::new("run", "Only this run.", Shape::Text),
            Parameter::new("steps", "How md and html show steps.", Shape::OneOf(&["each", "one-block"])),
            Parameter::new("form", "Where Open WebUI finds results.", Shape::OneOf(&["attributes", "body"])),
            Parameter::new(
                "unfinished",
                "What openai and anthropic do with calls without a result.",
                Shape::OneOf(&["leave-out", "answer"]),
            ),
        ])
        .headers(&[IF_NONE_MATCH])
        .answers(&[
            Answer::new(
                200,
                "The file; its position is the ETag.",
                &[
                    Content::json(""),
                    Content::new("application/x-ndjson", "EventLines"),
                    Content::new("text/markdown", r#"{"type":"string"}"#),
                    Content::new("text/html", r#"{"type":"string"}"#),
                    Content::new("text/event-stream", r#"{"type":"string"}"#),
                    Content::new("text/plain", r#"{"type":"string"}"#),
                ],
            ),
            UNCHANGED,
        ])
        .fails(&[Gone, NotFound, ShuttingDown, TooMany, UnknownConversation, UnknownDialect]),
    Operation::new("GET", "/v1/conversations/{conversation}/results/{hash}", "conversations", "A result that was too large for its event")
        .headers(&[IF_NONE_MATCH])
        .answers(&[Answer::new(200, "The result.", &[Content::json("")]), UNCHANGED])
        .fails(&[Gone, TooMany, UnknownConversation]),
    Operation::new("GET", "/v1/conversations/{conversation}/wait", "conversations", "Waits until something happens")
        .query(&[
            Parameter::new("until", "`run.end`, or another condition of `fanlight tail --until`.", Shape::Text),
            Parameter::new("run", "The run that it is about; the newest without it.", Shape::Text),
            Parameter::new("timeout_ms", "How long at most; a minute is the longest.", Shape::Whole(0, None)),
        ])
        .answers(json!("It happened, or the time is up.", "Waited"))
        .fails(&[ShuttingDown, TooMany]),
    Operation::new("POST", "/v1/conversations/{conversation}/commands", "conversations", "Commands an agent of the hub")
        .takes(&[Content::json("NamedCommand")])
        .answers(json!("It was carried out.", "Done"))
        .fails(&[
            AgentUnavailable,
            BodyTimeout,
            ConsentMismatch,
            ConversationExists,
            Gone,
            NotResumable,
            NotRunning,
            ShuttingDown,
            TooLarge,
            TooMany,
            UnknownAgent,
            UnknownConversation,
            UnsupportedEncoding,
        ]),
    Operation::new("GET", "/v1/conversations/{conversation}/stream/{dialect}", "conversations", "A conversation in another format, live")
        .query(&[RUN, UNTIL, MODES])
        .answers(&[STREAMED])
        .fails(STREAMING),
    Operation::new("POST", "/v1/conversations/{conversation}/stream/{dialect}", "conversations", "The same for clients that can only post")
        .about("The newest run up to its end, unless the query says otherwise.")
        .query(&[RUN, UNTIL, MODES])
        .takes(&[Content::json("").optional()])
        .answers(&[STREAMED])
        .fails(STREAMING),
    Operation::new("GET", "/v1/conversations/{conversation}/stream/{dialect}/{*rest}", "conversations", "The same below a client's base URL")
        .query(&[RUN, UNTIL, MODES])
        .answers(&[STREAMED])
        .fails(STREAMING),
    Operation::new("POST", "/v1/conversations/{conversation}/stream/{dialect}/{*rest}", "conversations", "The same below a client's base URL, for clients that can only post")
        .query(&[RUN, UNTIL, MODES])
        .takes(&[Content::json("").optional()])
        .answers(&[STREAMED])
        .fails(STREAMING),
    Operation::new("POST", "/v1/ingest/{dialect}/{conversation}", "conversations", "Publishes a stream in a foreign dialect")
        .about("Events are published while the body arrives; one that breaks off leaves what came.")
        .query(&[Parameter::new("text_calls", "With it calls that models write as text are read.", Shape::Text)])
        .headers(&[
            DURABILITY,
            Parameter::new("Fanlight-Run", "The run that this body continues.", Shape::Text),
        ])
        .takes(&[
            Content::new("text/event-stream", r#"{"type":"string"}"#),
            Content::new("application/x-ndjson", r#"{"type":"string"}"#),
            Content::json(""),
            Content::new("text/plain", r#"{"type":"string"}"#),
        ])
        .answers(json!("The body has ended.", "Ingested"))
        .fails(&[
            BadEvent,
            BodyTimeout,
            DiskFailing,
            DiskFull,
            DurabilityUnavailable,
            MethodNotAllowed,
            PublishNotGranted,
            PublisherGap,
            RunOfHub,
            ShuttingDown,
            TooLarge,
            TooMany,
            UnknownDialect,
            UnsupportedEncoding,
        ]),
];
