//! The keys of a scenario file, and what stands in their place when they are left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::{report::Report, subject::Topology};

/// Options of sysbench by name, without the dashes: `rand-type`, `range_selects`. sysbench itself refuses what it does not know.
pub type Options = BTreeMap<String, Value>;

/// The workload of TPC-C's data.
pub const TPCC: &str = "tpcc";

/// A whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Scenario {
    /// One line.
    pub title: String,
    /// What it shows and which published experiment it repeats; Markdown.
    pub description: String,
    /// Seed of every random generator that can be given one.
    pub seed: u64,
    /// What is done, in this order.
    pub steps: Vec<Step>,
    /// Workloads: names of sysbench scripts, or tables; `tpcc` for TPC-C.
    pub workloads: Vec<Workload>,
    /// Connections of all drivers together; each number is measured.
    pub threads: Vec<u32>,
    /// Measured time of one run.
    pub seconds: u32,
    /// Load before each run that is not counted.
    pub warm_up_seconds: u32,
    /// How often each run is repeated.
    pub repeats: u32,
    /// Driver processes that run together, spread over the endpoints.
    pub drivers: u32,
    /// Time at rest after the start over which idle processor use is measured.
    pub idle_seconds: u32,
    /// SQL run on every target before data are loaded.
    pub set_up: Vec<String>,
    /// Directory under which servers keep their data; empty for the system's directory of temporary files.
    pub directory: String,
    /// The rows.
    pub data: Data,
    /// The driver.
    pub sysbench: Sysbench,
    /// What is measured.
    pub target: Vec<Target>,
    /// What is varied; without any, every target is measured as it is.
    pub variation: Vec<Variation>,
    /// What the report shows.
    pub report: Report,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            title: String::new(),
            description: String::new(),
            seed: 1,
            steps: vec![Step::Prepare, Step::Analyze, Step::Prewarm, Step::Run],
            workloads: Vec::new(),
            threads: vec![8],
            seconds: 10,
            warm_up_seconds: 0,
            repeats: 1,
            drivers: 1,
            idle_seconds: 5,
            set_up: Vec::new(),
            directory: String::new(),
            data: Data::default(),
            sysbench: Sysbench::default(),
            target: Vec::new(),
            variation: Vec::new(),
            report: Report::default(),
        }
    }
}

/// A part of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Loads the data.
    Prepare,
    /// `ANALYZE TABLE` for each table.
    Analyze,
    /// Reads the data once.
    Prewarm,
    /// Measures.
    Run,
    /// Of TPC-C: fails unless the consistency conditions hold. May stand behind `run` too.
    Check,
}

/// `[data]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Data {
    /// Whose tables.
    pub kind: DataKind,
    /// sysbench: how many.
    pub tables: u32,
    /// sysbench: rows of each.
    pub rows: u64,
    /// TPC-C: warehouses.
    pub warehouses: u32,
    /// Connections that load.
    pub load_threads: u32,
    /// TPC-C: how many times less items and customers there are than specified; figures of other than 1 must not stand beside others.
    pub divisor: u32,
    /// TPC-C: whether terminals wait between transactions as the standard says.
    pub think_times: bool,
}

impl Default for Data {
    fn default() -> Self {
        Self { kind: DataKind::Sysbench, tables: 4, rows: 100_000, warehouses: 1, divisor: 1, load_threads: 1, think_times: false }
    }
}

/// Kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataKind {
    /// `sbtest1`, `sbtest2`, …
    Sysbench,
    /// The nine tables of TPC-C.
    Tpcc,
}

/// `[sysbench]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Sysbench {
    /// The program.
    pub program: String,
    /// Directory of the Lua scripts; empty for those it was installed with.
    pub lua_path: String,
    /// Options of loading and of all workloads.
    pub options: Options,
}

impl Default for Sysbench {
    fn default() -> Self {
        let uniform = Options::from([("rand-type".to_owned(), Value::String("uniform".to_owned()))]);
        Self { program: "sysbench".to_owned(), lua_path: String::new(), options: uniform }
    }
}

/// One element of `workloads`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Workload {
    /// sysbench's script, or `tpcc`.
    pub script: String,
    /// What the report calls it; empty for the script's name.
    pub name: String,
    /// Options of this workload, over those of `[sysbench]`.
    pub options: Options,
}

impl Workload {
    /// What the report calls it.
    pub fn title(&self) -> &str {
        if self.name.is_empty() { &self.script } else { &self.name }
    }
}

/// `[[target]]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Target {
    /// Unique in the file.
    pub name: String,
    /// `embedded`, `1+1+1` (placement drivers + stores + SQL servers), `mariadb`, `endpoints`.
    pub topology: String,
    /// The trine binary; empty for the running one.
    pub binary: String,
    /// Configuration by role.
    pub configuration: Configuration,
    /// SQL run on this target before data are loaded, after that of the scenario.
    pub set_up: Vec<String>,
    /// Of topology `endpoints`: `host:port` of the servers.
    pub endpoints: Vec<String>,
    /// Who connects.
    pub user: String,
    /// Their password.
    pub password: String,
    /// Where the tables are.
    pub database: String,
    /// Between driver and servers, and among servers.
    pub network: Network,
    /// Processors the servers may use.
    pub cpu: Cpu,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            name: String::new(),
            topology: "embedded".to_owned(),
            binary: String::new(),
            configuration: Configuration::default(),
            set_up: Vec::new(),
            endpoints: Vec::new(),
            user: "root".to_owned(),
            password: String::new(),
            database: "sbtest".to_owned(),
            network: Network::default(),
            cpu: Cpu::default(),
        }
    }
}

/// `[target.configuration]`: the file of each role, as a table or as text. The servers check the keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Configuration {
    /// One process with all roles.
    pub embedded: Table,
    /// Placement drivers.
    pub pd: Table,
    /// Stores.
    pub kv: Table,
    /// SQL servers.
    pub sql: Table,
    /// Options of mariadbd, without the dashes.
    pub mariadb: Table,
}

/// `[target.network]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Network {
    /// Where the processes are.
    pub kind: NetworkKind,
    /// With namespaces: zones over which the processes of each role are spread, one by one; stores are labelled with theirs.
    pub zones: u32,
    /// With namespaces: what a packet between two zones takes longer, each way.
    pub delay_ms: f64,
    /// Whether drivers connect to all SQL servers through one TCP balancer, HAProxy.
    pub balancer: bool,
}

impl Default for Network {
    fn default() -> Self {
        Self { kind: NetworkKind::Host, zones: 1, delay_ms: 0.0, balancer: false }
    }
}

/// Where the processes of a target are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkKind {
    /// On this machine's own network.
    Host,
    /// Each process in a network namespace of its own, as a container has it, all on a bridge. Needs root.
    Namespaces,
}

/// `[target.cpu]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Cpu {
    /// Processor time that all server processes of the target together may use, in cores; 0 for all there is. Needs root.
    pub cores: f64,
}

/// `[[variation]]`: overrides for a target. Each one that applies to a target makes a subject of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Variation {
    /// Unique in the file.
    pub name: String,
    /// Names of the targets it applies to; empty for all.
    pub targets: Vec<String>,
    /// Laid over the target.
    pub target: Table,
    /// SQL run after that of the target.
    pub set_up: Vec<String>,
    /// Options of sysbench, over those of the scenario and its workloads.
    pub options: Options,
    /// Laid over `[data]`.
    pub data: Table,
    /// Instead of the scenario's number of drivers.
    pub drivers: Option<u32>,
}

/// A file in which every key is set: what keys there are. Empty tables take any keys.
pub(super) fn example() -> Table {
    let target = Target::default();
    let variation = Variation { target: table_of(&target), data: table_of(&Data::default()), drivers: Some(1), ..Variation::default() };
    let mut scenario = Scenario { target: vec![target], variation: vec![variation], ..Scenario::default() };
    scenario.workloads = vec![Workload::default()];
    scenario.sysbench.options.clear();
    table_of(&scenario)
}

pub(super) fn table_of(value: &impl Serialize) -> Table {
    Table::try_from(value).expect("settings are representable in TOML")
}

impl Scenario {
    /// What no type can say.
    pub(super) fn check(&self) -> Result<(), String> {
        let positive = [
            ("threads", self.threads.iter().copied().min().unwrap_or(0)),
            ("seconds", self.seconds),
            ("repeats", self.repeats),
            ("drivers", self.drivers),
        ];
        if let Some((key, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(format!("`{key}` must be at least 1"));
        }
        if self.target.is_empty() {
            return Err("there is no [[target]]".to_owned());
        }
        if self.workloads.is_empty() && self.steps.contains(&Step::Run) {
            return Err("there are no `workloads`".to_owned());
        }
        let is_tpcc = self.data.kind == DataKind::Tpcc;
        if let Some(other) = self.workloads.iter().find(|workload| (workload.script == TPCC) != is_tpcc) {
            let kind = if is_tpcc { "`tpcc`, its only workload is `tpcc`" } else { "`sysbench`" };
            return Err(format!("workload `{}` does not run on data of kind {kind}", other.script));
        }
        if self.steps.contains(&Step::Check) && !is_tpcc {
            return Err("step `check` is of data of kind `tpcc`".to_owned());
        }
        for target in &self.target {
            if target.name.is_empty() {
                return Err("a [[target]] has no `name`".to_owned());
            }
            let topology: Topology = target.topology.parse()?;
            if topology == Topology::Endpoints && target.endpoints.is_empty() {
                return Err(format!("target {} has topology `endpoints` but no `endpoints`", target.name));
            }
        }
        for variation in &self.variation {
            if let Some(unknown) = variation.targets.iter().find(|name| !self.target.iter().any(|target| target.name == **name)) {
                return Err(format!("variation {} is of a target {unknown} that is not there", variation.name));
            }
        }
        if self.report.figures.is_empty() {
            return Err("`report.figures` names none: there would be nothing to report".to_owned());
        }
        let subjects = self.subjects()?;
        if !self.report.baseline.is_empty() && !subjects.iter().any(|subject| subject.name == self.report.baseline) {
            let names: Vec<&str> = subjects.iter().map(|subject| subject.name.as_str()).collect();
            return Err(format!("`report.baseline` is not a subject: {}; there are {}", self.report.baseline, names.join(", ")));
        }
        Ok(())
    }
}
