//! How large each tile of the wall is, and which tiles are on which page.
//!
//! Tiles stand in a grid of columns and thin rows. A tile takes as many rows as its content needs when the plan is made. The browser
//! fills the grid as the styles say (`grid-auto-flow: dense`); the same is computed here, so that a page has as many tiles as the screen holds.
//!
//! ```text
//! ┌─────────┬────┬────┐   large   2 columns, 4 to 10 lines   the busiest
//! │         │ m  │ m  │   medium  1 column,  1 to 5 lines    what runs, and what needs a person
//! │  large  │    ├────┤   small   1 column,  1 line          what is over
//! │         ├────┤ s  │
//! ├────┬────┤ m  ├────┤   A line is one of words or a call that executes.
//! ```

use std::ops::Range;

/// The fewest tiles of a page, however small the screen is; it scrolls then.
pub const TILES_LEAST: usize = 24;

/// The most tiles of a page, however large the screen is.
pub const TILES_MOST: usize = 128;

/// The least width of a column in CSS pixels; the styles have the same.
const COLUMN_PX: f64 = 250.0;

/// The height of a row in CSS pixels; the styles have the same. There is no space between rows.
const ROW_PX: f64 = 8.0;

/// The most rows of a screen that are counted.
const ROWS_MOST: f64 = 512.0;

/// The space between columns, and below each tile, in CSS pixels; the styles have the same.
const GAP_PX: f64 = 8.0;

/// The width of a tile that is not text, in CSS pixels: padding and border.
const SIDES_PX: f64 = 24.0;

/// The mean width of a letter of a tile in CSS pixels.
const LETTER_PX: f64 = 6.3;

/// The fewest and the most lines of a medium tile.
const MEDIUM_LINES: (usize, usize) = (1, 5);

/// The fewest and the most lines of a large tile.
const LARGE_LINES: (usize, usize) = (4, 10);

/// The fewest columns for which one tile is large.
const LARGE_COLUMNS: usize = 3;

/// The size of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TileSize {
    /// A line of words.
    Small,
    /// Some lines of words and calls, in one column.
    Medium {
        /// The number of lines.
        lines: usize,
    },
    /// Many words and calls, in two columns.
    Large {
        /// The number of lines.
        lines: usize,
    },
}

impl TileSize {
    /// The CSS classes: the kind, and the number of lines.
    pub fn class(self) -> String {
        match self {
            Self::Small => "small".to_owned(),
            Self::Medium { lines } => format!("medium l{lines}"),
            Self::Large { lines } => format!("large l{lines}"),
        }
    }

    /// The size to change to from `old`: a tile that would be a single line shorter stays as it is, so that a tile whose words come
    /// and go does not move the others.
    #[must_use]
    pub fn after(self, old: Self) -> Self {
        match (old, self) {
            (Self::Medium { lines: was }, Self::Medium { lines })
            | (Self::Large { lines: was }, Self::Large { lines })
                if was == lines + 1 =>
            {
                old
            }
            _ => self,
        }
    }

    /// How many columns and rows it takes, with the space below it.
    fn cells(self) -> (usize, usize) {
        match self {
            Self::Small => (1, 9),
            Self::Medium { lines } => (1, 9 + 2 * lines),
            Self::Large { lines } => (2, 9 + 2 * lines),
        }
    }
}

/// How many columns and rows the screen holds, at least one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileGrid {
    /// The number of columns.
    pub columns: usize,
    /// The number of rows.
    pub rows: usize,
    /// How many letters a line of one column has.
    pub letters: usize,
}

impl TileGrid {
    /// The grid of a box of this size in CSS pixels.
    pub fn of(width: f64, height: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels of a screen")]
        let whole = |number: f64| number.max(1.0) as usize;
        let columns = whole(((width + GAP_PX) / (COLUMN_PX + GAP_PX)).min(64.0));
        let column = (width + GAP_PX) / f64::from(u16::try_from(columns).unwrap_or(1)) - GAP_PX;
        Self {
            columns,
            rows: whole((height / ROW_PX).min(ROWS_MOST)),
            letters: whole(((column - SIDES_PX) / LETTER_PX).min(512.0)),
        }
    }

    /// The number of tiles that may be large.
    pub fn large(self) -> usize {
        if self.columns < LARGE_COLUMNS { 0 } else { self.columns / LARGE_COLUMNS }
    }
}

/// What decides about the size of a tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    /// Whether it runs or needs a person.
    pub is_active: bool,
    /// How many bytes it wrote in the last minute.
    pub recent: u64,
    /// How many letters each of its lines has, those of calls too.
    pub letters: Vec<usize>,
}

impl Busy {
    /// How many lines it needs where a line has so many letters, within `bounds`.
    fn lines(&self, letters: usize, bounds: (usize, usize)) -> usize {
        let lines: usize = self.letters.iter().map(|line| line.div_ceil(letters.max(1)).max(1)).sum();
        lines.clamp(bounds.0, bounds.1)
    }
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
            TileSize::Large { lines: busy.lines(2 * grid.letters, LARGE_LINES) }
        } else if busy.is_active {
            TileSize::Medium { lines: busy.lines(grid.letters, MEDIUM_LINES) }
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
    /// How many rows from the first on are taken altogether.
    full: usize,
}

impl Cells {
    fn new(columns: usize) -> Self {
        Self { columns: columns.max(1), rows: Vec::new(), full: 0 }
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
        let places = (self.full..).flat_map(|row| (0..self.columns).map(move |column| (row, column)));
        // Below the last row there is always room.
        let (row, column) = places.into_iter().find(|(row, column)| fits(*row, *column)).unwrap_or((0, 0));
        let bottom = row + high;
        if self.rows.len() < bottom {
            self.rows.resize_with(bottom, || vec![false; self.columns]);
        }
        for cells in self.rows.iter_mut().take(bottom).skip(row) {
            cells.iter_mut().skip(column).take(wide).for_each(|taken| *taken = true);
        }
        while self.rows.get(self.full).is_some_and(|cells| cells.iter().all(|taken| *taken)) {
            self.full += 1;
        }
        bottom
    }
}

#[cfg(test)]
mod tests {
    //! Tests of sizes and pages.

    use proptest::prelude::*;

    use super::*;

    const FULL: TileSize = TileSize::Medium { lines: MEDIUM_LINES.1 };

    #[test]
    fn a_large_screen_holds_more_than_24_and_a_small_one_scrolls() {
        let wide = TileGrid::of(2_260.0, 1_312.0);
        assert_eq!(wide, TileGrid { columns: 8, rows: 164, letters: 39 });
        assert_eq!(pages(&[FULL; 300], wide)[0], 0..64);
        assert_eq!(pages(&[TileSize::Medium { lines: 1 }; 300], wide)[0], 0..112);
        assert_eq!(pages(&[TileSize::Small; 300], wide)[0], 0..TILES_MOST);
        assert_eq!(pages(&[FULL; 300], TileGrid::of(390.0, 700.0))[0], 0..TILES_LEAST);
        assert_eq!(pages(&[], wide), std::slice::from_ref(&(0..0)));
    }

    #[test]
    fn the_busiest_are_large_where_there_is_room() {
        let busy = |is_active, recent| Busy { is_active, recent, letters: Vec::new() };
        let tiles = [busy(true, 5), busy(true, 90), busy(false, 900), busy(true, 0)];
        let [small, medium, large] =
            [TileSize::Small, TileSize::Medium { lines: 1 }, TileSize::Large { lines: 4 }];
        let grid = |columns| TileGrid { columns, rows: 90, letters: 40 };
        assert_eq!(sizes(&tiles, grid(4)), [medium, large, small, medium]);
        assert_eq!(sizes(&tiles, grid(6)), [large, large, small, medium]);
        assert_eq!(sizes(&tiles, grid(2)), [medium, medium, small, medium]);
    }

    #[test]
    fn a_tile_is_as_high_as_its_lines_and_shrinks_by_more_than_one() {
        let grid = TileGrid { columns: 2, rows: 90, letters: 40 };
        let lines = |letters: &[usize]| {
            sizes(&[Busy { is_active: true, recent: 0, letters: letters.to_vec() }], grid)
        };
        let medium = |lines| TileSize::Medium { lines };
        assert_eq!(lines(&[]), [medium(1)]);
        assert_eq!(lines(&[12, 40]), [medium(2)]);
        assert_eq!(lines(&[12, 41]), [medium(3)]);
        assert_eq!(lines(&[600]), [FULL]);
        assert_eq!(medium(2).after(medium(3)), medium(3));
        assert_eq!(medium(1).after(medium(3)), medium(1));
        assert_eq!(medium(4).after(medium(3)), medium(4));
        assert_eq!(TileSize::Small.after(medium(1)), TileSize::Small);
    }

    fn size() -> impl Strategy<Value = TileSize> {
        prop_oneof![
            Just(TileSize::Small),
            (MEDIUM_LINES.0..=MEDIUM_LINES.1).prop_map(|lines| TileSize::Medium { lines }),
            (LARGE_LINES.0..=LARGE_LINES.1).prop_map(|lines| TileSize::Large { lines }),
        ]
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
