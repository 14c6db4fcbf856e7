//! `IN` and `NOT IN` with NULLs: which rows without a match have the answer "unknown".
//!
//! `x IN (set)` is unknown when no element equals `x`, but some element *might*: for each null-aware key the two sides are equal or one of them is
//! NULL, the plain keys are equal, and the conditions (with which a correlated subquery chooses its rows) hold.
//!
//! | probe key | candidates |
//! |---|---|
//! | without NULL | build rows with a NULL among their null-aware keys |
//! | with NULL | all build rows |

use copr::sort_key::push_group_key;
use expr::EvalCtx;
use planner::physical::Side;
use types::{Chunk, Column, FieldType};

use crate::Result;
use crate::join::build_table::BuildTable;
use crate::join::shape::JoinShape;

/// Pairs checked together.
const BATCH: usize = 1024;

/// Probe rows without a match, and all that decides about them.
pub(crate) struct Unmatched<'a> {
    pub(crate) shape: &'a JoinShape,
    pub(crate) table: &'a BuildTable,
    /// The probe rows and their evaluated keys.
    pub(crate) probe: &'a Chunk,
    pub(crate) keys: &'a [Column],
    pub(crate) ctx: &'a EvalCtx,
}

impl Unmatched<'_> {
    /// For each of `rows` (probe rows without a match), whether the answer is unknown.
    pub(crate) fn unknown(&self, rows: &[u32]) -> Result<Vec<bool>> {
        let (shape, table) = (self.shape, self.table);
        let simple = shape.keys.len() == shape.null_aware_keys && shape.keys.len() == 1 && shape.conditions.is_empty();
        rows.iter()
            .map(|row| {
                let has_null = (0..shape.null_aware_keys).any(|key| self.keys[key].is_null(*row as usize));
                if simple {
                    return Ok(if has_null { table.len() > 0 } else { !table.null_rows.is_empty() });
                }
                if has_null {
                    self.any_possible(*row, 0..table.len() as u32)
                } else {
                    self.any_possible(*row, table.null_rows.iter().copied())
                }
            })
            .collect()
    }

    fn any_possible(&self, row: u32, candidates: impl Iterator<Item = u32>) -> Result<bool> {
        let mut batch = Vec::new();
        for candidate in candidates {
            if !self.keys_possible(row, candidate) {
                continue;
            }
            if self.shape.conditions.is_empty() {
                return Ok(true);
            }
            batch.push(candidate);
            if batch.len() == BATCH {
                if self.conditions_hold(row, &batch)? {
                    return Ok(true);
                }
                batch.clear();
            }
        }
        Ok(!batch.is_empty() && self.conditions_hold(row, &batch)?)
    }

    fn conditions_hold(&self, row: u32, candidates: &[u32]) -> Result<bool> {
        let pairs = self.shape.pair_chunk(self.probe, &vec![row; candidates.len()], &self.table.rows, candidates);
        let mut selection = (0..candidates.len() as u32).collect::<Vec<_>>();
        for condition in self.shape.conditions.iter() {
            condition.filter(self.ctx, &pairs, &mut selection)?;
        }
        Ok(!selection.is_empty())
    }

    /// Whether the keys are equal as far as they are known.
    fn keys_possible(&self, row: u32, candidate: u32) -> bool {
        let (shape, built) = (self.shape, &self.table.key_columns);
        (0..shape.keys.len()).all(|key| {
            let probe_null = self.keys[key].is_null(row as usize);
            let build_null = built[key].is_null(candidate as usize);
            if probe_null || build_null {
                return key < shape.null_aware_keys || (shape.keys[key].null_safe && probe_null == build_null);
            }
            let ty = |side: Side| -> &FieldType { shape.key(key, side).field_type() };
            let mut left = Vec::new();
            let mut right = Vec::new();
            push_group_key(&mut left, &self.keys[key..=key], std::slice::from_ref(ty(shape.probe_side())), row as usize);
            push_group_key(&mut right, &built[key..=key], std::slice::from_ref(ty(shape.build)), candidate as usize);
            left == right
        })
    }
}
