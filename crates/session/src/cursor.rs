//! Cursors: results of prepared statements that clients fetch in portions (COM_STMT_FETCH).
//!
//! A statement with a cursor runs to its end when it is executed, as in MySQL: its rows lie beside the session, in memory or in a temporary
//! file, other statements go on meanwhile, and neither transactions nor metadata locks stay open for them.
//!
//! ```text
//!   execute ─▶ all rows are kept ─▶ fetch n … fetch n ─▶ the last row was sent ─▶ gone
//!                                        └─ execute again, reset, close, reset of the connection ─▶ gone
//! ```

use std::{ops::Range, sync::Arc};

use exec::{KeptRows, RowKeeper};
use planner::physical::OutputColumn;
use types::{
    Chunk,
    mysql_error::{self, MysqlError},
};

use crate::{Error, result::ResultRows, session::Session};

/// An open cursor.
pub(crate) struct Cursor {
    columns: Arc<[OutputColumn]>,
    rows: KeptRows,
    /// The chunk in progress, and how many of its rows were fetched.
    current: Option<(Arc<Chunk>, usize)>,
}

/// Rows that were fetched.
pub struct CursorRows {
    /// The result's columns.
    pub columns: Arc<[OutputColumn]>,
    /// Where they are.
    pub chunk: Arc<Chunk>,
    /// Which they are.
    pub rows: Range<usize>,
}

impl Session {
    /// Opens the cursor of a prepared statement: reads all rows of its result. On an error there is no cursor.
    pub async fn open_cursor(&mut self, statement: u32, mut rows: ResultRows) -> Result<(), MysqlError> {
        let mut keeper = RowKeeper::new(rows.columns.iter().map(|column| column.ty.clone()).collect());
        while let Some(chunk) = self.fetch(&mut rows).await? {
            if let Err(error) = keeper.push(chunk) {
                self.abandon(rows).await;
                return Err(self.failed(error.into()).await);
            }
        }
        match keeper.finish() {
            Ok(kept) => {
                self.cursors.insert(statement, Cursor { columns: rows.columns, rows: kept, current: None });
                Ok(())
            }
            Err(error) => Err(self.failed(error.into()).await),
        }
    }

    /// The next rows of a statement's cursor, at least one and at most `limit`; `None` when all were fetched, and the cursor is gone.
    pub async fn fetch_cursor(&mut self, statement: u32, limit: usize) -> Result<Option<CursorRows>, MysqlError> {
        let env = self.domain.client().env().clone();
        let Some(cursor) = self.cursors.get_mut(&statement) else {
            let message = format!("The statement ({statement}) has no open cursor.");
            return Err(MysqlError::new(mysql_error::ER_STMT_HAS_NO_OPEN_CURSOR, message));
        };
        match cursor.next(&env, limit).await {
            Ok(Some(rows)) => Ok(Some(rows)),
            Ok(None) => {
                self.cursors.remove(&statement);
                Ok(None)
            }
            Err(error) => {
                self.cursors.remove(&statement);
                Err(self.failed(error).await)
            }
        }
    }

    /// Closes a statement's cursor, if it has one.
    pub fn close_cursor(&mut self, statement: u32) {
        self.cursors.remove(&statement);
    }
}

impl Cursor {
    async fn next(&mut self, env: &env::Env, limit: usize) -> Result<Option<CursorRows>, Error> {
        let (chunk, start) = match self.current.take() {
            Some(current) => current,
            None => match self.rows.next(env).await? {
                Some(chunk) => (Arc::new(chunk), 0),
                None => return Ok(None),
            },
        };
        let end = chunk.rows().min(start.saturating_add(limit.max(1)));
        if end < chunk.rows() {
            self.current = Some((chunk.clone(), end));
        }
        Ok(Some(CursorRows { columns: self.columns.clone(), chunk, rows: start..end }))
    }
}
