//! One run: load on one subject for the scenario's time, and what it cost.

use std::time::{Duration, Instant};

use super::subject::Live;
use crate::{
    Error,
    driver::{
        Counted,
        sysbench::{Call, Driver, Span},
        tpcc,
    },
    measure::{machine, process::MachineTime},
    result::{ProcessUse, Run},
    scenario::{DataKind, Scenario, Workload},
    target::Running,
};

/// Runs a workload on a subject that is at rest, and waits until it is at rest again: what it does behind the last answer belongs to the run.
pub fn measure(
    scenario: &Scenario,
    live: &mut Live,
    sysbench: Option<&Driver>,
    workload: &Workload,
    threads: u32,
    repeat: u32,
) -> Result<Run, Error> {
    let name = workload.title().to_owned();
    let seed = scenario.seed + 1000 * u64::from(repeat);
    if scenario.warm_up_seconds > 0 {
        // Other keys than those of the measured time.
        drive(live, sysbench, workload, threads, scenario.warm_up_seconds, seed + 500)?;
    }
    let before = live.running.uses()?;
    let (machine_before, began) = (MachineTime::now(), Instant::now());
    let counted = drive(live, sysbench, workload, threads, scenario.seconds, seed)?;
    let (machine_after, elapsed) = (MachineTime::now(), began.elapsed().as_secs_f64());
    let at_end = live.running.uses()?;
    live.running.wait_until_idle()?;
    let processes = used(&before, &at_end, live.running.uses()?);
    let server_cpu = Running::server_seconds(&processes);
    let driver_cores = counted.cpu_seconds / elapsed;
    let load = DriverLoad {
        driver_cores,
        server_cores: live.running.is_watched().then(|| (Running::server_seconds(&at_end) - Running::server_seconds(&before)) / elapsed),
        threads,
        machine_cores: machine::cores() as f64,
        machine_busy_percent: machine_after.busy_percent_since(machine_before),
    };
    Ok(Run {
        subject: live.plan.name.clone(),
        workload: name,
        threads,
        repeat,
        drivers: counted.drivers,
        seconds: counted.seconds,
        queries: counted.queries,
        transactions: counted.transactions,
        errors: counted.errors,
        reconnects: counted.reconnects,
        qps: counted.qps,
        tps: counted.tps,
        latency: counted.latency,
        histogram: counted.histogram,
        series: counted.series,
        parts: counted.parts,
        tpm_c: counted.tpm_c,
        server_cpu_micros_per_query: live.running.is_watched().then(|| server_cpu * 1e6 / counted.queries.max(1) as f64),
        processes,
        driver_cores,
        driver_bound: load.bound(),
        steal_percent: machine_after.steal_percent_since(machine_before),
    })
}

fn drive(live: &Live, sysbench: Option<&Driver>, workload: &Workload, threads: u32, seconds: u32, seed: u64) -> Result<Counted, Error> {
    if live.plan.data.kind == DataKind::Tpcc {
        let driver = tpcc::Driver::new(&live.plan, &live.running.account, &live.running.endpoints, seed);
        return driver.run(threads, Duration::from_secs(u64::from(seconds)));
    }
    let Some(driver) = sysbench else { return Ok(Counted::default()) };
    let data = &live.plan.data;
    let call = Call {
        account: &live.running.account,
        endpoints: &live.running.endpoints,
        script: &workload.script,
        options: live.plan.options_of(workload),
        tables: data.tables,
        rows: data.rows,
        threads,
    };
    driver.run(&call, Span { seconds, drivers: live.plan.drivers, seed })
}

/// Processor time until idle, memory at the end of the load.
fn used(before: &[ProcessUse], at_end: &[ProcessUse], idle: Vec<ProcessUse>) -> Vec<ProcessUse> {
    let difference = |((before, at_end), idle): ((&ProcessUse, &ProcessUse), ProcessUse)| ProcessUse {
        cpu_seconds: idle.cpu_seconds - before.cpu_seconds,
        resident_bytes: at_end.resident_bytes,
        name: idle.name,
    };
    before.iter().zip(at_end).zip(idle).map(difference).collect()
}

/// What the drivers took of the machine that they run on.
struct DriverLoad {
    driver_cores: f64,
    /// Of servers on the same machine.
    server_cores: Option<f64>,
    threads: u32,
    machine_cores: f64,
    machine_busy_percent: f64,
}

impl DriverLoad {
    /// Why the drivers were the bottleneck, if they were: their threads had no time left to wait for the server, or the machine was full and they took more
    /// of it than the servers (with servers elsewhere, all of it).
    fn bound(&self) -> Option<String> {
        let share = self.driver_cores / f64::from(self.threads).min(self.machine_cores);
        if share >= 0.9 {
            return Some(format!(
                "the drivers used {:.2} of the {} cores they could",
                self.driver_cores,
                f64::from(self.threads).min(self.machine_cores)
            ));
        }
        if self.machine_busy_percent < 95.0 {
            return None;
        }
        match self.server_cores {
            None => Some(format!("the drivers' machine was busy to {:.0} %", self.machine_busy_percent)),
            Some(servers) if self.driver_cores > servers => Some(format!(
                "the machine was full, and the drivers used more of it than the servers: {:.2} cores against {servers:.2}",
                self.driver_cores
            )),
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(driver_cores: f64, server_cores: Option<f64>, threads: u32, machine_busy_percent: f64) -> Option<String> {
        DriverLoad { driver_cores, server_cores, threads, machine_cores: 2.0, machine_busy_percent }.bound()
    }

    #[test]
    fn drivers_are_the_bottleneck_when_they_have_no_time_to_wait_or_take_most_of_a_full_machine() {
        assert_eq!(load(0.5, Some(1.4), 8, 99.0), None, "the servers are");
        assert_eq!(load(0.5, Some(0.2), 8, 60.0), None, "both wait for something else");
        assert_eq!(
            load(1.2, Some(0.7), 8, 99.0).as_deref(),
            Some("the machine was full, and the drivers used more of it than the servers: 1.20 cores against 0.70")
        );
        assert_eq!(load(0.95, Some(0.1), 1, 55.0).as_deref(), Some("the drivers used 0.95 of the 1 cores they could"));
        assert_eq!(load(1.7, None, 8, 97.0).as_deref(), Some("the drivers' machine was busy to 97 %"));
    }

    #[test]
    fn processor_time_is_counted_until_idle_and_memory_at_the_end_of_the_load() {
        let use_of = |cpu_seconds, resident_bytes| ProcessUse { name: "kv-0".to_owned(), cpu_seconds, resident_bytes };
        assert_eq!(used(&[use_of(1.0, 10)], &[use_of(3.0, 30)], vec![use_of(4.0, 20)]), [use_of(3.0, 30)]);
    }
}
