//! A request in the form in which it is compared.

use std::hash::Hasher as _;

use compact_str::CompactString;

use super::memory::LatestRequest;
use super::outputs::OutputContract;
use crate::request::{MessagePiece, ModelRequest};
use crate::turns::{ComparedTurn, ComparedWords, TurnSide, after, turns};
use model::print::Fingerprint;

/// What a request says, as far as it helps to find where it belongs. To make it takes as long as its history is; to place
/// it does not.
#[derive(Debug)]
pub struct RequestDigest {
    pub(super) turns: Vec<ComparedTurn>,
    /// What was said before each turn, and with the last.
    prefixes: Vec<u64>,
    pub(super) prints: Vec<u64>,
    pub(super) system: u64,
    pub(super) tools: u64,
    /// The body, to the byte; nothing when it was not read.
    pub(super) body: Option<u64>,
    /// How many turns were said before those of the request.
    base_turns: usize,
    /// The first turn after the model's last.
    pub(super) news: usize,
}

impl RequestDigest {
    /// `request`, as if nothing was said before it.
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

    /// The tools whose results the history has, with no word of the user right behind them: with one, a result may stand
    /// there for the sake of the form alone.
    pub(super) fn executed(&self) -> impl Iterator<Item = &CompactString> {
        let is_executed = |at: usize| {
            let side = |at: usize| self.turns.get(at).map(|turn| turn.side);
            side(at.saturating_add(1)) == Some(TurnSide::Results)
                && side(at.saturating_add(2)) != Some(TurnSide::User)
        };
        let turns = self.turns.iter().enumerate().filter(move |(at, _)| is_executed(*at));
        turns.flat_map(|(_, turn)| turn.words.calls.iter().map(|call| &call.name))
    }

    /// Before it `base` was said, in `base_turns` turns.
    pub(super) fn go_on_from(&mut self, base: u64, base_turns: usize) {
        self.base_turns = base_turns;
        self.prefixes = vec![base];
        let mut said = base;
        for print in &self.prints {
            said = after(said, *print);
            self.prefixes.push(said);
        }
    }

    /// What is to be remembered of it while it is answered; the turns from `from` on are told with it.
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

    /// What was said up to the turn `at`.
    pub(super) fn prefix(&self, at: usize) -> Option<u64> {
        self.prefixes.get(at).copied()
    }

    /// What all of it says.
    pub(super) fn whole(&self) -> u64 {
        self.prefixes.last().copied().unwrap_or_default()
    }

    /// What the answer comes after, and the words that the request puts into the model's mouth.
    pub(super) fn before_answer(&self) -> (u64, ComparedWords) {
        match self.turns.last() {
            Some(last) if last.side == TurnSide::Assistant => {
                let before = self.turns.len().saturating_sub(1);
                (self.prefix(before).unwrap_or_default(), last.words.clone())
            }
            _ => (self.whole(), ComparedWords::default()),
        }
    }

    /// The print of the turn that is answered.
    fn last_asked(&self) -> u64 {
        let last = self.turns.iter().rposition(|turn| turn.side != TurnSide::Assistant);
        last.and_then(|at| self.prints.get(at)).copied().unwrap_or_default()
    }

    /// Whether the model has spoken before.
    pub(super) fn has_answer(&self) -> bool {
        self.turns.iter().any(|turn| turn.side == TurnSide::Assistant)
    }

    /// The results from the turn `from` on: vendor's ids and names of the tools.
    pub(super) fn results<'a>(
        &'a self,
        request: &'a ModelRequest,
        from: usize,
    ) -> impl Iterator<Item = &'a MessagePiece> {
        let turns = self.turns.iter().skip(from).filter(|turn| turn.side == TurnSide::Results);
        turns.flat_map(|turn| &turn.pieces).filter_map(|place| piece(request, *place))
    }

    /// The ids of the results after the model's last turn, in one number.
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

/// The piece at `place`.
pub(super) fn piece(request: &ModelRequest, (message, at): (usize, usize)) -> Option<&MessagePiece> {
    request.messages.get(message)?.pieces.get(at)
}

/// The print of `text`.
pub(super) fn hash(text: &str) -> u64 {
    Fingerprint::of(&[text])
}
