//! Commands over a socket: the same as over HTTP, each done once, whichever door it comes through.

use model::code::ErrorCode;
use model::command::Done;
use model::frame::ServerFrame;
use model::limits::COMMANDS_WAITING_MAX;
use serde_json::{Value, json};
use tests::wire::WebSocketWire;
use tests::{ScriptedServer, ServerStep};

use super::proxy::{STREAM, piece};
use super::runner::{answer, command, hub_with, last_run, runs, say};

/// Commands something in the conversation `c` over `wire`, and takes the answer.
async fn over(wire: &mut WebSocketWire, body: Value) -> ServerFrame {
    wire.send_text(json!({"t": "command", "conv": "c", "command": body}).to_string()).await;
    wire.frame().await
}

fn done(frame: ServerFrame) -> Done {
    let ServerFrame::Done(done) = frame else { panic!("{frame:?}") };
    done
}

fn refused(frame: ServerFrame) -> (String, ErrorCode) {
    let ServerFrame::Refused { id, code, .. } = frame else { panic!("{frame:?}") };
    (id.to_string(), code)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_done_once_whichever_door_it_comes_through() {
    let origin = ScriptedServer::start(|_| answer("Once")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let body = json!({"id": "Hello", "command": "say", "agent": "helper", "text": "Hello"});
    let first = done(over(&mut wire, body.clone()).await);
    assert_eq!(done(over(&mut wire, body).await), first);
    assert_eq!(say(&hub, "Hello").await, serde_json::to_value(&first).unwrap());
    let mut other = WebSocketWire::connect(hub.address()).await;
    let body = json!({"id": "Hello", "command": "stop"});
    assert_eq!(done(over(&mut other, body).await), first, "the id is what counts");
    assert_eq!(last_run(&hub).await["status"], "complete");
    assert_eq!(origin.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_is_refused_by_its_id() {
    let origin = ScriptedServer::start(|_| answer("Hello")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let stop = json!({"id": "1", "command": "stop"});
    assert_eq!(refused(over(&mut wire, stop).await), ("1".into(), ErrorCode::UnknownConversation));
    let say = json!({"id": "2", "command": "say", "agent": "nobody", "text": "x"});
    assert_eq!(refused(over(&mut wire, say).await), ("2".into(), ErrorCode::UnknownAgent));
    let dance = json!({"id": "3", "command": "dance"});
    assert_eq!(refused(over(&mut wire, dance).await), ("3".into(), ErrorCode::BadRequest));
    let say = json!({"id": "1", "command": "say", "agent": "helper", "text": "x"});
    assert_eq!(done(over(&mut wire, say).await).id, "1", "what was refused may be tried again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_that_goes_away_takes_nothing_back() {
    let origin = ScriptedServer::start(|_| {
        vec![ServerStep::begin("200 OK", &STREAM), ServerStep::piece(&piece("Well")), ServerStep::Silence]
    })
    .await;
    let (hub, _place) = hub_with(&origin, "").await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let said =
        done(over(&mut wire, json!({"id": "1", "command": "say", "agent": "helper", "text": "Hello"})).await);
    drop(wire);
    let going = runs(&hub, |runs| runs.first().is_some_and(|run| run["text"] == "Well")).await;
    assert_eq!(going[0]["id"], said.run.unwrap().as_str());
    assert_eq!(command(&hub, json!({"id": "2", "command": "stop"})).await.0, 200);
    assert_eq!(last_run(&hub).await["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_keep_their_order_and_each_is_answered() {
    let origin = ScriptedServer::start(|_| answer("Hello")).await;
    let (hub, _place) = hub_with(&origin, "").await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let many = COMMANDS_WAITING_MAX * 4;
    for number in 0..many {
        let body = json!({"id": number.to_string(), "command": "fork", "into": format!("c{number}")});
        wire.send_text(json!({"t": "command", "conv": "nobody", "command": body}).to_string()).await;
    }
    let mut heard = Vec::new();
    for _ in 0..many {
        let (id, code) = refused(wire.frame().await);
        if code != ErrorCode::TooMany {
            assert_eq!(code, ErrorCode::UnknownConversation);
            heard.push(id.parse::<usize>().unwrap());
        }
    }
    assert!(heard.len() >= COMMANDS_WAITING_MAX && heard.is_sorted(), "{heard:?}");
}
