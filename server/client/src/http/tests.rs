//! Tests of requests to a hub.

use super::*;

#[test]
fn a_hub_is_shown_its_token_or_the_name_in_its_url() {
    let of = |url: &str, token: Option<&str>| {
        let address = url.parse::<HubAddress>().unwrap().with_token(token.map(str::to_owned));
        let url = address.export(&model::ConversationId::parse("c").unwrap(), "native");
        authorization(&address, &url).map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(of("http://a.example", None), None);
    assert_eq!(of("http://a.example", Some("t0")).unwrap(), "Bearer t0");
    assert_eq!(of("http://agent:hunter%2022@a.example", None).unwrap(), "Basic YWdlbnQ6aHVudGVyIDIy");
    assert_eq!(of("http://agent:hunter@a.example", Some("t0")).unwrap(), "Bearer t0");
}

#[test]
fn a_refusal_says_what_its_problem_says() {
    assert_eq!(message(br#"{"code":"bad_event","detail":"no k"}"#), "bad_event: no k");
    assert_eq!(message(b"<html>"), "<html>");
}
