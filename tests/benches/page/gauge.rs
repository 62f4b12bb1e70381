//! What a page costs and how it feels while the load speaks.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::browser::BrowserPage;
use tests::process::cpu;

use crate::histogram::quantiles;

/// Runs in the page before its own scripts.
const MEASURE: &str = include_str!("measure.js");

/// Between two looks at the page.
const LOOK: Duration = Duration::from_secs(1);

/// How long after the load a page may take to show its end. The slowest ones need more.
const END_WITHIN: Duration = Duration::from_mins(1);

/// What was found of one page in one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found(pub(crate) Vec<(&'static str, f64)>);

/// Watches one page.
#[derive(Debug)]
pub(crate) struct Gauge<'a> {
    page: &'a BrowserPage,
    /// CPU of its processes, in seconds, once a second.
    looks: Vec<f64>,
    /// The process of the hub, and its CPU when the count began.
    hub: (u32, Duration),
    /// Whether it showed all that was said, and how long after the load that was.
    ended_after: Option<Duration>,
}

impl<'a> Gauge<'a> {
    /// Puts the watcher into all that `page` loads from now on.
    pub(crate) async fn prepare(page: &BrowserPage) {
        page.devtools("Performance.enable", json!({})).await;
        page.devtools("Page.enable", json!({})).await;
        page.devtools("Page.addScriptToEvaluateOnNewDocument", json!({"source": MEASURE})).await;
    }

    /// Begins to count, of the page and of the hub, whose process this is.
    pub(crate) async fn begin(page: &'a BrowserPage, hub: u32) -> Self {
        page.run("measured.on = true").await;
        Self { page, looks: vec![page.renderer_cpu_s()], hub: (hub, cpu(hub)), ended_after: None }
    }

    /// Looks once a second for as long as `load` takes, and then until the page shows the end. Does not ask the page
    /// while the load speaks: one that is busy would not answer.
    pub(crate) async fn follow(&mut self, load: impl Future<Output = ()>) {
        let mut load = std::pin::pin!(load);
        let mut next = tokio::time::interval(LOOK);
        next.tick().await;
        loop {
            tokio::select! {
                () = &mut load => break,
                _ = next.tick() => self.looks.push(self.page.renderer_cpu_s()),
            }
        }
        let spoken = Instant::now();
        while spoken.elapsed() < END_WITHIN {
            if self.page.attempt("return measured.ended").await == Some(Value::Bool(true)) {
                self.ended_after = Some(spoken.elapsed());
                break;
            }
            next.tick().await;
        }
        self.looks.push(self.page.renderer_cpu_s());
    }

    /// Ends the count.
    pub(crate) async fn end(self) -> Found {
        let said = self.page.attempt("measured.on = false; return JSON.stringify(measured)").await;
        let said = said.as_ref().and_then(Value::as_str).unwrap_or("{}");
        let said: Value = serde_json::from_str(said).unwrap_or_default();
        let numbers = |name: &str| {
            let values = said[name].as_array().into_iter().flatten();
            values.filter_map(Value::as_f64).collect::<Vec<_>>()
        };
        let [gap_50, gap_95, gap_99, gap_max] = quantiles(numbers("gaps"));
        let [lag_50, lag_95, lag_99, lag_max] = quantiles(numbers("lags"));
        let tasks = numbers("tasks");
        let cpu_s = self.looks.last().map_or(0.0, |last| last - self.looks[0]);
        let (hub, before) = self.hub;
        let hub_s = cpu(hub).saturating_sub(before).as_secs_f64();
        Found(vec![
            ("frame gap p50, ms", gap_50),
            ("frame gap p95, ms", gap_95),
            ("frame gap p99, ms", gap_99),
            ("frame gap max, ms", gap_max),
            ("tasks over 50 ms", tasks.len() as f64),
            ("the longest of them, ms", tasks.iter().copied().fold(0.0, f64::max)),
            ("event to paint p50, ms", lag_50),
            ("event to paint p95, ms", lag_95),
            ("event to paint p99, ms", lag_99),
            ("event to paint max, ms", lag_max),
            ("marks seen", numbers("lags").len() as f64),
            ("renderer CPU, s", cpu_s),
            ("hub CPU, s", hub_s),
            (
                "the end after the load, s",
                self.ended_after.map_or(f64::INFINITY, |after| after.as_secs_f64()),
            ),
            ("growth, last third by first", self.growth()),
            ("most elements", said["elements"].as_f64().unwrap_or(f64::NAN)),
        ])
    }

    /// CPU in the last third of the run by that in the first.
    fn growth(&self) -> f64 {
        let third = self.looks.len() / 3;
        if third == 0 {
            return f64::NAN;
        }
        let span = |from: usize, to: usize| self.looks[to] - self.looks[from];
        let last = self.looks.len() - 1;
        span(last - third, last) / span(0, third)
    }
}

/// A number of `Performance.getMetrics`.
pub(crate) fn metric(metrics: &Value, name: &str) -> f64 {
    let all = metrics["metrics"].as_array().into_iter().flatten();
    all.filter(|metric| metric["name"] == name)
        .find_map(|metric| metric["value"].as_f64())
        .unwrap_or_default()
}
