//! Viewers who want less than everything: they are told less, lose nothing, and end with what the whole view shows of it.

use std::time::Instant;

use model::frame::{ClientFrame, ServerFrame, SubscriptionOptions};
use model::lens::{Agents, Kinds, Level};
use model::{AgentId, Lens, View, snapshot};
use tests::wait::within;
use tests::wire::WebSocketWire;
use tests::{TestHub, TestViewer};

const OPEN: &str = r#"
    {"k":"message","message":"m1","role":"user","text":"Why?"}
    {"k":"run.start","run":"r"}
    {"k":"agent.start","run":"r","agent":"a1","name":"scout"}
    {"k":"part.start","run":"r","part":"p","kind":"text"}
    {"k":"part.start","run":"r","part":"q","kind":"text","agent":"a1"}
"#;

const CLOSE: &str = r#"
    {"k":"tool.start","run":"r","tool":"t","name":"look"}
    {"k":"tool.args","run":"r","tool":"t","text":"{\"at\":"}
    {"k":"tool.args","run":"r","tool":"t","text":"1}"}
    {"k":"tool.call","run":"r","tool":"t"}
    {"k":"tool.output","run":"r","tool":"t","text":"half"}
    {"k":"tool.result","run":"r","tool":"t","output":"done"}
    {"k":"part.end","run":"r","part":"p"}
    {"k":"run.end","run":"r","status":"complete"}
"#;

fn deltas(round: usize) -> String {
    let deltas = (0..40).map(|number| {
        let (part, agent) = if number % 2 == 0 { ("p", "") } else { ("q", r#","agent":"a1""#) };
        format!("{{\"k\":\"part.delta\",\"run\":\"r\",\"part\":\"{part}\",\"text\":\"w{round}.{number} \"{agent}}}\n")
    });
    deltas.collect()
}

fn lenses() -> Vec<Lens> {
    let levels = [Level::Critical, Level::Parts, Level::Deltas];
    let agents = [
        None,
        Some(Agents { root: Some(AgentId::new("a1")), depth: None }),
        Some(Agents { root: None, depth: Some(0) }),
    ];
    let kinds = [None, Some(Kinds::of(["part.*", "message"]).unwrap()), Some(Kinds::of(["tool.*"]).unwrap())];
    let mut lenses = Vec::new();
    for level in levels {
        for agents in &agents {
            for kinds in kinds {
                lenses.push(Lens { level, agents: agents.clone(), kinds, window: None });
            }
        }
    }
    lenses
}

async fn whole_view(hub: &TestHub, conversation: &str) -> View {
    let path = format!("/v1/conversations/{conversation}");
    let answer = within(&path, hub.request("GET", &path).send()).await.unwrap();
    snapshot::decode(&answer.bytes().await.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn i2_i4_i5_a_viewer_with_any_lens_early_late_or_cut_has_the_projection_of_the_whole() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    let mut viewers: Vec<TestViewer> = Vec::new();
    for lens in lenses() {
        viewers.push(TestViewer::connect_through(lens, hub.address(), "c").await);
    }
    publisher.says(OPEN).await;
    for round in 0..12 {
        publisher.says(&deltas(round)).await;
        for (number, viewer) in viewers.iter_mut().enumerate() {
            match (number % 3, round % 4) {
                (0, 1) => viewer.cut(),
                (0, 3) => viewer.resume().await,
                _ => {}
            }
        }
        if round == 5 {
            for lens in lenses() {
                viewers.push(TestViewer::connect_through(lens, hub.address(), "c").await);
            }
        }
    }
    let head = publisher.says(CLOSE).await.seq;
    let whole = whole_view(&hub, "c").await;
    assert_eq!(whole.seq, head);
    for viewer in &mut viewers {
        if !viewer.is_connected() {
            viewer.resume().await;
        }
        // Those who see nothing of the end hear that it is there.
        viewer.reach(head).await;
        let lens = viewer.lens().clone();
        assert_eq!(*viewer.view(), lens.project(&whole), "{lens:?}");
    }
    let bytes = |lens: &Lens| viewers.iter().find(|viewer| viewer.lens() == lens).unwrap().seen.bytes;
    let critical = Lens { level: Level::Critical, ..Lens::default() };
    let (little, all) = (bytes(&critical), bytes(&Lens::default()));
    assert!(little < all, "{little} bytes of {all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_that_wishes_for_fewer_frames_gets_fewer_with_the_same_in_them() {
    let hub = TestHub::start().await;
    let mut publisher = hub.publisher("c").await;
    publisher.says(OPEN).await;
    let mut quick = hub.view("c").await;
    quick.live().await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    let wish = SubscriptionOptions { min_interval_ms: 500, ..SubscriptionOptions::default() };
    wire.send(&ClientFrame::Sub { sub: 1, conv: "c".parse().unwrap(), have: None, wish }).await;
    while !matches!(wire.frame().await, ServerFrame::Live { .. }) {}
    let began = Instant::now();
    let mut head = 0;
    for round in 0..60 {
        head = publisher.says(&deltas(round)).await.seq;
        quick.reach(head).await;
    }
    let (mut frames, mut at) = (0_u128, 0);
    while at < head {
        if let ServerFrame::Batch { to, .. } = wire.frame().await {
            frames += 1;
            at = to;
        }
    }
    // One at once, then one for each half second that has begun.
    let most = began.elapsed().as_millis() / 500 + 2;
    assert!(frames <= most && quick.seen.batches >= 60, "{frames} of {most}, {}", quick.seen.batches);
}

#[tokio::test]
async fn a_wish_that_cannot_be_fulfilled_is_refused_and_the_socket_stays() {
    let hub = TestHub::start().await;
    let mut wire = WebSocketWire::connect(hub.address()).await;
    wire.send_text(r#"{"t":"sub","sub":3,"conv":"c","kinds":["tool.result"]}"#.to_owned()).await;
    let ServerFrame::Error { sub, code, .. } = wire.frame().await else { panic!("no error") };
    assert_eq!((sub, code), (Some(3), model::code::ErrorCode::BadRequest));
    wire.send_text(r#"{"t":"sub","sub":3,"conv":"c","kinds":["tool.*"]}"#.to_owned()).await;
    assert!(matches!(wire.frame().await, ServerFrame::Subbed { sub: 3, .. }));
}
