//! Writes a conversation as a chat that Open WebUI imports (in its settings under Chats, Import).
//!
//! ```json
//! [{"chat": {
//!   "title": "…", "models": ["model-x"], "params": {"system": "…"},
//!   "history": {"messages": {"m1": {"id": "m1", "parentId": null, "childrenIds": ["m2"], "role": "user", "…": 0}},
//!               "currentId": "m2"},
//!   "messages": ["the same messages as a list"],
//!   "tags": [], "timestamp": 1700000000000
//! }}]
//! ```
//!
//! Open WebUI keeps a tree of messages; this chat is a tree without branches. Each section of a run is one
//! message of the assistant, with the content that [`super::content`] makes of these items. Blank ones are
//! left out. System and developer messages become the system prompt; messages with any other role, such as
//! results of tools, are left out. The model of the chat is that of the newest run that names one, else
//! `fanlight`.

use serde_json::{Map, Value, json};

use super::{OpenWebUiOptions, stretch};
use crate::document::facts;
use model::flow::{ConversationSection, turns};
use model::view::View;

/// `view` as the content of a file to import. `name` is the name of the conversation, for one without a
/// title.
///
/// The timestamps of messages are in seconds, that of the chat in milliseconds, as Open WebUI has them.
pub fn chat(view: &View, name: &str, options: OpenWebUiOptions) -> Value {
    let mut chain = MessageChain::default();
    let mut system: Vec<&str> = Vec::new();
    let model = view.runs.values().rev().find_map(|run| run.model.as_deref()).unwrap_or("fanlight");
    for turn in turns(view) {
        match turn {
            ConversationSection::Message(_, message) => match message.role.as_str() {
                "user" => chain.put("user", &message.text, message.at, json!({"models": [model]})),
                "assistant" => {
                    chain.put("assistant", &message.text, message.at, json!({"model": model, "done": true}));
                }
                "system" | "developer" => system.push(&message.text),
                _ => {}
            },
            ConversationSection::Run(part) => {
                let items = part.run.items.get(part.items.clone()).unwrap_or_default();
                let model = part.run.model.as_deref().unwrap_or(model);
                let more = json!({"model": model, "modelName": model, "done": !part.run.is_running()});
                chain.put("assistant", &stretch(part.run, items, options), part.run.started_at, more);
            }
        }
    }
    let began = chain.list.first().and_then(|message| message["timestamp"].as_u64()).unwrap_or(0);
    let messages: Map<String, Value> = chain
        .list
        .iter()
        .filter_map(|message| Some((message["id"].as_str()?.to_owned(), message.clone())))
        .collect();
    let current = chain.list.last().map(|message| message["id"].clone());
    json!([{"chat": {
        "title": facts::title(view, name),
        "models": [model],
        "params": if system.is_empty() { json!({}) } else { json!({"system": system.join("\n\n")}) },
        "history": {"messages": messages, "currentId": current},
        "messages": chain.list,
        "tags": [],
        "timestamp": began.saturating_mul(1000),
    }}])
}

/// A list of messages, each the child of the one before.
#[derive(Default)]
struct MessageChain {
    /// The messages as Open WebUI has them, the first one first. Ids are `m1`, `m2` and so on.
    list: Vec<Value>,
}

impl MessageChain {
    /// Appends a message, with the fields of `more`. `at` is in milliseconds since 1970. Blank messages are
    /// left out.
    fn put(&mut self, role: &str, content: &str, at: u64, more: Value) {
        if content.trim().is_empty() {
            return;
        }
        let id = format!("m{}", self.list.len().saturating_add(1));
        let parent = self.list.last_mut().map(|last| {
            last["childrenIds"] = json!([id]);
            last["id"].clone()
        });
        let mut message = json!({
            "id": id, "parentId": parent, "childrenIds": [], "role": role, "content": content, "timestamp": at / 1000,
        });
        if let (Value::Object(message), Value::Object(more)) = (&mut message, more) {
            message.extend(more);
        }
        self.list.push(message);
    }
}
