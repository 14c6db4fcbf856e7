//! TPC-C, revision 5.11, over the MySQL protocol: a wholesale supplier with warehouses, districts, customers, orders and stock.
//!
//! ```text
//!   load ──► 9 tables, rows by clause 4.3        run ──► terminal 1 ─ session ─┐                    check ──► conditions 1–12
//!            pieces over several connections             terminal 2 ─ session ─┼─► endpoints               of clause 3.3.2
//!                                                        …                    ─┘
//!                                                           └─ one sample per transaction ─► Meter ─► Outcome
//! ```
//!
//! # Use
//!
//! ```no_run
//! # async fn example() -> Result<(), bench::tpcc::Error> {
//! use bench::tpcc::{self, Options, RunOptions};
//!
//! let options = Options { warehouses: 10, ..Options::new(["127.0.0.1:4000"]) };
//! tpcc::load(&options, &|progress| eprintln!("{} of {}", progress.rows, progress.total_rows)).await?;
//! let outcome = tpcc::run(&options, &RunOptions::default()).await?;
//! println!("{:.0} tpmC, {} errors", outcome.tpm_c, outcome.errors);
//! for condition in tpcc::check(&options).await? {
//!     println!("{condition}");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The functions are asynchronous and want a Tokio runtime of several threads with time and network; they start tasks of their own and end
//! them before they return. Nothing is printed.
//!
//! # Model
//!
//! - A *terminal* is a task with a connection of its own, spread over the endpoints in turn. It draws kinds of transactions from a shuffled
//!   deck of 23 (10 New-Order, 10 Payment, 1 each of the others), so the mix is kept exactly. Terminals have a home warehouse; when there are
//!   fewer terminals than warehouses, each has several and takes one of them at random for every transaction, so that all data are touched.
//! - A transaction is prepared statements between `BEGIN` and `COMMIT`, in the form that public MySQL drivers use: one statement per item.
//!   The isolation level is the server's default.
//! - An error that comes from another transaction (deadlock, lock wait, write conflict) is counted, and the same transaction is sent again
//!   until it succeeds; its response time begins with the first attempt. A lost connection is counted and made again. Any other error ends
//!   the run.
//! - What counts is the time at which a transaction ends: within the measured time, after the warm-up.
//!
//! # Left out on purpose
//!
//! - What a terminal would show is fetched from the database, and not rendered.
//! - Delivery runs at once and as one transaction over the ten districts, as public drivers do, and not from a queue.
//! - The audit's rules on response times (clause 5.2.5) are not applied; percentiles of every kind of transaction are in the outcome.
//! - Without keying and think times (the default, as in most published figures of open databases) a warehouse gives more than the 12.86 tpmC
//!   that the specification allows: such figures compare with each other, not with audited results.

mod cardinality;
mod check;
mod deck;
mod error;
mod load;
mod loaded;
mod meter;
mod population;
mod random;
mod run;
mod schema;
mod session;
mod terminal;
mod transaction;

pub use cardinality::{Cardinality, DISTRICTS};
pub use check::{Condition, check};
pub use error::{Error, Result};
pub use load::{Loaded, Progress, load};
pub use meter::Outcome;
pub use run::{RunOptions, run};
pub use transaction::Kind;

/// A TPC-C database: where it is and how large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `host:port` of each server; connections are spread over them in turn.
    pub endpoints: Vec<String>,
    /// Account.
    pub user: String,
    /// Its password; empty for none.
    pub password: String,
    /// Name of the database; [`load`] makes it.
    pub database: String,
    /// Number of warehouses, at least one.
    pub warehouses: u32,
    /// Rows of each.
    pub cardinality: Cardinality,
    /// Of all random numbers.
    pub seed: u64,
    /// Connections that [`load`] inserts with.
    pub load_connections: u32,
    /// Whether [`load`] drops the tables if they are there; otherwise they are an error.
    pub replace: bool,
}

impl Options {
    /// One warehouse in database `tpcc`, by user root without a password.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            user: "root".to_owned(),
            password: String::new(),
            database: "tpcc".to_owned(),
            warehouses: 1,
            cardinality: Cardinality::SPECIFIED,
            seed: 1,
            load_connections: 8,
            replace: false,
        }
    }

    /// The size of the data in words, as results tell it; says so when the figures must not stand beside others.
    pub fn size(&self) -> String {
        let warehouses = if self.warehouses == 1 { "1 warehouse".to_owned() } else { format!("{} warehouses", self.warehouses) };
        if self.cardinality.is_comparable() {
            return warehouses;
        }
        let (customers, items) = (self.cardinality.customers(), self.cardinality.items());
        format!("{warehouses} of {customers} customers a district and {items} items (not comparable: smaller than specified)")
    }

    /// Refuses what cannot be meant.
    fn check(&self) -> Result<()> {
        if self.endpoints.is_empty() {
            return Err(Error::NoEndpoint);
        }
        for (what, value) in [("Options::warehouses", self.warehouses), ("Options::load_connections", self.load_connections)] {
            if value == 0 {
                return Err(Error::Option { what, value: 0, expected: "at least 1" });
            }
        }
        Ok(())
    }

    /// The endpoint of a connection, in turn.
    fn endpoint(&self, connection: usize) -> &str {
        &self.endpoints[connection % self.endpoints.len()]
    }

    fn quoted_database(&self) -> String {
        format!("`{}`", self.database.replace('`', "``"))
    }
}
