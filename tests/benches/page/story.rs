//! What the models of the load say: the same for every page that is measured.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Prose, lists, a table and code, again and again.
const TEXT: &str = "## Revenue by region\n\nNet revenue rose **8.4 %** on the quarter. EMEA carried most of it; the Americas \
were flat in local currency. See [the report](https://example.com/q3) for `net` and *gross* figures. What follows is split by \
region, since the averages hide the movement in the south.\n\n| Region | Q2 | Q3 | Change |\n|---|--:|--:|--:|\n| EMEA | 41.2 M \
| 48.9 M | +18.7 % |\n| Americas | 63.0 M | 63.4 M | +0.6 % |\n| APAC | 22.8 M | 24.1 M | +5.7 % |\n\nThree things explain \
it. None of them is new, and two of them will not come again:\n\n1. `enterprise` renewals moved from the fourth quarter,\n2. the \
new price list, which was late in two countries,\n3. a weaker dollar.\n\n```python\ndef change(before, after):\n    \"\"\"In \
per cent.\"\"\"\n    if not before:\n        return None\n    return 100 * (after - before) / before\n\n\nfor region, (q2, q3) in \
table.items():\n    print(f\"{region:10} {change(q2, q3):+.1f} %\")\n```\n\nThe numbers above are rounded. Whoever needs them to \
the cent finds them in the ledger. Where the ledger and the report differ, the ledger is right, and the difference is named \
there.\n\n";

/// Between two marks.
const MARK_EVERY: Duration = Duration::from_millis(50);

/// A text without an end, a token at a time.
#[derive(Debug)]
pub(crate) struct Story {
    tokens: Vec<&'static str>,
    next: usize,
    marked: SystemTime,
}

impl Story {
    pub(crate) fn new() -> Self {
        let mut tokens = Vec::new();
        for word in TEXT.split_inclusive([' ', '\n']) {
            // About as models cut them: long words are several tokens.
            let mut rest = word;
            while rest.len() > 6 && rest.is_char_boundary(5) {
                let (token, other) = rest.split_at(5);
                tokens.push(token);
                rest = other;
            }
            tokens.push(rest);
        }
        Self { tokens, next: 0, marked: UNIX_EPOCH }
    }

    /// The next token. Now and then, where a sentence has ended, a mark with the time.
    pub(crate) fn token(&mut self) -> String {
        let token = self.tokens[self.next % self.tokens.len()];
        self.next += 1;
        let now = SystemTime::now();
        let due = now.duration_since(self.marked).is_ok_and(|since| since >= MARK_EVERY);
        if due && token.ends_with(". ") {
            self.marked = now;
            let ms = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
            return format!("{token}mk{ms}k ");
        }
        token.to_owned()
    }
}
