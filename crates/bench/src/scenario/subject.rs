//! Subjects: each target with each variation that applies to it, everything resolved.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use toml::Table;

use super::{
    merge,
    settings::{Data, Options, Scenario, Target, Workload, table_of},
};

/// One thing to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct SubjectPlan {
    /// Unique in the scenario.
    pub name: String,
    /// What is started or connected to.
    pub target: Target,
    /// How many processes of what.
    pub topology: Topology,
    /// SQL before data are loaded: the scenario's, the target's, the variation's.
    pub set_up: Vec<String>,
    /// The rows.
    pub data: Data,
    /// Driver processes.
    pub drivers: u32,
    /// Options of loading.
    pub load_options: Options,
    /// Options of the variation, over all others.
    pub options: Options,
}

impl SubjectPlan {
    /// All options of a workload on this subject.
    pub fn options_of(&self, workload: &Workload) -> Options {
        let mut options = self.load_options.clone();
        options.extend(workload.options.clone());
        options.extend(self.options.clone());
        options
    }
}

/// What a target consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One process with all roles.
    Embedded,
    /// Processes of each role.
    Cluster {
        /// Placement drivers.
        pd: usize,
        /// Stores.
        kv: usize,
        /// SQL servers.
        sql: usize,
    },
    /// A MariaDB of our own.
    MariaDb,
    /// Servers that run already.
    Endpoints,
}

impl FromStr for Topology {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "unknown topology `{text}`: it is `embedded`, `mariadb`, `endpoints`, or numbers of placement drivers, stores and SQL servers as `3+3+3`"
            )
        };
        match text {
            "embedded" => Ok(Self::Embedded),
            "mariadb" => Ok(Self::MariaDb),
            "endpoints" => Ok(Self::Endpoints),
            _ => {
                let numbers: Option<Vec<usize>> =
                    text.split('+').map(|number| number.trim().parse().ok().filter(|number| *number > 0)).collect();
                match numbers.as_deref() {
                    Some(&[pd, kv, sql]) => Ok(Self::Cluster { pd, kv, sql }),
                    _ => Err(unknown()),
                }
            }
        }
    }
}

impl Scenario {
    /// Targets in their order, each with its variations in theirs; the baseline of the report before all others.
    pub fn subjects(&self) -> Result<Vec<SubjectPlan>, String> {
        let mut subjects: Vec<SubjectPlan> = Vec::new();
        for target in &self.target {
            let plain = SubjectPlan {
                name: target.name.clone(),
                topology: target.topology.parse()?,
                set_up: self.set_up.iter().chain(&target.set_up).cloned().collect(),
                target: target.clone(),
                data: self.data.clone(),
                drivers: self.drivers,
                load_options: self.sysbench.options.clone(),
                options: Options::new(),
            };
            let applies = |variation: &&super::Variation| variation.targets.is_empty() || variation.targets.contains(&target.name);
            let mut variations = self.variation.iter().filter(applies).peekable();
            if variations.peek().is_none() {
                subjects.push(plain);
                continue;
            }
            for variation in variations {
                let name = match self.target.len() {
                    1 => variation.name.clone(),
                    _ => format!("{}, {}", target.name, variation.name),
                };
                let varied: Target = varied(target, &variation.target).map_err(|what| format!("variation {}: {what}", variation.name))?;
                subjects.push(SubjectPlan {
                    topology: varied.topology.parse()?,
                    set_up: self.set_up.iter().chain(&varied.set_up).chain(&variation.set_up).cloned().collect(),
                    data: self::varied(&self.data, &variation.data).map_err(|what| format!("variation {}: {what}", variation.name))?,
                    drivers: variation.drivers.unwrap_or(self.drivers),
                    options: variation.options.clone(),
                    target: varied,
                    name,
                    ..plain.clone()
                });
            }
        }
        for (at, subject) in subjects.iter().enumerate() {
            if subject.name.is_empty() {
                return Err("a [[variation]] has no `name`".to_owned());
            }
            if subjects[..at].iter().any(|other| other.name == subject.name) {
                return Err(format!("two subjects are called `{}`", subject.name));
            }
        }
        if let Some(baseline) = subjects.iter().position(|subject| subject.name == self.report.baseline) {
            subjects[..=baseline].rotate_right(1);
        }
        Ok(subjects)
    }
}

fn varied<T: serde::Serialize + DeserializeOwned>(base: &T, over: &Table) -> Result<T, String> {
    let mut table = table_of(base);
    merge::lay_over(&mut table, over);
    table.try_into().map_err(|error| error.to_string().trim_end().to_owned())
}
