//! What is unfolded: one level for the whole page, and the reader's own choices, which nothing changes
//! automatically.

use std::collections::BTreeMap;

/// The level of detail in which runs are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Only the answer of a run.
    Answer,
    /// Each step in a line.
    #[default]
    Steps,
    /// Each step with its content.
    All,
}

impl Level {
    /// All levels of detail, in order.
    pub const ALL: [Self; 3] = [Self::Answer, Self::Steps, Self::All];

    /// The label on the page, also the stored value.
    pub fn word(self) -> &'static str {
        match self {
            Self::Answer => "Answer",
            Self::Steps => "Steps",
            Self::All => "All",
        }
    }

    /// The level with this label.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }
}

/// When the steps of a run fold by themselves; a setting of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepsChoice {
    /// Depending on the dialect, see `FOLDING_DIALECTS`.
    #[default]
    ByDialect,
    /// The steps never fold.
    Open,
    /// The steps fold when the answer begins.
    Folded,
}

/// The dialects whose own programs fold the steps once the answer begins.
const FOLDING_DIALECTS: [&str; 1] = ["deep-agent"];

impl StepsChoice {
    /// All choices, each with the stored value and the label.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::ByDialect, "dialect", "By dialect"),
        (Self::Open, "open", "Stay open"),
        (Self::Folded, "folded", "Fold when the answer starts"),
    ];

    /// The choice with this stored value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, name, _)| *name == value).map(|(choice, _, _)| choice)
    }

    /// Whether the steps of a run in `dialect` fold once the answer begins.
    pub fn folds(self, dialect: Option<&str>) -> bool {
        match self {
            Self::ByDialect => dialect.is_some_and(|dialect| FOLDING_DIALECTS.contains(&dialect)),
            Self::Open => false,
            Self::Folded => true,
        }
    }
}

/// A thing that can be folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// The steps of a run.
    Steps {
        /// Whether there is an answer for which the steps fold; see [`StepsChoice`].
        answered: bool,
    },
    /// A section with thinking.
    Thinking {
        /// Whether it still grows.
        streaming: bool,
    },
    /// The card of a tool call.
    Card {
        /// Whether it failed as the newest step.
        failed: bool,
    },
    /// A message or a note.
    Line,
    /// The steps of a sub-agent.
    Agent,
}

impl Fold {
    /// Whether it is unfolded if the reader has made no choice.
    pub fn is_open(self, level: Level) -> bool {
        match self {
            Self::Steps { answered } => level == Level::All || (!answered && level == Level::Steps),
            Self::Thinking { streaming } => level == Level::All || (streaming && level == Level::Steps),
            Self::Card { failed } => level == Level::All || (failed && level == Level::Steps),
            Self::Line | Self::Agent => level == Level::All,
        }
    }
}

/// The reader's choices. They are kept until the reader chooses another level.
#[derive(Debug, Default)]
pub struct Choices {
    level: Level,
    /// The level to which [`toggle_level`](Self::toggle_level) returns.
    before: Level,
    /// Whether things are unfolded, by key.
    chosen: BTreeMap<String, bool>,
}

impl Choices {
    /// No choices yet, at `level`.
    pub fn at(level: Level) -> Self {
        let before = if level == Level::Answer { Level::Steps } else { level };
        Self { level, before, chosen: BTreeMap::new() }
    }

    /// The current level of detail.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Changes the level and forgets all choices.
    pub fn choose_level(&mut self, level: Level) {
        if level != Level::Answer {
            self.before = level;
        }
        self.level = level;
        self.chosen.clear();
    }

    /// Changes between the answers alone and the previous level. Returns the new level.
    pub fn toggle_level(&mut self) -> Level {
        let next = if self.level == Level::Answer { self.before } else { Level::Answer };
        self.choose_level(next);
        next
    }

    /// Whether the thing `key` is unfolded.
    pub fn is_open(&self, key: &str, fold: Fold) -> bool {
        self.chosen.get(key).copied().unwrap_or_else(|| fold.is_open(self.level))
    }

    /// Stores the reader's choice for `key`.
    pub fn set(&mut self, key: &str, open: bool) {
        self.chosen.insert(key.to_owned(), open);
    }

    /// Whether the reader has made a choice for `key`.
    pub fn has(&self, key: &str) -> bool {
        self.chosen.contains_key(key)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the one rule: the reader wins.

    use super::*;

    #[test]
    fn a_choice_outlives_every_automation_until_the_level_is_chosen_again() {
        let mut choices = Choices::at(Level::Steps);
        let thinking = |streaming| Fold::Thinking { streaming };
        assert!(choices.is_open("p", thinking(true)) && !choices.is_open("p", thinking(false)));
        choices.set("p", false);
        assert!(!choices.is_open("p", thinking(true)));
        choices.choose_level(Level::All);
        assert!(choices.is_open("p", thinking(false)) && choices.is_open("t", Fold::Line));
    }

    #[test]
    fn a_failure_shows_what_failed_unless_the_reader_closed_it() {
        let mut choices = Choices::at(Level::Steps);
        let card = |failed| Fold::Card { failed };
        assert!(choices.is_open("t", card(true)) && !choices.is_open("t", card(false)));
        choices.set("t", false);
        assert!(!choices.is_open("t", card(true)));
        choices.choose_level(Level::Answer);
        assert!(!choices.is_open("t", card(true)));
    }

    #[test]
    fn one_key_goes_to_the_answer_and_back() {
        let mut choices = Choices::at(Level::All);
        assert_eq!(choices.toggle_level(), Level::Answer);
        assert!(!choices.is_open("r", Fold::Steps { answered: false }));
        assert_eq!(choices.toggle_level(), Level::All);
        assert_eq!(Choices::at(Level::Answer).toggle_level(), Level::Steps);
        assert_eq!(Level::parse("Steps"), Some(Level::Steps));
    }

    #[test]
    fn steps_fold_once_the_answer_starts_where_that_is_wanted_and_the_reader_said_nothing() {
        let steps = |answered| Fold::Steps { answered };
        let mut choices = Choices::at(Level::Steps);
        assert!(choices.is_open("r", steps(false)) && !choices.is_open("r", steps(true)));
        choices.set("r", true);
        assert!(choices.is_open("r", steps(true)), "the reader opened them");
        choices.choose_level(Level::All);
        assert!(choices.is_open("r", steps(true)), "everything was asked for");
        assert!(StepsChoice::ByDialect.folds(Some("deep-agent")));
        assert!(!StepsChoice::ByDialect.folds(Some("anthropic")) && !StepsChoice::ByDialect.folds(None));
        assert!(!StepsChoice::Open.folds(Some("deep-agent")) && StepsChoice::Folded.folds(None));
        assert_eq!(StepsChoice::parse("folded"), Some(StepsChoice::Folded));
    }
}
