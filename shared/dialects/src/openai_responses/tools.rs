//! The tools that items call: the name that each type of item gets, who executes it, where its arguments are
//! and what its result is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::wire::{OutputItem, ResponsesObject};
use crate::field::ForeignField;
use crate::writer::CallOutcome;
use model::json::Json;

/// How the ids of calls begin that one vendor's search executes itself, although they have the type of those
/// that the caller executes.
const SEARCH_ID_START: &str = "xs_";

/// The tool that an item calls, as far as its start says.
#[derive(Debug)]
pub(super) struct ResponsesTool<'a> {
    /// The name; for types with one tool it is the type without `_call`.
    pub(super) name: Cow<'a, str>,
    /// The id that its result will name.
    pub(super) id: Cow<'a, str>,
    /// The provider executes it, and the stream has the result.
    pub(super) server: bool,
}

impl<'a> ResponsesTool<'a> {
    /// The tool that an item of type `kind` calls; nothing when it is no call.
    pub(super) fn of(kind: &'a str, item: &OutputItem<'a>) -> Option<Self> {
        let own = item.id.words().unwrap_or_default();
        let shared = item.call_id.words();
        let stem = kind.strip_suffix("_call");
        let named = || item.name.word().unwrap_or_else(|| stem.unwrap_or(kind).into());
        let (name, id, server) = match kind {
            "function_call" | "custom_tool_call" => {
                let id = shared.unwrap_or(own);
                let server = id.starts_with(SEARCH_ID_START);
                (named(), id, server)
            }
            "mcp_call" | "mcp_approval_request" => (named(), own, true),
            "mcp_list_tools" => (kind.into(), own, true),
            "program" => (kind.into(), shared.unwrap_or(own), true),
            "shell_call" => {
                let place: ResponsesObject<'_> = item.environment.object();
                let is_hosted = place.kind.text().is_some_and(|kind| kind.starts_with("container"));
                ("shell".into(), shared.unwrap_or(own), is_hosted)
            }
            "tool_search_call" => {
                let is_hosted = item.execution.text().is_none_or(|place| place != "client");
                ("tool_search".into(), shared.unwrap_or(own), is_hosted)
            }
            "local_shell_call" | "apply_patch_call" | "computer_call" => {
                (stem.unwrap_or(kind).into(), shared.unwrap_or(own), false)
            }
            "web_search_call" | "file_search_call" | "code_interpreter_call" | "image_generation_call" => {
                (named(), own, true)
            }
            // What the caller has to execute has an id that its result can name.
            _ if stem.is_some() => match shared {
                Some(id) => (named(), id, false),
                None => (named(), own, true),
            },
            _ => return None,
        };
        Some(Self { name, id, server })
    }
}

/// The whole arguments of a call, as JSON or, for custom tools, any text; nothing if the item has none yet.
pub(super) fn arguments(kind: &str, item: &OutputItem<'_>) -> Option<String> {
    let found = match kind {
        "custom_tool_call" => return item.input.words().map(Cow::into_owned),
        "code_interpreter_call" | "program" => {
            return item.code.word().map(|code| format!("{CODE_START}{}{STRING_END}", escaped(&code)));
        }
        "apply_patch_call" => return item.operation.is_truthy().then(|| patch(item.operation)),
        "shell_call" => return item.action.is_truthy().then(|| commands(item.action)),
        "file_search_call" => object(&[("queries", item.queries)]),
        "mcp_list_tools" => object(&[("server_label", item.server_label)]),
        "image_generation_call" => object(&[
            ("prompt", item.revised_prompt),
            ("size", item.size),
            ("quality", item.quality),
            ("background", item.background),
            ("output_format", item.output_format),
        ]),
        _ => None,
    };
    let given = || {
        let fields = [item.arguments, item.input, item.action];
        fields.into_iter().find(|field| field.is_truthy()).and_then(ForeignField::words).map(Cow::into_owned)
    };
    found.or_else(given)
}

/// How the arguments of a call begin that are one streamed text: the code of an interpreter.
pub(super) const CODE_START: &str = "{\"code\":\"";

/// How the arguments begin of a call that runs commands.
pub(super) const COMMANDS_START: &str = "{\"commands\":[\"";

/// The JSON between two commands.
pub(super) const COMMANDS_BETWEEN: &str = "\",\"";

/// How arguments end that are one streamed text.
const STRING_END: &str = "\"}";

/// How the arguments of a patch begin, up to its text.
pub(super) fn patch_start(operation: ForeignField<'_>) -> String {
    let fields: BTreeMap<String, ForeignField<'_>> = operation.object();
    let text = |name: &str| escaped(&fields.get(name).and_then(|field| field.text()).unwrap_or_default());
    format!("{{\"type\":\"{}\",\"path\":\"{}\",\"diff\":\"", text("type"), text("path"))
}

/// The arguments of a patch, written so that they begin with what was streamed of them.
fn patch(operation: ForeignField<'_>) -> String {
    let fields: BTreeMap<String, ForeignField<'_>> = operation.object();
    match fields.get("diff").and_then(|diff| diff.text()) {
        Some(diff) if fields.len() == 3 => {
            format!("{}{}{STRING_END}", patch_start(operation), escaped(&diff))
        }
        _ => operation.as_json_text().to_owned(),
    }
}

/// The arguments of a shell call: its commands with what else is known of them, written so that they begin
/// with what was streamed.
fn commands(action: ForeignField<'_>) -> String {
    let fields: BTreeMap<String, ForeignField<'_>> = action.object();
    let Some(commands) = fields.get("commands").filter(|commands| commands.is_list()) else {
        return action.as_json_text().to_owned();
    };
    let commands: Vec<_> = commands.list().into_iter().filter_map(ForeignField::text).collect();
    let mut text = format!("{{\"commands\":{}", Json::of(&commands).as_str());
    for (name, field) in fields.iter().filter(|(name, field)| *name != "commands" && field.is_truthy()) {
        text.extend([",\"", &escaped(name), "\":", field.as_json_text()]);
    }
    text.push('}');
    text
}

/// `text` as it is between the quotes of a JSON string.
pub(super) fn escaped(text: &str) -> String {
    let quoted = Json::string(text);
    let inner = quoted.as_str().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or_default().to_owned()
}

/// A JSON object of those fields that are present; nothing if none is.
fn object(fields: &[(&str, ForeignField<'_>)]) -> Option<String> {
    let there: Vec<_> = fields
        .iter()
        .filter(|(_, field)| field.is_truthy())
        .map(|(name, field)| format!("\"{name}\":{}", field.as_json_text()))
        .collect();
    (!there.is_empty()).then(|| format!("{{{}}}", there.join(",")))
}

/// The outcome of a call that the provider has executed; nothing if another item has it, or if there is none
/// yet. Without an output the status is the output.
pub(super) fn outcome(kind: &str, item: &OutputItem<'_>) -> Option<CallOutcome> {
    if matches!(kind, "shell_call" | "tool_search_call" | "program" | "mcp_approval_request") {
        return None;
    }
    if item.error.is_truthy() {
        return Some(CallOutcome::error(item.error.json()));
    }
    let status = item.status.word().unwrap_or_else(|| "completed".into());
    let sources = item.action.object::<ResponsesObject<'_>>().sources;
    let image = kind == "image_generation_call";
    let given = [item.output, item.outputs, item.results, item.tools, sources];
    let given = given.into_iter().find(|field| field.is_some() && !image);
    let output = given.map_or_else(|| Json::string(&status), ForeignField::json);
    match &*status {
        "failed" => Some(CallOutcome::error(output)),
        // It was broken off.
        "incomplete" if given.is_none() => None,
        _ => Some(CallOutcome::of(output)),
    }
}

/// The outcome in an item that is the result of another one. It failed if its status or one of its commands
/// did.
pub(super) fn told_outcome(item: &OutputItem<'_>) -> CallOutcome {
    let given = [item.output, item.result, item.tools].into_iter().find(|field| field.is_some());
    let output = given.map_or_else(|| Json::of(&item.status.text()), ForeignField::json);
    let has_failed = item.status.text().is_some_and(|status| status == "failed")
        || item.output.list().into_iter().any(|command| command_failed(&command.object()));
    if has_failed { CallOutcome::error(output) } else { CallOutcome::of(output) }
}

/// Whether a command ended with another exit code than 0, or in another way than by exiting.
fn command_failed(command: &ResponsesObject<'_>) -> bool {
    let outcome: ResponsesObject<'_> = command.outcome.object();
    match outcome.kind.text().as_deref() {
        Some("exit") => outcome.exit_code.is_truthy(),
        Some(_) => true,
        None => false,
    }
}

/// The picture that a call drew, as a `data:` URL; nothing for other calls.
pub(super) fn picture(kind: &str, item: &OutputItem<'_>) -> Option<String> {
    let drawn = item.result.word().filter(|_| kind == "image_generation_call")?;
    let format = item.output_format.word().unwrap_or_else(|| "png".into());
    Some(format!("data:image/{format};base64,{drawn}"))
}
