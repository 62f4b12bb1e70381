//! What a button says for a while of what became of a click. The time of one word does not end the next.

/// The word, and how many there were.
#[derive(Debug, Default)]
pub struct Words {
    now: Option<&'static str>,
    number: u32,
}

impl Words {
    /// What is said now.
    pub fn now(&self) -> Option<&'static str> {
        self.now
    }

    /// Says `words`; their number.
    pub fn say(&mut self, words: &'static str) -> u32 {
        self.now = Some(words);
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// The time of the words with this number is over.
    pub fn end(&mut self, number: u32) {
        if number == self.number {
            self.now = None;
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests of words that follow each other.

    use super::*;

    #[test]
    fn what_is_said_last_stays_for_its_own_time() {
        let mut words = Words::default();
        let loading = words.say("Loading…");
        let copied = words.say("Copied");
        words.end(loading);
        assert_eq!(words.now(), Some("Copied"));
        words.end(copied);
        assert_eq!(words.now(), None);
    }
}
