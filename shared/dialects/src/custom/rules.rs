//! Reads the description of a dialect: the keys of the file, and errors that name the line and the key.
//! Unknown keys below `stream` are errors, so that a typing error is not taken for a dialect without text.

use std::fmt;

use compact_str::CompactString;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json_path::JsonPath;

use super::UserDialectError;
use model::limits::{JSON_PATH_BYTES_MAX, JSON_PATH_DEPTH_MAX};

/// A description that was read and checked.
#[derive(Debug)]
pub(super) struct DialectDescription {
    pub(super) name: CompactString,
    pub(super) format: CustomFormat,
    pub(super) rules: ExtractionRules,
}

/// The format of a stream: how it is divided into objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CustomFormat {
    /// The data of server-sent events.
    #[default]
    Sse,
    /// One object in each line.
    Ndjson,
    /// One object, several one after the other, or an array of them.
    Json,
}

/// The places in an object of everything that is read. A place that is left out finds nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExtractionRules {
    pub(super) model: PathAlternatives,
    pub(super) text: PathAlternatives,
    #[serde(alias = "reasoning")]
    pub(super) thinking: PathAlternatives,
    /// The calls: several rules, if calls are in several places.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) tool_calls: Vec<CallRule>,
    /// Results of calls, with the id of the call.
    #[serde(deserialize_with = "one_or_many")]
    pub(super) results: Vec<CallRule>,
    pub(super) stop_reason: PathAlternatives,
    /// An object with tokens, by any of the names of `openai_chat`.
    pub(super) usage: PathAlternatives,
    /// Failures, in any shape that [`fault`](crate::fault) reads.
    #[serde(alias = "error")]
    pub(super) errors: PathAlternatives,
    /// Something that is truthy at the end of the run.
    pub(super) done: PathAlternatives,
}

/// The places of the calls, and of the fields in each; the paths of the fields start at the call.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CallRule {
    /// The calls; the whole object if it is left out.
    pub(super) path: PathAlternatives,
    pub(super) id: PathAlternatives,
    /// What pieces of one call have in common.
    pub(super) index: PathAlternatives,
    pub(super) name: PathAlternatives,
    pub(super) arguments: PathAlternatives,
    /// The output, if the call or result has one.
    #[serde(alias = "output")]
    pub(super) result: PathAlternatives,
    /// `true`, or what failed.
    pub(super) error: PathAlternatives,
}

impl CallRule {
    /// A rule for calls at `path` with the usual names of their fields.
    fn usual(path: PathAlternatives) -> Result<Self, String> {
        let paths = |texts: &[&str]| {
            texts.iter().map(|text| parse_path(text)).collect::<Result<_, _>>().map(PathAlternatives)
        };
        Ok(Self {
            path,
            id: paths(&["$.id", "$.call_id", "$.tool_call_id", "$.tool_use_id"])?,
            index: paths(&["$.index"])?,
            name: paths(&["$.name", "$.function.name", "$.tool_name"])?,
            arguments: paths(&["$.input", "$.arguments", "$.function.arguments", "$.args"])?,
            result: paths(&["$.result", "$.output", "$.content"])?,
            error: paths(&["$.error", "$.is_error"])?,
        })
    }
}

/// Paths that are tried in their order: where there can be several values each path counts, where there is
/// one the first that finds something.
#[derive(Debug, Default)]
pub(super) struct PathAlternatives(Vec<JsonPath>);

impl PathAlternatives {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All values that the paths find.
    pub(super) fn all<'v>(&self, value: &'v Value) -> impl Iterator<Item = &'v Value> {
        self.0.iter().flat_map(|path| path.query(value).all())
    }

    /// The first value that the paths find and that is not `null`.
    pub(super) fn first<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.all(value).find(|found| !found.is_null())
    }
}

/// Reads a path. Filters without `@` (`[?type=='tool_use']`) are common and mean the field of the item. Fails
/// if the path is none, or longer or deeper than the bounds (I7).
fn parse_path(text: &str) -> Result<JsonPath, String> {
    // The parser recurses for each bracket, so the length is bounded.
    if text.len() > JSON_PATH_BYTES_MAX {
        return Err(format!("a JSONPath of {} bytes; the limit is {JSON_PATH_BYTES_MAX}", text.len()));
    }
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '[' | '(' => depth = depth.saturating_add(1),
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > JSON_PATH_DEPTH_MAX {
            return Err(format!("a JSONPath of more than {JSON_PATH_DEPTH_MAX} brackets inside one another"));
        }
    }
    JsonPath::parse(text).or_else(|error| {
        let mended = mend_filters(text);
        JsonPath::parse(&mended).map_err(|_as_bad| format!("{text:?} is not a JSONPath: {error}"))
    })
}

/// A path in which filters have the `@` that RFC 9535 demands.
fn mend_filters(text: &str) -> String {
    let mut mended = String::with_capacity(text.len().saturating_add(8));
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[?") {
        mended.push_str(before);
        mended.push_str("[?");
        let inside = after.trim_start_matches(['(', ' ']);
        let opened = after.len().saturating_sub(inside.len());
        mended.push_str(after.get(..opened).unwrap_or_default());
        if inside.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            mended.push_str("@.");
        }
        rest = inside;
    }
    mended.push_str(rest);
    mended.replace("==='", "=='")
}

impl<'de> Deserialize<'de> for PathAlternatives {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = PathAlternatives;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSONPath or a list of them")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<PathAlternatives, E> {
                Ok(PathAlternatives(vec![parse_path(text).map_err(E::custom)?]))
            }

            fn visit_unit<E>(self) -> Result<PathAlternatives, E> {
                Ok(PathAlternatives::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PathAlternatives, A::Error> {
                let mut paths = Vec::new();
                while let Some(text) = seq.next_element::<String>()? {
                    paths.push(parse_path(&text).map_err(A::Error::custom)?);
                }
                Ok(PathAlternatives(paths))
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

/// A path, a rule, or a list of rules.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CallRule>, D::Error> {
    struct OneOrMany;
    impl<'de> Visitor<'de> for OneOrMany {
        type Value = Vec<CallRule>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a JSONPath, a rule, or a list of rules")
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let path = PathAlternatives(vec![parse_path(text).map_err(E::custom)?]);
            Ok(vec![CallRule::usual(path).map_err(E::custom)?])
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Ok(vec![CallRule::deserialize(MapAccessDeserializer::new(map))?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq))
        }
    }
    deserializer.deserialize_any(OneOrMany)
}

/// The file: what it describes, and whose it is.
#[derive(Debug, Deserialize)]
struct DescriptionFile {
    provider: ProviderName,
    stream: StreamDescription,
}

/// The provider of the dialect. Its other keys are for programs that call the provider.
#[derive(Debug, Deserialize)]
struct ProviderName {
    #[serde(deserialize_with = "name")]
    name: CompactString,
}

/// The part of the file that says how a stream is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamDescription {
    #[serde(default)]
    format: CustomFormat,
    extract: ExtractionRules,
    /// Only for programs that call the provider.
    #[serde(default, rename = "enabled")]
    _enabled: IgnoredAny,
    /// Only for programs that call the provider.
    #[serde(default, rename = "sinks")]
    _sinks: IgnoredAny,
}

/// Reads a name that can be in a URL.
fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CompactString, D::Error> {
    let name = CompactString::deserialize(deserializer)?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(D::Error::custom("a name has 1 to 64 lower case letters, digits, `-` and `_`"));
    }
    Ok(name)
}

/// Reads a description. An error has the line of the file and the key on it.
pub(super) fn parse(yaml: &str) -> Result<DialectDescription, UserDialectError> {
    let file: DescriptionFile = serde_saphyr::from_str(yaml).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        let text = yaml.lines().nth(at).unwrap_or_default().trim().trim_start_matches("- ");
        let key = text.split_once(':').map_or(text, |(key, _)| key).trim().to_owned();
        let why = error.without_snippet().to_string();
        UserDialectError { line, key, why: why.lines().next().unwrap_or_default().to_owned() }
    })?;
    Ok(DialectDescription {
        name: file.provider.name,
        format: file.stream.format,
        rules: file.stream.extract,
    })
}
