//! Progress that comes early.

use rmcp::model::NumberOrString;

use super::*;

fn said(call: i64, step: f64) -> ProgressNotificationParam {
    ProgressNotificationParam::new(ProgressToken(NumberOrString::Number(call)), step)
}

#[test]
fn progress_that_comes_before_anybody_listens_is_told_to_who_listens_then() {
    let (listener, (notes, mut told)) = (Listener::default(), mpsc::channel(8));
    listener.hear(said(1, 1.0));
    listener.hear(said(1, 2.0));
    let listening = listener.listen(said(1, 0.0).progress_token, ToolCallId::new("t"), notes);
    listener.hear(said(1, 3.0));
    let steps: Vec<_> = std::iter::from_fn(|| told.try_recv().ok())
        .map(|note| if let Note::Progress(progress) = note { progress.current } else { None })
        .collect();
    assert_eq!(steps, [Some(2), Some(3)]);
    drop(listening);
    for call in 0..1_000 {
        listener.hear(said(call, 1.0));
    }
    assert_eq!(listener.0.lock().early.len(), EARLY_MAX);
}

#[test]
fn progress_that_comes_out_of_order_never_falls() {
    let (listener, (notes, mut told)) = (Listener::default(), mpsc::channel(8));
    listener.hear(said(1, 2.0));
    listener.hear(said(1, 1.0));
    let _listening = listener.listen(said(1, 0.0).progress_token, ToolCallId::new("t"), notes);
    for step in [4.0, 3.0, 4.0, 5.0] {
        listener.hear(said(1, step));
    }
    let steps: Vec<_> = std::iter::from_fn(|| told.try_recv().ok())
        .map(|note| if let Note::Progress(progress) = note { progress.current } else { None })
        .collect();
    assert_eq!(steps, [Some(2), Some(4), Some(4), Some(5)]);
}
