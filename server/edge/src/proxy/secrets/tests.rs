//! Tests of keys that are struck out.

use super::*;

const KEY: &str = "sk-ab/cd+ef=01";

fn secrets() -> Secrets {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", format!("Bearer {KEY}").parse().unwrap());
    headers.insert("cookie", "a=1; session=cookie-value; short=x".parse().unwrap());
    Secrets::of(&headers, Some("alt=sse&key=query%2Fkey-7"), None)
}

fn struck(text: &str) -> String {
    let mut text = text.to_owned();
    secrets().strike_failure(&mut text);
    text
}

#[test]
fn keys_are_struck_out_however_they_are_written() {
    for written in
        [KEY, r"sk-ab\/cd+ef=01", "sk%2Dab%2Fcd%2Bef%3D01", "cookie-value", "query%2Fkey-7", "query/key-7"]
    {
        assert_eq!(
            struck(&format!("Received API key = {written}, which is wrong")),
            "Received API key = [key], which is wrong"
        );
    }
    assert_eq!(struck(&format!("Bearer {KEY}")), "[key]");
    assert_eq!(struck("Bearer session short a=1"), "Bearer session short a=1");
    assert_eq!(Secrets::default().struck(b"sk-", Within::Failures), b"sk-");
}

#[test]
fn what_is_sent_packed_is_struck_out_plain_too() {
    let of = |header: &str, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::try_from(header).unwrap(), value.parse().unwrap());
        Secrets::of(&headers, None, None)
    };
    let struck = |secrets: &Secrets, text: &str| {
        let mut text = text.to_owned();
        secrets.strike_failure(&mut text);
        text
    };
    // agent-seven:hunter-22-password
    let basic = of("authorization", "Basic YWdlbnQtc2V2ZW46aHVudGVyLTIyLXBhc3N3b3Jk");
    for written in [
        "YWdlbnQtc2V2ZW46aHVudGVyLTIyLXBhc3N3b3Jk",
        "agent-seven:hunter-22-password",
        "hunter-22-password",
        "agent-seven",
        "hunter%2D22%2Dpassword",
    ] {
        assert_eq!(struck(&basic, &format!("wrong: {written}!")), "wrong: [key]!", "{written}");
    }
    // sk-key-as-a-name: with no password
    let padded = of("authorization", "Basic c2sta2V5LWFzLWEtbmFtZTo=");
    assert_eq!(struck(&padded, "wrong: sk-key-as-a-name!"), "wrong: [key]!");
    for header in ["x-auth-token", "ocp-apim-subscription-key", "cf-aig-authorization", "proxy-authorization"]
    {
        assert_eq!(struck(&of(header, KEY), &format!("wrong: {KEY}!")), "wrong: [key]!", "{header}");
    }
}

#[test]
fn a_quotation_that_breaks_off_in_a_key_has_nothing_of_it() {
    assert_eq!(struck("you sent sk-ab/cd+…"), "you sent [key]");
    assert_eq!(struck("you sent sk-ab"), "you sent sk-ab");
}

#[test]
fn i11_a_body_is_struck_however_it_is_cut() {
    let secrets = Arc::new(secrets());
    let body = format!("<p>{KEY}{KEY} sk-ab/ {KEY}</p> sk-ab");
    for size in 1..body.len() {
        let mut strike = Strike::new(&secrets);
        let mut out: Vec<u8> = body.as_bytes().chunks(size).flat_map(|piece| strike.feed(piece)).collect();
        out.extend(strike.rest());
        assert_eq!(String::from_utf8(out).unwrap(), "<p>[key][key] sk-ab/ [key]</p> sk-ab", "{size}");
    }
}

#[test]
fn what_may_be_a_key_is_struck_out_of_sentences_only_where_it_looks_like_one() {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", "Negotiate swordfish".parse().unwrap());
    headers.insert("cookie", "consent=accepted; id=a8f3e2b19c".parse().unwrap());
    headers.insert("api-key", "lm-studio".parse().unwrap());
    let secrets = Secrets::of(&headers, Some("sig=abcdefgh&api-version=2024-10-21"), None);
    let said = "Negotiate swordfish accepted a8f3e2b19c lm-studio abcdefgh 2024-10-21";
    assert_eq!(secrets.without(said, Within::Words), "[key] accepted [key] lm-studio [key] 2024-10-21");
    assert_eq!(secrets.without("Negotiate, swordfish", Within::Words), "Negotiate, [key]");
    assert_eq!(secrets.without(said, Within::Failures), "[key] [key] [key] [key] [key] 2024-10-21");
}

#[test]
fn keys_are_not_printed() {
    let secrets = Arc::new(secrets());
    let mut strike = Strike::new(&secrets);
    strike.feed(b"sk-ab");
    assert!(!format!("{secrets:?} {strike:?}").contains(&format!("{:?}", b's')));
}

#[test]
fn the_key_of_the_hub_is_struck_out_too() {
    let key = "Basic YWdlbnQ6aHVudGVyLTIy".parse().unwrap();
    let secrets = Secrets::of(&HeaderMap::new(), None, Some(&key));
    for written in ["YWdlbnQ6aHVudGVyLTIy", "hunter-22", "agent:hunter-22"] {
        let mut text = format!("wrong: {written}!");
        secrets.strike_failure(&mut text);
        assert_eq!(text, "wrong: [key]!");
    }
}
