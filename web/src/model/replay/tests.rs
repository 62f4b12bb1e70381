//! The past is shown and the present goes on behind it.

use model::ConversationId;
use model::frame::{ServerFrame, parse_server};

use super::*;
use crate::timeline::Extent;

fn frame(json: &str) -> ServerFrame {
    parse_server(json).unwrap()
}

const FIRST: &str = r#"{"k":"run.start","run":"r","seq":1,"at":100}"#;
const SECOND: &str =
    r#"{"k":"tool.call","run":"r","tool":"t","name":"look","arguments":"{}","seq":2,"at":200}"#;
const THIRD: &str = r#"{"k":"tool.result","run":"r","tool":"t","output":"x","seq":3,"at":300}"#;

fn model() -> Model {
    let mut model = Model::default();
    model.open(ConversationId::parse("c").ok());
    let sub = model.sub;
    model.take(frame(&format!(r#"{{"t":"subbed","sub":{sub},"epoch":"e","mode":"tail","head":2}}"#)), 0);
    let batch = format!(r#"{{"t":"batch","sub":{sub},"from":1,"to":2,"ts":0,"ev":[{FIRST},{SECOND}]}}"#);
    model.take(frame(&batch), 0);
    model.take_touched();
    model
}

#[test]
fn what_comes_while_the_past_is_looked_at_is_kept_and_shown_afterwards() {
    let mut model = model();
    model.begin_past();
    assert_eq!(model.past_position().unwrap().to_string(), "e:0");
    assert_eq!(model.view().seq, 2, "the present is shown until some of the past is there");
    model.take_logged(&format!("{FIRST}\n{SECOND}\n"));
    model.in_past(|replay, changed| replay.seek_event(1, changed));
    assert_eq!((model.view().seq, model.take_touched().replaced), (1, true));
    assert_eq!(model.moment(9_999), 100);
    assert_eq!(model.extent(9_999), Some(Extent { from: 100, to: 200 }));
    let sub = model.sub;
    let batch = format!(r#"{{"t":"batch","sub":{sub},"from":3,"to":3,"ts":0,"ev":[{THIRD}]}}"#);
    model.take(frame(&batch), 0);
    assert_eq!((model.view().seq, model.present_seq()), (1, 3));
    assert!(model.take_touched().changes.is_empty(), "nothing of the present is painted");
    model.in_past(|replay, changed| replay.seek_event(2, changed));
    let touched = model.take_touched();
    assert!(!touched.replaced && !touched.changes.is_empty());
    model.end_past();
    assert_eq!((model.view().seq, model.take_touched().replaced), (3, true));
    assert!(model.present_runs());
}

#[test]
fn a_recording_has_a_past_too() {
    let mut model = Model::default();
    model.open_recording();
    model.read(&format!("{FIRST}\n{SECOND}"));
    model.read(THIRD);
    model.read_all();
    assert_eq!(model.moment(9_999), 300);
    model.begin_past();
    assert!(model.take_told(0) && model.take_told(1) && !model.take_told(2));
    model.in_past(|replay, changed| replay.seek_event(2, changed));
    assert_eq!(model.view().seq, 2);
    model.in_past(|replay, changed| replay.seek_event(9, changed));
    assert_eq!(model::snapshot::hash(model.view()), {
        model.end_past();
        model::snapshot::hash(model.view())
    });
    model.open(None);
    model.begin_past();
    assert!(!model.take_told(0), "nothing of a recording stays when it is closed");
}
