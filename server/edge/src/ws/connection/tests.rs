//! The memory of a socket that does nothing.

use super::*;

/// Most bytes of the state of one socket: a size class of the allocator, whose next one is 768.
const STATE_BYTES_MAX: usize = 640;

/// Most bytes of the future of its task, so that it fits with the head of the task into 256.
const FUTURE_BYTES_MAX: usize = 136;

/// Most bytes of its outbox, so that it fits with the counts of its references into 128.
const OUTBOX_BYTES_MAX: usize = 112;

#[test]
fn an_idle_socket_takes_little_memory() {
    fn size_of_result<F: Future>(_: impl Fn(Box<Connection>) -> F) -> usize {
        size_of::<F>()
    }
    let outbox = size_of::<Outbox>();
    let (state, future) = (size_of::<Connection>(), size_of_result(Connection::run));
    assert!(state <= STATE_BYTES_MAX, "the state of a socket takes {state} bytes");
    assert!(outbox <= OUTBOX_BYTES_MAX, "the outbox of a socket takes {outbox} bytes");
    assert!(future <= FUTURE_BYTES_MAX, "the future of its task takes {future} bytes");
}
