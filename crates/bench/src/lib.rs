//! `trine bench`: a benchmark report from one scenario file, for Trine or any server that speaks MySQL.
//!
//! ```text
//!   scenario (TOML) ──► targets started ──► steps: prepare, analyze, prewarm, run ──► result (JSON) ──► report (Markdown, HTML)
//!                       or given             sysbench instances, or TPC-C                │
//!                                           CPU and memory of every process             └──► compare with another result
//! ```
//!
//! A *subject* is one thing measured: a target with one of the scenario's variations. Every subject runs every workload at every number of
//! threads as often as the scenario repeats, in turns, so that a slow minute of the machine hits all of them.
//!
//! The result file is the border between measuring and reporting: whatever a report shows stands in it.

pub mod compare;
mod driver;
mod error;
mod interrupt;
mod measure;
pub mod network;
pub mod report;
pub mod result;
pub mod run;
pub mod scenario;
mod target;
pub mod tpcc;

pub use error::Error;
