//! Tests of calls before, while and after a task waits.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use super::*;

async fn woken(wake: &TaskWake) -> bool {
    tokio::time::timeout(Duration::from_secs(5), poll_fn(|context| wake.poll_notified(context))).await.is_ok()
}

#[tokio::test]
async fn a_call_before_the_wait_ends_it_and_only_one_wait() {
    let wake = TaskWake::default();
    wake.notify_one();
    wake.notify_one();
    assert!(woken(&wake).await);
    let mut again = std::pin::pin!(poll_fn(|context| wake.poll_notified(context)));
    assert!(futures_util::poll!(&mut again).is_pending());
    wake.notify_one();
    assert!(futures_util::poll!(&mut again).is_ready());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_another_thread_is_lost() {
    let (there, back) = (Arc::new(TaskWake::default()), Arc::new(TaskWake::default()));
    let other = (Arc::clone(&there), Arc::clone(&back));
    let answers = tokio::spawn(async move {
        for _ in 0..10_000 {
            assert!(woken(&other.0).await, "a call was lost on the way there");
            other.1.notify_one();
        }
    });
    for _ in 0..10_000 {
        there.notify_one();
        assert!(woken(&back).await, "a call was lost on the way back");
    }
    answers.await.unwrap();
}
