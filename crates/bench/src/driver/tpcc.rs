//! TPC-C as the runner uses it: within this process, on threads that end with each call.

use std::time::Duration;

use super::Counted;
use crate::{
    Error, interrupt,
    measure::process,
    scenario::Data,
    target::{Account, Endpoint},
    tpcc::{self, Options, RunOptions},
};

/// What results call it, as script and among the drivers.
pub const NAME: &str = "tpcc";
/// Rows that are looked for when the data are read once: all of every table that transactions read, through its primary key.
const TABLES: [&str; 9] = ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "stock", "item"];

/// A database on a target.
pub struct Call<'a> {
    /// Who connects.
    pub account: &'a Account,
    /// Where.
    pub endpoints: &'a [Endpoint],
    /// How large it is.
    pub data: &'a Data,
    /// Of all random numbers.
    pub seed: u64,
}

impl Call<'_> {
    fn options(&self) -> Options {
        Options {
            user: self.account.user.clone(),
            password: self.account.password.clone(),
            database: self.account.database.clone(),
            warehouses: self.data.warehouses,
            seed: self.seed,
            load_connections: self.data.load_threads,
            ..Options::new(self.endpoints.iter().map(ToString::to_string))
        }
    }

    fn wait<T>(&self, work: impl Future<Output = tpcc::Result<T>>) -> Result<T, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Machine { what: "no threads for TPC-C".to_owned(), reason: error.to_string() })?;
        let failed = |source| Error::Tpcc { subject: self.account.subject.clone(), source: Box::new(source) };
        let done = runtime.block_on(async {
            tokio::select! {
                done = work => done.map_err(failed),
                interrupted = interrupted() => Err(interrupted),
            }
        });
        // Nobody waits for a server that no longer answers.
        runtime.shutdown_timeout(Duration::from_secs(1));
        done
    }

    /// The size of the data in words.
    pub fn size(&self) -> String {
        self.options().size()
    }

    /// Makes and fills the tables.
    pub fn load(&self) -> Result<(), Error> {
        self.wait(tpcc::load(&self.options(), &|_| {})).map(|_| ())
    }

    /// Runs so many terminals for a time.
    pub fn run(&self, terminals: u32, seconds: u32) -> Result<Counted, Error> {
        let run = RunOptions {
            terminals,
            paced: self.data.think_times,
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(u64::from(seconds)),
        };
        let cpu_seconds = || process::cpu_seconds(std::process::id()).unwrap_or_default();
        let before = cpu_seconds();
        let outcome = self.wait(tpcc::run(&self.options(), &run))?;
        Ok(Counted {
            drivers: 1,
            seconds: outcome.seconds,
            queries: outcome.queries,
            transactions: outcome.transactions,
            errors: outcome.errors,
            reconnects: outcome.reconnects,
            qps: outcome.queries as f64 / outcome.seconds,
            tps: outcome.transactions as f64 / outcome.seconds,
            latency: outcome.latency,
            histogram: outcome.histogram,
            series: outcome.series,
            parts: outcome.parts,
            tpm_c: Some(outcome.tpm_c),
            cpu_seconds: cpu_seconds() - before,
        })
    }

    /// An error that names every condition that does not hold.
    pub fn check(&self) -> Result<(), Error> {
        let conditions = self.wait(tpcc::check(&self.options()))?;
        let violated: Vec<String> = conditions.iter().filter(|condition| !condition.holds()).map(ToString::to_string).collect();
        if violated.is_empty() { Ok(()) } else { Err(Error::Inconsistent { subject: self.account.subject.clone(), violated }) }
    }

    /// Statements that collect statistics.
    pub fn analyze(&self) -> impl Iterator<Item = String> {
        TABLES.iter().map(|table| format!("ANALYZE TABLE {table}"))
    }

    /// Statements that read everything once.
    pub fn prewarm(&self) -> impl Iterator<Item = String> {
        TABLES.iter().map(|table| format!("SELECT COUNT(*) FROM {table} USE INDEX ()"))
    }
}

async fn interrupted() -> Error {
    loop {
        if let Err(error) = interrupt::check() {
            return error;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
