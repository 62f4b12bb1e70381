//! Random histories for the laws' tests: sane ones, as agents make them, and wild ones, as only broken publishers do.

use std::sync::Arc;

use compact_str::CompactString;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::anomaly::{Anomaly, AnomalyCode};
use crate::envelope::Envelope;
use crate::event::{
    AgentEnd, AgentStart, Cost, Currency, ErrorFact, Event, Kind, LabelChange, Message, MessageFile, Origin,
    PartEnd, PartKind, Rating, ResultRef, RunEnd, RunStart, RunStatus, RunUpdate, ToolResult, ToolStart,
    ToolState, ToolStateChange, Usage,
};
use crate::fold::fold;
use crate::ids::{AgentId, ConversationId, MessageId, PartId, RunId, ToolCallId};
use crate::json::Json;
use crate::lens::{EventEffects, event_effects};
use crate::position::Epoch;
use crate::view::View;

pub mod masked;

/// Any short text, with characters of one to four bytes.
fn text() -> impl Strategy<Value = CompactString> {
    prop_oneof![
        3 => "[a-z ]{0,12}",
        1 => Just("é ß 漢字 🙂".to_owned()),
        1 => Just("\"\\\n\u{1}".to_owned()),
    ]
    .prop_map(CompactString::from)
}

fn part() -> impl Strategy<Value = PartId> {
    select(vec!["p1", "p2", "p3"]).prop_map(PartId::new)
}

fn tool() -> impl Strategy<Value = ToolCallId> {
    select(vec!["t1", "t2", "t3"]).prop_map(ToolCallId::new)
}

fn status() -> impl Strategy<Value = RunStatus> {
    select(vec![
        RunStatus::Running,
        RunStatus::Complete,
        RunStatus::Error,
        RunStatus::Cancelled,
        RunStatus::Interrupted,
    ])
}

fn state() -> impl Strategy<Value = ToolState> {
    select(vec![
        ToolState::Pending,
        ToolState::Approval,
        ToolState::Executing,
        ToolState::Complete,
        ToolState::Error,
        ToolState::Interrupted,
    ])
}

/// Deltas: mostly without an offset (the hub fills it in), sometimes with a wrong one.
fn delta() -> BoxedStrategy<Kind> {
    let off = prop_oneof![12 => Just(None), 1 => (0_u64..40).prop_map(Some)];
    let of_part =
        (part(), off.clone(), text()).prop_map(|(part, off, text)| Kind::PartDelta { part, off, text });
    let args = (tool(), off.clone(), text()).prop_map(|(tool, off, text)| Kind::ToolArgs { tool, off, text });
    let output = (tool(), off, text()).prop_map(|(tool, off, text)| Kind::ToolOutput { tool, off, text });
    prop_oneof![4 => of_part, 2 => args, 1 => output].boxed()
}

fn about_parts() -> BoxedStrategy<Kind> {
    let kind = select(vec![PartKind::Text, PartKind::Thinking]);
    prop_oneof![
        3 => (part(), kind).prop_map(|(part, kind)| Kind::PartStart { part, kind }),
        2 => (part(), proptest::option::of(0_u64..20)).prop_map(|(part, len)| Kind::PartEnd(PartEnd {
            part,
            len,
            hash: None,
            duration_ms: None,
            hidden: false,
            signature: len.filter(|len| len % 2 == 1).map(|len| format!("signature {len}")),
        })),
        1 => (part(), text()).prop_map(|(part, text)| Kind::PartReplace { part, text: text.into() }),
    ]
    .boxed()
}

fn about_tools() -> BoxedStrategy<Kind> {
    prop_oneof![
        3 => tool().prop_map(|tool| Kind::ToolStart(ToolStart { tool, name: "run_sql".into(), server: false, given_id: None })),
        2 => (tool(), proptest::option::of(text())).prop_map(|(tool, arguments)| Kind::ToolCall {
            tool,
            name: Some("run_sql".into()),
            arguments: arguments.map(Into::into),
        }),
        2 => (tool(), state()).prop_map(|(tool, state)| Kind::ToolState(ToolStateChange {
            tool,
            state,
            queued_ms: None,
            exec_ms: Some(7),
        })),
        2 => (tool(), text(), any::<bool>()).prop_map(|(tool, text, is_error)| Kind::ToolResult(ToolResult {
            tool,
            output: Json::string(&text),
            is_error,
            queued_ms: None,
            exec_ms: None,
            files: None,
            embeds: None,
            reference: is_error.then(|| ResultRef { bytes: 300_000, hash: "00f1".into() }),
        })),
        1 => tool().prop_map(|tool| Kind::ApprovalRequest { tool, text: Some("May it?".into()) }),
        1 => (tool(), any::<bool>()).prop_map(|(tool, approved)| Kind::ApprovalAnswer { tool, approved, text: None }),
    ]
    .boxed()
}

fn about_agents() -> BoxedStrategy<Kind> {
    let parent = select(vec![None, Some("a1"), Some("a2"), Some("a3")]);
    let model =
        select(vec![None, None, Some("m"), Some("n")]).prop_map(|model| model.map(CompactString::new));
    let cost = |picos| Cost::new(picos, Currency::USD);
    let usage = (0_u64..9, proptest::option::of(1_u64..9)).prop_map(move |(input_tokens, picos)| Usage {
        input_tokens,
        cost: picos.map(cost),
        ..Usage::default()
    });
    let used = proptest::option::of(usage);
    prop_oneof![
        (parent, model.clone(), used.clone()).prop_map(|(parent, model, usage)| Kind::AgentStart(
            AgentStart {
                name: Some("scout".into()),
                parent: parent.map(AgentId::new),
                model,
                usage,
                ..AgentStart::default()
            }
        )),
        (status(), model, used).prop_map(|(status, model, usage)| Kind::AgentEnd(AgentEnd {
            status,
            model,
            usage
        })),
    ]
    .boxed()
}

fn about_runs() -> BoxedStrategy<Kind> {
    let cost = Some(Cost::new(7, Currency::USD));
    let usage = Usage { input_tokens: 3, output_tokens: 5, cost, ..Usage::default() };
    prop_oneof![
        3 => select(vec![None, Some("box-1")]).prop_map(|host| Kind::RunStart(RunStart {
            model: Some("m".into()),
            host: host.map(CompactString::new),
            ..RunStart::default()
        })),
        1 => text().prop_map(move |text| Kind::RunUpdate(RunUpdate {
            title: Some(text.into()),
            usage: Some(usage),
            ..RunUpdate::default()
        })),
        1 => status().prop_map(|status| Kind::RunEnd(RunEnd { status, ..RunEnd::default() })),
        1 => about_agents(),
        1 => text().prop_map(|text| Kind::Status { text: text.into() }),
        1 => text().prop_map(|text| Kind::Error(ErrorFact {
            code: "overloaded".into(),
            message: text.into(),
            retryable: Some(true),
            retry_after_ms: Some(8_000),
        })),
        1 => text().prop_map(|text| Kind::Custom { name: "note".into(), value: Json::string(&text) }),
        1 => text().prop_map(|text| Kind::Anomaly(Anomaly { code: AnomalyCode::Malformed, detail: text.into() })),
        1 => (0_u64..9).prop_map(|seq| Kind::Fork {
            from: Origin {
                conversation: ConversationId::parse("parent").expect("a name"),
                epoch: Epoch::new("e0"),
                seq,
            },
        }),
        1 => label().prop_map(|change| Kind::Label(Box::new(change))),
        1 => (select(vec!["m1", "m2"]), text(), 0_usize..3).prop_map(|(id, text, files)| Kind::Message(Message {
            message: MessageId::new(id),
            role: "user".into(),
            text: text.into(),
            files: vec![MessageFile { data: None, ..MessageFile::new("a.txt", "text/plain", "QUJD".to_owned()) }; files],
        })),
    ]
    .boxed()
}

/// A change of what people made of the conversation; empty texts take back.
fn label() -> BoxedStrategy<LabelChange> {
    let tags =
        subsequence(vec!["a", "b", "c"], 0..=3).prop_map(|tags| tags.into_iter().map(Into::into).collect());
    let text = || proptest::option::of(select(vec!["", "x", "a title"]).prop_map(ToOwned::to_owned));
    let by = proptest::option::of(Just("ann".into()));
    let change = (
        text(),
        proptest::option::of(any::<bool>()),
        proptest::option::of(any::<bool>()),
        proptest::option::of(tags),
        text(),
        proptest::option::of(rating()),
        by,
    );
    change
        .prop_map(|(title, pinned, archived, tags, note, rating, by)| LabelChange {
            title,
            pinned,
            archived,
            tags,
            note,
            rating,
            by,
        })
        .boxed()
}

/// What somebody thinks of a run or a message, or thinks no more.
fn rating() -> BoxedStrategy<Rating> {
    let why = proptest::option::of(Just("a reason".to_owned()));
    let rating = (select(vec!["r1", "r2"]), any::<bool>(), proptest::option::of(any::<bool>()), why);
    rating
        .prop_map(|(id, is_run, good, why)| Rating {
            run: is_run.then(|| RunId::new(id)),
            message: (!is_run).then(|| MessageId::new(id)),
            good,
            why,
            by: None,
        })
        .boxed()
}

/// Any event of two runs with a few parts, calls and agents, in any state.
pub fn event() -> impl Strategy<Value = Event> {
    let kind = prop_oneof![12 => delta(), 3 => about_parts(), 3 => about_tools(), 2 => about_runs()];
    let run = prop_oneof![5 => Just("r1"), 1 => Just("r2")];
    let agent =
        prop_oneof![6 => Just(None), 1 => Just(Some("a1")), 1 => Just(Some("a2")), 1 => Just(Some("a3"))];
    // Every second message names no run.
    let is_of_none = |kind: &Kind| matches!(kind, Kind::Message(it) if it.message.as_str() == "m2");
    (kind, run, agent).prop_map(move |(kind, run, agent)| {
        let run = if is_of_none(&kind) { RunId::none() } else { RunId::new(run) };
        Event::new(&run, kind).by(agent.map(AgentId::new))
    })
}

/// A history as the hub would have logged it: dense seqs, rising times, offsets filled in.
pub fn history(len: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<Arc<Envelope>>> {
    proptest::collection::vec(event(), len).prop_map(logged)
}

/// Events from JSON, one a line; blank lines count for nothing.
///
/// # Panics
/// When a line is no event.
pub fn events(lines: &str) -> Vec<Event> {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| Envelope::parse(line).expect("a line is an event").event).collect()
}

/// `events` as the hub logs them.
pub fn logged(events: Vec<Event>) -> Vec<Arc<Envelope>> {
    let mut view = View::default();
    let mut at = 1_795_300_000_000;
    let mut seq = 0;
    let mut envelopes = Vec::new();
    let mut add = |view: &mut View, event| {
        seq += 1;
        at += seq % 7;
        let mut envelope = Envelope { event, seq, at, producer_at: None, publisher: None, by_hub: false };
        crate::fold::complete(view, &mut envelope.event);
        fold(view, &envelope, &mut |_| {});
        envelopes.push(Arc::new(envelope));
    };
    for event in events {
        if let Some(odd) = crate::fold::mismatch(&view, &event) {
            add(&mut view, odd);
        }
        add(&mut view, event);
    }
    envelopes
}

/// The view of `envelopes`.
pub fn folded(envelopes: &[Arc<Envelope>]) -> View {
    let mut view = View::default();
    for envelope in envelopes {
        fold(&mut view, envelope, &mut |_| {});
    }
    view
}

/// The view before the first and after each of `history`, and the effects of its events by their seqs.
pub fn views(history: &[Arc<Envelope>]) -> (Vec<View>, Vec<(u64, EventEffects)>) {
    let mut view = View::default();
    let (mut views, mut effects) = (vec![view.clone()], Vec::new());
    for envelope in history {
        effects.extend(event_effects(&view, &envelope.event).map(|of_event| (envelope.seq, of_event)));
        fold(&mut view, envelope, &mut |_| {});
        views.push(view.clone());
    }
    (views, effects)
}
