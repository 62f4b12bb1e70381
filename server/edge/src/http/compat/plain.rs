//! The doors of Deep Agent and Ralph: one path each, messages with a role and a text, and always a stream.
//! Ralph's clients name their user and their chat.
//!
//! ```json
//! {"model": "helper", "messages": [{"role": "user", "content": "What time is it?"}],
//!  "user_id": "u1", "chat_id": "c1"}
//! ```
//!
//! `user_id` and `chat_id` are Ralph's. Fields such as `temperature` are for the model (`sampling`). `stream: false` is named as ignored. Both kinds of clients send the
//! whole chat each time, so a changed first question begins the conversation anew.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use compact_str::{CompactString, format_compact};
use model::code::ErrorCode;
use model::print::Fingerprint;
use serde_json::Value;

use super::answer::{DoorRequest, answer};
use super::{
    Extent, Thread, TurnRequest, behind, caller, history, object, of_header, of_thread, read, sampling,
};
use crate::inbound::problem::Problem;
use crate::state::Shared;
use agents::Refusal;
use agents::Terms;

/// `POST /compat/deep-agent/chat/stream`: starts a run and streams it. The dialect has no words for failures:
/// the connection of a run that fails is cut. 400 `bad_request` if nothing is said.
pub(super) async fn deep_agent(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    Ok(answer(&shared, wish(&shared, &headers, request, "deep-agent").await?).await?)
}

/// `POST /compat/ralph/chat/stream`: starts a run and streams it. 400 `bad_request` without `user_id` or
/// `chat_id`, or if nothing is said.
pub(super) async fn ralph(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    Ok(answer(&shared, wish(&shared, &headers, request, "ralph").await?).await?)
}

/// Reads the request of either door; `dialect` is the door's name and that of its answers. The conversation
/// is that of the header, that of Ralph's user and chat, or the one whose history the request repeats.
async fn wish(
    shared: &Shared,
    headers: &HeaderMap,
    request: Request,
    dialect: &'static str,
) -> Result<DoorRequest, Refusal> {
    let fields = object(&read(headers, request).await?)?;
    let agent =
        behind((&shared.agents, &shared.config), dialect, fields.get("model").and_then(Value::as_str))?;
    let mut left_out = Vec::new();
    let messages = history(fields.get("messages"), &mut left_out)?;
    let chat = if dialect == "ralph" { Some(Chat::of(&fields)?) } else { None };
    let (thread, extent) = match (of_header(headers)?, &chat) {
        (Some(id), _) => (Thread::Named(id), Extent::Perhaps),
        (None, Some(chat)) => (Thread::Named(of_thread(&chat.name())), Extent::All),
        (None, None) => (Thread::Told(caller(dialect, headers, &fields)), Extent::All),
    };
    let (user, chat) = chat.map(|chat| (chat.user, chat.chat)).unzip();
    let terms = Terms { user, chat, sampling: sampling::given(Some(&fields))?, ..Terms::default() };
    if fields.get("stream") == Some(&Value::Bool(false)) {
        left_out.push(String::from("stream: false"));
    }
    let asked = TurnRequest { extent, terms, ..TurnRequest::new(dialect, agent, thread, messages) };
    Ok(DoorRequest { left_out, ..DoorRequest::new(asked, dialect) })
}

/// A chat of one user, as Ralph's clients name it. Agents elsewhere of the kind `ralph` are told both names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chat {
    /// The name of the user: `user_id`, never empty.
    user: CompactString,
    /// The name of the chat: `chat_id`, never empty.
    chat: CompactString,
}

impl Chat {
    /// Reads both names. Fails with `bad_request` if one is missing, empty or no text.
    fn of(fields: &Value) -> Result<Self, Refusal> {
        let field = |name: &str| {
            let text = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(CompactString::new)
                .ok_or_else(|| Refusal::new(ErrorCode::BadRequest, format!("{name}: a text is expected")))
        };
        Ok(Self { user: field("user_id")?, chat: field("chat_id")? })
    }

    /// The name of the chat's conversation. A user name with a `-` that is not a UUID could be read as another user with another chat; then a hash of
    /// both is appended.
    fn name(&self) -> CompactString {
        let Self { user, chat } = self;
        if !user.contains('-') || is_uuid(user) {
            return format_compact!("{user}-{chat}");
        }
        format_compact!("{user}-{chat}-{:016x}", Fingerprint::of(&[user, chat]))
    }
}

/// Whether `text` is a UUID as Open WebUI writes it: hexadecimal digits in groups of 8, 4, 4, 4 and 12.
fn is_uuid(text: &str) -> bool {
    let is_group = |(group, length): (&str, usize)| {
        group.len() == length && group.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    text.split('-').count() == 5 && text.split('-').zip([8, 4, 4, 4, 12]).all(is_group)
}
