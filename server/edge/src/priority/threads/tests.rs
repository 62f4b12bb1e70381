//! What runs on threads of a priority.

use tokio_util::task::TaskTracker;

use super::{ThreadPriority, Threads};

/// Runs one task, and gives what it finds.
async fn found<T: Send + 'static>(find: impl FnOnce() -> T + Send + 'static) -> T {
    let (threads, tasks) = (Threads::new("searcher", ThreadPriority::Recording, 1, 1), TaskTracker::new());
    let (tell, told) = tokio::sync::oneshot::channel();
    threads.spawn(&tasks, async move { assert!(tell.send(find()).is_ok(), "the test waits") });
    tasks.close();
    tasks.wait().await;
    told.await.expect("what was found")
}

#[tokio::test]
async fn a_task_runs_on_a_thread_of_theirs_and_they_end_where_tasks_run() {
    let name = found(|| std::thread::current().name().map(String::from)).await;
    assert_eq!(name.as_deref(), Some("searcher"));
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[tokio::test]
async fn tasks_and_closures_stand_behind_the_threads_that_serve_peers() {
    let priority =
        || rustix::process::getpriority_process(Some(rustix::thread::gettid())).expect("a priority");
    let here = priority();
    let threads = Threads::new("searcher", ThreadPriority::Asked, 1, 1);
    let there = (found(priority).await, threads.run(priority).await.expect("a priority"));
    // Nobody can stand further back than 19.
    let place = |priority: ThreadPriority| (here + priority as i32).min(19);
    assert_eq!(there, (place(ThreadPriority::Recording), place(ThreadPriority::Asked)));
}
