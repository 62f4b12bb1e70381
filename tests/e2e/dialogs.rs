//! What lies over the page has the keys to itself, and gives the focus back; boxes that scroll keep their own keys.

use serde_json::json;
use tests::BrowserPage;
use tests::browser::DESKTOP;
use tests::model::answer;

use crate::scene::{CALLS, OPENING, asking, head_of, hub_and_publisher};

#[tokio::test(flavor = "multi_thread")]
async fn under_a_dialog_no_key_approves_anything() {
    let (hub, _origin) = asking("c", || answer("Done.")).await;
    let head = head_of(&hub, "c").await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.holds("return !!document.querySelector('[data-act=approve]:not([disabled])')").await;
    page.run("window.pressed = []; document.addEventListener('click', event => pressed.push(event.target.closest('[data-act]')?.dataset.act ?? ''), true)")
        .await;
    for dialog in [&["?"][..], &["g", "s"], &["g", "e"]] {
        for key in dialog {
            page.press(key).await;
        }
        page.holds("return !!document.querySelector('[data-t=dialog]')").await;
        for key in ["A", "R", "E", "."] {
            page.press(key).await;
        }
        assert_eq!(page.run("return pressed").await, json!([]), "{dialog:?}");
        page.key("Escape", 27, 0).await;
        page.holds("return !document.querySelector('[data-t=dialog]')").await;
    }
    page.press("A").await;
    assert_eq!(page.run("return pressed").await, json!(["approve"]));
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialog_keeps_the_focus_and_gives_it_back() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, CALLS]).await;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    let card = "document.querySelector('[data-t=tool-card][data-call=t1] > button')";
    page.holds(&format!("return !!{card}")).await;
    page.run(&format!("{card}.focus()")).await;
    page.press("?").await;
    page.holds("return !!document.activeElement.closest('[data-t=dialog]')").await;
    // Either of two keys is told from two keys of which both are pressed.
    let keys = |title: &str| {
        format!(
            "return [...document.querySelectorAll('[data-t=dialog] dd')].find(it => it.textContent === '{title}').previousElementSibling.textContent.trim()"
        )
    };
    assert_eq!(page.run(&keys("Follow the end")).await, json!("f or End"));
    assert_eq!(page.run(&keys("Agents")).await, json!("g a"));
    assert_eq!(page.run("return document.querySelector('.app').inert").await, json!(true));
    for shift in [0, 0, 0, 8, 8] {
        page.key("Tab", 9, shift).await;
        page.holds("return !!document.activeElement.closest('[data-t=dialog]')").await;
    }
    page.key("Escape", 27, 0).await;
    page.holds(&format!("return document.activeElement === {card}")).await;
    assert_eq!(page.run("return document.querySelector('.app').inert").await, json!(false));
    // So does the palette, also when its command needs to know where the reader was.
    page.key("k", 75, 2).await;
    page.holds("return document.activeElement.getAttribute('role') === 'combobox'").await;
    page.devtools("Input.insertText", json!({"text": "open or close the row"})).await;
    page.run_until("return document.querySelector('[data-t=option] .n')?.textContent", |it| {
        it == "Open or close the row"
    })
    .await;
    page.key("Enter", 13, 0).await;
    page.holds(&format!(
        "return document.activeElement === {card} && {card}.getAttribute('aria-expanded') === 'true'"
    ))
    .await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_that_scrolls_keeps_its_keys() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let mut head = 0;
    for n in 0..8 {
        let lines = (0..200).map(|line| format!("line {line} of {n}\n")).collect::<Vec<_>>().concat();
        let call =
            json!({"k": "tool.call", "run": "r", "tool": format!("t{n}"), "name": "bash", "arguments": "{}"});
        let result =
            json!({"k": "tool.result", "run": "r", "tool": format!("t{n}"), "output": lines, "exec_ms": 5});
        head = publisher.says(&format!("{call}\n{result}")).await.seq;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All&run=r&tool=t0")).await;
    page.painted(head).await;
    let pre = "document.querySelector('[data-t=tool-card][data-call=t0] .pre')";
    page.holds(&format!("return !!{pre}")).await;
    // The first lines do not scroll, all of them do.
    page.run("document.querySelector('[data-t=tool-card][data-call=t0] [data-t=show-all], [data-t=tool-card][data-call=t0] button.more').click()").await;
    page.holds(&format!("return {pre}.scrollHeight > {pre}.clientHeight + 100")).await;
    page.run(&format!("{pre}.focus()")).await;
    let top = "return Math.round(document.getElementById('transcript').scrollTop)";
    let before = page.run(top).await;
    page.key("End", 35, 0).await;
    page.holds(&format!("return {pre}.scrollTop > 100")).await;
    assert_eq!(page.run(top).await, before, "the conversation moved");
    page.run("document.activeElement.blur()").await;
    page.key("End", 35, 0).await;
    page.holds("const it = document.getElementById('transcript'); return it.scrollHeight - it.clientHeight - it.scrollTop <= 8")
        .await;
    // What is done in the panel does not end the following of the conversation.
    page.run("document.querySelector('[data-t=tool-row]').focus()").await;
    page.key("ArrowUp", 38, 0).await;
    page.press("x").await;
    page.holds("return [...document.querySelectorAll('header.top button')].some(it => it.textContent.trim().startsWith('Following'))")
        .await;
    page.close().await;
}
