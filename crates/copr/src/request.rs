//! One execution of a pushed-down plan: the plan, where it runs, and what varies between executions.

use std::sync::Arc;

use base::KeyRange;
use expr::EvalCtx;

use crate::plan::DagPlan;

/// Rows of a full chunk when nobody says otherwise.
pub const DEFAULT_CHUNK_ROWS: usize = 1024;

/// One execution of a [`DagPlan`] over key ranges.
#[derive(Clone, Debug)]
pub struct DagRequest {
    /// What to run.
    pub plan: Arc<DagPlan>,
    /// Disjoint ranges of user keys, ascending whatever the direction of the scan.
    pub ranges: Vec<KeyRange>,
    /// Scan from the last key to the first.
    pub desc: bool,
    /// Parameters and the statement's context.
    pub eval: Arc<EvalCtx>,
    /// The consumer expects to stop after about this many rows: read in small pages at first.
    pub limit_hint: Option<u64>,
    /// Rows of a full chunk; at least 1.
    pub chunk_rows: usize,
}

impl DagRequest {
    /// An ascending execution with chunks of the default size and no limit hint.
    pub fn new(plan: Arc<DagPlan>, ranges: Vec<KeyRange>, eval: Arc<EvalCtx>) -> Self {
        Self { plan, ranges, desc: false, eval, limit_hint: None, chunk_rows: DEFAULT_CHUNK_ROWS }
    }
}
