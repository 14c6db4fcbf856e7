//! Keeping the rows for which all conditions are true.

use expr::{EvalCtx, Expr};
use types::Chunk;

use crate::Result;

/// The rows of `chunk` that satisfy all conditions. Without conditions, or when all rows pass, the chunk itself.
pub(crate) fn filtered(conditions: &[Expr], ctx: &EvalCtx, chunk: Chunk) -> Result<Chunk> {
    if conditions.is_empty() {
        return Ok(chunk);
    }
    let rows = chunk.rows();
    let mut selection = (0..rows as u32).collect::<Vec<_>>();
    for condition in conditions {
        condition.filter(ctx, &chunk, &mut selection)?;
        if selection.is_empty() {
            break;
        }
    }
    Ok(if selection.len() == rows { chunk } else { chunk.gather(&selection) })
}
