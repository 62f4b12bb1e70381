//! How much of a long conversation is on the page: the newest of it, up to a budget of rows. What is not, is one click
//! away. The budget keeps a page of any conversation below a few thousand elements.

/// Rows on the page, all turns together.
pub const ROWS: usize = 160;

/// Rows on the page where everything is to be there: the stated cap of the page of a conversation alone.
pub const ROWS_BARE: usize = 10_000;

/// Rows of the tools panel.
pub const CALLS: usize = 160;

/// The budget of a page.
pub fn rows(is_bare: bool) -> usize {
    if is_bare { ROWS_BARE } else { ROWS }
}

/// The first of `count` things that is on the page, when the newest may weigh `budget` together. At least the last one is
/// there; `weight` tells how many rows one is.
pub fn first(count: usize, budget: usize, weight: impl Fn(usize) -> usize) -> usize {
    let mut left = budget;
    for at in (0..count).rev() {
        let weight = weight(at);
        if weight > left {
            return at.saturating_add(1).min(count.saturating_sub(1));
        }
        left = left.saturating_sub(weight);
    }
    0
}

#[cfg(test)]
mod tests {
    //! Tests of the budget.

    use super::*;

    #[test]
    fn the_newest_that_fit_are_there_and_always_the_last() {
        let weights = [5, 1, 7, 3];
        let first = |budget| first(weights.len(), budget, |at| weights[at]);
        assert_eq!(first(100), 0);
        assert_eq!(first(11), 1);
        assert_eq!(first(10), 2);
        assert_eq!(first(3), 3);
        assert_eq!(first(0), 3);
        assert_eq!(super::first(0, 9, |_| 1), 0);
    }
}
