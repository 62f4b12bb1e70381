//! The picture of `docs/scale.md`: what is in use of each machine by the number of hubs, the model as lines and the simulation as dots.

/// A line of the picture.
#[derive(Debug, Clone)]
pub struct Line {
    /// The name of what it shows.
    pub name: String,
    /// By the number of hubs, what is in use (1 is all) by the model.
    pub model: Vec<(f64, f64)>,
    /// By the number of hubs, what is in use (1 is all) by the simulation.
    pub dots: Vec<(f64, f64)>,
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 460.0;

/// The least distance of two names, in pixels.
const NAME_HEIGHT: f64 = 17.0;

/// The bounds of both axes: hubs, and what is in use.
const HUBS: (f64, f64) = (3.0, 300.0);
const SHARES: (f64, f64) = (0.003, 30.0);

/// Colours that can be told apart on white and on black, also by the colour-blind (those of Okabe and Ito, two of them darker).
const COLOURS: [&str; 9] =
    ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#808080", "#8a6d00", "#7b61c4"];

const STYLE: &str = "svg{background:#fff;font:13px system-ui,sans-serif}text{fill:#222}.grid{stroke:#ddd}.full{stroke:#222;stroke-dasharray:5 4}\
    .line{fill:none;stroke-width:2.2}\
    @media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.grid{stroke:#30363d}.full{stroke:#e6edf3}}";

fn across(hubs: f64) -> f64 {
    LEFT + (hubs / HUBS.0).ln() / (HUBS.1 / HUBS.0).ln() * (RIGHT - LEFT)
}

fn down(share: f64) -> f64 {
    let share = share.clamp(SHARES.0, SHARES.1);
    BOTTOM - (share / SHARES.0).ln() / (SHARES.1 / SHARES.0).ln() * (BOTTOM - TOP)
}

/// The picture, readable on light and dark pages.
pub fn draw(title: &str, lines: &[Line]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\"/>\n<text x=\"{LEFT}\" y=\"26\" font-weight=\"600\">{title}</text>\n"
    );
    axes(&mut svg);
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let points: Vec<String> = line
            .model
            .iter()
            .map(|(hubs, share)| format!("{:.1},{:.1}", across(*hubs), down(*share)))
            .collect();
        put(
            &mut svg,
            &format!("<polyline class=\"line\" stroke=\"{colour}\" points=\"{}\"/>", points.join(" ")),
        );
        for (hubs, share) in &line.dots {
            let (x, y) = (across(*hubs), down(*share));
            put(&mut svg, &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"));
        }
    }
    names(&mut svg, lines);
    svg.push_str("</svg>\n");
    svg
}

fn axes(svg: &mut String) {
    for (share, class) in [(0.01, "grid"), (0.1, "grid"), (1.0, "full"), (10.0, "grid")] {
        let y = down(share);
        put(
            svg,
            &format!("<line class=\"{class}\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"),
        );
        let (x, y) = (LEFT - 8.0, y + 4.0);
        put(svg, &format!("<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{} %</text>", share * 100.0));
    }
    for hubs in [3.0, 10.0, 30.0, 100.0, 300.0] {
        let x = across(hubs);
        put(svg, &format!("<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>"));
        let y = BOTTOM + 20.0;
        put(svg, &format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{hubs}</text>"));
    }
    let (x, y) = (f64::midpoint(LEFT, RIGHT), BOTTOM + 42.0);
    put(svg, &format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">hubs</text>"));
}

/// Writes each name beside the end of its line, apart from one another.
fn names(svg: &mut String, lines: &[Line]) {
    let end = |line: &Line| line.model.last().map_or(BOTTOM, |(_, share)| down(*share));
    let mut places: Vec<(f64, &str, &str)> = lines
        .iter()
        .zip(COLOURS.iter().cycle())
        .map(|(line, colour)| (end(line), line.name.as_str(), *colour))
        .collect();
    places.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = TOP;
    let x = RIGHT + 12.0;
    for (y, name, colour) in places {
        let y = y.max(free);
        free = y + NAME_HEIGHT;
        let text = y + 4.0;
        put(
            svg,
            &format!(
                "<text x=\"{x}\" y=\"{text:.1}\" style=\"fill:{colour}\" font-weight=\"600\">{name}</text>"
            ),
        );
    }
}

fn put(svg: &mut String, element: &str) {
    svg.push_str(element);
    svg.push('\n');
}
