//! The question as the hub's chat completions take it: the text, the files, and how the model is to answer.

use std::fs::File;
use std::io::{IsTerminal as _, Read};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::event::FileKind;
use model::limits::{COMMAND_BYTES_MAX, FILE_BYTES_MAX, FILES_PER_MESSAGE_MAX};
use serde_json::{Map, Value, json};

use crate::args::{AnswerFormat, AskArgs};
use crate::command::CommandError;

/// The media types of files by the ends of their names. A file with any other end is a text if it is UTF-8.
const TYPES: [(&str, &str); 14] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("pdf", "application/pdf"),
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("csv", "text/csv"),
    ("md", "text/markdown"),
    ("html", "text/html"),
];

/// Longest schema, in bytes. The hub takes less together with the other fields, and says how much.
const SCHEMA_BYTES_MAX: usize = 1 << 20;

/// The body of the request that asks `agent`. Fails with a usage error for a text that is empty or too long, and for files that cannot be
/// read, are too many or too large, or are of no type that models take.
pub(super) fn body(agent: &str, text: &str, args: &AskArgs) -> Result<String, CommandError> {
    let mut content = vec![json!({"type": "text", "text": text})];
    if args.files.len() > FILES_PER_MESSAGE_MAX {
        let what = format!(
            "--file: these are {} files, and a question has {FILES_PER_MESSAGE_MAX} at most",
            args.files.len()
        );
        return Err(usage(what, "ask with fewer"));
    }
    for path in &args.files {
        content.push(file(path)?);
    }
    let content = if args.files.is_empty() { json!(text) } else { Value::Array(content) };
    let mut body = sampling(args)?;
    body.insert("model".into(), json!(agent));
    body.insert("stream".into(), json!(true));
    body.insert("messages".into(), json!([{"role": "user", "content": content}]));
    Ok(Value::Object(body).to_string())
}

/// The text of the question: the argument, otherwise all of stdin.
pub(super) fn text(args: &AskArgs) -> Result<String, CommandError> {
    let text = match &args.text {
        Some(text) => text.clone(),
        None if std::io::stdin().is_terminal() => {
            return Err(usage("there is no question", "`fanlight ask \"…\"`, or write it into stdin"));
        }
        None => {
            let bytes = read(std::io::stdin().lock(), COMMAND_BYTES_MAX, "the question on stdin")?;
            String::from_utf8(bytes).map_err(|error| {
                usage(format!("the question on stdin is not UTF-8: {error}"), "write text")
            })?
        }
    };
    if text.trim().is_empty() && args.files.is_empty() {
        return Err(usage("the question is empty", "say something, or give a --file"));
    }
    Ok(text)
}

/// How the model is to answer, by the names of OpenAI's API; what was not said is not there.
fn sampling(args: &AskArgs) -> Result<Map<String, Value>, CommandError> {
    let stop = (!args.stop.is_empty()).then(|| json!(args.stop));
    let format = args.response_format.as_ref().map(format).transpose()?;
    let fields = [
        ("temperature", args.temperature.map(|it| json!(it))),
        ("top_p", args.top_p.map(|it| json!(it))),
        ("max_tokens", args.max_tokens.map(|it| json!(it))),
        ("seed", args.seed.map(|it| json!(it))),
        ("stop", stop),
        ("response_format", format),
    ];
    Ok(fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}

/// A form of the answer. A file holds a schema, or all of what `response_format` is to be.
fn format(of: &AnswerFormat) -> Result<Value, CommandError> {
    let path = match of {
        AnswerFormat::Text => return Ok(json!({"type": "text"})),
        AnswerFormat::Json => return Ok(json!({"type": "json_object"})),
        AnswerFormat::Schema(path) => path,
    };
    let name = path.display();
    let file = File::open(path).map_err(|error| {
        usage(format!("--response-format: {name}: {error}"), "say text, json, or a file with a JSON Schema")
    })?;
    let bytes = read(file, SCHEMA_BYTES_MAX, &format!("--response-format: {name}"))?;
    let schema: Value = serde_json::from_slice(&bytes)
        .map_err(|error| usage(format!("--response-format: {name}: {error}"), "give a JSON Schema"))?;
    if !schema.is_object() {
        return Err(usage(format!("--response-format: {name} is not an object"), "give a JSON Schema"));
    }
    if schema.get("type").is_some_and(|kind| kind == "json_schema") {
        return Ok(schema);
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    // Providers take letters, digits, `_` and `-`, at most 64 of them.
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = stem.chars().take(64).map(plain).collect();
    Ok(json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": true}}))
}

/// A file as a part of the message.
fn file(path: &Path) -> Result<Value, CommandError> {
    let shown = path.display();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = File::open(path)
        .map_err(|error| usage(format!("--file: {shown}: {error}"), "name a file that can be read"))?;
    let bytes = read(file, FILE_BYTES_MAX, &format!("--file: {shown}"))?;
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).unwrap_or_default();
    let mime = match TYPES.iter().find(|(known, _)| *known == end) {
        Some((_, mime)) => *mime,
        None if std::str::from_utf8(&bytes).is_ok() => "text/plain",
        None => {
            let what = format!("--file: {shown} is neither an image, a PDF nor a text in UTF-8");
            return Err(usage(what, "models take PNG, JPEG, GIF, WebP, PDF and texts"));
        }
    };
    let url = format!("data:{mime};base64,{}", STANDARD.encode(&bytes));
    Ok(if FileKind::of(mime) == Some(FileKind::Image) {
        json!({"type": "image_url", "image_url": {"url": url, "filename": name}})
    } else {
        json!({"type": "file", "file": {"filename": name, "file_data": url}})
    })
}

/// All bytes of `from`, at most `most`; `what` names it.
fn read(from: impl Read, most: usize, what: &str) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    from.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| usage(format!("{what}: {error}"), "look at what it is"))?;
    if bytes.len() > most {
        return Err(usage(format!("{what} has more than {most} bytes"), "ask with less"));
    }
    Ok(bytes)
}

fn usage(what: impl Into<String>, mend: &str) -> CommandError {
    CommandError::Usage { what: what.into(), mend: mend.into() }
}
