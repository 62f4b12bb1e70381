//! Parsing of scripts. The scripts are part of the binary, so an error is a fault of the program; a test
//! reads all of them.

use std::collections::VecDeque;
use std::time::Duration;

use super::{
    BackgroundWork, DemoDialect, DemoScript, ScriptAgent, ScriptCall, ScriptPiece, ScriptRun, ScriptStep,
};

/// What is wrong with a script.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub(in crate::demo) struct ScriptError {
    /// The line, counted from 1.
    line: usize,
    /// What is wrong with the line.
    what: String,
}

/// A line that begins with `@`, and its body.
struct ScriptDirective<'a> {
    /// The line, counted from 1.
    line: usize,
    /// The number of `@` that it begins with.
    level: usize,
    /// The first word, without the `@`.
    verb: &'a str,
    /// The other words of the line.
    words: Vec<&'a str>,
    /// The lines up to the next direction, without blank ones at the end.
    body: String,
}

impl ScriptDirective<'_> {
    fn error(&self, what: impl Into<String>) -> ScriptError {
        ScriptError { line: self.line, what: what.into() }
    }

    /// The word at the index `place` that is not of the form `key=value`.
    fn word(&self, place: usize) -> Result<String, ScriptError> {
        let word = self.words.iter().filter(|word| !word.contains('=')).nth(place);
        word.map(|word| (*word).to_owned())
            .ok_or_else(|| self.error(format!("@{} needs more words", self.verb)))
    }

    /// The value of `key=value`; `None` if the key is not there.
    fn value(&self, key: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// The value of `key=value` as a number.
    fn number(&self, key: &str) -> Result<Option<u32>, ScriptError> {
        let wrong = |_not_a_number| self.error(format!("{key} is no number"));
        self.value(key).map(|value| value.parse().map_err(wrong)).transpose()
    }

    /// The value of `key=value` as a time in milliseconds, `otherwise` if the key is not there.
    fn span(&self, key: &str, otherwise: u64) -> Result<Duration, ScriptError> {
        let ms = self.number(key)?.map_or(otherwise, u64::from);
        Ok(Duration::from_millis(ms))
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

/// How long a call or a sub-agent waits unless set, in milliseconds.
const AFTER_MS: u64 = 40;
/// How long a call is executed unless set, in milliseconds.
const TAKES_MS: u64 = 600;
/// How long a person takes to answer unless set, in milliseconds.
const WAIT_MS: u64 = 4_000;

/// The most levels of sub-agents in a script.
const LEVELS_MAX: usize = 4;

impl DemoScript {
    /// Parses the text of a script.
    pub(in crate::demo) fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut reader = ScriptReader { directions: directions(text) };
        let head = reader.need(1, "play")?;
        let dialect = match head.value("dialect") {
            Some("openai-chat") => DemoDialect::OpenAiChat,
            Some("anthropic") => DemoDialect::Anthropic,
            Some("fanlight") => DemoDialect::Native,
            _ => return Err(head.error("the dialect is openai-chat, anthropic or fanlight")),
        };
        let mut play = Self {
            name: head.word(0)?,
            dialect,
            model: head.value("model").unwrap_or("model").to_owned(),
            agent: head.value("agent").unwrap_or("agent").to_owned(),
            rate: head.number("rate")?.unwrap_or(60),
            once: head.has("once"),
            scenes: Vec::new(),
        };
        while !reader.directions.is_empty() {
            let run = reader.need(1, "run")?;
            let user = reader.need(1, "user")?.body;
            play.scenes.push(ScriptRun { title: run.words.join(" "), user, steps: reader.steps(1)? });
        }
        if play.scenes.is_empty() { Err(head.error("there is no @run")) } else { Ok(play) }
    }
}

/// The directions of a script, each with its body.
fn directions(text: &str) -> VecDeque<ScriptDirective<'_>> {
    let mut directions: VecDeque<ScriptDirective<'_>> = VecDeque::new();
    for (number, line) in (1..).zip(text.lines()) {
        let rest = line.trim_start_matches('@');
        let level = line.len().saturating_sub(rest.len());
        if level > 0 {
            let mut words = rest.split_whitespace();
            let verb = words.next().unwrap_or_default();
            let words = words.collect();
            directions.push_back(ScriptDirective { line: number, level, verb, words, body: String::new() });
        } else if let Some(direction) = directions.back_mut() {
            direction.body.push_str(line);
            direction.body.push('\n');
        }
    }
    for direction in &mut directions {
        direction.body.truncate(direction.body.trim_end().len());
    }
    directions
}

/// Reads directions in order.
struct ScriptReader<'a> {
    /// The directions that are left to read.
    directions: VecDeque<ScriptDirective<'a>>,
}

impl<'a> ScriptReader<'a> {
    /// Takes the next direction if it has this level and one of these verbs.
    fn next(&mut self, level: usize, verbs: &[&str]) -> Option<ScriptDirective<'a>> {
        let front = self.directions.front()?;
        if front.level == level && verbs.contains(&front.verb) { self.directions.pop_front() } else { None }
    }

    /// Takes the next direction, which must have this level and verb.
    fn need(&mut self, level: usize, verb: &str) -> Result<ScriptDirective<'a>, ScriptError> {
        let found =
            self.directions.front().map(|front| front.error(format!("@{verb} is missing before this")));
        let missing =
            found.unwrap_or_else(|| ScriptError { line: 0, what: format!("@{verb} is missing at the end") });
        self.next(level, &[verb]).ok_or(missing)
    }

    /// The steps of this level, up to a `@run`, a `@return`, a direction of a level above, or the end.
    fn steps(&mut self, level: usize) -> Result<Vec<ScriptStep>, ScriptError> {
        let mut steps = Vec::new();
        while let Some(front) = self.directions.front().filter(|front| front.level >= level) {
            if front.level > level || level > LEVELS_MAX {
                return Err(front.error("this is too deep"));
            }
            match front.verb {
                "status" => {
                    let status = self.next(level, &["status"]).map(|status| status.words.join(" "));
                    steps.extend(status.map(ScriptStep::Status));
                }
                "think" | "say" | "call" | "fail" => steps.push(ScriptStep::Write(self.pieces(level)?)),
                "result" | "agent" => steps.push(ScriptStep::Work(self.work(level)?)),
                "run" | "return" => break,
                other => return Err(front.error(format!("@{other} does not fit here"))),
            }
        }
        Ok(steps)
    }

    /// What belongs to one model call.
    fn pieces(&mut self, level: usize) -> Result<Vec<ScriptPiece>, ScriptError> {
        let mut pieces = Vec::new();
        while let Some(direction) = self.next(level, &["think", "say", "call", "fail"]) {
            let rate = direction.number("rate")?;
            pieces.push(match direction.verb {
                "think" => ScriptPiece::Think { text: direction.body, rate },
                "say" => ScriptPiece::Say { text: direction.body, rate },
                "fail" => ScriptPiece::Fail { code: direction.word(0)?, message: direction.body },
                _ => {
                    if serde_json::from_str::<serde_json::Value>(&direction.body).is_err() {
                        return Err(direction.error("the arguments are not JSON"));
                    }
                    ScriptPiece::Call {
                        id: direction.word(0)?,
                        name: direction.word(1)?,
                        arguments: direction.body,
                    }
                }
            });
        }
        Ok(pieces)
    }

    /// What runs at the same time.
    fn work(&mut self, level: usize) -> Result<Vec<BackgroundWork>, ScriptError> {
        let mut work = Vec::new();
        while let Some(direction) = self.next(level, &["result", "agent"]) {
            work.push(if direction.verb == "result" {
                BackgroundWork::Call(self.call(level, direction)?)
            } else {
                BackgroundWork::Agent(self.agent(level, direction)?)
            });
        }
        Ok(work)
    }

    /// The call that `direction` executes, with its output and its question.
    fn call(&mut self, level: usize, direction: ScriptDirective<'_>) -> Result<ScriptCall, ScriptError> {
        let mut call = ScriptCall {
            id: direction.word(0)?,
            after: direction.span("after", AFTER_MS)?,
            takes: direction.span("takes", TAKES_MS)?,
            is_error: direction.has("error"),
            result: direction.body,
            output: String::new(),
            ask: None,
        };
        while let Some(more) = self.next(level, &["output", "ask"]) {
            if more.verb == "output" {
                call.output = more.body;
                call.output.push('\n');
            } else {
                let wait = more.span("wait", WAIT_MS)?;
                call.ask = Some((more.body, wait));
            }
        }
        Ok(call)
    }

    /// The sub-agent that `direction` starts, with its steps one level deeper.
    fn agent(&mut self, level: usize, direction: ScriptDirective<'_>) -> Result<ScriptAgent, ScriptError> {
        Ok(ScriptAgent {
            id: direction.word(0)?,
            name: direction.word(1)?,
            call: direction.value("call").map(str::to_owned),
            after: direction.span("after", AFTER_MS)?,
            steps: self.steps(level.saturating_add(1))?,
            result: self.next(level, &["return"]).map(|back| back.body).unwrap_or_default(),
            task: direction.body,
        })
    }
}
