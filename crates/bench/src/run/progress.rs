//! What a person at the terminal sees: each step, each run's figures, and how long it will still take.

use std::{io::Write as _, time::Duration};

use crate::{
    result::Run,
    scenario::{Scenario, Step, SubjectPlan},
};

/// What a run takes beyond its load until one has been seen: connecting, and coming to rest.
const FIRST_GUESS: f64 = 2.5;

/// Counts runs.
pub struct Progress {
    total: usize,
    done: usize,
    /// Load of one run, warm-up included.
    planned_seconds: f64,
    /// Time of all runs beyond their load.
    beyond_seconds: f64,
}

impl Progress {
    /// Of a scenario that begins.
    pub fn new(scenario: &Scenario, plans: &[SubjectPlan]) -> Self {
        let each = scenario.workloads.len() * scenario.threads.len() * scenario.repeats as usize;
        let total = if scenario.steps.contains(&Step::Run) { each * plans.len() } else { 0 };
        let planned_seconds = f64::from(scenario.seconds + scenario.warm_up_seconds);
        let progress = Self { total, done: 0, planned_seconds, beyond_seconds: 0.0 };
        progress.say(&format!(
            "{}: {} subjects, {total} runs, about {} beside loading",
            scenario.title,
            plans.len(),
            in_words(progress.left_seconds())
        ));
        progress
    }

    /// Says something.
    pub fn say(&self, text: &str) {
        // Nobody may be listening any more; the measurement goes on.
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Tells of a run.
    pub fn ran(&mut self, run: &Run, took: Duration) {
        self.done += 1;
        self.beyond_seconds += (took.as_secs_f64() - self.planned_seconds).max(0.0);
        let mut text = format!(
            "[{}/{}] {} {} {} threads: {:.0} QPS, {:.0} TPS, 95 % {:.2} ms",
            self.done, self.total, run.subject, run.workload, run.threads, run.qps, run.tps, run.latency.p95_ms
        );
        if let Some(micros) = run.server_cpu_micros_per_query {
            text += &format!(", {micros:.1} µs of server CPU a query");
        }
        if run.errors > 0 {
            text += &format!(", {} errors", run.errors);
        }
        if run.driver_bound.is_some() {
            text += ", driver-bound";
        }
        if self.done < self.total {
            text += &format!("; {} left", in_words(self.left_seconds()));
        }
        self.say(&text);
    }

    fn left_seconds(&self) -> f64 {
        let beyond = if self.done == 0 { FIRST_GUESS } else { self.beyond_seconds / self.done as f64 };
        (self.total - self.done) as f64 * (self.planned_seconds + beyond)
    }
}

fn in_words(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_what_runs_took() {
        let mut progress = Progress { total: 4, done: 0, planned_seconds: 10.0, beyond_seconds: 0.0 };
        assert_eq!(progress.left_seconds(), 50.0);
        progress.ran(&Run::default(), Duration::from_secs(14));
        progress.ran(&Run::default(), Duration::from_secs(12));
        assert_eq!(progress.left_seconds(), 26.0);
        assert_eq!([5.0, 65.0, 3660.0].map(in_words), ["5 s", "1 min 5 s", "1 h 1 min"]);
    }
}
