//! TPC-C as a driver: within this process, on threads of its own.

use std::{
    future::Future,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::Counted;
use crate::{
    Error, interrupt,
    scenario::{Data, SubjectPlan},
    target::{Account, Endpoint},
    tpcc::{self, Cardinality, Options, RunOptions},
};

/// A subject's database.
pub struct Driver<'a> {
    account: &'a Account,
    options: Options,
    data: &'a Data,
}

impl<'a> Driver<'a> {
    /// The database of a subject.
    pub fn new(plan: &'a SubjectPlan, account: &'a Account, endpoints: &[Endpoint], seed: u64) -> Self {
        let data = &plan.data;
        let options = Options {
            user: account.user.clone(),
            password: account.password.clone(),
            database: account.database.clone(),
            warehouses: data.warehouses,
            cardinality: if data.divisor > 1 { Cardinality::not_comparable(data.divisor) } else { Cardinality::SPECIFIED },
            seed,
            load_connections: data.load_threads,
            replace: false,
            ..Options::new(endpoints.iter().map(ToString::to_string))
        };
        Self { account, options, data }
    }

    /// The size of the data in words.
    pub fn size(&self) -> String {
        self.options.size()
    }

    /// Makes and fills the tables; `say` is told of each quarter.
    pub fn load(&self, say: &(dyn Fn(String) + Send + Sync)) -> Result<(), Error> {
        let said = AtomicU64::new(0);
        let progress = |progress: tpcc::Progress| {
            let quarter = progress.rows * 4 / progress.total_rows.max(1);
            if said.fetch_max(quarter, Ordering::Relaxed) < quarter {
                say(format!("{}: {} of {} rows loaded", self.account.subject, progress.rows, progress.total_rows));
            }
        };
        self.wait(tpcc::load(&self.options, &progress)).map(|_| ())
    }

    /// Drives it. A warm-up is a run whose outcome nobody looks at: what servers use during it is not of the measured time.
    pub fn run(&self, terminals: u32, duration: Duration) -> Result<Counted, Error> {
        let options = RunOptions { terminals, paced: self.data.think_times, warm_up: Duration::ZERO, duration };
        let before = own_cpu_seconds();
        let outcome = self.wait(tpcc::run(&self.options, &options))?;
        let cpu_seconds = own_cpu_seconds() - before;
        let seconds = outcome.seconds.max(1e-9);
        Ok(Counted {
            drivers: 1,
            seconds: outcome.seconds,
            queries: outcome.queries,
            transactions: outcome.transactions,
            errors: outcome.errors,
            reconnects: outcome.reconnects,
            qps: outcome.queries as f64 / seconds,
            tps: outcome.transactions as f64 / seconds,
            latency: outcome.latency,
            histogram: outcome.histogram,
            series: outcome.series,
            parts: outcome.parts,
            tpm_c: Some(outcome.tpm_c),
            cpu_seconds,
        })
    }

    /// An error unless the consistency conditions hold.
    pub fn check(&self) -> Result<(), Error> {
        let conditions = self.wait(tpcc::check(&self.options))?;
        let violated: Vec<String> = conditions.iter().filter(|condition| !condition.holds()).map(ToString::to_string).collect();
        if violated.is_empty() { Ok(()) } else { Err(Error::Inconsistent { subject: self.account.subject.clone(), violated }) }
    }

    /// Runs it on threads of its own until it ends or a signal comes.
    fn wait<T>(&self, work: impl Future<Output = tpcc::Result<T>>) -> Result<T, Error> {
        let failed = |source| Error::Machine { what: "the driver's threads cannot be started".to_owned(), reason: format!("{source}") };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
        let ended = runtime.block_on(async {
            tokio::pin!(work);
            loop {
                tokio::select! {
                    ended = &mut work => return ended.map_err(|source| Error::Tpcc { subject: self.account.subject.clone(), reason: Box::new(source) }),
                    () = tokio::time::sleep(Duration::from_millis(50)) => interrupt::check()?,
                }
            }
        });
        runtime.shutdown_background();
        ended
    }
}

/// User and system time of this process.
fn own_cpu_seconds() -> f64 {
    crate::measure::process::cpu_seconds(std::process::id()).unwrap_or_default()
}
