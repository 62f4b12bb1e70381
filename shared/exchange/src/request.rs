//! A request to a model in one form for all APIs.

use std::hash::Hasher as _;

use compact_str::CompactString;

use super::api::ModelApi;
use super::read;
use model::anomaly::{Anomaly, AnomalyCode};
use model::json::Json;
use model::print::Fingerprint;

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "none depends on another")]
pub struct ModelRequest {
    /// The API that the request speaks.
    pub api: ModelApi,
    /// The model that is asked.
    pub model: Option<CompactString>,
    /// Whether the answer is requested as a stream.
    pub streaming: bool,
    /// The system prompt, if it is separate from the messages or at their beginning.
    pub system: Option<String>,
    /// The tools that the model may call.
    pub tools: Vec<OfferedTool>,
    /// The tool that the request forces the model to call. The call is mostly the answer itself then.
    pub forced: Option<CompactString>,
    /// The model must call some tool: an answer in words alone is not allowed.
    pub required: bool,
    /// The history: what was said so far, in order.
    pub messages: Vec<RequestMessage>,
    /// The id of the answer that the request continues (`previous_response_id`).
    pub previous: Option<CompactString>,
    /// The id of the session or thread, if the API has a field for it and the id names one session only.
    pub session: Option<CompactString>,
    /// The messages are only what is new in the session, which the server stores.
    pub continues: bool,
    /// The user of the application (`user`, `safety_identifier`). Calls are never joined by it.
    pub user: Option<CompactString>,
    /// The hash of the body: a request that is sent again has the same bytes.
    pub print: u64,
    /// Whether the body could be read. If not, only what the path says is known.
    pub is_read: bool,
    /// What was odd about the request.
    pub anomalies: Vec<Anomaly>,
}

/// One message of the history that a request carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestMessage {
    /// The role of the speaker.
    pub role: RequestRole,
    /// The parts of the message, in order.
    pub pieces: Vec<MessagePiece>,
}

/// The role of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestRole {
    /// The user of the agent.
    User,
    /// The model that answers.
    Assistant,
    /// Instructions among the messages.
    System,
    /// A tool: the message brings results of calls.
    Tool,
    /// A role that only the API knows, by its name there.
    Other(CompactString),
}

impl RequestRole {
    /// The name of the role in events.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Tool => "tool",
            Self::Other(name) => name,
        }
    }
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagePiece {
    /// Text of the message.
    Text(String),
    /// A file or an image, of which only a description is kept.
    File(OmittedFile),
    /// The assistant called a tool.
    Call {
        /// The vendor's id of the call; empty where it has none.
        id: CompactString,
        /// The name of the tool.
        name: CompactString,
        /// The arguments as text, JSON in most cases.
        arguments: String,
    },
    /// The result of a tool call.
    Result {
        /// The vendor's id of the call; empty where it has none.
        id: CompactString,
        /// The tool; empty where the API does not name it.
        name: CompactString,
        /// What the tool returned.
        output: Json,
        /// Whether the call failed, as far as the API says.
        is_error: bool,
    },
    /// A person's answer to a call that asked for consent.
    Consent {
        /// The vendor's id of the request for consent.
        id: CompactString,
        /// Whether the call may go on.
        approved: bool,
        /// The reason in the person's words.
        text: Option<String>,
    },
}

/// The description of a file whose content was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedFile {
    /// The kind of the file: `image`, `file`, `audio`, `video`.
    pub kind: CompactString,
    /// The name, media type or address of the file: the first of them that the request has.
    pub name: CompactString,
    /// The size in bytes; 0 for a file that is elsewhere.
    pub bytes: u64,
    /// A hash of the file as it is in the request.
    pub print: u64,
}

impl OmittedFile {
    /// The text that replaces the file: `[image: image/png, 1204 bytes]`.
    pub fn placeholder(&self) -> String {
        let Self { kind, name, bytes, .. } = self;
        match (name.is_empty(), bytes) {
            (true, 0) => format!("[{kind}]"),
            (true, _) => format!("[{kind}: {bytes} bytes]"),
            (false, 0) => format!("[{kind}: {name}]"),
            (false, _) => format!("[{kind}: {name}, {bytes} bytes]"),
        }
    }
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedTool {
    /// The name; for tools of the provider the kind.
    pub name: CompactString,
    /// What the tool does, cut if it is long.
    pub description: Option<String>,
    /// The JSON schema of the arguments; nothing if there is none or it is larger than the limit.
    pub schema: Option<Json>,
}

impl ModelRequest {
    /// Reads `body`, which was sent to `path`. Never fails: what cannot be read is an anomaly.
    pub fn read(api: ModelApi, path: &str, body: &[u8]) -> Self {
        let mut request = Self::blank(api, path, body);
        read::read(body, &mut request);
        request
    }

    /// A request whose body was not read, because it is larger than the limit or has an unknown encoding.
    /// `why` becomes part of the anomaly.
    pub fn unread(api: ModelApi, path: &str, why: &str) -> Self {
        let mut request = Self::blank(api, path, &[]);
        request.note(AnomalyCode::TooLarge, format!("the request could not be read: {why}"));
        request
    }

    /// A request of which only the path and the hash of the body are known.
    fn blank(api: ModelApi, path: &str, body: &[u8]) -> Self {
        let mut hasher = Fingerprint::default();
        hasher.write(body);
        Self {
            api,
            model: ModelApi::model_in(path).filter(|_| api != ModelApi::OpenAiChat),
            streaming: path.contains(":stream"),
            system: None,
            tools: Vec::new(),
            forced: None,
            required: false,
            messages: Vec::new(),
            previous: None,
            session: None,
            continues: false,
            user: None,
            print: hasher.finish(),
            is_read: false,
            anomalies: Vec::new(),
        }
    }

    /// Adds an anomaly, up to a limit.
    pub(super) fn note(&mut self, code: AnomalyCode, detail: String) {
        if self.anomalies.len() < model::limits::ANOMALIES_KEPT_MAX {
            self.anomalies.push(Anomaly { code, detail });
        }
    }
}
