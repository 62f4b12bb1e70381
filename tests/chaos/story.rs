//! What the publishers of the scenarios say: one run with one text.

use std::ops::AddAssign;

use serde_json::json;

/// The start of a run and of its text.
pub(crate) const OPEN: &str = r#"
    {"k":"run.start","run":"r","model":"m"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
"#;

/// What closes the calls that [`OPEN`] opens.
pub(crate) const CLOSE: &str = r#"
    {"k":"part.end","run":"r","part":"p"}
    {"k":"run.end","run":"r","status":"complete"}
"#;

/// The deltas of one publication, one a line.
#[derive(Debug, Default)]
pub(crate) struct StoryWords(String);

impl StoryWords {
    /// The events of the words, one JSON object a line.
    pub(crate) fn lines(&self) -> &str {
        &self.0
    }
}

impl AddAssign<&str> for StoryWords {
    fn add_assign(&mut self, text: &str) {
        self.0 += &json!({"k": "part.delta", "run": "r", "part": "p", "text": text}).to_string();
        self.0.push('\n');
    }
}
