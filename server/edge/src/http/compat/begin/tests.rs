//! Tests of callers who begin runs while the disk is slow.

use event_log::EventLog;
use hub::blocking_log::BlockingLog;

use super::*;
use crate::access::Gate;
use crate::config::Config;

/// How long a caller may take who waits for nobody.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A hub over `log`, without agents. The conversation `d` is in memory, and what was said before it started was read.
async fn hub_over(log: &Arc<BlockingLog>) -> Arc<Shared> {
    let under: Arc<dyn EventLog> = Arc::<BlockingLog>::clone(log);
    let shared = Shared::over(under, Config::default(), Gate::default(), None, None);
    shared.hub.open(&ConversationId::parse("d").unwrap()).unwrap();
    assert_eq!(asks(Arc::clone(&shared), "d").await, ErrorCode::UnknownAgent);
    shared
}

/// What a caller gets who asks an agent that there is not, in the thread `name`.
async fn asks(shared: Arc<Shared>, name: &str) -> ErrorCode {
    let thread = Thread::Named(ConversationId::parse(name).unwrap());
    let asked = TurnRequest::new("openai", "nobody".into(), thread, vec![Spoken::user("How?")]);
    begin(&shared, asked).await.err().unwrap().code
}

/// Lets `reads` wait for the disk, and says whether `other` was done meanwhile.
async fn meanwhile<T: Send + 'static, U>(
    log: &Arc<BlockingLog>,
    reads: impl Future<Output = T> + Send + 'static,
    other: impl Future<Output = U>,
) -> (T, Option<U>) {
    log.shut();
    let reads = tokio::spawn(reads);
    let waited = Arc::clone(log);
    tokio::task::spawn_blocking(move || waited.until_read()).await.unwrap();
    let done = tokio::time::timeout(AT_ONCE, other).await;
    log.open();
    (reads.await.unwrap(), done.ok())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn i8_while_the_thread_of_one_caller_is_read_another_caller_begins() {
    let log = Arc::<BlockingLog>::default();
    let shared = hub_over(&log).await;
    let reads = asks(Arc::clone(&shared), "c");
    let (read, other) = meanwhile(&log, reads, asks(shared, "d")).await;
    assert_eq!(other, Some(ErrorCode::UnknownAgent), "it waits for the disk of another caller");
    assert_eq!(read, ErrorCode::UnknownAgent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_in_one_thread_begin_one_after_the_other() {
    let log = Arc::<BlockingLog>::default();
    let shared = hub_over(&log).await;
    let id = ConversationId::parse("d").unwrap();
    let mut first = shared.threads.begins(&RunBeginner::Told(1)).await;
    shared.threads.begins_in(&mut first, &id).await;
    let named = RunBeginner::Named(id);
    let second = tokio::spawn(asks(Arc::clone(&shared), "d"));
    // It waits for the turn of the conversation, and has its own.
    let waits = || tokio::time::timeout(CAUGHT_UP_LOOK, shared.threads.begins(&named));
    while waits().await.is_ok() {
        assert!(!second.is_finished(), "it did not wait");
    }
    assert!(!second.is_finished(), "the first one has not begun yet");
    drop(first);
    assert_eq!(second.await.unwrap(), ErrorCode::UnknownAgent);
}
