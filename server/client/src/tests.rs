//! Addresses of a hub and what is made of them. Clients against a real hub are in `tests/it/client.rs`.

use super::*;

fn address(text: &str) -> HubAddress {
    text.parse().expect("an address")
}

#[test]
fn the_doors_of_a_hub_stand_below_its_address() {
    let conversation = "a b/ü?".replace('/', "_").parse().expect("a name");
    for base in ["http://127.0.0.1:4600", "http://127.0.0.1:4600/"] {
        let hub = address(base);
        assert_eq!(hub.socket(), "ws://127.0.0.1:4600/v1/ws");
        let ingest = hub.ingest("openai-chat", &conversation);
        assert_eq!(ingest.as_str(), "http://127.0.0.1:4600/v1/ingest/openai-chat/a%20b_%C3%BC%3F");
        assert_eq!(hub.to_string(), "http://127.0.0.1:4600");
    }
    assert_eq!(address("http://x/behind/").socket(), "ws://x/behind/v1/ws");
}

#[test]
fn an_address_that_cannot_be_used_is_refused_with_a_remedy() {
    for text in ["", "127.0.0.1:4600", "https://", "ftp://x"] {
        let error = text.parse::<HubAddress>().expect_err(text);
        assert!(error.to_string().contains("http"), "{error}");
    }
}

#[test]
fn a_token_never_shows_in_a_trace() {
    let hub = address("http://127.0.0.1:4600").with_token(Some("sesame".to_owned()));
    assert_eq!(hub.token(), Some("sesame"));
    assert!(!format!("{hub:?} {hub}").contains("sesame"));
}

#[test]
fn a_password_in_an_address_is_used_and_never_shown() {
    let hub = address("http://ann:sesame@127.0.0.1:4600/behind/");
    assert_eq!(format!("{hub}"), "http://127.0.0.1:4600/behind");
    assert!(!format!("{hub:?}").contains("sesame"));
    let url = hub.events(&"c".parse().expect("a name"));
    assert_eq!(url.password(), Some("sesame"), "a server in front of the hub may ask for it");
    for wrong in ["ftp://ann:sesame@hub.example/x", "ann:sesame@hub.example:1", "http://ann:ses@me@[::x]/"] {
        let error = wrong.parse::<HubAddress>().expect_err(wrong).to_string();
        assert!(!error.contains("ses") && !error.contains("ann"), "{error}");
    }
}

#[test]
fn a_hub_over_tls_is_reached_by_https_and_wss() {
    let hub = address("https://hub.example/behind");
    assert!(hub.is_tls());
    assert_eq!(hub.socket(), "wss://hub.example/behind/v1/ws");
    assert_eq!(hub.agents().as_str(), "https://hub.example/behind/v1/agents");
    assert_eq!(hub.to_string(), "https://hub.example/behind");
}

#[test]
fn a_token_crosses_no_network_in_plain_text_unless_that_is_accepted() {
    let with_token = |text: &str| address(text).with_token(Some("sesame".to_owned()));
    for near in ["http://127.0.0.1:4600", "http://localhost", "http://[::1]:4600", "http://hub.localhost:1"] {
        with_token(near).check_secrecy().expect(near);
    }
    for safe in [with_token("https://hub.example"), address("http://hub.example")] {
        safe.check_secrecy().expect("no secret in plain text");
    }
    for far in [
        with_token("http://hub.example"),
        with_token("http://10.0.0.7:4600"),
        with_token("http://localhost.example"),
        address("http://ann:sesame@hub.example"),
    ] {
        let error = far.check_secrecy().expect_err("a secret in plain text").to_string();
        assert!(error.contains(&far.to_string()) && !error.contains("sesame"), "{error}");
        far.accepting_plain_token().check_secrecy().expect("accepted");
    }
}

#[test]
fn certificates_that_cannot_be_used_are_named_at_once() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("empty.pem");
    std::fs::write(&file, "").expect("a file");
    for wrong in [file, place.path().join("nowhere.pem")] {
        let error = address("https://hub.example").with_ca(Some(wrong.clone())).expect_err("no certificate");
        assert!(error.to_string().contains(&wrong.display().to_string()), "{error}");
    }
}

#[tokio::test]
async fn a_client_sends_nothing_where_its_token_would_be_read() {
    let far = address("http://hub.invalid:4600").with_token(Some("sesame".to_owned()));
    let refused = HubLink::open(&far).await.expect_err("the token is kept back");
    assert!(refused.to_string().contains("in plain text"), "{refused}");
    let url = far.agents();
    let refused = download::<PublishError>(&far, url, |_piece| Ok(())).await.expect_err("the same");
    assert!(refused.to_string().contains("in plain text"), "{refused}");
}
