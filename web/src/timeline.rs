//! The waterfall of a conversation: its rows, their bars, and the visible part of time. It does not use the
//! browser; the page draws it, and only the visible rows.
//!
//! Bars are given in milliseconds since the first moment of the conversation. The page places them with two
//! numbers for all rows together (the beginning and the length of the visible part), so that zooming and the
//! passing of time change no row.
//!
//! Reading order: `rows` → `bars` → `squeeze` (left-out pauses) → `scale` (the visible part and the axis);
//! `drawer` is the height.

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

/// Milliseconds as a floating-point number.
pub fn float(ms: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let float = ms as f64;
    float
}

#[cfg(test)]
mod tests;
