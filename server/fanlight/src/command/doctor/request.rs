//! Requests of the checks: to the hub, and through it or directly to an upstream. They leave through the crate `upstream`
//! as all requests of a hub do, each over a connection of its own and without a proxy of the environment.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName};
use hyper::http::request::Builder;
use hyper::{Method, Request, Response};
use upstream::{Api, Egress, ResponseBody, Upstream, reason};

/// How long an answer may take, its body included.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// The hub that is looked at, and what each request to it carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckedHub<'a> {
    /// The URL, without a slash at its end.
    pub(super) base: &'a str,
    pub(super) token: Option<&'a str>,
    /// A file with certificates that are trusted for it in addition to the machine's.
    pub(super) ca: Option<&'a Path>,
}

impl CheckedHub<'_> {
    /// A request for what the hub has at `path`.
    pub(super) fn get(self, path: &str) -> CheckRequest {
        CheckRequest::get(format!("{}{path}", self.base)).bearer(self.token).trusting(self.ca)
    }

    /// A request that sends `body` to the hub at `path`.
    pub(super) fn post(self, path: &str, body: impl Into<Bytes>) -> CheckRequest {
        CheckRequest::post(format!("{}{path}", self.base), body).bearer(self.token).trusting(self.ca)
    }
}

/// A request that is not sent yet.
#[derive(Debug)]
pub(super) struct CheckRequest {
    /// The whole URL, with its query.
    url: String,
    /// Method and headers; an invalid header is an error when the request is sent.
    head: Builder,
    body: Bytes,
    /// A file with certificates that are trusted in addition to the machine's.
    ca: Option<PathBuf>,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) struct HttpAnswer {
    /// The HTTP status of the answer.
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// The whole body; empty after an upgrade, or if it broke off.
    pub(super) body: String,
}

impl CheckRequest {
    /// A request for what is at `url`.
    pub(super) fn get(url: String) -> Self {
        Self { url, head: Request::builder().method(Method::GET), body: Bytes::new(), ca: None }
    }

    /// A request that sends `body` to `url`.
    pub(super) fn post(url: String, body: impl Into<Bytes>) -> Self {
        Self { url, head: Request::builder().method(Method::POST), body: body.into(), ca: None }
    }

    /// Adds a header to the request.
    pub(super) fn header(self, name: HeaderName, value: &str) -> Self {
        Self { head: self.head.header(name, value), ..self }
    }

    /// Adds `Authorization: Bearer TOKEN`, if there is a token.
    pub(super) fn bearer(self, token: Option<&str>) -> Self {
        match token {
            Some(token) => self.header(AUTHORIZATION, &format!("Bearer {token}")),
            None => self,
        }
    }

    /// Trusts the certificates in the file `ca` as well, if there is one.
    pub(super) fn trusting(self, ca: Option<&Path>) -> Self {
        Self { ca: ca.map(Path::to_owned), ..self }
    }

    /// The server of the URL, and the request for it.
    fn split(self) -> Result<(Upstream, Request<Full<Bytes>>), String> {
        let uri: hyper::Uri = self.url.parse().map_err(|_not_shown| format!("{} is no URL", self.url))?;
        let origin = format!(
            "{}://{}",
            uri.scheme_str().unwrap_or_default(),
            uri.authority().map_or("", |host| host.as_str())
        );
        let server = Upstream::new("checked", &origin, Api::default())
            .and_then(|server| server.with_ca(self.ca.as_deref()))
            .map_err(|error| reason(&error))?;
        let request = self.head.uri(uri).body(Full::new(self.body)).map_err(|error| error.to_string())?;
        Ok((server, request))
    }

    /// Sends the request and returns the answer without its body. The error is the reason. There is no limit of time.
    pub(super) async fn begin(self) -> Result<Response<ResponseBody>, String> {
        let (server, request) = self.split()?;
        let sender = Egress::direct().sender(&server).map_err(|error| error.to_string())?;
        sender.send(request).await.map_err(|error| error.to_string())
    }

    /// Sends the request and reads the whole answer, within [`PATIENCE`]. The error is the reason.
    pub(super) async fn ask(self) -> Result<HttpAnswer, String> {
        in_time(async {
            let (head, body) = self.begin().await?.into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let body = String::from_utf8_lossy(&body).into_owned();
            Ok(HttpAnswer { status: head.status.as_u16(), headers: head.headers, body })
        })
        .await
    }

    /// Sends the request for a protocol upgrade, and returns the answer without its body, within [`PATIENCE`].
    pub(super) async fn ask_for_upgrade(self) -> Result<HttpAnswer, String> {
        in_time(async {
            let (server, request) = self.split()?;
            let answer =
                Egress::direct().upgrade(&server, request).await.map_err(|error| error.to_string())?;
            let (head, _closed) = answer.into_parts();
            Ok(HttpAnswer { status: head.status.as_u16(), headers: head.headers, body: String::new() })
        })
        .await
    }
}

/// The next piece of a body; `None` at its end. The error is the reason.
pub(super) async fn next_piece(body: &mut ResponseBody) -> Result<Option<Bytes>, String> {
    while let Some(frame) = body.frame().await {
        if let Ok(piece) = frame.map_err(|error| reason(&error))?.into_data() {
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

/// What `asking` comes to, or that it took longer than [`PATIENCE`].
pub(super) async fn in_time<T>(asking: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let late = || format!("no whole answer came within {} s", PATIENCE.as_secs());
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_elapsed| Err(late()))
}
