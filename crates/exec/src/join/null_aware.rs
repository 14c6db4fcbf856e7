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

/// For each of `rows` (probe rows without a match), whether the answer is unknown.
pub(crate) fn unknown_rows(
    shape: &JoinShape,
    table: &BuildTable,
    probe: &Chunk,
    probe_keys: &[Column],
    rows: &[u32],
    ctx: &EvalCtx,
) -> Result<Vec<bool>> {
    let simple = shape.keys.len() == shape.null_aware_keys && shape.keys.len() == 1 && shape.conditions.is_empty();
    rows.iter()
        .map(|row| {
            let has_null = (0..shape.null_aware_keys).any(|key| probe_keys[key].is_null(*row as usize));
            if simple {
                return Ok(if has_null { table.len() > 0 } else { !table.null_rows.is_empty() });
            }
            if has_null {
                any_possible(shape, table, probe, probe_keys, *row, 0..table.len() as u32, ctx)
            } else {
                any_possible(shape, table, probe, probe_keys, *row, table.null_rows.iter().copied(), ctx)
            }
        })
        .collect()
}

fn any_possible(
    shape: &JoinShape,
    table: &BuildTable,
    probe: &Chunk,
    probe_keys: &[Column],
    row: u32,
    candidates: impl Iterator<Item = u32>,
    ctx: &EvalCtx,
) -> Result<bool> {
    let mut batch = Vec::new();
    for candidate in candidates {
        if !keys_possible(shape, table, probe_keys, row, candidate) {
            continue;
        }
        if shape.conditions.is_empty() {
            return Ok(true);
        }
        batch.push(candidate);
        if batch.len() == BATCH {
            if conditions_hold(shape, table, probe, row, &batch, ctx)? {
                return Ok(true);
            }
            batch.clear();
        }
    }
    Ok(!batch.is_empty() && conditions_hold(shape, table, probe, row, &batch, ctx)?)
}

fn conditions_hold(shape: &JoinShape, table: &BuildTable, probe: &Chunk, row: u32, candidates: &[u32], ctx: &EvalCtx) -> Result<bool> {
    let pairs = shape.pair_chunk(probe, &vec![row; candidates.len()], &table.rows, candidates);
    let mut selection = (0..candidates.len() as u32).collect::<Vec<_>>();
    for condition in shape.conditions.iter() {
        condition.filter(ctx, &pairs, &mut selection)?;
    }
    Ok(!selection.is_empty())
}

/// Whether the keys are equal as far as they are known.
fn keys_possible(shape: &JoinShape, table: &BuildTable, probe_keys: &[Column], row: u32, candidate: u32) -> bool {
    (0..shape.keys.len()).all(|key| {
        let probe_null = probe_keys[key].is_null(row as usize);
        let build_null = table.key_columns[key].is_null(candidate as usize);
        if probe_null || build_null {
            return key < shape.null_aware_keys || (shape.keys[key].null_safe && probe_null == build_null);
        }
        let ty = |side: Side| -> &FieldType { shape.key(key, side).field_type() };
        let mut left = Vec::new();
        let mut right = Vec::new();
        push_group_key(&mut left, &probe_keys[key..=key], std::slice::from_ref(ty(shape.probe_side())), row as usize);
        push_group_key(&mut right, &table.key_columns[key..=key], std::slice::from_ref(ty(shape.build)), candidate as usize);
        left == right
    })
}
