//! What all requests of the hub to models and agents have in common: their heads, their keys, and the failure
//! if there is no answer.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use model::event::ErrorFact;
use upstream::{SendError, Upstream};

use super::failure::failure;

/// Makes a POST request with `body` of the media type `media`, to `path` below the upstream's URL. It asks
/// for a stream. Fails with `bad_provider` if no valid request can be made of these.
pub(crate) fn post(
    upstream: &Upstream,
    path: &str,
    media: &str,
    body: Vec<u8>,
) -> Result<Request<Full<Bytes>>, ErrorFact> {
    let wrong = |what: &str| failure("bad_provider", what, false);
    let uri = upstream.uri(path).ok_or_else(|| wrong("the URL of the request is invalid"))?;
    let request = Request::post(uri).header(CONTENT_TYPE, media).header(ACCEPT, "text/event-stream");
    let request = request.header(USER_AGENT, concat!("fanlight/", env!("CARGO_PKG_VERSION")));
    request.body(Full::new(Bytes::from(body))).map_err(|error| wrong(&error.to_string()))
}

/// Puts the key in the environment variable into the header `name`. False if the variable is not set; fails
/// if the key cannot be sent.
pub(crate) fn put_key<B>(
    request: &mut Request<B>,
    name: HeaderName,
    variable: &str,
) -> Result<bool, ErrorFact> {
    let Ok(key) = std::env::var(variable) else { return Ok(false) };
    let key = key.trim();
    let value = if name == AUTHORIZATION { format!("Bearer {key}") } else { key.to_owned() };
    let value = HeaderValue::from_str(&value);
    // A sensitive value is printed by neither the trace nor the log.
    let mut value = value.map_err(|_secret| {
        failure("no_key", &format!("the key in {variable} cannot be sent in a header"), false)
    })?;
    value.set_sensitive(true);
    request.headers_mut().insert(name, value);
    Ok(true)
}

/// The failure of a request that needs the key in a variable that is not set.
pub(crate) fn no_key(who: &str, variable: &str) -> ErrorFact {
    let what = format!("the environment variable {variable} with the key of the {who} is not set");
    failure("no_key", &what, false)
}

/// The failure of a request to `who` that got no answer.
pub(crate) fn unanswered(who: &str, upstream: &Upstream, fault: &SendError) -> ErrorFact {
    let place = upstream.place();
    match fault {
        SendError::Unreachable(why) => {
            let what = format!("the {who} at {place} cannot be reached: {why}");
            failure("upstream_unreachable", &what, true)
        }
        SendError::Failed(why) => {
            failure("upstream_failed", &format!("the {who} at {place} gave no answer: {why}"), true)
        }
    }
}
