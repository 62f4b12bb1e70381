//! What an agent does with what comes, without any model, tool or clock.

use ::model::event::{PartKind, RunUpdate, ToolStart};
use ::model::view::RunView;
use ::model::{Json, PartId, View, testkit};
use encode::reconstruct::PARTIAL_ANSWER;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// An agent, and all that it wanted.
struct Play {
    agent: Agent,
    now: u64,
    wanted: Vec<Command>,
}

impl Play {
    fn begin(plan: Plan) -> Self {
        let mut play = Self { agent: Agent::new(run(), plan), now: 1_000, wanted: Vec::new() };
        play.gives(Input::Time);
        play
    }

    /// Takes an input; gives what is wanted then, without events.
    fn gives(&mut self, input: Input) -> Vec<Command> {
        let before = self.wanted.len();
        self.agent.take(input, self.now, 0, &mut self.wanted);
        self.wanted[before..].iter().filter(|it| !matches!(it, Command::Log(_))).cloned().collect()
    }

    fn after(&mut self, wait: u64, input: Input) -> Vec<Command> {
        self.now += wait;
        self.gives(input)
    }

    fn says(&mut self, kind: Kind) -> Vec<Command> {
        self.gives(Input::ModelEvent(Event::new(&RunId::new("the decoder's"), kind)))
    }

    fn text(&mut self, part: &str, text: &str) {
        let part = PartId::new(part);
        self.says(Kind::PartStart { part: part.clone(), kind: PartKind::Text });
        self.says(Kind::PartDelta { part, off: None, text: text.into() });
    }

    fn calls(&mut self, id: &str, name: &str, arguments: &str) -> Vec<Command> {
        let tool = ToolCallId::new(id);
        let start = ToolStart { tool: tool.clone(), name: name.into(), server: false, given_id: None };
        self.says(Kind::ToolStart(start));
        self.says(Kind::ToolArgs { tool: tool.clone(), off: None, text: arguments.into() });
        self.says(Kind::ToolCall { tool, name: None, arguments: None })
    }

    fn done(&mut self, id: &str, output: &str) -> Vec<Command> {
        self.gives(Input::Done(ToolResult {
            output: Json::string(output),
            is_error: false,
            ..failed(ToolCallId::new(id), "")
        }))
    }

    /// The events so far, in order, by their kind on the wire.
    fn kinds(&self) -> Vec<String> {
        let kind = |event: &Event| serde_json::to_value(event).unwrap()["k"].as_str().unwrap().to_owned();
        self.events().iter().map(kind).collect()
    }

    fn events(&self) -> Vec<Event> {
        let events = self.wanted.iter().filter_map(|command| match command {
            Command::Log(event) => Some(event.clone()),
            _ => None,
        });
        events.collect()
    }

    fn view(&self) -> View {
        testkit::folded(&testkit::logged(self.events()))
    }

    /// What the log has of an answer that broke off.
    fn partial(&self) -> Option<Value> {
        self.events().iter().rev().find_map(|event| match &event.kind {
            Kind::Custom { name, value } if name == PARTIAL_ANSWER => Some(value.to_value()),
            _ => None,
        })
    }

    fn run(&self) -> RunView {
        self.view().runs[&run()].clone()
    }
}

fn run() -> RunId {
    RunId::new("r")
}

fn asked(step: u32, attempt: u32) -> Command {
    Command::Ask(Ask { step, attempt })
}

fn executes(commands: &[Command]) -> Vec<String> {
    let names = commands.iter().filter_map(|command| match command {
        Command::Execute(execute) => Some(execute.tool.to_string()),
        _ => None,
    });
    names.collect()
}

fn overloaded() -> ErrorFact {
    failure("overloaded", "too busy", true)
}

#[test]
fn test_tool_executes_during_stream() {
    let mut play = Play::begin(Plan::new("m"));
    assert_eq!(play.wanted.last(), Some(&asked(1, 1)));
    play.text("p1", "Let me see.");
    assert!(play.calls("a", "search", r#"{"q":1}"#).is_empty());
    assert_eq!(executes(&play.after(100, Input::Time)), ["a"], "the model has not ended");
    play.text("p2", "Meanwhile…");
    assert_eq!(play.run().tools[&ToolCallId::new("a")].state, ToolState::Executing);
}

#[test]
fn test_tool_result_before_stream_ends() {
    let mut play = Play::begin(Plan::new("m"));
    play.calls("a", "search", "{}");
    play.after(100, Input::Time);
    play.now += 245;
    assert!(play.done("a", "found").is_empty());
    play.text("p", "It goes on.");
    assert_eq!(play.after(1, Input::Silent(None)), [asked(2, 1)]);
    play.text("p2", "Done.");
    assert_eq!(play.gives(Input::Silent(None)), [Command::Over]);
    let run = play.run();
    let tool = &run.tools[&ToolCallId::new("a")];
    assert_eq!((tool.state, tool.queued_ms, tool.exec_ms), (ToolState::Complete, Some(100), Some(245)));
    assert_eq!(run.status, RunStatus::Complete);
    assert!(play.agent.is_over());
}

#[test]
fn test_interleaved_events_order() {
    let mut play = Play::begin(Plan::new("m"));
    play.text("p1", "one");
    play.calls("a", "t", "{}");
    play.after(100, Input::Time);
    play.text("p2", "two");
    play.done("a", "x");
    play.text("p3", "three");
    play.gives(Input::Silent(None));
    let expected = [
        "run.start",
        "part.start",
        "part.delta",
        "tool.start",
        "tool.args",
        "tool.call",
        "tool.state",
        "part.start",
        "part.delta",
        "tool.result",
        "part.start",
        "part.delta",
        // The next answer.
        "custom",
    ];
    assert_eq!(play.kinds(), expected);
}

#[test]
fn the_next_answer_is_asked_for_when_all_calls_are_over_and_not_before() {
    let mut play = Play::begin(Plan::new("m"));
    play.calls("a", "t", "{}");
    play.calls("b", "t", "{}");
    assert_eq!(executes(&play.gives(Input::Silent(None))), ["a", "b"], "nobody else will call");
    assert!(play.done("b", "2").is_empty());
    assert!(play.done("b", "again").is_empty());
    assert_eq!(play.done("a", "1"), [asked(2, 1)]);
}

#[test]
fn a_model_that_fails_before_it_says_anything_is_asked_again_as_if_nothing_was() {
    let mut play = Play::begin(Plan::new("m"));
    let waits = ErrorFact { retry_after_ms: Some(7_500), ..overloaded() };
    assert!(play.gives(Input::Silent(Some(waits))).is_empty());
    assert_eq!(play.agent.due(), Some(8_500));
    assert_eq!(play.run().activity.unwrap(), "retrying model in 8 s (2/5): too busy");
    assert!(play.after(7_499, Input::Time).is_empty());
    assert_eq!(play.after(1, Input::Time), [asked(1, 2)]);
    assert!(play.run().error.is_none(), "what was mended is no error of the run");
}

#[test]
fn a_person_who_does_not_want_to_wait_has_the_model_asked_at_once() {
    let mut play = Play::begin(Plan::new("m"));
    assert!(play.gives(Input::Again).is_empty(), "it is asked already");
    let waits = ErrorFact { retry_after_ms: Some(60_000), ..overloaded() };
    play.gives(Input::Silent(Some(waits)));
    assert_eq!(play.after(10, Input::Again), [asked(1, 2)]);
    assert_eq!(play.run().activity.unwrap(), "retrying model in 0 s (2/5)");
    assert!(play.gives(Input::Again).is_empty(), "nothing waits");
}

#[test]
fn an_answer_that_breaks_off_is_kept_with_its_finished_calls_and_gone_on_with() {
    let mut play = Play::begin(Plan { tokens_max: Some(100), ..Plan::new("m") });
    play.text("p", &"word".repeat(65));
    play.calls("a", "t", "{}");
    play.after(100, Input::Time);
    let half = ToolStart { tool: "half".into(), name: "t".into(), server: false, given_id: None };
    play.says(Kind::ToolStart(half));
    play.gives(Input::Silent(Some(overloaded())));
    assert!(play.after(60_000, Input::Time).is_empty(), "a call still executes");
    assert_eq!(play.done("a", "kept"), [asked(1, 2)]);
    assert_eq!(play.partial(), Some(json!({"is_partial": true, "completion_percentage": 65})));
    let run = play.run();
    assert_eq!(run.tools[&ToolCallId::new("half")].state, ToolState::Interrupted);
    assert_eq!(run.tools[&ToolCallId::new("a")].state, ToolState::Complete);
}

#[test]
fn a_failure_that_will_not_go_away_ends_the_run_when_its_calls_are_over() {
    let mut play = Play::begin(Plan::new("m"));
    play.calls("a", "t", "{}");
    play.after(100, Input::Time);
    play.says(Kind::Error(failure("context_length_exceeded", "too long", false)));
    assert!(play.gives(Input::Silent(None)).is_empty());
    assert_eq!(play.done("a", "kept"), [Command::Over]);
    let run = play.run();
    assert_eq!(run.status, RunStatus::Error);
    assert_eq!(run.error.as_ref().unwrap().code, "context_length_exceeded");
    assert_eq!(run.tools[&ToolCallId::new("a")].state, ToolState::Complete);
}

#[test]
fn what_the_answer_itself_says_went_wrong_is_told_before_that_it_broke_off() {
    let mut play = Play::begin(Plan::new("m"));
    play.says(Kind::RunEnd(RunEnd { status: RunStatus::Error, ..RunEnd::default() }));
    let odd = ErrorFact { retryable: None, ..failure("odd", "something odd", false) };
    assert_eq!(play.gives(Input::Silent(Some(odd.clone()))), [Command::Over], "nobody said that it may pass");
    assert_eq!(play.run().error, Some(odd));
}

#[test]
fn i7_attempts_and_steps_are_bounded() {
    let mut play = Play::begin(Plan { attempts_max: 3, steps_max: 2, ..Plan::new("m") });
    for attempt in 2..=3 {
        play.gives(Input::Silent(Some(overloaded())));
        assert_eq!(play.after(60_000, Input::Time), [asked(1, attempt)]);
    }
    assert_eq!(play.gives(Input::Silent(Some(overloaded()))), [Command::Over]);
    assert!(play.run().error.unwrap().may_pass());
    let mut play = Play::begin(Plan { steps_max: 2, ..Plan::new("m") });
    for (id, last) in [("a", false), ("b", true)] {
        play.calls(id, "t", "{}");
        play.gives(Input::Silent(None));
        assert_eq!(play.done(id, "x") == [Command::Over], last);
    }
    assert_eq!(play.run().error.unwrap().code, "too_many_steps");
}

#[test]
fn a_call_that_hangs_harms_only_itself() {
    let mut play = Play::begin(Plan { call_ms: 3_000, ..Plan::new("m") });
    play.calls("hangs", "t", "{}");
    play.calls("works", "t", "{}");
    play.gives(Input::Silent(None));
    play.done("works", "fine");
    assert_eq!(play.agent.due(), Some(4_000));
    let wanted = play.after(3_000, Input::Time);
    assert_eq!(wanted, [Command::Abort("hangs".into()), asked(2, 1)]);
    assert!(play.done("hangs", "too late").is_empty());
    let run = play.run();
    let tool = &run.tools[&ToolCallId::new("hangs")];
    assert_eq!((tool.state, tool.exec_ms), (ToolState::Error, Some(3_000)));
    assert_eq!(tool.result.as_ref().unwrap().to_text(), "timed out after 3 s");
}

#[test]
fn a_model_that_falls_silent_is_let_go_and_asked_again() {
    let mut play = Play::begin(Plan { silence_ms: 9_000, ..Plan::new("m") });
    play.text("p", "Well");
    assert!(play.after(8_999, Input::Time).is_empty());
    assert_eq!(play.after(1, Input::Time), [Command::HangUp]);
    let Command::Ask(ask) = play.after(60_000, Input::Time)[0] else { panic!("it is not asked") };
    assert_eq!((ask.attempt, play.partial().is_some()), (2, true));
}

#[test]
fn a_person_who_stops_stops_everything() {
    let mut play = Play::begin(Plan::new("m"));
    play.calls("a", "t", "{}");
    play.after(100, Input::Time);
    play.text("p", "and");
    let wanted = play.gives(Input::Stop);
    assert_eq!(wanted, [Command::HangUp, Command::Abort("a".into()), Command::Over]);
    let run = play.run();
    assert_eq!((run.status, run.open.len()), (RunStatus::Cancelled, 0));
    assert_eq!(run.tools[&ToolCallId::new("a")].state, ToolState::Cancelled);
    assert!(play.gives(Input::Stop).is_empty());
}

#[test]
fn consent_is_asked_for_and_may_change_the_arguments_or_be_refused() {
    let plan = Plan { needs_consent: vec!["deploy".into()], ..Plan::new("m") };
    let mut play = Play::begin(plan);
    play.calls("yes", "deploy", r#"{"to":"prod"}"#);
    play.calls("no", "deploy", "{}");
    assert!(play.gives(Input::Silent(None)).is_empty());
    assert_eq!(play.run().tools[&ToolCallId::new("yes")].state, ToolState::Approval);
    let arguments = Some(r#"{"to":"test"}"#.to_owned());
    let wanted = play.gives(Input::Consent("yes".into(), Answer::Yes { arguments }));
    let [Command::Execute(execute)] = wanted.as_slice() else { panic!("{wanted:?}") };
    assert_eq!(execute.arguments, r#"{"to":"test"}"#);
    let why = Some("not on a Friday".to_owned());
    assert!(play.gives(Input::Consent("no".into(), Answer::No { why })).is_empty());
    assert_eq!(play.done("yes", "deployed"), [asked(2, 1)]);
    let run = play.run();
    assert_eq!(run.tools[&ToolCallId::new("no")].state, ToolState::Cancelled);
    assert_eq!(run.tools[&ToolCallId::new("yes")].arguments.text, r#"{"to":"test"}"#);
}

#[test]
fn a_run_that_died_goes_on_and_executes_nothing_twice() {
    let mut play = Play::begin(Plan::new("m"));
    for id in ["finished", "executing"] {
        play.calls(id, "t", "{}");
    }
    play.after(100, Input::Time);
    play.done("finished", "kept");
    play.calls("written", "t", r#"{"n":1}"#);
    play.text("p", "Half a sent");
    let mut wanted = Vec::new();
    let agent = Agent::resume(run(), Plan::new("m"), &play.run(), 5_000, &mut wanted);
    play.agent = agent;
    play.wanted.extend(wanted);
    play.now = 5_000;
    assert_eq!(executes(&play.gives(Input::Time)), ["written"]);
    let Command::Ask(ask) = play.done("written", "late")[0] else { panic!("it is not asked") };
    assert!(ask.attempt == 1 && play.partial().is_some());
    let run = play.run();
    let state = |id: &str| run.tools[&ToolCallId::new(id)].state;
    assert_eq!(state("finished"), ToolState::Complete);
    assert_eq!(state("executing"), ToolState::Interrupted);
    assert_eq!(state("written"), ToolState::Complete);
    assert_eq!(run.parts[&PartId::new("p")].body.text, "Half a sent");
}

#[test]
fn a_run_that_died_between_its_answer_and_its_end_just_ends() {
    let mut play = Play::begin(Plan::new("m"));
    play.text("p", "All is said.");
    let part = PartId::new("p");
    let (len, hash, duration_ms, hidden, signature) = (None, None, None, false, None);
    play.says(Kind::PartEnd(PartEnd { part, len, hash, duration_ms, hidden, signature }));
    let finish_reason = Some("stop".into());
    play.says(Kind::RunUpdate(RunUpdate { finish_reason, ..RunUpdate::default() }));
    let mut wanted = Vec::new();
    let mut agent = Agent::resume(run(), Plan::new("m"), &play.run(), 5_000, &mut wanted);
    agent.take(Input::Time, 5_000, 0, &mut wanted);
    assert_eq!(wanted.last(), Some(&Command::Over));
    assert!(!wanted.iter().any(|command| matches!(command, Command::Ask(_))));
}

#[test]
fn a_run_that_died_behind_a_text_that_ended_and_before_its_answer_did_is_told_so() {
    let mut play = Play::begin(Plan::new("m"));
    play.text("p", "I think");
    let part = PartId::new("p");
    let (len, hash, duration_ms, hidden, signature) = (None, None, None, false, None);
    play.says(Kind::PartEnd(PartEnd { part, len, hash, duration_ms, hidden, signature }));
    let mut wanted = Vec::new();
    play.agent = Agent::resume(run(), Plan::new("m"), &play.run(), 5_000, &mut wanted);
    play.wanted.extend(wanted);
    play.now = 5_000;
    let wanted = play.gives(Input::Time);
    assert!(matches!(wanted.as_slice(), [Command::Ask(_)]), "{wanted:?}");
    assert!(play.partial().is_some(), "else the request ends with the model's own words");
}

#[test]
fn a_call_that_nobody_agreed_to_is_asked_about_by_a_hub_that_wants_consent() {
    let mut play = Play::begin(Plan { needs_consent: vec!["asked".into()], ..Plan::new("m") });
    play.calls("agreed", "asked", "{\"item_id\":1}");
    play.calls("free", "deploy", "{\"item_id\":1}");
    play.gives(Input::Silent(None));
    // It waits for its turn; the hub dies before that comes.
    let answer = Kind::ApprovalAnswer { tool: "agreed".into(), approved: true, text: None };
    play.wanted.push(Command::Log(Event::new(&run(), answer)));
    let mut wanted = Vec::new();
    let plan = Plan { needs_consent: vec!["*".into()], ..Plan::new("m") };
    play.agent = Agent::resume(run(), plan, &play.run(), 5_000, &mut wanted);
    play.wanted.extend(wanted);
    play.now = 5_000;
    assert_eq!(executes(&play.gives(Input::Time)), ["agreed"]);
    assert_eq!(play.run().tools[&ToolCallId::new("free")].state, ToolState::Approval);
    let asked: Vec<_> = play.agent.asked_about().map(|(tool, _)| tool.to_string()).collect();
    assert_eq!(asked, ["free"]);
}

/// What may come, at any time, in any order.
fn input() -> impl Strategy<Value = (u64, Input)> {
    let id = || prop::sample::select(vec!["a", "b", "c"]).prop_map(ToolCallId::new);
    let said = prop_oneof![
        id().prop_map(|tool| Kind::ToolStart(ToolStart {
            tool,
            name: "deploy".into(),
            server: false,
            given_id: None
        })),
        id().prop_map(|tool| Kind::ToolCall { tool, name: Some("t".into()), arguments: Some("{}".into()) }),
        id().prop_map(|tool| Kind::ToolCall { tool, name: None, arguments: Some("{\"item_id\":1}".into()) }),
        Just(Kind::PartDelta { part: "p".into(), off: None, text: "x".into() }),
        Just(Kind::Error(overloaded())),
    ];
    let input = prop_oneof![
        4 => said.prop_map(|kind| Input::ModelEvent(Event::new(&RunId::new("d"), kind))),
        2 => any::<bool>().prop_map(|fails| Input::Silent(fails.then(overloaded))),
        2 => id().prop_map(|tool| Input::Done(failed(tool, "no"))),
        1 => id().prop_map(|tool| Input::Consent(tool, Answer::Yes { arguments: None })),
        1 => id().prop_map(|tool| Input::Consent(tool, Answer::No { why: None })),
        3 => Just(Input::Time),
    ];
    (0_u64..40_000, input)
}

proptest! {
    /// Whatever comes: nothing is executed that was not written, nothing is asked while an answer is open, and in the end
    /// everything is closed, once.
    #[test]
    fn every_run_ends_once_and_leaves_nothing_open(inputs in prop::collection::vec(input(), 0..120)) {
        let plan = Plan { needs_consent: vec!["deploy".into()], steps_max: 6, ..Plan::new("m") };
        let mut play = Play::begin(plan);
        for (wait, input) in inputs {
            play.after(wait, input);
        }
        play.gives(Input::Stop);
        prop_assert!(play.agent.is_over());
        prop_assert_eq!(play.wanted.last(), Some(&Command::Over));
        let ends = play.events().iter().filter(|event| matches!(event.kind, Kind::RunEnd(_))).count();
        prop_assert_eq!(ends, 1);
        prop_assert!(play.run().open.is_empty());
        let mut open = std::collections::BTreeSet::new();
        for command in &play.wanted {
            match command {
                Command::Execute(execute) => prop_assert!(open.insert(execute.tool.clone())),
                Command::Abort(tool) => prop_assert!(open.remove(tool)),
                Command::Log(Event { kind: Kind::ToolResult(result), .. }) => {
                    open.remove(&result.tool);
                }
                _ => {}
            }
        }
        prop_assert!(open.is_empty(), "nobody stops {:?}", open);
    }
}

#[test]
fn i7_of_an_answer_with_too_much_text_the_beginning_is_kept_and_its_calls_are_executed() {
    let mut play = Play::begin(Plan { text_bytes_max: 7, ..Plan::new("m") });
    play.text("p", "four");
    play.says(Kind::PartDelta { part: PartId::new("p"), off: None, text: "éé5678".into() });
    play.text("q", "nothing of this");
    play.calls("a", "t", "{}");
    assert!(matches!(play.gives(Input::Silent(None))[..], [Command::Execute(_)]));
    let run = play.run();
    assert_eq!(run.answer(), "fouré", "no character is cut");
    let odd = play
        .wanted
        .iter()
        .filter(|it| matches!(it, Command::Log(event) if matches!(event.kind, Kind::Anomaly(_))));
    assert_eq!(odd.count(), 1);
    // The next answer has room again.
    play.done("a", "x");
    play.text("r", "seven b");
    assert!(play.run().answer().ends_with("seven b"));
}
