//! A reader of every single event of a conversation, page by page.

use std::time::{Duration, Instant};

use model::fold::fold_batch;
use model::{Envelope, Position, View};
use tests::TestHub;
use tests::wait::within;

/// Every event of a conversation, read page by page and folded.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// All events so far, folded.
    pub(crate) view: View,
    /// How long reading and folding took.
    pub(crate) time: Duration,
    /// What was read.
    pub(crate) bytes: usize,
    /// Events in it.
    pub(crate) events: usize,
    after: Option<Position>,
}

impl Replay {
    /// Reads and folds what it does not have yet.
    pub(crate) async fn read(&mut self, hub: &TestHub, conversation: &str) {
        let began = Instant::now();
        loop {
            let after = self.after.as_ref().map(|after| format!("?after={after}")).unwrap_or_default();
            let page = hub
                .request("GET", &format!("/v1/conversations/{conversation}/events{after}"))
                .header("accept", "application/x-ndjson");
            let answer = within("a page of events", page.send()).await.unwrap();
            assert_eq!(answer.status(), 200, "{conversation} after {:?}", self.after);
            let position: Position = answer.headers()["fanlight-position"].to_str().unwrap().parse().unwrap();
            let page = within("the events of a page", answer.text()).await.unwrap();
            if page.is_empty() {
                break;
            }
            let events: Vec<_> = page.lines().map(|line| Envelope::parse(line).unwrap()).collect();
            let from = self.view.seq + 1;
            assert!(fold_batch(&mut self.view, from, position.seq, &events, &mut |_| {}));
            self.after = Some(position);
            self.bytes += page.len();
            self.events += events.len();
        }
        self.time += began.elapsed();
    }
}
