//! Answers to what was published through this hub to another one. They go to the publisher's socket as if
//! this hub had given them; a publisher whose answer will not come is closed, and publishes again what was
//! not acked (I10).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hub::{Outbox, wire};
use model::code::ErrorCode;
use model::frame::{Ack, Pub, ServerFrame};
use parking_lot::Mutex;

/// What a publisher's socket and the tasks that pass its frames on have in common. Lives as long as one of
/// them.
#[derive(Debug)]
pub(crate) struct PublisherLine {
    /// The socket's outbox, for answers and to wake its task.
    outbox: Arc<Outbox>,
    /// Frames that are not passed on yet.
    queued: AtomicUsize,
    /// Frames that were passed on and not answered.
    unanswered: AtomicUsize,
    /// Whether an answer will not come: the publisher must come back and publish again.
    lost: AtomicBool,
    /// Frames of conversations that are this hub's after all.
    returned: Mutex<Vec<Pub>>,
}

impl PublisherLine {
    /// Makes a line to the socket behind `outbox`.
    pub(crate) fn new(outbox: &Arc<Outbox>) -> Self {
        Self {
            outbox: Arc::clone(outbox),
            queued: AtomicUsize::new(0),
            unanswered: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
            returned: Mutex::default(),
        }
    }

    /// Counts a frame that waits to be passed on.
    pub(crate) fn queue(&self) {
        self.queued.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether frames wait to be passed on, so that later ones must wait behind them.
    pub(crate) fn is_queued(&self) -> bool {
        self.queued.load(Ordering::Acquire) > 0
    }

    /// The number of frames that have no answer yet.
    pub(crate) fn open(&self) -> usize {
        self.queued.load(Ordering::Acquire) + self.unanswered.load(Ordering::Acquire)
    }

    /// Makes the reply for the frame with the client's number `id`, which is passed on now.
    pub(crate) fn reply(self: &Arc<Self>, id: u64) -> Reply {
        self.unanswered.fetch_add(1, Ordering::AcqRel);
        self.queued.fetch_sub(1, Ordering::AcqRel);
        Reply { line: Arc::clone(self), id, is_answered: false }
    }

    /// Gives a frame back to its socket: its conversation is this hub's.
    pub(crate) fn give_back(&self, publication: Pub) {
        self.returned.lock().push(publication);
        self.outbox.wake.notify_one();
    }

    /// Takes the frames that were given back, in order.
    pub(crate) fn take_returned(&self) -> Vec<Pub> {
        let returned = std::mem::take(&mut *self.returned.lock());
        self.queued.fetch_sub(returned.len(), Ordering::AcqRel);
        returned
    }

    /// Notes that answers will not come.
    pub(crate) fn lose(&self) {
        self.lost.store(true, Ordering::Release);
        self.outbox.wake.notify_one();
    }

    /// Whether answers will not come.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }
}

/// The answer that a publisher waits for. Dropping it without one makes the publisher publish again.
#[derive(Debug)]
pub(crate) struct Reply {
    line: Arc<PublisherLine>,
    /// The number that the client gave the frame.
    id: u64,
    is_answered: bool,
}

impl Reply {
    /// The owner has taken the frame.
    pub(crate) fn ack(self, ack: Ack) {
        let id = self.id;
        self.answer(&ServerFrame::Ack(Ack { id, ..ack }));
    }

    /// The owner has refused the frame. If it is not the owner any more, the publisher publishes again.
    pub(crate) fn refuse(self, code: ErrorCode, message: String, expected: Option<u64>) {
        if code != ErrorCode::Elsewhere {
            let id = Some(self.id);
            self.answer(&ServerFrame::Error { sub: None, id, code, message, expected });
        }
    }

    fn answer(mut self, frame: &ServerFrame) {
        self.is_answered = true;
        self.line.outbox.queue([wire::text(frame)]);
        self.line.outbox.wake.notify_one();
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.line.unanswered.fetch_sub(1, Ordering::AcqRel);
        if !self.is_answered {
            self.line.lose();
        }
    }
}
