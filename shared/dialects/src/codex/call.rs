//! Items that the agent executes: commands, changes of files, tools of MCP servers, searches, other agents.
//! Their results are in the item itself; output that grows is written while the call is executed.

use std::borrow::Cow;

use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::writer::{CallOutcome, EventWriter, WholeOutput};
use model::event::{Kind, ToolState};
use model::ids::AgentId;
use model::json::Json;

/// A call that is executed.
#[derive(Debug)]
pub(super) struct CodexCall {
    /// The id by which the writer knows it.
    id: String,
    /// The agent that calls; nothing for the main one.
    agent: Option<AgentId>,
    /// The arguments as they were written last.
    arguments: String,
    /// The output that was written so far.
    output: WholeOutput,
}

/// The name of the tool that an item of `kind` calls; nothing when the item is no call.
pub(super) fn name_of<'a>(kind: &'a str, fields: &ForeignFields<'a>) -> Option<Cow<'a, str>> {
    match kind {
        "command_execution" | "file_change" | "web_search" => Some(Cow::Borrowed(kind)),
        "mcp_tool_call" => Some(fields.get("tool").word().unwrap_or(Cow::Borrowed(kind))),
        _ if kind.starts_with("collab_") => Some(fields.get("tool").word().unwrap_or(Cow::Borrowed(kind))),
        _ => None,
    }
}

/// The arguments of a call, as JSON, from the fields of its item.
pub(super) fn arguments(kind: &str, fields: &ForeignFields<'_>) -> String {
    match kind {
        "mcp_tool_call" => {
            let arguments = fields.get("arguments");
            if arguments.is_some() { arguments.as_json_text().to_owned() } else { String::from("{}") }
        }
        "command_execution" => fields.pick(&["command"]),
        "file_change" => fields.pick(&["changes"]),
        "web_search" => fields.pick(&["query", "action"]),
        _ => fields.pick(&["prompt", "receiver_thread_ids"]),
    }
}

/// A line about a call: its id, the type of the item, and the fields.
pub(super) struct CallReport<'a, 'f> {
    pub(super) id: &'a str,
    pub(super) kind: &'a str,
    pub(super) fields: &'a ForeignFields<'f>,
}

impl CodexCall {
    /// Begins a call: it is written and executed at once.
    pub(super) fn start(
        telling: &CallReport<'_, '_>,
        name: &str,
        agent: Option<AgentId>,
        w: &mut EventWriter,
        out: &mut Decoded,
    ) -> Self {
        let arguments = arguments(telling.kind, telling.fields);
        let call = w.whole_call(telling.id, name, Some(&arguments), agent.as_ref(), out);
        let id = call.id().to_owned();
        if telling.kind == "mcp_tool_call"
            && let Some(server) = telling.fields.get("server").word()
        {
            w.push_by(agent.as_ref(), Kind::Status { text: format!("{name} of {server}") }, out);
        }
        w.state(&id, ToolState::Executing, agent.as_ref(), out);
        Self { id, agent, arguments, output: WholeOutput::default() }
    }

    /// The id by which the writer knows the call.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether some of its output was written while it was executed.
    pub(super) fn has_printed(&self) -> bool {
        !self.output.is_empty()
    }

    /// Takes what more is known of it: arguments and output.
    pub(super) fn update(&mut self, telling: &CallReport<'_, '_>, w: &mut EventWriter, out: &mut Decoded) {
        self.arguments(telling, w, out);
        if let Some(printed) = telling.fields.get("aggregated_output").word() {
            self.output.set(&self.id, &printed, self.agent.as_ref(), w, out);
        }
    }

    /// Writes the arguments again if they changed: searches say what they look for when they are done.
    pub(super) fn arguments(&mut self, telling: &CallReport<'_, '_>, w: &mut EventWriter, out: &mut Decoded) {
        let arguments = arguments(telling.kind, telling.fields);
        if arguments != self.arguments {
            self.arguments.clone_from(&arguments);
            let kind = Kind::ToolCall { tool: w.tool_id(&self.id), name: None, arguments: Some(arguments) };
            w.push_by(self.agent.as_ref(), kind, out);
        }
    }

    /// Writes the result. It is a failure by the status of the item, its error, or another exit code than 0.
    pub(super) fn complete(self, telling: &CallReport<'_, '_>, w: &mut EventWriter, out: &mut Decoded) {
        let fields = telling.fields;
        let status = fields.get("status").word().unwrap_or_default();
        let exit_code = fields.get("exit_code").words();
        let error = fields.get("error");
        let is_error = match &*status {
            "failed" | "declined" | "errored" => true,
            "completed" => error.is_truthy(),
            _ => error.is_truthy() || exit_code.as_deref().is_some_and(|code| code != "0"),
        };
        let output = match telling.kind {
            "command_execution" => {
                let printed = fields.get("aggregated_output").text().unwrap_or_default();
                if is_error && printed.is_empty() {
                    Json::string(
                        &exit_code.map_or_else(|| status.into_owned(), |code| format!("exit code {code}")),
                    )
                } else {
                    Json::string(&printed)
                }
            }
            "mcp_tool_call" => mcp_output(fields.get("result"), error),
            "web_search" => Json::string(""),
            _ if fields.get("agents_states").is_truthy() => fields.get("agents_states").json(),
            _ => Json::string(&status),
        };
        w.result(&self.id, CallOutcome { is_error, ..CallOutcome::of(output) }, self.agent.as_ref(), out);
    }
}

/// The output of a tool of an MCP server: its content, else the same as structure, else why it failed.
fn mcp_output(result: ForeignField<'_>, error: ForeignField<'_>) -> Json {
    if error.is_truthy() {
        let message = error.fields().get("message");
        return if message.is_some() { message.json() } else { error.json() };
    }
    let fields = result.fields();
    let (content, structured) = (fields.get("content"), fields.get("structured_content"));
    let known = [content, structured].into_iter().find(|field| field.is_truthy());
    known.unwrap_or(result).json()
}
