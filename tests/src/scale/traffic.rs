//! The simulation, second half: each agent speaks for some seconds at random times, and every step that follows is counted at the hub
//! that makes it.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    reason = "a simulation: numbers of hubs and windows are computed beside their use, and a wrong one must stop the run"
)]

use super::closed::{OWNER_KNOWN_S, ROWS_EVERY_S};
use super::load::{Dice, Load};
use super::placed::{Placed, PlacedConversation};

/// Steps in a second, of one hub or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Steps {
    /// Events that an owner takes in.
    pub events: f64,
    /// Events that come to another hub than the owner, and are passed on.
    pub passed: f64,
    /// Events that an owner makes ready for its followers, each once for however many of them.
    pub linked: f64,
    /// Frames of followed conversations from an owner to a follower.
    pub link_frames: f64,
    /// Events that a hub makes ready for its viewers, each once for however many of them.
    pub shown: f64,
    /// Frames from hubs to viewers.
    pub deliveries: f64,
    /// Transactions that store events.
    pub transactions: f64,
    /// Rows of events in them.
    pub rows: f64,
    /// Reads of who has a conversation, for publishers at another hub.
    pub lookups: f64,
    /// Queries for the newest rows of the list.
    pub looks: f64,
    /// Conversations that are followed, each counted at each hub that follows it. Not per second.
    pub follows: f64,
}

/// What happens at one hub in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HubSteps {
    /// What it does itself. `link_frames` are those that it sends.
    pub steps: Steps,
    /// Frames of followed conversations that it gets.
    pub link_frames_in: f64,
    /// Events that other hubs pass on to it.
    pub passed_in: f64,
}

/// What the simulation has counted.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The steps of all hubs together.
    pub all: Steps,
    /// The steps of each hub.
    pub hubs: Vec<HubSteps>,
}

/// What one agent did.
struct AgentTraffic {
    events: f64,
    rows: f64,
    lookups: f64,
}

/// Lets all agents of `placed` speak for `seconds` and counts what follows, for each second.
pub fn simulated(load: &Load, placed: &Placed, seconds: f64, dice: &mut Dice) -> Counted {
    let windows = (seconds / load.design.commit_s).ceil() as usize;
    let mut hubs = vec![HubSteps::default(); load.hubs as usize];
    let databases = load.design.databases as usize;
    // Which transactions of each hub at each database have something to store.
    let mut used = vec![false; windows * databases * load.hubs as usize];
    for (number, one) in placed.conversations.iter().enumerate() {
        let writer = one.owner as usize * databases + number % databases;
        let of_owner = &mut used[writer * windows..][..windows];
        let said = speak(load, one, (seconds, of_owner), dice);
        count(one, &said, &mut hubs);
    }
    let mut all = Steps { follows: placed.follows() as f64, ..Steps::default() };
    for (number, hub) in hubs.iter_mut().enumerate() {
        let of_hub = &used[number * databases * windows..][..databases * windows];
        let stored = of_hub.iter().filter(|is_used| **is_used).count();
        hub.steps.transactions = stored as f64;
        hub.scale(1.0 / seconds);
        hub.steps.looks = 1.0 / ROWS_EVERY_S;
        all.add(&hub.steps);
    }
    Counted { all, hubs }
}

/// One agent speaks. Marks the windows of its owner in which something is stored.
fn speak(
    load: &Load,
    one: &PlacedConversation,
    (seconds, used): (f64, &mut [bool]),
    dice: &mut Dice,
) -> AgentTraffic {
    let mut said = AgentTraffic { events: 0.0, rows: 0.0, lookups: 0.0 };
    let (mut last_window, unknown_s) = (usize::MAX, 1.0 / load.events_per_s);
    // The first second finds what any other finds: somewhere between two lookups.
    let mut known_until = dice.share() * (OWNER_KNOWN_S + unknown_s) - unknown_s;
    let mut now = dice.gap(load.events_per_s);
    while now < seconds {
        said.events += 1.0;
        let window = ((now / load.design.commit_s) as usize).min(used.len() - 1);
        if window != last_window {
            said.rows += 1.0;
            last_window = window;
            used[window] = true;
        }
        if one.publisher != one.owner && now >= known_until {
            said.lookups += 1.0;
            known_until = now + OWNER_KNOWN_S;
        }
        now += dice.gap(load.events_per_s);
    }
    said
}

/// Counts what follows from what one agent said.
fn count(one: &PlacedConversation, said: &AgentTraffic, hubs: &mut [HubSteps]) {
    let owner = &mut hubs[one.owner as usize];
    owner.steps.events += said.events;
    owner.steps.rows += said.rows;
    if one.publisher != one.owner {
        owner.passed_in += said.events;
        let publisher = &mut hubs[one.publisher as usize].steps;
        publisher.passed += said.events;
        publisher.lookups += said.lookups;
    }
    if one.followers().next().is_some() {
        hubs[one.owner as usize].steps.linked += said.events;
    }
    for (hub, viewers) in &one.audience {
        hubs[*hub as usize].steps.shown += said.events;
        hubs[*hub as usize].steps.deliveries += said.events * f64::from(*viewers);
        if *hub != one.owner {
            hubs[one.owner as usize].steps.link_frames += said.events;
            hubs[*hub as usize].link_frames_in += said.events;
            hubs[*hub as usize].steps.follows += 1.0;
        }
    }
}

impl HubSteps {
    /// Makes rates of counts.
    fn scale(&mut self, by: f64) {
        let steps = &mut self.steps;
        for count in [
            &mut steps.events,
            &mut steps.passed,
            &mut steps.linked,
            &mut steps.link_frames,
            &mut steps.shown,
            &mut steps.deliveries,
            &mut steps.transactions,
            &mut steps.rows,
            &mut steps.lookups,
            &mut self.link_frames_in,
            &mut self.passed_in,
        ] {
            *count *= by;
        }
    }
}

impl Steps {
    /// Adds the rates of one hub.
    fn add(&mut self, hub: &Self) {
        self.events += hub.events;
        self.passed += hub.passed;
        self.linked += hub.linked;
        self.link_frames += hub.link_frames;
        self.shown += hub.shown;
        self.deliveries += hub.deliveries;
        self.transactions += hub.transactions;
        self.rows += hub.rows;
        self.lookups += hub.lookups;
        self.looks += hub.looks;
    }

    /// The rates by name, for tables and comparisons.
    pub fn named(&self) -> [(&'static str, f64); 11] {
        [
            ("events taken in", self.events),
            ("events passed on", self.passed),
            ("events made ready for followers", self.linked),
            ("frames between hubs", self.link_frames),
            ("events made ready for viewers", self.shown),
            ("deliveries", self.deliveries),
            ("transactions that store", self.transactions),
            ("rows of events", self.rows),
            ("reads of owners", self.lookups),
            ("looks at the list", self.looks),
            ("conversations followed", self.follows),
        ]
    }

    /// The largest difference between these rates and `other`, by `other`.
    pub fn differs_from(&self, other: &Self) -> f64 {
        let pairs = self.named().into_iter().zip(other.named());
        pairs
            .map(|((_, is), (_, should))| if should == 0.0 { is } else { (is / should - 1.0).abs() })
            .fold(0.0, f64::max)
    }
}
