//! A request in the form in which it is compared.

use std::hash::Hasher as _;

use compact_str::CompactString;

use super::memory::LatestRequest;
use super::outputs::OutputContract;
use crate::request::{MessagePiece, ModelRequest};
use crate::turns::{ComparedTurn, ComparedWords, TurnSide, after, turns};
use model::print::Fingerprint;

/// What a request says, as far as it helps to find where the request belongs. Making it takes time
/// proportional to the history; placing it does not.
#[derive(Debug)]
pub struct RequestDigest {
    pub(super) turns: Vec<ComparedTurn>,
    /// The hashes of what was said before each turn, and, last, of everything.
    prefixes: Vec<u64>,
    pub(super) prints: Vec<u64>,
    pub(super) system: u64,
    pub(super) tools: u64,
    /// The hash of the bytes of the body; nothing if the body could not be read.
    pub(super) body: Option<u64>,
    /// How many turns came before those of the request.
    base_turns: usize,
    /// The index of the first turn after the model's last.
    pub(super) news: usize,
}

impl RequestDigest {
    /// The digest of `request`, as if nothing was said before it.
    pub fn of(request: &ModelRequest) -> Self {
        let turns = turns(&request.messages);
        let prints: Vec<u64> = turns.iter().map(|turn| turn.words.print(turn.side)).collect();
        let news = turns.iter().rposition(|turn| turn.side == TurnSide::Assistant);
        let mut tools = Fingerprint::default();
        for tool in &request.tools {
            tools.write(tool.name.as_bytes());
            tools.write(tool.schema.as_ref().map_or("", model::Json::as_str).as_bytes());
        }
        let mut asked = Self {
            prefixes: Vec::new(),
            prints,
            system: hash(request.system.as_deref().unwrap_or_default()),
            tools: tools.finish(),
            body: request.is_read.then_some(request.print),
            news: news.map_or(0, |at| at.saturating_add(1)),
            base_turns: 0,
            turns,
        };
        asked.go_on_from(0, 0);
        asked
    }

    /// The tools whose results the history has and that no word of the user follows. Where one follows, a
    /// result may be there only because the API requires it.
    pub(super) fn executed(&self) -> impl Iterator<Item = &CompactString> {
        let is_executed = |at: usize| {
            let side = |at: usize| self.turns.get(at).map(|turn| turn.side);
            side(at.saturating_add(1)) == Some(TurnSide::Results)
                && side(at.saturating_add(2)) != Some(TurnSide::User)
        };
        let turns = self.turns.iter().enumerate().filter(move |(at, _)| is_executed(*at));
        turns.flat_map(|(_, turn)| turn.words.calls.iter().map(|call| &call.name))
    }

    /// Sets what was said before the request: its hash `base`, and the number of its turns.
    pub(super) fn go_on_from(&mut self, base: u64, base_turns: usize) {
        self.base_turns = base_turns;
        self.prefixes = vec![base];
        let mut said = base;
        for print in &self.prints {
            said = after(said, *print);
            self.prefixes.push(said);
        }
    }

    /// What is to be remembered of the request while it is answered. The turns from `from` on are published
    /// with it.
    pub(super) fn to_remember(&self, request: &ModelRequest, from: usize) -> LatestRequest {
        let prefilled = usize::from(self.turns.last().is_some_and(|last| last.side == TurnSide::Assistant));
        LatestRequest {
            before: self.before_answer().0,
            whole: self.whole(),
            turns: self.base_turns.saturating_add(self.turns.len().saturating_sub(prefilled)),
            last: self.last_asked(),
            body: self.body,
            ids: self.result_ids(request),
            outputs: OutputContract::of(request),
            told: self.prints.iter().skip(from).copied().collect(),
        }
    }

    /// The hash of what was said before the turn `at`.
    pub(super) fn prefix(&self, at: usize) -> Option<u64> {
        self.prefixes.get(at).copied()
    }

    /// The hash of all that the request says.
    pub(super) fn whole(&self) -> u64 {
        self.prefixes.last().copied().unwrap_or_default()
    }

    /// The hash of what was said before the answer, and the beginning of the answer that the request
    /// prescribes.
    pub(super) fn before_answer(&self) -> (u64, ComparedWords) {
        match self.turns.last() {
            Some(last) if last.side == TurnSide::Assistant => {
                let before = self.turns.len().saturating_sub(1);
                (self.prefix(before).unwrap_or_default(), last.words.clone())
            }
            _ => (self.whole(), ComparedWords::default()),
        }
    }

    /// The print of the turn that the model answers.
    fn last_asked(&self) -> u64 {
        let last = self.turns.iter().rposition(|turn| turn.side != TurnSide::Assistant);
        last.and_then(|at| self.prints.get(at)).copied().unwrap_or_default()
    }

    /// Whether the request contains a turn of the model.
    pub(super) fn has_answer(&self) -> bool {
        self.turns.iter().any(|turn| turn.side == TurnSide::Assistant)
    }

    /// The results in the turns from `from` on, with the vendor's ids and the names of the tools.
    pub(super) fn results<'a>(
        &'a self,
        request: &'a ModelRequest,
        from: usize,
    ) -> impl Iterator<Item = &'a MessagePiece> {
        let turns = self.turns.iter().skip(from).filter(|turn| turn.side == TurnSide::Results);
        turns.flat_map(|turn| &turn.pieces).filter_map(|place| piece(request, *place))
    }

    /// A hash of the ids of the results after the model's last turn.
    pub(super) fn result_ids(&self, request: &ModelRequest) -> u64 {
        let mut hasher = Fingerprint::default();
        for piece in self.results(request, self.news) {
            if let MessagePiece::Result { id, .. } | MessagePiece::Consent { id, .. } = piece {
                hasher.write(id.as_bytes());
                hasher.write_u8(0xff);
            }
        }
        hasher.finish()
    }
}

/// The piece of `request` at a place: the index of its message, and its index in the message.
pub(super) fn piece(request: &ModelRequest, (message, at): (usize, usize)) -> Option<&MessagePiece> {
    request.messages.get(message)?.pieces.get(at)
}

/// The hash of `text`.
pub(super) fn hash(text: &str) -> u64 {
    Fingerprint::of(&[text])
}
