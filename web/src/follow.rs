//! Whether the view follows the end of a growing conversation.
//!
//! It does while the reader is at the end. Any move up releases it at once. Only a move down to the end or an
//! explicit command resumes it. Growth of the content never changes it.

/// How close to the end counts as at the end, in CSS pixels.
pub const AT_END_PX: f64 = 8.0;

/// How large a move up without a seen input must be to count as the reader's, in CSS pixels; smaller moves
/// are corrections by the browser.
const FOREIGN_PX: f64 = 24.0;

/// The scroll position of a box, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// How far it is scrolled from the top.
    pub top: f64,
    /// The height of the box.
    pub window: f64,
    /// The height of its content.
    pub content: f64,
}

impl Place {
    /// Whether the end of the content is visible.
    pub fn is_at_end(self) -> bool {
        self.content - self.window - self.top <= AT_END_PX
    }
}

/// Whether the view follows, and the last known position. It follows at first.
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
    /// Whether the view follows the end.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Follows the end again, at the reader's command.
    pub fn resume(&mut self) {
        self.is_on = true;
    }

    /// Stops following, since the reader looks at something: a turn of the wheel upwards, a key, a click on a
    /// card.
    pub fn release(&mut self) {
        self.is_on = false;
    }

    /// Takes a new scroll position. `by_hand` is whether an input of the reader (wheel, finger, key, button)
    /// was just seen.
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
