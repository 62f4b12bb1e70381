//! Where calls go: the model APIs that are known by name, and those in the settings.

use std::path::{Path, PathBuf};

use compact_str::CompactString;
use hyper::http::HeaderValue;
use hyper::http::Uri;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};

/// The API of an upstream, where the path of a call does not determine it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Api {
    /// OpenAI's API, and all that are compatible with it.
    #[default]
    OpenAi,
    /// The API of Anthropic.
    Anthropic,
    /// The API of Gemini.
    Gemini,
    /// The API of Ollama.
    Ollama,
}

impl Api {
    /// The API with this name in settings.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama].into_iter().find(|api| api.name() == name)
    }

    /// The API of the known upstream `name`; OpenAI's for others.
    pub fn of_upstream(name: &str) -> Self {
        KNOWN.iter().find(|(known, ..)| *known == name).map_or_else(Self::default, |(.., api)| *api)
    }

    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }
}

/// The shortest key of a vendor, in bytes: shorter ones could not be told from words.
const KEY_BYTES_MIN: usize = 8;

/// The longest key of a vendor, in bytes.
const KEY_BYTES_MAX: usize = 8 << 10;

/// The upstreams that are known without settings: name, URL and API.
const KNOWN: [(&str, &str, Api); 16] = [
    ("openai", "https://api.openai.com", Api::OpenAi),
    ("anthropic", "https://api.anthropic.com", Api::Anthropic),
    ("gemini", "https://generativelanguage.googleapis.com", Api::Gemini),
    ("ollama", "http://127.0.0.1:11434", Api::Ollama),
    ("openrouter", "https://openrouter.ai/api", Api::OpenAi),
    ("groq", "https://api.groq.com/openai", Api::OpenAi),
    ("mistral", "https://api.mistral.ai", Api::OpenAi),
    ("deepseek", "https://api.deepseek.com", Api::OpenAi),
    ("together", "https://api.together.xyz", Api::OpenAi),
    ("fireworks", "https://api.fireworks.ai/inference", Api::OpenAi),
    ("cerebras", "https://api.cerebras.ai", Api::OpenAi),
    ("xai", "https://api.x.ai", Api::OpenAi),
    ("moonshot", "https://api.moonshot.ai", Api::OpenAi),
    ("lmstudio", "http://127.0.0.1:1234", Api::OpenAi),
    ("llamacpp", "http://127.0.0.1:8080", Api::OpenAi),
    ("vllm", "http://127.0.0.1:8000", Api::OpenAi),
];

/// A server to which calls are sent. Cheap to clone; it holds no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    name: CompactString,
    /// The scheme: HTTP or HTTPS.
    scheme: Scheme,
    authority: Authority,
    /// The prefix of all paths, without a slash at its end.
    path: String,
    api: Api,
    /// The hub's own key for it, which callers may be lent. Marked as sensitive, so nothing prints it.
    key: Option<HeaderValue>,
    /// Certificates that are trusted for it, in addition to the usual ones.
    certificates: Vec<CertificateDer<'static>>,
}

/// Why an upstream is invalid.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The name cannot be a segment of a path.
    #[error("the name of an upstream has letters, digits, dots, - and _ alone, and {0:?} has others")]
    Name(String),
    /// The URL cannot be parsed.
    #[error("the URL of the upstream {0:?} is invalid; it has the form https://HOST/PATH")]
    Url(String),
    /// The URL has a scheme other than HTTP and HTTPS.
    #[error("the URL of the upstream {0:?} begins neither with http:// nor with https://")]
    Scheme(String),
    /// The URL has more than a scheme, a host and a path.
    #[error("the URL of the upstream {0:?} has a query, or a name and password; callers send those")]
    Extra(String),
    /// The certificates cannot be read.
    #[error("the certificates {file:?} of the upstream {upstream:?} cannot be read")]
    Certificates {
        /// The name of the upstream.
        upstream: String,
        /// The file with the certificates.
        file: PathBuf,
        /// The cause of the failure.
        #[source]
        cause: pem::Error,
    },
    /// The key cannot be one.
    #[error(
        "the key of the upstream {0:?} has fewer than {KEY_BYTES_MIN} bytes, more than {KEY_BYTES_MAX}, or characters that no header has"
    )]
    Key(String),
    /// The file contains no certificate.
    #[error("the file {file:?} of the upstream {upstream:?} has no certificate")]
    NoCertificates {
        /// The name of the upstream.
        upstream: String,
        /// The file with the certificates.
        file: PathBuf,
    },
}

impl Upstream {
    /// An upstream with the name `name`. The path of `url` is put before the paths of calls. Fails for a name
    /// that is no segment of a path and for a URL with anything but a scheme, a host and a path. Errors do
    /// not show the URL, which may have a password.
    pub fn new(name: &str, url: &str, api: Api) -> Result<Self, UpstreamError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(UpstreamError::Name(name.to_owned()));
        }
        let wrong = || UpstreamError::Url(name.to_owned());
        let parts = url.parse::<Uri>().map_err(|_not_shown| wrong())?.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else { return Err(wrong()) };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(UpstreamError::Scheme(name.to_owned()));
        }
        let target = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
        if target.query().is_some() || authority.as_str().contains('@') {
            return Err(UpstreamError::Extra(name.to_owned()));
        }
        let path = target.path().trim_end_matches('/').to_owned();
        Ok(Self { name: name.into(), scheme, authority, path, api, key: None, certificates: Vec::new() })
    }

    /// Trusts the certificates in the file `ca` (PEM) in addition to the usual ones; without a file changes nothing. Fails if the
    /// file cannot be read or has no certificate.
    pub fn with_ca(mut self, ca: Option<&Path>) -> Result<Self, UpstreamError> {
        let Some(file) = ca else { return Ok(self) };
        let wrong = |cause| UpstreamError::Certificates {
            upstream: self.name.to_string(),
            file: file.to_owned(),
            cause,
        };
        let found = CertificateDer::pem_file_iter(file).map_err(wrong)?;
        let found = found.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        if found.is_empty() {
            let (upstream, file) = (self.name.to_string(), file.to_owned());
            return Err(UpstreamError::NoCertificates { upstream, file });
        }
        self.certificates = found;
        Ok(self)
    }

    /// Holds `key`, with which callers of the proxy may be let through. Fails for a text that cannot be one; the
    /// error does not show it.
    pub fn holding(mut self, key: &str) -> Result<Self, UpstreamError> {
        let wrong = || UpstreamError::Key(self.name.to_string());
        let fits = |key: &&str| (KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len()) && !key.contains(' ');
        let key = Some(key.trim()).filter(fits).ok_or_else(wrong)?;
        let mut key = HeaderValue::from_str(key).map_err(|_not_shown| wrong())?;
        key.set_sensitive(true);
        self.key = Some(key);
        Ok(self)
    }

    /// The key that it holds.
    pub fn key(&self) -> Option<&HeaderValue> {
        self.key.as_ref()
    }

    /// The URL of the known upstream `name`.
    pub fn url_of_known(name: &str) -> Option<&'static str> {
        KNOWN.iter().find(|(known, ..)| *known == name).map(|(_, url, _)| *url)
    }

    /// Whether an upstream with this name is known without settings.
    pub fn is_known(name: &str) -> bool {
        KNOWN.iter().any(|(known, ..)| *known == name)
    }

    /// The name in paths.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The API that it speaks.
    pub fn api(&self) -> Api {
        self.api
    }

    /// The scheme and the host, for people.
    pub fn place(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }

    /// The certificates that are trusted for it in addition to the usual ones.
    pub(crate) fn certificates(&self) -> &[CertificateDer<'static>] {
        &self.certificates
    }

    /// The address of a call to `rest`, which is empty or a path with an optional query. `None` if it is not
    /// valid.
    pub fn uri(&self, rest: &str) -> Option<Uri> {
        let whole = format!("{}{rest}", self.path);
        let target = if whole.starts_with('/') { whole } else { format!("/{whole}") };
        let builder = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone());
        builder.path_and_query(target).build().ok()
    }

    /// The known upstreams and those in `named`, which take precedence over known ones with the same name.
    pub fn all(named: &[Self]) -> Vec<Self> {
        let mut all = named.to_vec();
        for (name, url, api) in KNOWN {
            if !all.iter().any(|other| other.name == name) {
                all.extend(Self::new(name, url, api).ok());
            }
        }
        all
    }
}

#[cfg(test)]
mod tests;
