//! What the next request to the model of a conversation is filled with, and what is not known of its cost: the meter of the header.
//!
//! Nobody tells a viewer how a request is made up, so these are estimates from what the conversation holds. What sub-agents said and the
//! thinking of models are no part of it.

use model::event::{FileKind, MessageFile, PartKind};
use model::format;
use model::view::{RunView, ToolView, View};

/// Bytes of a text that are a token, about.
const TOKEN_BYTES: u64 = 4;

/// Tokens of an image, about: what Anthropic's API counts for the largest that it does not scale.
const IMAGE_TOKENS: u64 = 1_600;

/// Bytes of a PDF that are a token, about: a page of 50 KB has 2,000.
const PDF_TOKEN_BYTES: u64 = 25;

/// Tokens in the context, about, by what they are of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContextFill {
    /// Tokens of messages and answers.
    pub turns: u64,
    /// Tokens of arguments and results of calls.
    pub tools: u64,
    /// Tokens of files that came with messages.
    pub files: u64,
}

impl ContextFill {
    /// What `view` holds for the next request. Takes time for each part and call.
    pub fn of(view: &View) -> Self {
        let said = view.messages.values().map(|message| message.text.len() as u64);
        let answered = view.runs.values().map(answered);
        let files = view.messages.values().flat_map(|message| &message.files);
        let calls = view.runs.values().flat_map(|run| run.tools.values());
        Self {
            turns: (said.sum::<u64>() + answered.sum::<u64>()) / TOKEN_BYTES,
            tools: calls.filter(|tool| tool.agent.is_none()).map(called).sum::<u64>() / TOKEN_BYTES,
            files: files.map(file).sum(),
        }
    }

    /// The sum of all tokens.
    pub fn tokens(self) -> u64 {
        self.turns.saturating_add(self.tools).saturating_add(self.files)
    }

    /// What fills it, each with its tokens and with how many of a hundred those are.
    pub fn shares(self) -> [(&'static str, u64, u64); 3] {
        let all = self.tokens().max(1);
        let share =
            |name, tokens: u64| (name, tokens, tokens.saturating_mul(100).saturating_add(all / 2) / all);
        [share("turns", self.turns), share("tools", self.tools), share("files", self.files)]
    }

    /// How much it is and what fills it; `None` of nothing.
    pub fn words(self) -> Option<String> {
        let all = self.tokens();
        let shares = self.shares().into_iter().filter(|(_, tokens, _)| *tokens > 0);
        let shares: Vec<String> = shares.map(|(name, _, part)| format!("{name} {part}\u{a0}%")).collect();
        (all > 0).then(|| format!("about {} tokens: {}", format::count(all), shares.join(", ")))
    }
}

/// The newest estimate, and the state of the conversation that it is of.
#[derive(Debug)]
pub struct ContextMeter<State> {
    newest: Option<(State, ContextFill)>,
}

impl<State> Default for ContextMeter<State> {
    fn default() -> Self {
        Self { newest: None }
    }
}

impl<State: PartialEq> ContextMeter<State> {
    /// The fill in `state`. Calls `walk`, which goes through the conversation, only if the state is not that of the last call.
    pub fn read(&mut self, state: State, walk: impl FnOnce() -> ContextFill) -> ContextFill {
        match &self.newest {
            Some((known, fill)) if *known == state => *fill,
            _ => self.newest.insert((state, walk())).1,
        }
    }
}

/// Tokens that were used of runs of which nobody knows what they cost.
pub fn unpriced(view: &View) -> u64 {
    let used = view.runs.values().filter_map(|run| run.usage);
    used.filter(|usage| usage.cost.is_none()).map(|usage| usage.tokens()).sum()
}

/// Bytes of the answer of the main agent.
fn answered(run: &RunView) -> u64 {
    let own = run.parts.values().filter(|part| part.agent.is_none() && part.kind != PartKind::Thinking);
    own.map(|part| part.body.text.len() as u64).sum()
}

/// Bytes of a call and of its whole result.
fn called(tool: &ToolView) -> u64 {
    let result = tool.result.as_ref().map_or(0, |result| result.as_str().len() as u64);
    (tool.arguments.text.len() as u64).saturating_add(result).saturating_add(tool.left_out())
}

/// Tokens of a file.
fn file(file: &MessageFile) -> u64 {
    match FileKind::of(&file.mime) {
        Some(FileKind::Image) => IMAGE_TOKENS,
        Some(FileKind::Pdf) => file.bytes / PDF_TOKEN_BYTES,
        Some(FileKind::Text) => file.bytes / TOKEN_BYTES,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    //! What fills a context.

    use model::Envelope;
    use model::fold::fold;

    use super::*;

    fn view(events: &str) -> View {
        let mut view = View::default();
        for (seq, line) in (1..).zip(events.lines()) {
            let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
            (event["seq"], event["at"]) = (seq.into(), 1.into());
            let envelope: Envelope = serde_json::from_value(event).unwrap();
            fold(&mut view, &envelope, &mut |_| {});
        }
        view
    }

    #[test]
    fn a_context_is_turns_tools_and_files_without_thinking_and_sub_agents() {
        let text = "x".repeat(400);
        let view = view(&format!(
            r#"{{"k":"message","message":"m","role":"user","text":"{text}","files":[{{"name":"a.png","type":"image/png","bytes":9}},{{"name":"b.txt","type":"text/plain","bytes":800}}]}}
{{"k":"run.start","run":"r"}}
{{"k":"part.start","run":"r","part":"t","kind":"thinking"}}
{{"k":"part.delta","run":"r","part":"t","text":"{text}"}}
{{"k":"part.start","run":"r","part":"p","kind":"text"}}
{{"k":"part.delta","run":"r","part":"p","text":"{text}"}}
{{"k":"tool.call","run":"r","tool":"a","name":"n","arguments":"{text}"}}
{{"k":"tool.result","run":"r","tool":"a","output":"{text}"}}
{{"k":"agent.start","run":"r","agent":"s","name":"s"}}
{{"k":"tool.call","run":"r","agent":"s","tool":"b","name":"n","arguments":"{text}"}}"#
        ));
        let fill = ContextFill::of(&view);
        assert_eq!(fill, ContextFill { turns: 200, tools: 200, files: 1_800 });
        assert_eq!(
            fill.words().as_deref(),
            Some("about 2.2k tokens: turns 9\u{a0}%, tools 9\u{a0}%, files 82\u{a0}%")
        );
        assert_eq!(ContextFill::default().words(), None);
    }

    #[test]
    fn a_conversation_that_did_not_change_is_not_walked_again() {
        let (mut meter, mut walks) = (ContextMeter::default(), 0);
        let text = r#"{"k":"message","message":"m","role":"user","text":"12345678"}"#;
        let (short, long) = (view(text), view(&format!("{text}\n{}", text.replace("\"m\"", "\"n\""))));
        for view in [&short, &short, &short, &long, &long, &short] {
            let fill = meter.read(view.seq, || {
                walks += 1;
                ContextFill::of(view)
            });
            assert_eq!(fill, ContextFill::of(view));
        }
        assert_eq!(walks, 3);
    }

    #[test]
    fn tokens_of_runs_without_a_cost_have_no_price() {
        let view = view(
            r#"{"k":"run.start","run":"a"}
{"k":"run.end","run":"a","status":"complete","usage":{"input_tokens":70,"output_tokens":5}}
{"k":"run.start","run":"b"}
{"k":"run.end","run":"b","status":"complete","usage":{"input_tokens":1000,"output_tokens":5,"cost":{"amount":"0.5","currency":"USD"}}}"#,
        );
        assert_eq!((unpriced(&view), unpriced(&View::default())), (75, 0));
    }
}
