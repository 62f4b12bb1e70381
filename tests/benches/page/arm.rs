//! The pages that are measured: ours, and the usual ones over the same hub, built here from what npm has.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use axum::Router;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;

use crate::Outcome;

/// A page that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    Fanlight,
    ReactMarkdown,
    Streamdown,
}

impl Arm {
    pub(crate) const ALL: [Self; 3] = [Self::Fanlight, Self::ReactMarkdown, Self::Streamdown];

    /// As it is named in reports and on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Fanlight => "fanlight",
            Self::ReactMarkdown => "react-markdown",
            Self::Streamdown => "streamdown",
        }
    }

    /// Where it shows `conversation`, which is heard at `told`.
    pub(crate) fn url(
        self,
        hub: SocketAddr,
        peers: SocketAddr,
        conversation: &str,
        told: SocketAddr,
    ) -> String {
        match self {
            Self::Fanlight => format!("http://{hub}/c/{conversation}"),
            Self::ReactMarkdown | Self::Streamdown => {
                format!("http://{peers}/{}.html?{told}", self.name())
            }
        }
    }

    /// True in the page once it shows what there is.
    pub(crate) fn is_ready(self) -> &'static str {
        match self {
            Self::Fanlight => {
                "return Number(document.querySelector('[data-t=transcript]')?.dataset.seq ?? 0) >= 3"
            }
            Self::ReactMarkdown | Self::Streamdown => {
                "return ['submitted', 'streaming'].includes(document.querySelector('main')?.dataset.status)"
            }
        }
    }
}

/// Serves the usual pages, each with the stream that it asks for.
///
/// # Errors
/// When npm has not what they are built of.
pub(crate) async fn peers() -> Outcome<SocketAddr> {
    let built = build()?;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = Router::new().route("/api/chat", post(chat)).fallback(move |uri: Uri| {
        let path = built.join(uri.path().trim_start_matches('/'));
        async move { file(&path) }
    });
    let app = app.with_state(reqwest::Client::new());
    // Ends with the bench.
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(address)
}

/// What the agent's own server says, passed on as it comes.
async fn chat(State(client): State<reqwest::Client>, RawQuery(told): RawQuery) -> Response {
    let Ok(answer) = client.post(format!("http://{}/", told.unwrap_or_default())).send().await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let headers = answer.headers().clone();
    let mut response = Body::from_stream(answer.bytes_stream()).into_response();
    *response.headers_mut() = headers;
    response
}

fn file(path: &Path) -> Response {
    let kind = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        _ => "application/octet-stream",
    };
    match std::fs::read(path) {
        Ok(bytes) => ([(CONTENT_TYPE, kind)], bytes).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Builds them beside the bench, once for what stands in the folder.
fn build() -> Outcome<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/page/peers");
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page-peers");
    std::fs::create_dir_all(&home)?;
    for file in std::fs::read_dir(&source)? {
        let file = file?;
        std::fs::copy(file.path(), home.join(file.file_name()))?;
    }
    let run = |program: &str, args: &[&str]| {
        let done = Command::new(program).args(args).current_dir(&home).stdout(Stdio::null()).status()?;
        if done.success() { Ok(()) } else { Err(format!("{program} {args:?}: {done}")) }.map_err(Into::into)
    };
    let ran: [Outcome<()>; 2] = [
        run("npm", &["ci", "--no-audit", "--no-fund", "--ignore-scripts"]),
        run(
            "node_modules/.bin/esbuild",
            &[
                "streamdown.jsx",
                "react-markdown.jsx",
                "--bundle",
                "--minify",
                "--splitting",
                "--format=esm",
                "--jsx=automatic",
                "--define:process.env.NODE_ENV=\"production\"",
                "--outdir=built",
            ],
        ),
    ];
    ran.into_iter().collect::<Outcome<Vec<()>>>()?;
    let built = home.join("built");
    let page = std::fs::read_to_string(home.join("page.html"))?;
    for arm in [Arm::ReactMarkdown, Arm::Streamdown] {
        std::fs::write(built.join(format!("{}.html", arm.name())), page.replace("ARM", arm.name()))?;
    }
    Ok(built)
}
