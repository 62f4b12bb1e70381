//! Reads the id of an answer of the responses API. The events do not need it; the next request names it.

use compact_str::CompactString;
use serde::Deserialize;

use dialects::field::ForeignField;
use dialects::framing::{BodyFraming, FramedItem};

/// Looks for the id in the body, and stops reading once it is found.
#[derive(Debug, Default)]
pub(super) struct ResponseIdReader {
    /// What splits the body; dropped once the id is found.
    body: Option<BodyFraming>,
    /// The id, once it was found.
    id: Option<CompactString>,
    /// Whether nothing more is read.
    is_done: bool,
}

/// An event of the stream, or the whole answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResponseWrapper<'a> {
    #[serde(borrow)]
    id: ForeignField<'a>,
    #[serde(borrow)]
    object: ForeignField<'a>,
    #[serde(borrow)]
    response: ForeignField<'a>,
}

impl ResponseIdReader {
    /// Takes the next bytes of the body, cut anywhere (I11).
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        if self.is_done {
            return;
        }
        let (id, is_done) = (&mut self.id, &mut self.is_done);
        self.body.get_or_insert_default().feed(bytes, &mut |frame| {
            let (FramedItem::Event { data: text, .. } | FramedItem::Json(text)) = frame.body else { return };
            let outer: ResponseWrapper<'_> = ForeignField::parse(text).unwrap_or_default().object();
            let inner: ResponseWrapper<'_> = outer.response.object();
            let is_whole = outer.object.text().is_some_and(|object| object == "response");
            let found = inner.id.word().or_else(|| outer.id.word().filter(|_| is_whole));
            if let Some(found) = found {
                *id = Some(CompactString::new(found));
                *is_done = true;
            }
        });
        if self.is_done {
            self.body = None;
        }
    }

    /// The id; `None` if the answer had none so far.
    pub(super) fn into_id(self) -> Option<CompactString> {
        self.id
    }
}
