//! Requests that answer agents elsewhere that wait for a person, one kind of agent after the other. Pure.
//!
//! | kind | asked by | answered with |
//! |---|---|---|
//! | `agno` | calls that require confirmation or input | the same calls, with the answers in them, to `/runs/ID/continue` |
//! | `langgraph` | an interrupt's `value`: decisions about calls, the agent inbox, or anything | `command.resume` in the form of the question |
//! | `ag-ui` | an interrupt with `toolCallId`, `message` or `reason` | `resume`: for each interrupt `resolved` with a payload, or `cancelled` |
//!
//! All others never wait for a person.

use compact_str::CompactString;
use model::ToolCallId;
use serde_json::{Map, Value, json};

use super::super::pause::{Ask, Called, PauseState};
use super::{
    Occasion, RemoteKind, RemoteRequest, agno_path, form, json_body, langgraph_with, uuid_of, word, words,
};

/// One thing that an agent asks a person.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Asking {
    /// The agent's id of the call that it concerns, if it says one.
    given: Option<CompactString>,
    /// The name of the tool.
    pub(in super::super) name: Option<CompactString>,
    /// What a person is asked about: the arguments of the call, or the question itself.
    pub(in super::super) arguments: Value,
    /// The text for the person.
    pub(in super::super) text: Option<String>,
    /// Whether it is asked even if no known call fits it.
    pub(in super::super) is_question: bool,
}

impl Asking {
    /// Whether it concerns the call with this id and tool.
    pub(in super::super) fn is_about(&self, given: &str, name: &str) -> bool {
        match &self.given {
            Some(id) => id == given,
            None => self.name.as_deref() == Some(name),
        }
    }
}

/// What `interrupt` asks a person, in order.
pub(in super::super) fn requests(speaks: RemoteKind, interrupt: &Value) -> Vec<Asking> {
    match speaks {
        RemoteKind::Agno => executions(interrupt).into_iter().filter_map(agno_asks).collect(),
        RemoteKind::LangGraph => graph_asks(&interrupt["value"]),
        RemoteKind::AgUi => {
            let given = text(interrupt, "toolCallId").map(CompactString::from);
            let said = text(interrupt, "message").or_else(|| text(interrupt, "reason"));
            vec![Asking { given, arguments: interrupt.clone(), text: said, is_question: true, name: None }]
        }
        _ => Vec::new(),
    }
}

/// The request with which the agent goes on; `None` if its protocol has no form for the answers.
pub(in super::super) fn goes_on(of: &Occasion<'_>, standing: &PauseState) -> Option<RemoteRequest> {
    let asks = &standing.pause.asks;
    match of.config.speaks {
        RemoteKind::Agno => agno(of, standing),
        RemoteKind::LangGraph => {
            let command = json!({"resume": resumed(asks, standing)?});
            let thread = uuid_of(of.conversation.as_str());
            // The stream then begins with the state, which contains what was said before.
            Some(langgraph_with(of, &thread, ("command", command), &["values"]))
        }
        RemoteKind::AgUi => {
            let resume: Option<Vec<Value>> = asks.iter().map(|ask| ag_ui(ask, standing)).collect();
            let mut messages = words::ag_ui(of.view, "m");
            reopen(&mut messages, standing);
            let body = super::ag_ui_input(of, &messages, Some(resume?));
            let prelude = prelude(body.get("runId")?, standing);
            Some(RemoteRequest { prelude, ..json_body(of, &body) })
        }
        _ => None,
    }
}

/// A text field that is not empty.
fn text(fields: &Value, name: &str) -> Option<String> {
    fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Whether a field is true.
fn is_true(fields: &Value, name: &str) -> bool {
    fields.get(name).and_then(Value::as_bool) == Some(true)
}

/// The calls in an interrupt of Agno. For a team they are in its requirements.
fn executions(interrupt: &Value) -> Vec<&Value> {
    let list = |name: &str| interrupt.get(name).and_then(Value::as_array).into_iter().flatten();
    let tools: Vec<&Value> = list("tools").collect();
    if !tools.is_empty() && !is_team(interrupt) {
        return tools;
    }
    list("requirements").filter_map(|requirement| requirement.get("tool_execution")).collect()
}

/// Whether an interrupt comes from a team.
fn is_team(interrupt: &Value) -> bool {
    text(interrupt, "event").is_some_and(|event| event.starts_with("Team"))
}

/// What a paused call of Agno asks, if it asks anything.
fn agno_asks(execution: &Value) -> Option<Asking> {
    let confirms = is_true(execution, "requires_confirmation") && execution["confirmed"].is_null();
    let needs_input = is_true(execution, "requires_user_input") && !is_true(execution, "answered");
    (confirms || needs_input).then(|| Asking {
        given: text(execution, "tool_call_id").map(Into::into),
        name: text(execution, "tool_name").map(Into::into),
        ..Asking::default()
    })
}

/// What a graph asks: about calls in the form of its middleware, or anything else.
fn graph_asks(value: &Value) -> Vec<Asking> {
    let about = |request: &Value, beside: Option<String>| {
        let name = text(request, "name").or_else(|| text(request, "action"));
        Asking {
            given: text(request, "tool_call_id").map(Into::into),
            name: name.map(Into::into),
            arguments: request.get("args").cloned().unwrap_or_default(),
            text: text(request, "description").or(beside),
            is_question: true,
        }
    };
    match form_of(value) {
        Form::Decisions(requests) => requests.iter().map(|request| about(request, None)).collect(),
        Form::Decision => vec![about(value, None)],
        Form::Inbox(items) => {
            items.iter().map(|item| about(&item["action_request"], text(item, "description"))).collect()
        }
        Form::Anything => {
            let words = ["question", "message", "description"].iter().find_map(|name| text(value, name));
            let words = words.or_else(|| value.as_str().map(str::to_owned));
            vec![Asking { arguments: value.clone(), ..about(value, words) }]
        }
    }
}

/// The forms in which a graph asks.
enum Form<'a> {
    /// About several calls; the answer has a decision for each.
    Decisions(&'a [Value]),
    /// About one call; the answer is a decision.
    Decision,
    /// About calls in the form of the agent inbox.
    Inbox(Vec<&'a Value>),
    /// A form that is none of these.
    Anything,
}

/// The form in which `value` asks.
fn form_of(value: &Value) -> Form<'_> {
    if let Some(requests) = value.get("action_requests").and_then(Value::as_array) {
        return Form::Decisions(requests);
    }
    if text(value, "type").as_deref() == Some("tool_approval") {
        return Form::Decision;
    }
    let items: Vec<&Value> = value.as_array().map_or_else(|| vec![value], |items| items.iter().collect());
    if !items.is_empty() && items.iter().all(|item| item.get("action_request").is_some()) {
        return Form::Inbox(items);
    }
    Form::Anything
}

/// The answer for a graph: to its only question, or to each by the id of its interrupt. `None` if an
/// interrupt has no id although there are several, or an answer is missing.
fn resumed(asks: &[Ask], standing: &PauseState) -> Option<Value> {
    if let [ask] = asks {
        return graph_answer(ask, standing);
    }
    let by_id = asks.iter().map(|ask| Some((text(&ask.interrupt, "id")?, graph_answer(ask, standing)?)));
    by_id.collect::<Option<Map<_, _>>>().map(Value::Object)
}

/// The answer to one question, in the form in which it was asked.
fn graph_answer(ask: &Ask, standing: &PauseState) -> Option<Value> {
    let value = ask.interrupt.get("value").unwrap_or(&Value::Null);
    let form = form_of(value);
    let one = |call: &Called| {
        let answer = standing.answer(call)?;
        let arguments = answer.arguments.as_ref();
        Some(match (&form, answer.approved) {
            (Form::Anything, true) => arguments.cloned().unwrap_or(Value::Bool(true)),
            (Form::Anything, false) => Value::Bool(false),
            (Form::Inbox(_), true) => match arguments {
                None => json!({"type": "accept", "args": null}),
                Some(args) => json!({"type": "edit", "args": {"action": call.name, "args": args}}),
            },
            (Form::Inbox(_), false) => match &answer.why {
                None => json!({"type": "ignore", "args": null}),
                Some(why) => json!({"type": "response", "args": why}),
            },
            (_, true) => match arguments {
                None => json!({"type": "approve"}),
                Some(args) => json!({"type": "edit", "edited_action": {"name": call.name, "args": args}}),
            },
            (_, false) => match &answer.why {
                None => json!({"type": "reject"}),
                Some(why) => json!({"type": "reject", "message": why}),
            },
        })
    };
    let mut all = ask.calls.iter().map(one).collect::<Option<Vec<Value>>>()?;
    match form {
        Form::Decisions(_) => Some(json!({"decisions": all})),
        Form::Inbox(_) => Some(Value::Array(all)),
        Form::Decision | Form::Anything => all.pop(),
    }
}

/// The answer to one interrupt behind AG-UI.
fn ag_ui(ask: &Ask, standing: &PauseState) -> Option<Value> {
    let id = text(&ask.interrupt, "id")?;
    let call = ask.calls.first()?;
    let answer = standing.answer(call)?;
    let payload = match (answer.approved, &answer.arguments) {
        (true, Some(arguments)) if call.is_question => arguments.clone(),
        (true, Some(arguments)) => json!({"approved": true, "editedArgs": arguments}),
        (true, None) => json!({"approved": true}),
        (false, _) if call.is_question => return Some(json!({"interruptId": id, "status": "cancelled"})),
        (false, _) => match &answer.why {
            None => json!({"approved": false}),
            Some(why) => json!({"approved": false, "reason": why}),
        },
    };
    Some(json!({"interruptId": id, "status": "resolved", "payload": payload}))
}

/// The calls with which the agent goes on, in the form of its own stream, because the stream names only their
/// results.
fn prelude(run: &Value, standing: &PauseState) -> Vec<u8> {
    let mut told = vec![json!({"type": "RUN_STARTED", "runId": run})];
    for call in standing.pause.calls().filter(|call| !call.is_question) {
        let id = call.given.as_str();
        told.push(json!({"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": call.name}));
        told.push(json!({"type": "TOOL_CALL_END", "toolCallId": id}));
    }
    told.iter().map(|event| format!("data: {event}\n\n")).collect::<Vec<_>>().concat().into_bytes()
}

/// Gives calls that waited the agent's own ids in `messages`, and removes what was put in the place of their
/// results.
fn reopen(messages: &mut Vec<Value>, standing: &PauseState) {
    let find = |id: &Value| {
        let id = ToolCallId::new(id.as_str()?);
        standing.pause.calls().find(move |call| call.tool == id)
    };
    messages.retain(|message| find(&message["toolCallId"]).is_none());
    for message in messages.iter_mut() {
        let Some(calls) = message.get_mut("toolCalls").and_then(Value::as_array_mut) else { continue };
        calls.retain(|call| find(&call["id"]).is_none_or(|call| !call.is_question));
        for call in calls {
            if let Some(known) = find(&call["id"]) {
                call["id"] = known.given.as_str().into();
            }
        }
    }
    let says = |message: &Value| {
        message["content"].is_string()
            || message["toolCalls"].as_array().is_some_and(|calls| !calls.is_empty())
    };
    messages.retain(|message| message["role"] != "assistant" || says(message));
}

/// The answer for Agno's `AgentOS`, which takes its calls back with the answers in them. `None` where a
/// person refused what Agno has no refusal for, where an answer is missing, and where the run's name at the
/// agent is not known.
fn agno(of: &Occasion<'_>, standing: &PauseState) -> Option<RemoteRequest> {
    let ask = standing.pause.asks.first()?;
    let team = is_team(&ask.interrupt);
    let name = if team { "requirements" } else { "tools" };
    let mut list = ask.interrupt.get(name)?.as_array()?.clone();
    for item in &mut list {
        let execution = if team { &mut item["tool_execution"] } else { &mut *item };
        let given = text(execution, "tool_call_id");
        let Some(call) = ask.calls.iter().find(|call| Some(call.given.as_str()) == given.as_deref()) else {
            continue;
        };
        let answered = standing.answer(call)?;
        let tool = of.view.runs.get(of.run).and_then(|run| run.tools.get(&call.tool));
        // What the person has read and agreed to is what gets executed.
        let arguments = tool.and_then(|tool| serde_json::from_str::<Value>(&tool.arguments.text).ok());
        if let Some(arguments) = arguments.filter(|_| answered.approved) {
            execution["tool_args"] = arguments;
        }
        if is_true(execution, "requires_confirmation") {
            execution["confirmed"] = answered.approved.into();
            if let Some(why) = &answered.why {
                execution["confirmation_note"] = why.as_str().into();
            }
        } else if !answered.approved {
            return None;
        }
        let fields = execution.get("user_input_schema").and_then(Value::as_array).cloned();
        if let (Some(mut fields), Some(Value::Object(given))) = (fields, &answered.arguments) {
            for field in &mut fields {
                if let Some(value) = text(field, "name").and_then(|name| given.get(&name)) {
                    field["value"] = value.clone();
                }
            }
            execution["user_input_schema"] = fields.into();
        }
        if is_true(execution, "requires_user_input") {
            execution["answered"] = true.into();
        }
        if team {
            let schema =
                item.pointer("/tool_execution/user_input_schema").filter(|it| it.is_array()).cloned();
            item["confirmation"] = answered.approved.into();
            if let Some(schema) = schema {
                item["user_input_schema"] = schema;
            }
        }
    }
    let theirs = text(&ask.interrupt, "run_id").or_else(|| standing.pause.theirs.clone())?;
    let path = format!("{}/runs/{}/continue", agno_path(of.config), word(&theirs));
    let (list, session) = (Value::Array(list).to_string(), of.conversation.as_str());
    Some(form(of, path, &[(name, list.as_str()), ("stream", "true"), ("session_id", session)]))
}
