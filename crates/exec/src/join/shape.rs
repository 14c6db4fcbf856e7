//! What all joins have in common: kind, keys, conditions and the types of both sides.

use copr::sort_key::chunk_of;
use expr::{EvalCtx, Expr};
use planner::physical::{JoinKey, JoinKind, Side};
use types::{Chunk, Column, FieldType};

use crate::Result;
use crate::plan_ref::PlanRef;

/// The static part of a join.
pub(crate) struct JoinShape {
    pub(crate) kind: JoinKind,
    /// The side whose rows are in the build table.
    pub(crate) build: Side,
    pub(crate) keys: PlanRef<[JoinKey]>,
    pub(crate) conditions: PlanRef<[Expr]>,
    /// The first so many keys follow the rules of `NOT IN`.
    pub(crate) null_aware_keys: usize,
    pub(crate) left_types: PlanRef<[FieldType]>,
    pub(crate) right_types: PlanRef<[FieldType]>,
}

impl JoinShape {
    /// Types of the build side's rows.
    pub(crate) fn build_types(&self) -> &[FieldType] {
        self.types(self.build)
    }

    /// Types of one side's rows.
    pub(crate) fn types(&self, side: Side) -> &[FieldType] {
        match side {
            Side::Left => &self.left_types,
            Side::Right => &self.right_types,
        }
    }

    /// The key expression of one side.
    pub(crate) fn key(&self, at: usize, side: Side) -> &Expr {
        match side {
            Side::Left => &self.keys[at].left,
            Side::Right => &self.keys[at].right,
        }
    }

    /// The side that probes.
    pub(crate) fn probe_side(&self) -> Side {
        match self.build {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    /// Key columns of one side's chunk, one for each key.
    pub(crate) fn key_columns(&self, side: Side, chunk: &Chunk, ctx: &EvalCtx) -> Result<Vec<Column>> {
        (0..self.keys.len()).map(|at| Ok(self.key(at, side).eval_chunk(ctx, chunk)?)).collect()
    }

    /// Puts pairs of rows side by side: left columns, then right columns.
    pub(crate) fn pair_chunk(&self, probe: &Chunk, probe_rows: &[u32], build: &Chunk, build_rows: &[u32]) -> Chunk {
        let probe = probe.gather(probe_rows);
        let build = build.gather(build_rows);
        let rows = probe_rows.len();
        let (left, right) = match self.build {
            Side::Left => (build, probe),
            Side::Right => (probe, build),
        };
        let mut columns = left.into_columns();
        columns.extend(right.into_columns());
        chunk_of(columns, rows)
    }

    /// Left rows with NULLs on the right.
    pub(crate) fn pad_right(&self, left: Chunk) -> Chunk {
        let rows = left.rows();
        let mut columns = left.into_columns();
        columns.extend(self.right_types.iter().map(|ty| {
            let mut column = Column::for_type(ty, rows);
            (0..rows).for_each(|_| column.push_null());
            column
        }));
        chunk_of(columns, rows)
    }
}
