//! Joins: one matching machinery under four ways to find candidates.
//!
//! ```text
//!   HashJoin     builds one side whole, or part by part from files, probes with the other
//!   IndexJoin    builds the rows looked up for a batch of outer rows, probes with the batch
//!   Apply        builds the inner rows of one outer row, probes with it
//!   MergeJoin    builds the run of right rows with one key, probes with the left rows of that key
//!                                   │
//!            BuildTable (rows by key) + Probe (pairs → conditions → what the join kind makes of them)
//! ```
//!
//! Invariants
//! - A pair matches when all its keys are equal and all its conditions are true; NULL equals nothing except under `<=>`.
//! - Output columns are left columns then right columns, whichever side was built.

pub(crate) mod apply;
pub(crate) mod build_table;
pub(crate) mod hash_join;
pub(crate) mod index_join;
pub(crate) mod merge_join;
pub(crate) mod null_aware;
pub(crate) mod partition;
pub(crate) mod probe;
pub(crate) mod shape;
