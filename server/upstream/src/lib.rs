//! The way out of the hub: everything that it sends to other servers goes through this crate (calls of models
//! that the proxy forwards, the hub's own agents, tool servers, sinks).
//!
//! An [`Upstream`] says where a server is. [`Egress`] holds what all requests of a process share and makes a
//! [`Sender`] for each upstream, which sends requests over connections that it keeps. The result is an
//! answer, whose body arrives as the upstream sends it, or a [`SendError`].
//!
//! The crate does not know who calls: no axum, no hub, no log, no endpoints, no settings of the server. It
//! records nothing and stores no key. It depends on `model` (limits) and no other crate of the workspace. No
//! other crate of the server uses hyper's client. Of TLS, `edge` has the accepting side and `event-log` the
//! connections to its database.
//!
//! Reading order: `config` (where upstreams are) → `egress` (what all requests share) → `machine`
//! (certificates and proxies of the machine) → `send` (one request, and when it is sent again) → `replay`
//! (its body) → `pool` → `http1`, `http2` (connections) → `upgrade` (other protocols) → `connect` (TCP, TLS)
//! → `proxy_route` (proxies of the environment) → `error`, `tls_failure` (what failed, and how to mend it), `retry_after`.

mod config;
mod connect;
mod egress;
mod error;
mod http1;
mod http2;
mod machine;
mod pool;
mod proxy_route;
mod replay;
mod retry_after;
mod send;
mod tls_failure;
mod upgrade;

pub use config::{Api, Upstream, UpstreamError};
pub use connect::RawConnection;
pub use egress::Egress;
pub use error::{SendError, not_http, reason};
pub use machine::TlsError;
pub use proxy_route::is_local_machine;
pub use retry_after::retry_after_ms;
pub use send::{ResponseBody, Sender};
