//! Laws of events and views, whatever they were made of.

use std::sync::Arc;

use encode::document::export::{DocumentOptions, FORMATS};
use encode::{ENCODINGS, EncodeOptions};
use model::conflate::conflate;
use model::event::{Class, bound};
use model::flow::Flow;
use model::fold::{complete, fold};
use model::unfold::unfold;
use model::{Envelope, View, snapshot, summary};

use crate::page;

/// Events in the order of a log, stamped as the hub does it.
#[derive(Debug, Default)]
pub struct Log {
    /// What they fold to.
    pub view: View,
    /// The events that have a place in a log.
    pub events: Vec<Arc<Envelope>>,
}

impl Log {
    /// Takes one event. What is over its bound is cut, once and for all.
    pub fn take(&mut self, mut envelope: Envelope) {
        bound(&mut envelope.event);
        assert!(bound(&mut envelope.event).is_none(), "cut twice: {envelope:?}");
        complete(&self.view, &mut envelope.event);
        if envelope.event.kind.class() == Class::Ephemeral {
            envelope.seq = 0;
            fold(&mut self.view, &envelope, &mut |_change| {});
            return;
        }
        envelope.seq = self.view.seq + 1;
        fold(&mut self.view, &envelope, &mut |_change| {});
        self.events.push(Arc::new(envelope));
    }

    /// I4 and I5: a snapshot taken after `cut` events goes on to the same view, and so does the joined stream.
    pub fn check(&self, cut: usize) {
        let whole = snapshot::encode(&self.view);
        let (before, after) = self.events.split_at(cut.min(self.events.len()));
        let early = snapshot::encode(&folded(View::default(), before.iter().map(|it| &**it)));
        let decoded = snapshot::decode(&early).expect("a snapshot can be read");
        assert!(snapshot::encode(&decoded) == early, "a snapshot is another one when it is read and written");
        same("I4", &whole, &folded(decoded, after.iter().map(|it| &**it)));
        let mut joined = folded(View::default(), conflate(&self.events).iter().map(|it| &**it));
        // A joined delta has the seq of its first; how far it goes says the frame that it is in.
        joined.seq = self.view.seq;
        same("I5", &whole, &joined);
    }
}

/// `view` after `events`.
pub fn folded<'a>(mut view: View, events: impl Iterator<Item = &'a Envelope>) -> View {
    events.for_each(|event| fold(&mut view, event, &mut |_change| {}));
    view
}

fn same(law: &str, whole: &[u8], view: &View) {
    let other = snapshot::encode(view);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(other == whole, "{law}:\n{}\n{}", text(whole), text(&other));
}

/// `envelope` as it is written says the same when it is read.
pub fn check_again(envelope: &Envelope) {
    let json = serde_json::to_string(envelope).expect("an event can be written");
    match Envelope::parse(&json) {
        Ok(read) => assert!(read == *envelope, "{json}\n{envelope:?}\n{read:?}"),
        Err(error) => panic!("{error}: {json}"),
    }
}

/// Everything that is made of a whole view can be made of this one; `dice` chooses where there are many.
pub fn check_view(view: &View, dice: usize) {
    drop(serde_json::to_vec(&summary::summary(view)).expect("a summary can be written"));
    view.runs.values().for_each(|run| drop(Flow::of(run)));
    let format = &FORMATS[dice % FORMATS.len()];
    let document = format.document(view, "c", DocumentOptions::default());
    if format.name == "html" {
        page::check(&document);
    }
    let encoding = &ENCODINGS[dice % ENCODINGS.len()];
    let mut encoder = encoding.encoder(&EncodeOptions::default());
    let mut out = Vec::new();
    unfold(view).iter().for_each(|envelope| encoder.event(envelope, &mut out));
    encoder.end(&mut out);
    assert!(std::str::from_utf8(&out).is_ok(), "{} is not text", encoding.name);
}
