//! What is open and what is folded away: one level for the whole page, and the reader's own choices, which no automation
//! ever undoes.

use std::collections::BTreeMap;

/// How much of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Only the answer.
    Answer,
    /// Each step in one line.
    #[default]
    Steps,
    /// Every step with its content.
    All,
}

impl Level {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::Answer, Self::Steps, Self::All];

    /// The word on the page and in the reader's settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::Answer => "Answer",
            Self::Steps => "Steps",
            Self::All => "All",
        }
    }

    /// The level with that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }
}

/// When the steps of a run fold away by themselves; the reader's setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StepsChoice {
    /// As programs for that dialect do it: see `FOLDING_DIALECTS`.
    #[default]
    ByDialect,
    /// Never.
    Open,
    /// Once the answer starts.
    Folded,
}

/// Dialects whose own programs show the steps while the agent works and fold them away once its answer starts.
const FOLDING_DIALECTS: [&str; 1] = ["deep-agent"];

impl StepsChoice {
    /// All, with the value in the reader's settings and the words on the page.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::ByDialect, "dialect", "By dialect"),
        (Self::Open, "open", "Stay open"),
        (Self::Folded, "folded", "Fold when the answer starts"),
    ];

    /// The choice with that value.
    pub fn parse(value: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, name, _)| *name == value).map(|(choice, _, _)| choice)
    }

    /// Whether the steps of a run in `dialect` fold away once its answer starts.
    pub fn folds(self, dialect: Option<&str>) -> bool {
        match self {
            Self::ByDialect => dialect.is_some_and(|dialect| FOLDING_DIALECTS.contains(&dialect)),
            Self::Open => false,
            Self::Folded => true,
        }
    }
}

/// Something that opens and closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// All steps of a run.
    Steps {
        /// Whether the answer is there and shall stand alone; see [`StepsChoice`].
        answered: bool,
    },
    /// A thinking section.
    Thinking {
        /// Whether it still grows.
        streaming: bool,
    },
    /// A tool call.
    Card {
        /// Whether it failed and is the newest there is.
        failed: bool,
    },
    /// A message or a note.
    Line,
    /// The steps of a sub-agent.
    Agent,
}

impl Fold {
    /// Whether it is open when the reader has said nothing.
    pub fn is_open(self, level: Level) -> bool {
        match self {
            Self::Steps { answered } => level == Level::All || (!answered && level == Level::Steps),
            Self::Thinking { streaming } => level == Level::All || (streaming && level == Level::Steps),
            Self::Card { failed } => level == Level::All || (failed && level == Level::Steps),
            Self::Line | Self::Agent => level == Level::All,
        }
    }
}

/// The reader's choices. They stand until the reader chooses another level.
#[derive(Debug, Default)]
pub struct Choices {
    level: Level,
    /// The level that the one key of "all or nothing" goes back to.
    before: Level,
    chosen: BTreeMap<String, bool>,
}

impl Choices {
    /// Starts at `level`.
    pub fn at(level: Level) -> Self {
        let before = if level == Level::Answer { Level::Steps } else { level };
        Self { level, before, chosen: BTreeMap::new() }
    }

    /// The level of detail that is shown.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Goes to a level; the choices for single things end with it.
    pub fn choose_level(&mut self, level: Level) {
        if level != Level::Answer {
            self.before = level;
        }
        self.level = level;
        self.chosen.clear();
    }

    /// Between the answer alone and the level that was there before.
    pub fn toggle_level(&mut self) -> Level {
        let next = if self.level == Level::Answer { self.before } else { Level::Answer };
        self.choose_level(next);
        next
    }

    /// Whether `key` is open.
    pub fn is_open(&self, key: &str, fold: Fold) -> bool {
        self.chosen.get(key).copied().unwrap_or_else(|| fold.is_open(self.level))
    }

    /// Sets whether `key` is open.
    pub fn set(&mut self, key: &str, open: bool) {
        self.chosen.insert(key.to_owned(), open);
    }

    /// The reader said something about `key`.
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
