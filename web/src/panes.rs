//! The widths of the list and of the panel beside the conversation.

/// A pane beside the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The list of conversations, at the left.
    List,
    /// The panel, at the right.
    Panel,
}

/// How far a key moves the edge, in CSS pixels.
const STEP_PX: u32 = 16;

impl Pane {
    /// The smallest and the largest width, in CSS pixels.
    pub fn bounds(self) -> (u32, u32) {
        match self {
            Self::List => (220, 400),
            Self::Panel => (320, 560),
        }
    }

    /// The name of the setting, and of the CSS variable without `--`.
    pub fn name(self) -> &'static str {
        match self {
            Self::List => "list-width",
            Self::Panel => "panel-width",
        }
    }

    /// The label of the edge for screen readers.
    pub fn title(self) -> &'static str {
        match self {
            Self::List => "Width of the list",
            Self::Panel => "Width of the tools",
        }
    }

    /// The stored width `word` within the bounds; if it is not a number, the default in a window of `window_px`: more on a
    /// screen that is wider than 2,000 px.
    pub fn parse(self, word: Option<&str>, window_px: f64) -> u32 {
        let usual = match (self, window_px > 2_000.0) {
            (Self::List, false) => 280,
            (Self::List, true) => 340,
            (Self::Panel, false) => 384,
            (Self::Panel, true) => 512,
        };
        word.and_then(|word| word.parse().ok()).map_or(usual, |px| self.fitting(px))
    }

    /// The width after the edge was dragged `px` pixels to the right, from the width `from`.
    pub fn pulled(self, from: u32, px: i32) -> u32 {
        let wider = if self == Self::List { px } else { px.saturating_neg() };
        self.fitting(from.saturating_add_signed(wider))
    }

    /// The width after `key` was pressed on the edge; `None` for a key that does not move it.
    pub fn pressed(self, from: u32, key: &str) -> Option<u32> {
        let step = i32::try_from(STEP_PX).unwrap_or(i32::MAX);
        let (narrowest, widest) = self.bounds();
        match key {
            "ArrowLeft" => Some(self.pulled(from, step.saturating_neg())),
            "ArrowRight" => Some(self.pulled(from, step)),
            "Home" => Some(narrowest),
            "End" => Some(widest),
            _ => None,
        }
    }

    /// The width within the bounds.
    fn fitting(self, px: u32) -> u32 {
        let (narrowest, widest) = self.bounds();
        px.clamp(narrowest, widest)
    }
}

#[cfg(test)]
mod tests {
    //! Tests of the widths.

    use super::*;

    #[test]
    fn an_edge_goes_where_it_is_pulled_as_far_as_it_may() {
        assert_eq!((Pane::List.pulled(280, 40), Pane::Panel.pulled(384, 40)), (320, 344));
        assert_eq!((Pane::List.pulled(280, 999), Pane::List.pulled(280, -999)), (400, 220));
        assert_eq!((Pane::Panel.pulled(384, -999), Pane::Panel.pulled(384, i32::MIN)), (560, 560));
    }

    #[test]
    fn keys_move_an_edge_the_way_they_point() {
        assert_eq!(Pane::List.pressed(280, "ArrowRight"), Some(296));
        assert_eq!(Pane::Panel.pressed(384, "ArrowRight"), Some(368));
        assert_eq!(
            (Pane::List.pressed(280, "Home"), Pane::Panel.pressed(384, "End")),
            (Some(220), Some(560))
        );
        assert_eq!(Pane::List.pressed(280, "j"), None);
    }

    #[test]
    fn a_kept_width_is_one_that_fits() {
        let of = |pane: Pane, word| (pane.parse(word, 1_440.0), pane.parse(word, 2_560.0));
        assert_eq!((of(Pane::List, None), of(Pane::Panel, None)), ((280, 340), (384, 512)));
        assert_eq!((of(Pane::List, Some("300")), of(Pane::List, Some("9"))), ((300, 300), (220, 220)));
        assert_eq!(of(Pane::Panel, Some("wide")), (384, 512));
    }
}
