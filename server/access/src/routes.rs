//! The table of what each route of the hub needs.
//!
//! A route is named as in the router, which decodes the path first, so that no other spelling of a path
//! avoids its line. A route or method without a line is not served.

use crate::need::Need;
use crate::right::Right::{Admin, Control, Export, Import, Publish, View};

/// A line of the table: the methods of a route, and what they need.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The method. `GET` includes `HEAD`; `*` is every method.
    pub method: &'static str,
    /// The path as in the router: `/c/{conversation}`.
    pub path: &'static str,
    /// What the route needs.
    pub need: Need,
}

/// A line of the table.
const fn on(method: &'static str, path: &'static str, need: Need) -> Route {
    Route { method, path, need }
}

/// The need of the endpoints that speak other servers' protocols: they find the conversation in the request,
/// or in earlier requests.
const DOOR: Need = Need::OnAll(&[View, Control]);

/// The need of the endpoints that describe the hub's agents and models.
const ABOUT: Need = Need::OnSome(Control);

/// All routes, except for those of `PLATFORM`.
pub const ROUTES: &[Route] = &[
    on("GET", "/healthz", Need::Nothing),
    on("GET", "/readyz", Need::Nothing),
    on("GET", "/login", Need::Nothing),
    on("POST", "/login", Need::Nothing),
    on("POST", "/logout", Need::Nothing),
    on("GET", "/s/{secret}", Need::Nothing),
    // The page.
    on("GET", "/", Need::Known),
    on("GET", "/c/{conversation}", Need::Known),
    on("GET", "/wall", Need::Known),
    on("GET", "/new", Need::Known),
    on("GET", "/image", Need::Known),
    on("GET", "/embed", Need::Known),
    // Requests across conversations.
    on("GET", "/metrics", Need::OnAll(&[View])),
    on("GET", "/schema/{name}", Need::Known),
    on("GET", "/v1/search", Need::OnSome(View)),
    on("GET", "/v1/tools", Need::OnAll(&[View])),
    on("GET", "/v1/agents", Need::Known),
    on("GET", "/v1/upstreams", Need::OnSome(Publish)),
    on("GET", "/v1/conversations", Need::OnSome(View)),
    on("GET", "/v1/events", Need::OnSome(View)),
    on("GET", "/v1/ws", Need::Greeting),
    on("GET", "/v1/access", Need::Known),
    // Requests about one conversation.
    on("GET", "/v1/conversations/{conversation}", Need::OnNamed(&[View])),
    on("GET", "/v1/conversations/{conversation}/events", Need::OnNamed(&[View])),
    on("POST", "/v1/conversations/{conversation}/events", Need::OnNamed(&[Publish])),
    on("PUT", "/v1/conversations/{conversation}/events", Need::OnNamed(&[Import])),
    on("GET", "/v1/conversations/{conversation}/export/{format}", Need::OnNamed(&[View, Export])),
    on("GET", "/v1/conversations/{conversation}/results/{hash}", Need::OnNamed(&[View])),
    on("GET", "/v1/conversations/{conversation}/wait", Need::OnNamed(&[View])),
    on("POST", "/v1/conversations/{conversation}/commands", Need::OnNamed(&[Control])),
    on("GET", "/v1/conversations/{conversation}/stream/{dialect}", Need::OnNamed(&[View])),
    on("POST", "/v1/conversations/{conversation}/stream/{dialect}", Need::OnNamed(&[View])),
    on("GET", "/v1/conversations/{conversation}/stream/{dialect}/{*rest}", Need::OnNamed(&[View])),
    on("POST", "/v1/conversations/{conversation}/stream/{dialect}/{*rest}", Need::OnNamed(&[View])),
    on("POST", "/v1/ingest/{dialect}/{conversation}", Need::OnNamed(&[Publish])),
    // The conversation of a span is found in earlier spans.
    on("POST", "/v1/traces", Need::OnAll(&[Publish])),
    on("POST", "/v1/shares", Need::OnSome(View)),
    on("GET", "/v1/shares", Need::OnSome(View)),
    on("DELETE", "/v1/shares/{id}", Need::OnSome(View)),
    // The proxy checks the conversation that the call names; a call that names none needs the right on all.
    on("*", "/proxy/{upstream}", Need::OnSome(Publish)),
    on("*", "/proxy/{upstream}/{*path}", Need::OnSome(Publish)),
    // Endpoints for clients of other servers.
    on("POST", "/v1/chat/completions", DOOR),
    on("GET", "/v1/models", ABOUT),
    on("GET", "/v1/models/{model}", ABOUT),
    on("POST", "/compat/bernard/v1/chat/completions", DOOR),
    on("GET", "/compat/bernard/v1/models", ABOUT),
    on("GET", "/compat/bernard/v1/models/{model}", ABOUT),
    on("POST", "/compat/bernard/api/v1/chat/completions", DOOR),
    on("GET", "/compat/bernard/api/v1/models", ABOUT),
    on("GET", "/compat/bernard/api/v1/models/{model}", ABOUT),
    on("POST", "/compat/deep-agent/chat/stream", DOOR),
    on("POST", "/compat/ralph/chat/stream", DOOR),
    on("POST", "/compat/ag-ui/{agent}", DOOR),
    on("POST", "/compat/ai-sdk/{agent}", DOOR),
    on("GET", "/compat/ai-sdk/{agent}/{chat}/stream", DOOR),
    on("POST", "/compat/forge/chat/stream", DOOR),
    on("GET", "/compat/forge/health", ABOUT),
    on("GET", "/compat/forge/config", ABOUT),
    on("GET", "/compat/forge/tools", ABOUT),
    on("POST", "/compat/forge/tools/refresh", ABOUT),
    on("POST", "/compat/forge/mcp/validate", ABOUT),
    on("GET", "/compat/forge/models", ABOUT),
    // All clients of Forge see what one of them sets.
    on("POST", "/compat/forge/models", Need::OnAll(&[Admin])),
    on("POST", "/compat/forge/models/refresh", ABOUT),
    on("POST", "/compat/forge/models/fetch", ABOUT),
    on("GET", "/compat/forge/models/grouped", ABOUT),
    on("GET", "/compat/forge/models/suggestions/{provider}", ABOUT),
    on("PUT", "/compat/forge/models/{provider}/{*model}", Need::OnAll(&[Admin])),
    on("DELETE", "/compat/forge/models/{provider}/{*model}", Need::OnAll(&[Admin])),
    on("GET", "/compat/forge/providers", ABOUT),
    on("PUT", "/compat/forge/providers/{provider}", Need::OnAll(&[Admin])),
];

/// The prefixes under which LangGraph's platform is served.
const PLATFORMS: [&str; 3] = ["/compat/langgraph", "/compat/bernard/api", "/compat/bernard"];

/// The routes below each of [`PLATFORMS`].
const PLATFORM: &[Route] = &[
    on("GET", "/ok", ABOUT),
    on("GET", "/info", ABOUT),
    on("POST", "/assistants", ABOUT),
    on("POST", "/assistants/search", ABOUT),
    on("POST", "/assistants/count", ABOUT),
    on("GET", "/assistants/{assistant}", ABOUT),
    on("GET", "/assistants/{assistant}/graph", ABOUT),
    on("GET", "/assistants/{assistant}/schemas", ABOUT),
    on("GET", "/assistants/{assistant}/subgraphs", ABOUT),
    on("POST", "/assistants/{assistant}/versions", ABOUT),
    on("POST", "/threads", DOOR),
    on("POST", "/threads/search", DOOR),
    on("POST", "/threads/count", DOOR),
    on("GET", "/threads/{thread}", DOOR),
    on("PATCH", "/threads/{thread}", DOOR),
    on("DELETE", "/threads/{thread}", DOOR),
    on("POST", "/threads/{thread}/copy", DOOR),
    on("GET", "/threads/{thread}/state", DOOR),
    on("POST", "/threads/{thread}/state", DOOR),
    on("PATCH", "/threads/{thread}/state", DOOR),
    on("PUT", "/threads/{thread}/state", DOOR),
    on("POST", "/threads/{thread}/state/checkpoint", DOOR),
    on("GET", "/threads/{thread}/state/{checkpoint}", DOOR),
    on("GET", "/threads/{thread}/history", DOOR),
    on("POST", "/threads/{thread}/history", DOOR),
    on("GET", "/threads/{thread}/runs", DOOR),
    on("POST", "/threads/{thread}/runs", DOOR),
    on("POST", "/threads/{thread}/runs/stream", DOOR),
    on("POST", "/threads/{thread}/runs/wait", DOOR),
    on("GET", "/threads/{thread}/runs/{run}", DOOR),
    on("DELETE", "/threads/{thread}/runs/{run}", DOOR),
    on("POST", "/threads/{thread}/runs/{run}/cancel", DOOR),
    on("GET", "/threads/{thread}/runs/{run}/join", DOOR),
    on("GET", "/threads/{thread}/runs/{run}/wait", DOOR),
    on("GET", "/threads/{thread}/runs/{run}/stream", DOOR),
    on("GET", "/threads/{thread}/stream", DOOR),
    on("POST", "/runs", DOOR),
    on("POST", "/runs/stream", DOOR),
    on("POST", "/runs/wait", DOOR),
];

/// What `method` at `path`, as named in the router, needs. `None` if the table has no line for it.
pub fn need(method: &str, path: &str) -> Option<Need> {
    let method = if method == "HEAD" { "GET" } else { method };
    let is_it =
        |route: &&Route, path: &str| route.path == path && (route.method == "*" || route.method == method);
    let plain = ROUTES.iter().find(|route| is_it(route, path));
    let of_platform = || {
        let below = PLATFORMS.iter().filter_map(|at| path.strip_prefix(at));
        below.flat_map(|rest| PLATFORM.iter().filter(move |route| is_it(route, rest))).next()
    };
    plain.or_else(of_platform).map(|route| route.need)
}

/// Whether the table has a line for `path` with any method.
pub fn is_known(path: &str) -> bool {
    all().any(|(_, known, _)| known == path)
}

/// Every line: method, path and need.
pub fn all() -> impl Iterator<Item = (&'static str, String, Need)> {
    let plain = ROUTES.iter().map(|route| (route.method, route.path.to_owned(), route.need));
    let of_platform = PLATFORMS.iter().flat_map(|at| {
        PLATFORM.iter().map(move |route| (route.method, format!("{at}{}", route.path), route.need))
    });
    plain.chain(of_platform)
}

#[cfg(test)]
mod tests {
    //! Tests of the table itself; that every route of the hub is in it is shown where the router is made.

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_line_stands_once_and_is_found() {
        let mut seen = BTreeSet::new();
        for (method, path, known) in all() {
            assert!(seen.insert((method, path.clone())), "{method} {path} stands twice");
            let asked = if method == "*" { "TRACE" } else { method };
            assert_eq!(need(asked, &path), Some(known), "{method} {path}");
            assert!(is_known(&path));
        }
    }

    #[test]
    fn a_line_that_names_no_conversation_needs_none_in_its_path() {
        for (method, path, need) in all() {
            let is_named = path.contains("{conversation}");
            assert!(is_named || !matches!(need, Need::OnNamed(_)), "{method} {path}");
        }
    }

    #[test]
    fn without_a_line_there_is_no_need_that_could_be_met() {
        assert_eq!(need("DELETE", "/v1/conversations/{conversation}"), None);
        assert_eq!(need("GET", "/v1/conversations/c"), None);
        assert_eq!(need("GET", "/v2"), None);
        assert_eq!(need("HEAD", "/healthz"), Some(Need::Nothing));
    }

    #[test]
    fn nobody_is_let_in_unknown_but_to_be_alive_and_to_log_in() {
        let open: Vec<_> = all().filter(|(_, _, need)| need.is_open()).map(|(_, path, _)| path).collect();
        assert_eq!(open, ["/healthz", "/readyz", "/login", "/login", "/logout", "/s/{secret}", "/v1/ws"]);
    }
}
