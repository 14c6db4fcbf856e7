//! At most one row: what a scalar subquery may yield.

use async_trait::async_trait;
use types::Chunk;

use crate::operator::{BoxOperator, Operator};
use crate::{Error, ExecCtx, Result};

/// Hands up its child's only row; error 1242 at the second.
pub(crate) struct MaxOneRow {
    child: BoxOperator,
    seen: bool,
}

impl MaxOneRow {
    pub(crate) fn new(child: BoxOperator) -> Self {
        Self { child, seen: false }
    }
}

#[async_trait]
impl Operator for MaxOneRow {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        if self.seen {
            return Ok(None);
        }
        let Some(chunk) = self.child.next(ctx).await? else { return Ok(None) };
        self.seen = true;
        if chunk.rows() > 1 || self.child.next(ctx).await?.is_some() {
            return Err(Error::SubqueryRows);
        }
        Ok(Some(chunk))
    }
}
