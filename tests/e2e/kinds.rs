//! Results in their own form, exact bytes beside it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests::browser::{DESKTOP, Screen};
use tests::relay::CuttableRelay;
use tests::{BrowserPage, ScriptedServer, ServerStep, TestHub, TestPublisher};

use crate::scene::{OPENING, hub_and_publisher};
use crate::screens::{PicturedView, pictured_high};

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Calls by name, each with what it gave.
fn results() -> Vec<(&'static str, Value)> {
    let deep = json!({"query": "exchange rates", "rates": {"EUR": 1.0834, "GBP": 1.2711},
        "pages": [{"url": "https://example.com/a", "meta": {"lang": "en"}}], "long": "x".repeat(600),
        "many": (0..150).collect::<Vec<_>>()});
    vec![
        (
            "table",
            json!([{"region": "EMEA", "net": 48.5}, {"region": "APAC", "net": 12}, {"region": "AMER", "net": 63}]),
        ),
        (
            "diff",
            json!(
                "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,2 +1,2 @@\n fn main() {\n-    old();\n+    new();\n"
            ),
        ),
        (
            "terminal",
            json!("test parses ... \u{1b}[32mok\u{1b}[0m\ntest folds ... \u{1b}[31mFAILED\u{1b}[0m\n"),
        ),
        (
            "parts",
            json!({"content": [
                {"type": "text", "text": "<b>hi</b>"},
                {"type": "image", "mimeType": "image/png", "data": PNG},
                {"type": "resource_link", "uri": "https://example.com/chart.png", "name": "chart.png"}
            ]}),
        ),
        ("json", deep),
        ("markdown", json!({"content_type": "text/markdown", "content": "# Notes\n\n- one\n- **two**"})),
        ("plain", json!("<script>document.title='owned'</script> # not a heading")),
    ]
}

/// A page with everything open that shows a call of the tool `name` with the result `output`, and what serves it.
async fn with_result(name: &str, output: &Value) -> (BrowserPage, (TestHub, TestPublisher)) {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let call = json!({"k": "tool.call", "run": "r", "tool": "t", "name": name, "arguments": "{}"});
    let result = json!({"k": "tool.result", "run": "r", "tool": "t", "output": output});
    let head = publisher.says(&format!("{call}\n{result}")).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("3").await;
    (page, (hub, publisher))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_to_a_graph_reads_completed_and_can_be_opened() {
    let output = "Command(update={'files': {}, 'messages': [ToolMessage(content='Four sources.')]})";
    let (page, _hub) = with_result("task", &json!(output)).await;
    page.holds("return document.querySelector('[data-call=t] .st')?.textContent.trim() === 'completed'")
        .await;
    let shown = "return !!document.querySelector('[data-call=t] details')
        && document.querySelector('[data-call=t]').innerText.includes('Four sources.')";
    page.holds("return document.querySelector('[data-call=t] details summary')?.innerText === 'Command'")
        .await;
    assert_eq!(page.run(shown).await, false);
    page.run("document.querySelector('[data-call=t] details summary').click()").await;
    page.holds(shown).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn results_show_in_their_own_form_and_copy_as_they_came() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let mut head = 0;
    for (name, output) in &results() {
        let call = json!({"k": "tool.call", "run": "r", "tool": name, "name": name, "arguments": "{}"});
        let mut result = json!({"k": "tool.result", "run": "r", "tool": name, "output": output});
        if *name == "plain" {
            result["files"] = json!([{"name": "report.pdf", "url": "https://example.com/report.pdf"}]);
            result["embeds"] =
                json!(["<h1>An embedded page</h1><script>parent.document.title='owned'</script>"]);
        }
        head = publisher.says(&format!("{call}\n{result}")).await.seq;
    }
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c")).await;
    page.painted(head).await;
    page.press("3").await;
    for name in ["table", "diff", "terminal", "parts", "json", "markdown"] {
        page.holds(&format!("return !!document.querySelector('[data-call={name}] [data-t={name}]')")).await;
    }
    let word =
        |name: &str| format!("return document.querySelector('[data-call={name}] .st').textContent.trim()");
    assert_eq!(page.run(&word("table")).await, json!("table · 3 rows · 84 B"));
    assert_eq!(page.run(&word("diff")).await, json!("diff · +1 −1 · 89 B"));
    let cells = "return [...document.querySelectorAll('[data-t=table] tr')].map(row => [...row.children].map(it => it.textContent).join('|'))";
    assert_eq!(page.run(cells).await, json!(["net|region", "48.5|EMEA", "12|APAC", "63|AMER"]));
    // The name of a column stands over its numbers.
    let sides = "return [...document.querySelectorAll('[data-t=table] th')].map(it => getComputedStyle(it).textAlign).join()";
    assert_eq!(page.run(sides).await, json!("right,left"));
    let terminal = "return document.querySelector('[data-t=terminal]').textContent";
    assert_eq!(page.run(terminal).await, json!("test parses ... ok\ntest folds ... FAILED\n"));
    page.holds("const it = document.querySelector('[data-t=parts] img'); return it.complete && it.naturalWidth === 1").await;
    assert_eq!(
        page.run("return document.querySelectorAll('[data-t=parts] b, [data-call=plain] script').length")
            .await,
        json!(0)
    );
    // The tree builds what is opened, no more.
    let rows = "return document.querySelectorAll('[data-t=json] li').length";
    let before = page.run(rows).await;
    assert!(before.as_u64().unwrap() <= 12, "{before}");
    page.run("[...document.querySelectorAll('[data-t=json] button')].find(it => it.textContent.includes('many')).click()").await;
    page.run_until(rows, |now| now.as_u64() == before.as_u64().map(|n| n + 100)).await;
    page.run_until("return document.querySelector('[data-t=json-path]')?.textContent", |it| it == "$.many")
        .await;
    page.run("[...document.querySelectorAll('[data-t=json] button')].find(it => it.textContent.startsWith('Show 50 more')).click()").await;
    page.run_until(rows, |now| now.as_u64() == before.as_u64().map(|n| n + 150)).await;
    page.run("[...document.querySelectorAll('[data-t=json] button')].find(it => it.textContent === 'more').click()").await;
    page.holds(&format!(
        "return document.querySelector('[data-t=json]').textContent.includes('{}')",
        "x".repeat(600)
    ))
    .await;
    // Raw is what was sent.
    page.run("[...document.querySelectorAll('[data-call=table] [role=tab]')].find(it => it.textContent === 'Raw').click()").await;
    page.holds("return document.querySelector('[data-call=table] .pre')?.textContent.includes('[{\"net\":48.5,\"region\":\"EMEA\"}') === true").await;
    // An embed is a frame that may do nothing, after a click.
    assert_eq!(page.run("return document.querySelectorAll('iframe').length").await, json!(0));
    page.run("document.querySelector('[data-t=open-embed]').click()").await;
    page.holds("return document.querySelector('[data-t=embed]')?.getAttribute('sandbox') === ''").await;
    page.holds("return document.title !== 'owned'").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_wrote_as_html_asks_the_hub_for_nothing() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    publisher.says(r#"{"k":"tool.call","run":"r","tool":"t","name":"draw","arguments":"{}"}"#).await;
    let relay = CuttableRelay::open_to(hub.address()).await;
    let html = format!(
        "<iframe src='/v1/conversations?embed-frame'></iframe><img src='/v1/conversations?embed-image'>\
         <iframe src='http://{0}/proxy/x/embed-whole'></iframe><img src='http://{0}/image?embed-whole'>",
        relay.address()
    );
    let result = json!({"k": "tool.result", "run": "r", "tool": "t", "output": "done", "embeds": [html]});
    let head = publisher.says(&result.to_string()).await.seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&format!("http://{}/c/c?level=All", relay.address())).await;
    page.painted(head).await;
    page.holds("return !!document.querySelector('[data-t=open-embed]')").await;
    // Its frame is loaded when all is that it holds.
    page.run(
        "document.addEventListener('load', it => { if (it.target.dataset?.t === 'embed') window.has_loaded = true }, true);
         document.querySelector('[data-t=open-embed]').click()",
    )
    .await;
    page.holds("return window.has_loaded === true").await;
    // Nor does a frame of the page go anywhere but to the document for images, as by a link in the embed.
    page.run(
        "document.addEventListener('securitypolicyviolation', it => { window.is_refused = it.effectiveDirective });
         const frame = document.createElement('iframe');
         frame.src = '/v1/conversations?embed-link';
         document.body.append(frame)",
    )
    .await;
    page.run_until("return window.is_refused", |it| it == "frame-src").await;
    assert!(relay.has_heard("GET /c/c?level=All "));
    assert!(!relay.has_heard("embed-"), "the hub was asked by the embed");
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_from_elsewhere_is_loaded_by_a_click_and_by_nothing_else() {
    let drawing = br#"<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="100"><rect width="9" height="9"/></svg>"#;
    let origin = ScriptedServer::start(|_| {
        ServerStep::answer("200 OK", &[("content-type", "image/svg+xml")], drawing)
    })
    .await;
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let at = |name: &str| format!("http://{}/{name}.svg", origin.address());
    let text = format!("Before ![the plan]({}) and after", at("text"));
    let part = json!({"content": [{"type": "resource_link", "uri": at("part"), "name": "chart"},
        {"type": "resource_link", "uri": "https://example.com/a.pdf", "name": "report"}]});
    let delta = json!({"k": "part.delta", "run": "r", "part": "p", "text": text});
    let result = json!({"k": "tool.result", "run": "r", "tool": "t", "output": part});
    publisher.says(OPENING).await;
    publisher.says(r#"{"k":"tool.call","run":"r","tool":"t","name":"draw","arguments":"{}"}"#).await;
    publisher.says(&result.to_string()).await;
    let head = publisher
        .says(&format!("{{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p\",\"kind\":\"text\"}}\n{delta}"))
        .await
        .seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All")).await;
    page.painted(head).await;
    let offers = "return [...document.querySelectorAll('a[data-from]')].map(it => it.textContent + ' ' + it.dataset.from).sort()";
    let from = origin.address().to_string();
    page.run_until(offers, |it| it == &json!([format!("chart {from}"), format!("the plan {from}")])).await;
    assert_eq!(
        page.run("return getComputedStyle(document.querySelector('.ans a[data-from]'), '::before').content")
            .await,
        json!(format!("\"Load image from {from}, size unknown: \""))
    );
    assert_eq!(page.run("return document.querySelectorAll('iframe').length").await, json!(0));
    assert_eq!(origin.asked().len(), 0, "nobody has asked for it");
    page.run("document.querySelector('.ans a[data-from]').click()").await;
    let shown = "const frame = document.querySelector('.ans iframe.embed'), image = frame?.contentDocument?.querySelector('img');
         return image?.naturalWidth === 2000 && Math.abs(image.clientWidth - frame.clientWidth) <= 1 && Math.abs(frame.clientHeight - image.clientHeight) <= 1";
    page.holds(shown).await;
    // The text goes on around it.
    let more = json!({"k": "part.delta", "run": "r", "part": "p", "text": " it, **more**."});
    let head = publisher.says(&more.to_string()).await.seq;
    page.painted(head).await;
    page.text_until("answer", |text| text.contains("and after it, more.")).await;
    page.holds(shown).await;
    let asked = origin.asked();
    assert_eq!(asked.len(), 1);
    assert!(
        asked[0].start.starts_with("GET /text.svg ") && asked[0].header("referer").is_none(),
        "{asked:?}"
    );
    // In every width, and wheel and keys are not its own.
    page.resize(Screen { width: 390, height: 800, dark: false }).await;
    page.holds(shown).await;
    page.resize(DESKTOP).await;
    page.holds(shown).await;
    page.holds("const it = document.querySelector('.ans iframe.embed'); return it.tabIndex === -1 && getComputedStyle(it).pointerEvents === 'none'")
        .await;
    page.run("document.querySelector('[data-t=elsewhere] a[data-from]').click()").await;
    page.holds("return document.querySelector('[data-t=elsewhere] iframe')?.contentDocument?.querySelector('img')?.naturalWidth === 2000")
        .await;
    assert_eq!(page.run("return location.pathname").await, "/c/c");
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_cannot_be_loaded_is_offered_again() {
    let origin =
        ScriptedServer::start(|_| ServerStep::answer("404 Not Found", &[("cache-control", "no-store")], b""))
            .await;
    let (hub, mut publisher) = hub_and_publisher("c").await;
    let delta = json!({"k": "part.delta", "run": "r", "part": "p",
        "text": format!("Look: ![the plan](http://{}/a.svg)", origin.address())});
    publisher.says(OPENING).await;
    let head = publisher
        .says(&format!("{{\"k\":\"part.start\",\"run\":\"r\",\"part\":\"p\",\"kind\":\"text\"}}\n{delta}"))
        .await
        .seq;
    let page = BrowserPage::open(DESKTOP).await;
    page.goto(&hub.url("/c/c?level=All")).await;
    page.painted(head).await;
    let link = "document.querySelector('.ans a[data-from]')";
    page.holds(&format!("return !!{link}")).await;
    for asked in [1, 2] {
        page.run(&format!("{link}.click()")).await;
        page.holds(&format!("return !document.querySelector('iframe') && !!{link}")).await;
        assert_eq!(origin.asked().len(), asked);
        assert_eq!(
            page.run(&format!("return getComputedStyle({link}, '::after').content")).await,
            "\" (could not be loaded)\""
        );
    }
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_fits_every_screen_in_both_colours() {
    let (hub, mut publisher) = hub_and_publisher("c").await;
    publisher.says(OPENING).await;
    let mut head = 0;
    for (name, output) in &results() {
        let call = json!({"k": "tool.call", "run": "r", "tool": name, "name": name, "arguments": "{\"query\":\"x\"}"});
        let result = json!({"k": "tool.result", "run": "r", "tool": name, "output": output, "exec_ms": 900});
        head = publisher.says(&format!("{call}\n{result}")).await.seq;
    }
    let page = BrowserPage::open(Screen { height: 2_400, ..DESKTOP }).await;
    page.goto(&hub.url("/c/c?level=All")).await;
    page.painted(head).await;
    page.holds("return !!document.querySelector('[data-t=markdown] h3')").await;
    pictured_high(&page, PicturedView::Kinds, 2_400).await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}

/// A quarter of a second of a tone, as a WAV file: 8,000 samples a second, mono, 16 bits.
fn tone() -> Vec<u8> {
    let samples: Vec<u8> = (0..2_000_i16)
        .flat_map(|n| (if n / 10 % 2 == 0 { 6_000_i16 } else { -6_000 }).to_le_bytes())
        .collect();
    let length = u32::try_from(samples.len()).expect("it is short");
    let mut wav = Vec::new();
    wav.extend(b"RIFF");
    wav.extend((36 + length).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16_u32.to_le_bytes());
    // PCM, one channel.
    wav.extend([1, 0, 1, 0]);
    wav.extend(8_000_u32.to_le_bytes());
    wav.extend(16_000_u32.to_le_bytes());
    wav.extend([2, 0, 16, 0]);
    wav.extend(b"data");
    wav.extend(length.to_le_bytes());
    wav.extend(samples);
    wav
}

#[tokio::test(flavor = "multi_thread")]
async fn audio_of_a_result_is_played_from_its_bytes_to_its_end() {
    let sound =
        |bytes: &[u8]| json!({"type": "audio", "mimeType": "audio/wav", "data": STANDARD.encode(bytes)});
    let output =
        json!({"content": [{"type": "text", "text": "A tone."}, sound(&tone()), sound(b"no sound at all")]});
    let (page, _hub) = with_result("speak", &output).await;
    // Its length is known without playing it.
    page.holds("return Math.abs(document.querySelectorAll('[data-t=sound]')[0].duration - 0.25) < 0.01")
        .await;
    page.run(
        "window.heard = []; const it = document.querySelector('[data-t=sound]');
        for (const name of ['playing', 'ended', 'error']) it.addEventListener(name, () => heard.push(name))",
    )
    .await;
    // As a click on its button does: browsers play nothing by themselves.
    let play = json!({"expression": "document.querySelector('[data-t=sound]').play()", "userGesture": true, "awaitPromise": true});
    page.devtools("Runtime.evaluate", play).await;
    page.run_until("return window.heard", |heard| *heard == json!(["playing", "ended"])).await;
    // What is no sound is said to be none, and can be saved as it came.
    page.text_until("sound-broken", |text| {
        text == "This browser cannot play the audio (audio/wav). Save the file"
    })
    .await;
    assert_eq!(page.run("return document.querySelectorAll('[data-t=sound]').length").await, 1);
    let link = page
        .run("const it = document.querySelector('[data-t=sound-broken] a'); return [it.download, it.href]")
        .await;
    assert_eq!(
        link,
        json!(["audio.wav", format!("data:audio/wav;base64,{}", STANDARD.encode("no sound at all"))])
    );
    page.screenshot("audio").await;
    page.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_over_256_kib_says_its_size_and_opens_as_a_whole() {
    let rows: Vec<_> = (0..12_000).map(|n| json!({"row": n, "name": format!("customer {n}")})).collect();
    let output = json!(rows);
    let bytes = output.to_string().len();
    assert!(bytes > 256 << 10, "{bytes}");
    let (page, _hub) = with_result("query", &output).await;
    let word = "return document.querySelector('[data-call=t] .st').textContent.trim()";
    let word = page.run_until(word, |it| it.as_str().is_some_and(|it| it.contains("KB"))).await;
    assert!(word.as_str().unwrap().contains(&format!("{} KB", bytes / 1_024)), "{word} of {bytes}");
    page.text_until("load-all", |text| text.starts_with("Load all (")).await;
    page.run("document.querySelector('[data-t=load-all]').click()").await;
    page.holds("return !!document.querySelector('[data-call=t] [data-t=table]')").await;
    page.holds("return document.querySelector('[data-call=t]').innerText.includes('customer 1')").await;
    page.screenshot("result-large").await;
    assert_eq!(page.console_errors().await, Vec::<String>::new());
    page.close().await;
}
