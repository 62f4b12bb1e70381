//! Fetching a file from a hub, piece by piece.

use bytes::Bytes;
use hyper::Method;
use url::Url;

use super::http::{Http, whole};
use super::{HubAddress, PublishError};

/// Fetches `url`, one of the hub at `address`, and gives `take` each piece of the body as it comes. Ends with what
/// `take` fails with.
pub async fn download<E: From<PublishError>>(
    address: &HubAddress,
    url: Url,
    mut take: impl FnMut(Bytes) -> Result<(), E>,
) -> Result<(), E> {
    let http = Http::new(address.clone());
    let mut body = http.send(Method::GET, &url, [], whole(Bytes::new())).await?.into_body();
    while let Some(piece) = http.piece(&mut body).await? {
        take(piece)?;
    }
    Ok(())
}
