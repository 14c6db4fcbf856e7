//! The built side of a join: its rows, found by key.
//!
//! ```text
//!   key bytes ──▶ group ──▶ first row ──▶ next row ──▶ … ──▶ END        rows lie in one chunk, chains are two u32 arrays
//! ```
//!
//! Invariants
//! - Rows of one chain are in order of arrival.
//! - A row with a NULL key that is not `<=>` is in no chain; it is still a row (outer joins hand it up, `NOT IN` asks about it).

use copr::group_table::GroupTable;
use expr::EvalCtx;
use types::{Chunk, Column, FieldType};

use crate::Result;
use crate::join::shape::JoinShape;

/// The end of a chain.
pub(crate) const END: u32 = u32::MAX;

/// Rows of the build side.
pub(crate) struct BuildTable {
    pub(crate) rows: Chunk,
    groups: GroupTable,
    /// First and last row of each group.
    chains: Vec<(u32, u32)>,
    next: Vec<u32>,
    /// Rows that a probe row has matched; kept only where unmatched build rows are handed up.
    pub(crate) matched: Vec<bool>,
    /// Rows with a NULL among their null-aware keys.
    pub(crate) null_rows: Vec<u32>,
    /// Key columns of all rows, kept only for null-aware joins.
    pub(crate) key_columns: Vec<Column>,
    scratch: Vec<u32>,
}

impl BuildTable {
    pub(crate) fn new(shape: &JoinShape) -> Self {
        let types = (0..shape.keys.len()).map(|at| shape.key(at, shape.build).field_type().clone()).collect::<Vec<FieldType>>();
        let key_columns = if shape.null_aware_keys > 0 { types.iter().map(|ty| Column::for_type(ty, 0)).collect() } else { Vec::new() };
        Self {
            rows: Chunk::new(shape.build_types(), 0),
            groups: GroupTable::new(types),
            chains: Vec::new(),
            next: Vec::new(),
            matched: Vec::new(),
            null_rows: Vec::new(),
            key_columns,
            scratch: Vec::new(),
        }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.rows()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
            + self.groups.memory_bytes()
            + self.chains.capacity() * 8
            + self.next.capacity() * 4
            + self.key_columns.iter().map(Column::memory_bytes).sum::<usize>()
    }

    /// Adds the rows of a chunk.
    pub(crate) fn push(&mut self, chunk: &Chunk, shape: &JoinShape, ctx: &EvalCtx) -> Result<()> {
        let first = self.rows.rows() as u32;
        let columns = shape.key_columns(shape.build, chunk, ctx)?;
        let mut groups = std::mem::take(&mut self.scratch);
        groups.clear();
        if !shape.keys.is_empty() {
            self.groups.assign(&columns, chunk.rows(), &mut groups);
            self.chains.resize(self.groups.len(), (END, END));
        }
        self.next.resize(self.next.len() + chunk.rows(), END);
        for (row, group) in groups.iter().enumerate() {
            let at = first + row as u32;
            let is_null = |key: usize| columns[key].is_null(row) && !shape.keys[key].null_safe;
            if (0..shape.null_aware_keys).any(|key| columns[key].is_null(row)) {
                self.null_rows.push(at);
            }
            if (0..columns.len()).any(is_null) {
                continue;
            }
            let chain = &mut self.chains[*group as usize];
            match chain.1 {
                END => chain.0 = at,
                last => self.next[last as usize] = at,
            }
            chain.1 = at;
        }
        self.scratch = groups;
        for (kept, column) in self.key_columns.iter_mut().zip(&columns) {
            kept.extend_range(column, 0, column.len());
        }
        self.rows.append(chunk);
        Ok(())
    }

    /// The first row whose keys equal the probe row's; [`END`] when there is none. Without keys, the first row.
    pub(crate) fn first(&self, key: Option<&[u8]>, has_keys: bool) -> u32 {
        if !has_keys {
            return if self.len() == 0 { END } else { 0 };
        }
        key.and_then(|key| self.groups.find(key)).map_or(END, |group| self.chains[group as usize].0)
    }

    /// The row behind `row` in its chain.
    pub(crate) fn next(&self, row: u32, has_keys: bool) -> u32 {
        if has_keys {
            return self.next[row as usize];
        }
        let next = row + 1;
        if next as usize == self.len() { END } else { next }
    }
}
