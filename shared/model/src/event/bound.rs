//! Bounds of the texts inside events that are names or remarks. The texts that people came for have bounds of their own in the
//! fold; without these a name of some megabytes would stay in every view of its conversation.

use compact_str::CompactString;

use super::{ErrorFact, Event, Kind};
use crate::anomaly::{Anomaly, AnomalyCode};
use crate::json::Json;
use crate::limits::{
    NAME_BYTES_MAX, NOTE_BYTES_MAX, PART_BYTES_MAX, STATUS_BYTES_MAX, TASK_BYTES_MAX, TITLE_BYTES_MAX,
    TOOL_FILES_BYTES_MAX,
};

/// Cuts what is over its limit in `event`. What comes back says what was cut; the hub logs it in front of the
/// event. Ids, numbers and words of closed lists are bounded by their types (I7).
pub fn bound(event: &mut Event) -> Option<Event> {
    let mut cut = Truncation::default();
    match &mut event.kind {
        Kind::RunStart(start) => {
            cut.name("model", start.model.as_mut());
            cut.name("dialect", start.dialect.as_mut());
            cut.name("name", start.name.as_mut());
            cut.name("host", start.host.as_mut());
            cut.text("title", start.title.as_mut(), TITLE_BYTES_MAX);
        }
        Kind::RunUpdate(update) => {
            cut.name("model", update.model.as_mut());
            cut.name("finish_reason", update.finish_reason.as_mut());
            cut.text("title", update.title.as_mut(), TITLE_BYTES_MAX);
        }
        Kind::Label(change) => change.cut(|said| cut.add(&said)),
        Kind::RunEnd(end) => cut.name("finish_reason", end.finish_reason.as_mut()),
        Kind::AgentStart(start) => {
            cut.name("model", start.model.as_mut());
            cut.name("name", start.name.as_mut());
            cut.text("text", start.text.as_mut(), TASK_BYTES_MAX);
        }
        Kind::AgentEnd(end) => cut.name("model", end.model.as_mut()),
        Kind::Message(message) => {
            cut.name("role", Some(&mut message.role));
            cut.text("text", Some(&mut message.text), PART_BYTES_MAX);
        }
        Kind::ToolStart(start) => {
            cut.name("name", Some(&mut start.name));
            cut.name("given_id", start.given_id.as_mut());
        }
        Kind::ToolCall { name, .. } => cut.name("name", name.as_mut()),
        Kind::ToolResult(result) => {
            cut.json("files", &mut result.files, TOOL_FILES_BYTES_MAX);
            cut.json("embeds", &mut result.embeds, TOOL_FILES_BYTES_MAX);
        }
        Kind::ToolProgress(progress) => {
            cut.text("text", progress.text.as_mut(), NOTE_BYTES_MAX);
            cut.name("phase", progress.phase.as_mut());
            cut.json("data", &mut progress.data, NOTE_BYTES_MAX);
        }
        Kind::Status { text } => cut.text("text", Some(text), STATUS_BYTES_MAX),
        Kind::Error(ErrorFact { code, message, .. }) => {
            cut.name("code", Some(code));
            cut.text("message", Some(message), NOTE_BYTES_MAX);
        }
        Kind::ApprovalRequest { text, .. } | Kind::ApprovalAnswer { text, .. } => {
            cut.text("text", text.as_mut(), NOTE_BYTES_MAX);
        }
        Kind::Custom { name, .. } | Kind::Raw { name, .. } => cut.name("name", Some(name)),
        Kind::Anomaly(anomaly) => cut.text("detail", Some(&mut anomaly.detail), NOTE_BYTES_MAX),
        Kind::Unknown(unknown) => cut.name("k", Some(&mut unknown.k)),
        // Ids, numbers, words of closed lists; texts that the fold bounds; kinds that are kept as they came, as notes.
        _ => {}
    }
    let detail = cut.said?;
    Some(Event::new(&event.run, Kind::Anomaly(Anomaly { code: AnomalyCode::TooLarge, detail })))
}

/// What was cut so far.
#[derive(Default)]
struct Truncation {
    /// The fields that were cut, how long they were, and the limits, in words; `None` while nothing was cut.
    said: Option<String>,
}

impl Truncation {
    /// Notes that `field` had `bytes` and may have `max`.
    fn say(&mut self, field: &str, bytes: usize, max: usize) {
        self.add(&format!("{field}: {bytes} bytes, the limit is {max}"));
    }

    /// Notes one cut more.
    fn add(&mut self, said: &str) {
        self.said =
            Some(self.said.take().map_or_else(|| said.to_owned(), |before| format!("{before}; {said}")));
    }

    /// Cuts a name to [`NAME_BYTES_MAX`].
    fn name(&mut self, field: &str, name: Option<&mut CompactString>) {
        if let Some(name) = name.filter(|name| name.len() > NAME_BYTES_MAX) {
            self.say(field, name.len(), NAME_BYTES_MAX);
            // A new one: a name that is only made shorter keeps its room.
            *name = CompactString::new(beginning(name, NAME_BYTES_MAX));
        }
    }

    /// Cuts a text to `max` bytes.
    fn text(&mut self, field: &str, text: Option<&mut String>, max: usize) {
        if let Some(text) = text.filter(|text| text.len() > max) {
            self.say(field, text.len(), max);
            *text = beginning(text, max).to_owned();
        }
    }

    /// JSON has no beginning that is JSON: all of it is left out.
    fn json(&mut self, field: &str, json: &mut Option<Json>, max: usize) {
        if let Some(long) = json.take_if(|json| json.as_str().len() > max) {
            self.say(field, long.as_str().len(), max);
        }
    }
}

/// At most the first `bytes` of `text`, cut between characters.
fn beginning(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    //! Tests of the bounds.

    use super::*;
    use crate::event::parse_event;

    fn bounded(json: &str, bytes: usize) -> (Event, Option<String>) {
        let mut event = parse_event(&json.replace("LONG", &"é".repeat(bytes / 2))).unwrap();
        let said = bound(&mut event);
        let said =
            said.map(|said| serde_json::to_value(said).unwrap()["detail"].as_str().unwrap().to_owned());
        (event, said)
    }

    #[test]
    fn i7_a_name_or_remark_over_its_limit_is_cut_and_named() {
        for (json, field, max) in [
            (r#"{"k":"run.start","run":"r","model":"LONG"}"#, "model", NAME_BYTES_MAX),
            (r#"{"k":"run.start","run":"r","host":"LONG"}"#, "host", NAME_BYTES_MAX),
            (r#"{"k":"run.start","run":"r","title":"LONG"}"#, "title", TITLE_BYTES_MAX),
            (
                r#"{"k":"run.end","run":"r","status":"error","finish_reason":"LONG"}"#,
                "finish_reason",
                NAME_BYTES_MAX,
            ),
            (r#"{"k":"agent.start","run":"r","agent":"a","text":"LONG"}"#, "text", TASK_BYTES_MAX),
            (r#"{"k":"message","message":"m","role":"user","text":"LONG"}"#, "text", PART_BYTES_MAX),
            (r#"{"k":"tool.start","run":"r","tool":"t","name":"LONG"}"#, "name", NAME_BYTES_MAX),
            (r#"{"k":"status","run":"r","text":"LONG"}"#, "text", STATUS_BYTES_MAX),
            (r#"{"k":"error","run":"r","code":"LONG","message":""}"#, "code", NAME_BYTES_MAX),
            (r#"{"k":"custom","run":"r","name":"LONG","value":1}"#, "name", NAME_BYTES_MAX),
            (r#"{"k":"raw","run":"r","name":"LONG","value":1}"#, "name", NAME_BYTES_MAX),
            (r#"{"k":"run.start","run":"r","dialect":"LONG"}"#, "dialect", NAME_BYTES_MAX),
            (r#"{"k":"run.update","run":"r","title":"LONG"}"#, "title", TITLE_BYTES_MAX),
            (
                r#"{"k":"agent.end","run":"r","agent":"a","status":"complete","model":"LONG"}"#,
                "model",
                NAME_BYTES_MAX,
            ),
            (
                r#"{"k":"tool.start","run":"r","tool":"t","name":"n","given_id":"LONG"}"#,
                "given_id",
                NAME_BYTES_MAX,
            ),
            (r#"{"k":"tool.call","run":"r","tool":"t","name":"LONG"}"#, "name", NAME_BYTES_MAX),
            (r#"{"k":"tool.progress","run":"r","tool":"t","phase":"LONG"}"#, "phase", NAME_BYTES_MAX),
            (r#"{"k":"tool.progress","run":"r","tool":"t","text":"LONG"}"#, "text", NOTE_BYTES_MAX),
            (r#"{"k":"message","message":"m","role":"LONG","text":""}"#, "role", NAME_BYTES_MAX),
            (r#"{"k":"error","run":"r","code":"c","message":"LONG"}"#, "message", NOTE_BYTES_MAX),
            (r#"{"k":"approval.request","run":"r","tool":"t","text":"LONG"}"#, "text", NOTE_BYTES_MAX),
            (
                r#"{"k":"approval.answer","run":"r","tool":"t","approved":true,"text":"LONG"}"#,
                "text",
                NOTE_BYTES_MAX,
            ),
            (r#"{"k":"anomaly","run":"r","code":"malformed","detail":"LONG"}"#, "detail", NOTE_BYTES_MAX),
        ] {
            let (event, said) = bounded(json, 2 * max);
            assert_eq!(said, Some(format!("{field}: {} bytes, the limit is {max}", 2 * max)), "{json}");
            let left = serde_json::to_string(&event).unwrap().len();
            assert!(left > max - 8 && left < max + 128, "{json}: {left}");
            let (mut whole, said) = bounded(json, max);
            assert_eq!((said, bound(&mut whole)), (None, None), "{json}");
        }
    }

    #[test]
    fn i7_files_over_their_limit_are_left_out_and_named() {
        let json = r#"{"k":"tool.result","run":"r","tool":"t","output":1,"files":["LONG"]}"#;
        let (event, said) = bounded(json, 2 * TOOL_FILES_BYTES_MAX);
        assert!(said.unwrap().starts_with("files: "));
        assert_eq!(serde_json::to_value(event).unwrap().get("files"), None);
        let json = r#"{"k":"tool.progress","run":"r","tool":"t","data":{"pages":"LONG"}}"#;
        let (event, said) = bounded(json, 2 * NOTE_BYTES_MAX);
        assert!(said.unwrap().starts_with("data: "));
        assert_eq!(serde_json::to_value(event).unwrap().get("data"), None);
    }

    #[test]
    fn i7_the_kind_of_an_event_of_a_later_version_is_a_name_too() {
        let mut event =
            parse_event(&format!(r#"{{"k":"{}","run":"r"}}"#, "k".repeat(2 * NAME_BYTES_MAX))).unwrap();
        assert!(bound(&mut event).is_some());
        let Kind::Unknown(unknown) = event.kind else { panic!("{event:?}") };
        assert_eq!(unknown.k.len(), NAME_BYTES_MAX);
    }
}
