//! A client that runs transactions one after the other, connects again when its server has gone, and knows what became of each.

use std::{
    net::Ipv4Addr,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use testkit::{
    history::Outcome,
    mysql::{self, Conn, prelude::Queryable as _},
};

use super::machines::connect;

/// Between two transactions: the machine that runs the tests has few processors.
const THINK: Duration = Duration::from_millis(20);
/// Before a server that refused a connection is tried again.
const PAUSE: Duration = Duration::from_millis(100);
/// What a refused commit says: conflicts, and the server's lease that has run out. After any other error it is not known what became of it.
const REFUSALS: [u16; 4] = [1205, 1213, 8027, 9007];

/// A connection to one server, opened when it is needed.
pub struct Client<'a> {
    address: Ipv4Addr,
    stop: &'a AtomicBool,
    connection: Option<Conn>,
}

impl<'a> Client<'a> {
    pub fn new(address: Ipv4Addr, stop: &'a AtomicBool) -> Self {
        Self { address, stop, connection: None }
    }

    /// Waits until the next transaction may begin and there is a connection, prepared with `setup`; `None` when it is time to end.
    pub fn next(&mut self, setup: &str) -> Option<&mut Conn> {
        std::thread::sleep(THINK);
        while self.connection.is_none() && !self.stop.load(Ordering::SeqCst) {
            let open = || {
                let mut connection = connect(self.address)?;
                connection.query_drop(setup)?;
                anyhow::Ok(connection)
            };
            match open() {
                Ok(connection) => self.connection = Some(connection),
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        if self.stop.load(Ordering::SeqCst) { None } else { self.connection.as_mut() }
    }

    /// What became of a transaction that ended with `result` of its statement `commit`, or of one before it.
    pub fn outcome(&mut self, result: &mysql::Result<()>, is_commit: bool) -> Outcome {
        let Err(error) = result else { return Outcome::Committed };
        let answered = matches!(error, mysql::Error::MySqlError(_));
        let refused = matches!(error, mysql::Error::MySqlError(error) if REFUSALS.contains(&error.code));
        // An answer that comes too late would be taken for that to the next statement.
        let rolled_back = answered && self.connection.as_mut().is_some_and(|connection| connection.query_drop("ROLLBACK").is_ok());
        if !rolled_back {
            self.connection = None;
        }
        // A server that has lost its client, or died, commits nothing it was not asked to.
        if is_commit && !refused { Outcome::Unknown } else { Outcome::Aborted }
    }
}
