//! There and back: what an encoder writes, the decoder of the same dialect reads as the same answer.

use proptest::prelude::*;
use proptest::sample::select;

use crate::{EncodeOptions, encoding};
use dialects::{DecodeOptions, Decoded, decoder};
use model::Json;
use model::event::{
    Event, Kind, PartEnd, PartKind, RunEnd, RunStart, RunStatus, ToolResult, ToolStart, Usage,
};
use model::ids::{PartId, RunId, ToolCallId};
use model::testkit::{folded, logged};
use model::view::{RunView, View};

/// A dialect, and whether it carries thinking, arguments, results, their errors, and usage.
struct Carries {
    name: &'static str,
    what: [bool; 5],
}

const fn carries(name: &'static str, what: [bool; 5]) -> Carries {
    Carries { name, what }
}

/// The dialects; those without a decoder are left out.
const DIALECTS: [Carries; 12] = [
    carries("fanlight", [true, true, true, true, true]),
    carries("openai-chat", [true, true, false, false, true]),
    carries("openai-responses", [true, true, false, false, true]),
    carries("bernard", [true, true, true, false, true]),
    carries("anthropic", [true, true, true, true, true]),
    carries("ag-ui", [true, true, true, false, true]),
    carries("ai-sdk", [true, true, true, true, false]),
    carries("forge", [true, true, true, true, true]),
    carries("ralph", [false, true, true, true, false]),
    carries("deep-agent", [false, false, true, false, false]),
    carries("langgraph", [true, true, true, true, true]),
    carries("rye", [true, true, true, true, true]),
];

/// A piece of an answer.
#[derive(Debug, Clone)]
enum Piece {
    Part(PartKind, Vec<String>),
    Call { pieces: Vec<String>, result: String, is_error: bool },
}

fn piece() -> impl Strategy<Value = Piece> {
    let word = || prop_oneof![3 => "[a-z]{1,6} ?", 1 => Just("é 漢字 🙂".to_owned()), 1 => Just("a\n\nb\"\\".to_owned())];
    let part = (select(vec![PartKind::Text, PartKind::Thinking]), prop::collection::vec(word(), 1..4));
    let call = (word(), word(), any::<bool>());
    prop_oneof![
        2 => part.prop_map(|(kind, words)| Piece::Part(kind, words)),
        1 => call.prop_map(|(argument, result, is_error)| {
            let argument = serde_json::to_string(&argument).unwrap();
            Piece::Call { pieces: vec!["{\"q\":".into(), argument, "}".into()], result, is_error }
        }),
    ]
}

/// The events of an answer, as a careful publisher says them.
fn events(pieces: &[Piece]) -> Vec<Event> {
    let run = RunId::new("r");
    let mut kinds = vec![Kind::RunStart(RunStart { model: Some("m".into()), ..RunStart::default() })];
    for (number, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Part(kind, words) => {
                let part = PartId::new(&format!("p{number}"));
                kinds.push(Kind::PartStart { part: part.clone(), kind: *kind });
                kinds.extend(words.iter().map(|word| Kind::PartDelta {
                    part: part.clone(),
                    off: None,
                    text: word.into(),
                }));
                let end = PartEnd {
                    part,
                    len: None,
                    hash: None,
                    duration_ms: None,
                    hidden: false,
                    signature: None,
                };
                kinds.push(Kind::PartEnd(end));
            }
            Piece::Call { pieces, result, is_error } => {
                let tool = ToolCallId::new(&format!("call_{number}"));
                let start =
                    ToolStart { tool: tool.clone(), name: "look".into(), server: false, given_id: None };
                kinds.push(Kind::ToolStart(start));
                kinds.extend(pieces.iter().map(|text| Kind::ToolArgs {
                    tool: tool.clone(),
                    off: None,
                    text: text.into(),
                }));
                kinds.push(Kind::ToolCall { tool: tool.clone(), name: None, arguments: None });
                kinds.push(Kind::ToolResult(ToolResult::new(tool, Json::string(result), *is_error)));
            }
        }
    }
    let usage = Some(Usage { input_tokens: 7, output_tokens: 11, ..Usage::default() });
    kinds.push(Kind::RunEnd(RunEnd {
        status: RunStatus::Complete,
        finish_reason: Some("stop".into()),
        usage,
        lost: false,
    }));
    kinds.into_iter().map(|kind| Event::new(&run, kind)).collect()
}

/// What is left of a run after the dialect.
fn told(run: &RunView, carries: &Carries) -> Vec<String> {
    let [thinking, arguments, results, errors, usage] = carries.what;
    let mut told = vec![format!("{:?}: {}", run.status, run.answer())];
    told.extend(thinking.then(|| run.thinking()));
    for tool in run.tools.values() {
        let written: serde_json::Value = serde_json::from_str(&tool.arguments.text).unwrap_or_default();
        let gave = tool.result.as_ref().map(Json::to_text);
        told.push(tool.name.to_string());
        told.extend(arguments.then(|| written.to_string()));
        told.extend(results.then(|| format!("{gave:?}")));
        told.extend(errors.then(|| tool.is_error.to_string()));
    }
    let spent = run.usage.unwrap_or_default();
    told.extend(usage.then(|| format!("{} {}", spent.input_tokens, spent.output_tokens)));
    told
}

fn there_and_back(
    view: &View,
    envelopes: &[std::sync::Arc<model::Envelope>],
    carries: &Carries,
) -> Result<(), TestCaseError> {
    let Some(mut decoder) = decoder(carries.name, DecodeOptions::default()) else { return Ok(()) };
    let mut encoder = encoding(carries.name).unwrap().encoder(&EncodeOptions::default());
    let mut stream = Vec::new();
    for envelope in envelopes {
        encoder.event(envelope, &mut stream);
    }
    encoder.end(&mut stream);
    let mut decoded = Decoded::default();
    decoder.feed(&stream, &mut decoded);
    decoder.end(&mut decoded);
    let back = folded(&logged(decoded.envelopes.into_iter().map(|envelope| envelope.event).collect()));
    let stream = String::from_utf8_lossy(&stream);
    let run = back.runs.values().next();
    let run = run.ok_or_else(|| TestCaseError::fail(format!("{}: no run in {stream}", carries.name)))?;
    prop_assert_eq!(told(run, carries), told(&view.runs[0], carries), "{}: {}", carries.name, stream);
    prop_assert_eq!(back.anomalies.total, 0, "{}: {:?} in {}", carries.name, back.anomalies, stream);
    Ok(())
}

proptest! {
    #[test]
    fn what_a_dialect_carries_comes_back(mut pieces in prop::collection::vec(piece(), 0..6)) {
        pieces.push(Piece::Part(PartKind::Text, vec!["The end".into()]));
        let envelopes = logged(events(&pieces));
        let view = folded(&envelopes);
        let wrong = DIALECTS.iter().filter_map(|carries| there_and_back(&view, &envelopes, carries).err());
        let wrong: Vec<_> = wrong.map(|error| error.to_string()).collect();
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }
}
