//! What a role hides: a projection of events, views and rows that takes contents out and leaves what happened. Its neighbour is the
//! lens: that is what a viewer asks for, this is what a viewer may not have, whatever it asks for.
//!
//! # The laws
//! * **Nothing hidden is told.** Two histories that differ in hidden contents alone look the same through the mask, byte for byte:
//!   events, joined or not, snapshots, rows. What differs no further than that: how many bytes the hub holds back, and so whether
//!   somebody who is behind gets events or a snapshot.
//! * **It is a view like any other.** Folding what passes gives the masked view, as for lenses, so who sees less is cut and resumed
//!   like everybody. Where a call is named only after its arguments came, those stay hidden until the next snapshot.
//!
//! Events keep their numbers, kinds and times. What cannot be told apart is left out for every role: raw events, events of the agent's
//! own, and what was odd, since they may hold anything. A call of which no name is known counts as one of a hidden tool.

use std::sync::Arc;

use compact_str::CompactString;

use crate::event::PartKind;
use crate::frame::ConversationRow;
use crate::lens::{Kinds, Lens};
use crate::view::{MessageView, PartView, ToolView, View};
use crate::wildcard;

mod contents;
mod states;

/// Most patterns of tools in one role.
pub const MASK_TOOLS_MAX: usize = 64;

/// Most bytes of one pattern of tools.
pub const MASK_PATTERN_BYTES_MAX: usize = 200;

/// Who may speak in a message (its field `role`, which has nothing to do with the roles of access) without being a tool.
const SPEAKERS: [&str; 4] = ["user", "assistant", "system", "developer"];

/// What of a conversation can be hidden everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hideable {
    /// What models think: texts, signatures, lengths and hashes.
    Thinking,
    /// The arguments of calls, what people are asked about calls, and the tasks of sub-agents.
    Arguments,
    /// What calls print, report and give back, with files and embeds.
    Results,
    /// Tokens and costs.
    Costs,
    /// Who published, commanded and watches, and on which machine an agent runs, which often bears the name of its owner.
    Users,
}

impl Hideable {
    /// All that can be hidden.
    pub const ALL: [Self; 5] = [Self::Thinking, Self::Arguments, Self::Results, Self::Costs, Self::Users];

    /// The word for it in settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::Arguments => "arguments",
            Self::Results => "results",
            Self::Costs => "costs",
            Self::Users => "users",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Thinking => 1,
            Self::Arguments => 2,
            Self::Results => 4,
            Self::Costs => 8,
            Self::Users => 16,
        }
    }
}

/// What one role hides. Two are the same when they hide the same under the same name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mask {
    name: CompactString,
    /// The set of what is hidden: one bit for each [`Hideable`].
    hidden: u8,
    /// Patterns of the names of tools whose arguments and results are hidden.
    tools: Vec<CompactString>,
}

/// Why something is no mask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MaskError {
    /// A word that names nothing that can be hidden.
    #[error("{0:?} cannot be hidden; there are {words}", words = Hideable::ALL.map(Hideable::word).join(", "))]
    UnknownWord(String),
    /// The mask would hide nothing.
    #[error("it hides nothing: say what in `hide`, or of which tools in `hide_tools`")]
    Nothing,
    /// The mask has too many patterns of tools; the value is their number.
    #[error("it has {0} patterns of tools, the limit is {MASK_TOOLS_MAX}")]
    Patterns(usize),
    /// A pattern that fits nothing, or that is too long.
    #[error("{0:?} is not a pattern of tools: 1 to {MASK_PATTERN_BYTES_MAX} bytes")]
    Pattern(String),
}

impl Mask {
    /// What the role `name` hides: what `words` name, everywhere, and the arguments and results of calls of tools whose names fit one of
    /// `tools`, where `*` stands for any characters.
    pub fn new<'a>(
        name: &str,
        words: impl IntoIterator<Item = &'a str>,
        tools: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, MaskError> {
        let short = |text: &str| text.chars().take(40).collect::<String>();
        let mut hidden = 0;
        for word in words {
            let known = Hideable::ALL.into_iter().find(|it| it.word() == word);
            hidden |= known.ok_or_else(|| MaskError::UnknownWord(short(word)))?.bit();
        }
        let tools: Vec<CompactString> = tools.into_iter().map(CompactString::from).collect();
        if hidden == 0 && tools.is_empty() {
            return Err(MaskError::Nothing);
        }
        if tools.len() > MASK_TOOLS_MAX {
            return Err(MaskError::Patterns(tools.len()));
        }
        let is_bad = |tool: &&CompactString| tool.is_empty() || tool.len() > MASK_PATTERN_BYTES_MAX;
        if let Some(bad) = tools.iter().find(is_bad) {
            return Err(MaskError::Pattern(short(bad)));
        }
        Ok(Self { name: name.into(), hidden, tools })
    }

    /// The name of the role.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether that is hidden everywhere.
    pub fn hides(&self, what: Hideable) -> bool {
        self.hidden & what.bit() != 0
    }

    /// The words for what is hidden everywhere.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        Hideable::ALL.into_iter().filter(|what| self.hides(*what)).map(Hideable::word)
    }

    /// The patterns of hidden tools.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(CompactString::as_str)
    }

    /// Whether some arguments are hidden: then nobody may consent to calls, or copy a conversation.
    pub fn hides_some_arguments(&self) -> bool {
        self.hides(Hideable::Arguments) || !self.tools.is_empty()
    }

    /// Whether what was given to calls of the tool `name` is hidden.
    pub fn hides_arguments_of(&self, name: &str) -> bool {
        self.hides(Hideable::Arguments) || self.hides_tool(name)
    }

    /// Whether what calls of the tool `name` gave back is hidden.
    pub fn hides_results_of(&self, name: &str) -> bool {
        self.hides(Hideable::Results) || self.hides_tool(name)
    }

    /// Whether all that calls of the tool `name` say is hidden by its name. A call without one may be any.
    pub fn hides_tool(&self, name: &str) -> bool {
        !self.tools.is_empty()
            && (name.is_empty() || self.tools.iter().any(|pattern| wildcard::matches(pattern, name)))
    }

    /// Whether the text of a message is hidden whose field `role` says that `speaker` wrote it: histories tell results of tools as messages.
    pub fn hides_message_of(&self, speaker: &str) -> bool {
        let hides_results = self.hides(Hideable::Results) || self.hides_some_arguments();
        hides_results && !SPEAKERS.contains(&speaker)
    }

    /// `asked`, without the kinds of events that no role sees.
    #[must_use]
    pub fn narrowed(&self, asked: &Lens) -> Lens {
        let all = Kinds::all().without(&["custom", "raw", "anomaly"]);
        let all = if self.hides(Hideable::Costs) { all.without(&["rate"]) } else { all };
        Lens { kinds: Some(asked.kinds.map_or(all, |kinds| kinds.and(all))), ..asked.clone() }
    }

    /// `row` as a principal of this role gets it: without the number of anomalies, and without what was used where costs are hidden.
    #[must_use]
    pub fn row(&self, row: ConversationRow) -> ConversationRow {
        let hides_writing =
            self.hides(Hideable::Thinking) || self.hides_some_arguments() || self.hides(Hideable::Costs);
        // All columns, without `..`: a new one does not compile until somebody has decided here which roles see it.
        ConversationRow {
            // No role: how much was odd depends on contents, such as arguments that are no JSON and results over the limit.
            anomalies: 0,
            // Roles that see users: the name of a machine often is that of its owner.
            host: row.host.filter(|_| !self.hides(Hideable::Users)),
            // Roles that see costs.
            usage: row.usage.filter(|_| !self.hides(Hideable::Costs)),
            // Roles that see all that a model writes, and costs: nor is the size of hidden contents told.
            written: if hides_writing { 0 } else { row.written },
            // Every role.
            conversation: row.conversation,
            title: row.title,
            forked_from: row.forked_from,
            state: row.state,
            stalled: row.stalled,
            activity: row.activity,
            reason: row.reason,
            epoch: row.epoch,
            head: row.head,
            started_at: row.started_at,
            ended_at: row.ended_at,
            at: row.at,
            runs: row.runs,
            tools: row.tools,
            failed: row.failed,
            approvals: row.approvals,
            agents: row.agents,
            viewers: row.viewers,
            call: row.call,
            more_calls: row.more_calls,
            asks: row.asks,
            model: row.model,
            agent: row.agent,
            said: row.said,
            answer: row.answer,
            used: row.used,
            pinned: row.pinned,
            archived: row.archived,
            tags: row.tags,
            good: row.good,
            bad: row.bad,
        }
    }

    /// `view` as it is told to who asked for all of it.
    #[must_use]
    pub fn view(&self, view: &View) -> View {
        let mut view = self.narrowed(&Lens::default()).project(view);
        self.hide_in(&mut view);
        view
    }

    /// Whether the result of that hash may be given away: some call of `view` gave it back and is not hidden.
    pub fn shows_result(&self, view: &View, hash: &str) -> bool {
        let has_it =
            |message: &&MessageView| message.files.iter().any(|file| file.hash.as_deref() == Some(hash));
        let mut messages = view.messages.values().filter(has_it);
        if messages.any(|message| !self.hides_message_of(&message.role)) {
            return true;
        }
        let mut tools = view.runs.values().flat_map(|run| run.tools.values());
        let is_it = |tool: &ToolView| tool.result_ref.as_ref().is_some_and(|it| it.hash == hash);
        tools.any(|tool| is_it(tool) && !self.hides_results_of(&tool.name))
    }

    pub(crate) fn hides_part(&self, part: Option<&PartView>) -> bool {
        // A part that is not kept may be of any kind.
        self.hides(Hideable::Thinking) && part.is_none_or(|part| part.kind == PartKind::Thinking)
    }
}

/// The mask of a role, shared by all who have it.
pub type SharedMask = Arc<Mask>;

#[cfg(test)]
mod tests;
