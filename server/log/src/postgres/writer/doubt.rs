//! Transactions of which the database did not say whether they were made.

use super::super::counting::Counted;
use super::super::database::Session;
use super::super::failure::GroupFailure;
use super::super::plan::PlanEffects;
use super::PostgresWriter;

impl PostgresWriter {
    /// Looks for the transaction that may have been made; what it did, if it was.
    pub(super) async fn look_for_doubtful(
        &mut self,
        session: &mut Session,
    ) -> Result<Option<PlanEffects>, GroupFailure> {
        if !self.count.is_in_doubt() {
            return Ok(None);
        }
        let counted = self.counted(session).await?;
        self.count.settle(counted)
    }

    /// How many transactions of this life the database has, once no other session is about to make one, and whether
    /// the life is over.
    async fn counted(&self, session: &mut Session) -> Result<Counted, GroupFailure> {
        // Waits for whoever holds the row.
        let select = "SELECT commits, over FROM life WHERE number = $1 FOR UPDATE";
        let row = session
            .client
            .query_opt(select, &[&self.life])
            .await
            .map_err(|error| GroupFailure::of(&error))?;
        let Some(row) = row else { return Err(GroupFailure::Over) };
        let read = |error: tokio_postgres::Error| GroupFailure::of(&error);
        Ok(Counted { commits: row.try_get(0).map_err(read)?, is_over: row.try_get(1).map_err(read)? })
    }

    /// The fence let nothing through: the life is over, or a transaction was counted that nobody here knows.
    pub(super) async fn fenced(&mut self) -> GroupFailure {
        self.count.not_made();
        let Some(mut session) = self.session.take() else { return GroupFailure::Over };
        let counted = self.counted(&mut session).await;
        self.session = Some(session);
        match counted {
            Ok(counted) => self.count.recount(counted),
            Err(failure) => failure,
        }
    }
}
