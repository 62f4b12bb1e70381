//! The waterfall of a conversation: which rows it has, the bars of each, and the part of time that is looked at. Pure: the
//! page draws what stands here, and only the rows that can be seen.
//!
//! Bars are given in milliseconds since the first moment of the conversation. The page puts them on the screen with two
//! numbers for all rows together (where the looked-at part begins and how long it is), so that zooming and the passing of
//! time touch no row.

mod bars;
mod drawer;
mod rows;
mod scale;
mod squeeze;

pub use bars::{Bar, Face, Fill, Tone, face};
pub use drawer::Drawer;
pub use rows::{Key, Row, rows, visible};
pub use scale::{Scale, Tick, ticks};
pub use squeeze::{Extent, Squeeze, extent};

/// Milliseconds as a number of the screen.
pub fn float(ms: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let float = ms as f64;
    float
}

#[cfg(test)]
mod tests;
