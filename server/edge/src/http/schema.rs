//! `GET /schema/{name}.json`: the JSON Schemas of what travels, as they stand in `schema/`.

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use model::code::ErrorCode;
use rust_embed::RustEmbed;

use super::page;
use super::problem::Problem;

#[derive(RustEmbed)]
#[folder = "../../schema"]
struct Schemas;

/// Answers with one schema, or with 404 and the names of those that there are.
pub(crate) async fn schema(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(file) = Schemas::get(&name) else {
        let known = Schemas::iter().collect::<Vec<_>>().join(", ");
        let problem =
            Problem::new(ErrorCode::NotFound, format!("no schema is named {name:?}; there are {known}"));
        return problem.into_response();
    };
    // Beside the page's own files, of which none is called so.
    page::send(&format!("schema/{name}"), file, &headers, "no-cache")
}
