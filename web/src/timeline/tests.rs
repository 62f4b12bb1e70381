//! Tests of rows, bars, the axis and what is looked at.

use model::fold::fold;
use model::{AgentId, Envelope, RunId, View};
use proptest::prelude::*;

use super::*;

fn view(lines: &[&str]) -> View {
    let mut view = View::default();
    for (number, line) in lines.iter().enumerate() {
        let mut envelope = Envelope::parse(line).unwrap();
        envelope.seq = number as u64 + 1;
        fold(&mut view, &envelope, &mut |_| {});
    }
    view
}

const SCENE: [&str; 11] = [
    r#"{"k":"run.start","run":"r","name":"lead","at":1000}"#,
    r#"{"k":"part.start","run":"r","part":"p","kind":"thinking","at":1000}"#,
    r#"{"k":"part.end","run":"r","part":"p","at":1400}"#,
    r#"{"k":"tool.start","run":"r","tool":"t","name":"look","at":1400}"#,
    r#"{"k":"tool.call","run":"r","tool":"t","arguments":"{\"q\":\"x\"}","at":1500}"#,
    r#"{"k":"approval.request","run":"r","tool":"t","text":"may I?","at":1500}"#,
    r#"{"k":"tool.state","run":"r","tool":"t","state":"executing","at":1700}"#,
    r#"{"k":"agent.start","run":"r","agent":"a","name":"child","at":1750}"#,
    r#"{"k":"agent.start","run":"r","agent":"b","parent":"a","name":"grandchild","at":1760}"#,
    r#"{"k":"tool.call","run":"r","agent":"b","tool":"u","name":"dig","arguments":"{}","at":1800}"#,
    r#"{"k":"tool.result","run":"r","agent":"b","tool":"u","output":"","is_error":true,"exec_ms":50,"at":1900}"#,
];

fn name(view: &View, row: &Row) -> String {
    face(view, &row.key).unwrap().name
}

#[test]
fn rows_stand_under_their_agents_in_true_order() {
    let view = view(&SCENE);
    let all = rows(&view, None);
    let told: Vec<(String, u32)> = all.iter().map(|row| (name(&view, row), row.depth)).collect();
    let wanted = [("lead", 0), ("thinking", 1), ("look", 1), ("child", 1), ("grandchild", 2), ("dig", 3)];
    assert_eq!(told, wanted.map(|(name, depth)| (name.to_owned(), depth)));
    assert!(all[0].key.is_agent() && all[4].key.is_agent() && !all[5].key.is_agent());
    let only = rows(&view, Some(&(RunId::new("r"), AgentId::new("b"))));
    let told: Vec<String> = only.iter().map(|row| name(&view, row)).collect();
    assert_eq!(told, ["grandchild", "dig"]);
    assert_eq!(rows(&view, Some(&(RunId::new("z"), AgentId::new("b")))), []);
}

#[test]
fn a_call_is_written_waits_and_works() {
    let view = view(&SCENE);
    let look = face(&view, &rows(&view, None)[2].key).unwrap();
    let bar = |from, to, fill, tone| Bar { from, to, fill, tone };
    let wanted = [
        bar(1400, Some(1500), Fill::Hatched, Tone::Pend),
        bar(1500, Some(1700), Fill::Outline, Tone::Appr),
        bar(1700, None, Fill::Solid, Tone::Run),
    ];
    assert_eq!(look.bars, wanted);
    assert_eq!((look.word, look.span), ("executing", Some((1700, None))));
    let dig = face(&view, &rows(&view, None)[5].key).unwrap();
    let wanted =
        [bar(1800, Some(1850), Fill::Outline, Tone::Pend), bar(1850, Some(1900), Fill::Solid, Tone::Err)];
    assert_eq!((dig.bars.as_slice(), dig.took), (wanted.as_slice(), Some(50)));
    let thinking = face(&view, &rows(&view, None)[1].key).unwrap();
    assert_eq!(thinking.bars, [bar(1000, Some(1400), Fill::Hatched, Tone::Gone)]);
}

#[test]
fn what_lasts_ends_now_and_what_ended_ended() {
    let mut lines = SCENE.to_vec();
    let going = view(&lines);
    assert_eq!(extent(&going, 9000), Some(Extent { from: 1000, to: 9000 }));
    lines.push(r#"{"k":"run.end","run":"r","status":"complete","at":2500}"#);
    let over = view(&lines);
    assert_eq!(extent(&over, 9000), Some(Extent { from: 1000, to: 2500 }));
    assert!(
        rows(&over, None).iter().all(|row| face(&over, &row.key)
            .unwrap()
            .bars
            .iter()
            .all(|bar| bar.to.is_some()))
    );
    assert_eq!(extent(&View::default(), 5), None);
}

#[test]
fn pauses_between_runs_are_left_out_and_found_again() {
    let view = view(&[
        r#"{"k":"run.start","run":"r","at":1000}"#,
        r#"{"k":"run.end","run":"r","status":"complete","at":2000}"#,
        r#"{"k":"run.start","run":"s","at":102000}"#,
        r#"{"k":"run.end","run":"s","status":"complete","at":103000}"#,
    ]);
    let squeeze = Squeeze::of(&view, 0);
    assert_eq!(squeeze.gaps(), 1);
    let places = [(1000, 0), (2000, 1000), (102_000, 2000), (103_000, 3000)];
    for (at, place) in places {
        assert_eq!(squeeze.place(at), place);
        assert_eq!(squeeze.moment(place), at, "{place}");
    }
    assert_eq!(squeeze.place(50_000), 2000);
    assert_eq!(Squeeze::none(1000).place(102_000), 101_000);
    assert_eq!(Squeeze::none(1000).moment(101_000), 102_000);
}

#[test]
fn the_axis_fits_until_it_is_zoomed_and_holds_what_is_under_the_pointer() {
    let mut scale = Scale::default();
    assert_eq!(scale.window(10_000), (0.0, 10_000.0));
    assert_eq!(scale.window(20_000), (0.0, 20_000.0), "it grows with what it shows");
    scale.pan(20_000, 0.5);
    assert!(scale.is_fit(), "there is nowhere to go");
    scale.zoom(20_000, 0.25, 0.5);
    assert_eq!(scale.window(20_000), (2_500.0, 10_000.0));
    assert_eq!(scale.window(40_000), (2_500.0, 10_000.0), "a part stays where it is");
    scale.pan(20_000, 10.0);
    assert_eq!(scale.window(20_000), (10_000.0, 10_000.0));
    assert_eq!((scale.place(20_000, 0.0), scale.place(20_000, 1.0)), (10_000, 20_000));
    scale.zoom(20_000, 0.5, 100.0);
    assert!(scale.is_fit());
}

#[test]
fn marks_stand_at_round_times() {
    let labels =
        |from, span, width| ticks(from, span, width).into_iter().map(|tick| tick.label).collect::<Vec<_>>();
    assert_eq!(labels(0.0, 60_000.0, 600.0), ["0", "0:10", "0:20", "0:30", "0:40", "0:50", "1:00"]);
    assert_eq!(labels(900.0, 400.0, 400.0), ["900 ms", "1.0 s", "1.1 s", "1.2 s", "1.3 s"]);
    assert_eq!(labels(1_000.0, 40.0, 400.0), ["1.000 s", "1.010 s", "1.020 s", "1.030 s", "1.040 s"]);
}

#[test]
fn the_present_is_followed_until_the_reader_moves_and_a_run_is_fitted() {
    let mut scale = Scale::default();
    scale.follow(300_000);
    assert_eq!((scale.window(300_000), scale.follows()), ((240_000.0, 60_000.0), true));
    assert_eq!(scale.window(310_000), (250_000.0, 60_000.0), "it moves with time");
    scale.zoom(310_000, 0.5, 0.5);
    assert_eq!((scale.window(310_000), scale.follows()), ((280_000.0, 30_000.0), true));
    scale.pan(310_000, -0.5);
    assert_eq!((scale.window(320_000), scale.follows()), ((265_000.0, 30_000.0), false));
    scale.center(320_000, 100_000);
    assert_eq!(scale.window(320_000), (85_000.0, 30_000.0));
    scale.show(100_000, 50_000, Some(60_000));
    assert_eq!(scale.window(100_000), (49_800.0, 10_400.0));
    scale.show(100_000, 50_000, None);
    assert_eq!((scale.window(100_000), scale.window(200_000)), ((49_000.0, 51_000.0), (49_000.0, 151_000.0)));
    scale.show(100_000, 0, None);
    assert!(scale.is_fit(), "the only run is everything");
}

#[test]
fn lanes_are_packed_per_agent_and_agents_stand_below_who_began_them() {
    let view = view(&SCENE);
    let lanes = Lanes::of(&view, None);
    let told: Vec<_> =
        lanes.groups.iter().map(|it| (it.name.as_str(), it.depth, it.lanes, it.steps.len())).collect();
    assert_eq!(told, [("lead", 0, 1, 2), ("child", 1, 0, 0), ("grandchild", 2, 1, 1)]);
    let height = 3.0 * HEAD_PX + 2.0 * LANE_PX;
    assert!((lanes.height() - height).abs() < 1e-3, "{}", lanes.height());
    let only = Lanes::of(&view, Some(&(RunId::new("r"), AgentId::new("b"))));
    assert_eq!((only.groups.len(), only.count()), (1, 1));
    let look = lanes.hit(HEAD_PX + 1.0, 1_450, 1_450).unwrap();
    assert_eq!(name_of(&view, look), "look");
    assert_eq!(lanes.hit(1.0, 1_450, 1_450), None, "a heading is no step");
    let dig = lanes.step(Some(&look.key), Direction::Down).unwrap();
    assert_eq!(name_of(&view, dig), "dig");
    assert_eq!(lanes.step(Some(&dig.key), Direction::Up), Some(look));
    assert_eq!(
        lanes.step(Some(&look.key), Direction::Earlier).map(|it| name_of(&view, it)).as_deref(),
        Some("thinking")
    );
    assert_eq!(lanes.step(Some(&look.key), Direction::Later), None);
}

#[test]
fn a_run_is_summed_up() {
    let view = view(&SCENE);
    let lanes = Lanes::of(&view, None);
    let summary = summary(&view, &lanes, &RunId::new("r"), 2_000).unwrap();
    assert_eq!(summary.span, (1_000, 2_000));
    // Thinking and writing, a call that executes, a question to a person.
    assert_eq!(summary.shares.ms(), [500, 300, 200, 0]);
    assert_eq!(summary.path_ms, 1_000, "thinking, and the call that still executes");
    assert_eq!(super::summary(&view, &lanes, &RunId::new("z"), 2_000), None);
}

/// A run with these calls: their beginnings and lengths.
fn calls(told: &[(u64, u64)]) -> View {
    let mut lines = vec![r#"{"k":"run.start","run":"r","at":1}"#.to_owned()];
    for (number, (from, long)) in told.iter().enumerate() {
        let to = from + long;
        lines.push(format!(
            r#"{{"k":"tool.call","run":"r","tool":"t{number}","name":"look","arguments":"{{}}","at":{from}}}"#
        ));
        lines.push(format!(
            r#"{{"k":"tool.state","run":"r","tool":"t{number}","state":"executing","at":{from}}}"#
        ));
        lines.push(format!(r#"{{"k":"tool.result","run":"r","tool":"t{number}","output":"","at":{to}}}"#));
    }
    view(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

fn name_of(view: &View, step: &LaneStep) -> String {
    super::name(view, &step.key)
}

proptest! {
    #[test]
    fn what_is_drawn_is_in_the_box_and_bounded_by_its_pixels(
        told in proptest::collection::vec((1..5_000_u64, 0..40_u64), 1..300), from in 0.0..4_000.0_f64, span in 1.0..5_000.0_f64,
    ) {
        let view = calls(&told);
        let lanes = Lanes::of(&view, None);
        let area = LaneBox { width: 200.0, height: 64.0, top: 0.0, window: (from, span), now: 5_100 };
        let squeeze = Squeeze::none(1);
        let picture = picture(&lanes, &area, &squeeze, |_| false, None, |_| "look".to_owned());
        for mark in &picture.marks {
            prop_assert!(mark.x >= 0.0 && mark.x + mark.wide <= 200.001, "{mark:?}");
            prop_assert!(mark.y > -LANE_PX && mark.y <= 64.0);
        }
        // In three or four lanes at most one mark for each half pixel, and the life of the agent.
        prop_assert!(picture.marks.len() <= 4 * 400 + 1, "{} marks", picture.marks.len());
        let map = map(&lanes, &squeeze, 5_100, 200, 5_100);
        prop_assert_eq!(map.len(), 200);
        prop_assert!(map.iter().flatten().all(|work| *work == Work::Tool));
        prop_assert!(map.iter().any(Option::is_some));
    }

    #[test]
    fn the_critical_path_is_no_longer_than_its_run_and_its_shares_are_all_of_it(
        told in proptest::collection::vec((1..5_000_u64, 0..400_u64), 1..60), now in 1..6_000_u64,
    ) {
        let view = calls(&told);
        let summary = summary(&view, &Lanes::of(&view, None), &RunId::new("r"), now).unwrap();
        let took = summary.span.1 - summary.span.0;
        prop_assert!(summary.path_ms <= took);
        prop_assert_eq!(summary.shares.ms().iter().sum::<u64>(), took);
    }

    #[test]
    fn as_many_rows_are_drawn_as_can_be_seen(top in 0.0..200_000.0_f64, height in 0.0..400.0_f64, count in 0..6_000_usize) {
        let range = visible(top, height, 26.0, count);
        prop_assert!(range.end <= count && range.len() <= 22);
    }

    #[test]
    fn no_zoom_and_no_pan_leaves_what_there_is(steps in proptest::collection::vec((0.0..=1.0_f64, 0.1..8.0_f64, -2.0..2.0_f64), 0..20), whole in 1..1_000_000_u64) {
        let mut scale = Scale::default();
        for (at, factor, by) in steps {
            scale.zoom(whole, at, factor);
            scale.pan(whole, by);
            let (from, span) = scale.window(whole);
            prop_assert!(from >= 0.0 && span > 0.0 && from + span <= float(whole) + 0.001, "{} {}", from, span);
            prop_assert!(ticks(from, span, 800.0).iter().all(|tick| (-0.001..=1.001).contains(&tick.at)));
        }
    }

    #[test]
    fn a_place_is_its_moment_s(spans in proptest::collection::vec((1..50_000_u64, 1..50_000_u64), 1..6), share in 0..1_000_u64) {
        let (mut lines, mut at) = (Vec::new(), 1_000);
        for (number, (pause, length)) in spans.iter().enumerate() {
            at += pause;
            lines.push(format!(r#"{{"k":"run.start","run":"r{number}","at":{at}}}"#));
            at += length;
            lines.push(format!(r#"{{"k":"run.end","run":"r{number}","status":"complete","at":{at}}}"#));
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let squeeze = Squeeze::of(&view(&lines), 0);
        let whole = squeeze.place(at);
        let place = whole * share / 1_000;
        let moment = squeeze.moment(place);
        prop_assert_eq!(squeeze.place(moment), place);
    }
}

#[test]
fn what_nobody_speaks_for_any_more_ends_where_it_was_last_known_to_go_on() {
    let mut lines = SCENE.to_vec();
    lines.push(r#"{"k":"run.stalled","run":"r","since":2000,"at":8000}"#);
    let view = view(&lines);
    let stalled = view.runs[0].stalled_at.unwrap();
    let look = face(&view, &rows(&view, None)[2].key).unwrap();
    assert_eq!(look.bars.last().map(|bar| bar.to), Some(Some(stalled)));
    assert_eq!(look.span, Some((1700, None)), "its end stays unknown");
    for now in [9_000, 900_000] {
        assert_eq!(extent(&view, now).map(|it| it.to), Some(stalled));
        let lanes = Lanes::of(&view, None);
        assert_eq!(summary(&view, &lanes, &RunId::new("r"), now).unwrap().span, (1000, stalled));
        let open = |group: &LaneGroup| {
            group.steps.iter().any(|step| step.span().1.is_none())
                || group.lives.iter().any(|it| it.1.is_none())
        };
        assert!(!lanes.groups.iter().any(open));
    }
}
