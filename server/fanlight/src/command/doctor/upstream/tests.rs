//! Where keys are looked for.

use super::*;
use ::upstream::Api;

#[test]
fn a_key_is_missed_where_one_is_needed() {
    let variables = BTreeMap::from([
        (String::from("GOOGLE_API_KEY"), String::from("sk-1")),
        (String::from("MY_GATE_WAY_API_KEY"), String::from("sk-2")),
        (String::from("OPENAI_API_KEY"), String::new()),
    ]);
    let far = ModelEndpoint { api: Api::OpenAi, is_near: false };
    let of = |name: &str, model: ModelEndpoint| {
        let (key, finding) = key(name, model, &variables);
        (key, finding.ok)
    };
    assert_eq!(of("gemini", far), (Some("sk-1"), true));
    assert_eq!(of("my-gate.way", far), (Some("sk-2"), true));
    assert_eq!(of("openai", far), (None, false));
    assert_eq!(of("lmstudio", ModelEndpoint { is_near: true, ..far }), (None, true));
}
