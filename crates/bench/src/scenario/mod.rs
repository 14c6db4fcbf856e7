//! Scenarios: what is measured, as a TOML file says it.
//!
//! ```text
//!   file ─► [small] laid over, when the small size is asked for ─► --set and named flags ─► keys checked ─► Scenario
//!                                                                                                             │
//!           targets × the variations that apply to them ─────────────────────────────────────────────────► subjects
//! ```
//!
//! `docs/benchmarks.md` shows a file with every key. What was run is kept as text in the result, without the tables that other sizes need.

mod keys;
mod merge;
mod overrides;
mod report;
mod settings;
mod shipped;
mod subject;

use std::path::Path;

use toml::{Table, Value};

pub(crate) use self::merge::lay_over;
pub use self::{
    overrides::Override,
    report::{Figure, Report, ReportPart},
    settings::{
        Configuration, Cpu, Data, DataKind, Network, NetworkKind, Options, Scenario, Step, Sysbench, TPCC, Target, Variation, Workload,
    },
    shipped::{Shipped, shipped},
    subject::{SubjectPlan, Topology},
};
use crate::Error;

/// Which size of a scenario is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// For machines that are there to be measured.
    #[default]
    Full,
    /// The overrides of `[small]`, those of `[small.target]` on every target: minutes on two cores.
    Small,
}

/// A scenario as it will be run.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its file's name without `.toml`.
    pub name: String,
    /// What it says.
    pub scenario: Scenario,
    /// The same as text, without passwords: running it again repeats the measurement.
    pub text: String,
}

/// Reads a scenario: `name` is a file, or the name of a shipped one. `overrides` are laid over it in order.
pub fn load(name: &str, size: Size, overrides: &[Override]) -> Result<Loaded, Error> {
    let (name, text) = source(name)?;
    parse(&name, &text, size, overrides).map_err(|what| Error::Scenario { scenario: name, what })
}

/// Name and text.
fn source(name: &str) -> Result<(String, String), Error> {
    let path = Path::new(name);
    match std::fs::read_to_string(path) {
        Ok(text) => return Ok((path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy()).into_owned(), text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(source) => return Err(Error::File { action: "read", path: path.to_owned(), source }),
    }
    match shipped().iter().find(|shipped| shipped.name == name) {
        Some(shipped) => Ok((shipped.name.to_owned(), shipped.text.to_owned())),
        None => {
            Err(Error::NoScenario { name: name.to_owned(), shipped: shipped().iter().map(|shipped| shipped.name.to_owned()).collect() })
        }
    }
}

/// Reads the text of a scenario.
pub fn parse(name: &str, text: &str, size: Size, overrides: &[Override]) -> Result<Loaded, String> {
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| error.to_string().trim_end().to_owned())?;
    let mut small = match table.remove("small") {
        None => Table::new(),
        Some(Value::Table(small)) => small,
        Some(_) => return Err("`small` is not a table".to_owned()),
    };
    let example = settings::example();
    normalise(&mut table)?;
    normalise(&mut small)?;
    let for_targets = small.remove("target");
    let for_targets = match &for_targets {
        None => Table::new(),
        Some(Value::Table(target)) => target.clone(),
        Some(_) => return Err("[small]: `target` is one table, for all targets".to_owned()),
    };
    // Wrong keys in the small size are told in every size.
    let in_small = |what| format!("[small]: {what}");
    keys::check(&small, &example).map_err(in_small)?;
    keys::check(&for_targets, &settings::table_of(&Target::default())).map_err(in_small)?;
    if size == Size::Small {
        merge::lay_over(&mut table, &small);
        for target in table.get_mut("target").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_table_mut) {
            merge::lay_over(target, &for_targets);
        }
    }
    for laid_over in overrides {
        laid_over.apply(&mut table)?;
    }
    // Flags may use the short forms again.
    normalise(&mut table)?;
    keys::check(&table, &example)?;
    let as_text = |table: &Table| toml::to_string(table).map_err(|error| error.to_string());
    // From the text, so that errors show a line of it.
    let scenario: Scenario = toml::from_str(&as_text(&table)?).map_err(|error| error.to_string().trim_end().to_owned())?;
    scenario.check()?;
    for target in table.get_mut("target").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_table_mut) {
        target.remove("password");
    }
    Ok(Loaded { name: name.to_owned(), scenario, text: as_text(&table)? })
}

/// Short forms written out: a workload that is only a script's name, a configuration that is given as text.
fn normalise(table: &mut Table) -> Result<(), String> {
    if let Some(Value::Array(workloads)) = table.get_mut("workloads") {
        for workload in workloads {
            if let Value::String(script) = workload {
                *workload = Value::Table(Table::from_iter([("script".to_owned(), Value::String(script.clone()))]));
            }
        }
    }
    for list in ["target", "variation"] {
        let Some(Value::Array(elements)) = table.get_mut(list) else { continue };
        for element in elements.iter_mut().filter_map(Value::as_table_mut) {
            normalise_configuration(element)?;
            if let Some(Value::Table(target)) = element.get_mut("target") {
                normalise_configuration(target)?;
            }
        }
    }
    Ok(())
}

fn normalise_configuration(target: &mut Table) -> Result<(), String> {
    let Some(Value::Table(configuration)) = target.get_mut("configuration") else { return Ok(()) };
    for (role, value) in configuration {
        if let Value::String(text) = value {
            let parsed: Table =
                text.parse().map_err(|error: toml::de::Error| format!("configuration of {role}: {}", error.to_string().trim_end()))?;
            *value = Value::Table(parsed);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
