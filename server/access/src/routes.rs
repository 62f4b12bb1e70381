//! The table of what each route of the hub needs.
//!
//! A route is named as in the router, which decodes the path first, so that no other spelling of a path
//! avoids its line. A route or method without a line is not served.
//!
//! ```text
//! on("GET", "/v1/conversations/{conversation}", Need::OnNamed(&[View]), Masked)
//!     method  path as in the router               what the caller needs    what a role does to the answer
//! on(…).counts(RatedAct::Search)                  what a request counts as, for its principal and its address
//! ```
//!
//! A new route of the hub gets its line here in the same commit; a test where the router is made finds those
//! without.

use crate::audit::AuditedAction;
use crate::need::Need;
use crate::need::Shows::{self, Everything, Masked, Nothing};
use crate::quota::RatedAct;
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
    /// What it tells of conversations.
    pub shows: Shows,
    /// The act that a request counts as, besides as a request; `None` for most.
    pub act: Option<RatedAct>,
}

impl Route {
    /// Makes requests of the route count as `act`.
    const fn counts(self, act: RatedAct) -> Self {
        Self { act: Some(act), ..self }
    }
}

/// A line of the table.
const fn on(method: &'static str, path: &'static str, need: Need, shows: Shows) -> Route {
    Route { method, path, need, shows, act: None }
}

/// The need of the endpoints that speak other servers' protocols: they find the conversation in the request,
/// or in earlier requests.
const DOOR: Need = Need::OnAll(&[View, Control]);

/// The need of the endpoints that describe the hub's agents and models.
const ABOUT: Need = Need::OnSome(Control);

/// All routes, except for those of `PLATFORM`.
pub const ROUTES: &[Route] = &[
    on("GET", "/healthz", Need::Nothing, Nothing),
    on("GET", "/readyz", Need::Nothing, Nothing),
    on("GET", "/login", Need::Nothing, Nothing),
    on("POST", "/login", Need::Nothing, Nothing),
    on("GET", "/login/oidc", Need::Nothing, Nothing),
    on("GET", "/login/callback", Need::Nothing, Nothing),
    on("POST", "/logout", Need::Nothing, Nothing),
    on("GET", "/s/{secret}", Need::Nothing, Nothing),
    on("POST", "/s/{secret}", Need::Nothing, Nothing),
    // The page.
    on("GET", "/", Need::Known, Nothing),
    on("GET", "/c/{conversation}", Need::Known, Nothing),
    on("GET", "/wall", Need::Known, Nothing),
    on("GET", "/runs", Need::Known, Nothing),
    on("GET", "/dashboard", Need::Known, Nothing),
    on("GET", "/search", Need::Known, Nothing),
    on("GET", "/help", Need::Known, Nothing),
    on("GET", "/help/{*document}", Need::Known, Nothing),
    on("GET", "/new", Need::Known, Nothing),
    on("GET", "/image", Need::Known, Nothing),
    on("GET", "/embed", Need::Known, Nothing),
    // Requests across conversations.
    on("GET", "/metrics", Need::OnAll(&[View]), Everything),
    on("GET", "/openapi.json", Need::Known, Nothing),
    on("GET", "/schema/{name}", Need::Known, Nothing),
    on("GET", "/v1/search", Need::OnSome(View), Masked).counts(RatedAct::Search),
    on("GET", "/v1/tools", Need::OnAll(&[View]), Masked),
    on("GET", "/v1/series", Need::OnAll(&[View]), Everything),
    on("GET", "/v1/usage", Need::OnAll(&[View]), Everything),
    on("GET", "/v1/agents", Need::Known, Nothing),
    on("GET", "/v1/upstreams", Need::OnSome(Publish), Nothing),
    on("GET", "/v1/conversations", Need::OnSome(View), Masked),
    on("GET", "/v1/events", Need::OnSome(View), Masked),
    on("GET", "/v1/ws", Need::Greeting, Masked),
    on("GET", "/v1/access", Need::Known, Nothing),
    on("GET", "/v1/audit", Need::OnAll(&[Admin]), Everything),
    on("GET", "/v1/budgets", Need::OnAll(&[Admin]), Nothing),
    on("GET", "/v1/load", Need::OnAll(&[View]), Everything),
    // Requests about one conversation.
    on("GET", "/v1/conversations/{conversation}", Need::OnNamed(&[View]), Masked),
    on("DELETE", "/v1/conversations/{conversation}", Need::OnNamed(&[Admin]), Nothing),
    on("GET", "/v1/conversations/{conversation}/events", Need::OnNamed(&[View]), Masked),
    on("POST", "/v1/conversations/{conversation}/events", Need::OnNamed(&[Publish]), Nothing)
        .counts(RatedAct::Frame),
    on("PUT", "/v1/conversations/{conversation}/events", Need::OnNamed(&[Import]), Nothing)
        .counts(RatedAct::Import),
    on("GET", "/v1/conversations/{conversation}/export/{format}", Need::OnNamed(&[View, Export]), Masked)
        .counts(RatedAct::Export),
    on("GET", "/v1/conversations/{conversation}/results/{hash}", Need::OnNamed(&[View]), Masked),
    on("GET", "/v1/conversations/{conversation}/wait", Need::OnNamed(&[View]), Nothing),
    on("POST", "/v1/conversations/{conversation}/move", Need::OnNamed(&[Admin]), Nothing),
    on("POST", "/v1/conversations/{conversation}/commands", Need::OnNamed(&[Control]), Masked),
    on("GET", "/v1/conversations/{conversation}/stream/{dialect}", Need::OnNamed(&[View]), Masked),
    on("POST", "/v1/conversations/{conversation}/stream/{dialect}", Need::OnNamed(&[View]), Masked),
    on("GET", "/v1/conversations/{conversation}/stream/{dialect}/{*rest}", Need::OnNamed(&[View]), Masked),
    on("POST", "/v1/conversations/{conversation}/stream/{dialect}/{*rest}", Need::OnNamed(&[View]), Masked),
    on("POST", "/v1/ingest/{dialect}/{conversation}", Need::OnNamed(&[Publish]), Nothing)
        .counts(RatedAct::Frame),
    // The conversation of a span is found in earlier spans.
    on("POST", "/v1/traces", Need::OnAll(&[Publish]), Nothing).counts(RatedAct::Frame),
    on("POST", "/v1/shares", Need::OnSome(View), Nothing),
    on("GET", "/v1/shares", Need::OnSome(View), Nothing),
    on("DELETE", "/v1/shares/{id}", Need::OnSome(View), Nothing),
    // The proxy checks the conversation that the call names; a call that names none needs the right on all.
    on("*", "/proxy/{upstream}", Need::OnSome(Publish), Nothing),
    on("*", "/proxy/{upstream}/{*path}", Need::OnSome(Publish), Nothing),
    // Endpoints for clients of other servers.
    on("POST", "/v1/chat/completions", DOOR, Everything),
    on("POST", "/v1/responses", DOOR, Everything),
    on("GET", "/v1/responses/{id}", DOOR, Everything),
    on("GET", "/v1/models", ABOUT, Nothing),
    on("GET", "/v1/models/{model}", ABOUT, Nothing),
    on("POST", "/compat/bernard/v1/chat/completions", DOOR, Everything),
    on("GET", "/compat/bernard/v1/models", ABOUT, Nothing),
    on("GET", "/compat/bernard/v1/models/{model}", ABOUT, Nothing),
    on("POST", "/compat/bernard/api/v1/chat/completions", DOOR, Everything),
    on("GET", "/compat/bernard/api/v1/models", ABOUT, Nothing),
    on("GET", "/compat/bernard/api/v1/models/{model}", ABOUT, Nothing),
    on("POST", "/compat/deep-agent/chat/stream", DOOR, Everything),
    on("POST", "/compat/ralph/chat/stream", DOOR, Everything),
    on("POST", "/compat/ag-ui/{agent}", DOOR, Everything),
    on("POST", "/compat/ai-sdk/{agent}", DOOR, Everything),
    on("GET", "/compat/ai-sdk/{agent}/{chat}/stream", DOOR, Everything),
    on("POST", "/compat/forge/chat/stream", DOOR, Everything),
    on("GET", "/compat/forge/health", ABOUT, Nothing),
    on("GET", "/compat/forge/config", ABOUT, Nothing),
    on("GET", "/compat/forge/tools", ABOUT, Nothing),
    on("POST", "/compat/forge/tools/refresh", ABOUT, Nothing),
    // The hub connects to an address that the caller names.
    on("POST", "/compat/forge/mcp/validate", Need::OnAll(&[Admin]), Nothing),
    on("GET", "/compat/forge/models", ABOUT, Nothing),
    // All clients of Forge see what one of them sets.
    on("POST", "/compat/forge/models", Need::OnAll(&[Admin]), Nothing),
    on("POST", "/compat/forge/models/refresh", ABOUT, Nothing),
    on("POST", "/compat/forge/models/fetch", Need::OnAll(&[Admin]), Nothing),
    on("GET", "/compat/forge/models/grouped", ABOUT, Nothing),
    on("GET", "/compat/forge/models/suggestions/{provider}", ABOUT, Nothing),
    on("PUT", "/compat/forge/models/{provider}/{*model}", Need::OnAll(&[Admin]), Nothing),
    on("DELETE", "/compat/forge/models/{provider}/{*model}", Need::OnAll(&[Admin]), Nothing),
    on("GET", "/compat/forge/providers", ABOUT, Nothing),
    on("PUT", "/compat/forge/providers/{provider}", Need::OnAll(&[Admin]), Nothing),
];

/// The prefixes under which LangGraph's platform is served.
pub const PLATFORMS: [&str; 3] = ["/compat/langgraph", "/compat/bernard/api", "/compat/bernard"];

/// The routes below each of [`PLATFORMS`].
const PLATFORM: &[Route] = &[
    on("GET", "/ok", ABOUT, Nothing),
    on("GET", "/info", ABOUT, Nothing),
    on("POST", "/assistants", ABOUT, Nothing),
    on("POST", "/assistants/search", ABOUT, Nothing),
    on("POST", "/assistants/count", ABOUT, Nothing),
    on("GET", "/assistants/{assistant}", ABOUT, Nothing),
    on("GET", "/assistants/{assistant}/graph", ABOUT, Nothing),
    on("GET", "/assistants/{assistant}/schemas", ABOUT, Nothing),
    on("GET", "/assistants/{assistant}/subgraphs", ABOUT, Nothing),
    on("POST", "/assistants/{assistant}/versions", ABOUT, Nothing),
    on("POST", "/threads", DOOR, Everything),
    on("POST", "/threads/search", DOOR, Everything).counts(RatedAct::Search),
    on("POST", "/threads/count", DOOR, Everything).counts(RatedAct::Search),
    on("GET", "/threads/{thread}", DOOR, Everything),
    on("PATCH", "/threads/{thread}", DOOR, Everything),
    on("DELETE", "/threads/{thread}", DOOR, Everything),
    on("POST", "/threads/{thread}/copy", DOOR, Everything),
    on("GET", "/threads/{thread}/state", DOOR, Everything),
    on("POST", "/threads/{thread}/state", DOOR, Everything),
    on("PATCH", "/threads/{thread}/state", DOOR, Everything),
    on("PUT", "/threads/{thread}/state", DOOR, Everything),
    on("POST", "/threads/{thread}/state/checkpoint", DOOR, Everything),
    on("GET", "/threads/{thread}/state/{checkpoint}", DOOR, Everything),
    on("GET", "/threads/{thread}/history", DOOR, Everything),
    on("POST", "/threads/{thread}/history", DOOR, Everything),
    on("GET", "/threads/{thread}/runs", DOOR, Everything),
    on("POST", "/threads/{thread}/runs", DOOR, Everything),
    on("POST", "/threads/{thread}/runs/stream", DOOR, Everything),
    on("POST", "/threads/{thread}/runs/wait", DOOR, Everything),
    on("GET", "/threads/{thread}/runs/{run}", DOOR, Everything),
    on("DELETE", "/threads/{thread}/runs/{run}", DOOR, Everything),
    on("POST", "/threads/{thread}/runs/{run}/cancel", DOOR, Everything),
    on("GET", "/threads/{thread}/runs/{run}/join", DOOR, Everything),
    on("GET", "/threads/{thread}/runs/{run}/wait", DOOR, Everything),
    on("GET", "/threads/{thread}/runs/{run}/stream", DOOR, Everything),
    on("GET", "/threads/{thread}/stream", DOOR, Everything),
    on("POST", "/runs", DOOR, Everything),
    on("POST", "/runs/stream", DOOR, Everything),
    on("POST", "/runs/wait", DOOR, Everything),
];

/// The line of `method` at `path`, as named in the router; that of a platform has the path below it. `None` if the table has none.
pub fn find(method: &str, path: &str) -> Option<&'static Route> {
    let method = if method == "HEAD" { "GET" } else { method };
    let is_it =
        |route: &&Route, path: &str| route.path == path && (route.method == "*" || route.method == method);
    let plain = ROUTES.iter().find(|route| is_it(route, path));
    let of_platform = || {
        let below = PLATFORMS.iter().filter_map(|at| path.strip_prefix(at));
        below.flat_map(|rest| PLATFORM.iter().filter(move |route| is_it(route, rest))).next()
    };
    plain.or_else(of_platform)
}

/// What the audit log notes of a request to a route with that need; `None` for those that are too many, or
/// noted by their handlers.
pub fn deed(need: Need, method: &str) -> Option<AuditedAction> {
    match need {
        Need::OnNamed(rights) if rights.contains(&Export) => Some(AuditedAction::Export),
        Need::OnNamed(rights) if rights.contains(&Import) => Some(AuditedAction::Import),
        Need::OnAll(rights) if rights.contains(&Admin) => Some(AuditedAction::Administer),
        Need::OnAll(rights) if rights.contains(&Control) && method != "GET" && method != "HEAD" => {
            Some(AuditedAction::Ask)
        }
        _ => None,
    }
}

/// Whether a request to a route with that need is a look at the conversation that it names, which the audit log notes where views are noted.
/// What only waits for something shows nothing.
pub fn is_view(need: Need, shows: Shows) -> bool {
    shows != Nothing && matches!(need, Need::OnNamed([View]))
}

/// Whether the table has a line for `path` with any method.
pub fn is_known(path: &str) -> bool {
    all().any(|(_, known, ..)| known == path)
}

/// Every line: method, path, need, and what it shows.
pub fn all() -> impl Iterator<Item = (&'static str, String, Need, Shows)> {
    let plain = ROUTES.iter().map(|route| (route.method, route.path.to_owned(), route.need, route.shows));
    let of_platform = PLATFORMS.iter().flat_map(|at| {
        PLATFORM
            .iter()
            .map(move |route| (route.method, format!("{at}{}", route.path), route.need, route.shows))
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
        for (method, path, known, shows) in all() {
            assert!(seen.insert((method, path.clone())), "{method} {path} stands twice");
            let asked = if method == "*" { "TRACE" } else { method };
            let found = find(asked, &path).map(|route| (route.need, route.shows));
            assert_eq!(found, Some((known, shows)), "{method} {path}");
            assert!(is_known(&path));
        }
    }

    #[test]
    fn a_line_that_names_no_conversation_needs_none_in_its_path() {
        for (method, path, need, _) in all() {
            let is_named = path.contains("{conversation}");
            assert!(is_named || !matches!(need, Need::OnNamed(_)), "{method} {path}");
        }
    }

    #[test]
    fn without_a_line_there_is_no_need_that_could_be_met() {
        let found = |method, path| find(method, path).map(|route| (route.need, route.shows));
        assert_eq!(found("PATCH", "/v1/conversations/{conversation}"), None);
        assert_eq!(found("GET", "/v1/conversations/c"), None);
        assert_eq!(found("GET", "/v2"), None);
        assert_eq!(found("HEAD", "/healthz"), Some((Need::Nothing, Nothing)));
    }

    #[test]
    fn i7_a_route_that_searches_exports_imports_or_takes_events_counts_as_that() {
        // The page itself, and the list of the hub's agents.
        let is_another = |path: &str| path == "/search" || path.ends_with("/assistants/search");
        for (method, path, need, _) in all() {
            let expected = match need {
                Need::OnNamed(rights) if rights.contains(&Export) => Some(RatedAct::Export),
                Need::OnNamed(rights) if rights.contains(&Import) => Some(RatedAct::Import),
                Need::OnNamed(rights) if rights.contains(&Publish) => Some(RatedAct::Frame),
                Need::OnAll(rights) if rights.contains(&Publish) => Some(RatedAct::Frame),
                _ if path.contains("search") && !is_another(&path) => Some(RatedAct::Search),
                // The number of what a search would find.
                _ if path.ends_with("/threads/count") => Some(RatedAct::Search),
                _ => None,
            };
            let asked = if method == "*" { "TRACE" } else { method };
            assert_eq!(find(asked, &path).and_then(|route| route.act), expected, "{method} {path}");
        }
    }

    #[test]
    fn nobody_is_let_in_unknown_but_to_be_alive_and_to_log_in() {
        let open: Vec<_> = all().filter(|(_, _, need, _)| need.is_open()).map(|(_, path, ..)| path).collect();
        let login = ["/login", "/login", "/login/oidc", "/login/callback", "/logout"];
        let mut all = vec!["/healthz", "/readyz"];
        all.extend(login);
        all.extend(["/s/{secret}", "/s/{secret}", "/v1/ws"]);
        assert_eq!(open, all);
    }

    #[test]
    fn a_route_that_tells_of_one_conversation_masks_what_it_tells_or_is_closed_to_roles() {
        let tells = [Need::OnNamed(&[View]), Need::OnNamed(&[View, Export]), DOOR, Need::OnAll(&[View])];
        // Whether something has happened, and nothing of what.
        let is_bare = |path: &str| path.ends_with("/wait");
        for (method, path, need, shows) in all().filter(|(_, path, ..)| !is_bare(path)) {
            assert!(!tells.contains(&need) || shows != Nothing, "{method} {path}");
        }
    }
}
