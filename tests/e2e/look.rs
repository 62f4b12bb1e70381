//! How it looks: pictures in light, dark and narrow for a person to look at, and what a program can check of them.

use serde_json::{Value, json};
use tests::BrowserPage;
use tests::browser::{DESKTOP, Screen};

use crate::scene::{ANSWER, CALLS, CLOSING, OPENING, SUB_AGENT, THINKING, hub_and_publisher};
use crate::screens::{NARROW, PicturedView, ZOOMED, pictured};

#[tokio::test(flavor = "multi_thread")]
async fn the_conversation_fits_every_screen_in_both_colours() {
    let (hub, mut publisher) = hub_and_publisher("quarterly-report").await;
    let mut other = hub.publisher("nightly-import").await;
    other.says(&OPENING.replace("Quarterly report", "Nightly import")).await;
    other.says(r#"{"k":"error","run":"r","code":"upstream_refused","message":"the upstream refused the connection","retryable":true,"retry_after_ms":8000}"#).await;
    other.says(r#"{"k":"run.end","run":"r","status":"error"}"#).await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS, SUB_AGENT, ANSWER]).await;
    let page = BrowserPage::open(NARROW).await;
    page.goto(&hub.url("/c/quarterly-report")).await;
    page.holds("return !!document.querySelector('[data-t=transcript]')").await;
    page.painted(head).await;
    page.text_until("answer", |text| text.contains("weaker dollar")).await;
    page.holds("return document.querySelectorAll('[data-t=answer] .caret').length === 1").await;
    pictured(&page, PicturedView::Running).await;
    page.painted(publisher.says(CLOSING).await.seq).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_button_of_the_top_bar_is_in_the_window_whatever_its_width() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS, SUB_AGENT, ANSWER]).await;
    let (page, other) = (BrowserPage::open(DESKTOP).await, BrowserPage::open(DESKTOP).await);
    for page in [&page, &other] {
        page.goto(&hub.url("/c/c")).await;
        page.painted(head).await;
    }
    page.text_until("watching", |text| text.contains("2 watching")).await;
    page.text_until("pill", |text| text.contains("Running")).await;
    // What renames a conversation stands beside its title, however short that is.
    let gap = "const right = document.createRange(); right.selectNodeContents(document.querySelector('.top h1'));
        return document.querySelector('.top [aria-label=Rename]').getBoundingClientRect().left - right.getBoundingClientRect().right";
    let gap = page.run(gap).await;
    assert!(gap.as_f64().is_some_and(|gap| (0.0..24.0).contains(&gap)), "{gap}");
    for width in [320, 390, 800, 900, 1024, 1200, 1280] {
        page.resize(Screen { width, ..DESKTOP }).await;
        page.run_until("return innerWidth", |now| now == width).await;
        let cut = "return [...document.querySelectorAll('.top button, .top a')].filter(it => it.checkVisibility()).filter(it => {
            const box = it.getBoundingClientRect(); return box.left < 0 || box.right > innerWidth
        }).map(it => it.ariaLabel ?? it.textContent)";
        assert_eq!(page.run(cut).await, serde_json::json!([]), "at {width} px");
        let shown = "return ['Find', 'Export', 'Settings'].every(it => document.querySelector(`.top [aria-label=${it}]`).checkVisibility())";
        assert_eq!(page.run(shown).await, width >= 800, "at {width} px");
    }
    other.close().await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_has_a_word_for_whatever_is_not_complete() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS]).await;
    let page = BrowserPage::open(NARROW).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let word = |call: &str| {
        format!(
            "const it = document.querySelector('[data-t=tool-card][data-call={call}] .st'); return it?.checkVisibility() ? it.innerText.trim() : ''"
        )
    };
    page.run_until(&word("t2"), |word| {
        word.as_str().is_some_and(|it| it.starts_with("error · 401 token expired"))
    })
    .await;
    page.run_until(&word("t3"), |word| word == "executing").await;
    page.run_until(&word("t1"), |word| word == "").await;
    // The word stands below the name, not over it.
    page.holds(
        "const card = document.querySelector('[data-t=tool-card][data-call=t2]'), of = part => card.querySelector(part).getBoundingClientRect();
         return of('.st').top >= of('.nm').bottom && of('.st').bottom <= of('button').bottom && of('.st').right <= innerWidth",
    )
    .await;
    page.screenshot("words-narrow").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_hub_says_what_to_do() {
    let hub = tests::TestHub::start().await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/")).await;
    page.holds("return document.querySelector('[data-t=waiting]')?.textContent.length > 0 && document.body.textContent.includes('/v1/ingest/')").await;
    pictured(&page, PicturedView::Empty).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_from_a_stream_becomes_html() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let evil = r#"<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> [x](javascript:document.title='owned') ![i](http://127.0.0.1:1/leak.png)"#;
    publisher
        .says(&format!(
            r#"
        {{"k":"message","message":"m","role":"user","text":"{evil}"}}
        {{"k":"run.start","run":"r","title":"{evil}"}}
        {{"k":"part.start","run":"r","part":"p","kind":"text"}}
        {{"k":"part.delta","run":"r","part":"p","text":"before {evil} after"}}
        {{"k":"tool.call","run":"r","tool":"t","name":"{evil}","arguments":"{{}}"}}
    "#
        ))
        .await;
    let head = publisher
        .says(&format!(r#"{{"k":"tool.result","run":"r","tool":"t","output":"{evil}","is_error":true}}"#))
        .await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head.seq).await;
    page.text_until("answer", |text| text.contains("before") && text.contains("after")).await;
    page.run("document.querySelector('[data-t=tool-card] button').click()").await;
    let found = page
        .run(
            "return [document.querySelectorAll('[data-t=transcript] img, [data-t=transcript] script, \
             [data-t=transcript] a[href^=javascript]').length, document.title]",
        )
        .await;
    assert_eq!(found[0], Value::from(0));
    assert_ne!(found[1], Value::from("owned"));
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_header_tells_of_the_run_that_its_sub_agents_run_beside() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let begin = r#"{"k":"run.start","run":"main"}
        {"k":"run.start","run":"sub"}"#;
    publisher.says(begin).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.text_until("pill", |text| text.contains("Running")).await;
    let head = publisher.says(r#"{"k":"run.end","run":"sub","status":"error"}"#).await.seq;
    page.painted(head).await;
    page.text_until("pill", |text| text.contains("Running")).await;
    let asks = r#"{"k":"run.start","run":"other"}
        {"k":"tool.call","run":"other","tool":"t","name":"deploy","arguments":"{}"}
        {"k":"approval.request","run":"other","tool":"t","text":"Deploy?"}"#;
    page.painted(publisher.says(asks).await.seq).await;
    page.text_until("pill", |text| text.contains("Waits for approval")).await;
    let end = r#"{"k":"approval.answer","run":"other","tool":"t","approved":false}
        {"k":"run.end","run":"other","status":"error"}
        {"k":"run.end","run":"main","status":"complete"}"#;
    page.painted(publisher.says(end).await.seq).await;
    page.text_until("pill", |text| text.contains("Done")).await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_200_percent_the_page_does_not_scroll_sideways_and_what_is_beyond_an_edge_can_be_scrolled_to() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS, SUB_AGENT, ANSWER]).await;
    hub.publisher("other").await.says(OPENING).await;
    let page = BrowserPage::open(ZOOMED).await;
    for (path, name, there) in [
        ("/c/c", "run", "[data-t=transcript] [data-t=answer]"),
        ("/runs", "runs", "tbody tr, [role=row]"),
        ("/wall", "wall", ".tile"),
        ("/c/c", "settings", "[data-t=transcript] [data-t=answer]"),
        ("/c/c?timeline=lanes", "timeline", "[data-t=timeline-group]"),
        ("/c/c?compare=other", "compare", "[data-t=pair]"),
        ("/dashboard", "dashboard", "[data-panel=runs] svg"),
        ("/search?q=revenue", "search", "[data-t=search-hit]"),
        ("/search", "search-empty", "[data-t=search-hints]"),
        ("/help", "help", "main a"),
        ("/help/protocol", "help-page", "main table"),
    ] {
        page.goto(&hub.url(path)).await;
        page.holds(&format!("return !!document.querySelector('{there}')")).await;
        if name == "run" {
            page.painted(head).await;
        }
        if name == "settings" {
            page.press("g").await;
            page.press("s").await;
            page.holds("return !!document.querySelector('dialog[open], [role=dialog]')").await;
            // A dialog scrolls down and not sideways: each choice is seen whole.
            let cut = "const dialog = document.querySelector('[role=dialog]').getBoundingClientRect();
                return [...document.querySelectorAll('[role=dialog] button')].filter(it => {
                    const box = it.getBoundingClientRect(), around = it.parentElement.getBoundingClientRect();
                    return box.right > Math.min(dialog.right, around.right) + 1 || box.bottom > around.bottom + 1
                        || it.scrollWidth > it.clientWidth + 1;
                }).map(it => it.textContent)";
            assert_eq!(page.run(cut).await, json!([]), "{name}");
        }
        let sideways = "return document.documentElement.scrollWidth - innerWidth";
        assert!(page.run(sideways).await.as_i64().unwrap() <= 0, "{name}");
        // What stands beyond an edge can be reached, since something around it scrolls.
        let cut = "return [...document.querySelectorAll('button, a, input, select, h1, h2, h3')].filter(it => it.checkVisibility({visibilityProperty: true, opacityProperty: true})).filter(it => {
            const box = it.getBoundingClientRect();
            if (!box.width || (box.left >= -1 && box.right <= innerWidth + 1)) return false;
            for (let up = it.parentElement; up; up = up.parentElement)
                if (/auto|scroll/.test(getComputedStyle(up).overflowX) && up.scrollWidth > up.clientWidth) return false;
            return !it.closest('.sr, [inert], [aria-hidden=true]');
        }).map(it => `${it.tagName} ${it.className} ${it.ariaLabel ?? it.textContent.slice(0, 40)}`)";
        assert_eq!(page.run(cut).await, serde_json::json!([]), "{name}");
        page.screenshot(&format!("zoomed-{name}")).await;
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headings_of_an_answer_differ_in_size() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let start = json!({"k": "part.start", "run": "r", "part": "p", "kind": "text"});
    let text = "# First\n\n## Second\n\n### Third\n\nText.\n\n";
    let delta = json!({"k": "part.delta", "run": "r", "part": "p", "text": text});
    let end = json!({"k": "part.end", "run": "r", "part": "p"});
    let head = publisher.says(&format!("{OPENING}\n{start}\n{delta}\n{end}")).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let sizes = "return [...document.querySelectorAll('.ans :is(h3, h4, h5)')].map(it => [it.textContent, parseFloat(getComputedStyle(it).fontSize)])";
    page.run_until(sizes, |it| it.as_array().is_some_and(|it| it.len() == 3)).await;
    assert_eq!(page.run(sizes).await, json!([["First", 20], ["Second", 17], ["Third", 15]]));
    page.close().await;
}
