//! How large each tile of the wall is, and which tiles are on which page.
//!
//! Tiles stand in a grid of cells. The browser fills it as the styles say (`grid-auto-flow: dense`); the same is computed
//! here, so that a page has as many tiles as the screen holds.
//!
//! ```text
//! ┌──────────┬────┬────┐   large   2 columns, 3 rows   the busiest
//! │          │ m  │ m  │   medium  1 column,  2 rows   what runs, and what needs a person
//! │  large   │    │    │   small   1 column,  1 row    what is over
//! │          ├────┼────┤
//! ├────┬────┬┤ s  │ s  │
//! ```

use std::ops::Range;

/// The fewest tiles of a page, however small the screen is; it scrolls then.
pub const TILES_LEAST: usize = 24;

/// The most tiles of a page, however large the screen is.
pub const TILES_MOST: usize = 128;

/// The least width of a column in CSS pixels; the styles have the same.
const COLUMN_PX: f64 = 250.0;

/// The height of a row in CSS pixels; the styles have the same.
const ROW_PX: f64 = 74.0;

/// The space between tiles in CSS pixels; the styles have the same.
const GAP_PX: f64 = 8.0;

/// The fewest columns for which one tile is large.
const LARGE_COLUMNS: usize = 3;

/// The size of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileSize {
    /// A line of words.
    Small,
    /// Some lines of words, and calls.
    Medium,
    /// Many words and calls.
    Large,
}

impl TileSize {
    /// The CSS class.
    pub fn class(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// How many columns and rows it takes.
    fn cells(self) -> (usize, usize) {
        match self {
            Self::Small => (1, 1),
            Self::Medium => (1, 2),
            Self::Large => (2, 3),
        }
    }
}

/// How many columns and rows the screen holds, at least one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileGrid {
    /// Its columns.
    pub columns: usize,
    /// Its rows.
    pub rows: usize,
}

impl TileGrid {
    /// The grid of a box of this size in CSS pixels.
    pub fn of(width: f64, height: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels of a screen")]
        let fit = |room: f64, each: f64| (((room + GAP_PX) / (each + GAP_PX)).max(1.0) as usize).min(64);
        Self { columns: fit(width, COLUMN_PX), rows: fit(height, ROW_PX) }
    }

    /// How many tiles may be large.
    pub fn large(self) -> usize {
        if self.columns < LARGE_COLUMNS { 0 } else { self.columns / LARGE_COLUMNS }
    }
}

/// What decides about the size of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy {
    /// Whether it runs or needs a person.
    pub is_active: bool,
    /// How many bytes it wrote in the last minute.
    pub recent: u64,
}

/// The sizes of tiles, in order. The busiest are large, as many as `grid` allows, and those that are over are small.
pub fn sizes(tiles: &[Busy], grid: TileGrid) -> Vec<TileSize> {
    let mut busiest: Vec<(u64, usize)> = tiles
        .iter()
        .enumerate()
        .filter(|(_, busy)| busy.is_active && busy.recent > 0)
        .map(|(at, busy)| (busy.recent, at))
        .collect();
    busiest.sort_unstable_by_key(|(recent, at)| (std::cmp::Reverse(*recent), *at));
    busiest.truncate(grid.large());
    let size = |(at, busy): (usize, &Busy)| {
        if busiest.iter().any(|(_, large)| *large == at) {
            TileSize::Large
        } else if busy.is_active {
            TileSize::Medium
        } else {
            TileSize::Small
        }
    };
    tiles.iter().enumerate().map(size).collect()
}

/// The tiles of each page, in order; one empty page if there are none. A page ends before the tile that `grid` has no room
/// for, but has [`TILES_LEAST`] tiles and no more than [`TILES_MOST`].
pub fn pages(sizes: &[TileSize], grid: TileGrid) -> Vec<Range<usize>> {
    let mut pages = Vec::new();
    let mut first = 0;
    while first < sizes.len() || pages.is_empty() {
        let mut taken = Cells::new(grid.columns);
        let rest = sizes.get(first..).unwrap_or_default().iter().take(TILES_MOST);
        let fits = |(number, size): &(usize, &TileSize)| {
            let bottom = taken.place(**size);
            *number < TILES_LEAST || bottom <= grid.rows
        };
        let count = rest.enumerate().take_while(fits).count();
        let last = first.saturating_add(count);
        pages.push(first..last);
        first = last;
    }
    pages
}

/// The cells that are taken, row by row.
struct Cells {
    columns: usize,
    rows: Vec<Vec<bool>>,
}

impl Cells {
    fn new(columns: usize) -> Self {
        Self { columns: columns.max(1), rows: Vec::new() }
    }

    /// Whether the cell is free. Cells below the last row are.
    fn is_free(&self, row: usize, column: usize) -> bool {
        column < self.columns
            && !self.rows.get(row).and_then(|cells| cells.get(column)).is_some_and(|taken| *taken)
    }

    /// Puts a tile at the first place that has room, as the browser does. Returns the row below it.
    fn place(&mut self, size: TileSize) -> usize {
        let (wide, high) = size.cells();
        let wide = wide.min(self.columns);
        let fits = |row: usize, column: usize| {
            (row..row + high).all(|row| (column..column + wide).all(|column| self.is_free(row, column)))
        };
        let places = (0..).flat_map(|row| (0..self.columns).map(move |column| (row, column)));
        // Below the last row there is always room.
        let (row, column) = places.into_iter().find(|(row, column)| fits(*row, *column)).unwrap_or((0, 0));
        let bottom = row + high;
        if self.rows.len() < bottom {
            self.rows.resize_with(bottom, || vec![false; self.columns]);
        }
        for cells in self.rows.iter_mut().take(bottom).skip(row) {
            cells.iter_mut().skip(column).take(wide).for_each(|taken| *taken = true);
        }
        bottom
    }
}

#[cfg(test)]
mod tests {
    //! Tests of sizes and pages.

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_large_screen_holds_more_than_24_and_a_small_one_scrolls() {
        let medium = [TileSize::Medium; 300];
        let wide = TileGrid::of(2_260.0, 1_312.0);
        assert_eq!(wide, TileGrid { columns: 8, rows: 16 });
        assert_eq!(pages(&medium, wide)[0], 0..64);
        assert_eq!(pages(&[TileSize::Small; 300], wide)[0], 0..TILES_MOST);
        assert_eq!(pages(&medium, TileGrid::of(390.0, 700.0))[0], 0..TILES_LEAST);
        assert_eq!(pages(&[], wide), std::slice::from_ref(&(0..0)));
    }

    #[test]
    fn the_busiest_are_large_where_there_is_room() {
        let busy = |is_active, recent| Busy { is_active, recent };
        let tiles = [busy(true, 5), busy(true, 90), busy(false, 900), busy(true, 0)];
        let [small, medium, large] = [TileSize::Small, TileSize::Medium, TileSize::Large];
        assert_eq!(sizes(&tiles, TileGrid { columns: 4, rows: 9 }), [medium, large, small, medium]);
        assert_eq!(sizes(&tiles, TileGrid { columns: 6, rows: 9 }), [large, large, small, medium]);
        assert_eq!(sizes(&tiles, TileGrid { columns: 2, rows: 9 }), [medium, medium, small, medium]);
    }

    fn size() -> impl Strategy<Value = TileSize> {
        prop_oneof![Just(TileSize::Small), Just(TileSize::Medium), Just(TileSize::Large)]
    }

    proptest! {
        #[test]
        fn every_tile_is_on_one_page_and_pages_are_full(
            sizes in proptest::collection::vec(size(), 0..400), width in 0.0..3_000.0_f64, height in 0.0..2_000.0_f64,
        ) {
            let grid = TileGrid::of(width, height);
            let pages = pages(&sizes, grid);
            let mut next = 0;
            for page in &pages {
                prop_assert_eq!(page.start, next);
                prop_assert!(page.len() <= TILES_MOST && (page.len() >= TILES_LEAST || page.end == sizes.len()));
                let mut cells = Cells::new(grid.columns);
                let bottoms: Vec<usize> = sizes[page.clone()].iter().map(|size| cells.place(*size)).collect();
                let below = bottoms.iter().skip(TILES_LEAST).max();
                prop_assert!(below.is_none_or(|below| *below <= grid.rows));
                next = page.end;
            }
            prop_assert_eq!(next, sizes.len());
        }

        #[test]
        fn no_two_tiles_take_one_cell(sizes in proptest::collection::vec(size(), 0..60), columns in 1..9_usize) {
            let mut cells = Cells::new(columns);
            for size in &sizes {
                cells.place(*size);
            }
            let taken: usize = cells.rows.iter().flatten().filter(|taken| **taken).count();
            let wanted: usize = sizes.iter().map(|size| { let (wide, high) = size.cells(); wide.min(columns) * high }).sum();
            prop_assert_eq!(taken, wanted);
        }
    }
}
