//! What a report shows: `[report]` of a scenario.

use std::str::FromStr;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// `[report]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Report {
    /// The subject that others are compared with: it is measured and shown first. Empty for the first of the file.
    pub baseline: String,
    /// Of each run, in tables, charts and comparisons, in this order. One that was not measured is left out.
    pub figures: Vec<Figure>,
    /// What is shown beside warnings, durability and the figures of each workload, which always are.
    pub parts: Vec<ReportPart>,
}

impl Default for Report {
    fn default() -> Self {
        Self {
            baseline: String::new(),
            figures: vec![Figure::TpmC, Figure::Qps, Figure::Latency95, Figure::ServerCpu],
            parts: vec![
                ReportPart::Glance,
                ReportPart::Charts,
                ReportPart::Series,
                ReportPart::Details,
                ReportPart::Resources,
                ReportPart::Repeat,
            ],
        }
    }
}

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// New-Order transactions a minute.
    TpmC,
    /// Statements a second.
    Qps,
    /// Transactions a second.
    Tps,
    /// Latency that half of the transactions stay within.
    #[serde(rename = "latency-50")]
    Latency50,
    /// 95 % of the transactions stay within it.
    #[serde(rename = "latency-95")]
    Latency95,
    /// 99 % of the transactions stay within it.
    #[serde(rename = "latency-99")]
    Latency99,
    /// Processor time of all servers, a statement.
    ServerCpu,
}

/// A part of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportPart {
    /// Everything at one look.
    Glance,
    /// Figures over threads.
    Charts,
    /// Throughput second by second.
    Series,
    /// All latencies, errors, load of the driver.
    Details,
    /// Start, memory, loading, processes.
    Resources,
    /// Scenario, machine, configuration, every run.
    Repeat,
}

impl Report {
    /// Whether a part is shown.
    pub fn shows(&self, part: ReportPart) -> bool {
        self.parts.contains(&part)
    }
}

impl FromStr for Figure {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named(name)
    }
}

impl FromStr for ReportPart {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named(name)
    }
}

/// A value by the name it has in a file; the error says what names there are.
fn named<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    toml::Value::String(name.to_owned()).try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}
