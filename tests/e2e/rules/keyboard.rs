//! The tenth rule: everything that can be clicked is reached with the keyboard, and shows that it is.

use std::collections::BTreeSet;

use serde_json::Value;
use tests::BrowserPage;
use tests::browser::DESKTOP;

use super::tab;
use crate::scene::{ANSWER, CALLS, CLOSING, OPENING, SUB_AGENT, THINKING, hub_and_publisher};

/// More stops than any screen has.
const STOPS_MAX: usize = 400;

/// Gives every element that can be used a number, and returns those that Tab must reach: what can be seen, is not switched
/// off, and is not one of a group that arrows go through.
const MARKED: &str = "
    const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')];
    const groups = new Set();
    return all.filter((e, n) => {
        e.dataset.stop = n;
        const r = e.getBoundingClientRect();
        if (!e.checkVisibility({visibilityProperty: true}) || r.width === 0 || r.height === 0 || e.disabled || e.closest('[inert]')) return false;
        if (e.type === 'radio') { const is_new = !groups.has(e.name); groups.add(e.name); return is_new; }
        return e.tabIndex >= 0;
    }).map(e => e.type === 'radio' ? 'radio ' + e.name : e.dataset.stop + ' ' + e.tagName)";

/// What has a number and is still there to be used, in the words of `MARKED`.
const STILL_THERE: &str = "
    return [...document.querySelectorAll('[data-stop]')].filter(e => {
        const r = e.getBoundingClientRect();
        return e.checkVisibility({visibilityProperty: true}) && r.width > 0 && r.height > 0 && !e.disabled && !e.closest('[inert]');
    }).map(e => e.type === 'radio' ? 'radio ' + e.name : e.dataset.stop + ' ' + e.tagName)";

/// What has the focus, in the words of `MARKED`, and whether that can be seen.
const FOCUSED: &str = "
    const e = document.activeElement; if (!e || e === document.body) return null;
    const style = getComputedStyle(e), name = e.type === 'radio' ? 'radio ' + e.name
        : e.dataset.stop + ' ' + e.tagName;
    const ring = s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 1;
    return {name, is_seen: ring(style) || (e.labels && [...e.labels].some(l => ring(getComputedStyle(l)))) || ring(getComputedStyle(e.parentElement))}";

/// Goes through `screen` with Tab alone.
async fn all_is_reached(page: &BrowserPage, screen: &str) {
    let marked = page.run(MARKED).await;
    let wanted: BTreeSet<String> =
        marked.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    // Of a page under a dialog nothing can be used.
    assert!(!wanted.is_empty(), "{screen} has nothing to use");
    let (mut reached, mut unseen) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..STOPS_MAX {
        tab(page).await;
        let focused = page.run(FOCUSED).await;
        let Some(name) = focused.get("name").and_then(Value::as_str) else { continue };
        if focused.get("is_seen") != Some(&Value::Bool(true)) {
            unseen.insert(name.to_owned());
        }
        reached.insert(name.to_owned());
        if reached.is_superset(&wanted) {
            break;
        }
    }
    // A live page draws some of it anew, or takes it away, while Tab is on its way.
    let there = page.run(STILL_THERE).await;
    let is_there =
        |name: &&String| there.as_array().is_some_and(|all| all.iter().any(|it| it == name.as_str()));
    let missed: Vec<_> = wanted.difference(&reached).filter(is_there).collect();
    assert!(reached.len() * 2 > wanted.len(), "{screen}: Tab reaches {} of {}", reached.len(), wanted.len());
    assert!(missed.is_empty(), "{screen}: Tab does not reach {missed:?}");
    assert!(unseen.is_empty(), "{screen}: the focus cannot be seen on {unseen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_10_everything_is_reached_by_keyboard_alone() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let head = publisher.says_all(&[OPENING, THINKING, CALLS, SUB_AGENT, ANSWER, CLOSING]).await;
    hub.publisher("other").await.says(OPENING).await;
    let page = BrowserPage::open(DESKTOP).await;
    // Each place, and the keys that lead there.
    for (screen, keys) in [
        ("conversation", ""),
        ("timeline", "t"),
        ("replay", "tp"),
        ("agents", "ga"),
        ("find", "/"),
        ("settings", "gs"),
        ("export", "ge"),
        ("keys", "?"),
        ("wall", "gw"),
    ] {
        page.goto(&hub.url("/c/c")).await;
        page.painted(head).await;
        page.holds("return document.querySelectorAll('[data-t=conversation-row]').length === 2").await;
        for key in keys.chars() {
            page.press(&key.to_string()).await;
        }
        let is_there = match screen {
            "timeline" => "!!document.querySelector('[data-t=timeline-group]')",
            // It plays by itself: what is there stays once it has come to the end.
            "replay" => {
                "(it => !!it && !it.hasAttribute('data-playing') && Number(it.dataset.at) > 0 && it.dataset.at === document.querySelector('[data-t=replay-slider]').max)(document.querySelector('[data-t=replay]'))"
            }
            "settings" | "export" | "keys" => "!!document.querySelector('[role=dialog], dialog')",
            "wall" => "document.querySelectorAll('.tile').length === 2",
            "find" => "document.activeElement?.matches('input')",
            _ => "true",
        };
        page.holds(&format!("return {is_there}")).await;
        all_is_reached(&page, screen).await;
    }
    // The operator's pages, a comparison, and the help.
    for (path, there) in [
        ("/runs", "[data-t=run-row] a[href^='/c/']"),
        ("/dashboard", "[data-panel=runs] svg"),
        ("/search?q=revenue", "[data-t=search-hit]"),
        ("/c/c?compare=other", "[data-t=pair]"),
        ("/help", "main a"),
    ] {
        page.goto(&hub.url(path)).await;
        page.holds(&format!("return !!document.querySelector(\"{there}\")")).await;
        all_is_reached(&page, path).await;
    }
    page.close().await;
}
