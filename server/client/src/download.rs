//! Downloads of files from a hub.

use bytes::Bytes;
use hyper::Method;
use url::Url;

use super::http::{Http, whole};
use super::{HubAddress, PublishError};

/// Downloads `url`, which must be one of the hub at `address`, and passes each piece of the body to `take`.
/// An error of `take` ends the download and is returned. A download that breaks off is an error too, after
/// pieces were passed on.
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
