//! Runs terminals side by side, warms up, measures.

use std::time::{Duration, Instant};

use tokio::{sync::mpsc, task::JoinSet};

use super::{
    Options,
    cardinality::DISTRICTS,
    error::{Error, Result},
    loaded::check_what_is_loaded,
    meter::{Meter, Outcome},
    terminal::{Seat, Span, Terminal},
};

/// How a database is driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Connections, each with a transaction at a time. The specification has ten a warehouse.
    pub terminals: u32,
    /// Whether terminals keep the specification's keying and think times, or send the next transaction at once.
    pub paced: bool,
    /// Time before the measured time.
    pub warm_up: Duration,
    /// Measured time.
    pub duration: Duration,
}

impl Default for RunOptions {
    /// The ten terminals of one warehouse without keying and think times, for a minute after ten seconds.
    fn default() -> Self {
        Self { terminals: DISTRICTS, paced: false, warm_up: Duration::from_secs(10), duration: Duration::from_secs(60) }
    }
}

/// Drives the database that [`super::load`] has made with the same options; seed and endpoints may be others.
///
/// All terminals are connected before the first transaction. An error that no repetition gets over ends the run.
pub async fn run(options: &Options, run_options: &RunOptions) -> Result<Outcome> {
    options.check()?;
    for (what, value) in [
        ("RunOptions::terminals", u64::from(run_options.terminals)),
        ("RunOptions::duration in ms", run_options.duration.as_millis() as u64),
    ] {
        if value == 0 {
            return Err(Error::Option { what, value, expected: "at least 1" });
        }
    }
    check_what_is_loaded(options).await?;
    let seat = |number| Seat { number, terminals: run_options.terminals, paced: run_options.paced };
    let connecting = (0..run_options.terminals).map(|number| Terminal::connect(options, seat(number)));
    let terminals = futures_util::future::try_join_all(connecting).await?;
    let (sender, mut samples) = mpsc::unbounded_channel();
    let began = Instant::now();
    let span = Span { began, until: began + run_options.warm_up + run_options.duration };
    // Dropping the set ends all terminals: none outlives a run that failed.
    let mut tasks = JoinSet::new();
    for terminal in terminals {
        tasks.spawn(terminal.work(span, sender.clone()));
    }
    drop(sender);
    let mut meter = Meter::new(run_options.warm_up, run_options.duration);
    loop {
        tokio::select! {
            Some(sample) = samples.recv() => meter.add(sample),
            Some(ended) = tasks.join_next() => ended??,
            else => break,
        }
    }
    Ok(meter.outcome(run_options.paced.then_some(options.warehouses)))
}
