//! The arguments of a call in a form that a person reads: texts as texts instead of JSON strings, edits and
//! patches as diffs, to-do lists as lists.
//!
//! What decides are the fields and not the name of the tool, since tools of the same kind have many names.
//! Every field of the arguments is in what is returned, so that nobody approves what was not shown.

use super::changes::{changes, counts};
use super::diff::{Line, diff};
use super::parts::text_of;
use super::patch::patch;
use super::tasks::{Task, TaskState, is_list, tasks};
use super::tree::{Node, container, index_path, node};
use super::{GLANCED_BYTES_MAX, LOOKED_BYTES_MAX};

/// The most fields; arguments with more are shown as JSON.
const FIELDS_MAX: usize = 100;

/// The most edits of one call that are shown as diffs.
const EDITS_MAX: usize = 100;

/// The longest value that stands in the line of its name, in bytes.
const WORD_BYTES_MAX: usize = 160;

/// The fields of an edit: what is replaced, and by what.
const EDITS: [(&str, &str); 5] = [
    ("old_string", "new_string"),
    ("old_str", "new_str"),
    ("oldString", "newString"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
];

/// The fields that name a file, whose ending tells the language of a text beside them.
const PATHS: [&str; 7] =
    ["file_path", "path", "filePath", "filename", "target_file", "notebook_path", "absolute_path"];

/// A field of the arguments, or the two of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The name of the field; empty if the arguments are one text.
    pub name: String,
    /// The value of the field.
    pub value: ArgumentValue,
}

/// The value of an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentValue {
    /// A short string, without its quotes.
    Word(String),
    /// A number, a literal, or a short list or object, as written.
    Written(String),
    /// A text of several lines, or a long one.
    Text {
        /// The text of the value.
        text: String,
        /// The language of its code, as a code fence would name it; empty for other texts.
        language: String,
    },
    /// A longer list or object, as written.
    Json(String),
    /// What an edit or a patch changes.
    Diff(Vec<Line>),
    /// A list of tasks.
    Tasks(Vec<Task>),
}

/// The arguments in a readable form; `None` if there is none: they are neither a JSON object nor a patch, are
/// longer than a megabyte, or have too many fields.
pub fn arguments(text: &str) -> Option<Vec<Argument>> {
    if text.len() > LOOKED_BYTES_MAX {
        return None;
    }
    let Some(Node::Object(fields)) = container(text) else {
        let lines = patch(text).or_else(|| diff(text))?;
        return Some(vec![Argument { name: String::new(), value: ArgumentValue::Diff(lines) }]);
    };
    if fields.is_empty() || fields.len() > FIELDS_MAX {
        return None;
    }
    let language = language_of(&fields);
    let edit = edit_of(&fields);
    let mut read = Vec::new();
    for (name, raw) in &fields {
        match &edit {
            Some((old, new, lines)) if name == old => {
                let name = format!("{old} → {new}");
                read.push(Argument { name, value: ArgumentValue::Diff(lines.clone()) });
            }
            Some((_, new, _)) if name == new => {}
            _ => value(name, raw, &language, &mut read),
        }
    }
    Some(read)
}

/// Appends the value of a field; a list of edits becomes several.
fn value(name: &str, raw: &str, language: &str, read: &mut Vec<Argument>) {
    let mut push = |name: String, value| read.push(Argument { name, value });
    match node(raw) {
        Node::Text(text) => push(name.to_owned(), text_value(name, text, language)),
        Node::Word(word) => push(name.to_owned(), ArgumentValue::Written(word)),
        Node::Array(items) => {
            if let Some(tasks) = tasks(raw).filter(|_| is_list(name)) {
                return push(name.to_owned(), ArgumentValue::Tasks(tasks));
            }
            if let Some(edits) = edits(name, &items) {
                return edits.into_iter().for_each(|edit| push(edit.name, edit.value));
            }
            push(name.to_owned(), written(raw));
        }
        Node::Object(_) => push(name.to_owned(), written(raw)),
    }
}

/// A list or object: on the line of its name if it is short.
fn written(raw: &str) -> ArgumentValue {
    let is_short = raw.len() <= WORD_BYTES_MAX && !raw.contains('\n') && !raw.contains("\\n");
    if is_short { ArgumentValue::Written(raw.to_owned()) } else { ArgumentValue::Json(raw.to_owned()) }
}

/// A string: a diff, a text or a word.
fn text_value(name: &str, text: String, language: &str) -> ArgumentValue {
    if let Some(lines) = patch(&text).or_else(|| diff(&text)) {
        return ArgumentValue::Diff(lines);
    }
    if text.len() <= WORD_BYTES_MAX && !text.contains(['\n', '\r']) {
        return ArgumentValue::Word(text);
    }
    let language = match name {
        "content" | "contents" | "file_text" | "new_source" | "code" | "code_edit" => language,
        "command" | "cmd" | "script" => "sh",
        "sql" | "query" if name == "sql" || text.to_lowercase().starts_with("select") => "sql",
        _ => "",
    };
    ArgumentValue::Text { text, language: language.to_owned() }
}

/// The ending of the file that the arguments name; empty if they name none.
fn language_of(fields: &[(String, std::sync::Arc<str>)]) -> String {
    let path = PATHS.iter().find_map(|name| text_of(fields, name)).unwrap_or_default();
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let ending = file.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    ending.chars().take(12).collect()
}

/// The language of the file that arguments name, as a code fence would name it; empty if they name none.
pub fn language_of_arguments(text: &str) -> String {
    if text.len() > GLANCED_BYTES_MAX {
        return String::new();
    }
    match container(text) {
        Some(Node::Object(fields)) => language_of(&fields),
        _ => String::new(),
    }
}

/// The names of the two fields of an edit, and what it changes. Duplicate fields are no edit.
fn edit_of(fields: &[(String, std::sync::Arc<str>)]) -> Option<(&'static str, &'static str, Vec<Line>)> {
    EDITS.iter().find_map(|(old, new)| {
        let is_once = |name: &str| fields.iter().filter(|(key, _)| key == name).count() == 1;
        let (before, after) = (text_of(fields, old)?, text_of(fields, new)?);
        (is_once(old) && is_once(new)).then(|| (*old, *new, changes(&before, &after)))
    })
}

/// The edits of a list in which each item is one. Other fields of an item stand before its diff.
fn edits(name: &str, items: &[std::sync::Arc<str>]) -> Option<Vec<Argument>> {
    if items.is_empty() || items.len() > EDITS_MAX {
        return None;
    }
    let mut read = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Some(Node::Object(fields)) = container(item) else { return None };
        let (old, new, lines) = edit_of(&fields)?;
        let path = index_path(name, at);
        for (key, raw) in fields.iter().filter(|(key, _)| key != old && key != new) {
            read.push(Argument { name: format!("{path}.{key}"), value: written(raw) });
        }
        read.push(Argument { name: path, value: ArgumentValue::Diff(lines) });
    }
    Some(read)
}

/// The task that is worked on, or else the next one, of arguments that are a to-do list, in one line.
pub fn current_task(text: &str) -> Option<String> {
    if text.len() > GLANCED_BYTES_MAX || !text.contains("\"status\"") {
        return None;
    }
    let tasks = arguments(text)?.into_iter().find_map(|argument| match argument.value {
        ArgumentValue::Tasks(tasks) => Some(tasks),
        _ => None,
    })?;
    let of = |state: TaskState| tasks.iter().find(|task| task.state == state);
    let task = of(TaskState::Current).or_else(|| of(TaskState::Pending)).or(tasks.last())?;
    Some(crate::preview::one_line(&task.text))
}

/// What the arguments of a call are, for the line of its card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentsGlance {
    /// An edit or patch, with the lines that it adds and removes.
    Edit(usize, usize),
    /// A to-do list: the tasks that are done, and all.
    Tasks(usize, usize),
}

impl ArgumentsGlance {
    /// The glance in words: `+3 −1`, `2 of 5 done`.
    pub fn word(self) -> String {
        match self {
            Self::Edit(added, removed) => format!("+{added} −{removed}"),
            Self::Tasks(done, all) => format!("{done} of {all} done"),
        }
    }
}

/// What the arguments are, if they are an edit, a patch or a to-do list. `None` for arguments of more than
/// 64 KB, since every card asks.
pub fn glance_of_arguments(text: &str) -> Option<ArgumentsGlance> {
    // Most arguments are told to be neither by their text, before they are parsed.
    let marks = ["\"old", "*** Begin Patch", "@@ ", "\"todos\"", "\"plan\"", "\"tasks\"", "\"items\""];
    if text.len() > GLANCED_BYTES_MAX || !marks.iter().any(|mark| text.contains(*mark)) {
        return None;
    }
    let (mut added, mut removed, mut is_edit) = (0_usize, 0_usize, false);
    for argument in arguments(text)? {
        match argument.value {
            ArgumentValue::Tasks(tasks) => {
                let done = tasks.iter().filter(|task| task.state == TaskState::Done).count();
                return Some(ArgumentsGlance::Tasks(done, tasks.len()));
            }
            ArgumentValue::Diff(lines) => {
                let (more, less) = counts(&lines);
                added = added.saturating_add(more);
                removed = removed.saturating_add(less);
                is_edit = true;
            }
            _ => {}
        }
    }
    is_edit.then_some(ArgumentsGlance::Edit(added, removed))
}

#[cfg(test)]
mod tests;
