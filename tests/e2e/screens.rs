//! Which views there are, and the screens that each of them is pictured on for a person to look at.
//!
//! Addresses with the keys that are pressed there stand in [`crate::access`], whose test pictures each on all [`SCREENS`]. A
//! [`PicturedView`] needs more than an address: something that was published, said or broken before. The test that brings it up calls
//! [`pictured`]. A view that no test pictures is a variant that is never made, which the compiler refuses; no view lacks a
//! screen, since all are taken by one function, of one open page.

use serde_json::Value;
use tests::BrowserPage;
use tests::browser::{DESKTOP, Screen, keeps_pictures};
use tests::installed;

/// A phone.
pub(crate) const NARROW: Screen = Screen { width: 390, height: 844, dark: false };

/// A large screen.
pub(crate) const WIDE: Screen = Screen { width: 2560, height: 1300, dark: false };

/// A desktop window at 200 %, which has half as many pixels of CSS.
pub(crate) const ZOOMED: Screen = Screen { width: 720, height: 450, dark: false };

/// The screens that every view is pictured on.
pub(crate) const SCREENS: [(&str, Screen); 7] = [
    ("light", DESKTOP),
    ("dark", dark(DESKTOP)),
    ("light-narrow", NARROW),
    ("dark-narrow", dark(NARROW)),
    ("light-wide", WIDE),
    ("dark-wide", dark(WIDE)),
    ("zoomed", ZOOMED),
];

/// `screen` in dark colours.
pub(crate) const fn dark(screen: Screen) -> Screen {
    Screen { dark: true, ..screen }
}

/// What is pictured besides the addresses of [`crate::access`]. Its pictures are named after it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PicturedView {
    /// A run with everything in it that goes on.
    Running,
    /// A sub-agent in the panel.
    Agent,
    /// All sub-agents in the panel.
    Agents,
    /// A sub-agent that is opened in its place.
    AgentInPlace,
    /// A call that a sub-agent asks about.
    AgentAsks,
    /// A run of one of the hub's agents that can be stopped.
    Controlled,
    /// A call that a person is asked about.
    Consent,
    /// A run that waits until it asks the model again.
    Waits,
    /// A run that failed and can be tried again.
    Failed,
    /// A message that is changed, for a fork.
    Rewrite,
    /// A question that the hub cannot take now.
    Disconnected,
    /// Files in the composer, before they are sent.
    Attached,
    /// Files of a question that was sent.
    Sent,
    /// Two conversations beside each other.
    Compare,
    /// Two runs beside each other whose calls differ.
    CompareCalls,
    /// Diagrams of an answer.
    Diagrams,
    /// A diagram that could not be drawn.
    DiagramRefused,
    /// Formulas and footnotes of an answer.
    Formulas,
    /// Edits, patches and to-do lists of coding agents.
    Forms,
    /// A file that was read, CSV as a table, and colours of a terminal.
    Lines,
    /// Results in their own form.
    Kinds,
    /// Texts that are read from the right.
    Directions,
    /// A page of a tool before its scripts run.
    EmbedStill,
    /// A page of a tool whose scripts run.
    EmbedLive,
    /// The instructions of a run.
    Instructions,
    /// Questions, headings and failures of a conversation.
    Outline,
    /// The timeline, a row for each call.
    Timeline,
    /// The timeline in lanes.
    Lanes,
    /// The past.
    Replay,
    /// A word that is looked for in a conversation.
    Find,
    /// Commands that are looked for.
    Palette,
    /// What happened since the reader was last there.
    Since,
    /// A run that was rated, with a reason.
    Rating,
    /// Tags and a note of a conversation.
    Label,
    /// The links of a conversation, and the form for one more.
    Share,
    /// A conversation that a link shows.
    Shared,
    /// A link that shows nothing any more.
    SharedOver,
    /// A recording that was dropped on the page.
    Recording,
    /// A run whose publisher is gone.
    Stalled,
    /// A hub whose disk is full.
    DiskFull,
    /// A stream that was published in another dialect.
    WrongDialect,
    /// A part of the page that could not be fetched.
    ModuleMissing,
    /// A hub without a conversation.
    Empty,
    /// The wall.
    Wall,
    /// The wall with 300 running conversations.
    WallFull,
    /// The table of runs.
    Runs,
    /// The dashboard.
    Dashboard,
    /// Runs that are to be deleted together.
    Delete,
    /// A search with hits.
    Search,
    /// The page of the search before anything is looked for.
    SearchEmpty,
    /// A search without a hit, with all that narrows it.
    SearchNothing,
}

impl PicturedView {
    /// The name of its pictures: that of the variant in small letters, with a hyphen before each word but the first.
    fn name(self) -> String {
        let mut name = String::new();
        for sign in format!("{self:?}").chars() {
            if sign.is_ascii_uppercase() && !name.is_empty() {
                name.push('-');
            }
            name.push(sign.to_ascii_lowercase());
        }
        name
    }
}

/// Shows the page on `screen`, and waits until it is drawn and no colour changes any more.
pub(crate) async fn resized(page: &BrowserPage, screen: Screen) {
    page.resize(screen).await;
    let settled = "const frame = () => new Promise(done => requestAnimationFrame(done));
        return frame().then(frame).then(() => Promise.allSettled(document.getAnimations()
            .filter(it => it instanceof CSSTransition).map(it => it.finished))).then(frame).then(() => null)";
    page.run(settled).await;
}

/// Pictures `view`, which `page` shows, on all [`SCREENS`]. It scrolls sideways on none of them, and axe finds no barrier in it.
/// Afterwards the page is a desktop window again.
pub(crate) async fn pictured(page: &BrowserPage, view: PicturedView) {
    pictured_in(page, view, None).await;
}

/// As [`pictured`], in windows that are `height` pixels high, so that all of a long view is in the picture.
pub(crate) async fn pictured_high(page: &BrowserPage, view: PicturedView, height: u32) {
    pictured_in(page, view, Some(height)).await;
}

async fn pictured_in(page: &BrowserPage, view: PicturedView, height: Option<u32>) {
    let name = view.name();
    for (looks, screen) in screens() {
        resized(page, Screen { height: height.unwrap_or(screen.height), ..screen }).await;
        page.screenshot(&format!("{name}-{looks}")).await;
        let overflow = page.run("return document.documentElement.scrollWidth - innerWidth").await;
        assert!(
            overflow.as_i64().is_some_and(|px| px <= 0),
            "{name}-{looks} scrolls sideways by {overflow} px"
        );
        // The other screens have the same elements.
        if screen.width == DESKTOP.width {
            assert_eq!(barriers_on(page, screen).await, Vec::<String>::new(), "{name}-{looks}");
        }
    }
    resized(page, DESKTOP).await;
}

/// The [`SCREENS`] that are gone through: without pictures those in dark colours show nothing that the same ones in light do not, but one,
/// on which colours are looked at.
pub(crate) fn screens() -> impl Iterator<Item = (&'static str, Screen)> {
    let is_needed = |screen: &Screen| !screen.dark || screen.width == DESKTOP.width || keeps_pictures();
    SCREENS.into_iter().filter(move |(_, screen)| is_needed(screen))
}

/// What axe finds on the page, which `screen` shows: its rule, where, and why. In dark colours only what is about colours, since the elements
/// are those of the light ones. Nothing if axe is not installed.
pub(crate) async fn barriers_on(page: &BrowserPage, screen: Screen) -> Vec<String> {
    looked_for(page, if screen.dark { "{runOnly: ['color-contrast', 'link-in-text-block']}" } else { "{}" })
        .await
}

/// What axe finds on the page. Nothing if axe is not installed.
pub(crate) async fn barriers(page: &BrowserPage) -> Vec<String> {
    looked_for(page, "{}").await
}

/// What axe finds with these options, as JavaScript.
async fn looked_for(page: &BrowserPage, options: &str) -> Vec<String> {
    let Some(packages) = installed::node_modules_or_advice() else { return Vec::new() };
    if page.run("return typeof axe").await == "undefined" {
        let axe = std::fs::read_to_string(packages.join("axe-core/axe.min.js")).expect("axe");
        page.run(&format!("{axe}\n;return null")).await;
    }
    let look = format!(
        "return axe.run(document, {options}).then(found => found.violations.flatMap(rule => rule.nodes.map(node =>
        `${{rule.id}}: ${{node.html.slice(0, 160)}}: ${{node.failureSummary}}`)))"
    );
    let found = page.run(&look).await;
    let found = found.as_array().expect("what axe says").iter();
    found.filter_map(Value::as_str).map(str::to_owned).collect()
}
