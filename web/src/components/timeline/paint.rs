//! Paints on a canvas with the colours of the page, which are read at each painting: a change of the theme needs nothing.

use leptos::prelude::*;
use web_sys::{CanvasRenderingContext2d, CssStyleDeclaration, HtmlCanvasElement};

use super::Chart;
use crate::browser;
use crate::timeline::{Fill, Label, Mark, Work};

/// The height of the lines of a hatched bar and between them, in CSS pixels.
const HATCH_PX: f64 = 3.0;

/// The font of labels.
const FONT: &str = "11px system-ui, sans-serif";

/// Makes the canvas as large as `width` and `height` in CSS pixels, and clears it. `None` if the browser gives no context.
pub(super) fn fit_canvas(
    canvas: &HtmlCanvasElement,
    width: f64,
    height: f64,
) -> Option<CanvasRenderingContext2d> {
    let scale = browser::window().device_pixel_ratio().max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "pixels of a screen")]
    let pixels = |length: f64| (length * scale).max(1.0) as u32;
    let (wide, high) = (pixels(width), pixels(height));
    if canvas.width() != wide || canvas.height() != high {
        canvas.set_width(wide);
        canvas.set_height(high);
    }
    let context: CanvasRenderingContext2d =
        wasm_bindgen::JsCast::unchecked_into(canvas.get_context("2d").ok().flatten()?);
    drop(context.set_transform(scale, 0.0, 0.0, scale, 0.0, 0.0));
    context.clear_rect(0.0, 0.0, width, height);
    context.set_font(FONT);
    context.set_text_baseline("middle");
    Some(context)
}

/// Paints what the timeline has computed.
pub(super) struct Brush<'a> {
    context: &'a CanvasRenderingContext2d,
    /// The style from which the colours are read.
    style: Option<CssStyleDeclaration>,
    /// The colours that were looked up, by their names.
    known: Vec<(&'static str, String)>,
    /// The name of the colour that is set.
    set: &'static str,
}

impl<'a> Brush<'a> {
    /// A brush with the colours of `chart`'s root.
    pub(super) fn new(chart: Chart, context: &'a CanvasRenderingContext2d) -> Self {
        let root = chart.root.get_untracked();
        let style = root.and_then(|root| browser::window().get_computed_style(&root).ok().flatten());
        Self { context, style, known: Vec::new(), set: "" }
    }

    /// Paints with the colour `name`, a token of the styles without its dashes.
    fn color(&mut self, name: &'static str) {
        if self.set == name {
            return;
        }
        self.set = name;
        if !self.known.iter().any(|(known, _)| *known == name) {
            let value =
                self.style.as_ref().and_then(|style| style.get_property_value(&format!("--{name}")).ok());
            self.known.push((name, value.unwrap_or_default()));
        }
        if let Some((_, value)) = self.known.iter().find(|(known, _)| *known == name) {
            self.context.set_fill_style_str(value.trim());
        }
    }

    /// Paints a rectangle with its fill, as the styles fill the bars of rows.
    pub(super) fn mark(&mut self, mark: &Mark) {
        let Mark { x, y, wide, high, fill, tone } = *mark;
        self.color(tone.map_or("text", crate::timeline::Tone::class));
        match fill {
            Fill::Solid | Fill::Thin => self.context.fill_rect(x, y, wide, high),
            Fill::Hatched => {
                let mut line = 0.0;
                while line < high {
                    self.context.fill_rect(x, y + line, wide, 1.0);
                    line += HATCH_PX;
                }
            }
            Fill::Outline => {
                self.context.fill_rect(x, y, wide, 1.5);
                self.context.fill_rect(x, y + high - 1.5, wide, 1.5);
                self.context.set_global_alpha(0.14);
                self.context.fill_rect(x, y, wide, high);
                self.context.set_global_alpha(1.0);
            }
        }
    }

    /// Paints the name of a step into its bar. On lines it stands on a ground of its own.
    pub(super) fn label(&mut self, label: &Label) {
        if label.fill == Fill::Hatched {
            self.color("bg");
            #[expect(clippy::cast_precision_loss, reason = "letters of a line")]
            let wide = label.text.chars().count() as f64 * 6.2 + 4.0;
            self.context.fill_rect(label.x - 2.0, label.y - 6.0, wide, 12.0);
        }
        self.color(if label.fill == Fill::Solid { "bg" } else { "text" });
        drop(self.context.fill_text(&label.text, label.x, label.y));
    }

    /// Paints the columns of the map from `from` on, each a pixel wide, in a strip from `y` on.
    pub(super) fn stretch(&mut self, from: f64, wide: f64, y: f64, high: f64, work: Work) {
        let (name, alpha) = match work {
            // How calls ended is said by their bars.
            Work::Tool => ("text2", 1.0),
            Work::Model => ("gone", 0.5),
            Work::Person => ("appr", 1.0),
            Work::Waiting => ("pend", 0.5),
        };
        self.color(name);
        self.context.set_global_alpha(alpha);
        self.context.fill_rect(from, y, wide, high);
        self.context.set_global_alpha(1.0);
    }

    /// Paints what lies outside of the visible part paler, and its edges.
    pub(super) fn shade(&mut self, left: f64, right: f64, width: f64, height: f64) {
        self.color("bg");
        self.context.set_global_alpha(0.65);
        self.context.fill_rect(0.0, 0.0, left, height);
        self.context.fill_rect(right, 0.0, (width - right).max(0.0), height);
        self.context.set_global_alpha(1.0);
        self.color("text");
        for edge in [left, right - 1.0] {
            self.context.fill_rect(edge, 0.0, 1.0, height);
        }
        self.context.fill_rect(left, 0.0, right - left, 1.0);
        self.context.fill_rect(left, height - 1.0, right - left, 1.0);
    }
}
