//! One trace: the tree of its spans, the spans that are held, and the run that it becomes.
//!
//! ```text
//! add ─▶ nodes (the tree), held (spans of models, tools, agents with what they say)
//! advance ─▶ begin ─▶ place each held span: main agent, sub-agent, or not known yet ─▶ tell ─▶ end
//! ```
//!
//! Spans arrive in any order, children mostly before their parents: a span is sent when it ends. One whose
//! place is not known is held, at most for `SPAN_HELD_MS`; then its place is guessed. A run ends with its
//! root span, or when nothing came for `TRACE_QUIET_MS`; a later span lets it go on.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::agents::SpanAgents;
use super::calls::SpanCalls;
use super::place::StepOwner;
use super::{HeldSpan, KnownMessages, SpanNode};
use crate::spans::meaning::{SpanMeaning, SpanMessage, SpanRole};
use crate::spans::{FinishedSpan, NAME, SpanId, TraceId, hex};
use model::envelope::Envelope;
use model::event::{ErrorFact, Event, Kind, RunEnd, RunStart, RunStatus, RunUpdate, Usage};
use model::ids::{AgentId, ConversationId, RunId};
use model::limits::{CONVERSATION_ID_BYTES_MAX, SPAN_HELD_MS, TRACE_QUIET_MS};

/// Nanoseconds in a millisecond.
const NANOS: u64 = 1_000_000;

/// One trace that becomes a run: the tree of its spans, and those that wait for their parents.
/// [`super::SpanJoiner`] owns it and forgets it by age and size.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "none depends on another")]
pub(super) struct SpanTrace {
    /// The run that the trace becomes; its id is the id of the trace.
    pub(super) run: RunId,
    /// The name of the conversation, if a span has one.
    named: Option<String>,
    /// The conversation of the run, from the first event on. It does not change any more.
    told_in: Option<ConversationId>,
    /// The name of the program, the title of the run until there is a better one.
    service: Option<String>,
    /// The machine that the first span with one was made on.
    host: Option<String>,
    /// All spans that were received, by id.
    pub(super) nodes: BTreeMap<SpanId, SpanNode>,
    /// The spans that are not published yet.
    held: Vec<HeldSpan>,
    /// When the last span was taken, in milliseconds since 1970.
    pub(super) heard_at: u64,
    /// The spans that are agents.
    pub(super) agents: SpanAgents,
    /// The calls of tools, and results whose calls are not known.
    pub(super) calls: SpanCalls,
    /// What the root span had, once it was received.
    root: Option<RootSpan>,
    /// Whether the start of the run is published and its end is not.
    is_running: bool,
    /// The run has begun at least once.
    has_begun: bool,
    /// The name of the main agent, as published last.
    told_name: Option<String>,
    /// The title, as published last.
    told_title: Option<String>,
    /// A span of a model had an answer with text or calls.
    pub(super) has_text: bool,
    /// A span of a model had a usage: that of the root would count it twice.
    pub(super) has_usage: bool,
    /// The end of the main agent's last model call, in milliseconds since 1970.
    pub(super) latest_ms: u64,
    /// Code and message of the errors that are published.
    failures: BTreeSet<(String, String)>,
    /// The hashes of the messages that this trace published: of the role and the text.
    pub(super) asked: BTreeSet<u64>,
    /// The events that [`Self::advance`] returns.
    pub(super) out: Vec<Envelope>,
}

/// What is kept of the root span.
#[derive(Debug)]
struct RootSpan {
    name: String,
    end_ms: u64,
    error: Option<ErrorFact>,
    input: Vec<SpanMessage>,
    output: Vec<SpanMessage>,
    usage: Option<Usage>,
}

impl SpanTrace {
    /// A trace without spans, of which the first was received at `now`.
    pub(super) fn new(id: TraceId, now: u64) -> Self {
        Self {
            run: RunId::new(&hex(&id)),
            named: None,
            told_in: None,
            service: None,
            host: None,
            nodes: BTreeMap::new(),
            held: Vec::new(),
            heard_at: now,
            agents: SpanAgents::default(),
            calls: SpanCalls::default(),
            root: None,
            is_running: false,
            has_begun: false,
            told_name: None,
            told_title: None,
            has_text: false,
            has_usage: false,
            latest_ms: 0,
            failures: BTreeSet::new(),
            asked: BTreeSet::new(),
            out: Vec::new(),
        }
    }

    /// The number of spans that are known.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the span was received before.
    pub(super) fn knows(&self, id: SpanId) -> bool {
        self.nodes.contains_key(&id)
    }

    /// Approximately how many bytes of memory the held spans take.
    pub(super) fn held_bytes(&self) -> usize {
        self.held.iter().map(|held| held.weight).sum()
    }

    /// Whether nothing in the trace was about agents and it is over.
    pub(super) fn is_foreign(&self, now: u64) -> bool {
        !self.has_begun
            && self.held.is_empty()
            && self.root.is_some()
            && now.saturating_sub(self.heard_at) > TRACE_QUIET_MS
    }

    /// Whether the trace has events at `now` without another span.
    pub(super) fn is_due(&self, now: u64) -> bool {
        let waits = !self.held.is_empty() || self.calls.has_owed() || self.is_running;
        waits && now.saturating_sub(self.heard_at) >= SPAN_HELD_MS
            || self.held.iter().any(|held| now.saturating_sub(held.since) >= SPAN_HELD_MS)
    }

    /// The conversation of the run; nothing as long as no span is about agents.
    pub(super) fn conversation(&mut self, now: u64, force: bool) -> Option<ConversationId> {
        // The name of the conversation may come with a later span; it would be too late for events that are
        // published already.
        let is_late = |held: &HeldSpan| force || now.saturating_sub(held.since) >= SPAN_HELD_MS;
        let is_ready = !self.held.is_empty() && (self.named.is_some() || self.held.iter().any(is_late));
        if self.told_in.is_none() && is_ready {
            let given = self.named.as_deref().map(conversation_name);
            let own =
                || conversation_name(&format!("trace-{}", self.run.as_str().get(..16).unwrap_or_default()));
            self.told_in = given.flatten().or_else(own);
        }
        self.told_in.clone()
    }

    /// Takes a span that the trace does not know.
    pub(super) fn add(&mut self, span: &FinishedSpan, now: u64) {
        self.heard_at = now;
        let meaning = SpanMeaning::of(span);
        if self.named.is_none() {
            self.named.clone_from(&meaning.conversation);
        }
        if self.service.is_none() {
            self.service = span.service.clone().filter(|name| !name.starts_with("unknown_service"));
        }
        if self.host.is_none() {
            self.host.clone_from(&span.host);
        }
        let (start_ms, end_ms) = (span.start_ns.div_euclid(NANOS), span.end_ns.div_euclid(NANOS));
        let is_top = span.parent.is_none_or(|parent| span.is_parent_remote && !self.knows(parent));
        if is_top {
            self.root = Some(RootSpan {
                name: meaning.name.clone(),
                end_ms,
                error: meaning.error.clone(),
                input: meaning.input.clone(),
                output: meaning.output.clone(),
                usage: meaning.usage,
            });
        }
        let asked = meaning.input.iter().rev().find(|said| said.role == "user").map(SpanMessage::text);
        let node = SpanNode {
            parent: span.parent,
            is_remote: span.is_parent_remote,
            role: meaning.role,
            name: meaning.name.clone(),
            call: None,
            task: asked.filter(|text| meaning.role == SpanRole::Agent && !text.is_empty()),
            failed: span.failed,
            is_covered: false,
        };
        self.nodes.insert(span.id, node);
        self.climb_spine();
        if meaning.role != SpanRole::Step {
            let weight = span.attributes.weight().saturating_add(256);
            self.held.push(HeldSpan { id: span.id, start_ms, end_ms, meaning, since: now, weight });
        }
    }

    /// Returns the events that can be published at `now`; with `force` those of all held spans. `messages`
    /// has the hashes of the messages that the conversation has already.
    pub(super) fn advance(&mut self, now: u64, force: bool, messages: &mut KnownMessages) -> Vec<Envelope> {
        if !self.held.is_empty() {
            self.begin();
        }
        // The span that ended first is published first; of two that ended together the inner one, which began
        // later.
        self.held.sort_by_key(|held| (held.end_ms, Reverse(held.start_ms), held.id));
        let mut is_moving = true;
        while std::mem::take(&mut is_moving) {
            for held in std::mem::take(&mut self.held) {
                let is_late = force || now.saturating_sub(held.since) >= SPAN_HELD_MS;
                let agent = match self.place(&held, is_late) {
                    StepOwner::Open => {
                        self.held.push(held);
                        continue;
                    }
                    StepOwner::Main => None,
                    StepOwner::Of(agent) => Some(agent),
                };
                is_moving = true;
                self.tell(held, agent.as_ref(), now, messages);
            }
        }
        self.tell_owed(now, force);
        self.refresh_agents();
        self.name_run();
        self.end(now, force);
        std::mem::take(&mut self.out)
    }

    /// Adds an event that happened at `at` by the program's clock, in milliseconds since 1970; 0 if that is
    /// unknown.
    pub(super) fn push(&mut self, kind: Kind, agent: Option<&AgentId>, at: u64) {
        let event = Event::new(&self.run, kind).by(agent.cloned());
        let producer_at = Some(at).filter(|at| *at > 0);
        self.out.push(Envelope { event, seq: 0, at: 0, producer_at, publisher: None, by_hub: false });
    }

    /// Publishes an error, but each only once.
    pub(super) fn fail(&mut self, error: &ErrorFact, agent: Option<&AgentId>, at: u64) {
        if self.failures.insert((error.code.to_string(), error.message.clone())) {
            self.push(Kind::Error(error.clone()), agent, at);
        }
    }

    /// Publishes the start of the run, unless it is running.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.is_running, true) {
            return;
        }
        let at = self.held.iter().map(|held| held.start_ms).min().unwrap_or(0);
        let mut start = RunStart { host: self.host.as_deref().map(Into::into), ..RunStart::default() };
        if !std::mem::replace(&mut self.has_begun, true) {
            (start.dialect, start.title) = (Some(NAME.into()), self.service.clone());
            self.told_title.clone_from(&self.service);
        }
        self.push(Kind::RunStart(start), None, at);
    }

    /// Publishes the name of the run as soon as it is known.
    fn name_run(&mut self) {
        if !self.is_running {
            return;
        }
        let main = self.agents.main.and_then(|main| self.nodes.get(&main));
        let name = main.map(|node| node.name.clone()).filter(|name| !name.is_empty());
        if let Some(name) = name.filter(|name| self.told_name.as_ref() != Some(name)) {
            self.told_name = Some(name.clone());
            self.push(Kind::RunStart(RunStart { name: Some(name.into()), ..RunStart::default() }), None, 0);
        }
    }

    /// Publishes the end of the run, if the root span was received and nothing is held, or if nothing was
    /// received for long.
    fn end(&mut self, now: u64, force: bool) {
        if !self.is_running || !self.held.is_empty() || self.calls.has_owed() {
            return;
        }
        let silence = now.saturating_sub(self.heard_at);
        let is_over =
            self.root.is_some() && self.agents.spine.is_none() && (force || silence >= SPAN_HELD_MS);
        let is_quiet = silence >= TRACE_QUIET_MS && self.calls.are_answered();
        if !is_over && !is_quiet {
            return;
        }
        self.end_calls();
        self.is_running = false;
        let root = self.root.take();
        let at = root.as_ref().map_or(self.latest_ms, |root| root.end_ms);
        self.say_instead(root.as_ref());
        let (error, usage) = root.as_ref().map_or((None, None), |root| (root.error.clone(), root.usage));
        if let Some(error) = &error {
            self.fail(error, None, at);
        }
        let title = self.told_name.clone().or_else(|| root.as_ref().map(|root| root.name.clone()));
        if self.told_title.is_none() && title.is_some() {
            self.told_title.clone_from(&title);
            self.push(Kind::RunUpdate(RunUpdate { title, ..RunUpdate::default() }), None, at);
        }
        let status = if error.is_some() { RunStatus::Error } else { RunStatus::Complete };
        let usage = usage.filter(|_| !self.has_usage);
        self.push(Kind::RunEnd(RunEnd { status, finish_reason: None, usage, lost: false }), None, at);
        self.root = root;
    }

    /// Publishes what the root span says, if no span of a model said anything.
    fn say_instead(&mut self, root: Option<&RootSpan>) {
        let Some(root) = root.filter(|_| !self.has_text) else { return };
        self.has_text = true;
        let (input, output) = (root.input.clone(), root.output.clone());
        if let Some(asked) = input.iter().rev().find(|said| said.role == "user") {
            self.say_message("user", &asked.text(), 0, root.end_ms, &mut KnownMessages::new());
        }
        self.say_pieces("root", &output, None, root.end_ms);
    }
}

/// The name of a conversation made from `text`: forbidden characters become dashes; a long name is cut and
/// gets a hash.
fn conversation_name(text: &str) -> Option<ConversationId> {
    let plain: String =
        text.chars().map(|c| if c.is_control() || c == '/' || c == '\\' { '-' } else { c }).collect();
    let plain = plain.trim_matches(['.', ' ']);
    if plain.len() <= CONVERSATION_ID_BYTES_MAX {
        return ConversationId::parse(plain).ok();
    }
    let beginning: String = plain.chars().take(24).collect();
    ConversationId::parse(&format!("{beginning}~{:016x}", super::tell::print(&[plain]))).ok()
}
