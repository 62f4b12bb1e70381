//! Progress that comes early.

use std::sync::mpsc;

use rmcp::model::NumberOrString;

use super::*;

fn said(call: i64, step: f64) -> ProgressNotificationParam {
    ProgressNotificationParam::new(ProgressToken(NumberOrString::Number(call)), step)
}

/// Somebody who is told, and what it was told.
fn heard() -> (OnProgress, mpsc::Receiver<ToolProgress>) {
    let (progress, told) = mpsc::channel();
    (Box::new(move |it| progress.send(it).unwrap()), told)
}

#[test]
fn progress_that_comes_before_anybody_listens_is_told_to_who_listens_then() {
    let (listener, (progress, told)) = (Listener::default(), heard());
    listener.hear(said(1, 1.0));
    listener.hear(said(1, 2.0));
    let listening = listener.listen(said(1, 0.0).progress_token, ToolCallId::new("t"), progress);
    listener.hear(said(1, 3.0));
    let steps: Vec<_> = told.try_iter().map(|progress| progress.current).collect();
    assert_eq!(steps, [Some(2), Some(3)]);
    drop(listening);
    for call in 0..1_000 {
        listener.hear(said(call, 1.0));
    }
    assert_eq!(listener.0.lock().early.len(), EARLY_MAX);
}

#[test]
fn progress_that_comes_out_of_order_never_falls() {
    let (listener, (progress, told)) = (Listener::default(), heard());
    listener.hear(said(1, 2.0));
    listener.hear(said(1, 1.0));
    let _listening = listener.listen(said(1, 0.0).progress_token, ToolCallId::new("t"), progress);
    for step in [4.0, 3.0, 4.0, 5.0] {
        listener.hear(said(1, step));
    }
    let steps: Vec<_> = told.try_iter().map(|progress| progress.current).collect();
    assert_eq!(steps, [Some(2), Some(4), Some(4), Some(5)]);
}
