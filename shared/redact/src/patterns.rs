//! Patterns of the operator's own. They are searched without backtracking, so that no text makes them slow; one that would take too
//! much memory is refused.

use std::sync::{Mutex, PoisonError};

use regex::{Regex, RegexBuilder};
use regex_automata::Anchored;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::start;

/// Most patterns that may be set.
pub const PATTERNS_MAX: usize = 64;

/// Most bytes of one pattern as it is written.
pub const PATTERN_BYTES_MAX: usize = 1_024;

/// Most bytes of memory that one pattern takes.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Bytes at the end of a text that goes on, in which the beginning of a match is looked for.
const WINDOW_BYTES: usize = 256;

/// A pattern that begins fewer bytes before the end of a text is not waited for: nearly everything begins with one that fits.
const BEGUN_BYTES_MIN: usize = 3;

/// Why a pattern is not taken.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// There are more than [`PATTERNS_MAX`].
    #[error("there are {0} patterns, and {PATTERNS_MAX} is the most")]
    TooMany(usize),
    /// The pattern is longer than [`PATTERN_BYTES_MAX`].
    #[error("pattern {number} has {bytes} bytes, and {PATTERN_BYTES_MAX} is the most")]
    TooLong {
        /// The number of the pattern, from 1.
        number: usize,
        /// The length of the pattern, in bytes.
        bytes: usize,
    },
    /// The pattern fits an empty text, and so every place of every text.
    #[error("pattern {number} ({pattern:?}) fits an empty text: say what must be there")]
    FitsNothing {
        /// The number of the pattern, from 1.
        number: usize,
        /// The text of the pattern.
        pattern: String,
    },
    /// The pattern is no regular expression, or one that takes too much memory.
    #[error("pattern {number} ({pattern:?}) cannot be used: {why}")]
    Bad {
        /// The number of the pattern, from 1.
        number: usize,
        /// The text of the pattern.
        pattern: String,
        /// What is wrong, in words.
        why: String,
    },
}

/// The patterns of an operator.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    all: Vec<Pattern>,
    /// Bytes at the end of a text in which the beginning of a match is looked for, and how many it has at least.
    window: usize,
    begun: usize,
}

#[derive(Debug)]
struct Pattern {
    regex: Regex,
    /// Says whether what stands at the end of a text can be the beginning of a match.
    dfa: DFA,
    cache: Mutex<Cache>,
}

impl Patterns {
    /// Reads them; a bad one is named by its number.
    pub(crate) fn parse(patterns: &[String]) -> Result<Self, PatternError> {
        if patterns.len() > PATTERNS_MAX {
            return Err(PatternError::TooMany(patterns.len()));
        }
        let all = patterns.iter().zip(1..).map(|(pattern, number)| Pattern::parse(pattern, number));
        Ok(Self { all: all.collect::<Result<_, _>>()?, window: WINDOW_BYTES, begun: BEGUN_BYTES_MIN })
    }

    /// One that finds any of `literals`, wherever a text is cut.
    pub(crate) fn literal(literals: &[String]) -> Result<Self, PatternError> {
        let any = literals.iter().map(|literal| regex::escape(literal)).collect::<Vec<_>>().join("|");
        let longest = literals.iter().map(String::len).max().unwrap_or_default();
        // Each byte may be an escape.
        Ok(Self { all: vec![Pattern::compile(&any, 1)?], window: longest * 8, begun: 1 })
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The first match in `text` from the byte `from` on, and the number of its pattern, from 0.
    pub(crate) fn find(&self, text: &str, from: usize) -> Option<(usize, usize, usize)> {
        let matches = self.all.iter().enumerate().filter_map(|(number, pattern)| {
            let found = pattern.regex.find_at(text, from)?;
            Some((found.start(), found.end(), number))
        });
        matches.min_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)))
    }

    /// Where a match can have begun that the end of `text` cuts, and the number of its pattern.
    pub(crate) fn open(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        let from = from.max(text.len().saturating_sub(self.window));
        (from..(text.len() + 1).saturating_sub(self.begun)).find_map(|at| {
            let number = self.all.iter().position(|pattern| pattern.can_go_on(text, at))?;
            Some((at, number))
        })
    }
}

impl Pattern {
    fn parse(pattern: &str, number: usize) -> Result<Self, PatternError> {
        let bytes = pattern.len();
        if bytes > PATTERN_BYTES_MAX {
            return Err(PatternError::TooLong { number, bytes });
        }
        Self::compile(pattern, number)
    }

    fn compile(pattern: &str, number: usize) -> Result<Self, PatternError> {
        let bad = |why: String| PatternError::Bad { number, pattern: pattern.to_owned(), why };
        let limit = COMPILED_BYTES_MAX;
        let regex = RegexBuilder::new(pattern).size_limit(limit).dfa_size_limit(limit).build();
        let regex = regex.map_err(|error| bad(error.to_string()))?;
        if regex.is_match("") {
            return Err(PatternError::FitsNothing { number, pattern: pattern.to_owned() });
        }
        let config =
            DFA::config().unicode_word_boundary(true).cache_capacity(limit).skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build(pattern).map_err(|error| bad(error.to_string()))?;
        let cache = Mutex::new(dfa.create_cache());
        Ok(Self { regex, dfa, cache })
    }

    /// Whether all of `text` from `at` on can be the beginning of a match.
    fn can_go_on(&self, text: &[u8], at: usize) -> bool {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let before = at.checked_sub(1).and_then(|before| text.get(before)).copied();
        let config = start::Config::new().anchored(Anchored::Yes).look_behind(before);
        let Ok(mut state) = self.dfa.start_state(&mut cache, &config) else { return true };
        for byte in text.get(at..).unwrap_or_default() {
            match self.dfa.next_state(&mut cache, state, *byte) {
                Ok(next) if next.is_dead() => return false,
                // It cannot say for what is no ASCII: then it is waited for.
                Ok(next) if next.is_quit() => return true,
                Ok(next) => state = next,
                Err(_full) => return true,
            }
        }
        true
    }
}
