//! Publishing with acks: exactly once for each publisher.

use model::code::ErrorCode;
use model::frame::{Durability, ServerFrame};
use tests::TestHub;

const EVENT: &str = r#"{"k":"run.start","run":"r"}"#;

#[tokio::test]
async fn an_ack_names_the_position_and_what_it_means() {
    let hub = TestHub::start().await;
    let ack = hub.publisher("c").await.says(EVENT).await;
    assert_eq!((ack.seq, ack.events, ack.duplicate, ack.durability), (1, 1, false, Durability::Stored));
    let hub = TestHub::start_in_memory().await;
    let ack = hub.publisher("c").await.says(EVENT).await;
    assert_eq!((ack.seq, ack.durability), (1, Durability::Memory));
}

#[tokio::test]
async fn i10_a_frame_that_comes_twice_is_acked_twice_and_taken_once() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.publish(1, EVENT).await.unwrap();
    let again = publisher.publish(1, EVENT).await.unwrap();
    assert_eq!((again.duplicate, again.events, again.seq), (true, 0, 1));
    // The same from another socket: a publisher is known by its name, not by its connection.
    let again = hub.publisher("c").await.publish(1, EVENT).await.unwrap();
    assert!(again.duplicate);
}

#[tokio::test]
async fn i10_a_gap_is_refused_with_the_number_that_is_expected() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.publish(1, EVENT).await.unwrap();
    let refused = publisher.publish(3, EVENT).await.unwrap_err();
    let ServerFrame::Error { id, code, expected, .. } = refused else { panic!("{refused:?}") };
    assert_eq!((id, code, expected), (Some(3), ErrorCode::PublisherGap, Some(2)));
    assert_eq!(publisher.publish(2, EVENT).await.unwrap().seq, 2);
}

#[tokio::test]
async fn i10_of_numbered_events_each_is_taken_once_however_they_are_cut() {
    let hub = TestHub::start().await;
    let says = |words: std::ops::RangeInclusive<u64>| {
        let line = |word| format!("{{\"k\":\"status\",\"run\":\"r\",\"text\":\"{word}\"}}\n");
        words.map(line).collect::<String>()
    };
    let mut publisher = hub.publisher("c").await;
    publisher.numbered(1, &says(1..=4)).await.unwrap();
    let rest = publisher.numbered(3, &says(3..=6)).await.unwrap();
    assert_eq!((rest.events, rest.seq, rest.duplicate), (2, 6, false));
    assert!(publisher.numbered(2, &says(2..=5)).await.unwrap().duplicate);
    let refused = publisher.numbered(9, &says(9..=9)).await.unwrap_err();
    assert!(matches!(refused, ServerFrame::Error { expected: Some(7), .. }), "{refused:?}");
    // Without events it is a question: whether everything up to the number before was taken.
    assert!(publisher.numbered(7, "").await.unwrap().duplicate);
    let refused = publisher.numbered(8, "").await.unwrap_err();
    assert!(matches!(refused, ServerFrame::Error { expected: Some(7), .. }), "{refused:?}");
    // The same over HTTP.
    let post = async |header: &str, body: String| {
        let request = hub.request("POST", "/v1/conversations/c/events").header("fanlight-publisher", header);
        request.body(body).send().await.unwrap().status().as_u16()
    };
    assert_eq!(post("tests/1/6-8", says(6..=8)).await, 200);
    assert_eq!(post("tests/1/9-9", says(9..=10)).await, 400);
    assert_eq!(post("tests/1/10-10", says(10..=10)).await, 409);
    let events = hub.request("GET", "/v1/conversations/c/events").header("accept", "application/x-ndjson");
    let text = events.send().await.unwrap().text().await.unwrap();
    let words = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let words: Vec<_> = words.map(|event| event["text"].as_str().unwrap().parse::<u64>().unwrap()).collect();
    assert_eq!(words, (1..=8).collect::<Vec<_>>());
}

#[tokio::test]
async fn i10_an_older_life_is_fenced_off() {
    let hub = TestHub::start().await;
    let mut old = hub.publisher("c").await;
    old.publish(1, EVENT).await.unwrap();
    let mut new = hub.publisher("c").await;
    new.life = 2;
    new.publish(1, EVENT).await.unwrap();
    let refused = old.publish(2, EVENT).await.unwrap_err();
    assert!(matches!(refused, ServerFrame::Error { code: ErrorCode::PublisherFenced, .. }), "{refused:?}");
}

#[tokio::test]
async fn native_events_can_be_posted_as_array_or_lines_and_are_exactly_once_too() {
    let hub = TestHub::start().await;
    let post = async |publisher: &str, body: &str| {
        let request =
            hub.request("POST", "/v1/conversations/c/events").header("fanlight-publisher", publisher);
        let answer = request.body(body.to_owned()).send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json::<serde_json::Value>().await.unwrap())
    };
    let (status, answer) =
        post("agent/1/1", &format!("[{EVENT},{{\"k\":\"status\",\"run\":\"r\",\"text\":\"on it\"}}]")).await;
    assert_eq!(
        (status, answer["position"]["seq"].as_u64(), answer["events"].as_u64()),
        (200, Some(2), Some(2))
    );
    let (status, answer) = post("agent/1/1", EVENT).await;
    assert_eq!((status, answer["events"].as_u64()), (200, Some(0)));
    let (status, answer) = post("agent/1/2", &format!("{EVENT}\n{EVENT}\n")).await;
    assert_eq!((status, answer["position"]["seq"].as_u64()), (200, Some(4)));
    let (status, answer) = post("agent/1/9", EVENT).await;
    assert_eq!((status, answer["code"].as_str()), (409, Some("publisher_gap")));
    // A request with one bad event is refused as a whole, and says which.
    let (status, answer) = post("agent/1/3", &format!("[{EVENT},{{\"k\":\"part.end\"}}]")).await;
    assert_eq!((status, answer["code"].as_str()), (400, Some("bad_event")));
    assert!(answer["detail"].as_str().unwrap().contains("event 1"), "{answer}");
    assert_eq!(hub.summary("c").await["events"], 4);
}
