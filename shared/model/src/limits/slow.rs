//! How long heads and bodies of requests may take. For those who are not known yet the settings may say otherwise.

/// How long a connection may take to agree on TLS, and to send the head of a request; of HTTP/2, a third of how long it may have no open stream
/// before it is asked to end, and after as long again it is cut. In seconds.
pub const HEAD_S: u32 = 20;

/// How long the body of somebody who is not known yet may take as a whole, in seconds. Such a body is a form of a
/// few KiB.
pub const STRANGER_BODY_S: u32 = 30;

/// How long a request may bring no byte of its body, in milliseconds. Of an endless body that is only asked of the first byte.
pub const BODY_IDLE_MS: u64 = 30_000;
