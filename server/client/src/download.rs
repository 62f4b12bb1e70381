//! Fetching a file from a hub, piece by piece.

use bytes::Bytes;
use reqwest::{Client, Url};

use super::publisher::{beginning, message, root};
use super::{HubAddress, PublishError};

/// Fetches `url`, one of the hub at `address`, and gives `take` each piece of the body as it comes. Ends with what
/// `take` fails with.
pub async fn download<E: From<PublishError>>(
    address: &HubAddress,
    url: Url,
    mut take: impl FnMut(Bytes) -> Result<(), E>,
) -> Result<(), E> {
    let http = Client::builder().no_proxy().build().unwrap_or_default();
    let request = http.get(url);
    let request = match address.token() {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let broken = |error: reqwest::Error| PublishError::Broken { url: address.clone(), cause: root(&error) };
    let mut response = request.send().await.map_err(|error| {
        if error.is_connect() {
            return PublishError::Unreachable { url: address.clone(), cause: root(&error) };
        }
        broken(error)
    })?;
    let status = response.status();
    if !status.is_success() {
        let text = beginning(response).await.map_err(broken)?;
        let refused =
            PublishError::Refused { url: address.clone(), status: status.as_u16(), message: message(&text) };
        return Err(refused.into());
    }
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        take(piece)?;
    }
    Ok(())
}
