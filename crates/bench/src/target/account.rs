//! Connections to a target, as a client has them.

use std::{fmt, time::Duration};

use mysql::{Conn, OptsBuilder, prelude::Queryable as _};

use crate::{Error, scenario::Target};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Endpoint {
    /// Reads `host:port`.
    pub fn parse(target: &str, text: &str) -> Result<Self, Error> {
        let parts = text.trim().rsplit_once(':').and_then(|(host, port)| Some((host.trim_matches(['[', ']']), port.parse().ok()?)));
        match parts {
            Some((host, port)) if !host.is_empty() => Ok(Self { host: host.to_owned(), port }),
            _ => Err(Error::Scenario { scenario: target.to_owned(), what: format!("endpoint `{text}` is not of the form host:port") }),
        }
    }
}

/// Who connects to a target.
#[derive(Clone, Debug)]
pub struct Account {
    /// The subject's name, for errors.
    pub subject: String,
    /// User.
    pub user: String,
    /// Password.
    pub password: String,
    /// Where the tables are.
    pub database: String,
}

impl Account {
    /// That of a target.
    pub fn new(subject: &str, target: &Target) -> Self {
        Self {
            subject: subject.to_owned(),
            user: target.user.clone(),
            password: target.password.clone(),
            database: target.database.clone(),
        }
    }

    /// Connects and asks for nothing.
    pub fn connect(&self, endpoint: &Endpoint) -> Result<Client, Error> {
        let options = OptsBuilder::new()
            .ip_or_hostname(Some(endpoint.host.clone()))
            .tcp_port(endpoint.port)
            .user(Some(self.user.clone()))
            .pass(Some(self.password.clone()).filter(|password| !password.is_empty()))
            .prefer_socket(false)
            .tcp_connect_timeout(Some(Duration::from_secs(5)));
        let refused = |source| Error::Refused { target: self.subject.clone(), endpoint: endpoint.to_string(), source: Box::new(source) };
        let mut connection = Conn::new(options).map_err(refused)?;
        connection.query_drop("SELECT 1").map_err(refused)?;
        Ok(Client { subject: self.subject.clone(), connection })
    }
}

/// A connection.
pub struct Client {
    subject: String,
    connection: Conn,
}

impl Client {
    /// Runs a statement.
    pub fn execute(&mut self, statement: &str) -> Result<(), Error> {
        let subject = self.subject.clone();
        self.connection.query_drop(statement).map_err(|source| Error::Sql {
            target: subject,
            statement: statement.to_owned(),
            source: Box::new(source),
        })
    }

    /// The first column of all rows as text.
    pub fn column(&mut self, query: &str) -> Result<Vec<String>, Error> {
        let subject = self.subject.clone();
        self.connection.query(query).map_err(|source| Error::Sql { target: subject, statement: query.to_owned(), source: Box::new(source) })
    }

    /// The first row's values as text, NULL as nothing; an empty list for no row.
    pub fn row(&mut self, query: &str) -> Result<Vec<String>, Error> {
        let subject = self.subject.clone();
        let sql = |source| Error::Sql { target: subject, statement: query.to_owned(), source: Box::new(source) };
        let row: Option<mysql::Row> = self.connection.query_first(query).map_err(sql)?;
        let text = |value: mysql::Value| match value {
            mysql::Value::NULL => String::new(),
            mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            value => value.as_sql(true).trim_matches('\'').to_owned(),
        };
        Ok(row.map(|row| row.unwrap().into_iter().map(text).collect()).unwrap_or_default())
    }
}
