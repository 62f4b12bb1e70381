//! The result of a click that a button shows for a while. The timer of one text does not end the next.

/// The text that is shown now, and how many there were. It belongs to one button.
#[derive(Debug, Default)]
pub struct FeedbackText {
    /// The text; `None` while the button shows its label.
    now: Option<&'static str>,
    /// How many texts there were, which is the number of the newest.
    number: u32,
}

impl FeedbackText {
    /// The text that is shown now.
    pub fn now(&self) -> Option<&'static str> {
        self.now
    }

    /// Shows a text. Returns its number for [`end`](Self::end).
    pub fn say(&mut self, words: &'static str) -> u32 {
        self.now = Some(words);
        self.number = self.number.wrapping_add(1);
        self.number
    }

    /// Ends the text with this number; has no effect if another one is shown.
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
        let mut words = FeedbackText::default();
        let loading = words.say("Loading…");
        let copied = words.say("Copied");
        words.end(loading);
        assert_eq!(words.now(), Some("Copied"));
        words.end(copied);
        assert_eq!(words.now(), None);
    }
}
