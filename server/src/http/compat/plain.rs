//! Deep Agent and Ralph: one path each, messages with a role and a text, and nothing but a stream. Ralph's clients name
//! their user and their chat.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use compact_str::{CompactString, format_compact};
use serde_json::Value;
use shared::code::ErrorCode;

use super::answer::{Manner, stream_of, with_left_out};
use super::{Asked, Thread, begin, behind, caller, history, object, of_header, of_thread, read};
use crate::agents::commands::Refusal;
use crate::http::problem::Problem;
use crate::state::Shared;

/// `POST /compat/deep-agent/chat/stream`.
pub(super) async fn deep_agent(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    Ok(answer(&shared, &headers, request, "deep-agent").await?)
}

/// `POST /compat/ralph/chat/stream`.
pub(super) async fn ralph(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    Ok(answer(&shared, &headers, request, "ralph").await?)
}

async fn answer(
    shared: &Arc<Shared>,
    headers: &HeaderMap,
    request: Request,
    dialect: &str,
) -> Result<Response, Refusal> {
    let fields = object(&read(headers, request).await?)?;
    let agent = behind(shared, dialect, fields.get("model").and_then(Value::as_str))?;
    let mut left_out = Vec::new();
    let messages = history(fields.get("messages"), &mut left_out)?;
    let chat = if dialect == "ralph" { Some(chat(&fields)?) } else { None };
    let thread = match (of_header(headers)?, chat) {
        (Some(id), _) => Thread::Named(id),
        (None, Some(chat)) => Thread::Named(of_thread(&chat)),
        (None, None) => Thread::Told(caller(shared, headers)),
    };
    let asked = Asked { agent, thread, messages, results: Vec::new(), tools: Vec::new(), run: None };
    let begun = begin(shared, asked).await?;
    let mut response = with_left_out(stream_of(begun, dialect, Manner::default()), &left_out);
    if fields.get("stream") == Some(&Value::Bool(false)) {
        response = with_left_out(response, &[String::from("stream: false")]);
    }
    Ok(response.into_response())
}

/// The name of a chat of one user.
fn chat(fields: &Value) -> Result<CompactString, Refusal> {
    let field = |name: &str| {
        let text = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.ok_or_else(|| Refusal::new(ErrorCode::BadRequest, format!("{name}: a text is expected")))
    };
    Ok(format_compact!("{}-{}", field("user_id")?, field("chat_id")?))
}
