//! The page, logging in to it, links, and the proxy.

use model::code::ErrorCode::{BodyTimeout, Elsewhere, Forbidden, OverBudget, UnsupportedEncoding};
use model::code::ErrorCode::{
    LogUnavailable, NotFound, ShuttingDown, TooLarge, TooMany, Unauthenticated, UnknownUpstream,
    UpgradeRefused, UpstreamFailed, UpstreamUnreachable,
};

use super::operation::{Answer, Content, FailureForm, Operation, Parameter, Shape};
use super::parameters::{CONVERSATION, IF_NONE_MATCH};

/// A document for a browser.
const HTML: Content = Content::new("text/html", r#"{"type":"string"}"#);

/// The answer with the page as HTML.
const PAGE: &[Answer] =
    &[Answer::new(200, "The page.", &[HTML]), Answer::new(304, "The client has it.", &[])];

/// A path that the page reads in the browser.
const fn page(path: &'static str, summary: &'static str) -> Operation {
    Operation::new("GET", path, "page", summary)
        .headers(&[IF_NONE_MATCH])
        .answers(PAGE)
        .form(FailureForm::Page)
}

/// A redirection to a path of the hub.
const ELSEWHERE: Answer = Answer::new(303, "Go to Location.", &[]);

/// The parameter that says where a login leads.
const NEXT: Parameter = Parameter::new("next", "The path of the hub to go to afterwards.", Shape::Text);

/// Headers of the hub in calls through the proxy.
const OF_A_CALL: &[Parameter] = &[
    CONVERSATION,
    Parameter::new("Fanlight-Parent", "CONVERSATION/CALL: the call for which the agent works.", Shape::Text),
];

/// Any body, or none.
const ANYTHING: &[Content] = &[Content::json("").optional(), Content::new("*/*", "").optional()];

/// A call through the proxy.
const fn proxied(path: &'static str) -> Operation {
    Operation::new("*", path, "proxy", "Passes a call of a model API on, and records it")
        .about("The request and the answer stay as they are, byte for byte, but for keys: a token in the place of the vendor's key is replaced by the hub's.")
        .headers(OF_A_CALL)
        .takes(ANYTHING)
        .fails(&[
            BodyTimeout,
            Elsewhere,
            OverBudget,
            ShuttingDown,
            TooLarge,
            UnknownUpstream,
            UnsupportedEncoding,
            UpgradeRefused,
            UpstreamFailed,
            UpstreamUnreachable,
        ])
        .form(FailureForm::Foreign)
}

/// All operations of the page.
pub(super) const OPERATIONS: &[Operation] = &[
    page("/", "The page"),
    page("/c/{conversation}", "The page with one conversation"),
    page("/wall", "The page with several conversations"),
    page("/runs", "The operator's table of runs"),
    page("/dashboard", "The operator's figures"),
    page("/search", "The search in all conversations"),
    page("/help", "The list of the documents in the built-in help"),
    page("/help/{*document}", "A document of the built-in help").fails(&[NotFound]),
    page("/new", "The page that begins a conversation"),
    page("/image", "The document into which the page puts an image from elsewhere"),
    page("/embed", "The document in which pages of tools run"),
    Operation::new("GET", "/login", "page", "The form of the login")
        .answers(&[Answer::new(200, "The form.", &[HTML])])
        .form(FailureForm::Page),
    Operation::new("POST", "/login", "page", "Logs a browser in with a token")
        .takes(&[Content::new(
            "application/x-www-form-urlencoded",
            r#"{"type":"object","properties":{"token":{"type":"string"},"next":{"type":"string"}},"required":["token"]}"#,
        )
        .optional()])
        .answers(&[ELSEWHERE])
        .fails(&[BodyTimeout, TooLarge, TooMany, Unauthenticated])
        .form(FailureForm::Page),
    Operation::new("GET", "/login/oidc", "page", "Sends a browser to the identity provider")
        .query(&[NEXT])
        .answers(&[ELSEWHERE])
        .fails(&[LogUnavailable, TooMany, Unauthenticated])
        .form(FailureForm::Page),
    Operation::new("GET", "/login/callback", "page", "Where the provider sends the browser back to")
        .query(&[
            Parameter::new("code", "What the provider gave.", Shape::Text),
            Parameter::new("state", "What the hub gave the provider.", Shape::Text),
            Parameter::new("iss", "The provider, if it says so.", Shape::Text),
            Parameter::new("error", "Why there is no code.", Shape::Text),
        ])
        .answers(&[Answer::new(200, "A document that leads on, with the cookie of the session.", &[HTML])])
        .fails(&[LogUnavailable, TooMany, Unauthenticated])
        .form(FailureForm::Page),
    Operation::new("POST", "/logout", "page", "Ends the session of a browser").answers(&[ELSEWHERE]),
    Operation::new("GET", "/s/{secret}", "sharing", "Follows a link to one conversation")
        .about(
            "Whoever is logged in and may see the conversation stays who they are, and no view is counted; others who are logged in are \
             asked first. Browsers get a page where programs get a problem.",
        )
        .answers(&[
            ELSEWHERE,
            Answer::new(200, "A page that asks, or that loads itself again.", &[Content::new("text/html", "")]),
        ])
        .fails(&[Forbidden, LogUnavailable, NotFound, TooMany, Unauthenticated]),
    Operation::new("POST", "/s/{secret}", "sharing", "Follows a link in the place of the login of this browser")
        .answers(&[ELSEWHERE])
        .fails(&[Forbidden, LogUnavailable, NotFound, TooMany, Unauthenticated]),
    proxied("/proxy/{upstream}"),
    proxied("/proxy/{upstream}/{*path}"),
];
