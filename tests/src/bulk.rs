//! Many requests from several writers, with which benches fill a hub.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sends the request that `request` makes of each of `numbers`, `at_once` of them at a time, and reads no answer but errors.
///
/// # Errors
/// With the first answer that is no success, as text, or the first request that has none.
pub async fn send_all<F>(
    numbers: Range<u64>,
    at_once: u64,
    request: F,
) -> Result<(), Box<dyn Error + Send + Sync>>
where
    F: Fn(u64) -> reqwest::RequestBuilder + Send + Sync + 'static,
{
    let (next, request) = (Arc::new(AtomicU64::new(numbers.start)), Arc::new(request));
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..at_once {
        let (next, request) = (Arc::clone(&next), Arc::clone(&request));
        writers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end {
                    return Ok::<(), Box<dyn Error + Send + Sync>>(());
                }
                let answer = request(number).send().await?;
                if !answer.status().is_success() {
                    return Err(format!("{}: {}", answer.status(), answer.text().await?).into());
                }
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done??;
    }
    Ok(())
}
