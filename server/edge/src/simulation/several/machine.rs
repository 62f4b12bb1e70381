//! A machine with a hub, which can be killed, stopped in order, paused and cut off. What a life of the hub consists of is real but for its
//! sockets and its database; it has a runtime of its own, so that nothing of it runs while it is paused.

use std::sync::Arc;
use std::time::Duration;

use event_log::{EventLog, ModelDatabase, ModelLog, Progress, Ticket};
use hub::{Conversation, Fanout, Hub, MemoryBounds};
use tokio::runtime::Runtime;
use tokio_util::task::TaskTracker;

/// How long a hub counts as alive after it last said so.
pub(super) const LEASE: Duration = Duration::from_secs(3);

/// Most bytes that wait in a hub to be written.
const QUEUE_BYTES: usize = 32 << 10;

/// A machine, and the hub that runs on it.
#[derive(Debug)]
pub(super) struct Machine {
    /// The address under which other hubs reach it.
    pub(super) address: String,
    /// The hub on the machine; `None` while it is dead.
    pub(super) rig: Option<HubRig>,
    /// Until when it is paused, by the time of the world in milliseconds.
    pub(super) paused_until: Option<u64>,
    /// Whether its clock stands still while it is paused, as where the whole machine is suspended.
    pub(super) is_suspended: bool,
    /// Whether it is cut off from the database.
    pub(super) is_cut: bool,
}

/// A life of a hub.
#[derive(Debug)]
pub(super) struct HubRig {
    pub(super) hub: Arc<Hub>,
    pub(super) fanout: Fanout,
    pub(super) log: Arc<ModelLog>,
    /// What it has lost the link of, and goes on with.
    pub(super) recovering: Vec<Arc<Conversation>>,
    /// What it gives up, each until the ticket is reached, and the machine of the hub that is to have it.
    pub(super) leaving: Vec<(Arc<Conversation>, Ticket, usize)>,
    /// Promotions that had lost something when it began.
    pub(super) losses: u64,
    /// Whether its clock ever stood still.
    pub(super) was_suspended: bool,
    /// Where its pumps run. Last, so that they end after all that uses them.
    pub(super) runtime: Runtime,
}

impl Machine {
    /// A machine whose hub does not run yet.
    pub(super) fn new(number: usize) -> Self {
        let address = format!("http://127.0.0.1:{}", number + 1);
        Self { address, rig: None, paused_until: None, is_suspended: false, is_cut: false }
    }

    /// Starts the hub, if the database answers.
    pub(super) fn start(&mut self, database: &Arc<ModelDatabase>) {
        if self.is_cut {
            return;
        }
        let Ok(log) = ModelLog::open(database, &self.address, LEASE, QUEUE_BYTES) else { return };
        let log = Arc::new(log);
        let as_log: Arc<dyn EventLog> = Arc::<ModelLog>::clone(&log);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let runtime = runtime.unwrap();
        let hub = Arc::new(Hub::new(as_log));
        let fanout = {
            let _in_it = runtime.enter();
            Fanout::new(Arc::clone(&hub), TaskTracker::new(), Duration::from_secs(20))
        };
        let (losses, recovering, leaving) = (database.losses(), Vec::new(), Vec::new());
        self.rig =
            Some(HubRig { hub, fanout, log, recovering, leaving, losses, was_suspended: false, runtime });
    }

    /// The hub, if it runs at present.
    pub(super) fn running(&self) -> Option<&HubRig> {
        self.rig.as_ref().filter(|_| self.paused_until.is_none())
    }

    /// The number of the hub's life; nothing while it is dead.
    pub(super) fn life(&self) -> Option<i64> {
        self.rig.as_ref().map(|rig| rig.log.life())
    }

    /// Time passes on the machine, in milliseconds.
    pub(super) fn pass(&mut self, ms: u64) {
        let stands = self.is_suspended && self.paused_until.is_some();
        if let Some(rig) = self.rig.as_mut() {
            rig.was_suspended |= stands;
            if !stands {
                rig.log.pass(ms);
            }
        }
        if let Some(rig) = self.running() {
            rig.runtime.block_on(tokio::time::advance(Duration::from_millis(ms)));
        }
    }

    /// Cuts it off from the database.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
        if let Some(rig) = &self.rig {
            rig.log.cut();
        }
    }

    /// Connects the machine with the database again.
    pub(super) fn reconnect(&mut self) {
        self.is_cut = false;
        if let Some(rig) = &self.rig {
            rig.log.reconnect();
        }
    }
}

impl HubRig {
    /// The progress of its log.
    pub(super) fn progress(&self) -> Progress {
        self.log.progress().borrow().clone()
    }

    /// Does the upkeep of the hub at the time `now`.
    pub(super) fn keep_up(&self, now: u64) {
        let idle = Duration::from_secs(30);
        self.hub.keep_up(now, MemoryBounds { conversations: 1_000, bytes: 1 << 30, idle });
    }

    /// Does something in its runtime, and lets its tasks run until they wait.
    pub(super) fn run<T>(&self, work: impl FnOnce(&Self) -> T) -> T {
        self.runtime.block_on(async {
            let done = work(self);
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            done
        })
    }

    /// Ends in good order: everything is written, as far as it can be.
    pub(super) fn close(&self) {
        self.run(|rig| {
            rig.hub.release_all_withheld();
            rig.hub.tell_rows();
            rig.hub.heal();
            // Where the database does not answer it says what it did not write, which nobody was promised.
            drop(rig.log.close());
        });
    }
}
