//! The simulation, first half: where each conversation, publisher and viewer is.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    reason = "a simulation: numbers of hubs and conversations are computed beside their use, and a wrong one must stop the run"
)]

use super::load::{Dice, Load, PublisherRoute, ViewerRoute};

/// One conversation and who has to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedConversation {
    /// The hub that has it.
    pub owner: u32,
    /// The hub to which its agent is connected.
    pub publisher: u32,
    /// The hubs with viewers of it, in order, each once, and how many viewers there are.
    pub audience: Vec<(u32, u32)>,
}

impl PlacedConversation {
    /// The hubs that follow it.
    pub fn followers(&self) -> impl Iterator<Item = u32> + '_ {
        self.audience.iter().map(|(hub, _)| *hub).filter(|hub| *hub != self.owner)
    }

    /// The number of viewers at all hubs.
    pub fn viewers(&self) -> u64 {
        self.audience.iter().map(|(_, viewers)| u64::from(*viewers)).sum()
    }
}

/// Everybody in a place.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The conversations, the favourite first.
    pub conversations: Vec<PlacedConversation>,
    /// The number of hubs.
    pub hubs: u32,
}

impl Placed {
    /// Puts everybody somewhere: owners and publishers at any hub, viewers as the design of `load` says.
    pub fn new(load: &Load, dice: &mut Dice) -> Self {
        let conversations = choices(load, dice).into_iter().map(|viewers| place(load, viewers, dice));
        Self { conversations: conversations.collect(), hubs: load.hubs }
    }

    /// How many conversations are followed, each counted once for each hub that follows it.
    pub fn follows(&self) -> u64 {
        self.conversations.iter().map(|one| one.followers().count() as u64).sum()
    }

    /// The number of viewers of each hub.
    pub fn viewers(&self) -> Vec<u64> {
        let mut viewers = vec![0; self.hubs as usize];
        for (hub, count) in self.conversations.iter().flat_map(|one| &one.audience) {
            viewers[*hub as usize] += u64::from(*count);
        }
        viewers
    }

    /// How many conversations each hub has in memory: its own, and those that it follows.
    pub fn held(&self) -> Vec<u64> {
        let mut held = vec![0; self.hubs as usize];
        for one in &self.conversations {
            held[one.owner as usize] += 1;
            one.followers().for_each(|hub| held[hub as usize] += 1);
        }
        held
    }

    /// How many links are open, each counted once for each direction in which something is followed.
    pub fn links(&self) -> u64 {
        let hubs = self.hubs as usize;
        let mut open = vec![false; hubs * hubs];
        for one in &self.conversations {
            one.followers().for_each(|hub| open[hub as usize * hubs + one.owner as usize] = true);
        }
        open.iter().filter(|is_open| **is_open).count() as u64
    }
}

/// The number of viewers that chose each conversation.
fn choices(load: &Load, dice: &mut Dice) -> Vec<u32> {
    let mut sums = Vec::new();
    let mut sum = 0.0;
    for rank in 1..load.agents {
        sum += f64::from(rank).powf(-load.exponent);
        sums.push(sum);
    }
    let mut chosen = vec![0; load.agents as usize];
    chosen[0] = load.favourite;
    for _ in load.favourite..load.viewers {
        let at = dice.share() * sum;
        let rank = sums.partition_point(|end| *end <= at).min(sums.len() - 1);
        chosen[rank + 1] += 1;
    }
    chosen
}

/// Places one conversation with so many viewers.
fn place(load: &Load, viewers: u32, dice: &mut Dice) -> PlacedConversation {
    let owner = dice.below(load.hubs);
    let publisher = match load.design.publishers {
        PublisherRoute::AnyHub => dice.below(load.hubs),
        PublisherRoute::Owner => owner,
    };
    let spread = load.spread(f64::from(viewers)) as u32;
    let first = match load.design.viewers {
        ViewerRoute::AnyHub => 0,
        ViewerRoute::FewHubs(_) => owner,
    };
    let mut hubs: Vec<u32> = (0..viewers).map(|_| (first + dice.below(spread)) % load.hubs).collect();
    hubs.sort_unstable();
    let audience = hubs.chunk_by(|one, next| one == next).map(|same| (same[0], same.len() as u32));
    PlacedConversation { owner, publisher, audience: audience.collect() }
}
