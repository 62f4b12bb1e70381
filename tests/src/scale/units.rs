//! What each step costs, and where the figure comes from.

/// Where a figure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Measured; the text names the command or the table.
    Measured(&'static str),
    /// Computed from figures that were measured; the text says how.
    Derived(&'static str),
    /// Nobody has measured it.
    Assumed(&'static str),
}

/// A unit cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// What it is the cost of.
    pub of: &'static str,
    /// How much.
    pub amount: f64,
    /// In what it is counted.
    pub in_units: &'static str,
    /// Where it comes from.
    pub origin: Origin,
}

/// All unit costs. Times are microseconds on one core of the machine of docs/performance.md.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Units {
    /// A frame to a viewer, at a hub that has the event.
    pub delivery: Unit,
    /// An event at its owner: read, folded, appended, acked.
    pub event: Unit,
    /// What storing an event in PostgreSQL adds to it at the hub.
    pub stored: Unit,
    /// A frame from the owner to a follower, at the owner.
    pub link_out: Unit,
    /// The same at the follower: read, folded, kept.
    pub link_in: Unit,
    /// An event that is passed on to its owner, at the hub that passes it on.
    pub passed: Unit,
    /// The CPU of a viewer who connects, at the hub.
    pub join: Unit,
    /// The CPU of beginning to follow a conversation, at owner and follower together.
    pub follow: Unit,
    /// A transaction, at the database.
    pub transaction: Unit,
    /// A row of events in it, at the database.
    pub row: Unit,
    /// A lookup of an owner, at the database.
    pub lookup: Unit,
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

const UNITS_PY: &str = "`units.py`";

impl Units {
    /// The costs that `docs/scale.md` reckons with.
    pub const KNOWN: Self = Self {
        delivery: unit("a delivery to a viewer", 6.5, "µs", Origin::Measured("`hot` in docs/performance.md")),
        event: unit("an event at its owner", 20.0, "µs", Origin::Measured(UNITS_PY)),
        stored: unit("storing it, at the hub", 30.0, "µs", Origin::Measured(UNITS_PY)),
        link_out: unit("a frame to a follower", 10.0, "µs", Origin::Measured(UNITS_PY)),
        link_in: unit("a frame from an owner", 15.0, "µs", Origin::Measured(UNITS_PY)),
        passed: unit("an event passed on", 20.0, "µs", Origin::Assumed("as one that is taken in")),
        join: unit("a viewer who connects", 200.0, "µs", Origin::Measured(UNITS_PY)),
        follow: unit("a follow that begins", 300.0, "µs", Origin::Measured(UNITS_PY)),
        transaction: unit("a transaction, at the database", 300.0, "µs", Origin::Measured(UNITS_PY)),
        row: unit("a row, at the database", 60.0, "µs", Origin::Measured(UNITS_PY)),
        lookup: unit("a lookup of an owner, at the database", 100.0, "µs", Origin::Measured(UNITS_PY)),
        look: unit("a look at the list, at the database", 3_000.0, "µs", Origin::Measured(UNITS_PY)),
        wal: unit("log of the database for a row", 900.0, "bytes", Origin::Measured(UNITS_PY)),
        frame: unit(
            "a frame on the wire",
            300.0,
            "bytes",
            Origin::Derived("an event of 120 bytes, its frame, TCP and IP"),
        ),
        viewer: unit(
            "memory of a viewer",
            7_300.0,
            "bytes",
            Origin::Derived("`idle` in docs/performance.md, and 4 KiB of the kernel"),
        ),
        conversation: unit("memory of a running conversation", 500_000.0, "bytes", Origin::Assumed("x")),
    };

    /// All of them, in the order of the table.
    pub fn all(&self) -> [Unit; 16] {
        [
            self.delivery,
            self.event,
            self.stored,
            self.link_out,
            self.link_in,
            self.passed,
            self.join,
            self.follow,
            self.transaction,
            self.row,
            self.lookup,
            self.look,
            self.wal,
            self.frame,
            self.viewer,
            self.conversation,
        ]
    }
}

impl Default for Units {
    fn default() -> Self {
        Self::KNOWN
    }
}
