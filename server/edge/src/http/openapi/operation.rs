//! What the document says of one route: the types of the tables beside this file.

use model::code::ErrorCode;
use model::limits::{CONVERSATION_ID_BYTES_MAX, NUMBER_MAX};
use serde_json::{Value, json};

use super::components::schema;

/// The groups of operations, in the order in which a reader meets them.
pub(super) const TAGS: [(&str, &str); 7] = [
    ("conversations", "Reading and writing conversations."),
    ("across", "Questions about all conversations: the list, the search, figures."),
    ("hub", "The hub itself: health, metrics, schemas, who one is."),
    ("sharing", "Links to one conversation."),
    ("proxy", "Calls of model APIs that the hub passes on and records."),
    ("page", "The page, and logging in to it."),
    ("clients", "Interfaces of other servers, for clients that are made for them."),
];

/// What the document says of one line of the table of access.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operation {
    /// The method as in the table of access: upper case, or `*`.
    pub(super) method: &'static str,
    /// The path as in the table of access; below a prefix for LangGraph's platform.
    pub(super) path: &'static str,
    /// The tag, one of [`TAGS`].
    pub(super) tag: &'static str,
    /// What it does, in one line without a full stop.
    pub(super) summary: &'static str,
    /// More about it, in sentences; empty where the summary says it all.
    pub(super) about: &'static str,
    /// Parameters in the query.
    pub(super) query: &'static [Parameter],
    /// Headers of the request that mean something here.
    pub(super) headers: &'static [Parameter],
    /// What the body may be; empty if there is none.
    pub(super) body: &'static [Content],
    /// The answers that are no failures.
    pub(super) answers: &'static [Answer],
    /// The codes of failures, besides those that every request may get.
    pub(super) fails: &'static [ErrorCode],
    /// The form in which failures are written.
    pub(super) form: FailureForm,
}

impl Operation {
    /// An operation that takes nothing and answers nothing yet.
    pub(super) const fn new(
        method: &'static str,
        path: &'static str,
        tag: &'static str,
        summary: &'static str,
    ) -> Self {
        let (about, query, headers, body, answers) = ("", &[], &[], &[], &[]);
        let (fails, form) = (&[], FailureForm::Problem);
        Self { method, path, tag, summary, about, query, headers, body, answers, fails, form }
    }

    /// Adds sentences that say more about the operation.
    pub(super) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    /// Sets the parameters of the query.
    pub(super) const fn query(self, query: &'static [Parameter]) -> Self {
        Self { query, ..self }
    }

    /// Sets the headers of the request that mean something.
    pub(super) const fn headers(self, headers: &'static [Parameter]) -> Self {
        Self { headers, ..self }
    }

    /// Sets what the body of the request may be.
    pub(super) const fn takes(self, body: &'static [Content]) -> Self {
        Self { body, ..self }
    }

    /// Sets the answers that are no failures.
    pub(super) const fn answers(self, answers: &'static [Answer]) -> Self {
        Self { answers, ..self }
    }

    /// Sets the codes of failures, besides those that every request may get.
    pub(super) const fn fails(self, fails: &'static [ErrorCode]) -> Self {
        Self { fails, ..self }
    }

    /// Sets the form in which failures are written.
    pub(super) const fn form(self, form: FailureForm) -> Self {
        Self { form, ..self }
    }
}

/// The form in which the failures of an operation are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureForm {
    /// `application/problem+json` with a code.
    Problem,
    /// `application/problem+json`, or OpenAI's form from the handler.
    OpenAi,
    /// `application/problem+json`, or `{"detail": …}` from the handler.
    Platform,
    /// A login form for browsers, or a problem.
    Page,
    /// The proxy: a problem with the fields of the vendor's own form, or what the upstream says.
    Foreign,
}

impl FailureForm {
    /// The bodies of failures.
    pub(super) fn contents(self) -> Value {
        let own = json!({"schema": schema("Problem")});
        match self {
            Self::Problem | Self::Foreign => json!({"application/problem+json": own}),
            Self::OpenAi => {
                json!({"application/problem+json": own, "application/json": {"schema": schema("OpenAiError")}})
            }
            Self::Platform => {
                json!({"application/problem+json": own, "application/json": {"schema": schema("PlatformError")}})
            }
            Self::Page => {
                json!({"application/problem+json": own, "text/html": {"schema": {"type": "string"}}})
            }
        }
    }
}

/// A parameter in the path, the query or a header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    /// The name of the parameter on the wire.
    pub(super) name: &'static str,
    /// What it means, in a sentence.
    pub(super) about: &'static str,
    /// The values that it may have.
    pub(super) shape: Shape,
    /// Whether a request without it is refused.
    pub(super) is_needed: bool,
}

impl Parameter {
    /// A parameter that may be left out.
    pub(super) const fn new(name: &'static str, about: &'static str, shape: Shape) -> Self {
        Self { name, about, shape, is_needed: false }
    }

    /// Makes it a parameter that may not be left out.
    pub(super) const fn needed(self) -> Self {
        Self { is_needed: true, ..self }
    }
}

/// The values of a parameter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// A text of any kind.
    Text,
    /// The name of a conversation. Its limit is in bytes, which a schema cannot say.
    Name,
    /// Several texts: the parameter comes once for each.
    Texts,
    /// A whole number that is at least the first, and at most the second or [`NUMBER_MAX`].
    Whole(u64, Option<u64>),
    /// Text of a regular expression.
    Pattern(&'static str),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of these words, which another crate knows.
    Known(fn() -> Vec<&'static str>),
}

impl Shape {
    /// The JSON Schema of the values.
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Name => {
                let pattern = r"^(?!\.{1,2}$)[^/\\\u0000-\u001f\u007f-\u009f]+$";
                json!({"type": "string", "minLength": 1, "maxLength": CONVERSATION_ID_BYTES_MAX, "pattern": pattern})
            }
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Self::Whole(min, max) => {
                json!({"type": "integer", "minimum": min, "maximum": max.unwrap_or(NUMBER_MAX)})
            }
            Self::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
            Self::OneOf(words) => json!({"type": "string", "enum": words}),
            Self::Known(words) => json!({"type": "string", "enum": words()}),
        }
    }
}

/// A type of body, and what is in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content {
    /// The media type of the body.
    pub(super) kind: &'static str,
    /// The name of a schema among the components, JSON that is one, or nothing for any body.
    pub(super) schema: &'static str,
    /// Whether a request without a body is refused.
    pub(super) is_needed: bool,
}

impl Content {
    /// A body of the media type `kind`.
    pub(super) const fn new(kind: &'static str, schema: &'static str) -> Self {
        Self { kind, schema, is_needed: true }
    }

    /// A body of JSON.
    pub(super) const fn json(schema: &'static str) -> Self {
        Self::new("application/json", schema)
    }

    /// Makes it a body that may be left out.
    pub(super) const fn optional(self) -> Self {
        Self { is_needed: false, ..self }
    }
}

/// An answer with a status.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    /// The HTTP status of the answer.
    pub(super) status: u16,
    /// What it means, in a sentence.
    pub(super) about: &'static str,
    /// What the body may be; empty if there is none.
    pub(super) contents: &'static [Content],
}

impl Answer {
    /// An answer with a body.
    pub(super) const fn new(status: u16, about: &'static str, contents: &'static [Content]) -> Self {
        Self { status, about, contents }
    }
}
