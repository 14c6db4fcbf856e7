//! Transactions of a session: explicit ones, those that `autocommit = 0` begins, and the short ones around single statements.
//!
//! | | reads at | writes |
//! |---|---|---|
//! | autocommit SELECT | the newest version (one key), or one fresh timestamp | – |
//! | autocommit write | the transaction's start | optimistic; a conflict repeats the statement, which nobody has seen yet |
//! | pessimistic, REPEATABLE READ | SELECT: the transaction's start; writes and locking reads: `for_update_ts`, the newest | locks first |
//! | pessimistic, READ COMMITTED | a fresh timestamp each statement | locks first |
//! | optimistic | the transaction's start | conflicts are found by COMMIT, which then fails (never repeated) |
//!
//! Invariants:
//! - a statement that fails leaves nothing of itself in its transaction, but its locks stay, as in InnoDB;
//! - a transaction whose error ends it (deadlock, lost locks) is rolled back at once, and the session is outside a transaction again.

use std::sync::Arc;

use client::{CommitOptions, Isolation, Stage, Transaction, TxnOptions};
use exec::{ReadTs, TxnHandle, dml::TableChanges};
use types::mysql_error::{self, MysqlError};

use crate::{
    Error,
    plan_cache::CachedPlan,
    session::Session,
    track::{self, Activity},
};

/// A transaction that outlives its statements.
pub(crate) struct OpenTxn {
    pub handle: TxnHandle,
    pub pessimistic: bool,
    pub isolation: Isolation,
    pub read_only: bool,
    /// What it has done to the row counts of tables, for the statistics once it is committed.
    pub changes: RowChanges,
    /// What clients that follow transactions are told it has done.
    pub activity: Activity,
    /// The statements that begin one like it.
    pub characteristics: String,
    savepoints: Vec<Savepoint>,
}

/// A point a transaction can go back to.
struct Savepoint {
    name: String,
    stage: Stage,
    changes: RowChanges,
}

/// Changes of tables' rows, each table once.
pub(crate) type RowChanges = smallvec::SmallVec<[TableChanges; 2]>;

/// Characteristics that SET TRANSACTION gave to the next transaction only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NextTxn {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
}

/// What is to be done when the rows of a statement have been fetched.
pub(crate) struct StatementEnd {
    /// A transaction of this statement alone.
    pub own: Option<TxnHandle>,
}

/// How a statement that changes or locks rows is placed in transactions.
pub(crate) struct Placement {
    pub txn: Option<TxnHandle>,
    pub pessimistic: bool,
    pub read_ts: ReadTs,
    /// The transaction belongs to this statement alone.
    pub own: bool,
}

impl Session {
    /// Whether statements are inside a transaction now.
    pub fn in_transaction(&self) -> bool {
        self.txn.is_some()
    }

    /// `BEGIN`: commits what is open and opens a new transaction.
    pub(crate) async fn begin(&mut self, stmt: &parser::ast::BeginStmt) -> Result<(), Error> {
        self.commit().await?;
        self.open(stmt.pessimistic, stmt.read_only);
        if let Some(open) = &mut self.txn {
            open.characteristics.push_str(&track::start_transaction(stmt));
        }
        if stmt.consistent_snapshot
            && let Some(open) = &self.txn
        {
            open.handle.lock().await.ensure_start_ts().await?;
        }
        self.explicit = true;
        Ok(())
    }

    fn open(&mut self, pessimistic: Option<bool>, read_only: Option<bool>) {
        let next = std::mem::take(&mut self.next_txn);
        let characteristics = next.as_statements();
        let hot = &self.vars.hot;
        let pessimistic = pessimistic.unwrap_or(hot.pessimistic);
        let isolation = next.isolation.unwrap_or(hot.isolation);
        let options = self.txn_options(pessimistic, isolation);
        self.txn = Some(OpenTxn {
            handle: Arc::new(tokio::sync::Mutex::new(self.domain.client().begin(options))),
            pessimistic,
            isolation,
            read_only: read_only.or(next.read_only).unwrap_or(hot.read_only),
            changes: RowChanges::new(),
            activity: Activity::default(),
            characteristics,
            savepoints: Vec::new(),
        });
    }

    /// Opens the transaction that `autocommit = 0` implies, if a statement needs one.
    pub(crate) fn open_implicitly(&mut self) {
        if self.txn.is_none() && !self.vars.hot.autocommit {
            self.open(None, None);
        }
    }

    /// Opens a transaction for a statement of many parts, if none is open. Whether it is the statement's own, to be ended with it.
    pub(crate) fn open_for_statement(&mut self) -> bool {
        self.open_implicitly();
        if self.txn.is_some() {
            return false;
        }
        self.open(Some(true), None);
        true
    }

    /// Commits the open transaction, if there is one. On an error it is rolled back.
    pub(crate) async fn commit(&mut self) -> Result<(), Error> {
        self.explicit = false;
        let Some(open) = self.txn.take() else { return Ok(()) };
        let committed = {
            let mut txn = open.handle.lock().await;
            let committed = txn.commit_with(self.commit_options()).await;
            if committed.is_err() && !txn.has_ended() {
                txn.rollback().await;
            }
            committed
        };
        self.mdl.leave();
        match committed {
            Ok(_) => {
                self.count_changes(&open.changes);
                Ok(())
            }
            Err(error) => Err(self.commit_error(error)),
        }
    }

    /// How a transaction of this session reads, locks and commits.
    fn txn_options(&self, pessimistic: bool, isolation: Isolation) -> TxnOptions {
        TxnOptions { pessimistic, isolation, prefer_async_commit: !self.vars.hot.one_phase_commit, ..TxnOptions::default() }
    }

    /// How long a commit of this session waits for the locks of others, and what stops it.
    pub(crate) fn commit_options(&self) -> CommitOptions {
        CommitOptions { lock_wait: self.vars.hot.exec.lock_wait, cancel: self.handle.token().clone() }
    }

    /// Tells the statistics what was committed.
    pub(crate) fn count_changes(&self, changes: &[TableChanges]) {
        for change in changes {
            self.domain.stats().record_changes(change.table, change.rows, change.modified);
        }
    }

    /// A statement has succeeded inside the open transaction.
    pub(crate) fn note_changes(&mut self, changes: &[TableChanges]) {
        let Some(open) = &mut self.txn else { return };
        for change in changes {
            match open.changes.iter_mut().find(|known| known.table == change.table) {
                Some(known) => known.add(change),
                None => open.changes.push(change.clone()),
            }
        }
    }

    /// Rolls the open transaction back, if there is one.
    pub(crate) async fn rollback(&mut self) {
        self.explicit = false;
        if let Some(open) = self.txn.take() {
            let mut txn = open.handle.lock().await;
            if !txn.has_ended() {
                txn.rollback().await;
            }
        }
        self.mdl.leave();
    }

    /// A duplicate that only the commit found is told in terms of table and index.
    pub(crate) fn commit_error(&self, error: client::Error) -> Error {
        match error {
            client::Error::KeyExists { key, value } => {
                exec::dml::duplicate_entry(&self.domain.catalog().current(), &key, value.as_deref()).into()
            }
            error => error.into(),
        }
    }

    /// `SAVEPOINT`: a second one of the same name takes the place of the first.
    pub(crate) async fn savepoint(&mut self, name: &str) {
        self.open_implicitly();
        let Some(open) = &mut self.txn else { return };
        let stage = open.handle.lock().await.stage();
        open.savepoints.retain(|known| !known.name.eq_ignore_ascii_case(name));
        open.savepoints.push(Savepoint { name: name.to_owned(), stage, changes: open.changes.clone() });
    }

    /// `ROLLBACK TO`: undoes what came after the savepoint, which stays; later savepoints go.
    pub(crate) async fn rollback_to(&mut self, name: &str) -> Result<(), Error> {
        let (open, at) = self.find_savepoint(name)?;
        open.savepoints.truncate(at + 1);
        let Some(savepoint) = open.savepoints.last_mut() else { return Ok(()) };
        let mut txn = open.handle.lock().await;
        txn.revert(savepoint.stage);
        savepoint.stage = txn.stage();
        open.changes.clone_from(&savepoint.changes);
        Ok(())
    }

    /// `RELEASE SAVEPOINT`: forgets it and all later ones.
    pub(crate) fn release_savepoint(&mut self, name: &str) -> Result<(), Error> {
        let (open, at) = self.find_savepoint(name)?;
        open.savepoints.truncate(at);
        Ok(())
    }

    fn find_savepoint(&mut self, name: &str) -> Result<(&mut OpenTxn, usize), Error> {
        let missing = || MysqlError::new(mysql_error::ER_SP_DOES_NOT_EXIST, format!("SAVEPOINT {name} does not exist"));
        let open = self.txn.as_mut().ok_or_else(missing)?;
        let at = open.savepoints.iter().position(|known| known.name.eq_ignore_ascii_case(name)).ok_or_else(missing)?;
        Ok((open, at))
    }

    /// Where a plain read stands.
    pub(crate) async fn place_read(&mut self) -> Result<Placement, Error> {
        self.open_implicitly();
        let Some(open) = &self.txn else {
            return Ok(Placement { txn: None, pessimistic: false, read_ts: ReadTs::Newest, own: false });
        };
        let read_ts = match open.isolation {
            Isolation::Snapshot => open.handle.lock().await.ensure_start_ts().await?,
            Isolation::ReadCommitted => {
                open.handle.lock().await.ensure_start_ts().await?;
                self.domain.client().timestamp().await?
            }
        };
        Ok(Placement { txn: Some(open.handle.clone()), pessimistic: open.pessimistic, read_ts: ReadTs::At(read_ts), own: false })
    }

    /// Where a statement that changes or locks rows stands. `pessimistic_once`: a statement of autocommit takes locks.
    pub(crate) async fn place_write(&mut self, pessimistic_once: bool) -> Result<Placement, Error> {
        self.open_implicitly();
        if let Some(open) = &self.txn {
            let mut txn = open.handle.lock().await;
            let start_ts = txn.ensure_start_ts().await?;
            let read_ts = match (open.pessimistic, open.isolation) {
                (true, _) => txn.refresh_for_update_ts().await?,
                (false, Isolation::Snapshot) => start_ts,
                (false, Isolation::ReadCommitted) => self.domain.client().timestamp().await?,
            };
            drop(txn);
            return Ok(Placement {
                txn: Some(open.handle.clone()),
                pessimistic: open.pessimistic,
                read_ts: ReadTs::At(read_ts),
                own: false,
            });
        }
        let options = self.txn_options(pessimistic_once, self.vars.hot.isolation);
        let mut txn: Transaction = self.domain.client().begin(options);
        let read_ts = txn.ensure_start_ts().await?;
        let handle = Arc::new(tokio::sync::Mutex::new(txn));
        Ok(Placement { txn: Some(handle), pessimistic: pessimistic_once, read_ts: ReadTs::At(read_ts), own: true })
    }

    /// Fails (error 1412) when a snapshot is older than the definition of a table that the transaction uses for the first time: what the
    /// definition promises, such as the entries of a new index, may be missing at that time. A table that was in use before its definition
    /// changed is not compared; the metadata lock keeps the change within what both definitions can read.
    pub(crate) fn check_definitions(&self, cached: &CachedPlan, placement: &Placement) -> Result<(), Error> {
        let ReadTs::At(ts) = placement.read_ts else { return Ok(()) };
        if cached.youngest_definition <= ts {
            return Ok(());
        }
        for id in &cached.tables {
            let Some(table) = cached.schema.table_ref(*id).filter(|table| !table.is_readable_at(ts)) else { continue };
            if self.mdl.first_use(*id).is_none_or(|version| version >= table.update_version) {
                return Err(catalog::Error::TableDefinitionChanged { table: *id }.into());
            }
        }
        Ok(())
    }

    /// Fails when a write meets a read-only transaction.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        let read_only = self.txn.as_ref().map_or(self.vars.hot.read_only || self.next_txn.read_only == Some(true), |open| open.read_only);
        if read_only {
            return Err(MysqlError::new(
                mysql_error::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
                "Cannot execute statement in a READ ONLY transaction.",
            )
            .into());
        }
        Ok(())
    }
}
