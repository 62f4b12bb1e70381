//! What is known of a call, and what its request asks.

use std::sync::Arc;

use compact_str::CompactString;
use event_log::blocking;
use exchange::{CallContext, ModelApi, ModelRequest};
use model::ConversationId;

use super::LONG_BYTES;
use crate::proxy::inflate::{Encoding, Inflate};
use crate::proxy::secrets::Secrets;
use crate::proxy::tape::{Asked, Held};
use event_log::clock;

/// What is known of a call beside its bytes.
#[derive(Debug, Clone)]
pub(in crate::proxy) struct Facts {
    /// The API that it speaks.
    pub(in crate::proxy) api: ModelApi,
    /// Its path at the upstream, without the query.
    pub(in crate::proxy) path: String,
    /// The name of the upstream.
    pub(in crate::proxy) upstream: CompactString,
    /// The fingerprint of its key.
    pub(in crate::proxy) caller: u64,
    /// The conversation, where it names one.
    pub(in crate::proxy) conversation: Option<ConversationId>,
    /// The session, where a header names one.
    pub(in crate::proxy) session: Option<String>,
    /// How often it was tried before.
    pub(in crate::proxy) attempts_before: Option<u32>,
    /// The call of a tool that its agent works for.
    pub(in crate::proxy) parent: Option<String>,
    /// How its body is packed; nothing where that is not known here.
    pub(in crate::proxy) encodings: Option<Vec<Encoding>>,
    /// Its keys, which are kept nowhere: for as long as the call is recorded, to find them in errors.
    pub(in crate::proxy) secrets: Arc<Secrets>,
}

impl Facts {
    /// As the joiner wants them.
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

    /// What `body` asks.
    pub(super) fn read(&self, body: Vec<u8>, asked: Asked, held: &mut Held) -> ModelRequest {
        let unread = |why: &str| ModelRequest::unread(self.api, &self.path, why);
        match asked {
            Asked::TooLarge => return unread("it is larger than the proxy keeps"),
            Asked::Broken | Asked::Open => return unread("the caller did not send all of it"),
            Asked::Whole => {}
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
        // Sessions name conversations.
        request.session = request.session.filter(|session| !self.secrets.are_in_name(session));
        request
    }
}
