//! The page in Firefox: a run while it streams, what modules draw, the wall and the operator's pages.

use serde_json::json;
use tests::FirefoxPage;
use tests::browser::{DESKTOP, Screen};

use crate::overview::yesterday;
use crate::scene::{ANSWER, CALLS, CLOSING, OPENING, SUB_AGENT, THINKING, hub_and_publisher};

/// Says how far the page can be scrolled sideways.
const OVERFLOW: &str = "return document.documentElement.scrollWidth - innerWidth";

/// The looks in which pictures are taken.
const LOOKS: [(&str, Screen); 2] =
    [("light", DESKTOP), ("dark-narrow", Screen { width: 390, height: 844, dark: true })];

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_followed_found_and_folded_in_firefox() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS]).await;
    let page = FirefoxPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let states = "return [...document.querySelectorAll('[data-t=tool-card]')].map(it => it.dataset.state)";
    page.run_until(states, |it| *it == json!(["complete", "error", "executing", "pending"])).await;
    let head = publisher.says_all(&[SUB_AGENT, ANSWER, CLOSING]).await;
    page.painted(head).await;
    page.run_until(states, |it| {
        it.as_array().is_some_and(|it| it.iter().all(|it| it == "complete" || it == "error"))
    })
    .await;
    page.holds("return document.querySelector('[data-t=answer] table')?.offsetHeight > 50 && [...document.querySelectorAll('[data-t=answer] .code span')].length > 1").await;
    assert_eq!(page.run(OVERFLOW).await, 0);
    page.screenshot("firefox-run-light").await;
    // Find marks hits by the Custom Highlight API.
    page.press("/").await;
    page.holds("return document.activeElement?.id === 'find-word'").await;
    for key in "dollar".chars() {
        page.press(&key.to_string()).await;
    }
    page.holds("return document.querySelectorAll('[data-t=hit]').length > 0 && (CSS.highlights.get('find')?.size ?? 0) > 0").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn diagrams_and_formulas_are_drawn_in_firefox() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let text = "Mass is energy: $E = mc^2$.\n\n```mermaid\nflowchart LR\n  A[Start] --> B{Is it done?}\n  B -->|Yes| C[End]\n```\n\n\
                ```mermaid\nsequenceDiagram\n  actor U as User\n  U->>Hub: Ask\n  Hub-->>U: Answer\n```\n";
    let start = json!({"k": "part.start", "run": "r", "part": "p", "kind": "text"});
    let delta = json!({"k": "part.delta", "run": "r", "part": "p", "text": text});
    let end = json!({"k": "part.end", "run": "r", "part": "p"});
    let done = json!({"k": "run.end", "run": "r", "status": "complete"});
    let head = publisher.says(&format!("{OPENING}\n{start}\n{delta}\n{end}\n{done}")).await.seq;
    for (name, screen) in LOOKS {
        let page = FirefoxPage::open(screen).await;
        page.goto(&hub.url("/c/c")).await;
        page.painted(head).await;
        page.run_until(
            "return [...document.querySelectorAll('.code')].map(it => it.dataset.drawn ?? '')",
            |it| *it == json!(["drawn", "drawn"]),
        )
        .await;
        let images = "return [...document.querySelectorAll('.diagram img')].filter(it => it.offsetWidth).map(it => it.complete && it.naturalWidth > 100 && it.offsetHeight > 30)";
        page.run_until(images, |it| *it == json!([true, true])).await;
        let alt = page.run("return document.querySelector('.diagram img').alt").await;
        assert_eq!(alt, "Flowchart: Yes, Start, Is it done?, End");
        page.holds(
            "return document.querySelector('[data-t=answer] math msup')?.getBoundingClientRect().height > 5",
        )
        .await;
        assert_eq!(page.run(OVERFLOW).await, 0, "{name}");
        page.screenshot(&format!("firefox-diagrams-{name}")).await;
        assert_eq!(page.console_errors().await, Vec::<String>::new(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wall_and_the_operators_pages_are_drawn_in_firefox() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says_all(&[OPENING, CALLS]).await;
    yesterday(&hub, 12).await;
    for (name, screen) in LOOKS {
        let page = FirefoxPage::open(screen).await;
        for (path, what, there) in [
            ("/wall", "wall", "return document.querySelectorAll('[data-t=tile]').length > 0"),
            ("/runs", "runs", "return document.querySelectorAll('[data-t=run-row]').length > 10"),
            (
                "/dashboard",
                "dashboard",
                "return document.querySelectorAll('[data-t=panel] svg path').length > 3",
            ),
            (
                "/search?q=region",
                "search",
                "return document.querySelectorAll('[data-t=search-hit]').length > 0",
            ),
        ] {
            page.goto(&hub.url(path)).await;
            page.holds(there).await;
            assert_eq!(page.run(OVERFLOW).await, 0, "{what} {name}");
            page.screenshot(&format!("firefox-{what}-{name}")).await;
        }
        // The page is left while the browser still fetches modules that nobody needs yet, which then fails.
        let reasons = ["NetworkError", "The operation was aborted"];
        let is_left = |text: &String| {
            let why = text.strip_prefix("A part of the page cannot be loaded: ");
            why.is_some_and(|why| reasons.iter().any(|reason| why.starts_with(reason)))
        };
        let errors = page.console_errors().await.into_iter().filter(|text| !is_left(text));
        assert_eq!(errors.collect::<Vec<_>>(), Vec::<String>::new(), "{name}");
    }
}
