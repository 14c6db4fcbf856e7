//! The rows of one side of a join in files, by the hash of their key.
//!
//! Invariant: rows of both sides whose keys are equal are in files of the same number, if both sides were partitioned at the same depth.

use copr::group_table::hash_key;
use copr::sort_key::push_group_key;
use expr::EvalCtx;
use planner::physical::Side;
use types::{Chunk, FieldType};

use crate::Result;
use crate::join::shape::JoinShape;
use crate::spill::{SpillFile, SpillWriter};

/// Files of one side, as bits of the hash.
const PARTITION_BITS: u32 = 3;

/// Files being written.
pub(crate) struct Partitions {
    side: Side,
    key_types: Vec<FieldType>,
    /// How often the rows have been partitioned before; other bits of the hash decide each time.
    depth: u32,
    files: Vec<SpillWriter>,
}

impl Partitions {
    pub(crate) fn create(operator: &'static str, shape: &JoinShape, side: Side, depth: u32) -> Result<Self> {
        let key_types = (0..shape.keys.len()).map(|at| shape.key(at, side).field_type().clone()).collect();
        let files = (0..1 << PARTITION_BITS).map(|_| SpillWriter::create(operator, shape.types(side))).collect::<Result<_>>()?;
        Ok(Self { side, key_types, depth, files })
    }

    /// Adds the rows of a chunk.
    pub(crate) fn push(&mut self, chunk: &Chunk, shape: &JoinShape, ctx: &EvalCtx) -> Result<()> {
        let columns = shape.key_columns(self.side, chunk, ctx)?;
        let mut key = Vec::new();
        for row in 0..chunk.rows() {
            key.clear();
            push_group_key(&mut key, &columns, &self.key_types, row);
            // The upper bits choose the slots of hash tables.
            let file = (hash_key(&key).rotate_left(7) >> (self.depth * PARTITION_BITS)) & ((1 << PARTITION_BITS) - 1);
            self.files[file as usize].write(&[], chunk.columns(), row)?;
        }
        Ok(())
    }

    /// The files, all of them, those without rows too.
    pub(crate) fn finish(self) -> Result<Vec<SpillFile>> {
        self.files.into_iter().map(SpillWriter::finish).collect()
    }
}
