//! LangGraph's platform, below each of its prefixes. Bodies are those of its SDKs; only the fields that the hub reads are described.

use model::code::ErrorCode::{
    self, AgentUnavailable, ConsentMismatch, ConversationExists, Elsewhere, Gone, LogFailed, NotFound,
    NotResumable, NotRunning, RunOfHub, ShuttingDown, TooLarge, TooMany, UnknownAgent, UnknownConversation,
};

use super::operation::{Answer, Content, FailureForm, Operation, Parameter, Shape};
use super::parameters::{LAST_EVENT_ID, MODES};

/// What reading may fail with.
const READING: &[ErrorCode] =
    &[Elsewhere, Gone, LogFailed, NotFound, TooLarge, TooMany, UnknownAgent, UnknownConversation];

/// What beginning a run, or changing a thread, may fail with.
const CHANGING: &[ErrorCode] = &[
    AgentUnavailable,
    ConsentMismatch,
    ConversationExists,
    Elsewhere,
    Gone,
    LogFailed,
    NotFound,
    NotResumable,
    NotRunning,
    RunOfHub,
    ShuttingDown,
    TooLarge,
    TooMany,
    UnknownAgent,
    UnknownConversation,
];

/// An object of the platform.
const OBJECT: Answer = Answer::new(200, "As the platform answers.", &[Content::json(r#"{"type":"object"}"#)]);

/// A list of them.
const LIST: Answer = Answer::new(
    200,
    "As the platform answers.",
    &[Content::json(r#"{"type":"array","items":{"type":"object"}}"#)],
);

/// The answer with a number.
const COUNT: Answer = Answer::new(200, "How many.", &[Content::json(r#"{"type":"integer","minimum":0}"#)]);

/// The answer with a run, as a stream.
const STREAM: Answer =
    Answer::new(200, "The run, as it goes on.", &[Content::new("text/event-stream", r#"{"type":"string"}"#)]);

/// The answer without a body.
const NONE: Answer = Answer::new(204, "It was done.", &[]);

/// A body with any object, which may be left out.
const SOMETHING: &[Content] = &[Content::json(r#"{"type":"object"}"#).optional()];

/// The body with a checkpoint.
const AT: &[Content] = &[Content::json("PlatformCheckpoint")];

/// The body that asks for a run.
const WANTED: &[Content] = &[Content::json("PlatformRun")];

const fn read(path: &'static str, summary: &'static str, answers: &'static [Answer]) -> Operation {
    Operation::new("GET", path, "clients", summary)
        .answers(answers)
        .fails(READING)
        .form(FailureForm::Platform)
}

const fn change(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    body: &'static [Content],
    answers: &'static [Answer],
) -> Operation {
    Operation::new(method, path, "clients", summary)
        .takes(body)
        .answers(answers)
        .fails(CHANGING)
        .form(FailureForm::Platform)
}

/// The parameter that limits the number of results.
const LIMIT: Parameter = Parameter::new("limit", "How many at most.", Shape::Whole(0, None));

/// All of them, below a prefix.
pub(super) const OPERATIONS: &[Operation] = &[
    read("/ok", "Whether the hub is there", &[OBJECT]),
    read("/info", "Which parts of the platform are served", &[OBJECT]),
    change("POST", "/assistants", "Refused, unless the existing assistant will do", SOMETHING, &[OBJECT]),
    change("POST", "/assistants/search", "Finds assistants", SOMETHING, &[LIST]),
    change("POST", "/assistants/count", "Counts assistants", SOMETHING, &[COUNT]),
    read("/assistants/{assistant}", "One assistant", &[OBJECT]),
    read("/assistants/{assistant}/graph", "Its graph: a model and tools", &[OBJECT]),
    read("/assistants/{assistant}/schemas", "Its state: messages", &[OBJECT]),
    read("/assistants/{assistant}/subgraphs", "None", &[OBJECT]),
    change("POST", "/assistants/{assistant}/versions", "The only version", SOMETHING, &[LIST]),
    change("POST", "/threads", "Makes a thread with metadata", SOMETHING, &[OBJECT]),
    change("POST", "/threads/search", "Finds threads", SOMETHING, &[LIST]),
    change("POST", "/threads/count", "Counts threads", SOMETHING, &[COUNT]),
    read("/threads/{thread}", "One thread", &[OBJECT]),
    change("PATCH", "/threads/{thread}", "Adds metadata", SOMETHING, &[OBJECT]),
    change("DELETE", "/threads/{thread}", "Forgets a thread in which nothing was said", &[], &[NONE]),
    change("POST", "/threads/{thread}/copy", "Forks a thread", SOMETHING, &[OBJECT]),
    read("/threads/{thread}/state", "The newest state", &[OBJECT]),
    change("POST", "/threads/{thread}/state", "Adds messages to the state", SOMETHING, &[OBJECT]),
    change("PATCH", "/threads/{thread}/state", "Adds metadata", SOMETHING, &[OBJECT]),
    change("PUT", "/threads/{thread}/state", "The same as POST", SOMETHING, &[OBJECT]),
    change("POST", "/threads/{thread}/state/checkpoint", "The state at a checkpoint", AT, &[OBJECT]),
    read("/threads/{thread}/state/{checkpoint}", "The state at a checkpoint", &[OBJECT]),
    read("/threads/{thread}/history", "All states, the newest first", &[LIST])
        .query(&[LIMIT, Parameter::new("before", "Only states before this checkpoint.", Shape::Text)]),
    change("POST", "/threads/{thread}/history", "All states, the newest first", SOMETHING, &[LIST]),
    read("/threads/{thread}/runs", "The runs of a thread", &[LIST]).query(&[
        LIMIT,
        Parameter::new("offset", "How many to leave out.", Shape::Whole(0, None)),
        Parameter::new("status", "Only runs of this status.", Shape::Text),
    ]),
    change("POST", "/threads/{thread}/runs", "Begins a run", WANTED, &[OBJECT]),
    change("POST", "/threads/{thread}/runs/stream", "Begins a run and streams it", WANTED, &[STREAM]),
    change("POST", "/threads/{thread}/runs/wait", "Begins a run and waits for its end", WANTED, &[OBJECT]),
    read("/threads/{thread}/runs/{run}", "One run", &[OBJECT]),
    change("DELETE", "/threads/{thread}/runs/{run}", "Refused: the log keeps runs", &[], &[NONE]),
    change(
        "POST",
        "/threads/{thread}/runs/{run}/cancel",
        "Stops a run",
        SOMETHING,
        &[
            Answer::new(202, "It is being stopped.", &[Content::json(r#"{"type":"object"}"#)]),
            Answer::new(204, "It has stopped.", &[]),
        ],
    )
    .query(&[Parameter::new("wait", "`1` or `true`: answer when it has stopped.", Shape::Text)]),
    read("/threads/{thread}/runs/{run}/join", "Waits for the end of a run", &[OBJECT]),
    read("/threads/{thread}/runs/{run}/wait", "Waits for the end of a run", &[OBJECT]),
    read("/threads/{thread}/runs/{run}/stream", "Streams a run that began before", &[STREAM])
        .query(&[MODES])
        .headers(&[LAST_EVENT_ID]),
    read("/threads/{thread}/stream", "Streams the newest run of a thread", &[STREAM])
        .query(&[MODES])
        .headers(&[LAST_EVENT_ID]),
    change("POST", "/runs", "Begins a run in a thread of its own", WANTED, &[OBJECT]),
    change("POST", "/runs/stream", "Begins a run in a thread of its own and streams it", WANTED, &[STREAM]),
    change(
        "POST",
        "/runs/wait",
        "Begins a run in a thread of its own and waits for its end",
        WANTED,
        &[OBJECT],
    ),
];
