//! `GET /schema/{name}.json`: the JSON Schemas of the wire, as they are in `schema/`.

use axum::extract::Path;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use model::code::ErrorCode;
use rust_embed::RustEmbed;

use super::page;
use crate::inbound::problem::Problem;
use crate::page_files::PageFiles;

/// The files of `schema/`.
#[derive(RustEmbed)]
#[folder = "../../schema"]
struct Schemas;

/// Answers with one schema, or with 404 and the names of all. They are part of the binary.
pub(crate) async fn schema(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some(file) = Schemas::get(&name) else {
        let known = Schemas::iter().collect::<Vec<_>>().join(", ");
        let problem =
            Problem::new(ErrorCode::NotFound, format!("no schema is named {name:?}; there are {known}"));
        return problem.into_response();
    };
    // No compressed form of it is part of the binary.
    page::send(PageFiles::default(), &format!("schema/{name}"), file, &headers, "no-cache")
}
