//! Loading a subject's data, and what comes before it is measured.

use std::time::Instant;

use super::{progress::Progress, subject::Live};
use crate::{
    Error,
    driver::{
        sysbench::{Call, Driver},
        tpcc,
    },
    result::Load,
    scenario::{DataKind, Options, Scenario, Step},
    target::Running,
};

/// Steps before the runs, in the scenario's order.
pub fn load(
    scenario: &Scenario,
    live: &mut Live,
    sysbench: Option<&Driver>,
    loads: &mut Vec<Load>,
    progress: &mut Progress,
) -> Result<(), Error> {
    for step in &scenario.steps {
        match step {
            Step::Prepare => {
                let load = prepare(scenario, live, sysbench, progress)?;
                progress.say(&format!("{}: {} loaded in {:.1} s", load.subject, load.size, load.seconds));
                loads.push(load);
            }
            Step::Analyze => analyze(live)?,
            Step::Prewarm => prewarm(live, sysbench)?,
            Step::Check => check(scenario, live, progress)?,
            Step::Run => break,
        }
    }
    live.running.wait_until_idle()
}

fn prepare(scenario: &Scenario, live: &mut Live, sysbench: Option<&Driver>, progress: &Progress) -> Result<Load, Error> {
    let database = &live.running.account.database;
    let mut client = live.running.account.connect(&live.running.endpoints[0])?;
    client.execute(&format!("CREATE DATABASE IF NOT EXISTS `{database}`"))?;
    let before = cpu_seconds(live)?;
    let began = Instant::now();
    let (data, size) = match live.plan.data.kind {
        DataKind::Sysbench => {
            act(live, sysbench, "oltp_common", "prepare", live.plan.data.load_threads)?;
            ("sysbench", format!("{} tables × {} rows", live.plan.data.tables, live.plan.data.rows))
        }
        DataKind::Tpcc => {
            let driver = tpcc::Driver::new(&live.plan, &live.running.account, &live.running.endpoints, scenario.seed);
            driver.load(&|text| progress.say(&text))?;
            ("tpcc", driver.size())
        }
    };
    let seconds = began.elapsed().as_secs_f64();
    live.running.wait_until_idle()?;
    let server_cpu_seconds = cpu_seconds(live)?.zip(before).map(|(after, before)| after - before);
    Ok(Load { subject: live.plan.name.clone(), data: data.to_owned(), size, seconds, server_cpu_seconds })
}

fn cpu_seconds(live: &mut Live) -> Result<Option<f64>, Error> {
    let uses = live.running.uses()?;
    Ok(live.running.is_watched().then(|| Running::server_seconds(&uses)))
}

fn analyze(live: &mut Live) -> Result<(), Error> {
    let mut client = live.running.account.connect(&live.running.endpoints[0])?;
    client.execute(&format!("USE `{}`", live.running.account.database))?;
    match live.plan.data.kind {
        DataKind::Sysbench => (1..=live.plan.data.tables).try_for_each(|table| client.execute(&format!("ANALYZE TABLE sbtest{table}"))),
        DataKind::Tpcc => client.column("SHOW TABLES")?.iter().try_for_each(|table| client.execute(&format!("ANALYZE TABLE `{table}`"))),
    }
}

/// TPC-C's consistency conditions.
pub fn check(scenario: &Scenario, live: &mut Live, progress: &Progress) -> Result<(), Error> {
    tpcc::Driver::new(&live.plan, &live.running.account, &live.running.endpoints, scenario.seed).check()?;
    progress.say(&format!("{}: the database is consistent", live.plan.name));
    Ok(())
}

fn prewarm(live: &mut Live, sysbench: Option<&Driver>) -> Result<(), Error> {
    match live.plan.data.kind {
        DataKind::Sysbench => act(live, sysbench, "oltp_common", "prewarm", 1),
        DataKind::Tpcc => {
            let mut client = live.running.account.connect(&live.running.endpoints[0])?;
            client.execute(&format!("USE `{}`", live.running.account.database))?;
            client.column("SHOW TABLES")?.iter().try_for_each(|table| client.execute(&format!("SELECT COUNT(*) FROM `{table}`")))
        }
    }
}

fn act(live: &Live, sysbench: Option<&Driver>, script: &str, action: &str, threads: u32) -> Result<(), Error> {
    let Some(driver) = sysbench else { return Ok(()) };
    let mut options: Options = live.plan.load_options.clone();
    options.extend(live.plan.options.clone());
    let data = &live.plan.data;
    let call = Call {
        account: &live.running.account,
        endpoints: &live.running.endpoints,
        script,
        options,
        tables: data.tables,
        rows: data.rows,
        threads: threads.clamp(1, data.tables.max(1)),
    };
    driver.act(&call, action)
}
