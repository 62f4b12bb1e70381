//! Small pictures of how figures grow, one for each question, on one sheet that is readable on light and dark pages. Both axes are logarithmic, so
//! that what grows as much as its cause rises at the same angle everywhere, and what is flat is flat.

/// One small picture.
#[derive(Debug, Clone)]
pub struct Plot {
    /// What it shows, with the unit.
    pub title: String,
    /// What it depends on.
    pub across: String,
    /// The points, the smallest cause first. What is not above 0 is left out.
    pub points: Vec<(f64, f64)>,
    /// Whether it is flat, grows or falls.
    pub verdict: String,
}

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 54.0;
const RIGHT: f64 = 284.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 158.0;
const COLUMNS: usize = 3;
const HEAD: f64 = 36.0;

const STYLE: &str = "svg{background:#fff;font:11px system-ui,sans-serif}text{fill:#222}.grid{stroke:#ddd}.name{font-weight:600}\
    .line{fill:none;stroke:#0072b2;stroke-width:2}.dot{fill:#0072b2}\
    @media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.grid{stroke:#30363d}.line{stroke:#56b4e9}.dot{fill:#56b4e9}}";

/// The least factor between the bounds of the vertical axis, so that what hardly changes looks flat.
const FACTOR_MIN: f64 = 10.0;

/// The whole sheet.
pub fn sheet(title: &str, plots: &[Plot]) -> String {
    let at = |number: usize| (WIDTH * (number % COLUMNS) as f64, HEAD + HEIGHT * (number / COLUMNS) as f64);
    let (_, last) = at(plots.len().saturating_sub(1));
    let (width, height) = (WIDTH * COLUMNS as f64, last + HEIGHT);
    let title = escaped(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
         <text x=\"14\" y=\"22\" class=\"name\" font-size=\"13\">{title}</text>\n"
    );
    for (number, plot) in plots.iter().enumerate() {
        let (x, y) = at(number);
        put(&mut svg, &format!("<g transform=\"translate({x} {y})\">\n{}</g>\n", small(plot)));
    }
    svg.push_str("</svg>\n");
    svg
}

/// One picture, from its own corner on.
fn small(plot: &Plot) -> String {
    let points: Vec<(f64, f64)> =
        plot.points.iter().copied().filter(|(cause, figure)| *cause > 0.0 && *figure > 0.0).collect();
    let mut svg = format!(
        "<text x=\"14\" y=\"16\" class=\"name\">{}</text>\n<text x=\"14\" y=\"31\">{}</text>\n",
        escaped(&plot.title),
        escaped(&plot.verdict)
    );
    let causes = bounds(points.iter().map(|point| point.0), 1.0);
    let figures = bounds(points.iter().map(|point| point.1), FACTOR_MIN);
    let across = |cause: f64| LEFT + share(cause, causes) * (RIGHT - LEFT);
    let down = |figure: f64| BOTTOM - share(figure, figures) * (BOTTOM - TOP);
    for figure in decades(figures) {
        let y = down(figure);
        put(
            &mut svg,
            &format!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\n\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                LEFT - 6.0,
                y + 4.0,
                readable(figure)
            ),
        );
    }
    for cause in decades(causes) {
        let x = across(cause);
        put(
            &mut svg,
            &format!(
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>\n\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                BOTTOM + 15.0,
                readable(cause)
            ),
        );
    }
    let places: Vec<(f64, f64)> =
        points.iter().map(|(cause, figure)| (across(*cause), down(*figure))).collect();
    let line: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    put(&mut svg, &format!("<polyline class=\"line\" points=\"{}\"/>\n", line.join(" ")));
    for (x, y) in places {
        put(&mut svg, &format!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>\n"));
    }
    let middle = f64::midpoint(LEFT, RIGHT);
    let (x, y) = (middle, BOTTOM + 30.0);
    put(
        &mut svg,
        &format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>\n", escaped(&plot.across)),
    );
    svg
}

fn put(svg: &mut String, element: &str) {
    svg.push_str(element);
}

/// Powers of ten around some numbers, at least `factor` apart.
fn bounds(numbers: impl Iterator<Item = f64>, factor: f64) -> (f64, f64) {
    let (least, most) =
        numbers.fold((f64::INFINITY, 0.0_f64), |(least, most), it| (least.min(it), most.max(it)));
    if !least.is_finite() || most <= 0.0 {
        return (1.0, 10.0);
    }
    let (least, most) = (10_f64.powf(least.log10().floor()), 10_f64.powf(most.log10().ceil()));
    (least, most.max(least * factor.max(10.0)))
}

/// Where between its bounds a number is, from 0 to 1.
fn share(number: f64, (least, most): (f64, f64)) -> f64 {
    ((number / least).log10() / (most / least).log10()).clamp(0.0, 1.0)
}

/// The powers of ten from one bound to the other.
fn decades((least, most): (f64, f64)) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(least), |decade| Some(decade * 10.0))
        .take_while(move |decade| *decade <= most * 1.001)
}

/// A power of ten in few characters.
fn readable(number: f64) -> String {
    match number {
        large if large >= 0.999e9 => format!("{:.0}G", large / 1e9),
        large if large >= 0.999e6 => format!("{:.0}M", large / 1e6),
        large if large >= 0.999e3 => format!("{:.0}k", large / 1e3),
        whole if whole >= 0.999 => format!("{whole:.0}"),
        small => format!("{small:.3}").trim_end_matches('0').to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
