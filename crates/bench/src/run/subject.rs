//! A subject that serves, and what is known of it before it is measured.

use std::{path::Path, time::Duration};

use toml::Table;

use crate::{
    Error,
    measure::servers,
    result::Subject,
    scenario::{SubjectPlan, Topology},
    target::Running,
};

/// A subject whose target serves.
pub struct Live {
    /// What it was meant to be.
    pub plan: SubjectPlan,
    /// Its target.
    pub running: Running,
    /// What the result says of it.
    pub described: Subject,
}

impl Live {
    /// Starts the target, looks at it at rest, and asks it what it is.
    pub fn start(plan: SubjectPlan, directory: &Path, idle: Duration) -> Result<Self, Error> {
        let mut running = Running::start(&plan, directory)?;
        let (mut idle_cpu_percent, mut idle_memory_bytes) = (None, None);
        if running.is_watched() {
            // What follows a start is not rest yet.
            running.wait_until_idle()?;
            idle_cpu_percent = Some(running.measure_idle(idle)? * 100.0);
            idle_memory_bytes = Some(running.uses()?.iter().map(|process| process.resident_bytes).sum());
        }
        let mut client = running.account.connect(&running.endpoints[0])?;
        for statement in &plan.set_up {
            client.execute(statement)?;
        }
        // Variables that were set for all sessions hold for those that begin after that.
        let said = servers::ask(&mut running.account.connect(&running.endpoints[0])?);
        let described = Subject {
            name: plan.name.clone(),
            durability: durability(&plan).unwrap_or_else(|| said.durability()),
            isolation: said.isolation(),
            version: said.version,
            commit: said.commit,
            variables: said.variables,
            topology: plan.target.topology.clone(),
            endpoints: running.endpoints.iter().map(ToString::to_string).collect(),
            network: running.network.clone(),
            configuration: running.configuration.clone(),
            set_up: plan.set_up.clone(),
            start_seconds: running.start_seconds,
            idle_cpu_percent,
            idle_memory_bytes,
        };
        Ok(Self { plan, running, described })
    }

    /// For the terminal.
    pub fn in_words(&self) -> String {
        let described = &self.described;
        let mut text = format!("{}: {}", described.name, described.version);
        if let (Some(start), Some(cpu), Some(memory)) = (described.start_seconds, described.idle_cpu_percent, described.idle_memory_bytes) {
            text += &format!(", started in {start:.2} s, at rest {cpu:.1} % of a core and {} MiB", memory >> 20);
        }
        text + &format!(", durability: {}, isolation: {}", described.durability, described.isolation)
    }
}

/// Of a Trine of ours, whose file says it; `None` for others.
fn durability(plan: &SubjectPlan) -> Option<String> {
    let configuration = match plan.topology {
        Topology::Embedded => &plan.target.configuration.embedded,
        Topology::Cluster { .. } => &plan.target.configuration.kv,
        Topology::MariaDb | Topology::Endpoints => return None,
    };
    let sync_log =
        configuration.get("raftstore").and_then(|section| section.as_table()).and_then(|section: &Table| section.get("sync-log"));
    Some(match sync_log.and_then(toml::Value::as_bool) {
        Some(false) => "sync-log = false: commits are not synced before they are acknowledged".to_owned(),
        Some(true) | None => "synced".to_owned(),
    })
}
