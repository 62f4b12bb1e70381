//! The line between the page and the hub, which can be taken away.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::Outcome;

/// A line that holds until it is dropped.
#[derive(Debug)]
pub(crate) struct MeasuredLine(JoinHandle<()>);

impl MeasuredLine {
    /// From a port (0 for any that is free) to `hub`; and the port.
    pub(crate) async fn lay(port: u16, hub: SocketAddr) -> Outcome<(Self, u16)> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let port = listener.local_addr()?.port();
        let serving = tokio::spawn(async move {
            // Aborted with the rest when the line is dropped.
            let mut calls = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                calls.spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(hub).await {
                        drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
                    }
                });
            }
        });
        Ok((Self(serving), port))
    }
}

impl Drop for MeasuredLine {
    fn drop(&mut self) {
        self.0.abort();
    }
}
