//! For everybody: what the programs that look for barriers find at every address and in every dialog, on every screen, each of which is pictured.

use serde_json::{Value, json};
use tests::browser::DESKTOP;
use tests::hub::TestHub;
use tests::installed;
use tests::model::answer;
use tests::wait::patiently;
use tests::{BrowserPage, ScriptedServer};

use crate::scene::{ANSWER, CALLS, CLOSING, OPENING, SUB_AGENT, THINKING, asking};
use crate::screens::{NARROW, barriers_on, resized, screens};

/// What is opened: a place, the keys that are pressed there or, after `click `, what is clicked, and what then stands on the page.
const PLACES: [(&str, &[&str], &str); 47] = [
    ("/", &[], ".list, .starts, [data-t=wall]"),
    ("/c/done", &[], "[data-t=answer]"),
    ("/c/runs", &[], "[data-t=answer]"),
    ("/c/runs", &["1"], "[data-t=answer]"),
    ("/c/runs", &["3"], "[data-t=tool-card]"),
    ("/c/runs", &["?"], "[data-t=dialog]"),
    ("/c/runs", &["g", "s"], "[data-t=dialog]"),
    ("/c/runs", &["g", "e"], "[data-t=dialog]"),
    ("/c/runs", &["/"], "#find-word"),
    ("/c/runs", &["g", "a"], "[data-t=answer]"),
    ("/c/runs", &["g", "i"], "[data-t=details]"),
    ("/c/runs?timeline=320", &[], "[data-t=timeline-row]"),
    ("/c/runs?timeline=lanes", &[], "[data-t=timeline-group]"),
    ("/c/done", &["p"], "[data-t=replay]"),
    ("/", &["g", "w"], "[data-t=wall], [data-t=tile]"),
    ("/new", &[], "#composer"),
    ("/c/done", &["E"], "[data-t=rewrite]"),
    ("/c/done?compare=runs", &[], "[data-t=pair]"),
    ("/c/done", &["g", "d"], "[data-t=choice]"),
    ("/c/asks", &[], "[data-t=consent]"),
    ("/c/asks", &["E"], "[data-t=arguments]"),
    ("/c/asks", &["R"], "[data-t=reason]"),
    ("/runs", &[], "[data-t=run-row] a[href^=\"/c/\"]"),
    ("/dashboard", &[], "[data-panel=runs] svg"),
    ("/search", &[], "[data-t=search-hints]"),
    ("/search?q=the", &[], "[data-t=search-hit]"),
    ("/search?q=zzzz+since:2026-01-01+tag:prod", &[], "[data-t=search-nothing]"),
    ("/dashboard?by=model&range=7d", &[], "[data-panel=tokens] svg"),
    ("/c/runs", &["g", "o"], "[data-t=dialog]"),
    ("/c/runs", &["g", "r"], "header input"),
    ("/c/runs", &["g", "h"], "[data-t=outline]"),
    ("/c/runs", &["control k"], "[data-t=palette]"),
    ("/c/done", &["g", "i", "click [data-act=delete]"], "[data-t=dialog]"),
    ("/runs", &["click details summary"], "details[open]"),
    ("/runs", &["click [data-t=run-row] input"], "[data-t=selected]"),
    ("/runs", &["click [data-t=run-row] input", "click #delete-selected"], "[data-t=question]"),
    ("/runs?q=state:nothing", &[], "[data-t=grid]"),
    ("/c/seen", &[], "[data-t=since] li"),
    ("/c/kept", &[], "[data-t=rating-said]"),
    ("/c/kept", &["click [data-act=rate-good]"], "[data-t=rating-why]"),
    ("/c/kept", &["g", "o"], "[data-t=label-tags] button"),
    ("/?q=tag:prod", &[], "[data-t=conversation-row][data-conversation=kept]"),
    ("/c/drawn", &[], ".diagram img"),
    ("/c/wrong", &[], "[data-t=wrong-dialect] button"),
    ("/c/full", &["click [data-t=context]"], "#context:popover-open"),
    ("/help", &[], "a[href='/help/operations']"),
    ("/help/protocol", &[], "table"),
];

/// Opens the palette.
const CONTROL_K: &str =
    "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true}))";

/// Gives a command to a conversation, which is carried out.
async fn command(hub: &TestHub, conversation: &str, body: &Value) {
    let path = format!("/v1/conversations/{conversation}/commands");
    let said = hub.request("POST", &path).body(body.to_string()).send().await.expect("the hub answers");
    assert!(said.status().is_success(), "{said:?}");
}

/// The command that says what somebody thinks of the run of `kept`.
fn rated(id: &str) -> Value {
    json!({"id": id, "command": "rate", "run": "r", "good": false, "why": "the wrong table"})
}

/// Further conversations: `seen`, of which a reader has seen the first event; `full`, whose context holds enough to be told; `kept`, with all that people make of one; `drawn`, with a
/// diagram; `wrong`, a stream that was published in another dialect. Returns what the browser of that reader keeps.
async fn more(hub: &TestHub) -> String {
    let mut seen = hub.publisher("seen").await;
    let first = seen.says(r#"{"k":"message","message":"m1","role":"user","text":"First"}"#).await;
    // Little that is new is not told.
    let much: Vec<_> = (0..60).map(|n| format!(r#"{{"k":"status","run":"r","text":"page {n}"}}"#)).collect();
    for lines in [OPENING, CALLS, &much.join("\n"), ANSWER, CLOSING] {
        seen.says(lines).await;
    }
    let file = json!({"name": "a.txt", "type": "text/plain", "bytes": 8_000});
    let full = json!({"k": "message", "message": "m", "role": "user", "text": "Read it. ".repeat(500), "files": [file]});
    hub.publisher("full").await.says(&[&full.to_string(), OPENING, ANSWER, CLOSING].join("\n")).await;
    hub.publisher("kept").await.says(&[OPENING, ANSWER, CLOSING].concat()).await;
    let label = json!({"id": "1", "command": "label", "title": "The numbers", "pinned": true, "tags": ["prod", "eu"], "note": "Look at it again."});
    command(hub, "kept", &label).await;
    command(hub, "kept", &rated("2")).await;
    let lines = [
        json!({"k": "run.start", "run": "r", "title": "Drawn"}),
        json!({"k": "part.start", "run": "r", "part": "p", "kind": "text"}),
        json!({"k": "part.delta", "run": "r", "part": "p", "text": "As a picture:\n\n```mermaid\nflowchart LR\n  A[Start] --> B[End]\n```\n"}),
        json!({"k": "part.end", "run": "r", "part": "p"}),
        json!({"k": "run.end", "run": "r", "status": "complete"}),
    ];
    hub.publisher("drawn").await.says(&lines.map(|line| line.to_string()).join("\n")).await;
    let mut body = hub.ingest("openai-chat", "wrong");
    let start = json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "model": "m", "content": []}});
    body.write(format!(
        "event: message_start\ndata: {start}\n\nevent: message_stop\ndata: {{\"type\":\"message_stop\"}}\n\n"
    ))
    .await;
    assert_eq!(body.finish().await.0, 200);
    json!([1, 1, [["seen", first.epoch, first.seq, 1]]]).to_string()
}

/// A hub with an agent, one run that is over, one that goes on, and one that waits for consent.
async fn hub() -> (TestHub, ScriptedServer) {
    let (hub, origin) = asking("asks", || answer("Done.")).await;
    let mut runs = hub.publisher("runs").await;
    for lines in [OPENING, THINKING, CALLS, SUB_AGENT, ANSWER] {
        runs.says(lines).await;
    }
    let mut done = hub.publisher("done").await;
    for lines in [OPENING, THINKING, CALLS, SUB_AGENT, ANSWER, CLOSING] {
        done.says(lines).await;
    }
    // What models write that is hard on readers: steps between headings, columns without a name, long lines.
    let text = "\n\n##### Deep\n\n| | a |\n|---|---|\n| x | 1 |\n\n```\nLINE\n```\n"
        .replace("LINE", &"a long line of code; ".repeat(20));
    let lines = [
        json!({"k": "run.start", "run": "s", "title": "Second"}),
        json!({"k": "part.start", "run": "s", "part": "p", "kind": "text"}),
        json!({"k": "part.delta", "run": "s", "part": "p", "text": format!("# First\n\n### Third{text}")}),
        json!({"k": "run.end", "run": "s", "status": "complete"}),
    ];
    done.says(&lines.map(|line| line.to_string()).join("\n")).await;
    (hub, origin)
}

/// Presses `keys` at `place`, once there is something that they are about.
async fn open(page: &BrowserPage, place: &str, keys: &[&str]) {
    page.holds(
        "return !!document.querySelector('.list, .starts, [data-t=transcript], .overview, body > main')",
    )
    .await;
    if place.starts_with("/c/") {
        page.painted(1).await;
    }
    if place == "/c/asks" {
        page.holds("return !!document.querySelector('[data-t=consent]')").await;
    }
    for key in keys {
        // The key is about what is in the middle, which may be the message.
        let act = if *key == "E" { "edit" } else { "reject" };
        if place == "/c/asks" {
            page.run(&format!("document.querySelector('[data-act={act}]').click()")).await;
        } else if let Some(what) = key.strip_prefix("click ") {
            page.holds(&format!("return !!document.querySelector({})", json!(what))).await;
            page.run(&format!("document.querySelector({}).click()", json!(what))).await;
        } else if *key == "control k" {
            page.run(CONTROL_K).await;
        } else {
            page.press(key).await;
        }
    }
}

/// The name of the picture of `place` after `keys`.
fn file_name(place: &str, keys: &[&str]) -> String {
    // Signs become hyphens, but these two are keys of their own.
    let keys = keys.concat().replace('?', "help").replace('/', "find");
    let words = format!("{place}-{keys}");
    words.chars().map(|sign| if sign.is_ascii_alphanumeric() { sign } else { '-' }).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_screen_has_a_barrier_that_axe_finds_in_either_colour() {
    let names: std::collections::HashSet<_> = PLACES.iter().map(|it| file_name(it.0, it.1)).collect();
    assert_eq!(names.len(), PLACES.len(), "no picture is put over another");
    let (hub, _origin) = hub().await;
    let seen = more(&hub).await;
    let mut found = Vec::new();
    // Screens of one width differ in their colours alone: the same page is shown in both.
    let screens: Vec<_> = screens().collect();
    for same in screens.chunk_by(|(_, one), (_, next)| one.width == next.width) {
        let page = BrowserPage::open(DESKTOP).await;
        for (place, keys, shown) in PLACES {
            let (first, _) = same[0];
            resized(&page, same[0].1).await;
            if place == "/c/seen" {
                // On a page that keeps nothing itself.
                page.goto(&hub.url("/help")).await;
                page.run(&format!("localStorage.setItem('fanlight.seen', {})", json!(seen))).await;
            }
            page.goto(&hub.url(place)).await;
            open(&page, place, keys).await;
            page.holds(&format!("return !!document.querySelector({})", json!(shown))).await;
            for (name, screen) in same {
                resized(&page, *screen).await;
                page.screenshot(&format!("every-{name}{}", file_name(place, keys))).await;
                let overflow = page.run("return document.documentElement.scrollWidth - innerWidth").await;
                if overflow.as_i64().is_none_or(|px| px > 0) {
                    found.push(format!("{name}, {place} {keys:?}: scrolls sideways by {overflow} px"));
                }
                // At 200 % stands what stands on a phone, and on a large screen what stands on a desktop.
                if [DESKTOP.width, NARROW.width].contains(&screen.width) {
                    let barriers = barriers_on(&page, *screen).await.into_iter();
                    found.extend(barriers.map(|barrier| format!("{name}, {place} {keys:?}: {barrier}")));
                }
            }
            if keys.iter().any(|key| key.contains("rate-good")) {
                // As it was, for the next screen.
                command(&hub, "kept", &rated(first)).await;
            }
        }
        page.close().await;
    }
    assert_eq!(found, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn lighthouse_gives_full_marks_for_access_and_good_practice() {
    let Some(packages) = installed::node_modules_or_advice() else { return };
    let (hub, _origin) = hub().await;
    let mut lighthouse = installed::node();
    lighthouse
        .arg(packages.join("lighthouse/cli/index.js"))
        .arg(hub.url("/c/done"))
        .args(["--quiet", "--output=json", "--preset=desktop", "--only-categories=accessibility,best-practices"])
        .arg("--chrome-flags=--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync")
        .env("CHROME_PATH", installed::chromium())
        .kill_on_drop(true);
    let done = patiently("Lighthouse", lighthouse.output()).await.expect("it runs");
    let said = String::from_utf8_lossy(&done.stderr);
    let report: Value =
        serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let categories = report["categories"].as_object().expect("categories");
    assert_eq!(categories.len(), 2, "{said}");
    for (name, category) in categories {
        let weighty = |audit: &&Value| audit["weight"].as_f64() > Some(0.0);
        let audits = category["auditRefs"].as_array().into_iter().flatten().filter(weighty);
        let failed: Vec<_> = audits
            .map(|audit| &report["audits"][audit["id"].as_str().unwrap_or_default()])
            .filter(|audit| audit["score"].as_f64().is_some_and(|score| score < 1.0))
            .map(|audit| format!("{}: {}", audit["title"], audit["details"]["items"]))
            .collect();
        assert_eq!((category["score"].as_f64(), failed), (Some(1.0), Vec::new()), "{name}");
    }
}
