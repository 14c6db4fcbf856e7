//! One connection: prepared statements that are counted, answers that are checked.

use std::time::Duration;

use mysql_async::{Conn, OptsBuilder, Params, Row, from_row_opt, prelude::FromRow, prelude::Queryable as _};

use super::{
    Options,
    error::{Error, Result},
};

/// Time that making a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// More than there are different statements in all transactions, so that each is prepared once.
const PREPARED_STATEMENTS: usize = 128;

/// A connection to one endpoint.
pub(super) struct Session {
    connection: Conn,
    statements: u64,
}

impl Session {
    /// Connects to `endpoint`, `host:port`, with a default database or none.
    pub(super) async fn connect(options: &Options, endpoint: &str, database: Option<&str>) -> Result<Self> {
        let (host, port) = split_endpoint(endpoint)?;
        let client_options = OptsBuilder::default()
            .ip_or_hostname(host)
            .tcp_port(port)
            .user(Some(&options.user))
            .pass((!options.password.is_empty()).then_some(&options.password))
            .db_name(database)
            .prefer_socket(false)
            .stmt_cache_size(PREPARED_STATEMENTS);
        let connected = tokio::time::timeout(CONNECT_LIMIT, Conn::new(client_options)).await;
        let connected = connected.unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()));
        let connection = connected.map_err(|source| Error::Connect { endpoint: endpoint.to_owned(), source: Box::new(source) })?;
        Ok(Self { connection, statements: 0 })
    }

    /// Statements answered so far, also by an error.
    pub(super) fn statements(&self) -> u64 {
        self.statements
    }

    /// Runs a statement as text.
    pub(super) async fn run(&mut self, sql: &str) -> Result<()> {
        self.statements += 1;
        self.connection.query_drop(sql).await.map_err(|error| Error::statement(sql, error))
    }

    /// Runs a query as text and answers all its rows.
    pub(super) async fn rows_of<T: FromRow>(&mut self, sql: &str) -> Result<Vec<T>> {
        self.statements += 1;
        let rows: Vec<Row> = self.connection.query(sql).await.map_err(|error| Error::statement(sql, error))?;
        rows.into_iter().map(|row| typed(sql, row)).collect()
    }

    /// Runs a prepared statement that answers no rows.
    pub(super) async fn execute(&mut self, sql: &'static str, values: impl Into<Params>) -> Result<()> {
        self.statements += 1;
        self.connection.exec_drop(sql, values.into()).await.map_err(|error| Error::statement(sql, error))
    }

    /// Runs a prepared query and answers all its rows.
    pub(super) async fn rows<T: FromRow>(&mut self, sql: &'static str, values: impl Into<Params>) -> Result<Vec<T>> {
        self.statements += 1;
        let rows: Vec<Row> = self.connection.exec(sql, values.into()).await.map_err(|error| Error::statement(sql, error))?;
        rows.into_iter().map(|row| typed(sql, row)).collect()
    }

    /// Runs a prepared query of one row or none.
    pub(super) async fn maybe_row<T: FromRow>(&mut self, sql: &'static str, values: impl Into<Params>) -> Result<Option<T>> {
        Ok(self.rows(sql, values).await?.pop())
    }

    /// Runs a prepared query whose row must be there.
    pub(super) async fn row<T: FromRow>(&mut self, sql: &'static str, values: impl Into<Params>) -> Result<T> {
        self.maybe_row(sql, values).await?.ok_or_else(|| Error::answer(sql, "no row was found"))
    }

    /// Says goodbye. Whether the server hears it changes nothing.
    pub(super) async fn close(self) {
        let _ = self.connection.disconnect().await;
    }
}

fn typed<T: FromRow>(sql: &str, row: Row) -> Result<T> {
    from_row_opt(row).map_err(|error| Error::answer(sql, error.to_string()))
}

/// Host and port; an IPv6 address stands in brackets.
fn split_endpoint(endpoint: &str) -> Result<(&str, u16)> {
    let parts = endpoint.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) = parts.ok_or_else(|| Error::Endpoint(endpoint.to_owned()))?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    if host.is_empty() { Err(Error::Endpoint(endpoint.to_owned())) } else { Ok((host, port)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_host_and_port() {
        assert_eq!(split_endpoint("db1:4000").expect("an endpoint"), ("db1", 4000));
        assert_eq!(split_endpoint("[::1]:4000").expect("an endpoint"), ("::1", 4000));
        for wrong in ["db1", "db1:", ":4000", "db1:70000", ""] {
            assert!(matches!(split_endpoint(wrong), Err(Error::Endpoint(text)) if text == wrong), "{wrong}");
        }
    }
}
