//! Probing: one chunk of rows against a build table.
//!
//! ```text
//!   probe row ─▶ chain of candidates ─▶ pairs (a chunk at a time) ─▶ conditions ─▶ matches
//!                                                                                   ├ Inner, LeftOuter: handed up
//!                                                                                   └ Semi, AntiSemi, Mark: remembered per probe row
//!   end of the chunk: unmatched rows (LeftOuter), or the verdicts (Semi, AntiSemi, Mark)
//! ```
//!
//! Invariants: for a probe row of a semi join the search ends with its first match; wide rows come in chunks of fewer.

use copr::sort_key::chunk_of;
use copr::sort_key::{KeyRows, push_group_key};
use expr::EvalCtx;
use planner::physical::{JoinKind, Side};
use types::{Chunk, Column, FieldType};

use crate::Result;
use crate::join::build_table::{BuildTable, END};
use crate::join::null_aware::Unmatched;
use crate::join::shape::JoinShape;
use crate::operator::CHUNK_BYTES;

/// A chunk being probed.
pub(crate) struct Probe {
    chunk: Chunk,
    /// Key bytes of each row, and whether they can match at all.
    keys: KeyRows,
    can_match: Vec<bool>,
    /// The evaluated keys, for null-aware verdicts.
    key_columns: Vec<Column>,
    matched: Vec<bool>,
    row: usize,
    candidate: u32,
    /// Whether `candidate` belongs to `row` already.
    started: bool,
    finished: bool,
}

impl Probe {
    pub(crate) fn new(chunk: Chunk, shape: &JoinShape, ctx: &EvalCtx) -> Result<Self> {
        let side = shape.probe_side();
        let key_columns = shape.key_columns(side, &chunk, ctx)?;
        let types = (0..shape.keys.len()).map(|at| shape.key(at, side).field_type().clone()).collect::<Vec<FieldType>>();
        let mut keys = KeyRows::default();
        let mut can_match = Vec::with_capacity(chunk.rows());
        for row in 0..chunk.rows() {
            keys.push_with(|out| push_group_key(out, &key_columns, &types, row));
            can_match.push(!(0..key_columns.len()).any(|at| key_columns[at].is_null(row) && !shape.keys[at].null_safe));
        }
        let matched = vec![false; chunk.rows()];
        Ok(Self { chunk, keys, can_match, key_columns, matched, row: 0, candidate: END, started: false, finished: false })
    }

    /// The next output chunk; `None` when this probe is done.
    pub(crate) fn next(&mut self, shape: &JoinShape, table: &mut BuildTable, chunk_rows: usize, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        let limit = self.pair_limit(table, chunk_rows);
        while !self.finished {
            let (probe_rows, build_rows) = self.collect_pairs(shape, table, limit);
            if probe_rows.is_empty() {
                self.finished = true;
                return self.verdicts(shape, table, ctx);
            }
            if let Some(chunk) = self.match_pairs(shape, table, &probe_rows, &build_rows, ctx)? {
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    /// How many pairs make a chunk of some mebibytes.
    fn pair_limit(&self, table: &BuildTable, chunk_rows: usize) -> usize {
        let mean_bytes = |chunk: &Chunk| chunk.memory_bytes() / chunk.rows().max(1);
        (CHUNK_BYTES / (mean_bytes(&self.chunk) + mean_bytes(&table.rows)).max(1)).clamp(1, chunk_rows)
    }

    fn wants_first_match_only(shape: &JoinShape) -> bool {
        matches!(shape.kind, JoinKind::Semi | JoinKind::AntiSemi | JoinKind::Mark)
    }

    /// Up to `limit` candidate pairs.
    fn collect_pairs(&mut self, shape: &JoinShape, table: &BuildTable, limit: usize) -> (Vec<u32>, Vec<u32>) {
        let has_keys = !shape.keys.is_empty();
        let first_only = Self::wants_first_match_only(shape);
        let mut probe_rows = Vec::new();
        let mut build_rows = Vec::new();
        while self.row < self.chunk.rows() && probe_rows.len() < limit {
            if !self.started {
                let key = self.can_match[self.row].then(|| self.keys.get(self.row));
                self.candidate = table.first(key, has_keys);
                self.started = true;
            }
            if self.candidate == END || (first_only && self.matched[self.row]) {
                self.row += 1;
                self.started = false;
                continue;
            }
            if first_only && shape.conditions.is_empty() {
                self.matched[self.row] = true;
                continue;
            }
            probe_rows.push(self.row as u32);
            build_rows.push(self.candidate);
            self.candidate = table.next(self.candidate, has_keys);
        }
        (probe_rows, build_rows)
    }

    /// Applies the conditions to pairs and records the matches.
    fn match_pairs(
        &mut self,
        shape: &JoinShape,
        table: &mut BuildTable,
        probe_rows: &[u32],
        build_rows: &[u32],
        ctx: &EvalCtx,
    ) -> Result<Option<Chunk>> {
        let pairs = shape.pair_chunk(&self.chunk, probe_rows, &table.rows, build_rows);
        let mut selection = (0..probe_rows.len() as u32).collect::<Vec<_>>();
        for condition in shape.conditions.iter() {
            condition.filter(ctx, &pairs, &mut selection)?;
        }
        for pair in &selection {
            self.matched[probe_rows[*pair as usize] as usize] = true;
        }
        if shape.kind == JoinKind::LeftOuter && shape.build == Side::Left {
            for pair in &selection {
                table.matched[build_rows[*pair as usize] as usize] = true;
            }
        }
        if Self::wants_first_match_only(shape) || selection.is_empty() {
            return Ok(None);
        }
        Ok(Some(if selection.len() == probe_rows.len() { pairs } else { pairs.gather(&selection) }))
    }

    /// What the whole chunk yields once all its pairs are known.
    fn verdicts(&mut self, shape: &JoinShape, table: &BuildTable, ctx: &EvalCtx) -> Result<Option<Chunk>> {
        let rows_where =
            |wanted: bool| (0..self.chunk.rows() as u32).filter(|row| self.matched[*row as usize] == wanted).collect::<Vec<_>>();
        let chunk = match shape.kind {
            JoinKind::Inner => return Ok(None),
            JoinKind::LeftOuter if shape.build == Side::Left => return Ok(None),
            JoinKind::LeftOuter => shape.pad_right(self.chunk.gather(&rows_where(false))),
            JoinKind::Semi => self.chunk.gather(&rows_where(true)),
            JoinKind::AntiSemi => {
                let mut rows = rows_where(false);
                if shape.null_aware_keys > 0 {
                    let unknown = self.unmatched(shape, table, ctx).unknown(&rows)?;
                    let mut verdict = unknown.iter();
                    rows.retain(|_| !verdict.next().copied().unwrap_or(false));
                }
                self.chunk.gather(&rows)
            }
            JoinKind::Mark => self.marked(shape, table, &rows_where(false), ctx)?,
        };
        Ok((chunk.rows() > 0).then_some(chunk))
    }

    fn unmatched<'a>(&'a self, shape: &'a JoinShape, table: &'a BuildTable, ctx: &'a EvalCtx) -> Unmatched<'a> {
        Unmatched { shape, table, probe: &self.chunk, keys: &self.key_columns, ctx }
    }

    /// All rows with their mark.
    fn marked(&self, shape: &JoinShape, table: &BuildTable, unmatched: &[u32], ctx: &EvalCtx) -> Result<Chunk> {
        let rows = self.chunk.rows();
        let unknown =
            if shape.null_aware_keys > 0 { self.unmatched(shape, table, ctx).unknown(unmatched)? } else { vec![false; unmatched.len()] };
        let mut is_unknown = vec![false; rows];
        for (row, unknown) in unmatched.iter().zip(unknown) {
            is_unknown[*row as usize] = unknown;
        }
        let mut mark = Column::for_type(&FieldType::bigint(), rows);
        for verdict in self.matched.iter().zip(&is_unknown) {
            match verdict {
                (true, _) => mark.push_i64(1),
                (false, true) => mark.push_null(),
                (false, false) => mark.push_i64(0),
            }
        }
        let mut columns = self.chunk.columns().to_vec();
        columns.push(mark);
        Ok(chunk_of(columns, rows))
    }
}
