//! The address of a hub, and the URLs of its endpoints.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use model::ConversationId;
use url::Url;

/// The address of a hub, with the token that is sent with every request. Cheap to clone. `Display` and
/// `Debug` show neither the token nor the user name and password in the URL.
#[derive(Clone, PartialEq, Eq)]
pub struct HubAddress {
    /// The URL without query and fragment. It may have a path, below which the hub is served.
    base: Arc<Url>,
    token: Option<Arc<str>>,
}

/// Why a text is not the address of a hub.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text is not a URL.
    #[error("{0:?} is not a URL; a hub's looks like http://127.0.0.1:4600")]
    NotUrl(String),
    /// The URL has a scheme other than `http`.
    #[error(
        "{0:?} is not an http:// URL; this version speaks plain HTTP, so put a tunnel before a distant hub"
    )]
    NotHttp(String),
}

impl HubAddress {
    /// Sets the token, which is sent as `Authorization: Bearer`.
    #[must_use]
    pub fn with_token(mut self, token: Option<String>) -> Self {
        self.token = token.map(Arc::from);
        self
    }

    /// Replaces port 0 of the address by `port`; leaves other ports alone.
    #[must_use]
    pub fn listening_on(mut self, port: u16) -> Self {
        if self.base.port() == Some(0) {
            // Fails only for URLs that have no ports, which this one does.
            let _set = Arc::make_mut(&mut self.base).set_port(Some(port)).is_ok();
        }
        self
    }

    /// The token, if there is one.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// The name or number of the machine.
    pub fn host(&self) -> Option<&str> {
        self.base.host_str()
    }

    /// The scheme and host, without a path and without a user name and password.
    pub(crate) fn origin(&self) -> String {
        self.base.origin().ascii_serialization()
    }

    /// The target of a request for `url`, which must be one of this hub.
    pub(crate) fn target(&self, url: &Url) -> String {
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{}{query}", self.origin(), url.path())
    }

    /// The URL of the hub's WebSocket.
    pub fn socket(&self) -> String {
        let url = self.door(&["v1", "ws"]);
        let rest = url.as_str().strip_prefix("http").unwrap_or_default();
        format!("ws{rest}")
    }

    /// The URL that takes a stream in `dialect`.
    pub fn ingest(&self, dialect: &str, conversation: &ConversationId) -> Url {
        self.door(&["v1", "ingest", dialect, conversation.as_str()])
    }

    /// The URL that takes native events.
    pub fn events(&self, conversation: &ConversationId) -> Url {
        self.door(&["v1", "conversations", conversation.as_str(), "events"])
    }

    /// The URL of a conversation's view.
    pub fn conversation(&self, conversation: &ConversationId) -> Url {
        self.door(&["v1", "conversations", conversation.as_str()])
    }

    /// The URL of a conversation as a file.
    pub fn export(&self, conversation: &ConversationId, format: &str) -> Url {
        self.door(&["v1", "conversations", conversation.as_str(), "export", format])
    }

    /// The URL that lists the agents of the hub.
    pub fn agents(&self) -> Url {
        self.door(&["v1", "agents"])
    }

    /// The URL that asks an agent in the form of OpenAI's chat completions.
    pub fn chat(&self) -> Url {
        self.door(&["v1", "chat", "completions"])
    }

    /// The URL that takes commands in a conversation.
    pub fn commands(&self, conversation: &ConversationId) -> Url {
        self.door(&["v1", "conversations", conversation.as_str(), "commands"])
    }

    /// The URL of the page that shows a conversation, without the user name and password.
    pub fn page(&self, conversation: &ConversationId) -> Url {
        let mut url = self.door(&["c", conversation.as_str()]);
        // Both fail for an address without a host alone, and this has one.
        let (_password, _user) = (url.set_password(None), url.set_username(""));
        url
    }

    /// The URL of an endpoint, from the segments of its path, which are percent-encoded.
    fn door(&self, path: &[&str]) -> Url {
        let mut url = Url::clone(&self.base);
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

/// Reads an `http://` URL. Query and fragment are dropped.
impl FromStr for HubAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let short = || without_user(text).chars().take(200).collect();
        let mut base = Url::parse(text).map_err(|_not_a_url| AddressError::NotUrl(short()))?;
        if base.scheme() != "http" || base.host().is_none() {
            return Err(AddressError::NotHttp(short()));
        }
        base.set_query(None);
        base.set_fragment(None);
        Ok(Self { base: Arc::new(base), token: None })
    }
}

/// `text` without what stands before the last `@` of its authority: an error must not repeat a password.
fn without_user(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        None => text.to_owned(),
        Some((_user, host)) if scheme.is_empty() => format!("{host}{path}"),
        Some((_user, host)) => format!("{scheme}://{host}{path}"),
    }
}

impl fmt::Display for HubAddress {
    /// The URL without the user name and password, which must not get into a trace or an error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.origin().as_str())?;
        f.write_str(self.base.path().trim_end_matches('/'))
    }
}

impl fmt::Debug for HubAddress {
    /// Without the token, which must not get into a trace.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HubAddress({self})")
    }
}
