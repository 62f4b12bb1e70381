//! Publishing with acks: exactly once for each publisher.

use shared::code::ErrorCode;
use shared::frame::{Durability, ServerFrame};
use tests::Hub;

const EVENT: &str = r#"{"k":"run.start","run":"r"}"#;

#[tokio::test]
async fn an_ack_names_the_position_and_what_it_means() {
    let hub = Hub::start().await;
    let ack = hub.publisher("c").await.says(EVENT).await;
    assert_eq!((ack.seq, ack.events, ack.duplicate, ack.durability), (1, 1, false, Durability::Memory));
}

#[tokio::test]
async fn i10_a_frame_that_comes_twice_is_acked_twice_and_taken_once() {
    let hub = Hub::start().await;
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
    let hub = Hub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.publish(1, EVENT).await.unwrap();
    let refused = publisher.publish(3, EVENT).await.unwrap_err();
    let ServerFrame::Error { id, code, expected, .. } = refused else { panic!("{refused:?}") };
    assert_eq!((id, code, expected), (Some(3), ErrorCode::PublisherGap, Some(2)));
    assert_eq!(publisher.publish(2, EVENT).await.unwrap().seq, 2);
}

#[tokio::test]
async fn i10_an_older_life_is_fenced_off() {
    let hub = Hub::start().await;
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
    let hub = Hub::start().await;
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
