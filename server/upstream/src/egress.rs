//! What all requests of a process share: whom TLS trusts, and the proxies that the environment names.

use std::error::Error;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use crate::config::Upstream;
use crate::connect::{Connector, RawConnection};
use crate::error::SendError;
use crate::send::Sender;
use crate::surroundings::{Surroundings, TlsError};
use crate::upgrade::upgrade;

/// The way out of this process. Proxies are read from the environment when the first upstream is called, certificates when the first
/// one behind TLS is.
#[derive(Debug, Default)]
pub struct Egress {
    surroundings: Surroundings,
}

impl Egress {
    /// One that asks no proxy, whatever the environment says.
    pub fn direct() -> Self {
        Self { surroundings: Surroundings::without_proxies() }
    }

    /// Sends requests to `upstream`, over connections of its own. Nothing is connected before the first request.
    pub fn sender<B>(&self, upstream: &Upstream) -> Result<Sender<B>, TlsError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
    {
        Sender::new(upstream, &self.surroundings)
    }

    /// A bare connection to `upstream`, behind TLS where its URL says so, for what is no request. The error is for people.
    pub async fn connect(&self, upstream: &Upstream) -> Result<RawConnection, String> {
        let connector = Connector::bare(upstream, &self.surroundings).map_err(|error| error.to_string())?;
        connector.connect().await.map(TokioIo::new)
    }

    /// Sends a request that asks for another protocol, over a connection of its own. With status 101 [`hyper::upgrade::on`] gives that
    /// connection; it is closed once nobody holds it.
    pub async fn upgrade<B>(
        &self,
        upstream: &Upstream,
        request: Request<B>,
    ) -> Result<Response<Incoming>, SendError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    {
        let connection = self.connect(upstream).await.map_err(SendError::Unreachable)?;
        upgrade(connection.into_inner(), request).await
    }
}
