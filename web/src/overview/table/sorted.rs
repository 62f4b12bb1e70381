//! The order of many rows, kept while some of them change: with 100,000 rows a sorting takes so long that a reader feels it, and a few
//! rows that moved need none.
//!
//! ```text
//! order   a c d f g …      the rows that changed, or for which time went on, are taken out
//! moved   b e              they alone are filtered and sorted, and each is put where a binary search finds its place
//! sums    ┌ 256 ┬ 256 ┬ …  kept for each block of rows; blocks in which nothing changed are not read
//! ```

use std::collections::BTreeSet;

use indexmap::IndexMap;
use model::ConversationId;
use model::frame::ConversationRow;

use super::{Keyed, RowSums, Wanted};

/// The rows of a table by their conversations. A row is known by its index as long as none was removed.
pub type Rows = IndexMap<ConversationId, ConversationRow>;

/// How many rows a block of sums has.
const BLOCK_ROWS: usize = 256;

/// The share of all rows from which on it takes less time to sort all of them than to move so many: one in so many.
const MANY_MOVED: usize = 4;

/// The rows that are shown, in order, and their sums.
#[derive(Debug, Clone, Default)]
pub struct SortedRows {
    wanted: Wanted,
    /// How often rows had been removed: then indices mean other rows.
    removed: u64,
    /// The indices of the rows that are shown.
    order: Vec<usize>,
    /// Whether a row is shown, by its index.
    is_shown: Vec<bool>,
    /// The sums of those that are shown of each [`BLOCK_ROWS`] rows.
    blocks: Vec<RowSums>,
}

impl SortedRows {
    /// The indices of the rows that are shown, in the order of the newest sorting.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// What these rows are together.
    pub fn sums(&self) -> RowSums {
        let mut all = RowSums::default();
        for block in &self.blocks {
            all.plus(block);
        }
        all
    }

    /// Sorts the rows anew, at the hub's time `now`. `changed` has the indices of those that changed since the last time; others may only
    /// be new. `removed` says how often rows were removed, after which all are sorted.
    ///
    /// The order is that of [`Wanted::order`].
    pub fn sort(
        &mut self,
        wanted: &Wanted,
        rows: &Rows,
        removed: u64,
        mut changed: BTreeSet<usize>,
        now: u64,
    ) {
        let known = self.is_shown.len();
        let is_same = self.wanted == *wanted && self.removed == removed && known <= rows.len();
        if is_same {
            changed.extend(known..rows.len());
            if wanted.sort.column.is_timed() || !wanted.filter.is_empty() {
                changed
                    .extend((0..).zip(rows.values()).filter(|(_, row)| wanted.is_timed(row)).map(|it| it.0));
            }
        }
        if is_same && changed.len() <= rows.len() / MANY_MOVED {
            self.move_rows(rows, &changed, now);
            return;
        }
        *self = Self { wanted: wanted.clone(), removed, ..Self::default() };
        self.order = wanted.order(rows.values(), now);
        self.is_shown = vec![false; rows.len()];
        for at in &self.order {
            if let Some(is_shown) = self.is_shown.get_mut(*at) {
                *is_shown = true;
            }
        }
        self.blocks.resize_with(rows.len().div_ceil(BLOCK_ROWS), RowSums::default);
        for block in 0..self.blocks.len() {
            self.add_up(rows, block);
        }
    }

    /// Puts `changed` rows where they belong, and leaves all others.
    fn move_rows(&mut self, rows: &Rows, changed: &BTreeSet<usize>, now: u64) {
        let mut is_moved = vec![false; rows.len()];
        for at in changed {
            if let Some(is_moved) = is_moved.get_mut(*at) {
                *is_moved = true;
            }
        }
        self.order.retain(|at| is_moved.get(*at) == Some(&false));
        let wanted = &self.wanted;
        let keyed = |at: usize| {
            let (_, row) = rows.get_index(at)?;
            Some(Keyed { key: wanted.sort.column.key(row, now), row, at })
        };
        let mut moved: Vec<Keyed<'_>> =
            changed.iter().filter_map(|at| keyed(*at)).filter(|it| wanted.shows(it.row, now)).collect();
        moved.sort_unstable_by(|left, right| wanted.compare(left, right));
        let mut order = Vec::with_capacity(self.order.len().saturating_add(moved.len()));
        let mut rest = self.order.as_slice();
        for row in &moved {
            let is_before = |at: &usize| keyed(*at).is_some_and(|it| wanted.compare(&it, row).is_lt());
            let (before, after) = rest.split_at(rest.partition_point(is_before));
            order.extend_from_slice(before);
            order.push(row.at);
            rest = after;
        }
        order.extend_from_slice(rest);
        self.order = order;
        self.is_shown.resize(rows.len(), false);
        for at in changed {
            if let Some(is_shown) = self.is_shown.get_mut(*at) {
                *is_shown = false;
            }
        }
        for row in &moved {
            if let Some(is_shown) = self.is_shown.get_mut(row.at) {
                *is_shown = true;
            }
        }
        self.blocks.resize_with(rows.len().div_ceil(BLOCK_ROWS), RowSums::default);
        let blocks: BTreeSet<usize> = changed.iter().map(|at| at / BLOCK_ROWS).collect();
        for block in blocks {
            self.add_up(rows, block);
        }
    }

    /// Adds a block of rows up anew.
    fn add_up(&mut self, rows: &Rows, block: usize) {
        let begin = block.saturating_mul(BLOCK_ROWS);
        let shown = (begin..begin.saturating_add(BLOCK_ROWS))
            .filter(|at| self.is_shown.get(*at) == Some(&true))
            .filter_map(|at| rows.get_index(at).map(|(_, row)| row));
        let sums = RowSums::of(shown);
        if let Some(block) = self.blocks.get_mut(block) {
            *block = sums;
        }
    }
}

#[cfg(test)]
mod tests {
    //! The law: however rows change, order and sums are those of a sorting from scratch.

    use model::event::RunStatus;

    use super::*;
    use crate::fleet::Filter;
    use crate::overview::table::{Column, Sort};

    /// Numbers that look random, the same for the same seed.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % sides
        }
    }

    fn row(name: u64, dice: &mut Dice, now: u64) -> ConversationRow {
        let states = [
            RunStatus::Running,
            RunStatus::Running,
            RunStatus::Complete,
            RunStatus::Error,
            RunStatus::Cancelled,
        ];
        let state = states[usize::try_from(dice.roll(5)).unwrap()];
        let began = now - dice.roll(1_000_000);
        let currency = if dice.roll(4) == 0 { "EUR" } else { "USD" };
        let mut json = serde_json::json!({"conversation": format!("c{name}"), "title": format!("title {}", dice.roll(9)),
            "state": state, "activity": null, "epoch": "e", "head": 1, "started_at": began, "ended_at": null,
            "at": began + dice.roll(1_000_000), "runs": 1 + dice.roll(3), "tools": dice.roll(5), "failed": dice.roll(2),
            "approvals": u64::from(dice.roll(9) == 0), "agents": 0, "anomalies": 0, "stalled": dice.roll(9) == 0,
            "archived": dice.roll(9) == 0, "agent": format!("agent {}", dice.roll(3))});
        if dice.roll(3) == 0 {
            json["call"] = serde_json::json!({"name": "run_sql", "since": began});
        }
        if dice.roll(2) == 0 {
            json["usage"] = serde_json::json!({"input_tokens": dice.roll(9_000), "output_tokens": 1,
                "cost": {"amount": format!("{}.5", dice.roll(9)), "currency": currency}});
        }
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn rows_that_change_leave_the_order_and_the_sums_of_a_sorting_from_scratch() {
        for (seed, column) in (1..).zip(Column::ALL) {
            for filter in ["", "state:running", "slower:10m", "title"] {
                let mut dice = Dice(seed);
                let sort = Sort { column, descending: dice.roll(2) == 0 };
                let time = (dice.roll(3) == 0).then_some((9_000_000, 10_500_000));
                let wanted = Wanted { filter: Filter::parse(filter), sort, time };
                let (mut now, mut rows, mut kept) = (10_000_000, Rows::new(), SortedRows::default());
                for _ in 0..30 {
                    now += dice.roll(200_000);
                    let mut changed = BTreeSet::new();
                    for _ in 0..dice.roll(60) {
                        let row = row(dice.roll(700), &mut dice, now);
                        changed.insert(rows.insert_full(row.conversation.clone(), row).0);
                    }
                    kept.sort(&wanted, &rows, 0, changed, now);
                    assert_eq!(kept.order(), wanted.order(rows.values(), now), "{column:?} {filter} {seed}");
                    let shown = kept.order().iter().map(|at| &rows[*at]);
                    assert_eq!(kept.sums(), RowSums::of(shown), "{column:?} {filter} {seed}");
                }
                // Indices mean other rows once some were removed.
                for _ in 0..20 {
                    rows.swap_remove_index(usize::try_from(dice.roll(rows.len() as u64)).unwrap());
                }
                kept.sort(&wanted, &rows, 1, BTreeSet::new(), now);
                assert_eq!(kept.order(), wanted.order(rows.values(), now));
            }
        }
    }

    #[test]
    fn a_row_that_changed_moves_alone_and_others_are_not_sorted_again() {
        let mut dice = Dice(7);
        let now = 10_000_000;
        let mut rows: Rows =
            (0..600).map(|n| row(n, &mut dice, now)).map(|row| (row.conversation.clone(), row)).collect();
        let wanted = Wanted::default();
        let mut kept = SortedRows::default();
        kept.sort(&wanted, &rows, 0, BTreeSet::new(), now);
        // Two rows change, and only one of them is said to have.
        let (one, two) = (kept.order()[300], kept.order()[400]);
        rows[one].at = now * 3;
        rows[two].at = now * 4;
        kept.sort(&wanted, &rows, 0, BTreeSet::from([one]), now);
        assert_eq!((kept.order()[0], kept.order()[400]), (one, two));
    }

    #[test]
    fn money_of_two_currencies_is_said_as_two_amounts() {
        let mut dice = Dice(1);
        let mut paid = |amount: &str, currency: &str| {
            let mut row = row(1, &mut dice, 10_000_000);
            row.usage = serde_json::from_value(serde_json::json!({"input_tokens": 10, "output_tokens": 0,
                "cost": {"amount": amount, "currency": currency}}))
            .unwrap();
            row
        };
        let rows = [paid("1.5", "USD"), paid("2", "EUR"), paid("1", "USD")];
        let words = RowSums::of(rows.iter()).words(3);
        let cost = |row: &ConversationRow| crate::format::cost(row.usage.unwrap().cost.unwrap());
        let two = [cost(&rows[1]), cost(&paid("2.5", "USD"))];
        assert!(words.ends_with(&two.join(" · ")), "{words}");
    }
}
