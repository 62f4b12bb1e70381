//! `POST /v1/conversations/{c}/commands`: carries out a person's command. `GET /v1/agents`: the agents that
//! can be asked.

use std::sync::Arc;

use access::frames;
use axum::Json;
use axum::extract::{Request, State};
use model::code::ErrorCode;
use model::command::{Command, CommandAction, Done};
use model::limits::{COMMAND_BYTES_MAX, COMMAND_WITH_FILES_BYTES_MAX};
use serde::Serialize;

use super::body;
use crate::commands;
use crate::commands::CommandExecutor;
use crate::inbound::caller::Caller;
use crate::inbound::params::{self, Path};
use crate::inbound::problem::Problem;
use ::agents::Agents;
use agents::Refusal;
use agents::{AgentRow, StartError};

/// `POST /v1/conversations/{c}/commands`: carries out a command of at most `COMMAND_BYTES_MAX` bytes without the contents of its files, and
/// returns its answer. 400 `bad_request` for a body that is no command, 403 if the caller may not do that
/// there, otherwise the code with which the command is refused, such as `not_running` (409) or
/// `unknown_agent` (404). A repeated command with the same id gets the same answer and is not carried out
/// again.
pub(crate) async fn command(
    State(executor): State<Arc<CommandExecutor>>,
    Path(conversation): Path<String>,
    Caller(principal): Caller,
    request: Request,
) -> Result<Json<Done>, Problem> {
    let conversation = params::conversation(&conversation)?;
    let body = body::plain(request, COMMAND_WITH_FILES_BYTES_MAX).await?.join();
    let command = read(&body)?;
    frames::commanded(&principal, conversation.as_str(), &command.action)?;
    Ok(commands::carry_out(&executor, principal.name(), &conversation, command).await.map(Json)?)
}

/// Reads a command. Without the contents of its files it has at most `COMMAND_BYTES_MAX` bytes: `too_large` otherwise.
fn read(body: &[u8]) -> Result<Command, Problem> {
    let command: Result<Command, _> = serde_json::from_slice(body);
    let files = match command.as_ref().map(|command| &command.action) {
        Ok(CommandAction::Say { files, .. }) => {
            files.iter().filter_map(|file| file.data.as_ref()).map(String::len).sum()
        }
        _ => 0,
    };
    if body.len().saturating_sub(files) > COMMAND_BYTES_MAX {
        let detail = format!("the command has more than {COMMAND_BYTES_MAX} bytes without its files");
        return Err(Problem::new(ErrorCode::TooLarge, detail));
    }
    command.map_err(|error| Problem::bad_request(format!("the body is not a command: {error}")))
}

/// The answer to `GET /v1/agents`.
#[derive(Debug, Serialize)]
pub(crate) struct List {
    /// The agents of the settings.
    agents: Vec<AgentRow>,
}

/// `GET /v1/agents`: the agents that can be asked, with their kind, dialect and model.
pub(crate) async fn agents(State(agents): State<Arc<Agents>>) -> Json<List> {
    Json(List { agents: agents.rows() })
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code, refusal.why)
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        Refusal::from(error).into()
    }
}
