//! What is known of a call, and parsing of its request. Parsing is total: a request that is too large, was
//! cut off or cannot be unpacked is recorded as one of which nothing is known, with the reason.

use std::sync::Arc;

use compact_str::CompactString;
use event_log::blocking;
use exchange::{CallContext, ModelApi, ModelRequest};
use model::ConversationId;

use super::LONG_BYTES;
use crate::proxy::inflate::{Encoding, Inflate};
use crate::proxy::secrets::Secrets;
use crate::proxy::tape::{Held, RequestState};
use event_log::clock;

/// What is known of a call besides its bytes.
#[derive(Debug, Clone)]
pub(in crate::proxy) struct Facts {
    /// The model API that it speaks.
    pub(in crate::proxy) api: ModelApi,
    /// The path at the upstream, without the query.
    pub(in crate::proxy) path: String,
    /// The name of the upstream.
    pub(in crate::proxy) upstream: CompactString,
    /// The fingerprint of its keys.
    pub(in crate::proxy) caller: u64,
    /// The conversation that the caller has named, if it has.
    pub(in crate::proxy) conversation: Option<ConversationId>,
    /// The session that a header names, if any.
    pub(in crate::proxy) session: Option<String>,
    /// The number of times that the call was tried before.
    pub(in crate::proxy) attempts_before: Option<u32>,
    /// The id of the tool call for which its agent works, if it says so.
    pub(in crate::proxy) parent: Option<String>,
    /// How its body is compressed; `None` if that is unknown here.
    pub(in crate::proxy) encodings: Option<Vec<Encoding>>,
    /// The keys of the caller, to remove them from what is recorded. They are dropped with the recording.
    pub(in crate::proxy) secrets: Arc<Secrets>,
}

impl Facts {
    /// The facts in the form that the joiner takes. `name` is for a conversation or run that is new.
    pub(super) fn call<'a>(&'a self, name: &'a str) -> CallContext<'a> {
        CallContext {
            upstream: &self.upstream,
            caller: self.caller,
            conversation: self.conversation.clone(),
            session: self.session.as_deref(),
            attempts_before: self.attempts_before,
            parent: self.parent.as_deref(),
            name,
            at: clock::now_ms(),
        }
    }

    /// Parses the body of the request. If it cannot be read, the result says why, and the call is recorded
    /// without it.
    pub(super) fn read(&self, body: Vec<u8>, asked: RequestState, held: &mut Held) -> ModelRequest {
        let unread = |why: &str| ModelRequest::unread(self.api, &self.path, why);
        match asked {
            RequestState::TooLarge => return unread("it is larger than the proxy keeps"),
            RequestState::Broken | RequestState::Open => return unread("the caller did not send all of it"),
            RequestState::Whole => {}
        }
        let Some(encodings) = &self.encodings else {
            return unread("it is packed in a way that is not known here");
        };
        let body = match Inflate::new(encodings).and_then(|mut packed| packed.feed(body)) {
            Ok(body) => body,
            Err(error) => return unread(&format!("it cannot be unpacked: {error}")),
        };
        if !held.resize(body.len()) {
            return unread("the proxy holds too much already");
        }
        let mut request = if body.len() > LONG_BYTES {
            blocking(|| ModelRequest::read(self.api, &self.path, &body))
        } else {
            ModelRequest::read(self.api, &self.path, &body)
        };
        // Sessions become names of conversations, so one that contains a key is not used.
        request.session = request.session.filter(|session| !self.secrets.are_in_name(session));
        request
    }
}
