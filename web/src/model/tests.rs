//! Tests of the page's model on frames as the hub writes them.

use model::frame::parse_server;
use model::view::Item;
use model::{PartId, RunId};

use super::*;

fn opened() -> Model {
    let mut model = Model::default();
    let frames = model.open(ConversationId::parse("demo").ok());
    assert!(matches!(frames.as_slice(), [ClientFrame::Sub { sub: 2, have: None, .. }]));
    model.take_touched();
    model
}

fn take(model: &mut Model, frame: &str) -> Option<ClientFrame> {
    model.take(parse_server(frame).unwrap(), 1_000)
}

const EVENTS: &str = r#"[{"k":"run.start","run":"r","seq":1,"at":5},
    {"k":"part.start","run":"r","part":"p","kind":"text","seq":2,"at":6},
    {"k":"part.delta","run":"r","part":"p","text":"hi","seq":3,"at":7},
    {"k":"rate","run":"r","tokens":90,"at":7},
    {"k":"tool.progress","run":"r","tool":"t","current":1,"at":7}]"#;

fn batch(from: u64, to: u64, events: &str) -> String {
    format!(r#"{{"t":"batch","sub":2,"from":{from},"to":{to},"ts":1400,"ev":{events}}}"#)
}

#[test]
fn events_change_the_view_and_say_what_they_touched() {
    let mut model = opened();
    assert_eq!(take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":3}"#), None);
    assert_eq!(take(&mut model, &batch(1, 3, EVENTS)), None);
    assert_eq!(take(&mut model, r#"{"t":"live","sub":2,"seq":3}"#), None);
    assert!(model.is_live());
    assert_eq!(model.view().runs[0].answer(), "hi");
    assert_eq!((model.rate(1_500), model.rate(9_000)), (Some(90), None));
    assert_eq!(model.hub_time(1_000), 1_400);
    let touched = model.take_touched();
    let part = ViewChange::Item(RunId::new("r"), Item::Part(PartId::new("p")));
    assert!(touched.changes.contains(&part) && touched.progress.len() == 1 && !touched.replaced);
    assert!(model.take_touched().is_empty());
}

#[test]
fn nothing_is_subscribed_to_before_snapshots_can_be_read() {
    let mut model = Model::awaiting_reader();
    let opened = |name: &str| ConversationId::parse(name).ok();
    assert_eq!(model.open(opened("first")), []);
    assert!(matches!(model.subscriptions(true)[..], [ClientFrame::Watch { .. }]));
    // What the hub does not know is not missed at heartbeats, and not left either.
    let beat = r#"{"t":"hb","ts":1400,"heads":{}}"#;
    for _ in 0..4 {
        assert_eq!(
            take(&mut model, beat),
            Some(ClientFrame::HbAck { at: std::collections::BTreeMap::new() })
        );
    }
    assert_eq!(model.open(opened("second")), []);
    let Some(ClientFrame::Sub { sub, conv, .. }) = model.let_read() else { panic!("no subscription") };
    assert_eq!((sub, conv.to_string().as_str()), (3, "second"));
    assert_eq!(model.let_read(), None);
    assert!(matches!(model.subscriptions(true)[..], [ClientFrame::Watch { .. }, ClientFrame::Sub { .. }]));
    assert_eq!(model.open(None), [ClientFrame::Unsub { sub: 3 }]);
}

#[test]
fn a_hole_asks_once_for_the_snapshot() {
    let mut model = opened();
    take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":9}"#);
    assert_eq!(take(&mut model, &batch(5, 7, EVENTS)), Some(ClientFrame::Resync { sub: 2 }));
    assert_eq!(take(&mut model, &batch(8, 9, "[]")), None);
}

#[test]
fn coming_back_resumes_where_it_was_left() {
    let mut model = opened();
    take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":3}"#);
    take(&mut model, &batch(1, 3, EVENTS));
    let frames = model.open(ConversationId::parse("other").ok());
    assert!(matches!(frames.as_slice(), [ClientFrame::Unsub { sub: 2 }, ClientFrame::Sub { sub: 3, .. }]));
    assert!(model.view().runs.is_empty() && model.take_touched().replaced);
    // What is still on its way for the old subscription changes nothing.
    take(&mut model, &batch(4, 4, "[]"));
    assert_eq!(model.view().seq, 0);
    let frames = model.open(ConversationId::parse("demo").ok());
    let [ClientFrame::Unsub { sub: 3 }, ClientFrame::Sub { sub: 4, have: Some(have), .. }] =
        frames.as_slice()
    else {
        panic!("{frames:?}");
    };
    assert_eq!(have.to_string(), "e:3");
    assert_eq!(model.view().runs.len(), 1);
}

#[test]
fn a_subscription_that_died_on_a_living_socket_is_asked_for_again() {
    let mut model = opened();
    take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":0}"#);
    take(&mut model, r#"{"t":"live","sub":2,"seq":0}"#);
    let beat = r#"{"t":"hb","ts":1,"heads":{"2":["e",7]}}"#;
    assert!(matches!(take(&mut model, beat), Some(ClientFrame::HbAck { .. })));
    assert_eq!(take(&mut model, beat), Some(ClientFrame::Resync { sub: 2 }));
}

#[test]
fn the_list_is_replaced_or_patched() {
    let mut model = Model::default();
    let row = |name: &str| {
        format!(
            r#"{{"conversation":"{name}","title":null,"state":"running","activity":null,"epoch":"e","head":1,
            "started_at":1,"ended_at":null,"at":1,"runs":1,"tools":0,"failed":0,"approvals":0,"agents":0,"anomalies":0}}"#
        )
    };
    let fleet =
        |full: bool, rows: &str| format!(r#"{{"t":"fleet","sub":1,"full":{full},"rows":[{rows}],"ts":5}}"#);
    assert_eq!(model.fleet(), None);
    take(&mut model, &fleet(true, &format!("{},{}", row("a"), row("b"))));
    take(&mut model, &fleet(false, &row("c")));
    assert_eq!(model.fleet().map(IndexMap::len), Some(3));
    take(&mut model, &fleet(true, &row("c")));
    assert_eq!(model.fleet().map(IndexMap::len), Some(1));
    assert_eq!(model.subscriptions(true), [ClientFrame::Watch { sub: 1, limit: None }]);
}

#[test]
fn a_recording_stands_in_the_place_of_a_conversation() {
    let mut model = opened();
    take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":3}"#);
    take(&mut model, &batch(1, 3, EVENTS));
    let frames = model.open_recording();
    assert_eq!(frames, [ClientFrame::Unsub { sub: 2 }]);
    model.read("{\"k\":\"run.start\",\"run\":\"f\"}\n{\"k\":\"part.start\",\"run\":\"f\",\"part\":\"p\",\"kind\":\"text\"}\n");
    model.read("{\"k\":\"part.delta\",\"run\":\"f\",\"part\":\"p\",\"text\":\"from a file\"}\n");
    assert!(!model.is_live());
    model.read_all();
    assert!(model.is_live() && model.take_touched().replaced);
    assert_eq!(model.view().runs[0].answer(), "from a file");
    // A new socket asks for no conversation, and heartbeats speak of none.
    assert!(model.subscriptions(false).is_empty());
    let beat = take(&mut model, r#"{"t":"hb","ts":1,"heads":{}}"#);
    assert!(matches!(beat, Some(ClientFrame::HbAck { at }) if at.is_empty()));
    // The conversation is there again when the recording is closed.
    model.open(ConversationId::parse("demo").ok());
    assert_eq!(model.view().runs[0].answer(), "hi");
}

#[test]
fn what_was_told_of_the_link_stays_with_its_conversation_and_is_bounded() {
    let mut model = opened();
    let first = model.conversation().cloned();
    model.keep_mark("back".to_owned());
    model.keep_mark("back again".to_owned());
    assert_eq!(model.marked(), ["back again", "back"]);
    model.open(ConversationId::parse("other").ok());
    assert!(model.marked().is_empty());
    model.open(first);
    assert_eq!(model.marked().len(), 2, "it is there again");
    for n in 0..40 {
        model.keep_mark(n.to_string());
    }
    assert_eq!((model.marked().len(), model.marked()[0]), (20, "39"));
}

#[test]
fn the_return_of_the_link_is_told_with_what_came_meanwhile() {
    let mut model = opened();
    take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":3}"#);
    take(&mut model, &batch(1, 3, EVENTS));
    take(&mut model, r#"{"t":"live","sub":2,"seq":3}"#);
    assert_eq!(model.take_mark(), None, "the first time is no return");
    model.disconnected();
    model.subscriptions(true);
    take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":5}"#);
    take(
        &mut model,
        &batch(
            4,
            5,
            r#"[{"k":"part.delta","run":"r","part":"p","text":"!","seq":4,"at":8},{"k":"part.end","run":"r","part":"p","seq":5,"at":9}]"#,
        ),
    );
    take(&mut model, r#"{"t":"live","sub":2,"seq":5}"#);
    let mark = model.take_mark().unwrap();
    assert_eq!(mark, ReconnectionNotice::CaughtUp(2));
    assert_eq!(mark.words("12:04:55"), "reconnected 12:04:55 · 2 events caught up");
    assert_eq!(model.take_mark(), None);
    // A hub that has another history sends that.
    model.disconnected();
    take(
        &mut model,
        r#"{"t":"subbed","sub":2,"epoch":"f","mode":"snapshot","why":"epoch_changed","head":0}"#,
    );
    take(
        &mut model,
        r#"{"t":"snap","sub":2,"epoch":"f","seq":0,"state":{"seq":0,"title":null,"items":[],"messages":{},"runs":{},"anomalies":{"total":0,"first":[]},"full":false}}"#,
    );
    assert_eq!(model.take_mark(), Some(ReconnectionNotice::Reloaded));
    take(&mut model, r#"{"t":"live","sub":2,"seq":0}"#);
    assert_eq!(model.take_mark(), None);
}

#[test]
fn what_the_hub_says_against_a_subscription_stands_until_one_is_answered() {
    let mut model = opened();
    take(&mut model, r#"{"t":"error","sub":2,"code":"unknown_conversation","message":"there is no room"}"#);
    assert!(!model.is_known() && model.take_touched().replaced);
    assert_eq!(model.problem(), Some("there is no room"));
    take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":3}"#);
    assert_eq!(model.problem(), None);
}

#[test]
fn the_newest_event_is_as_old_as_the_hub_says() {
    let mut model = opened();
    assert_eq!(model.event_at(), None);
    let subbed = |head: u64| format!(r#"{{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":{head}}}"#);
    take(&mut model, &subbed(3));
    take(&mut model, &batch(1, 3, EVENTS));
    assert_eq!(model.event_at(), Some(7), "not when it came");
    let row = r#"{"conversation":"demo","title":null,"state":"running","activity":null,"epoch":"e","head":3,
        "started_at":1,"ended_at":null,"at":900,"runs":1,"tools":0,"failed":0,"approvals":0,"agents":0,"anomalies":0}"#;
    take(&mut model, &format!(r#"{{"t":"fleet","sub":1,"full":true,"rows":[{row}],"ts":1400,"total":1}}"#));
    assert_eq!(model.event_at(), Some(900), "a state that came whole has no times");
}

#[test]
fn catching_up_counts_what_was_missed() {
    let mut model = opened();
    let subbed = |head: u64| format!(r#"{{"t":"subbed","sub":2,"epoch":"e","mode":"tail","head":{head}}}"#);
    take(&mut model, &subbed(3));
    assert_eq!(model.caught_up(), Some((0, 3)));
    take(&mut model, &batch(1, 3, EVENTS));
    take(&mut model, r#"{"t":"live","sub":2,"seq":3}"#);
    assert_eq!(model.caught_up(), None);
    model.disconnected();
    take(&mut model, &subbed(1_003));
    assert_eq!(model.caught_up(), Some((0, 1_000)));
    take(&mut model, &batch(4, 253, "[]"));
    assert_eq!(model.caught_up(), Some((250, 1_000)));
}

#[test]
fn more_conversations_than_the_hub_sends_are_paged_to() {
    let mut model = Model::default();
    let row = |name: &str, at: u64| {
        format!(
            r#"{{"conversation":"{name}","title":null,"state":"complete","activity":null,"epoch":"e","head":1,
            "started_at":1,"ended_at":2,"at":{at},"runs":1,"tools":0,"failed":0,"approvals":0,"agents":0,"anomalies":0}}"#
        )
    };
    let (new, odd) = (row("new", 9), row("a b", 5));
    assert_eq!(model.older_path(), None);
    take(
        &mut model,
        &format!(r#"{{"t":"fleet","sub":1,"full":true,"rows":[{new},{odd}],"ts":5,"total":4}}"#),
    );
    assert_eq!(model.total(), 4);
    assert_eq!(
        model.older_path().as_deref(),
        Some("/v1/conversations?limit=500&archived=all&after=5%3Aa%20b")
    );
    assert!(!model.take_older("no list"));
    // What changed meanwhile is newer than what the page says.
    let page = format!(r#"{{"conversations":[{},{}],"total":4}}"#, row("new", 1), row("old", 2));
    assert!(model.take_older(&page) && model.take_touched().fleet);
    let ats: Vec<u64> = model.fleet().unwrap().values().map(|row| row.at).collect();
    assert_eq!(ats, [9, 5, 2]);
    take(&mut model, &format!(r#"{{"t":"fleet","sub":1,"full":false,"rows":[{odd}],"ts":5,"total":3}}"#));
    assert_eq!(model.older_path(), None);
    take(&mut model, &format!(r#"{{"t":"fleet","sub":1,"full":true,"rows":[{new}],"ts":5,"total":1}}"#));
    assert_eq!((model.total(), model.fleet().unwrap().len()), (1, 1));
}

/// A snapshot for `sub` at seq 9 with one message, and with more before it if `earlier`.
fn part_of(sub: u32, earlier: bool) -> String {
    let earlier = if earlier { r#""earlier":{"window":"w1","messages":7,"runs":7,"items":0},"# } else { "" };
    format!(
        r#"{{"t":"snap","sub":{sub},"epoch":"e","seq":9,"state":{{"seq":9,"title":null,{earlier}"items":[{{"message":"m"}}],"messages":{{"m":{{"role":"user","text":"x","at":1}}}},"runs":{{}},"anomalies":{{"total":0,"first":[]}},"full":false}}}}"#
    )
}

/// The number, the bytes and the position of the subscription that is asked for.
fn asked(frames: &[ClientFrame]) -> (u32, u64, Option<String>, Option<String>) {
    let Some(ClientFrame::Sub { sub, have, wish, .. }) = frames.last() else { panic!("{frames:?}") };
    (*sub, wish.newest, have.as_ref().map(ToString::to_string), wish.window.as_ref().map(ToString::to_string))
}

#[test]
fn the_newest_part_comes_first_and_more_replaces_it_without_a_notice() {
    let mut model = Model::default();
    let frames = model.open(ConversationId::parse("demo").ok());
    assert_eq!(asked(&frames), (2, NEWEST_BYTES, None, None));
    take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"snapshot","head":9}"#);
    take(&mut model, &part_of(2, true));
    assert_eq!(model.earlier().map(|earlier| earlier.messages), Some(7));
    assert!(!model.take_touched().grown);
    // Who comes back says which part it has.
    let frames = model.subscriptions(false);
    assert_eq!(asked(&frames), (2, NEWEST_BYTES, Some("e:9".to_owned()), Some("w1".to_owned())));
    let frames = model.ask_more();
    assert!(matches!(frames.first(), Some(ClientFrame::Unsub { sub: 2 })));
    assert_eq!(asked(&frames), (3, 1 << 20, None, None));
    assert!(model.ask_more().is_empty(), "it is under way");
    assert_eq!(asked(&model.ask_all()), (4, 0, None, None));
    assert!(model.ask_all().is_empty());
    // What is shown stays until all is here, also over another connection.
    assert_eq!(asked(&model.subscriptions(false)), (4, 0, None, None));
    assert_eq!(model.view().items.len(), 1);
    take(&mut model, r#"{"t":"subbed","sub":4,"epoch":"e","mode":"snapshot","head":9}"#);
    take(&mut model, &part_of(4, false));
    assert!(model.take_touched().grown && model.earlier().is_none());
    take(&mut model, r#"{"t":"live","sub":4,"seq":9}"#);
    assert!(model.ask_more().is_empty() && model.ask_all().is_empty());
    assert_eq!(asked(&model.subscriptions(false)), (4, 0, Some("e:9".to_owned()), None));
}

#[test]
fn another_conversation_begins_with_its_newest_part_again() {
    let mut model = opened();
    assert_eq!(asked(&model.ask_all()), (3, 0, None, None));
    let frames = model.open(ConversationId::parse("other").ok());
    assert_eq!(asked(&frames), (4, NEWEST_BYTES, None, None));
}

#[test]
fn what_is_here_goes_on_when_more_is_refused() {
    let mut model = opened();
    take(&mut model, r#"{"t":"subbed","sub":2,"epoch":"e","mode":"snapshot","head":9}"#);
    take(&mut model, &part_of(2, true));
    assert_eq!(asked(&model.ask_more()), (3, 1 << 20, None, None));
    let frame = take(&mut model, r#"{"t":"error","sub":3,"code":"too_many","message":"later"}"#);
    let position = Some("e:9".to_owned());
    assert_eq!(
        asked(&frame.into_iter().collect::<Vec<_>>()),
        (4, NEWEST_BYTES, position, Some("w1".to_owned()))
    );
    assert_eq!(asked(&model.ask_more()), (5, 1 << 20, None, None), "it can be asked for again");
}
