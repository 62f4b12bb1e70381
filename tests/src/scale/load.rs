//! Who watches and who speaks, and how the system is built that serves them.
#![expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]

/// The audience and the agents, and the hubs between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Hubs that share the log.
    pub hubs: u32,
    /// Agents that run at the moment. Each has one conversation.
    pub agents: u32,
    /// Viewers of all conversations together. Each watches one.
    pub viewers: u32,
    /// Viewers of the first conversation. The others choose by [`Load::exponent`].
    pub favourite: u32,
    /// How skewed the choice is: the conversation of rank r is chosen with a probability that is proportional to r to the minus this.
    pub exponent: f64,
    /// Events of a running agent in a second, on average.
    pub events_per_s: f64,
    /// The design of the hubs and the database.
    pub design: Design,
}

/// What can be built in another way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// The hub that a viewer comes to.
    pub viewers: ViewerRoute,
    /// The hub that a publisher comes to.
    pub publishers: PublisherRoute,
    /// The time between two transactions of a hub, in seconds. All events of a conversation in between are one row.
    pub commit_s: f64,
    /// Databases among which the conversations are divided.
    pub databases: u32,
}

/// The hub that a viewer comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewerRoute {
    /// Any, as a load balancer does that knows nothing of conversations.
    AnyHub,
    /// One of a few for each conversation: the owner, and one hub more for so many viewers.
    FewHubs(u32),
}

/// The hub that a publisher comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublisherRoute {
    /// Any, after its conversation has moved.
    AnyHub,
    /// The owner of its conversation.
    Owner,
}

impl Design {
    /// What is there today: any load balancer, one database, a transaction each 5 ms (`WINDOW` in `server/log/src/queue/group_commit.rs`).
    pub const TODAY: Self = Self {
        viewers: ViewerRoute::AnyHub,
        publishers: PublisherRoute::AnyHub,
        commit_s: 0.005,
        databases: 1,
    };
}

impl Load {
    /// A million viewers and 100,000 running agents, one of which has 100,000 viewers.
    pub const fn million(hubs: u32) -> Self {
        Self {
            hubs,
            agents: 100_000,
            viewers: 1_000_000,
            favourite: 100_000,
            exponent: 1.0,
            events_per_s: 5.0,
            design: Design::TODAY,
        }
    }

    /// Replaces the design.
    #[must_use]
    pub const fn with(self, design: Design) -> Self {
        Self { design, ..self }
    }

    /// How many viewers each conversation has on average, the favourite first.
    pub fn audience(&self) -> Vec<f64> {
        let others = f64::from(self.viewers - self.favourite);
        let weights: Vec<f64> = (1..self.agents).map(|rank| f64::from(rank).powf(-self.exponent)).collect();
        let sum: f64 = weights.iter().sum();
        let mut audience = vec![f64::from(self.favourite)];
        audience.extend(weights.iter().map(|weight| others * weight / sum));
        audience
    }

    /// On how many hubs the viewers of a conversation may be that has so many.
    pub fn spread(&self, viewers: f64) -> f64 {
        match self.design.viewers {
            ViewerRoute::AnyHub => f64::from(self.hubs),
            ViewerRoute::FewHubs(each) => (viewers / f64::from(each)).ceil().clamp(1.0, f64::from(self.hubs)),
        }
    }
}

/// Random numbers, the same for the same seed (`SplitMix64` by Steele, Lea and Flood).
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// Returns a number of 64 random bits.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    ///
    /// # Panics
    /// If `end` is 0.
    pub fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.roll() % u64::from(end)).unwrap_or(0)
    }

    /// A number from 0 to below 1.
    pub fn share(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The time to the next of what happens `rate` times in a second, in seconds.
    pub fn gap(&mut self, rate: f64) -> f64 {
        -(1.0 - self.share()).ln() / rate
    }
}
