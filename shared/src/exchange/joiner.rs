//! Which conversation and which run a call belongs to.

use compact_str::CompactString;

use super::answer::{Answer, Heard, Opening, Ticket, Verdict};
use super::request::Request;
use crate::dialect::Decoded;
use crate::event::{Kind, RunEnd, RunStart, RunStatus};
use crate::ids::{ConversationId, RunId};

/// Headers in which clients name their session, in small letters; the first that is there counts.
pub const SESSION_HEADERS: [&str; 5] =
    ["x-claude-code-session-id", "session_id", "session-id", "x-session-id", "x-session-affinity"];

/// What is known of a call beside its request.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// The name of the upstream; new conversations are named after it.
    pub upstream: &'a str,
    /// A fingerprint of the caller's key, never the key: calls with different ones are never joined by what they say.
    pub caller: u64,
    /// The conversation, when a header or the path names it. It wins over all else.
    pub conversation: Option<ConversationId>,
    /// What a header of [`SESSION_HEADERS`] says.
    pub session: Option<&'a str>,
    /// How many attempts came before this one, as the client counts them (`x-stainless-retry-count`).
    pub attempts_before: Option<u32>,
    /// What called this agent, when a header says so (`Fanlight-Parent`).
    pub parent: Option<&'a str>,
    /// A name that no other call has, ever; ids of runs, parts and messages are made of it.
    pub name: &'a str,
    /// When the request was there, in milliseconds since 1970.
    pub at: u64,
}

/// Where a call belongs.
#[derive(Debug)]
pub struct Placement {
    /// The conversation.
    pub conversation: ConversationId,
    /// The run.
    pub run: RunId,
    /// Why there.
    pub why: Why,
    /// The call makes a conversation that the joiner did not know before.
    pub is_new: bool,
    /// What it branches off from.
    pub fork_of: Option<Fork>,
    /// The number of this attempt at the same request, from 1.
    pub attempt: u32,
    /// What is to be appended to the conversation before anything of the answer.
    pub events: Decoded,
    /// Reads the answer.
    pub answer: Answer,
}

/// Why a call belongs where it was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It continues nothing that is known: a new loop (in a new conversation, unless that was named).
    New,
    /// It names the answer that it continues.
    Previous,
    /// It brings the results of calls that were waited for.
    Awaited,
    /// Its history is what was said before.
    History,
    /// The end of its history is what was said last.
    Tail,
    /// It is the same request once more.
    Retry,
    /// Its history is that of another conversation up to a point that this went past.
    Fork,
}

/// Where a conversation branches off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The conversation that it branches off from.
    pub conversation: ConversationId,
    /// The run after which it does.
    pub run: RunId,
    /// How many messages both have in common.
    pub messages: u64,
}

/// Events for a conversation.
#[derive(Debug)]
pub struct Placed {
    /// The conversation.
    pub conversation: ConversationId,
    /// The run that they are about.
    pub run: RunId,
    /// The run goes on without a word: its caller executes tools. Whoever watches over publishers that were lost must
    /// leave it alone until [`Joiner`] says otherwise.
    pub waits: bool,
    /// What is to be appended.
    pub events: Decoded,
}

/// Puts calls into conversations and runs. What it remembers is bounded; what it forgets costs nothing but that a loop
/// goes on in a new conversation.
#[derive(Debug, Default)]
pub struct Joiner {
    calls: u64,
}

impl Joiner {
    /// Where `call`, which asks `request`, belongs. Every placement's answer must come back through
    /// [`Joiner::heard`].
    pub fn place(&mut self, call: &Call<'_>, request: &Request) -> Placement {
        self.calls = self.calls.saturating_add(1);
        let name = conversation_name(call.upstream, call.name);
        let conversation = call.conversation.clone().or_else(|| ConversationId::parse(&name).ok());
        let conversation = conversation.unwrap_or_else(|| ConversationId::parse("proxy").expect("a name"));
        let run = RunId::new(call.name);
        let answer = Answer::new(Opening {
            api: request.api,
            conversation: conversation.clone(),
            run: run.clone(),
            ticket: Ticket { agent_loop: self.calls, call: self.calls },
            model: request.model.clone(),
            name: call.name.into(),
            used: std::collections::BTreeSet::new(),
            words: super::turns::Words::default(),
        });
        let mut events = Decoded::default();
        let start = RunStart {
            model: request.model.clone(),
            dialect: Some(request.api.dialect().into()),
            ..RunStart::default()
        };
        events.push(&run, Kind::RunStart(start));
        Placement {
            conversation,
            run,
            why: Why::New,
            is_new: true,
            fork_of: None,
            attempt: 1,
            events,
            answer,
        }
    }

    /// An answer is over, at `at`: ends its run, or says that its calls are executed now.
    pub fn heard(&mut self, heard: Heard, at: u64) -> Placed {
        let _ = at;
        let status = match heard.verdict {
            Verdict::GoesOn => RunStatus::Complete,
            Verdict::Ends(status) => status,
        };
        let mut events = Decoded::default();
        events.push(&heard.run, Kind::RunEnd(RunEnd { status, ..RunEnd::default() }));
        Placed { conversation: heard.conversation, run: heard.run, waits: false, events }
    }

    /// Gives up runs whose results did not come in time, and forgets what is old. Call it about once a second.
    pub fn tick(&mut self, now: u64) -> Vec<Placed> {
        let _ = now;
        Vec::new()
    }

    /// The hub stops: what still waits for results is interrupted.
    pub fn close(&mut self) -> Vec<Placed> {
        Vec::new()
    }

    /// Conversations whose runs wait for results, for figures and tests.
    pub fn waiting(&self) -> usize {
        0
    }
}

/// A name for a new conversation.
pub(super) fn conversation_name(upstream: &str, name: &str) -> CompactString {
    compact_str::format_compact!("{upstream}-{name}")
}
