//! Opening a log: the tables, the new life, and the threads.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::claims::Claims;
use super::database::Database;
use super::guarantee::CommitPromise;
use super::lease::OwnLease;
use super::life::{self, PostgresLife};
use super::writer::{CommitFence, PostgresWriter, WriterShared};
use super::{PostgresError, PostgresLog, PostgresOptions, PostgresThreads, PostgresUrl, read};
use crate::LogError;
use crate::blocks::Loose;
use crate::conversation_count::ConversationCount;
use crate::packer::BlockSource;
use crate::priority::{ThreadPriority, lower_priority};
use crate::queue::Queue;

impl PostgresLog {
    /// Opens the log in the database `url`: brings its tables to the schema of today and begins a life there,
    /// once no other is alive. Waits for the database. Fails with [`PostgresError::InUse`] while another hub
    /// lives there, unless both have an address.
    pub fn open(url: &PostgresUrl, options: &PostgresOptions) -> Result<Self, PostgresError> {
        let database = Database::new(url.clone())?;
        let (life, session) = {
            let (of, lease, address) = (Arc::clone(&database), options.lease, options.address.clone());
            let begun = database.wait(async move {
                let mut session = of.connect().await?;
                life::begin(&mut session, lease, address.as_deref()).await.map(|life| (life, session))
            });
            begun.unwrap_or_else(|| Err(PostgresError::Url(String::from("the log has ended"))))?
        };
        let PostgresLife { number, last_unsound, conversations, guarantee, sent } = life;
        tracing::info!(database = database.place(), promise = guarantee.why, "the log is in PostgreSQL");
        let queue = Arc::new(Queue::new(options.queue_bytes, None));
        // There is no journal: what is stored is rows.
        queue.go_without_journal();
        queue.offers(guarantee.durability);
        queue.sweep_after(Duration::ZERO);
        let shared = WriterShared {
            database: Arc::clone(&database),
            queue: Arc::clone(&queue),
            packer: Arc::default(),
            conversation_count: Arc::new(ConversationCount::new(conversations)),
            promise: Arc::new(Mutex::new(CommitPromise::new(guarantee))),
            commits: Arc::default(),
            is_ending: Arc::default(),
            own_lease: Arc::new(OwnLease::new(options.lease, sent)),
            claims: options
                .address
                .is_some()
                .then(|| Arc::new(Claims::new(number, options.lease, last_unsound))),
        };
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(String::from(name))
                .spawn(run)
                .map(Some)
                .map_err(PostgresError::Runtime)
        };
        let fences = if options.address.is_some() { CommitFence::Owners } else { CommitFence::Life };
        // The writer's connection lives on a runtime of its own.
        database.give_back(session);
        let writer = PostgresWriter::new(shared.clone(), (number, fences), options.lease);
        let writer = writer.map_err(PostgresError::Runtime)?;
        let packing = {
            let shared = shared.clone();
            move || {
                lower_priority(ThreadPriority::Packing);
                let mut source = PostgresBlockSource { database: Arc::clone(&shared.database) };
                shared.packer.run(Some(&mut source), &shared.queue);
            }
        };
        let threads = PostgresThreads {
            writer: spawn("log-writer", Box::new(move || writer.run()))?,
            packer: spawn("log-packer", Box::new(packing))?,
        };
        database.begin(life::keep_alive(shared.clone(), number, options.lease));
        Ok(Self { shared, threads: Mutex::new(threads), last_unsound })
    }
}

/// The database that the packer reads from.
pub(super) struct PostgresBlockSource {
    pub(super) database: Arc<Database>,
}

impl BlockSource for PostgresBlockSource {
    fn newest_first(&mut self, key: i64, limit: usize) -> Result<Vec<Loose>, LogError> {
        self.database.read_for_upkeep(move |session| Box::pin(read::newest_first(session, key, limit)))
    }

    fn bodies(&mut self, key: i64, rows: &[Loose]) -> Result<Vec<Vec<u8>>, LogError> {
        let firsts: Vec<i64> = rows.iter().map(|row| row.id).collect();
        self.database.read_for_upkeep(move |session| Box::pin(read::bodies_of(session, key, firsts.clone())))
    }
}
