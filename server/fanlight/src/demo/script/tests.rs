//! Tests of reading scripts, and of the scripts themselves.

use std::collections::BTreeSet;

use super::*;

const SMALL: &str = "\
@play small dialect=openai-chat model=m-1 agent=a rate=50
@run A title
@user
Hello
there
@think rate=90
Hm.
@call c1 look
{\"at\": 1}
@call c2 delegate
{}
@result c1 after=10 takes=200 error
no
@output
line 1
@ask wait=70
may I?
@agent a1 helper call=c2
The task
@@say
Found.
@return
Back.
@say
Done.
";

#[test]
fn a_script_is_read_in_order_and_depth() {
    let play = DemoScript::parse(SMALL).expect("a script");
    assert_eq!(
        (play.name.as_str(), play.dialect, play.rate, play.once),
        ("small", DemoDialect::OpenAiChat, 50, false)
    );
    let scene = &play.scenes[0];
    assert_eq!((scene.title.as_str(), scene.user.as_str()), ("A title", "Hello\nthere"));
    assert!(matches!(&scene.steps[..], [ScriptStep::Write(_), ScriptStep::Work(_), ScriptStep::Write(_)]));
    let ScriptStep::Write(pieces) = &scene.steps[0] else { panic!("a model call") };
    assert!(matches!(&pieces[0], ScriptPiece::Think { text, rate: Some(90) } if text == "Hm."));
    assert!(
        matches!(&pieces[1], ScriptPiece::Call { id, name, arguments } if id == "c1" && name == "look" && arguments == "{\"at\": 1}")
    );
    let ScriptStep::Work(work) = &scene.steps[1] else { panic!("work") };
    let BackgroundWork::Call(call) = &work[0] else { panic!("a call") };
    assert_eq!((call.is_error, call.output.as_str(), call.takes.as_millis()), (true, "line 1\n", 200));
    assert_eq!(call.ask.as_ref().map(|(text, wait)| (text.as_str(), wait.as_millis())), Some(("may I?", 70)));
    let BackgroundWork::Agent(agent) = &work[1] else { panic!("an agent") };
    assert_eq!(
        (agent.name.as_str(), agent.task.as_str(), agent.result.as_str()),
        ("helper", "The task", "Back.")
    );
    assert!(matches!(&agent.steps[..], [ScriptStep::Write(_)]));
}

#[test]
fn a_mistake_in_a_script_is_named_with_its_line() {
    for (from, to, line) in [
        ("dialect=openai-chat", "dialect=morse", 1),
        ("@user", "@usher", 3),
        ("{\"at\": 1}", "{", 8),
        ("@@say", "@@@say", 20),
        ("after=10", "after=soon", 12),
        ("@call c1 look", "@call c1", 8),
    ] {
        let error = DemoScript::parse(&SMALL.replace(from, to)).expect_err(to);
        assert!(error.to_string().starts_with(&format!("line {line}: ")), "{to}: {error}");
    }
    assert!(DemoScript::parse("").is_err());
}

/// All calls that the model writes in `steps`, and all that are executed, sub-agents included.
fn calls<'a>(steps: &'a [ScriptStep], written: &mut Vec<&'a str>, executed: &mut Vec<&'a str>) {
    for step in steps {
        match step {
            ScriptStep::Status(_) => {}
            ScriptStep::Write(pieces) => written.extend(pieces.iter().filter_map(|piece| match piece {
                ScriptPiece::Call { id, .. } => Some(id.as_str()),
                _ => None,
            })),
            ScriptStep::Work(work) => {
                for work in work {
                    match work {
                        BackgroundWork::Call(call) => executed.push(&call.id),
                        BackgroundWork::Agent(agent) => {
                            executed.extend(agent.call.as_deref());
                            calls(&agent.steps, written, executed);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_call_of_the_demo_is_executed_once() {
    for (name, text) in crate::demo::SCRIPTS {
        let play = DemoScript::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(play.name, name);
        for scene in &play.scenes {
            let (mut written, mut executed) = (Vec::new(), Vec::new());
            calls(&scene.steps, &mut written, &mut executed);
            assert!(!written.is_empty(), "{name}: {}", scene.title);
            let unique: BTreeSet<_> = written.iter().collect();
            assert_eq!(unique.len(), written.len(), "{name}: {}: an id is used twice", scene.title);
            written.sort_unstable();
            executed.sort_unstable();
            assert_eq!(written, executed, "{name}: {}", scene.title);
        }
    }
}
