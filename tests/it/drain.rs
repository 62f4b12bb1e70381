//! A clean stop (I13).

use model::code::CloseCode;
use tests::TestHub;
use tests::wire::WebSocketWire;

#[tokio::test]
async fn i13_sigterm_tells_everybody_to_come_back_and_ends_with_0() {
    let mut hub = TestHub::start().await;
    let mut wires = Vec::new();
    for _ in 0..5 {
        wires.push(WebSocketWire::connect(hub.address()).await);
    }
    let mut viewer = hub.view("c").await;
    let head = hub.publisher("c").await.says(r#"{"k":"run.start","run":"r"}"#).await.seq;
    viewer.reach(head).await;
    let code = hub.stop().await;
    for mut wire in wires {
        let (said, _) = wire.end().await;
        assert_eq!(said, Some(CloseCode::ShuttingDown.number()));
    }
    assert_eq!(viewer.wire().end().await.0, Some(4000));
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn i13_a_body_that_is_still_open_does_not_hold_the_hub_up() {
    let mut hub = TestHub::start().await;
    let mut viewer = hub.view("c").await;
    let mut body = hub.ingest("fanlight", "c");
    body.write("{\"k\":\"run.start\",\"run\":\"r\"}\n").await;
    viewer.reach(1).await;
    assert_eq!(hub.stop().await, Some(0));
    body.abort().await;
}
