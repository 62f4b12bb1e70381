//! How an agent takes the answers of its model while they stream: batches of calls, buffers, and the form of
//! calls in texts.
//!
//! The settings are in a YAML file, below `streaming_config`, or in a table of the agent with the same keys.
//!
//! ```yaml
//! schema_version: "1.0.0"
//! streaming_config:
//!   tool_batch_size: 5            # calls
//!   tool_batch_delay: 0.1         # seconds
//!   tool_parse_buffer_max: 65536  # bytes of a call in a text
//!   text_buffer_max: 1048576      # bytes of an answer's text
//!   formats: {xml: {tag_open: "<tool_use>"}}
//! ```

use agents::Plan;
use dialects::text_calls::TextRules;
use model::limits::PART_BYTES_MAX;
use serde_json::{Map, Value};

/// The largest batch that may be set.
const BATCH_CALLS_MAX: u64 = 256;

/// The longest delay that may be set, in seconds.
const BATCH_SECONDS_MAX: f64 = 60.0;

/// The longest name of an element, in bytes.
const ELEMENT_BYTES_MAX: usize = 64;

/// The attributes that the element of a call may have.
const ATTRIBUTES: [&str; 2] = ["id", "name"];

/// The fields of a call in JSON, with their types.
const FIELDS: [(&str, &str, &str); 4] = [
    ("type", "const", "tool_use"),
    ("id", "type", "string"),
    ("name", "type", "string"),
    ("input", "type", "object"),
];

/// The settings; what is absent keeps its default.
#[derive(Debug, Default, PartialEq)]
pub(super) struct StreamingSettings {
    /// How many written calls begin a batch at once.
    batch_calls: Option<usize>,
    /// How long written calls wait for one more, in milliseconds.
    batch_ms: Option<u64>,
    /// Most bytes of text of one answer.
    text_bytes_max: Option<usize>,
    /// The rules by which calls are found in texts.
    pub(super) text_rules: TextRules,
}

/// A place in the settings, for messages about it.
#[derive(Clone, Copy)]
struct SettingPlace<'a> {
    /// The file, or the table of the settings.
    file: &'a str,
    /// The key at which the value stands.
    key: &'a str,
}

impl SettingPlace<'_> {
    /// The message that the value is not among the allowed ones.
    fn wrong(self, value: &Value, allowed: &str) -> String {
        let Self { file, key } = self;
        format!("{file}, at {key:?}: {value} does not fit; allowed is {allowed}")
    }

    /// The fields of an object, each of which must be one of `known`.
    fn object<'v>(self, value: &'v Value, known: &[&str]) -> Result<&'v Map<String, Value>, String> {
        let known = known.join(", ");
        let object = value.as_object().ok_or_else(|| self.wrong(value, &format!("a table with {known}")))?;
        let is_known = |key: &String| known.split(", ").any(|name| name == key);
        match object.keys().find(|key| !is_known(key)) {
            Some(key) => Err(format!("{}, at {key:?}: there is no such key; allowed are {known}", self.file)),
            None => Ok(object),
        }
    }

    /// A number from 1 to `most`.
    fn count(self, value: &Value, most: u64, unit: &str) -> Result<usize, String> {
        let count = value.as_u64().filter(|count| (1..=most).contains(count));
        let count = count.and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| self.wrong(value, &format!("a whole number of {unit} from 1 to {most}")))
    }
}

impl StreamingSettings {
    /// Reads the name of a file or the settings themselves. The error says what is wrong, and where.
    pub(super) fn of(said: &Value) -> Result<Self, String> {
        let Value::String(path) = said else {
            return Self::read(SettingPlace { file: "[agents.NAME]", key: "streaming" }, said);
        };
        let wrong = |why: String| format!("{path}: {why}");
        let yaml = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let whole: Value =
            serde_saphyr::from_str(&yaml).map_err(|error| wrong(error.without_snippet().to_string()))?;
        let at = SettingPlace { file: path, key: "streaming_config" };
        let whole = at.object(&whole, &["schema_version", "streaming_config"])?;
        if let Some(version) = whole.get("schema_version").filter(|version| **version != "1.0.0") {
            return Err(SettingPlace { key: "schema_version", ..at }.wrong(version, "\"1.0.0\""));
        }
        let none = || format!("{path}: there is no \"streaming_config\" in it");
        Self::read(at, whole.get("streaming_config").ok_or_else(none)?)
    }

    /// Reads the settings themselves. Keys that are not known are refused.
    fn read(at: SettingPlace<'_>, said: &Value) -> Result<Self, String> {
        let keys =
            ["tool_batch_size", "tool_batch_delay", "tool_parse_buffer_max", "text_buffer_max", "formats"];
        let mut streaming = Self::default();
        for (key, value) in at.object(said, &keys)? {
            let at = SettingPlace { key, ..at };
            match key.as_str() {
                "tool_batch_size" => {
                    streaming.batch_calls = Some(at.count(value, BATCH_CALLS_MAX, "calls")?);
                }
                "tool_batch_delay" => {
                    let seconds =
                        value.as_f64().filter(|seconds| (0.0..=BATCH_SECONDS_MAX).contains(seconds));
                    let allowed = format!("a number of seconds from 0 to {BATCH_SECONDS_MAX}");
                    let seconds = seconds.ok_or_else(|| at.wrong(value, &allowed))?;
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "bounded above"
                    )]
                    let ms = (seconds * 1_000.0).round() as u64;
                    streaming.batch_ms = Some(ms);
                }
                "tool_parse_buffer_max" => {
                    streaming.text_rules.bytes_max = at.count(value, PART_BYTES_MAX as u64, "bytes")?;
                }
                "text_buffer_max" => {
                    streaming.text_bytes_max = Some(at.count(value, PART_BYTES_MAX as u64, "bytes")?);
                }
                _ => streaming.text_rules.element = formats(at, value)?,
            }
        }
        Ok(streaming)
    }

    /// Applies the settings to `plan`.
    pub(super) fn plan(&self, plan: Plan) -> Plan {
        Plan {
            batch_calls: self.batch_calls.unwrap_or(plan.batch_calls),
            batch_ms: self.batch_ms.unwrap_or(plan.batch_ms),
            text_bytes_max: self.text_bytes_max.unwrap_or(plan.text_bytes_max),
            ..plan
        }
    }
}

/// The element of a call, if set. The JSON form is fixed, and the settings may only repeat it.
fn formats(at: SettingPlace<'_>, said: &Value) -> Result<Option<String>, String> {
    let formats = at.object(said, &["xml", "json"])?;
    if let Some(json) = formats.get("json") {
        let at = SettingPlace { key: "json", ..at };
        if let Some(schema) = at.object(json, &["schema"])?.get("schema") {
            is_ours(SettingPlace { key: "schema", ..at }, schema)?;
        }
    }
    let Some(xml) = formats.get("xml") else { return Ok(None) };
    let at = SettingPlace { key: "xml", ..at };
    let xml = at.object(xml, &["tag_open", "tag_close", "attributes"])?;
    if let Some(said) = xml.get("attributes") {
        let is_known = |name: &Value| ATTRIBUTES.iter().any(|known| name == known);
        if !said.as_array().is_some_and(|names| names.iter().all(is_known)) {
            return Err(SettingPlace { key: "attributes", ..at }.wrong(said, "a list of id and name"));
        }
    }
    let element = xml.get("tag_open").map(|open| {
        let name = open.as_str().and_then(|open| open.strip_prefix('<')?.strip_suffix('>'));
        let name = name.filter(|name| is_element(name)).map(str::to_owned);
        name.ok_or_else(|| {
            SettingPlace { key: "tag_open", ..at }
                .wrong(open, "\"<NAME>\", of letters, digits, -, _, : and .")
        })
    });
    let element = element.transpose()?;
    if let Some(close) = xml.get("tag_close") {
        let wanted = format!("</{}>", element.as_deref().unwrap_or("tool_use"));
        if *close != wanted.as_str() {
            return Err(SettingPlace { key: "tag_close", ..at }
                .wrong(close, &format!("{wanted:?}, as tag_open says")));
        }
    }
    Ok(element)
}

/// Whether `name` can be the name of an element.
fn is_element(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    name.len() <= ELEMENT_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_plain)
}

/// Checks that a schema is that of a call.
fn is_ours(at: SettingPlace<'_>, said: &Value) -> Result<(), String> {
    let names = FIELDS.map(|(name, ..)| name);
    for (key, value) in at.object(said, &["type", "required", "properties"])? {
        let at = SettingPlace { key, ..at };
        match key.as_str() {
            "type" if value != "object" => return Err(at.wrong(value, "\"object\"")),
            "required" => {
                let is_known = |field: &Value| names.iter().any(|name| field == name);
                if !value.as_array().is_some_and(|fields| fields.iter().all(is_known)) {
                    return Err(at.wrong(value, &format!("a list of {}", names.join(", "))));
                }
            }
            "properties" => {
                let said = at.object(value, &names)?;
                for (name, key, wanted) in FIELDS {
                    let fits = |field: &&Value| field.get(key).is_none_or(|is| is == wanted);
                    if let Some(field) = said.get(name).filter(|field| !fits(field)) {
                        let allowed = format!("{{\"{key}\": {wanted:?}}}");
                        return Err(SettingPlace { key: name, ..at }.wrong(field, &allowed));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
