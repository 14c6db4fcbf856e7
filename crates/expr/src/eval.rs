//! Evaluation of expressions for one row.
//!
//! `eval_ref` is the workhorse: columns, constants and parameters are borrowed, only calls make new values, in a slot the
//! caller owns. Whole columns are evaluated by [`vector`](crate::vector).

use std::sync::OnceLock;

use smallvec::SmallVec;
use types::{Chunk, Datum, DatumRef, RowRef};

use crate::context::EvalCtx;
use crate::convert;
use crate::error::Result;
use crate::expr::{Call, Expr, Func};
use crate::functions::{Args, Builtin};
use crate::ops;

impl Expr {
    /// The expression's value for a row.
    ///
    /// # Errors
    /// What the functions in it raise: overflow, bad values in strict mode, missing parameters.
    pub fn eval(&self, ctx: &EvalCtx, row: RowRef<'_>) -> Result<Datum> {
        match self {
            Expr::Column { index, .. } => Ok(row.get(*index).to_owned()),
            Expr::Constant { value, .. } => Ok(value.clone()),
            Expr::Param { index, .. } => Ok(ctx.param(*index)?.clone()),
            Expr::Call(call) => call.eval(ctx, row),
        }
    }

    /// The value of an expression without columns.
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    ///
    /// # Panics
    /// If the expression refers to a column.
    pub fn eval_const(&self, ctx: &EvalCtx) -> Result<Datum> {
        self.eval(ctx, no_row())
    }

    /// The value, borrowed from the row, the tree or the context where it stands there, and from `slot` otherwise.
    pub(crate) fn eval_ref<'a>(&'a self, ctx: &'a EvalCtx, row: RowRef<'a>, slot: &'a mut Datum) -> Result<DatumRef<'a>> {
        match self {
            Expr::Column { index, .. } => Ok(row.get(*index)),
            Expr::Constant { value, .. } => Ok(value.as_ref()),
            Expr::Param { index, .. } => Ok(ctx.param(*index)?.as_ref()),
            Expr::Call(call) => {
                *slot = call.eval(ctx, row)?;
                Ok(slot.as_ref())
            }
        }
    }

    /// Whether the condition is true for the row (NULL is not).
    ///
    /// # Errors
    /// As [`eval`](Self::eval).
    pub fn is_true(&self, ctx: &EvalCtx, row: RowRef<'_>) -> Result<bool> {
        let mut slot = Datum::Null;
        Ok(ops::truth(self.eval_ref(ctx, row, &mut slot)?) == Some(true))
    }
}

impl Call {
    /// The call's value for a row.
    pub(crate) fn eval(&self, ctx: &EvalCtx, row: RowRef<'_>) -> Result<Datum> {
        match self.func {
            Func::Op(op, class) => ops::eval_row(op, class, self, ctx, row),
            Func::Cast { explicit } => {
                let mut slot = Datum::Null;
                let value = self.args[0].eval_ref(ctx, row, &mut slot)?;
                convert::cast_operand(value, &self.args[0], &self.ty, explicit, ctx)
            }
            Func::Builtin(builtin) => {
                let mut slots: SmallVec<[Datum; 4]> = SmallVec::new();
                slots.resize(self.args.len(), Datum::Null);
                let mut values: SmallVec<[DatumRef<'_>; 4]> = SmallVec::with_capacity(self.args.len());
                for (arg, slot) in self.args.iter().zip(slots.iter_mut()) {
                    values.push(arg.eval_ref(ctx, row, slot)?);
                }
                self.eval_builtin(builtin, ctx, &values)
            }
        }
    }

    /// A built-in function's value, given its arguments' values.
    pub(crate) fn eval_builtin(&self, builtin: &Builtin, ctx: &EvalCtx, values: &[DatumRef<'_>]) -> Result<Datum> {
        if !builtin.passes_null() && values.iter().any(|v| matches!(v, DatumRef::Null)) {
            return Ok(Datum::Null);
        }
        (builtin.eval)(&Args { call: self, ctx, values })
    }
}

/// A row without columns, for constants.
fn no_row() -> RowRef<'static> {
    static EMPTY: OnceLock<Chunk> = OnceLock::new();
    EMPTY.get_or_init(|| Chunk::without_columns(1)).row(0)
}
