//! Recordings and their threads.

use tokio_util::task::TaskTracker;

use super::Recorders;

/// Runs one recording, and gives what it finds.
async fn recorded<T: Send + 'static>(find: impl FnOnce() -> T + Send + 'static) -> T {
    let (recorders, tasks) = (Recorders::default(), TaskTracker::new());
    let (tell, told) = tokio::sync::oneshot::channel();
    recorders.spawn(&tasks, async move { assert!(tell.send(find()).is_ok(), "the test waits") });
    tasks.close();
    tasks.wait().await;
    told.await.expect("what was found")
}

#[tokio::test]
async fn a_recording_runs_on_a_thread_of_its_own_and_the_recorders_end_where_tasks_run() {
    let name = recorded(|| std::thread::current().name().map(String::from)).await;
    assert_eq!(name.as_deref(), Some("recorder"));
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[tokio::test]
async fn a_recording_steps_back_behind_those_that_carry_calls() {
    let rank = || rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("a rank");
    let (here, there) = (rank(), recorded(rank).await);
    // Nobody can stand further back than 19.
    assert_eq!(there, (here + crate::rank::Rank::Recording as i32).min(19));
}
