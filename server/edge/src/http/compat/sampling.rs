//! How the model is to answer, as callers of all doors say it: `temperature`, `max_tokens`, `response_format` and the other
//! names of [`SAMPLING`], or the names that the AI SDK has for some of them.
//!
//! | door | place |
//! |---|---|
//! | OpenAI's and Bernard's chat completions, Forge, Deep Agent, Ralph, the AI SDK | fields of the body |
//! | AG-UI | fields of `forwardedProps` |
//! | LangGraph's platform | fields of `context`, or of `config.configurable` |

use agents::Agents;
use agents::{Refusal, SAMPLING, SAMPLING_BYTES_MAX};
use model::code::ErrorCode;
use serde_json::{Map, Value};

/// Other names of fields, as the AI SDK writes them.
const ALIASES: [(&str, &str); 6] = [
    ("topP", "top_p"),
    ("maxOutputTokens", "max_tokens"),
    ("stopSequences", "stop"),
    ("presencePenalty", "presence_penalty"),
    ("frequencyPenalty", "frequency_penalty"),
    ("responseFormat", "response_format"),
];

/// The fields of `place` that say how the model is to answer, by their names in [`SAMPLING`]; none if `place` is no object. A field that is
/// given by both of its names counts by that of [`SAMPLING`]. Fails with `bad_request` if they have more than [`SAMPLING_BYTES_MAX`] bytes
/// together.
pub(super) fn given(place: Option<&Value>) -> Result<Map<String, Value>, Refusal> {
    let Some(Value::Object(fields)) = place else { return Ok(Map::new()) };
    let named = ALIASES.into_iter().chain(SAMPLING.into_iter().map(|name| (name, name)));
    let mut found = Map::new();
    for (given, name) in named {
        if let Some(value) = fields.get(given).filter(|value| !value.is_null()) {
            found.insert(name.to_owned(), value.clone());
        }
    }
    match too_long(&found) {
        Some(why) => Err(Refusal::new(ErrorCode::BadRequest, format!("response_format: {why}"))),
        None => Ok(found),
    }
}

/// Why these fields are not taken: they have too many bytes together. `None` if they have not.
pub(super) fn too_long(fields: &Map<String, Value>) -> Option<String> {
    let bytes = serde_json::to_string(fields).map_or(0, |text| text.len());
    (bytes > SAMPLING_BYTES_MAX).then(|| {
        format!("with the other fields for the model it has {bytes} bytes, the limit is {SAMPLING_BYTES_MAX}")
    })
}

/// Whether all fields of an object say how the model is to answer, so that nothing of it is left out.
pub(super) fn is_all(place: Option<&Value>) -> bool {
    let is_known =
        |name: &String| SAMPLING.contains(&name.as_str()) || ALIASES.iter().any(|(alias, _)| alias == name);
    place.and_then(Value::as_object).is_some_and(|fields| fields.keys().all(is_known))
}

/// The names of fields in `given` that the agent cannot pass on to its model. Fails with `bad_request` for a form of the answer: its absence would be
/// missed.
pub(super) fn left_out(
    agents: &Agents,
    agent: &str,
    given: &Map<String, Value>,
) -> Result<Vec<&'static str>, Refusal> {
    let refused = agents.refuses_of_sampling(agent, given);
    match no_form(agent, &refused, given) {
        Some(why) => Err(Refusal::new(ErrorCode::BadRequest, format!("response_format: {why}"))),
        None => Ok(refused),
    }
}

/// Why a form of the answer that is asked for cannot be had; `None` if it can, or if none but text is asked for.
pub(super) fn no_form(agent: &str, refused: &[&str], given: &Map<String, Value>) -> Option<String> {
    let is_text = given.get("response_format").is_some_and(|format| format["type"] == "text");
    (refused.contains(&"response_format") && !is_text).then(|| {
        format!(
            "the agent {agent} passes no form of the answer on: its model has none in its API, or it runs elsewhere"
        )
    })
}

#[cfg(test)]
mod tests {
    //! Tests of the names of fields.

    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_read_by_both_of_their_names() {
        let place = json!({"id": "c", "temperature": 0.1, "topP": 0.5, "maxOutputTokens": 9, "max_tokens": 7,
            "stopSequences": ["a"], "seed": null});
        let found = given(Some(&place)).unwrap();
        assert_eq!(
            Value::Object(found),
            json!({"temperature": 0.1, "top_p": 0.5, "max_tokens": 7, "stop": ["a"]})
        );
        assert_eq!(given(None).unwrap(), Map::new());
        assert_eq!(given(Some(&json!("x"))).unwrap(), Map::new());
    }

    #[test]
    fn an_object_with_anything_else_is_not_taken_whole() {
        assert!(is_all(Some(&json!({"temperature": 1, "topP": 1}))));
        assert!(!is_all(Some(&json!({"temperature": 1, "user": "x"}))));
    }

    #[test]
    fn i7_fields_that_are_too_long_together_are_refused() {
        let long =
            json!({"response_format": {"type": "json_schema", "name": "x".repeat(SAMPLING_BYTES_MAX)}});
        let refused = given(Some(&long)).unwrap_err();
        assert!(refused.why.starts_with("response_format: ") && refused.why.contains("65536"), "{refused:?}");
    }
}
