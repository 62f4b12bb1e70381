//! Whether the view sticks to the end of a growing conversation.
//!
//! It does while the reader is at the end. Any move up releases it at once; only a move down to the end, or the
//! reader's word, brings it back. Growth of the content never changes it.

/// How close to the end counts as at the end, in CSS pixels.
pub const AT_END_PX: f64 = 8.0;

/// A move up of this much is taken for the reader's even where no input was seen, in CSS pixels; smaller ones are the
/// browser's own corrections.
const FOREIGN_PX: f64 = 24.0;

/// Where a scrolling box stands, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// What is above the box.
    pub top: f64,
    /// How high the box is.
    pub window: f64,
    /// How high its content is.
    pub content: f64,
}

impl Place {
    /// Whether the end of the content is in the box.
    pub fn is_at_end(self) -> bool {
        self.content - self.window - self.top <= AT_END_PX
    }
}

/// The policy's state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Follow {
    is_on: bool,
    last: Place,
}

impl Default for Follow {
    fn default() -> Self {
        Self { is_on: true, last: Place { top: 0.0, window: 0.0, content: 0.0 } }
    }
}

impl Follow {
    /// Whether the view sticks to the end.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// The reader wants the end.
    pub fn resume(&mut self) {
        self.is_on = true;
    }

    /// The reader looks at something: a turn of the wheel upwards, a key, a click on a card.
    pub fn release(&mut self) {
        self.is_on = false;
    }

    /// The box has scrolled, by whatever cause; `by_hand` when the reader's wheel, finger, key or button was just seen.
    pub fn scrolled(&mut self, place: Place, by_hand: bool) {
        let moved = place.top - self.last.top;
        let shrunk = place.content < self.last.content - 0.5;
        self.last = place;
        let least = if by_hand { 0.5 } else { FOREIGN_PX };
        if moved < -least && !place.is_at_end() && !shrunk {
            self.is_on = false;
        } else if moved > 0.5 && place.is_at_end() {
            self.is_on = true;
        }
    }
}

#[cfg(test)]
mod tests;
