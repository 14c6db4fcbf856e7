//! What a server asks the other servers of its cluster, and answers them: KILL of a connection there, and what the connections there do.
//!
//! ```text
//!   KILL id ─▶ whose connection? ─ ours ─────────────▶ done here
//!                                └ another server's ─▶ question through the store ([`catalog::Question`]) ─▶ done there ─▶ answer
//! ```
//!
//! Whether a user may kill a connection is decided where the connection is, because its owner is known there; what the user is allowed in general is
//! said by the server that asks.

use std::sync::Weak;

use base::ConnectionId;
use catalog::{Question, Result, ServerAbout, ServerRecord};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::domain::Domain;

/// Bytes of statements in one answer: it must fit into one entry of the store.
const ANSWER_TEXT: usize = 2 << 20;

/// What can be asked.
#[derive(Serialize, Deserialize)]
enum Ask {
    /// KILL.
    Kill {
        connection: u64,
        query: bool,
        /// Only a connection of this user; of anybody when it is absent.
        of: Option<String>,
    },
    /// What the connections do.
    Processes {
        /// Only connections of this user.
        of: Option<String>,
    },
}

/// What became of a KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Killed {
    /// It was done.
    Done,
    /// There is no such connection.
    Unknown,
    /// It is somebody else's.
    Denied,
}

/// What a connection does, as it travels between servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessRow {
    pub id: u64,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub command: String,
    pub seconds: u64,
    pub statement: Option<String>,
}

/// Where a server is, as tables about all of them name it.
pub(crate) fn instance(about: &ServerAbout) -> String {
    format!("{}:{}", about.host, about.port)
}

/// Ends a connection or its statement, wherever it is.
pub(crate) async fn kill(domain: &Domain, connection: ConnectionId, query: bool, of: Option<String>) -> Result<Killed> {
    let connections = domain.connections();
    let number = connections.server_of(connection);
    if number == Some(connections.server()) {
        return Ok(kill_here(domain, connection, query, of.as_deref()));
    }
    let (Some(number), Some(servers)) = (number, domain.catalog().servers()) else { return Ok(Killed::Unknown) };
    let (alive, _) = servers.alive().await?;
    match alive.into_iter().find(|record| record.number == number) {
        Some(record) => servers.ask(record.id, &Ask::Kill { connection: connection.0, query, of }).await,
        None => Ok(Killed::Unknown),
    }
}

fn kill_here(domain: &Domain, connection: ConnectionId, query: bool, of: Option<&str>) -> Killed {
    let connections = domain.connections();
    match connections.user_of(connection) {
        None => Killed::Unknown,
        Some(owner) if of.is_some_and(|user| user != owner) => Killed::Denied,
        Some(_) if connections.kill(connection, query) => Killed::Done,
        Some(_) => Killed::Unknown,
    }
}

/// What the connections of this server do.
pub(crate) fn processes_here(domain: &Domain, of: Option<&str>) -> Vec<ProcessRow> {
    let all = domain.connections().processes().into_iter();
    let visible = all.filter(|process| of.is_none_or(|user| user == process.identity.user));
    visible
        .map(|process| ProcessRow {
            id: process.id.0,
            user: process.identity.user,
            host: process.identity.host,
            database: process.identity.database.map(|name| (*name).to_owned()),
            command: process.command.to_owned(),
            seconds: process.time.as_secs(),
            statement: process.statement,
        })
        .collect()
}

/// What the connections of all servers do, and where. A server that does not answer is left out.
pub(crate) async fn processes(domain: &Domain, of: Option<String>) -> Result<Vec<(ServerAbout, Vec<ProcessRow>)>> {
    let mut found = vec![(domain.about(), processes_here(domain, of.as_deref()))];
    let Some(servers) = domain.catalog().servers() else { return Ok(found) };
    let (alive, _) = servers.alive().await?;
    let mut asked = JoinSet::new();
    for record in alive.into_iter().filter(|record| record.id != servers.id()) {
        let (servers, of) = (servers.clone(), of.clone());
        asked.spawn(async move { (servers.ask::<Vec<ProcessRow>>(record.id, &Ask::Processes { of }).await, record.about) });
    }
    while let Some(answered) = asked.join_next().await {
        match answered {
            Ok((Ok(rows), about)) => found.push((about, rows)),
            Ok((Err(error), about)) => tracing::warn!(server = instance(&about), %error, "a server does not say what its connections do"),
            Err(error) => tracing::warn!(%error, "asking a server was given up"),
        }
    }
    found.sort_by_key(|(about, _)| instance(about));
    Ok(found)
}

/// The servers that are there, this one included.
pub(crate) async fn servers(domain: &Domain) -> Result<Vec<ServerRecord>> {
    match domain.catalog().servers() {
        Some(servers) => Ok(servers.alive().await?.0),
        None => Ok(vec![ServerRecord { about: domain.about(), ..ServerRecord::default() }]),
    }
}

/// Answers what other servers ask, as long as there is a domain.
pub(crate) async fn answer_questions(domain: Weak<Domain>) {
    let Some(mut told) = domain.upgrade().map(|domain| domain.catalog().watch_notices()) else { return };
    let mut known = told.borrow_and_update().questions;
    while told.changed().await.is_ok() {
        let questions = told.borrow_and_update().questions;
        if questions == known {
            continue;
        }
        let Some(domain) = domain.upgrade() else { return };
        match answer_all(&domain).await {
            Ok(()) => known = questions,
            // Whoever asks waits for its time; the next question brings this one up again.
            Err(error) => tracing::warn!(%error, "a question of another server could not be answered"),
        }
    }
}

async fn answer_all(domain: &Domain) -> Result<()> {
    let Some(servers) = domain.catalog().servers() else { return Ok(()) };
    for question in servers.questions().await? {
        answer(domain, servers, &question).await?;
    }
    Ok(())
}

async fn answer(domain: &Domain, servers: &catalog::Servers, question: &Question) -> Result<()> {
    match Ask::deserialize(&question.body) {
        Ok(Ask::Kill { connection, query, of }) => {
            let killed = kill_here(domain, ConnectionId(connection), query, of.as_deref());
            tracing::info!(connection, query, ?killed, "another server asks for the end of a connection");
            servers.answer(question, &killed).await?;
        }
        Ok(Ask::Processes { of }) => {
            let mut rows = processes_here(domain, of.as_deref());
            shorten(&mut rows, ANSWER_TEXT);
            servers.answer(question, &rows).await?;
        }
        // It is of a newer version, which finds out by waiting.
        Err(error) => tracing::warn!(%error, "another server asks what this one does not understand"),
    }
    Ok(())
}

/// Cuts statements so that all of them together have `limit` bytes at most.
fn shorten(rows: &mut [ProcessRow], limit: usize) {
    let each = limit / rows.len().max(1);
    for statement in rows.iter_mut().filter_map(|row| row.statement.as_mut()) {
        statement.truncate(statement.floor_char_boundary(each));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_room_for_all_connections() {
        let row = |statement: &str| ProcessRow {
            id: 1,
            user: String::new(),
            host: String::new(),
            database: None,
            command: "Query".to_owned(),
            seconds: 0,
            statement: Some(statement.to_owned()),
        };
        let mut rows = [row("SELECT 'é'"), row("SELECT 1"), row("")];
        shorten(&mut rows, 27);
        let texts = rows.map(|row| row.statement.unwrap_or_default());
        assert_eq!(texts, ["SELECT '", "SELECT 1", ""], "no letter is cut in two");
    }
}
