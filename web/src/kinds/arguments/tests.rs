//! What is read of arguments, and that nothing of them is left out.

use proptest::prelude::*;

use super::*;
use crate::kinds::Change;

fn read(text: &str) -> Vec<Argument> {
    arguments(text).unwrap_or_else(|| panic!("{text}"))
}

/// The arguments as `name=kind` words.
fn kinds_of(text: &str) -> Vec<String> {
    let word = |argument: Argument| {
        let kind = match argument.value {
            ArgumentValue::Word(text) | ArgumentValue::Written(text) => text,
            ArgumentValue::Text { language, .. } => format!("text({language})"),
            ArgumentValue::Json(_) => "json".to_owned(),
            ArgumentValue::Diff(lines) => {
                let (added, removed) = counts(&lines);
                format!("+{added}-{removed}")
            }
            ArgumentValue::Tasks(tasks) => format!("{} tasks", tasks.len()),
        };
        format!("{}={kind}", argument.name)
    };
    read(text).into_iter().map(word).collect()
}

#[test]
fn edits_of_each_agent_are_diffs() {
    for (old, new) in EDITS {
        let text =
            format!(r#"{{"file_path":"/src/a.rs","{old}":"a\nb","{new}":"a\nc","replace_all":false}}"#);
        let diff = format!("{old} → {new}=+1-1");
        assert_eq!(kinds_of(&text), ["file_path=/src/a.rs", &diff, "replace_all=false"]);
    }
    let several = r#"{"file_path":"a","edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"","replace_all":true}]}"#;
    let expected = ["file_path=a", "edits[0]=+1-1", "edits[1].replace_all=true", "edits[1]=+0-1"];
    assert_eq!(kinds_of(several), expected);
    let twice = r#"{"old_string":"a","new_string":"b","new_string":"c"}"#;
    assert_eq!(kinds_of(twice), ["old_string=a", "new_string=b", "new_string=c"], "each value is shown");
}

#[test]
fn patches_are_diffs_in_a_field_and_alone() {
    let patch =
        "*** Begin Patch\n*** Update File: a.rs\n@@ fn a()\n same\n-old\n+new\n+more\n*** End Patch\n";
    let json = serde_json::to_string(&serde_json::json!({ "input": patch })).unwrap();
    assert_eq!(kinds_of(&json), ["input=+2-1"]);
    assert_eq!(kinds_of(patch), ["=+2-1"]);
    let ArgumentValue::Diff(lines) = &read(patch)[0].value else { panic!() };
    let changes: Vec<Change> = lines.iter().map(|line| line.change).collect();
    use Change::{Added, Head, Removed, Same};
    assert_eq!(changes, [Head, Head, Head, Same, Removed, Added, Added, Head]);
    let unified = r#"{"diff":"--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"}"#;
    assert_eq!(kinds_of(unified), ["diff=+1-1"]);
}

#[test]
fn texts_have_the_language_of_their_file() {
    assert_eq!(
        kinds_of(r#"{"path":"/a/b.py","content":"import os\n"}"#),
        ["path=/a/b.py", "content=text(py)"]
    );
    assert_eq!(kinds_of(r#"{"command":"ls\npwd"}"#), ["command=text(sh)"]);
    assert_eq!(kinds_of(r#"{"prompt":"one\ntwo"}"#), ["prompt=text()"]);
    assert_eq!(
        kinds_of(r#"{"n":1.50,"q":"x","l":[1, 2],"z":null}"#),
        ["n=1.50", "q=x", "l=[1, 2]", "z=null"]
    );
    let long = format!(r#"{{"o":{{"a":"{}"}}}}"#, "x".repeat(WORD_BYTES_MAX));
    assert_eq!(kinds_of(&long), ["o=json"]);
    assert_eq!(language_of_arguments(r#"{"file_path":"C:\\src\\main.ts"}"#), "ts");
    for text in ["[]", "{}", "1", "plain", "{\"a\":", "{\"a\":1"] {
        assert_eq!(arguments(text), None, "{text}");
    }
}

#[test]
fn arguments_that_are_too_large_stay_json() {
    let many: Vec<String> = (0..=FIELDS_MAX).map(|n| format!("\"f{n}\":1")).collect();
    assert_eq!(arguments(&format!("{{{}}}", many.join(","))), None);
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(LOOKED_BYTES_MAX));
    assert_eq!(arguments(&large), None);
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(kinds_of(&deep), ["a=json"], "a level is read when it is unfolded");
}

#[test]
fn lists_of_tasks_are_told_by_their_states() {
    let todos = r#"{"todos":[{"content":"Read it","status":"completed","activeForm":"Reading it"},
        {"content":"Mend it","status":"in_progress","priority":"high","id":"2"},{"content":"Test it","status":"pending"}]}"#;
    assert_eq!(kinds_of(todos), ["todos=3 tasks"]);
    assert_eq!(glance_of_arguments(todos).map(ArgumentsGlance::word).as_deref(), Some("1 of 3 done"));
    assert_eq!(current_task(todos).as_deref(), Some("Mend it"));
    let ArgumentValue::Tasks(tasks) = &read(todos)[0].value else { panic!() };
    assert_eq!((tasks[0].active.as_str(), tasks[1].rest.as_str()), ("Reading it", "priority: high · id: 2"));
    let plan = r#"{"explanation":"Next","plan":[{"step":"Read","status":"completed"}]}"#;
    assert_eq!(kinds_of(plan), ["explanation=Next", "plan=1 tasks"]);
    for odd in [
        r#"{"todos":[]}"#,
        r#"{"todos":[{"content":"a","status":"who knows"}]}"#,
        r#"{"todos":[{"content":"a","content":"b","status":"done"}]}"#,
        r#"{"todos":["a"]}"#,
    ] {
        assert_eq!(glance_of_arguments(odd), None, "{odd}");
    }
}

#[test]
fn a_card_says_what_an_edit_changes() {
    let word = |text: &str| glance_of_arguments(text).map(ArgumentsGlance::word);
    assert_eq!(word(r#"{"old_string":"a\nb","new_string":"c"}"#).as_deref(), Some("+1 −2"));
    assert_eq!(word(r#"{"query":"x"}"#), None);
    assert_eq!(word(r#"{"old_string":"a"}"#), None);
}

proptest! {
    #[test]
    fn every_field_is_in_what_is_read(fields in proptest::collection::btree_map("[a-z_]{1,8}", ".{0,20}(\n.{0,200})?", 1..6)) {
        let text = serde_json::to_string(&fields).unwrap();
        let read = read(&text);
        prop_assert_eq!(read.len(), fields.len());
        for (argument, (name, value)) in read.into_iter().zip(fields) {
            prop_assert_eq!(argument.name, name);
            match argument.value {
                ArgumentValue::Word(text) | ArgumentValue::Text { text, .. } => prop_assert_eq!(text, value),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn whatever_a_model_writes_is_read(text in "(\\{|\\}|\\[|\\]|\"|,|:|old_string|new_string|todos|status|\\\\n|a|\n|é){0,40}") {
        let _some = (arguments(&text), glance_of_arguments(&text), language_of_arguments(&text));
    }
}
