//! Connections: one that writes, one that says that the life goes on, and a few that read. All live on a runtime of the log's own,
//! so that whoever waits for the database holds up nobody else.
//!
//! A thread that calls the log waits in [`Database::wait`], which does the work on that runtime. The writer
//! is a thread of its own and drives its work by [`Database::block_on`]. At most six transactions run beside
//! the writer's; more wait for a permit.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Semaphore;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, CancelToken, Client, NoTls, Statement};

use super::address::{Encryption, PostgresUrl};
use super::tls::MakeTls;
use super::{PostgresError, unreadable};
use crate::{LogError, QueryCancel};

/// Most readers at a time, of which as many as [`model::limits::SEARCHES_AT_ONCE_MAX`] may be searches.
const READERS_MAX: usize = 6;

/// What each session is told first. A lock that another session holds, whose client is gone, is not waited for without end.
const HELLO: &str = "SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '30s'; SET client_min_messages = warning";

/// A connection with the statements that it knows.
pub(super) struct Session {
    /// The connection, driven by a task that ends with it.
    pub(super) client: Client,
    /// Statements by their text. They live as long as the connection.
    statements: HashMap<Cow<'static, str>, Statement>,
    /// How often the database has warned.
    warnings: Arc<AtomicU64>,
}

impl Session {
    /// How often the database has warned on this connection. It does so for a commit that somebody has let go
    /// before the standby had it.
    pub(super) fn warnings(&self) -> u64 {
        self.warnings.load(Ordering::Acquire)
    }

    /// The statement `sql`, prepared once for each connection. It must be one of a bounded number, since the connection keeps it.
    pub(super) async fn prepared(
        &mut self,
        sql: impl Into<Cow<'static, str>>,
    ) -> Result<Statement, tokio_postgres::Error> {
        let sql = sql.into();
        if let Some(known) = self.statements.get(&sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(&sql).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

/// The way to the database: its address, the runtime, and connections that nobody uses. Shared by the log,
/// the writer and the packer. [`Database::end`] and dropping it end the runtime without waiting; work that
/// runs there is broken off.
pub(super) struct Database {
    url: PostgresUrl,
    /// How connections speak TLS; nothing for plain ones.
    tls: Option<MakeTls>,
    /// Nothing once the log has ended.
    runtime: Mutex<Option<Runtime>>,
    /// Of the same runtime. Work that is given to it after the end is dropped.
    handle: Handle,
    /// Connections to be used again, at most as many as there were readers at a time.
    idle: Mutex<Vec<Session>>,
    /// A permit for each transaction that may run at a time, [`READERS_MAX`].
    readers: Arc<Semaphore>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Database {
    /// The way to `url`. Connects to nothing yet. Fails where the file of trusted certificates cannot be read
    /// or holds none.
    pub(super) fn new(url: PostgresUrl) -> Result<Arc<Self>, PostgresError> {
        let roots = url.roots.as_ref().map(std::fs::read).transpose();
        let roots =
            roots.map_err(|error| PostgresError::Url(format!("sslrootcert cannot be read: {error}")))?;
        let tls = match url.is_encrypted {
            Encryption::Verified => Some(MakeTls::new(roots.as_deref()).map_err(PostgresError::Url)?),
            Encryption::Off => None,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("log-postgres")
            .enable_all()
            .build()
            .map_err(PostgresError::Runtime)?;
        let handle = runtime.handle().clone();
        let readers = Arc::new(Semaphore::new(READERS_MAX));
        let (runtime, idle) = (Mutex::new(Some(runtime)), Mutex::default());
        Ok(Arc::new(Self { url, tls, runtime, handle, idle, readers }))
    }

    /// Where it is, without the password.
    pub(super) fn place(&self) -> String {
        self.url.to_string()
    }

    /// Does `work` on the log's own runtime and waits for it, from any thread. Nothing when the log has ended.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (done, result) = std::sync::mpsc::sync_channel(1);
        self.handle.spawn(async move {
            // Whoever has asked waits.
            drop(done.send(work.await));
        });
        result.recv().ok()
    }

    /// Does `work` on the calling thread, which must be none of a runtime, with the log's own runtime behind it.
    pub(super) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.handle.block_on(work)
    }

    /// Begins `work` on the log's own runtime. Nobody waits for it; it is broken off when the log ends.
    pub(super) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(work));
    }

    /// A new connection. Fails where the database does not answer within the time of the URL, or refuses.
    pub(super) async fn connect(&self) -> Result<Session, tokio_postgres::Error> {
        let config = &self.url.config;
        let warnings = Arc::<AtomicU64>::default();
        let client = if let Some(tls) = &self.tls {
            let (client, connection) = config.connect(tls.clone()).await?;
            self.handle.spawn(drive(connection, Arc::clone(&warnings)));
            client
        } else {
            let (client, connection) = config.connect(NoTls).await?;
            self.handle.spawn(drive(connection, Arc::clone(&warnings)));
            client
        };
        client.batch_execute(HELLO).await?;
        Ok(Session { client, statements: HashMap::new(), warnings })
    }

    /// Asks the database to end the statement that runs on the connection of `token`. It may end a later one
    /// if that has begun.
    pub(super) async fn cancel(&self, token: CancelToken) {
        let ended = match &self.tls {
            Some(tls) => token.cancel_query(tls.clone()).await,
            None => token.cancel_query(NoTls).await,
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a query of the log could not be ended");
        }
    }

    /// Changes with `change`, in a transaction of its own. Where this fails, it may have been made all the same.
    pub(super) fn change<T, F>(self: &Arc<Self>, change: F) -> Result<T, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> Reading<'a, T> + Send + Sync + 'static,
    {
        let database = Arc::clone(self);
        let done = self.wait(async move {
            let _permit = database.readers.acquire().await.map_err(unreadable)?;
            let mut session = database.idle_or_new().await?;
            let answer = inside(&mut session, CHANGES, &change).await;
            if !session.client.is_closed() {
                database.idle.lock().push(session);
            }
            answer
        });
        done.unwrap_or_else(|| Err(unreadable("the log has ended")))
    }

    /// A connection that nobody uses.
    async fn idle_or_new(&self) -> Result<Session, LogError> {
        let known = self.idle.lock().pop().filter(|session| !session.client.is_closed());
        match known {
            Some(session) => Ok(session),
            None => self.connect().await.map_err(unreadable),
        }
    }

    /// Reads with `read`, on a connection that nobody else uses meanwhile. What it reads is as of one moment. A connection that is
    /// found broken is replaced once.
    pub(super) fn read<T, F>(self: &Arc<Self>, read: F) -> Result<T, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> Reading<'a, T> + Send + Sync + 'static,
    {
        let database = Arc::clone(self);
        let done = self.wait(async move {
            let permit = Arc::clone(&database.readers).acquire_owned().await.map_err(unreadable)?;
            let known = database.idle.lock().pop().filter(|session| !session.client.is_closed());
            let is_new = known.is_none();
            let mut session = match known {
                Some(session) => session,
                None => database.connect().await.map_err(unreadable)?,
            };
            let mut answer = inside(&mut session, READS, &read).await;
            if session.client.is_closed() && !is_new {
                session = database.connect().await.map_err(unreadable)?;
                answer = inside(&mut session, READS, &read).await;
            }
            if !session.client.is_closed() {
                database.idle.lock().push(session);
            }
            drop(permit);
            answer
        });
        done.unwrap_or_else(|| Err(unreadable("the log has ended")))
    }

    /// Reads as [`Database::read`] does until `stop` is called, which ends the statement that runs; then there is no answer.
    pub(super) fn read_until<T, F>(
        self: &Arc<Self>,
        stop: &QueryCancel,
        read: F,
    ) -> Result<Option<T>, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> Asking<'a, T> + Send + Sync + 'static,
    {
        let token = Arc::new(Mutex::new(None));
        let _running = {
            let (token, database) = (Arc::clone(&token), Arc::clone(self));
            stop.attach(Box::new(move || {
                let Some(token) = token.lock().take() else { return };
                let on = Arc::clone(&database);
                database.begin(async move { on.cancel(token).await });
            }))
        };
        let read = Arc::new(read);
        self.read(move |session| {
            let (read, token) = (Arc::clone(&read), Arc::clone(&token));
            Box::pin(async move {
                *token.lock() = Some(session.client.cancel_token());
                let bounded = session.client.batch_execute(BOUNDED).await;
                let answer = match bounded {
                    Ok(()) => read(session).await,
                    Err(error) => Err(error),
                };
                // From here on the session may be another's.
                token.lock().take();
                match answer {
                    Ok(answer) => Ok(Some(answer)),
                    Err(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => Ok(None),
                    Err(error) => Err(unreadable(error)),
                }
            })
        })
    }

    /// Lets go of all connections. Nothing is read or written after that.
    pub(super) fn end(&self) {
        self.idle.lock().clear();
        if let Some(runtime) = self.runtime.lock().take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.end();
    }
}

/// Bounds a statement that somebody may stop: PostgreSQL does not hear that where no statement runs at that moment.
const BOUNDED: &str = "SET LOCAL statement_timeout = '4s'";

/// How a transaction begins and ends that reads, all of it as of one moment.
const READS: (&str, &str) = ("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "ROLLBACK");

/// How one begins and ends that changes something.
const CHANGES: (&str, &str) = ("BEGIN", "COMMIT");

/// A reading that is under way.
pub(super) type Reading<'a, T> = std::pin::Pin<Box<dyn Future<Output = Result<T, LogError>> + Send + 'a>>;

/// Statements that are under way.
pub(super) type Asking<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + Send + 'a>>;

/// Does `work` inside a transaction that begins with the first and ends with the second of `ways`.
async fn inside<T, F>(session: &mut Session, ways: (&str, &str), work: &F) -> Result<T, LogError>
where
    F: for<'a> Fn(&'a mut Session) -> Reading<'a, T>,
{
    let (begin, end) = ways;
    session.client.batch_execute(begin).await.map_err(unreadable)?;
    let answer = work(session).await;
    if answer.is_err() {
        // A session on which this fails is given up.
        drop(session.client.batch_execute("ROLLBACK").await);
        return answer;
    }
    session.client.batch_execute(end).await.map_err(unreadable)?;
    answer
}

/// Keeps a connection going until it ends, and counts the warnings on it, each before the answer that follows it.
async fn drive<S, T>(mut connection: tokio_postgres::Connection<S, T>, warnings: Arc<AtomicU64>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            Ok(AsyncMessage::Notice(notice)) => {
                warnings.fetch_add(1, Ordering::AcqRel);
                tracing::warn!(warning = notice.message(), "the database of the log warns");
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(%error, "a connection to the database of the log has ended");
                return;
            }
        }
    }
}
