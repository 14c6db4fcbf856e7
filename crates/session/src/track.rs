//! What clients that ask for it (CLIENT_SESSION_TRACK) are told about their session with the answer of the statement that changed it.
//!
//! | variable | what is told |
//! |---|---|
//! | `session_track_system_variables` | values of the variables named, when they are set |
//! | `session_track_schema` | the default database, when it is chosen |
//! | `session_track_state_change` | that something changed: a variable, the database, a prepared statement |
//! | `session_track_transaction_info` | what the open transaction has done, and which statements begin one like it, when that changes |
//!
//! What changed is noted where it happens; texts are made only when an answer takes them.
//!
//! Source: MySQL 8.0 Reference Manual, "Server Tracking of Client Session State".

use client::Isolation;
use parser::ast::BeginStmt;

use crate::{
    plan_cache::CachedPlan,
    session::Session,
    transaction::NextTxn,
    vars::{TrackTransactions, find},
};

/// A change of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A system variable was set.
    Variable {
        /// Its name.
        name: String,
        /// Its value now.
        value: String,
    },
    /// The default database; empty for none.
    Schema(String),
    /// Something changed.
    Something,
    /// Statements that begin a transaction like the open one; empty for none.
    TransactionCharacteristics(String),
    /// What the open transaction has done, in eight letters.
    TransactionState(String),
}

/// What a client has been told, and what it is to be told next.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    /// The default database was chosen.
    pub schema: bool,
    /// A prepared statement or a user variable came or changed.
    pub something: bool,
    /// The state of the transaction told last; empty for outside one.
    state: String,
    characteristics: String,
}

/// What a transaction has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Activity {
    /// Tables were read.
    pub read: bool,
    /// Tables were written.
    pub wrote: bool,
    /// Rows were sent.
    pub sent_rows: bool,
}

/// Outside a transaction.
const NO_TRANSACTION: &str = "________";

impl Session {
    /// What has changed since the last answer, as far as the client's variables want it told.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let tracks_transactions = self.vars.hot.track_transactions != TrackTransactions::Off;
        if !self.vars.has_changed() && !self.tracked.schema && !self.tracked.something && !tracks_transactions {
            return Vec::new();
        }
        let mut changes = Vec::new();
        let schema = std::mem::take(&mut self.tracked.schema);
        let something = std::mem::take(&mut self.tracked.something) || schema || self.vars.has_changed();
        self.variable_changes(&mut changes);
        if schema && self.is_tracked("session_track_schema") {
            changes.push(Change::Schema(self.connection.database.as_deref().unwrap_or_default().to_owned()));
        }
        if something && self.is_tracked("session_track_state_change") {
            changes.push(Change::Something);
        }
        if tracks_transactions {
            self.transaction_changes(&mut changes);
        }
        changes
    }

    fn is_tracked(&self, name: &str) -> bool {
        find(name).is_some_and(|definition| self.vars.text(definition) == "ON")
    }

    fn variable_changes(&mut self, changes: &mut Vec<Change>) {
        let changed = self.vars.take_changed();
        if changed.is_empty() {
            return;
        }
        let list = find("session_track_system_variables").map_or("", |definition| self.vars.text(definition));
        let wanted = |name: &str| list.split(',').map(str::trim).any(|wanted| wanted == "*" || wanted.eq_ignore_ascii_case(name));
        for name in changed.into_iter().filter(|name| wanted(name)) {
            let value = find(name).map_or("", |definition| self.vars.text(definition));
            changes.push(Change::Variable { name: name.to_owned(), value: value.to_owned() });
        }
    }

    fn transaction_changes(&mut self, changes: &mut Vec<Change>) {
        let characteristics = match (&self.txn, self.explicit) {
            _ if self.vars.hot.track_transactions != TrackTransactions::Characteristics => String::new(),
            (Some(open), _) => open.characteristics.trim_end().to_owned(),
            (None, _) => self.next_txn.as_statements().trim_end().to_owned(),
        };
        if characteristics != self.tracked.characteristics {
            self.tracked.characteristics.clone_from(&characteristics);
            changes.push(Change::TransactionCharacteristics(characteristics));
        }
        let state = self.transaction_state();
        let told = if self.tracked.state.is_empty() { NO_TRANSACTION } else { &self.tracked.state };
        if state != told {
            self.tracked.state.clone_from(&state);
            changes.push(Change::TransactionState(state));
        }
    }

    /// One letter for each: transaction, reads and writes of tables without transactions, reads and writes of others, … as the manual lists
    /// them. Here all tables have transactions.
    fn transaction_state(&self) -> String {
        let Some(open) = &self.txn else { return NO_TRANSACTION.to_owned() };
        let Activity { read, wrote, sent_rows } = open.activity;
        let mark = |letter: char, is: bool| if is { letter } else { '_' };
        let begun = if self.explicit { 'T' } else { 'I' };
        [begun, '_', mark('R', read), '_', mark('W', wrote), '_', mark('S', sent_rows), '_'].iter().collect()
    }

    /// A statement of the open transaction has done something.
    #[inline]
    pub(crate) fn note_activity(&mut self, note: impl FnOnce(&mut Activity)) {
        if self.vars.hot.track_transactions != TrackTransactions::Off
            && let Some(open) = &mut self.txn
        {
            note(&mut open.activity);
        }
    }

    /// A statement of the open transaction reads the plan's tables.
    #[inline]
    pub(crate) fn note_read(&mut self, cached: &CachedPlan) {
        if !cached.tables.is_empty() {
            self.note_activity(|activity| activity.read = true);
        }
    }
}

impl NextTxn {
    /// The statements that gave the next transaction its characteristics.
    pub(crate) fn as_statements(&self) -> String {
        let mut text = String::new();
        if let Some(isolation) = self.isolation {
            let level = match isolation {
                Isolation::ReadCommitted => "READ COMMITTED",
                Isolation::Snapshot => "REPEATABLE READ",
            };
            text.push_str(&format!("SET TRANSACTION ISOLATION LEVEL {level}; "));
        }
        if let Some(read_only) = self.read_only {
            text.push_str(&format!("SET TRANSACTION READ {}; ", if read_only { "ONLY" } else { "WRITE" }));
        }
        text
    }
}

/// The statement that begins a transaction like this one.
pub(crate) fn start_transaction(stmt: &BeginStmt) -> String {
    let mut options = Vec::new();
    if stmt.consistent_snapshot {
        options.push(" WITH CONSISTENT SNAPSHOT");
    }
    match stmt.read_only {
        Some(true) => options.push(" READ ONLY"),
        Some(false) => options.push(" READ WRITE"),
        None => {}
    }
    format!("START TRANSACTION{}; ", options.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_described_by_the_statements_that_begin_them() {
        let next = NextTxn { isolation: Some(Isolation::ReadCommitted), read_only: Some(true) };
        assert_eq!(next.as_statements(), "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET TRANSACTION READ ONLY; ");
        let begin = BeginStmt { read_only: Some(false), consistent_snapshot: true, pessimistic: None };
        assert_eq!(start_transaction(&begin), "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ WRITE; ");
        assert_eq!(start_transaction(&BeginStmt { read_only: None, consistent_snapshot: false, ..begin }), "START TRANSACTION; ");
    }
}
