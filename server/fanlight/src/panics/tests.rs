//! Tests of what is said of panics. They happen in a child process, which is this test binary once more, since a hook is for all threads.

use std::process::{Command, Output};

use redact::Builtin;

use super::say_in_the_trace;
use crate::command::Cleaner;
use crate::telemetry::{TraceLayout, init};

/// The variable that makes this binary the process in which threads panic; its value is how: with or without the hook.
const CHILD: &str = "FANLIGHT_TEST_PANICS";

/// A key that nobody has, which the child knows by its environment.
const KEY: &str = "sk-proj-Z9y8X7w6V5u4T3s2R1q0P9o8N7m6L5k4";

/// The password of an address.
const PASSWORD: &str = "gehe1m-Z9y8X7w6V5";

/// What a pattern of the settings fits.
const OWN: &str = "ACME-123456";

/// The child: one thread and one task panic about secrets, and the error of each is traced as the hub does it.
#[test]
fn threads_panic_if_this_is_the_child() {
    let Ok(how) = std::env::var(CHILD) else { return };
    let layout = if how.contains("json") { TraceLayout::Json } else { TraceLayout::Lines };
    let patterns = ["ACME-[0-9]{6}".to_owned()];
    let filter = if how.contains("off") { "off" } else { "trace" };
    let cleaner = Cleaner::new(Builtin::default(), &patterns).unwrap();
    init(layout, filter, cleaner);
    if !how.contains("raw") {
        say_in_the_trace();
    }
    let key = std::env::var("VENDOR").unwrap();
    let text = format!("no answer: {{\"key\": \"{key}\"}} at postgres://hub:{PASSWORD}@db/x, {OWN}");
    let (of_thread, of_task) = (text.clone(), text);
    let thread = std::thread::Builder::new().name("writer".into());
    let ended = thread.spawn(move || panic!("{of_thread}")).unwrap().join();
    assert!(ended.is_err());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let error =
        runtime.block_on(async { tokio::spawn(async move { panic!("{of_task}") }).await }).unwrap_err();
    // Its text repeats the message.
    tracing::error!(%error, "a task broke off");
    tracing::warn!(?error, "a task broke off");
}

/// What the child says, all of it.
fn child(how: &str) -> String {
    let Output { stdout, stderr, .. } = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "panics::tests::threads_panic_if_this_is_the_child",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, how)
        .env("VENDOR", KEY)
        .env("RUST_BACKTRACE", "1")
        .output()
        .unwrap();
    String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned()
}

#[test]
fn a_panic_is_said_once_in_the_trace_with_thread_and_place_and_without_secrets() {
    for how in ["lines", "json"] {
        let said = child(how);
        for secret in [KEY, PASSWORD, OWN] {
            assert!(!said.contains(secret), "{how}: {said}");
        }
        for mark in ["[redacted:openai-key:", "postgres://hub:***@db/x", "[redacted:pattern-1:"] {
            // The thread, the task, and twice the error of the task.
            assert!(said.matches(mark).count() >= 4, "{how}, {mark}: {said}");
        }
        assert_eq!(said.matches("a thread panicked").count(), 2, "{how}: {said}");
        assert!(said.contains("writer") && said.contains("panics/tests.rs:"), "{how}: {said}");
        assert!(!said.contains("' panicked at"), "nothing is said beside the trace: {said}");
    }
}

#[test]
fn a_panic_is_said_where_the_trace_is_off_too() {
    let said = child("off");
    assert!(
        said.contains("the thread writer panicked at ") && said.contains("[redacted:openai-key:"),
        "{said}"
    );
    assert!(!said.contains(KEY) && !said.contains(PASSWORD), "{said}");
}

#[test]
fn without_the_hook_the_secret_is_said() {
    assert!(child("raw").contains(KEY));
}
