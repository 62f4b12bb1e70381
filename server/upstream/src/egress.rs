//! What all requests of a process share: the certificates that TLS trusts, and the proxies of the
//! environment.

use std::error::Error;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use crate::config::Upstream;
use crate::connect::{Connector, RawConnection};
use crate::error::SendError;
use crate::machine::{MachineSettings, TlsError};
use crate::send::Sender;
use crate::upgrade::upgrade;

/// The way out of this process. Proxies are read from the environment with the first upstream, certificates
/// with the first one that uses TLS.
#[derive(Debug, Default)]
pub struct Egress {
    machine: MachineSettings,
}

impl Egress {
    /// An egress that uses no proxy, whatever the environment says.
    pub fn direct() -> Self {
        Self { machine: MachineSettings::without_proxies() }
    }

    /// A sender for `upstream` with connections of its own. Nothing is connected before the first request.
    pub fn sender<B>(&self, upstream: &Upstream) -> Result<Sender<B>, TlsError>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + Unpin + 'static,
    {
        Sender::new(upstream, &self.machine)
    }

    /// A connection to `upstream` for another protocol, with TLS if its URL requires it. Fails, with a text
    /// for people, after [`PROXY_CONNECT_MS`](model::limits::PROXY_CONNECT_MS) at the latest. Dropping the
    /// connection closes it.
    pub async fn connect(&self, upstream: &Upstream) -> Result<RawConnection, String> {
        let connector = Connector::end_to_end(upstream, &self.machine).map_err(|error| error.to_string())?;
        connector.connect().await.map(TokioIo::new)
    }

    /// Sends a request for a protocol upgrade over a connection of its own. After a 101 answer,
    /// [`hyper::upgrade::on`] returns that connection, which is closed when it is dropped.
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
