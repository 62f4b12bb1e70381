//! Diagrams in the language of Mermaid: which blocks are some, what may be asked of the frame that draws them, and what its answers mean.
//!
//! ```text
//! block ─▶ refused(): larger than DIAGRAM_BYTES_MAX? ─▶ frame (web/diagrams.js) ─▶ JSON ─▶ answer(): Ready, Drawn, Refused
//! ```
//!
//! The frame runs a large library on what a model wrote, so its answers are taken for untrusted: they are bounded, and a drawing becomes
//! an image, in which nothing runs and which loads nothing.

use serde::Deserialize;

mod kept;

pub use kept::{KEPT_BYTES_MAX, KEPT_MAX, KeptDrawings, Outcome};

/// The largest source of a diagram that is drawn, in bytes. Some browsers run the frame on the page's own thread, so this bounds how long the page
/// may stand still.
pub const DIAGRAM_BYTES_MAX: usize = 8 << 10;

/// The longest answer of the frame, in UTF-16 units and in bytes: both drawings of a diagram.
pub const ANSWER_BYTES_MAX: usize = 1 << 20;

/// The largest side of a drawing, in pixels.
pub const SIDE_MAX: u32 = 20_000;

/// How long a diagram may take, in milliseconds, in a frame that has drawn before. Slow and busy machines get theirs too.
pub const DRAW_MS_MAX: i32 = 15_000;

/// Why a diagram is not drawn that took longer than [`DRAW_MS_MAX`]. It may be drawn when it is tried again: the machine was busy.
pub const LATE: &str = "it took longer than 15 seconds";

/// The most characters of a drawing's description.
const WORDS_MAX: usize = 400;

/// The most characters of a reason.
const REASON_MAX: usize = 200;

/// A message of the frame that draws diagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The frame can draw.
    Ready,
    /// The diagram with this number is drawn.
    Drawn(u32, Drawing),
    /// The diagram with this number cannot be drawn, and why, in a line.
    Refused(u32, String),
}

/// A drawn diagram: its SVG documents for light and dark colours, its size, and what it shows in words. Kept within bounds, for texts that are built anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// The SVG document for light colours.
    pub light: String,
    /// The one for dark colours; empty if the diagram has colours of its own, which are meant for light paper.
    pub dark: String,
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// What it shows, for readers who do not see it.
    pub words: String,
}

/// An answer as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    ready: bool,
    number: Option<u32>,
    why: Option<String>,
    light: String,
    dark: String,
    width: f64,
    height: f64,
    kind: String,
    told: String,
    words: String,
}

/// Whether a code block of this language is a diagram.
pub fn is_diagram(language: &str) -> bool {
    matches!(language, "mermaid" | "mmd")
}

/// Why a source is not drawn; `None` if it may be tried.
pub fn refused(source: &str) -> Option<String> {
    (source.len() > DIAGRAM_BYTES_MAX).then(|| {
        format!(
            "it has {} KiB, and diagrams of up to {} KiB are drawn",
            source.len() >> 10,
            DIAGRAM_BYTES_MAX >> 10
        )
    })
}

/// What an answer of more than `ANSWER_BYTES_MAX` means, of which `beginning` is read. `None` if it is none.
pub fn too_large(beginning: &str) -> Option<Answer> {
    let number = number_of(beginning)?;
    Some(Answer::Refused(number, "its drawing is larger than 1 MiB".to_owned()))
}

/// Reads an answer. `None` if it is none.
pub fn answer(json: &str) -> Option<Answer> {
    if json.len() > ANSWER_BYTES_MAX {
        return too_large(json);
    }
    let written: Written = serde_json::from_str(json).ok()?;
    if written.ready {
        return Some(Answer::Ready);
    }
    let number = written.number?;
    if let Some(why) = &written.why {
        return Some(Answer::Refused(number, cut(why, REASON_MAX)));
    }
    let (Some(width), Some(height)) = (side(written.width), side(written.height)) else {
        return Some(Answer::Refused(number, format!("its drawing is empty or over {SIDE_MAX} pixels")));
    };
    let words = words(&written);
    let Written { light, dark, .. } = written;
    Some(Answer::Drawn(number, Drawing { light, dark, width, height, words }))
}

/// The number at the beginning of an answer that is not read as a whole.
fn number_of(json: &str) -> Option<u32> {
    let (_, rest) = json.split_once("{\"number\":")?;
    rest.split_once(|it: char| !it.is_ascii_digit())?.0.parse().ok()
}

/// A side in whole pixels; `None` if it is none or too large.
fn side(pixels: f64) -> Option<u32> {
    let is_side = pixels.is_finite() && pixels > 0.0 && pixels <= f64::from(SIDE_MAX);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to SIDE_MAX")]
    is_side.then(|| pixels.ceil() as u32)
}

/// What a drawing shows: the kind of diagram, then what its author says of it (`accTitle`, `accDescr`), else the words in it.
fn words(written: &Written) -> String {
    let kind = match written.kind.as_str() {
        "flowchart-v2" | "flowchart" => "Flowchart",
        "sequence" => "Sequence diagram",
        "stateDiagram" => "State diagram",
        "class" | "classDiagram" => "Class diagram",
        "er" => "Entity relationship diagram",
        "gantt" => "Gantt chart",
        _ => "Diagram",
    };
    let said = if written.told.is_empty() { &written.words } else { &written.told };
    if said.is_empty() { kind.to_owned() } else { format!("{kind}: {}", cut(said, WORDS_MAX)) }
}

/// The text on one line, with at most `most` characters.
fn cut(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    //! What is asked of the frame, and what is made of its answers.

    use super::*;

    fn drawn(more: &str) -> Option<Answer> {
        answer(&format!(
            "{{\"number\":7,\"light\":\"<svg/>\",\"dark\":\"\",\"width\":10.2,\"height\":20{more}}}"
        ))
    }

    #[test]
    fn only_small_sources_are_asked_for() {
        assert_eq!(refused(&"a".repeat(DIAGRAM_BYTES_MAX)), None);
        let why = refused(&"a".repeat(DIAGRAM_BYTES_MAX + 1)).unwrap();
        assert_eq!(why, "it has 8 KiB, and diagrams of up to 8 KiB are drawn");
        let nodes: Vec<_> = (0..100_000).map(|at| format!("N{at} --> N{}\n", at + 1)).collect();
        let nodes = nodes.concat();
        assert!(refused(&nodes).is_some_and(|why| why.starts_with("it has 1")));
        assert!(is_diagram("mermaid") && is_diagram("mmd") && !is_diagram("rust"));
    }

    #[test]
    fn a_drawing_says_what_it_shows() {
        let Some(Answer::Drawn(7, it)) = drawn(",\"kind\":\"flowchart-v2\",\"words\":\"Start,\\n End\"")
        else {
            panic!("drawn")
        };
        assert_eq!((it.width, it.height, it.words.as_str()), (11, 20, "Flowchart: Start, End"));
        let Some(Answer::Drawn(_, it)) = drawn(",\"kind\":\"pie\",\"told\":\"Sales\",\"words\":\"a, b\"")
        else {
            panic!("drawn")
        };
        assert_eq!(it.words, "Diagram: Sales");
        let Some(Answer::Drawn(_, it)) = drawn(&format!(",\"words\":\"{}\"", "ö".repeat(1_000))) else {
            panic!("drawn")
        };
        assert_eq!(it.words.chars().count(), "Diagram: ".len() + WORDS_MAX + 1);
    }

    #[test]
    fn answers_that_are_none_say_nothing_and_those_that_are_too_much_are_refused() {
        assert_eq!(answer("{\"ready\":true}"), Some(Answer::Ready));
        for nothing in ["", "7", "{}", "{\"number\":-1}", "{\"number\":\"7\"}", "[1]"] {
            assert_eq!(answer(nothing), None, "{nothing}");
        }
        let why = |answer: Option<Answer>| match answer {
            Some(Answer::Refused(7, why)) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(answer("{\"number\":7,\"why\":\"a\\n  b\"}")), "a b");
        assert_eq!(
            why(answer(&format!("{{\"number\":7,\"why\":\"{}\"}}", "x".repeat(999)))).chars().count(),
            REASON_MAX + 1
        );
        assert!(why(answer("{\"number\":7,\"light\":\"\",\"width\":0,\"height\":1}")).contains("empty"));
        assert!(why(answer("{\"number\":7,\"width\":20001,\"height\":1}")).contains("20000 pixels"));
        let long = format!("{{\"number\":7,\"light\":\"{}\"}}", "x".repeat(ANSWER_BYTES_MAX));
        assert!(why(answer(&long)).contains("1 MiB"));
        assert!(why(too_large("{\"number\":7,\"light")).contains("1 MiB"));
        assert_eq!(too_large("xxx"), None);
    }
}
