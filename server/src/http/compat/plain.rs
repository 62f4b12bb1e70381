//! Deep Agent and Ralph: one path each, messages with a role and a text, and nothing but a stream. Ralph's clients name
//! their user and their chat.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use compact_str::{CompactString, format_compact};
use serde_json::Value;
use shared::code::ErrorCode;

use super::answer::{Wish, answer};
use super::{Asked, Thread, behind, caller, history, object, of_header, of_thread, read};
use crate::agents::commands::Refusal;
use crate::http::problem::Problem;
use crate::state::Shared;

/// `POST /compat/deep-agent/chat/stream`.
pub(super) async fn deep_agent(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    Ok(answer(&shared, wish(&shared, &headers, request, "deep-agent").await?).await?)
}

/// `POST /compat/ralph/chat/stream`.
pub(super) async fn ralph(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    Ok(answer(&shared, wish(&shared, &headers, request, "ralph").await?).await?)
}

async fn wish(
    shared: &Shared,
    headers: &HeaderMap,
    request: Request,
    dialect: &'static str,
) -> Result<Wish, Refusal> {
    let fields = object(&read(headers, request).await?)?;
    let agent = behind(shared, dialect, fields.get("model").and_then(Value::as_str))?;
    let mut left_out = Vec::new();
    let messages = history(fields.get("messages"), &mut left_out)?;
    let chat = if dialect == "ralph" { Some(chat(&fields)?) } else { None };
    let thread = match (of_header(headers)?, chat) {
        (Some(id), _) => Thread::Named(id),
        (None, Some(chat)) => Thread::Named(of_thread(&chat)),
        (None, None) => Thread::Told(caller(headers)),
    };
    if fields.get("stream") == Some(&Value::Bool(false)) {
        left_out.push(String::from("stream: false"));
    }
    Ok(Wish { left_out, ..Wish::new(Asked::new(agent, thread, messages), dialect) })
}

/// The name of a chat of one user.
fn chat(fields: &Value) -> Result<CompactString, Refusal> {
    let field = |name: &str| {
        let text = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.ok_or_else(|| Refusal::new(ErrorCode::BadRequest, format!("{name}: a text is expected")))
    };
    Ok(format_compact!("{}-{}", field("user_id")?, field("chat_id")?))
}
