//! Union all: one child after the other.

use async_trait::async_trait;
use types::Chunk;

use crate::operator::{BoxOperator, Operator};
use crate::{ExecCtx, Result};

/// Hands up the rows of its children in turn.
pub(crate) struct UnionAll {
    /// The children that are left, the next one last.
    children: Vec<BoxOperator>,
}

impl UnionAll {
    pub(crate) fn new(mut children: Vec<BoxOperator>) -> Self {
        children.reverse();
        Self { children }
    }
}

#[async_trait]
impl Operator for UnionAll {
    async fn next(&mut self, ctx: &ExecCtx) -> Result<Option<Chunk>> {
        while let Some(child) = self.children.last_mut() {
            match child.next(ctx).await? {
                Some(chunk) => return Ok(Some(chunk)),
                // A finished child gives back what it holds at once.
                None => drop(self.children.pop()),
            }
        }
        Ok(None)
    }
}
