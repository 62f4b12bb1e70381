//! The row `runs`: the table of runs of a hub with 100,000 conversations, 20 of which are live, while a reader scrolls through it; first
//! while older pages of the list still come, then with all of them there.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tests::browser::BrowserPage;
use tests::bulk::send_all;
use tests::hub::TestHub;

use crate::Outcome;
use crate::args::Args;
use crate::gauge::Found;
use crate::histogram::quantiles;
use crate::load::Load;
use crate::rows::{Speaker, open};

/// Conversations that are live.
const LIVE: u64 = 20;

/// Tokens in a second of each of them.
const LIVE_RATE: u64 = 20;

/// Requests at a time that fill the hub.
const AT_ONCE: u64 = 8;

/// Seconds of scrolling, twice.
const SCROLL_S: u64 = 10;

/// Scrolls by about 12 rows in each frame, and back from the end, for ten seconds; then says what was measured meanwhile.
const SCROLL: &str = "
  const grid = document.querySelector('[data-t=grid]');
  let step = 400;
  measured.gaps = []; measured.tasks = []; measured.on = true;
  const scroll = () => {
    if (!measured.on) return;
    if (grid.scrollTop + step < 0 || grid.scrollTop + step > grid.scrollHeight - grid.clientHeight) step = -step;
    grid.scrollTop += step;
    requestAnimationFrame(scroll);
  };
  requestAnimationFrame(scroll);
  return new Promise((done) => setTimeout(() => {
    measured.on = false;
    done({gaps: measured.gaps, tasks: measured.tasks});
  }, 10000));";

/// How many rows are drawn.
const DRAWN: &str = "return document.querySelectorAll('[data-t=run-row]:not(.gone)').length";

/// Fills a hub with conversations of which `args.conversations` minus the live ones are over.
pub(crate) async fn filled(args: &Args) -> Outcome<TestHub> {
    let hub = TestHub::start_with(&["--trace", "warn"]).await;
    let (client, url) = (reqwest::Client::new(), hub.url("/v1/conversations"));
    // Imported ones are stored and not held in memory, where there is room for 50,000.
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
    let put = move |n: u64| {
        let status = if n.is_multiple_of(9) { "error" } else { "complete" };
        let usage = json!({"input_tokens": 100 + n * 7919 % 90_000, "output_tokens": n % 900, "cost": {"amount": "0.0125", "currency": "USD"}});
        let lines = [
            json!({"k": "run.start", "title": format!("Look at case {n}"), "name": format!("agent {}", n % 40), "model": format!("model {}", n % 8)}),
            json!({"k": "run.update", "usage": usage}),
            json!({"k": "run.end", "status": status}),
        ];
        let mut body = String::from(r#"{"fanlight":"native","version":1,"conversation":"c"}"#);
        for (seq, mut line) in (1_u64..).zip(lines) {
            (line["seq"], line["at"], line["run"]) = (json!(seq), json!(now - n * 1_000), json!("r"));
            body.push('\n');
            body.push_str(&line.to_string());
        }
        client.put(format!("{url}/case-{n}/events")).body(body)
    };
    send_all(0..args.conversations.saturating_sub(LIVE), AT_ONCE, put).await?;
    Ok(hub)
}

/// One page over the filled hub.
pub(crate) async fn scroll(args: &Args, hub: &TestHub, name: &str) -> Outcome<Found> {
    let load = Load {
        hub: hub.address(),
        // Every round speaks in the same conversations, so that there are as many in each.
        conversation: String::from("live"),
        rate: LIVE_RATE,
        seconds: 4 * SCROLL_S + args.conversations / 2_000,
        tools: 1,
        others: LIVE - 1,
        others_rate: LIVE_RATE,
        own: false,
    };
    let mut speaker = Speaker::start(&load).await?;
    speaker.go().await?;
    let page = open(args).await;
    let began = Instant::now();
    page.goto(&hub.url("/runs?sort=-tokens")).await;
    page.run_until(DRAWN, |count| count.as_u64() > Some(10)).await;
    let first = page.run("return measured.first").await.as_f64().unwrap_or(f64::NAN);
    let [loading_50, loading_99, loading_max] = scrolled(&page).await.gaps;
    let is_whole = |text: &str| text.contains(" conversations") && !text.ends_with(" loaded");
    page.text_until("summary", is_whole).await;
    let whole = began.elapsed();
    let Scrolled { gaps: [gap_50, gap_99, gap_max], tasks } = scrolled(&page).await;
    let elements = page.run("return document.querySelectorAll('*').length").await;
    let memory = page.renderer_bytes();
    page.screenshot(&format!("bench-{name}")).await;
    page.close().await;
    // It is not waited for: the process ends with its handle.
    drop(speaker);
    Ok(Found(vec![
        ("first rows, ms", first),
        ("all rows, s", whole.as_secs_f64()),
        ("while rows come: frame gap p50, ms", loading_50),
        ("while rows come: frame gap p99, ms", loading_99),
        ("while rows come: frame gap max, ms", loading_max),
        ("frame gap p50, ms", gap_50),
        ("frame gap p99, ms", gap_99),
        ("frame gap max, ms", gap_max),
        ("tasks over 50 ms", tasks.len() as f64),
        ("the longest of them, ms", tasks.iter().copied().fold(0.0, f64::max)),
        ("renderer, MB", memory as f64 / 1e6),
        ("elements", elements.as_f64().unwrap_or(f64::NAN)),
    ]))
}

/// What a reader felt while scrolling.
struct Scrolled {
    /// p50, p99 and the longest, in milliseconds.
    gaps: [f64; 3],
    /// Tasks over 50 ms, in milliseconds.
    tasks: Vec<f64>,
}

async fn scrolled(page: &BrowserPage) -> Scrolled {
    let found = page.run(SCROLL).await;
    let numbers = |found: &Value| found.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let [p50, _, p99, max] = quantiles(numbers(&found["gaps"]));
    Scrolled { gaps: [p50, p99, max], tasks: numbers(&found["tasks"]) }
}
