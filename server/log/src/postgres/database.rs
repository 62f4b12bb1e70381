//! Connections: one that writes, one that says that the life goes on, and a few that read. All but the writer's live on a runtime of the
//! log's own, so that whoever waits for the database holds up nobody else.
//!
//! A thread that calls the log waits in [`Database::wait`], which does the work on that runtime. The writer
//! is a thread of its own that drives its connection itself. At most six transactions that read and three that change something run beside the
//! writer's; more wait for a permit.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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

/// Most changes at a time, of sessions, links, owners and the like. They have permits of their own, since their commits may wait for
/// a standby without end, and readers need not.
pub(super) const CHANGES_MAX: usize = 3;

/// How long a read or a change may take that a request waits for, and a claim with all that it asks: with waiting for a permit and connecting. Searches and sums have limits
/// of their own, which are shorter.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(20);

/// What each session is told first. A lock that another session holds, whose client is gone, is not waited for without end.
const HELLO: &str = "SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '30s'; SET client_min_messages = warning";

/// A connection with the statements that it knows.
pub(super) struct Session {
    /// The connection, driven by a task that ends with it.
    pub(super) client: Client,
    /// Statements by their text. They live as long as the connection.
    statements: HashMap<Cow<'static, str>, Statement>,
    /// `PREPARE` statements that it has executed.
    named: HashSet<&'static str>,
    /// The number of warnings of the database.
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

    /// Executes the `PREPARE` statement `sql`, once for each connection. What it names can then be executed by its name, together with
    /// other statements in one message.
    pub(super) async fn prepare_named(&mut self, sql: &'static str) -> Result<(), tokio_postgres::Error> {
        if !self.named.contains(sql) {
            self.client.batch_execute(sql).await?;
            self.named.insert(sql);
        }
        Ok(())
    }
}

/// The way to the database: its address, the runtime, and connections that nobody uses. Shared by the log,
/// the writer and the packer. [`Database::end`] and dropping it end the runtime without waiting; work that
/// runs there is broken off.
pub(super) struct Database {
    url: PostgresUrl,
    /// How connections speak TLS; nothing for plain ones.
    tls: Option<MakeTls>,
    /// The runtime; nothing once the log has ended.
    runtime: Mutex<Option<Runtime>>,
    /// Of the same runtime. Work that is given to it after the end is dropped.
    handle: Handle,
    /// Connections to be used again, at most as many as there were readers at a time.
    idle: Mutex<Vec<Session>>,
    /// A permit for each transaction that may run at a time, [`READERS_MAX`].
    readers: Arc<Semaphore>,
    /// A permit for each change that may run at a time, [`CHANGES_MAX`].
    changes: Semaphore,
    /// How long one that a request waits for may take: [`ANSWER_MAX`].
    answer_max: Duration,
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
        Self::with_limit(url, ANSWER_MAX)
    }

    /// As [`Database::new`], with another time than [`ANSWER_MAX`].
    pub(super) fn with_limit(url: PostgresUrl, answer_max: Duration) -> Result<Arc<Self>, PostgresError> {
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
        Ok(Arc::new(Self {
            url,
            tls,
            runtime,
            handle,
            idle,
            readers,
            changes: Semaphore::new(CHANGES_MAX),
            answer_max,
        }))
    }

    /// The address of the database, without the password.
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

    /// Begins `work` on the log's own runtime. Nobody waits for it; it is broken off when the log ends.
    pub(super) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(work));
    }

    /// A new connection, which the runtime of the caller keeps going. Fails where the database does not answer within the time of the
    /// URL, or refuses.
    pub(super) async fn connect(&self) -> Result<Session, tokio_postgres::Error> {
        let config = &self.url.config;
        let warnings = Arc::<AtomicU64>::default();
        let client = if let Some(tls) = &self.tls {
            let (client, connection) = config.connect(tls.clone()).await?;
            tokio::spawn(drive(connection, Arc::clone(&warnings)));
            client
        } else {
            let (client, connection) = config.connect(NoTls).await?;
            tokio::spawn(drive(connection, Arc::clone(&warnings)));
            client
        };
        client.batch_execute(HELLO).await?;
        Ok(Session { client, statements: HashMap::new(), named: HashSet::new(), warnings })
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

    /// The time that a request waits which asks now, however often it has to ask the database.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.answer_max
    }

    /// Changes with `change`, in a transaction of its own. Where this fails, it may have been made all the same. Fails with
    /// [`LogError::Failing`] after [`ANSWER_MAX`].
    pub(super) fn change<T, F>(self: &Arc<Self>, change: F) -> Result<T, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> Reading<'a, T> + Send + Sync + 'static,
    {
        self.change_until(self.deadline(), change)
    }

    /// As [`Database::change`], until `deadline`.
    pub(super) fn change_until<T, F>(self: &Arc<Self>, deadline: Instant, change: F) -> Result<T, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> Reading<'a, T> + Send + Sync + 'static,
    {
        let database = Arc::clone(self);
        let done = self.wait(async move {
            let of = Arc::clone(&database);
            // In a task of its own: a commit that waits for a standby has no end, and keeps its permit and its
            // connection after the caller has gone. Given up, each caller would leave one more to the database.
            let work = tokio::spawn(async move {
                let database = of;
                let _permit = database.changes.acquire().await.map_err(unreadable)?;
                let mut session = database.idle_or_new().await?;
                let begin = begin_in_time(CHANGES.0, deadline);
                let answer = inside(&mut session, (&begin, CHANGES.1), &change).await;
                database.give_back(session);
                answer
            });
            match tokio::time::timeout_at(deadline.into(), work).await {
                Ok(done) => done.unwrap_or_else(|error| Err(unreadable(error))),
                Err(_elapsed) => Err(LogError::Failing(Arc::from(database.said_nothing()))),
            }
        });
        done.unwrap_or_else(|| Err(unreadable("the log has ended")))
    }

    /// What is said where [`Self::answer_max`] is over. Whoever asked may be anybody, so where the database is stands in the trace alone.
    fn said_nothing(&self) -> String {
        let ms = self.answer_max.as_millis();
        tracing::warn!(database = self.place(), ms, "the database of the log has not answered in time");
        format!("the database has not answered within {ms} ms")
    }

    /// Takes a connection of the log's own runtime that nobody uses any more, to be used again unless it is closed.
    pub(super) fn give_back(&self, session: Session) {
        if !session.client.is_closed() {
            self.idle.lock().push(session);
        }
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
    /// found broken is replaced once. Fails with [`LogError::Unreadable`] after [`ANSWER_MAX`]; the connection is given up then.
    pub(super) fn read<T, F>(self: &Arc<Self>, read: F) -> Result<T, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> Reading<'a, T> + Send + Sync + 'static,
    {
        self.read_until(self.deadline(), read)
    }

    /// As [`Database::read`], until `deadline`.
    pub(super) fn read_until<T, F>(self: &Arc<Self>, deadline: Instant, read: F) -> Result<T, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> Reading<'a, T> + Send + Sync + 'static,
    {
        let database = Arc::clone(self);
        let done = self.wait(async move {
            let work = database.try_to_read(begin_in_time(READS.0, deadline), read);
            let done = tokio::time::timeout_at(deadline.into(), work).await;
            done.unwrap_or_else(|_elapsed| Err(unreadable(database.said_nothing())))
        });
        done.unwrap_or_else(|| Err(unreadable("the log has ended")))
    }

    /// Reads as [`Database::read`] does, however long that takes: for what no request waits for, such as retention and packing.
    pub(super) fn read_for_upkeep<T, F>(self: &Arc<Self>, read: F) -> Result<T, LogError>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a mut Session) -> Reading<'a, T> + Send + Sync + 'static,
    {
        let database = Arc::clone(self);
        let done = self.wait(async move { database.try_to_read(READS.0.to_owned(), read).await });
        done.unwrap_or_else(|| Err(unreadable("the log has ended")))
    }

    /// One reading, in a transaction that begins with `begin`.
    async fn try_to_read<T, F>(&self, begin: String, read: F) -> Result<T, LogError>
    where
        F: for<'a> Fn(&'a mut Session) -> Reading<'a, T>,
    {
        let _permit = self.readers.acquire().await.map_err(unreadable)?;
        let known = self.idle.lock().pop().filter(|session| !session.client.is_closed());
        let is_new = known.is_none();
        let mut session = match known {
            Some(session) => session,
            None => self.connect().await.map_err(unreadable)?,
        };
        let mut answer = inside(&mut session, (&begin, READS.1), &read).await;
        if session.client.is_closed() && !is_new {
            session = self.connect().await.map_err(unreadable)?;
            answer = inside(&mut session, (&begin, READS.1), &read).await;
        }
        self.give_back(session);
        answer
    }

    /// Reads as [`Database::read`] does until `stop` is called, which ends the statement that runs; then there is no answer.
    pub(super) fn read_unless_stopped<T, F>(
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

/// `begin`, and a limit for each statement of the transaction, so that the database does not go on with what nobody waits for any
/// more. It ends a second after the waiting has.
fn begin_in_time(begin: &str, deadline: Instant) -> String {
    let ms = deadline.saturating_duration_since(Instant::now()).as_millis() + 1_000;
    format!("{begin}; SET LOCAL statement_timeout = {ms}")
}

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
