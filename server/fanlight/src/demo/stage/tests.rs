//! What the demo publishes, decoded and folded as a hub would: it must look like agents in good order.

use dialects::{DecodeOptions, Decoded, decoder};
use model::event::{Class, ToolState};
use model::fold::fold;
use model::view::RunView;
use model::{ConversationId, View};

use super::*;

/// Decodes `beats` as a step of run `r1`, at their times.
fn take(
    view: &mut View,
    dialect: &str,
    part_prefix: &str,
    start: Duration,
    beats: &[ScheduledText],
) -> Duration {
    let options = DecodeOptions {
        run: RunId::new("r1"),
        part_prefix: part_prefix.into(),
        run_goes_on: true,
        ..DecodeOptions::default()
    };
    let mut decoder = decoder(dialect, options).expect("a dialect");
    let mut absorb = |at: Duration, decoded: &mut Decoded| {
        for mut envelope in decoded.envelopes.drain(..) {
            envelope.at = u64::try_from((start + at).as_millis()).expect("a time");
            if envelope.event.kind.class() != Class::Ephemeral {
                envelope.seq = view.seq + 1;
            }
            fold(view, &envelope, &mut |_| {});
        }
    };
    let mut decoded = Decoded::default();
    let mut last = Duration::ZERO;
    for beat in beats {
        assert!(beat.at >= last, "the beats of {dialect} are not in order");
        last = beat.at;
        decoder.feed(beat.text.as_bytes(), &mut decoded);
        absorb(last, &mut decoded);
    }
    decoder.end(&mut decoded);
    absorb(last, &mut decoded);
    start + last
}

/// Folds a whole scene; says how long it takes.
fn performed(play: &DemoScript, scene: &ScriptRun, seed: u64) -> (View, Duration) {
    let mut view = View::default();
    let mut dice = DemoRandom::new(seed);
    let run = RunId::new("r1");
    let mut now = Duration::ZERO;
    let begin = Event::new(
        &run,
        Kind::RunStart(RunStart { title: Some(scene.title.clone()), ..RunStart::default() }),
    );
    fold(
        &mut view,
        &Envelope { event: begin, seq: 1, at: 0, producer_at: None, publisher: None, by_hub: false },
        &mut |_| {},
    );
    for (number, step) in (1..).zip(&scene.steps) {
        let call = ModelCall {
            run: &run,
            name: format!("{number}"),
            model: &play.model,
            created: 1,
            input_tokens: 10,
            rate: play.rate,
        };
        let (dialect, beats) = composed(play, step, &call, number, &mut dice);
        now = take(&mut view, dialect, &format!("x{number}."), now, &beats);
    }
    (view, now)
}

fn every_scene(mut check: impl FnMut(&DemoScript, &ScriptRun, &RunView, &View, Duration)) {
    for (name, text) in crate::demo::SCRIPTS {
        let play = DemoScript::parse(text).expect(name);
        for scene in &play.scenes {
            let (view, took) = performed(&play, scene, 5);
            let run = view.runs.values().next().expect("a run");
            check(&play, scene, run, &view, took);
        }
    }
}

#[test]
fn every_scene_folds_without_oddities_and_ends() {
    every_scene(|play, scene, run, view, _took| {
        let title = &scene.title;
        assert_eq!(view.runs.len(), 1, "{title}");
        assert_eq!(view.anomalies.total, 0, "{title}: {:?}", view.anomalies.first);
        let ended = play.dialect == DemoDialect::Native || !run.is_running();
        assert!(ended, "{title} has no end");
        assert!(!run.answer().is_empty(), "{title}");
        let open =
            run.tools.iter().find(|(_, tool)| !matches!(tool.state, ToolState::Complete | ToolState::Error));
        assert!(open.is_none(), "{title}: {open:?}");
        assert!(run.tools.values().all(|tool| tool.latency_ms().is_some()), "{title}");
    });
}

#[test]
fn the_demo_shows_what_there_is_to_show() {
    let (mut parallel, mut failed, mut longest, mut depth, mut thinking) = (0, 0, 0, 0, 0);
    let (mut errors, mut seconds) = (0, 0);
    every_scene(|_, scene, run, _, took| {
        let running = |at: u64| {
            let is_on =
                |tool: &&model::view::ToolView| tool.executing_at <= Some(at) && tool.ended_at > Some(at);
            run.tools.values().filter(is_on).count()
        };
        parallel = parallel
            .max(run.tools.values().filter_map(|tool| tool.executing_at).map(running).max().unwrap_or(0));
        failed += run.tools.values().filter(|tool| tool.is_error).count();
        longest =
            longest.max(run.tools.values().filter_map(model::view::ToolView::latency_ms).max().unwrap_or(0));
        depth = depth.max(run.agents.values().map(|agent| agent.depth).max().unwrap_or(0));
        thinking = thinking.max(run.thinking().len());
        errors += usize::from(run.error.as_ref().is_some_and(model::event::ErrorFact::may_pass));
        seconds += took.as_secs();
        assert!((2..240).contains(&took.as_secs()), "{}: {took:?}", scene.title);
    });
    assert!(
        parallel >= 3 && failed >= 4 && longest >= 5_000 && depth >= 2,
        "{parallel} {failed} {longest} {depth}"
    );
    assert!(thinking > 1_500 && errors == 1 && seconds > 180, "{thinking} {errors} {seconds}");
}

#[test]
fn a_conversation_has_a_name_that_a_hub_takes() {
    for (name, _) in crate::demo::SCRIPTS {
        assert!(ConversationId::parse(&format!("{name}-{CONVERSATIONS_MAX}")).is_ok());
    }
}
