//! Patterns that readers type, matched by the decoder module.

use std::cell::Cell;
use std::ops::Range;

use crate::browser;
use crate::decoder::Decoder;
use crate::find::Matcher;

/// How long one search of a conversation for a pattern may take, in milliseconds; the page is blocked
/// meanwhile.
const LOOK_MS_MAX: u64 = 400;

/// A regular expression for one search. It ignores case, and `^` and `$` match at the ends of lines.
pub(crate) struct Pattern {
    decoder: Decoder,
    /// The source of the pattern.
    source: String,
    /// When the search must end, in milliseconds since 1970.
    deadline: u64,
    /// Whether it ended early.
    is_cut: Cell<bool>,
}

impl Pattern {
    /// Compiles `source` for one search that begins now. The error says what is wrong with it.
    pub(crate) fn new(decoder: Decoder, source: String) -> Result<Self, String> {
        let why = decoder.pattern(&source);
        if !why.is_empty() {
            return Err(why);
        }
        let deadline = browser::now_ms().saturating_add(LOOK_MS_MAX);
        Ok(Self { decoder, source, deadline, is_cut: Cell::new(false) })
    }
}

impl Matcher for Pattern {
    fn places(&self, text: &str) -> Vec<Range<usize>> {
        // The module holds one pattern, and another search may have replaced it.
        if browser::now_ms() > self.deadline || !self.decoder.pattern(&self.source).is_empty() {
            self.is_cut.set(true);
            return Vec::new();
        }
        let (is_whole, places) = self.decoder.places(text, self.deadline);
        if !is_whole {
            self.is_cut.set(true);
        }
        places
    }

    fn is_cut(&self) -> bool {
        self.is_cut.get()
    }
}
