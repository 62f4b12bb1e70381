//! What a caller says about how the model is to answer: `temperature`, `stop`, `response_format` and others, by their names
//! in OpenAI's API. They are passed on to models of that API as they came; for Anthropic's API those that it has are
//! written in its form.

use serde_json::{Map, Value, json};

use crate::settings::ModelApi;

/// The fields that are passed on.
pub const SAMPLING: [&str; 13] = [
    "temperature",
    "top_p",
    "max_tokens",
    "max_completion_tokens",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "reasoning_effort",
    "verbosity",
    "parallel_tool_calls",
    "response_format",
];

/// The most bytes of these fields together, as JSON: a schema in `response_format` is the longest of them.
pub const SAMPLING_BYTES_MAX: usize = 64 << 10;

/// Whether models of this API can be told the field.
pub(crate) fn takes(api: ModelApi, field: &str) -> bool {
    match api {
        ModelApi::OpenAi => true,
        ModelApi::Anthropic => {
            matches!(field, "temperature" | "top_p" | "max_tokens" | "max_completion_tokens" | "stop")
        }
    }
}

/// Puts what the caller gave into a request. The bound of tokens only falls: the settings' own holds too.
pub(crate) fn put(api: ModelApi, given: &Map<String, Value>, request: &mut Map<String, Value>) {
    for (name, value) in given.iter().filter(|(name, _)| takes(api, name)) {
        let (name, value) = match (name.as_str(), api) {
            ("max_tokens" | "max_completion_tokens", _) => {
                let own = request.get("max_tokens").and_then(Value::as_u64).unwrap_or(u64::MAX);
                let is_less = value.as_u64().is_none_or(|given| given < own);
                if !is_less {
                    continue;
                }
                let name = if api == ModelApi::Anthropic { "max_tokens" } else { name };
                if name != "max_tokens" {
                    request.remove("max_tokens");
                }
                (name, value.clone())
            }
            ("stop", ModelApi::Anthropic) => {
                ("stop_sequences", if value.is_array() { value.clone() } else { json!([value]) })
            }
            (name, _) => (name, value.clone()),
        };
        request.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    //! Tests of what each API is told.

    use super::*;

    fn told(api: ModelApi, given: Value, own: Value) -> Value {
        let Value::Object(given) = given else { panic!("an object") };
        let Value::Object(mut own) = own else { panic!("an object") };
        put(api, &given, &mut own);
        own.into()
    }

    #[test]
    fn openai_is_told_everything_as_it_came() {
        let given = json!({"temperature": 0.1, "stop": ["a"], "response_format": {"type": "json_object"}});
        let told = told(ModelApi::OpenAi, given.clone(), json!({"model": "m"}));
        assert_eq!(told["temperature"], given["temperature"]);
        assert_eq!(told["response_format"], given["response_format"]);
    }

    #[test]
    fn anthropic_is_told_what_it_has_in_its_own_words() {
        let given = json!({"temperature": 1, "stop": "end", "seed": 7, "max_completion_tokens": 10});
        let told = told(ModelApi::Anthropic, given, json!({"max_tokens": 8192}));
        assert_eq!(told, json!({"max_tokens": 10, "temperature": 1, "stop_sequences": ["end"]}));
    }

    #[test]
    fn the_bound_of_the_settings_holds() {
        let of =
            |given: u64| told(ModelApi::OpenAi, json!({"max_tokens": given}), json!({"max_tokens": 100}));
        assert_eq!(of(50), json!({"max_tokens": 50}));
        assert_eq!(of(500), json!({"max_tokens": 100}));
        let newer = told(ModelApi::OpenAi, json!({"max_completion_tokens": 5}), json!({"max_tokens": 100}));
        assert_eq!(newer, json!({"max_completion_tokens": 5}));
    }
}
