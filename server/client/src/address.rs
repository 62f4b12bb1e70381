//! The address of a hub, and the URLs of its endpoints.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use model::ConversationId;
use upstream::{Api, Upstream, UpstreamError, is_local_machine};
use url::Url;

/// The address of a hub, with the token that is sent with every request. Cheap to clone. `Display` and
/// `Debug` show neither the token nor the user name and password in the URL.
#[derive(Clone, PartialEq, Eq)]
pub struct HubAddress {
    /// The URL without query and fragment. It may have a path, below which the hub is served.
    base: Arc<Url>,
    token: Option<Arc<str>>,
    /// A file with certificates that are trusted for it in addition to the machine's.
    ca: Option<Arc<Path>>,
    plain: PlainToken,
}

/// Whether a token may be sent over plain HTTP to another machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlainToken {
    /// It is not sent.
    Refused,
    /// Whoever gave the token accepts that the network between can read it.
    Accepted,
}

/// Why a text is not the address of a hub.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text is not a URL.
    #[error("{0:?} is not a URL; a hub's looks like http://127.0.0.1:4600")]
    NotUrl(String),
    /// The URL has a scheme other than `http` and `https`.
    #[error("{0:?} is neither an http:// nor an https:// URL; a hub's looks like http://127.0.0.1:4600")]
    NotHttp(String),
    /// The token, or the user name and password in the URL, would cross the network in plain text.
    #[error("a token is not sent to {0} in plain text, since everybody on the way could read it")]
    PlainToken(HubAddress),
}

impl HubAddress {
    /// Sets the token, which is sent as `Authorization: Bearer`.
    #[must_use]
    pub fn with_token(mut self, token: Option<String>) -> Self {
        self.token = token.map(Arc::from);
        self
    }

    /// Trusts the certificates in the file `ca` (PEM) in addition to the machine's; without a file changes nothing. The file is read here,
    /// and again for each new connection, so that it may be replaced. Fails if it cannot be read or has no certificate.
    pub fn with_ca(mut self, ca: Option<PathBuf>) -> Result<Self, UpstreamError> {
        self.ca = ca.map(Arc::from);
        self.upstream()?;
        Ok(self)
    }

    /// Lets the token be sent over plain HTTP to another machine.
    #[must_use]
    pub fn accepting_plain_token(self) -> Self {
        Self { plain: PlainToken::Accepted, ..self }
    }

    /// Fails if a token, or a user name and password, would be sent in plain text to another machine and nobody
    /// has accepted that. Clients ask before each request.
    pub fn check_secrecy(&self) -> Result<(), AddressError> {
        let has_secret =
            self.token.is_some() || !self.base.username().is_empty() || self.base.password().is_some();
        let is_near = self.host().is_some_and(is_local_machine);
        if self.is_tls() || is_near || !has_secret || self.plain == PlainToken::Accepted {
            return Ok(());
        }
        Err(AddressError::PlainToken(self.clone()))
    }

    /// Whether the hub is reached over TLS.
    pub fn is_tls(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// The file with certificates that are trusted for it.
    pub fn ca(&self) -> Option<&Path> {
        self.ca.as_deref()
    }

    /// How connections to it are made.
    pub(crate) fn upstream(&self) -> Result<Upstream, UpstreamError> {
        Upstream::new("hub", &self.origin(), Api::default())?.with_ca(self.ca())
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

/// Reads an `http://` or `https://` URL. Query and fragment are dropped.
impl FromStr for HubAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let short = || without_user(text).chars().take(200).collect();
        let mut base = Url::parse(text).map_err(|_not_a_url| AddressError::NotUrl(short()))?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(AddressError::NotHttp(short()));
        }
        base.set_query(None);
        base.set_fragment(None);
        Ok(Self { base: Arc::new(base), token: None, ca: None, plain: PlainToken::Refused })
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
