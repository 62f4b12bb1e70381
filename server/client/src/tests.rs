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
