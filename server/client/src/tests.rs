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
    for text in ["", "127.0.0.1:4600", "https://hub.example", "ftp://x"] {
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
    for wrong in ["https://ann:sesame@hub.example/x", "ann:sesame@hub.example:1", "http://ann:ses@me@[::x]/"]
    {
        let error = wrong.parse::<HubAddress>().expect_err(wrong).to_string();
        assert!(!error.contains("ses") && !error.contains("ann"), "{error}");
    }
}
