//! What coding agents do, in a form that a person reads: edits as diffs, to-do lists, code with numbers.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::{BrowserPage, TestPublisher};

use crate::scene::{OPENING, hub_and_publisher};
use crate::screens::{PicturedView, pictured_high};

/// The lines of a text of `count` lines.
fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat()
}

/// Calls: id, name of the tool, arguments, result.
fn calls() -> Vec<(&'static str, &'static str, Value, Value)> {
    let patch = "*** Begin Patch\n*** Update File: src/b.rs\n@@\n same\n-old\n+new\n+more\n*** End Patch\n";
    let todos = json!([{"content": "Read the code", "status": "completed", "activeForm": "Reading the code"},
        {"content": "Mend the bug", "status": "in_progress", "activeForm": "Mending the bug"},
        {"content": "اختبار", "status": "pending", "activeForm": "Testing"}]);
    let old = format!("{}old();\nfn end() {{}}\n", lines(30));
    let new = format!("{}new();\nfn end() {{}}\n", lines(30));
    let file = "use std::fmt;\n\nfn main() {\n\tprintln!(\"hi\"); // greets\n}\n";
    let read: String =
        file.lines().zip(1..).map(|(line, n)| format!("{n:6}→{line}\n")).collect::<Vec<_>>().concat();
    vec![
        (
            "edit",
            "Edit",
            json!({"file_path": "/src/a.rs", "old_string": "<b>old</b>();\nkept();", "new_string": "new();\nkept();"}),
            json!("The file was updated."),
        ),
        ("patch", "apply_patch", json!({"input": patch}), json!("Success.")),
        ("long", "str_replace", json!({"path": "/src/c.rs", "old_str": old, "new_str": new}), json!("ok")),
        ("todos", "TodoWrite", json!({"todos": todos}), json!("Todos have been modified.")),
        ("write", "Write", json!({"file_path": "/src/d.rs", "content": lines(40)}), json!("ok")),
        ("read", "Read", json!({"file_path": "/src/e.rs"}), json!(read)),
        (
            "csv",
            "query",
            json!({"sql": "select region,\n  net\nfrom sales", "limit": 10}),
            json!("region,net\nEMEA,48.5\nAPAC,12\n"),
        ),
        (
            "shell",
            "bash",
            json!({"command": "cargo test"}),
            json!(format!("\u{1b}[32mok\u{1b}[0m\n{}", lines(60))),
        ),
        ("text", "fetch", json!({"url": "https://example.org"}), json!(lines(60))),
    ]
}

/// Publishes all calls; returns the head.
async fn say_calls(publisher: &mut TestPublisher) -> u64 {
    publisher.says(OPENING).await;
    let mut head = 0;
    for (id, name, arguments, output) in calls() {
        let call = json!({"k": "tool.call", "run": "r", "tool": id, "name": name, "arguments": arguments.to_string()});
        let result = json!({"k": "tool.result", "run": "r", "tool": id, "output": output, "exec_ms": 900});
        head = publisher.says(&format!("{call}\n{result}")).await.seq;
    }
    head
}

/// The text of a selector within a call.
fn text_of(call: &str, selector: &str) -> String {
    format!("return document.querySelector('[data-call={call}] {selector}')?.textContent ?? null")
}

/// Chooses a tab of a call.
async fn choose(page: &BrowserPage, call: &str, tab: &str) {
    page.run(&format!(
        "[...document.querySelectorAll('[data-call={call}] [role=tab]')].find(it => it.textContent === '{tab}').click()"
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_patches_and_lists_are_what_an_opened_call_shows() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = say_calls(&mut publisher).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    // The line says what an edit changes, before it is opened.
    page.run_until(&text_of("edit", ".st"), |it| it == "+1 −1").await;
    page.run_until(&text_of("patch", ".st"), |it| it == "+2 −1").await;
    page.run_until(&text_of("todos", ".st"), |it| it == "1 of 3 done").await;
    page.press("3").await;
    page.run_until(&text_of("edit", "[data-t=diff]"), |it| it == "-<b>old</b>();\n+new();\n kept();\n").await;
    let marks = "return [...document.querySelectorAll('[data-call=edit] [data-t=diff] .ln')].map(it => it.className.trim())";
    assert_eq!(page.run(marks).await, json!(["ln removed", "ln added", "ln"]));
    assert_eq!(page.run("return document.querySelectorAll('[data-call=edit] b').length").await, 0);
    let added = "return document.querySelectorAll('[data-call=patch] [data-t=diff] .added').length";
    page.run_until(added, |it| it == 2).await;
    let tasks = "return [...document.querySelectorAll('[data-call=todos] [data-t=tasks] li')].map(it => it.dataset.state + ': ' + it.querySelector('.task-text').textContent)";
    let expected = json!(["done: Read the code", "in progress: Mend the bug", "to do: اختبار"]);
    page.run_until(tasks, |it| it == &expected).await;
    // What a tool answered is one click away, and what was sent another one.
    choose(&page, "edit", "Output").await;
    page.holds("return document.querySelector('[data-call=edit] .body').textContent.includes('The file was updated.')").await;
    choose(&page, "edit", "Raw").await;
    page.holds("return document.querySelector('[data-call=edit] .body').textContent.includes('\"old_string\":\"<b>old</b>')").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_show_fifteen_lines_and_all_of_them_on_a_click() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = say_calls(&mut publisher).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("3").await;
    // A diff shows what is changed first.
    page.run_until(&text_of("long", "[data-t=diff]"), |it| {
        it.as_str()
            .is_some_and(|it| it.starts_with(" ⋯ 27") || it.starts_with("⋯ 27 unchanged lines\n line 28\n"))
    })
    .await;
    for (call, place, count) in
        [("long", "[data-t=diff]", 33), ("shell", "[data-t=terminal]", 61), ("text", ".pre", 60)]
    {
        let shown = format!(
            "return document.querySelector('[data-call={call}] {place}').textContent.trimEnd().split('\\n').length"
        );
        let first = page.run_until(&shown, |it| it.as_u64().is_some_and(|n| n <= 16)).await;
        assert!(first.as_u64().unwrap() >= 7, "{call}: {first}");
        page.run(&format!("document.querySelector('[data-call={call}] button.more').click()")).await;
        page.run_until(&shown, |it| it == count).await;
    }
    choose(&page, "write", "Input").await;
    let numbers = "return [...document.querySelectorAll('[data-call=write] [data-t=lines] .ln')].map(it => it.dataset.n)";
    page.run_until(numbers, |it| it.as_array().is_some_and(|it| it.len() == 15)).await;
    page.run("document.querySelector('[data-call=write] [data-t=show-all]').click()").await;
    page.run_until(&text_of("write", "[data-t=lines]"), |it| it == lines(40).as_str()).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_read_has_its_numbers_beside_the_text_and_csv_is_a_table() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = say_calls(&mut publisher).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("3").await;
    let file = "use std::fmt;\n\nfn main() {\n\tprintln!(\"hi\"); // greets\n}\n";
    page.run_until(&text_of("read", "[data-t=lines]"), |it| it == file).await;
    page.run_until(&text_of("read", "[data-t=lines] .kw"), |it| it == "use").await;
    // What is selected and copied has no numbers.
    let selected = "const it = document.querySelector('[data-call=read] [data-t=lines]'); getSelection().selectAllChildren(it); return getSelection().toString()";
    let selected = page.run(selected).await;
    assert!(!selected.as_str().unwrap().contains('5'), "{selected}");
    let cells = "return [...document.querySelectorAll('[data-call=csv] [data-t=table] tr')].map(row => [...row.children].map(it => it.textContent).join('|'))";
    page.run_until(cells, |it| it == &json!(["region|net", "EMEA|48.5", "APAC|12"])).await;
    choose(&page, "csv", "Input").await;
    page.run_until(&text_of("csv", "[data-t=lines]"), |it| it == "select region,\n  net\nfrom sales").await;
    page.holds("return document.querySelector('[data-call=csv] [data-t=readable]').textContent.includes('limit: 10')").await;
    choose(&page, "csv", "Output").await;
    page.run_until(cells, |it| it.as_array().is_some_and(|rows| rows.len() == 3)).await;
    pictured_high(&page, PicturedView::Lines, 1_600).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_grows_shows_no_control_sequences() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let call = json!({"k": "tool.call", "run": "r", "tool": "t", "name": "bash", "arguments": "{}"});
    let state = json!({"k": "tool.state", "run": "r", "tool": "t", "state": "executing"});
    let delta = |text: &str| json!({"k": "tool.output", "run": "r", "tool": "t", "text": text});
    let head = publisher
        .says(&format!("{call}\n{state}\n{}\n{}", delta("\u{1b}[32mok\u{1b}[0"), delta("m and on")))
        .await
        .seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("3").await;
    page.run_until(&text_of("t", ".pre.live"), |it| it == "ok and on").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_agents_change_fits_every_screen_in_both_colours() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = say_calls(&mut publisher).await;
    let page = BrowserPage::open(tests::browser::Screen { height: 2400, ..DESKTOP }).await;
    page.goto(&hub.url("/c/c?level=All")).await;
    page.painted(head).await;
    page.holds("return document.querySelectorAll('[data-t=diff]').length === 3").await;
    choose(&page, "write", "Input").await;
    page.holds("return !!document.querySelector('[data-call=write] [data-t=lines]')").await;
    pictured_high(&page, PicturedView::Forms, 2_400).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
