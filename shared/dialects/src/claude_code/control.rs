//! What the program and its host ask each other over the same stream. Most of it is about the connection; one
//! question is whether a call may run (`can_use_tool`).
//!
//! ```text
//! {"type":"control_request","request_id":"q1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{…},"tool_use_id":"t1"}}
//! {"type":"control_response","response":{"subtype":"success","request_id":"q1","response":{"behavior":"allow","toolUseID":"t1"}}}
//! ```

use std::borrow::Cow;

use super::ClaudeStream;
use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use model::event::Kind;

impl ClaudeStream {
    /// Takes a question of the program to its host.
    pub(super) fn control_request(
        &mut self,
        fields: &ForeignFields<'_>,
        whole: ForeignField<'_>,
        out: &mut Decoded,
    ) {
        let request = ForeignFields::of(fields.get("request"));
        match request.get("subtype").word().as_deref() {
            Some("can_use_tool") => self.ask(&request, out),
            // The lines around it tell the same.
            Some("hook_callback" | "initialize" | "mcp_message") => {}
            _ if !self.writer.is_running() && self.writer.has_begun() => {}
            _ => {
                self.begin(None, out);
                self.writer.raw(whole, None, out);
            }
        }
    }

    /// Writes that a call waits for a person. It may be asked about before its line was received; then the
    /// call is written here.
    fn ask(&mut self, request: &ForeignFields<'_>, out: &mut Decoded) {
        self.begin(None, out);
        let name = request.get("tool_name").word().unwrap_or_default();
        let id = request.get("tool_use_id").word().or_else(|| {
            let newest = self.calls.iter().rev().find(|(_, call)| call.name == *name);
            newest.map(|(id, _)| Cow::Owned(id.to_string()))
        });
        let Some(id) = id else { return };
        if !self.writer.knows_call(&id) {
            if !self.writer.has_room(out) {
                return;
            }
            let input = request.get("input");
            let arguments = input.is_truthy().then(|| input.as_json_text());
            self.writer.whole_call(&id, &name, arguments, None, out);
            self.called(&id, &name, input, None, out);
        }
        let text = request.any(&["title", "description", "decision_reason"]).word().map(Cow::into_owned);
        self.writer.push(Kind::ApprovalRequest { tool: self.writer.tool_id(&id), text }, out);
    }

    /// Takes an answer: that of the host, that a call may run, or an error. That a call may not run is said
    /// by its result.
    pub(super) fn control_response(&mut self, fields: &ForeignFields<'_>, out: &mut Decoded) {
        let response = ForeignFields::of(fields.get("response"));
        let inner = ForeignFields::of(response.get("response"));
        if !self.writer.is_running() {
            return;
        }
        if inner.get("behavior").word().is_some_and(|behavior| behavior == "allow")
            && let Some(id) = inner.get("toolUseID").word()
            && self.calls.contains_key(&*id)
        {
            let tool = self.writer.tool_id(&id);
            self.writer.push(Kind::ApprovalAnswer { tool, approved: true, text: None }, out);
        }
        if response.get("subtype").word().is_some_and(|subtype| subtype == "error") {
            let text = response.get("error").words().unwrap_or_default().into_owned();
            self.status(&text, out);
        }
    }
}
