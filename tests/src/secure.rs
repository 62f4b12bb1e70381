//! An upstream behind TLS that speaks HTTP/2, with a certificate that nobody knows but who is given its file.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Version};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A name that its certificate has besides, of which no machine knows where it is.
pub const FAR: &str = "models.test";

/// A part of an answer, or its break.
pub type AnswerPart = Result<Frame<Bytes>, std::io::Error>;

/// Says the parts of one answer.
pub type AnswerWriter = mpsc::Sender<AnswerPart>;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The version of HTTP.
    pub version: Version,
    /// The method of the request.
    pub method: Method,
    /// The path and the query.
    pub target: String,
    /// The headers of the request.
    pub headers: HeaderMap,
    /// The body of the request.
    pub body: Bytes,
}

/// The answer to a request.
#[derive(Debug)]
pub struct SecureReply {
    /// The HTTP status of the answer.
    pub status: u16,
    /// The headers of the answer.
    pub headers: Vec<(&'static str, String)>,
    /// The body; where it is an error, the answer breaks off behind these bytes.
    pub body: Result<Bytes, Bytes>,
    /// What comes behind the body.
    pub trailers: Option<HeaderMap>,
}

impl SecureReply {
    /// `status` with a body of the type `media`.
    pub fn new(status: u16, media: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type", media.to_owned())],
            body: Ok(body.into()),
            trailers: None,
        }
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Sets the trailers of the answer.
    #[must_use]
    pub fn ending_with(mut self, trailers: HeaderMap) -> Self {
        self.trailers = Some(trailers);
        self
    }

    /// Makes the answer break off at its end.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.body = self.body.and_then(Err);
        self
    }
}

/// Chooses what a request is answered with.
type AnswerChoice = dyn Fn(&ReceivedRequest) -> SecureReply + Send + Sync;

/// A server behind TLS that answers as the test chose. Dropping it stops the server.
#[derive(Debug)]
pub struct TlsServer {
    address: SocketAddr,
    place: tempfile::TempDir,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    speakers: mpsc::Receiver<AnswerWriter>,
    serving: JoinHandle<()>,
}

type SharedState = (Arc<Mutex<Vec<ReceivedRequest>>>, mpsc::Sender<AnswerWriter>, Option<Arc<AnswerChoice>>);

impl TlsServer {
    /// Starts one that answers every request with 200 and what the test says through [`TlsServer::speaker`].
    ///
    /// # Panics
    /// When something that it needs is not to be had.
    pub async fn start() -> Self {
        Self::launch(None, None).await
    }

    /// Starts a server as [`TlsServer::start`] does, of which one connection has only so many requests answered at once.
    ///
    /// # Panics
    /// When something that it needs is not to be had.
    pub async fn narrow(streams: u32) -> Self {
        Self::launch(None, Some(streams)).await
    }

    /// Starts one that answers as `choose` says.
    ///
    /// # Panics
    /// When something that it needs is not to be had.
    pub async fn answering(choose: impl Fn(&ReceivedRequest) -> SecureReply + Send + Sync + 'static) -> Self {
        Self::launch(Some(Arc::new(choose)), None).await
    }

    async fn launch(choose: Option<Arc<AnswerChoice>>, streams: Option<u32>) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), FAR.to_owned()])
            .expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_no_client_auth();
        let mut config = config.with_single_cert(vec![made.cert.der().clone()], key).expect("a certificate");
        config.alpn_protocols = vec![b"h2".to_vec()];
        let place = tempfile::tempdir().expect("a directory");
        std::fs::write(place.path().join("ca.pem"), made.cert.pem()).expect("a file");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (speak, speakers) = mpsc::channel(64);
        let asked = Arc::<Mutex<Vec<ReceivedRequest>>>::default();
        let shared = (Arc::clone(&asked), speak, choose);
        let serving = tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), streams, shared));
        Self { address, place, asked, speakers, serving }
    }

    /// The URL of the server, with its port.
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.address.port())
    }

    /// The file with its certificate.
    pub fn certificate(&self) -> PathBuf {
        self.place.path().join("ca.pem")
    }

    /// A place for files that goes with it.
    pub fn place(&self) -> &Path {
        self.place.path()
    }

    /// What it was asked so far.
    ///
    /// # Panics
    /// When a test panicked before.
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().expect("no panic").clone()
    }

    /// Speaks in the answer to the next request.
    ///
    /// # Panics
    /// When there is none.
    pub async fn speaker(&mut self) -> AnswerWriter {
        crate::wait::within("a request over HTTP/2", self.speakers.recv()).await.expect("it serves")
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, tls: TlsAcceptor, streams: Option<u32>, shared: SharedState) {
    while let Ok((stream, _peer)) = listener.accept().await {
        let (tls, shared) = (tls.clone(), shared.clone());
        tokio::spawn(async move {
            // Who does not trust the certificate goes away here.
            let Ok(stream) = tls.accept(stream).await else { return };
            let service = service_fn(move |request| answer(request, shared.clone()));
            let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            if let Some(streams) = streams {
                builder.max_concurrent_streams(streams);
            }
            // The other side may leave in the middle.
            builder.serve_connection(TokioIo::new(stream), service).await.unwrap_or_default();
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    (asked, speak, choose): SharedState,
) -> Result<Response<BoxBody<Bytes, std::io::Error>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let target = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let request = ReceivedRequest {
        version: parts.version,
        method: parts.method,
        target,
        headers: parts.headers,
        body,
    };
    asked.lock().expect("no panic").push(request.clone());
    if let Some(choose) = choose {
        return Ok(reply(choose(&request)));
    }
    let (speaker, parts) = mpsc::channel::<AnswerPart>(1);
    speak.send(speaker).await.expect("the test goes on");
    let parts = futures_util::stream::unfold(parts, |mut parts| async { Some((parts.recv().await?, parts)) });
    let body = StreamBody::new(parts).boxed();
    let response = Response::builder().header("content-type", "text/event-stream").body(body);
    Ok(response.expect("a response"))
}

fn reply(reply: SecureReply) -> Response<BoxBody<Bytes, std::io::Error>> {
    let mut parts: Vec<AnswerPart> = match reply.body {
        Ok(body) => vec![Ok(Frame::data(body))],
        Err(body) => vec![Ok(Frame::data(body)), Err(std::io::Error::other("cut"))],
    };
    parts.extend(reply.trailers.map(|trailers| Ok(Frame::trailers(trailers))));
    let mut response = Response::builder().status(reply.status);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    response.body(StreamBody::new(futures_util::stream::iter(parts)).boxed()).expect("a response")
}
