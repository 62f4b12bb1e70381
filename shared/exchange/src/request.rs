//! What a request says, the same form for all APIs.

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
    /// The API.
    pub api: ModelApi,
    /// The model that is asked.
    pub model: Option<CompactString>,
    /// Whether the answer is to come as a stream.
    pub streaming: bool,
    /// The system prompt, where it stands apart from the messages or at their beginning.
    pub system: Option<String>,
    /// The tools that the model may call.
    pub tools: Vec<OfferedTool>,
    /// The one tool that the model must call, where the request names it: the call is then mostly the answer itself.
    pub forced: Option<CompactString>,
    /// The model must call a tool, whichever: an answer in words alone is not allowed.
    pub required: bool,
    /// What was said so far, in order.
    pub messages: Vec<RequestMessage>,
    /// The answer that this continues (`previous_response_id`).
    pub previous: Option<CompactString>,
    /// The id of the session or thread, where the vendor has a place for one and it names one session only.
    pub session: Option<CompactString>,
    /// The messages are only what is new in the session, which the server keeps.
    pub continues: bool,
    /// Whoever uses the application (`user`, `safety_identifier`). Joins nothing.
    pub user: Option<CompactString>,
    /// The print of the body: what is sent again is the same to the byte.
    pub print: u64,
    /// Whether the body could be read; else there is nothing but what the path says.
    pub is_read: bool,
    /// What was odd.
    pub anomalies: Vec<Anomaly>,
}

/// One message of the history that a request carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestMessage {
    /// Who.
    pub role: RequestRole,
    /// What, in order.
    pub pieces: Vec<MessagePiece>,
}

/// Whose message it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestRole {
    /// The one who asks.
    User,
    /// The model.
    Assistant,
    /// The instructions, in the middle of the messages.
    System,
    /// What carries out calls.
    Tool,
    /// Somebody that only the API knows.
    Other(CompactString),
}

impl RequestRole {
    /// The word for it.
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
    /// Text.
    Text(String),
    /// A file or an image, of which only this is kept.
    File(OmittedFile),
    /// The assistant called a tool.
    Call {
        /// The vendor's id of the call; empty where it has none.
        id: CompactString,
        /// The tool.
        name: CompactString,
        /// The arguments as text, JSON in most cases.
        arguments: String,
    },
    /// What a call gave back.
    Result {
        /// The vendor's id of the call; empty where it has none.
        id: CompactString,
        /// The tool, where the API says it.
        name: CompactString,
        /// What it gave back.
        output: Json,
        /// Whether it failed, where the API says so.
        is_error: bool,
    },
    /// A person's answer to a call that asked for consent.
    Consent {
        /// The vendor's id of what asked.
        id: CompactString,
        /// Whether the call may go on.
        approved: bool,
        /// Why, in the person's words.
        text: Option<String>,
    },
}

/// A file that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OmittedFile {
    /// What it is: `image`, `file`, `audio`, `video`.
    pub kind: CompactString,
    /// Its name, media type or address, whichever there is.
    pub name: CompactString,
    /// Its size in bytes as it stands in the request; 0 for one that is elsewhere.
    pub bytes: u64,
    /// The print of it, as it stands in the request.
    pub print: u64,
}

impl OmittedFile {
    /// How it is written into a text: `[image: image/png, 1204 bytes]`.
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
    /// Its name; for those of the provider their kind.
    pub name: CompactString,
    /// What it does; its beginning when that is long.
    pub description: Option<String>,
    /// The JSON schema of its arguments; nothing where there is none or it is over the limit.
    pub schema: Option<Json>,
}

impl ModelRequest {
    /// What `body`, sent to `path`, says. Never fails: what cannot be read is an anomaly.
    pub fn read(api: ModelApi, path: &str, body: &[u8]) -> Self {
        let mut request = Self::blank(api, path, body);
        read::read(body, &mut request);
        request
    }

    /// A request whose body was not read: over the limit, or of a kind that nobody can read. `why` goes into the
    /// anomaly.
    pub fn unread(api: ModelApi, path: &str, why: &str) -> Self {
        let mut request = Self::blank(api, path, &[]);
        request.note(AnomalyCode::TooLarge, format!("the request could not be read: {why}"));
        request
    }

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

    /// Notes that something was odd; bounded.
    pub(super) fn note(&mut self, code: AnomalyCode, detail: String) {
        if self.anomalies.len() < model::limits::ANOMALIES_KEPT_MAX {
            self.anomalies.push(Anomaly { code, detail });
        }
    }
}
