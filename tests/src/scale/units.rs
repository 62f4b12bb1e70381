//! What each step costs, and where the figure comes from.

/// The origin of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Measured; the text names the command or the table.
    Measured(&'static str),
    /// Computed from figures that were measured; the text says how.
    Derived(&'static str),
    /// Not measured; the text says why it is taken to be so.
    Assumed(&'static str),
}

/// A unit cost and its origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// What it is the cost of.
    pub of: &'static str,
    /// The cost, in `in_units`.
    pub amount: f64,
    /// The unit in which it is counted.
    pub in_units: &'static str,
    /// The origin of the figure.
    pub origin: Origin,
}

/// All unit costs. Times are microseconds on one core.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Units {
    /// An event at its owner: read, folded, appended, acked.
    pub event: Unit,
    /// A row of events, at the hub.
    pub stored: Unit,
    /// A transaction, at the hub.
    pub storing: Unit,
    /// An event made ready for the viewers of a hub: joined, written as a frame, their task woken.
    pub shown: Unit,
    /// A frame to a viewer.
    pub delivery: Unit,
    /// An event made ready for the followers of a conversation.
    pub linked: Unit,
    /// A frame to a follower, at the owner.
    pub link_out: Unit,
    /// A frame from an owner, at the follower: read, folded, kept.
    pub link_in: Unit,
    /// An event that is passed on to its owner, at the hub that passes it on: with its ack, without lookups.
    pub passed: Unit,
    /// A viewer who connects, at the hub.
    pub join: Unit,
    /// Beginning to follow a conversation, at owner and follower together.
    pub follow: Unit,
    /// A transaction, at the database.
    pub transaction: Unit,
    /// A row of events in it, at the database.
    pub row: Unit,
    /// A lookup of an owner that another hub is, at the hub that asks: a plain read.
    pub asked: Unit,
    /// A lookup of an owner, at the database.
    pub lookup: Unit,
    /// A claim, at the database: a transaction with a lock. Measured of one that finds another owner; one that takes the conversation changes one or two
    /// rows more.
    pub claim: Unit,
    /// A look at the list, at the database.
    pub look: Unit,
    /// The log of the database for each row, in bytes.
    pub wal: Unit,
    /// A frame on the wire, to a viewer or another hub, in bytes.
    pub frame: Unit,
    /// Memory of a viewer, in bytes.
    pub viewer: Unit,
    /// Memory of a running conversation, at its owner and at each follower, in bytes.
    pub conversation: Unit,
}

const fn unit(of: &'static str, amount: f64, in_units: &'static str, origin: Origin) -> Unit {
    Unit { of, amount, in_units, origin }
}

/// The runs that are told of in `docs/scale.md`.
const RUN: Origin = Origin::Measured("`units.py`");

impl Units {
    /// The costs that `docs/scale.md` reckons with.
    pub const KNOWN: Self = Self {
        event: unit("an event at its owner", 29.5, "µs", RUN),
        stored: unit("a row, at the hub", 20.0, "µs", RUN),
        storing: unit("a transaction, at the hub", 600.0, "µs", RUN),
        shown: unit("an event made ready for the viewers of a hub", 12.2, "µs", RUN),
        delivery: unit("a frame to a viewer", 9.0, "µs", RUN),
        linked: unit("an event made ready for followers", 16.7, "µs", RUN),
        link_out: unit("a frame to a follower", 8.7, "µs", RUN),
        link_in: unit("a frame from an owner", 7.2, "µs", RUN),
        passed: unit(
            "an event passed on to its owner, without lookups",
            38.0,
            "µs",
            Origin::Derived(
                "71 µs with its share of claims (`units.py`), less 0.2 claims of 166 µs (`pgbench`)",
            ),
        ),
        join: unit("a viewer who connects", 410.0, "µs", RUN),
        follow: unit("a follow that begins, at both hubs", 750.0, "µs", RUN),
        transaction: unit("a transaction, at the database", 1_000.0, "µs", RUN),
        row: unit("a row, at the database", 46.0, "µs", RUN),
        asked: unit(
            "a read of an owner, at the hub",
            107.0,
            "µs",
            Origin::Assumed("what the same three round trips cost `pgbench`"),
        ),
        lookup: unit(
            "a read of an owner, at the database",
            140.0,
            "µs",
            Origin::Derived("370 µs of a claim (`units.py`), times 0.38 (`pgbench`)"),
        ),
        claim: unit("a claim, at the database", 370.0, "µs", RUN),
        look: unit("a look at the list, at the database", 1_100.0, "µs", RUN),
        wal: unit("log of the database for a row", 1_750.0, "bytes", RUN),
        frame: unit(
            "a frame on the wire",
            310.0,
            "bytes",
            Origin::Derived("an event of 120 bytes, 124 of its frame, 66 of Ethernet, IP and TCP"),
        ),
        viewer: unit(
            "memory of a viewer",
            7_400.0,
            "bytes",
            Origin::Derived(
                "3.19 KiB (`idle` in docs/performance.md), and 4 KiB of the kernel, which are assumed",
            ),
        ),
        conversation: unit(
            "memory of a running conversation",
            600_000.0,
            "bytes",
            Origin::Derived(
                "356 bytes for each event (`units.py`) of which 1,500 are assumed, and 60 KB for those who watch",
            ),
        ),
    };

    /// All of them, in the order of the table.
    pub fn all(&self) -> [Unit; 21] {
        [
            self.event,
            self.stored,
            self.storing,
            self.shown,
            self.delivery,
            self.linked,
            self.link_out,
            self.link_in,
            self.passed,
            self.join,
            self.follow,
            self.transaction,
            self.row,
            self.asked,
            self.lookup,
            self.claim,
            self.look,
            self.wal,
            self.frame,
            self.viewer,
            self.conversation,
        ]
    }
}
