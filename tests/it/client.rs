//! The library of clients, against a real hub.

use std::time::Duration;

use client::{HttpPublisher, HubAddress, PublishError, SessionUpdate, ViewerSession};
use futures_util::stream;
use model::code::ErrorCode;
use model::frame::Pub;
use model::{ConversationId, Envelope, RunId};
use tests::TestHub;

const DEADLINE: Duration = Duration::from_secs(20);

/// A hub of its own, and its address.
async fn hub() -> (HubAddress, TestHub) {
    let hub = TestHub::start().await;
    (format!("http://{}", hub.address()).parse().expect("an address"), hub)
}

fn name(text: &str) -> ConversationId {
    text.parse().expect("a name")
}

fn events(lines: &str) -> Vec<Envelope> {
    lines.lines().map(|line| Envelope::parse(line).expect("an event")).collect()
}

const RUN: &str = r#"{"k":"run.start","run":"r"}
{"k":"part.start","run":"r","part":"p"}
{"k":"part.delta","run":"r","part":"p","text":"one "}
{"k":"part.delta","run":"r","part":"p","text":"two"}"#;

const END: &str = r#"{"k":"part.end","run":"r","part":"p"}
{"k":"run.end","run":"r","status":"complete"}"#;

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work).await.expect("in time")
}

#[tokio::test]
async fn a_session_that_is_cut_sees_everything_once() {
    let (address, _hub) = hub().await;
    let publisher = HttpPublisher::new(address.clone());
    in_time(async {
        let mut session = ViewerSession::connect(address).await.expect("a session");
        let sub = session.subscribe(name("c")).await;
        session.until_live(sub).await.expect("live");
        publisher.events(&name("c"), &events(RUN)).await.expect("taken");
        session.until(sub, |view| view.seq == 4).await.expect("four events");
        session.cut();
        let taken = publisher.events(&name("c"), &events(END)).await.expect("taken");
        let view = session.until(sub, |view| view.seq == 6).await.expect("the end");
        let run = view.runs.values().next().expect("a run");
        assert_eq!((run.answer().as_str(), run.is_running(), view.anomalies.total), ("one two", false, 0));
        assert_eq!(session.position(sub), Some(taken.position));
        assert_eq!(session.connections(), 2);
        session.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_session_publishes_watches_and_is_told_what_is_refused() {
    let (address, _hub) = hub().await;
    in_time(async {
        let mut session = ViewerSession::connect(address).await.expect("a session");
        let fleet = session.watch().await;
        let publication = Pub {
            id: 7,
            conv: name("c"),
            pid: None,
            pepoch: 0,
            pfirst: 0,
            pseq: 0,
            durability: None,
            events: events(RUN),
        };
        session.publish(publication).await;
        let (mut acked, mut listed) = (false, false);
        while !(acked && listed) {
            match session.next().await.expect("an update") {
                SessionUpdate::Ack(ack) => acked = (ack.id, ack.events) == (7, 4),
                SessionUpdate::Fleet { sub, rows, .. } => {
                    listed |= sub == fleet && rows.iter().any(|row| row.head == 4);
                }
                _ => {}
            }
        }
        session.resync(99).await;
        let refused = loop {
            if let SessionUpdate::Refused { sub, code, .. } = session.next().await.expect("an update") {
                break (sub, code);
            }
        };
        assert_eq!(refused, (Some(99), ErrorCode::UnknownSubscription));
    })
    .await;
}

#[tokio::test]
async fn a_stream_is_a_step_of_the_run_that_it_names() {
    let (address, _hub) = hub().await;
    let publisher = HttpPublisher::new(address.clone());
    in_time(async {
        let pieces =
            RUN.lines().chain(END.lines()).map(|line| Ok::<_, std::io::Error>(format!("{line}\n").into()));
        let body = stream::iter(pieces.collect::<Vec<_>>());
        let run = RunId::new("r");
        let taken = publisher.ingest("fanlight", &name("c"), Some(&run), body).await.expect("taken");
        assert_eq!((taken.events, taken.anomalies, taken.position.seq), (6, 0, 6));

        let nothing = || stream::empty::<Result<bytes::Bytes, std::io::Error>>();
        let error =
            publisher.ingest("morse", &name("c"), None, nothing()).await.expect_err("no such dialect");
        assert!(matches!(&error, PublishError::Refused { status: 404, .. }), "{error}");
        assert!(error.to_string().contains("unknown_dialect"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn nobody_answers_where_there_is_no_hub() {
    let (address, mut hub) = hub().await;
    let publisher = HttpPublisher::new(address.clone());
    in_time(async {
        publisher.events(&name("c"), &events(RUN)).await.expect("taken");
        hub.kill().await;
        let error = loop {
            if let Err(error) = publisher.events(&name("c"), &events(END)).await {
                break error;
            }
        };
        assert!(error.to_string().contains(&address.to_string()), "{error}");
    })
    .await;
}
