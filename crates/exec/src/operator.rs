//! The shape of all operators: pull one chunk at a time.
//!
//! Invariants
//! - `next` yields chunks with at least one row, and `None` at the end; after `None` it is not called again.
//! - Every `next` of an operator that may run long calls [`ExecCtx::checkpoint`], so that a statement can be stopped between any two chunks.
//! - Dropping an operator at any point releases what it holds: memory, temporary files, scanners.

use async_trait::async_trait;
use types::Chunk;

use crate::{ExecCtx, Result};

/// What a chunk may hold where rows are wide: operators that make rows longer give out chunks of fewer.
pub(crate) const CHUNK_BYTES: usize = 4 << 20;

/// A running operator.
///
/// The context comes with each call rather than being kept, because the inner side of an apply runs with other parameters for
/// each outer row.
#[async_trait]
pub trait Operator: Send {
    /// The next chunk.
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>>;
}

/// An operator of any kind.
pub type BoxOperator = Box<dyn Operator>;
