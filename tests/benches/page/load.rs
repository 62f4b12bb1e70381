//! The load: a process of its own, so that it takes nothing from the page that is measured. Says `ready`, waits for a
//! line, speaks, and says `done`.

use std::io::{BufRead as _, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::Outcome;
use crate::ear::Ear;
use crate::story::Story;

/// Between two publications of the conversation that is looked at.
const STEP: Duration = Duration::from_millis(10);

/// The same of the others: as many models would be heard, and not so that the load is most of the work.
const STEP_OF_OTHERS: Duration = Duration::from_millis(100);

/// Between two rounds of tools.
const TOOLS_EVERY: Duration = Duration::from_secs(5);

/// How long a tool takes.
const TOOL_TAKES: Duration = Duration::from_millis(300);

/// How much is said, and for how long.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) hub: SocketAddr,
    pub(crate) conversation: String,
    /// Tokens in a second.
    pub(crate) rate: u64,
    pub(crate) seconds: u64,
    /// Tools in each round.
    pub(crate) tools: u64,
    /// Other conversations at the same time, with tokens in a second of each.
    pub(crate) others: u64,
    pub(crate) others_rate: u64,
    /// Whether the page is told by the load itself and not by the hub.
    pub(crate) own: bool,
}

impl Load {
    /// As words of a command line, and back by [`Load::parse`].
    pub(crate) fn words(&self) -> Vec<String> {
        let Self { hub, conversation, rate, seconds, tools, others, others_rate, own } = self;
        let numbers = [*rate, *seconds, *tools, *others, *others_rate, u64::from(*own)]
            .map(|number| number.to_string());
        [String::from("--load"), hub.to_string(), conversation.clone()].into_iter().chain(numbers).collect()
    }

    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut word = || words.next().ok_or("a word of the load is missing");
        let (hub, conversation) = (word()?.parse()?, word()?);
        let mut number = || Ok::<u64, Box<dyn std::error::Error + Send + Sync>>(word()?.parse()?);
        let (rate, seconds, tools) = (number()?, number()?, number()?);
        let (others, others_rate, own) = (number()?, number()?, number()? == 1);
        Ok(Self { hub, conversation, rate, seconds, tools, others, others_rate, own })
    }

    /// Runs as the process that produces the load.
    pub(crate) fn run(self) -> Outcome<()> {
        tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(self.speak())
    }

    async fn speak(self) -> Outcome<()> {
        let (ear, address) = if self.own {
            Ear::page(&self.conversation).await?
        } else {
            (Ear::hub(self.hub, &self.conversation).await, self.hub)
        };
        let mut main = Speaker::begin(ear, &self.conversation).await;
        let mut others = Vec::new();
        for number in 0..self.others {
            let conversation = format!("{}-{number}", self.conversation);
            others.push(Speaker::begin(Ear::hub(self.hub, &conversation).await, &conversation).await);
        }
        say(&format!("ready {address}"))?;
        word().await?;
        let until = Instant::now() + Duration::from_secs(self.seconds);
        let beside: Vec<_> = others
            .into_iter()
            .map(|mut other| {
                let rate = self.others_rate;
                tokio::spawn(async move {
                    other.talk(rate, 1, STEP_OF_OTHERS, until).await;
                    other.end().await;
                })
            })
            .collect();
        main.talk(self.rate, self.tools, STEP, until).await;
        main.end().await;
        for other in beside {
            other.await?;
        }
        say("done")?;
        // A page that is told by this process may still have much to read.
        word().await
    }
}

/// Waits for a line, or for the end of the input.
async fn word() -> Outcome<()> {
    tokio::task::spawn_blocking(|| std::io::stdin().lock().read_line(&mut String::new())).await??;
    Ok(())
}

fn say(word: &str) -> Outcome<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{word}")?;
    Ok(out.flush()?)
}

/// One conversation of the load.
struct Speaker {
    ear: Ear,
    story: Story,
    parts: u64,
    tools: u64,
}

impl Speaker {
    async fn begin(mut ear: Ear, conversation: &str) -> Self {
        let opening = [
            json!({"k": "message", "message": "m", "role": "user", "text": "How did revenue change, and why?"}),
            json!({"k": "run.start", "run": "r", "title": format!("Load {conversation}"), "name": "analyst", "model": "m"}),
            json!({"k": "part.start", "run": "r", "part": "think", "kind": "thinking"}),
        ];
        ear.hear(&lines(&opening)).await;
        Self { ear, story: Story::new(), parts: 0, tools: 0 }
    }

    /// Thinks for a second, then answers and calls tools until the time is up.
    async fn talk(&mut self, rate: u64, tools: u64, step: Duration, until: Instant) {
        self.stream("think", rate, step, (Instant::now() + Duration::from_secs(1)).min(until)).await;
        self.ear.hear(&json!({"k": "part.end", "run": "r", "part": "think"}).to_string()).await;
        while Instant::now() < until {
            self.parts += 1;
            let part = format!("p{}", self.parts);
            let start = json!({"k": "part.start", "run": "r", "part": part, "kind": "text"});
            self.ear.hear(&start.to_string()).await;
            self.stream(&part, rate, step, (Instant::now() + TOOLS_EVERY).min(until)).await;
            self.ear.hear(&json!({"k": "part.end", "run": "r", "part": part}).to_string()).await;
            self.call(tools).await;
        }
    }

    /// Says tokens of the part until `until`, as evenly as the clock allows.
    async fn stream(&mut self, part: &str, rate: u64, step: Duration, until: Instant) {
        let began = Instant::now();
        let mut said = 0;
        let mut steps = interval(step);
        steps.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let now = steps.tick().await;
            let micros = u64::try_from(now.duration_since(began).as_micros()).unwrap_or(u64::MAX);
            let due = rate.saturating_mul(micros) / 1_000_000;
            let delta = |text: String| json!({"k": "part.delta", "run": "r", "part": part, "text": text});
            let events: Vec<_> = (said..due).map(|_| delta(self.story.token())).collect();
            said = due;
            if !events.is_empty() {
                self.ear.hear(&lines(&events)).await;
            }
            if now >= until {
                return;
            }
        }
    }

    /// Calls tools, all at once.
    async fn call(&mut self, tools: u64) {
        let ids: Vec<_> = (0..tools).map(|number| format!("t{}", self.tools + number)).collect();
        self.tools += tools;
        let mut calls = Vec::new();
        for id in &ids {
            let arguments = json!({"query": format!("select region, sum(net) from sales where id = '{id}'")});
            calls.push(json!({"k": "tool.start", "run": "r", "tool": id, "name": "run_sql"}));
            calls.push(json!({"k": "tool.call", "run": "r", "tool": id, "arguments": arguments.to_string()}));
            calls.push(json!({"k": "tool.state", "run": "r", "tool": id, "state": "executing"}));
        }
        if calls.is_empty() {
            return;
        }
        self.ear.hear(&lines(&calls)).await;
        let mut over = interval(TOOL_TAKES);
        over.tick().await;
        over.tick().await;
        let rows: Vec<_> =
            (0..20).map(|row| json!({"region": format!("region {row}"), "net": row * 1_000})).collect();
        let result = |id| json!({"k": "tool.result", "run": "r", "tool": id, "output": rows, "exec_ms": 300});
        self.ear.hear(&lines(&ids.iter().map(result).collect::<Vec<_>>())).await;
    }

    async fn end(&mut self) {
        let closing = [
            json!({"k": "part.start", "run": "r", "part": "last", "kind": "text"}),
            json!({"k": "part.delta", "run": "r", "part": "last", "text": "the-very-end"}),
            json!({"k": "part.end", "run": "r", "part": "last"}),
            json!({"k": "run.end", "run": "r", "status": "complete", "finish_reason": "stop"}),
        ];
        self.ear.hear(&lines(&closing)).await;
    }
}

fn lines(events: &[serde_json::Value]) -> String {
    let lines: Vec<_> = events.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
