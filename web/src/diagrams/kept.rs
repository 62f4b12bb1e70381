//! What the frame answered, by the source that it was asked about. A text that is built anew shows its diagrams at once, without another drawing.

use std::collections::VecDeque;
use std::rc::Rc;

use super::Drawing;

/// The most answers that are kept. Those used longest ago go first, here and in [`KEPT_BYTES_MAX`].
pub const KEPT_MAX: usize = 100;

/// The most bytes of drawings and sources that are kept.
pub const KEPT_BYTES_MAX: usize = 4 << 20;

/// What came of a source: its drawing, or why there is none, in a line.
pub type Outcome = Result<Rc<Drawing>, Rc<str>>;

/// The newest answers. The page has one, and it lasts as long as the page.
#[derive(Debug, Default)]
pub struct KeptDrawings {
    /// Sources and what came of them, the one used longest ago first.
    kept: VecDeque<(String, Outcome)>,
    /// The bytes of all of them.
    bytes: usize,
}

impl KeptDrawings {
    /// Makes a store that keeps no drawing yet.
    pub const fn new() -> Self {
        Self { kept: VecDeque::new(), bytes: 0 }
    }

    /// What came of `source` before; `None` if nobody asked or it is not kept any more.
    pub fn get(&mut self, source: &str) -> Option<Outcome> {
        let at = self.kept.iter().position(|(known, _)| known == source)?;
        let found = self.kept.remove(at)?;
        let outcome = found.1.clone();
        self.kept.push_back(found);
        Some(outcome)
    }

    /// Keeps what came of `source`. An answer that is larger than [`KEPT_BYTES_MAX`] by itself is not kept.
    pub fn keep(&mut self, source: String, outcome: Outcome) {
        if let Some(at) = self.kept.iter().position(|(known, _)| *known == source) {
            self.remove(at);
        }
        self.bytes += bytes_of(&source, &outcome);
        self.kept.push_back((source, outcome));
        while self.kept.len() > KEPT_MAX || self.bytes > KEPT_BYTES_MAX {
            self.remove(0);
        }
    }

    /// Forgets what came of `source`, so that it is drawn again.
    pub fn forget(&mut self, source: &str) {
        if let Some(at) = self.kept.iter().position(|(known, _)| *known == source) {
            self.remove(at);
        }
    }

    /// Forgets the answer at an index.
    fn remove(&mut self, at: usize) {
        if let Some((source, outcome)) = self.kept.remove(at) {
            self.bytes = self.bytes.saturating_sub(bytes_of(&source, &outcome));
        }
    }
}

/// The bytes that count for one answer.
fn bytes_of(source: &str, outcome: &Outcome) -> usize {
    let of_outcome = match outcome {
        Ok(drawing) => drawing.light.len() + drawing.dark.len() + drawing.words.len(),
        Err(why) => why.len(),
    };
    source.len() + of_outcome
}

#[cfg(test)]
mod tests {
    //! What is kept, and for how long.

    use super::*;

    fn drawing(bytes: usize) -> Rc<Drawing> {
        let light = "x".repeat(bytes);
        Rc::new(Drawing { light, dark: String::new(), width: 1, height: 1, words: String::new() })
    }

    #[test]
    fn an_answer_is_kept_for_its_source_alone() {
        let mut kept = KeptDrawings::new();
        kept.keep("a".into(), Ok(drawing(3)));
        kept.keep("b".into(), Err("no".into()));
        assert_eq!(kept.get("a"), Some(Ok(drawing(3))));
        assert_eq!(kept.get("b"), Some(Err("no".into())));
        assert_eq!(kept.get("a "), None);
        kept.keep("a".into(), Ok(drawing(5)));
        assert_eq!((kept.get("a"), kept.bytes), (Some(Ok(drawing(5))), 1 + 5 + 1 + 2));
        kept.forget("b");
        kept.forget("c");
        assert_eq!((kept.get("b"), kept.bytes), (None, 1 + 5));
    }

    #[test]
    fn the_answers_used_longest_ago_go_beyond_each_bound() {
        let mut kept = KeptDrawings::new();
        for at in 0..KEPT_MAX {
            kept.keep(at.to_string(), Ok(drawing(1)));
        }
        // It is used, so the one after it is older.
        assert!(kept.get("0").is_some());
        kept.keep("more".into(), Ok(drawing(1)));
        assert!(kept.get("0").is_some() && kept.get("1").is_none() && kept.get("2").is_some());
        assert_eq!(kept.kept.len(), KEPT_MAX);
        // `m` and its bytes are just as many as there may be.
        kept.keep("m".into(), Ok(drawing(KEPT_BYTES_MAX - 1)));
        assert_eq!((kept.kept.len(), kept.bytes), (1, KEPT_BYTES_MAX));
        kept.keep("n".into(), Ok(drawing(KEPT_BYTES_MAX)));
        assert_eq!((kept.kept.len(), kept.bytes), (0, 0));
    }
}
