//! Patterns that readers type, matched by the page's second module.

use std::cell::Cell;
use std::ops::Range;

use crate::browser;
use crate::decoder::Decoder;
use crate::find::Matcher;

/// How long one look for a pattern may take on the texts of a conversation, in milliseconds: nothing else moves meanwhile.
const LOOK_MS_MAX: u64 = 400;

/// A regular expression; upper and lower case are the same, `^` and `$` are those of a line.
pub(crate) struct Pattern {
    decoder: Decoder,
    source: String,
    deadline: u64,
    is_cut: Cell<bool>,
}

impl Pattern {
    /// The pattern `source` for one look at a conversation; fails with what is wrong with it.
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
        // The module keeps one pattern, and another look may have put in another one.
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
