//! Reading bodies, one module for each API.

use super::request::Request;

/// Reads `body` into `request`.
pub(super) fn read(body: &[u8], request: &mut Request) {
    let _ = (body, request);
}
