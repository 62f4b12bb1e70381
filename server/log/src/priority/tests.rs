//! Where threads stand.

use super::{ThreadPriority, lower_priority, run_at_priority, run_at_priority_if_large};

/// Of this thread.
fn place() -> i32 {
    rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("a place")
}

/// Of a thread that steps back and that this one starts.
fn place_of_another(then: impl FnOnce() -> i32 + Send + 'static) -> i32 {
    let thread = std::thread::spawn(|| {
        lower_priority(ThreadPriority::Recording);
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

#[test]
fn i8_work_that_is_done_aside_stands_behind_and_its_caller_does_not() {
    let before = place();
    let behind = run_at_priority(ThreadPriority::Asked, place);
    // 19 is the last there is.
    assert_eq!((behind, place()), ((before + 10).min(19), before));
}

#[test]
fn i8_only_work_on_more_than_the_bound_is_done_aside() {
    let here = std::thread::current().id();
    let thread_for =
        |bytes| run_at_priority_if_large(ThreadPriority::Asked, bytes, 100, || std::thread::current().id());
    assert_eq!(thread_for(100), here);
    assert_ne!(thread_for(101), here);
}

#[test]
#[should_panic(expected = "what went wrong")]
fn a_panic_aside_goes_on_in_the_caller() {
    run_at_priority(ThreadPriority::Asked, || panic!("what went wrong"));
}
