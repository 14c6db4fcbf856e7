//! Changes of the grant tables of the database `mysql`, in one transaction of the server's own.
//!
//! Whoever changes what an account has locks its row in `mysql.user` first, so that two statements on it, here or on another server, come one after
//! the other, and each sees what the one before has left. A statement on several accounts happens whole or not at all.

use std::sync::Arc;

use parser::ast::AccountName;
use types::Datum;

use crate::{Error, domain::Domain, result::StatementResult, session::Session, show::quote};

/// The grant tables, open for a change.
pub(crate) struct GrantTables {
    session: Session,
}

impl GrantTables {
    /// Begins.
    pub async fn open(domain: &Arc<Domain>) -> Result<Self, Error> {
        let mut tables = Self { session: Session::internal(domain)? };
        tables.run("BEGIN PESSIMISTIC").await?;
        Ok(tables)
    }

    /// Runs a change.
    pub async fn run(&mut self, sql: &str) -> Result<(), Error> {
        Box::pin(self.session.run_text(sql.as_bytes())).await.map(|_| ())
    }

    /// The rows of a query.
    pub async fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Error> {
        let (result, _) = Box::pin(self.session.run_text(sql.as_bytes())).await?;
        let mut all = Vec::new();
        if let StatementResult::Rows(mut rows) = result {
            while let Some(chunk) = self.session.fetch(&mut rows).await? {
                all.extend(chunk.iter().map(|row| row.to_datums()));
            }
        }
        Ok(all)
    }

    /// Locks an account's row; whether there is such an account.
    pub async fn lock(&mut self, account: &AccountName) -> Result<bool, Error> {
        let sql = format!("SELECT 1 FROM mysql.user WHERE {} FOR UPDATE", of_account("User", "Host", account));
        Ok(!self.rows(&sql).await?.is_empty())
    }

    /// Keeps the changes, or drops them when `done` is an error.
    pub async fn close<T>(mut self, done: Result<T, Error>) -> Result<T, Error> {
        let done = match done {
            Ok(value) => self.run("COMMIT").await.map(|()| value),
            Err(error) => Err(error),
        };
        self.session.close().await;
        done
    }
}

/// The condition on an account's rows.
pub(crate) fn of_account(user: &str, host: &str, account: &AccountName) -> String {
    format!("{user} = {} AND {host} = {}", quote(&account.user), quote(&account.host))
}

/// A whole number; none for NULL.
pub(crate) fn number_of(row: &[Datum], at: usize) -> Option<u64> {
    match row.get(at)? {
        Datum::Null => None,
        Datum::Decimal(value) => value.to_string().parse::<f64>().ok().map(|value| value as u64),
        value => value.as_u64(),
    }
}

/// A value as text; empty for NULL.
pub(crate) fn text_of(row: &[Datum], at: usize) -> String {
    row.get(at).and_then(Datum::as_bytes).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
}
