//! The data stream of version 4: a line for each part, a letter for its type, then JSON.
//!
//! ```text
//! f:{"messageId":"m1"}                                    a step begins
//! 0:"Hi"                                                  text
//! g:"Hm"                                                  reasoning
//! 9:{"toolCallId":"c1","toolName":"now","args":{}}        a call
//! a:{"toolCallId":"c1","result":"noon"}                   its result
//! b:, c:                                                  start and delta of a call
//! 2:[…], 8:[…]                                            data and annotations of the application
//! 3:"An error occurred."                                  a failure
//! e:{"finishReason":"stop","usage":{…}}                   a step ends
//! d:{"finishReason":"stop","usage":{…}}                   the message ends
//! h:{…}, k:{…}, i:{…}, j:{…}                              source, file, hidden reasoning, signature
//! ```

use super::AiSdkMeaning;
use super::texts::AiSdkTexts;
use crate::Decoded;
use crate::field::{ForeignField, ForeignFields};
use crate::framing::excerpt;
use model::anomaly::AnomalyCode;
use model::event::PartKind;

impl AiSdkMeaning {
    /// Takes a line; false if it is none of the data stream. A line of it without JSON is an anomaly.
    pub(super) fn lettered(&mut self, line: u64, text: &str, out: &mut Decoded) -> bool {
        let Some((letter, value)) = text.split_once(':') else { return false };
        if !matches!(
            letter,
            "0" | "2" | "3" | "8" | "9" | "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "i" | "j" | "k"
        ) {
            return false;
        }
        let Some(value) = ForeignField::parse(value) else {
            let detail = format!("line {line}: no JSON: {}", excerpt(text));
            self.writer.anomaly(AnomalyCode::Malformed, detail, out);
            return true;
        };
        // A new message begins where the one before has said that it is whole.
        if letter == "f" && self.is_finished {
            self.close(out);
        }
        self.writer.begin(None, out);
        self.has_content = true;
        let part = ForeignFields::of(value);
        match letter {
            "0" => self.say(PartKind::Text, value, out),
            "g" => self.say(PartKind::Thinking, value, out),
            "2" | "8" => {
                let name = if letter == "2" { "data" } else { "annotation" };
                for item in value.list() {
                    self.writer.custom(name, item, None, out);
                }
            }
            "3" => self.writer.fail(super::failure(&value.words().unwrap_or_default()), out),
            "9" => self.call("tool-call", &part, out),
            "a" => self.call("tool-result", &part, out),
            "b" => self.call("tool-call-streaming-start", &part, out),
            "c" => self.call("tool-call-delta", &part, out),
            "d" => self.finished(&part, out),
            "e" => self.finish_step(&part, out),
            "f" => self.texts.start_step(&self.writer, out),
            "h" => self.writer.custom("citation", value, None, out),
            "i" => AiSdkTexts::hidden(&mut self.writer, out),
            "k" => self.file(&part, value, out),
            // The signature of reasoning says nothing to readers.
            _ => {}
        }
        true
    }

    /// Writes more of a text; lines have no ids.
    fn say(&mut self, kind: PartKind, text: ForeignField<'_>, out: &mut Decoded) {
        let key = (kind, compact_str::CompactString::const_new(""));
        self.texts.add(&key, &text.text().unwrap_or_default(), &mut self.writer, out);
    }

    /// Takes a line about a call, as the part of the newer streams that says the same.
    fn call(&mut self, kind: &str, part: &ForeignFields<'_>, out: &mut Decoded) {
        self.texts.pause(&self.writer, out);
        self.calls.part(kind, part, &mut self.writer, out);
    }
}
