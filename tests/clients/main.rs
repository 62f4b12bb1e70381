//! The project's own packages ([`carries`]), and other projects': what they stream is shown, and what the hub's encoders write is read by them.
//!
//! Each page of `docs/integrations/` holds a program and the line that shows it. Both are taken from the page as they
//! are and run against the real package; only the model is not real ([`tests::upstream`]).

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails right there"
)]

mod adapts; // what is seen of frameworks through the own packages
mod asks; // other projects' clients ask an agent of the hub
mod carries; // what the own packages carry through cuts and deaths, and their word at their borders
mod chats; // a page with useChat asks an agent of the hub
mod checks; // requests by chance, compared with the OpenAPI document
mod conforms; // a client written from the documents alone
mod elsewhere; // published servers that the hub asks as agents elsewhere
mod lends; // with a token of the hub in place of a key
mod lines; // the lines for coding agents
mod logs_in; // a person logs in at a provider of identities
mod loops; // agents whose calls go through the proxy
mod network; // a second machine, as a network namespace
mod own; // how programs of the own packages are run
mod page; // a page of the documentation, and what is seen when it is followed
mod platform; // the package of LangGraph's platform, and a page with useStream, ask an agent of the hub
mod reads; // other projects' clients read the encoders' streams
mod sdks; // the vendors' packages through the proxy and without it
mod shows; // what is seen of each framework
mod tools; // published servers with tools, behind an agent of the hub's own
mod traces; // what is seen of programs that send spans
mod webui; // the pipe for Open WebUI
