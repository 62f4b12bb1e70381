//! The rows of the report: one thing that a page goes through each.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use tests::browser::{BrowserPage, DESKTOP};
use tests::hub::TestHub;
use tests::publisher::TestPublisher;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::Outcome;
use crate::args::Args;
use crate::arm::{self, Arm};
use crate::gauge::{Found, Gauge, metric};
use crate::line::MeasuredLine;
use crate::load::Load;
use crate::report::Report;
use crate::story::Story;
use crate::table;

/// Events that a page missed, in the row `resume`.
const MISSED: u64 = 10_000;

/// Tokens in a second of the row `soak`: about what fast models say.
const SOAK_RATE: u64 = 50;

/// Measures everything that was asked for.
pub(crate) async fn run(args: &Args) -> Outcome<()> {
    let hub = TestHub::start_with(&["--trace", "warn"]).await;
    let peers = if args.arms == [Arm::Fanlight] { None } else { Some(arm::peers().await?) };
    let place = Place { hub: hub.address(), hub_pid: hub.pid(), peers: peers.unwrap_or(hub.address()) };
    let mut report = Report::default();
    let table =
        if args.rows.iter().any(|row| row == "runs") { Some(table::filled(args).await?) } else { None };
    for row in &args.rows {
        for round in 0..args.rounds {
            let name = format!("{row}-{round}");
            match row.as_str() {
                "steady" | "calls" | "fleet" | "wall" => {
                    let mut arms = args.arms.clone();
                    let turn = usize::try_from(round)? % arms.len().max(1);
                    arms.rotate_left(turn);
                    // Peers show one conversation alone.
                    let is_ours = matches!(row.as_str(), "fleet" | "wall");
                    for arm in arms.into_iter().filter(|arm| !is_ours || *arm == Arm::Fanlight) {
                        let conversation = format!("{name}-{}", arm.name());
                        let own = arm != Arm::Fanlight;
                        let load = Load { own, ..load(row, args, place.hub, conversation) };
                        let found = if row == "wall" {
                            wall(args, place, &load).await?
                        } else {
                            stream(args, arm, place, &load).await?
                        };
                        report.add(row, arm.name(), found);
                    }
                }
                "resume" => report.add(row, "fanlight", resume(args, place, &name).await?),
                "first" => report.add(row, "fanlight", first(args, place).await?),
                "runs" => {
                    if let Some(hub) = &table {
                        report.add(row, "fanlight", table::scroll(args, hub, &name).await?);
                    }
                }
                "soak" => soak(args, place, &name).await?,
                other => return Err(format!("there is no row {other}").into()),
            }
        }
    }
    report.write(args)
}

#[derive(Debug, Clone, Copy)]
struct Place {
    hub: SocketAddr,
    hub_pid: u32,
    peers: SocketAddr,
}

fn load(row: &str, args: &Args, hub: SocketAddr, conversation: String) -> Load {
    let Args { rate, seconds, .. } = *args;
    let steady = Load { hub, conversation, rate, seconds, tools: 2, others: 0, others_rate: 0, own: false };
    match row {
        // Twenty-four tools at once, and few words.
        "calls" => Load { rate: 100, seconds: 6, tools: 24, ..steady },
        "fleet" => Load { others: 24, others_rate: 40, ..steady },
        // One page of tiles.
        "wall" => Load { others: 23, others_rate: 40, ..steady },
        _ => steady,
    }
}

/// One page while a load speaks.
async fn stream(args: &Args, arm: Arm, place: Place, load: &Load) -> Outcome<Found> {
    let mut speaker = Speaker::start(load).await?;
    let page = open(args).await;
    page.goto(&arm.url(place.hub, place.peers, &load.conversation, speaker.address)).await;
    page.holds(arm.is_ready()).await;
    let mut gauge = Gauge::begin(&page, place.hub_pid).await;
    speaker.go().await?;
    gauge.follow(async { speaker.done().await.expect("the load ends") }).await;
    // A browser whose page is still busy would not end by itself: it is ended with the page object.
    Ok(gauge.end().await)
}

/// The wall while a load speaks: the loud conversation is looked at, so that its tile has the whole stream.
async fn wall(args: &Args, place: Place, load: &Load) -> Outcome<Found> {
    let mut speaker = Speaker::start(load).await?;
    let page = open(args).await;
    page.goto(&format!("http://{}/wall", place.hub)).await;
    let tile = format!("document.querySelector('.tile[data-conversation=\"{}\"]')", load.conversation);
    page.holds(&format!("return !!{tile} && document.querySelectorAll('.tile').length === 24")).await;
    let middle = format!(
        "const r = {tile}.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]"
    );
    let middle = page.run(&middle).await;
    page.devtools("Input.dispatchMouseEvent", json!({"type": "mouseMoved", "x": middle[0], "y": middle[1]}))
        .await;
    let mut gauge = Gauge::begin(&page, place.hub_pid).await;
    speaker.go().await?;
    gauge.follow(async { speaker.done().await.expect("the load ends") }).await;
    Ok(gauge.end().await)
}

pub(crate) async fn open(args: &Args) -> BrowserPage {
    let page = BrowserPage::open(DESKTOP).await;
    Gauge::prepare(&page).await;
    page.devtools("Emulation.setCPUThrottlingRate", json!({"rate": args.throttle})).await;
    page
}

/// The page comes back after it has missed much.
async fn resume(args: &Args, place: Place, conversation: &str) -> Outcome<Found> {
    let load = Load {
        hub: place.hub,
        conversation: conversation.into(),
        rate: 1_000,
        seconds: 2,
        tools: 2,
        others: 0,
        others_rate: 0,
        own: false,
    };
    let mut speaker = Speaker::start(&load).await?;
    speaker.go().await?;
    speaker.done().await?;
    let (line, port) = MeasuredLine::lay(0, place.hub).await?;
    let page = open(args).await;
    page.goto(&format!("http://127.0.0.1:{port}/c/{conversation}")).await;
    page.holds("return measured.ended").await;
    drop(line);
    let mut publisher = TestPublisher::named("missed", place.hub, conversation).await;
    publisher.says(r#"{"k":"run.start","run":"s"}{"k":"part.start","run":"s","part":"x","kind":"text"}"#.replace("}{", "}\n{").as_str()).await;
    let (mut seq, mut story) = (0, Story::new());
    for _ in 0..MISSED / 100 {
        let mut delta =
            || json!({"k": "part.delta", "run": "s", "part": "x", "text": story.token()}).to_string();
        let words: Vec<_> = (0..100).map(|_| delta()).collect();
        seq = publisher.says(&words.join("\n")).await.seq;
    }
    let (line, _) = MeasuredLine::lay(port, place.hub).await?;
    // From the moment that the way is free again.
    let began = Instant::now();
    page.run("measured.on = true; dispatchEvent(new Event('online'))").await;
    page.painted(seq).await;
    let took = began.elapsed();
    let longest = page.run("return Math.max(0, ...measured.tasks)").await.as_f64().unwrap_or_default();
    drop(line);
    page.close().await;
    Ok(Found(vec![("resumed after, ms", took.as_secs_f64() * 1e3), ("longest task, ms", longest)]))
}

/// From nothing to the list of conversations.
async fn first(args: &Args, place: Place) -> Outcome<Found> {
    let mut publisher = TestPublisher::named("first", place.hub, "first").await;
    publisher.says(r#"{"k":"message","message":"m","role":"user","text":"Hello"}"#).await;
    let page = open(args).await;
    page.goto(&format!("http://{}/", place.hub)).await;
    let first =
        page.run_until("return measured.first", |value| value.as_f64().is_some_and(|ms| ms > 0.0)).await;
    let bytes = "return performance.getEntries().filter(e => e.transferSize !== undefined).reduce((sum, e) => sum + e.transferSize, 0)";
    let bytes = page.run(bytes).await.as_f64().unwrap_or_default();
    page.close().await;
    Ok(Found(vec![("first list, ms", first.as_f64().unwrap_or_default()), ("transferred, KB", bytes / 1e3)]))
}

/// One page for a long time; says its memory now and then.
async fn soak(args: &Args, place: Place, conversation: &str) -> Outcome<()> {
    let load = Load {
        hub: place.hub,
        conversation: conversation.into(),
        rate: SOAK_RATE,
        seconds: args.minutes * 60,
        tools: 3,
        others: 8,
        others_rate: 10,
        own: false,
    };
    let mut speaker = Speaker::start(&load).await?;
    let page = open(args).await;
    page.goto(&Arm::Fanlight.url(place.hub, place.peers, conversation, place.hub)).await;
    page.holds(Arm::Fanlight.is_ready()).await;
    speaker.go().await?;
    let began = Instant::now();
    writeln!(
        std::io::stdout(),
        "| after, min | JS heap, MB | renderer, MB | elements | nodes | main thread, s |\n|---|---|---|---|---|---|"
    )?;
    let every = Duration::from_secs((args.minutes * 60 / 12).max(10));
    let mut next = tokio::time::interval(every);
    let mut done = std::pin::pin!(speaker.done());
    loop {
        tokio::select! {
            done = &mut done => break done?,
            _ = next.tick() => {}
        }
        page.devtools("HeapProfiler.collectGarbage", json!({})).await;
        let metrics = page.devtools("Performance.getMetrics", json!({})).await;
        let of = |name: &str| metric(&metrics, name);
        let elements = page.run("return document.querySelectorAll('*').length").await;
        writeln!(
            std::io::stdout(),
            "| {:.0} | {:.1} | {:.0} | {elements} | {} | {:.1} |",
            began.elapsed().as_secs_f64() / 60.0,
            of("JSHeapUsedSize") / 1e6,
            page.renderer_bytes() as f64 / 1e6,
            of("Nodes"),
            of("TaskDuration"),
        )?;
    }
    page.holds("return measured.ended").await;
    page.close().await;
    Ok(())
}

/// The process that speaks.
#[derive(Debug)]
pub(crate) struct Speaker {
    child: Child,
    /// Where it is heard: at the hub, or by itself.
    address: SocketAddr,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Speaker {
    pub(crate) async fn start(load: &Load) -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(load.words())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().ok_or("the load has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let ready = lines.next_line().await?.unwrap_or_default();
        let address = ready.strip_prefix("ready ").ok_or("the load is not ready")?.parse()?;
        Ok(Self { child, address, lines })
    }

    pub(crate) async fn go(&mut self) -> Outcome<()> {
        let stdin = self.child.stdin.as_mut().ok_or("the load has no input")?;
        Ok(stdin.write_all(b"go\n").await?)
    }

    async fn done(&mut self) -> Outcome<()> {
        match self.lines.next_line().await? {
            Some(line) if line == "done" => Ok(()),
            other => Err(format!("the load said {other:?}").into()),
        }
    }
}
