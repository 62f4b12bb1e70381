//! Where threads stand.

use super::{Rank, step_back};

/// Of this thread.
fn place() -> i32 {
    rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("a place")
}

/// Of a thread that steps back and that this one starts.
fn place_of_another(then: impl FnOnce() -> i32 + Send + 'static) -> i32 {
    let thread = std::thread::spawn(|| {
        step_back(Rank::Recording);
        then()
    });
    thread.join().expect("a thread")
}

#[test]
fn a_thread_that_one_behind_the_others_starts_stands_beside_it() {
    let first = place_of_another(place);
    let second = place_of_another(|| place_of_another(place));
    assert_eq!(second, first);
}
