//! Evaluation of expressions for whole chunks.
//!
//! A [`Vector`] is a column of values that may be borrowed from the input or be one constant for all rows. Operators with
//! a kernel compute on slices of native values; everything else loops over rows, with its operands still computed as
//! vectors. The results are those of row-wise evaluation: where an operand is evaluated for rows that row-wise evaluation
//! never reaches, and that warns or fails, it is undone, and rows are evaluated one by one (`Expr::speculate`).
//!
//! | file | kernels |
//! |---|---|
//! | `arith` | `+ - * / DIV %`, negation, bit operators |
//! | `compare` | comparisons, IS NULL, IN, LIKE |
//! | `logic` | AND, OR, XOR, NOT, IS TRUE … |
//! | `choice` | IF, CASE, COALESCE |
//! | `filter` | narrowing a selection without building columns |
//!
//! A NULL's place in a native slice holds an arbitrary value; kernels compute with it and must not let it fail.

mod arith;
mod choice;
mod compare;
mod filter;
mod logic;

use types::{Bitmap, Chunk, Column, ColumnData, Datum, DatumRef, Decimal, Duration, FieldType, Time};

use crate::context::EvalCtx;
use crate::convert;
use crate::error::Result;
use crate::expr::{Call, Expr, Func};
use crate::functions::Builtin;
use crate::op::Op;

/// Evaluating a column costs less per row than evaluating rows, so all rows are evaluated if at least one in this many is needed.
pub(crate) const SPECULATION_SHARE: usize = 4;

/// The values of an expression for the rows of a chunk.
#[derive(Debug)]
pub enum Vector<'a> {
    /// The same value for all rows.
    Const(Datum),
    /// The same value for all rows, standing elsewhere.
    ConstRef(&'a Datum),
    /// A column of the input.
    Borrowed(&'a Column),
    /// A computed column.
    Owned(Column),
}

impl<'a> Vector<'a> {
    /// The value of a row.
    #[inline]
    pub fn get(&self, row: usize) -> DatumRef<'_> {
        match self {
            Vector::Const(value) => value.as_ref(),
            Vector::ConstRef(value) => value.as_ref(),
            Vector::Borrowed(column) => column.datum_ref(row),
            Vector::Owned(column) => column.datum_ref(row),
        }
    }

    /// The value, if it is the same for all rows.
    pub fn constant(&self) -> Option<&Datum> {
        match self {
            Vector::Const(value) => Some(value),
            Vector::ConstRef(value) => Some(value),
            _ => None,
        }
    }

    /// The column, if it is one.
    pub fn column(&self) -> Option<&Column> {
        match self {
            Vector::Borrowed(column) => Some(column),
            Vector::Owned(column) => Some(column),
            _ => None,
        }
    }

    /// Whether the row's value is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Vector::Borrowed(column) => column.is_null(row),
            Vector::Owned(column) => column.is_null(row),
            _ => self.constant().is_some_and(Datum::is_null),
        }
    }

    /// Whether any of the rows may be NULL.
    #[inline]
    pub fn has_nulls(&self) -> bool {
        match self.column() {
            Some(column) => column.nulls().any(),
            None => self.constant().is_some_and(Datum::is_null),
        }
    }

    /// A column of `rows` values of the type.
    ///
    /// # Errors
    /// A constant that does not fit the column's physical type: a defect in the expression's types.
    pub fn into_column(self, ty: &FieldType, rows: usize) -> Result<Column> {
        let constant = match self {
            Vector::Owned(column) => return Ok(column),
            Vector::Borrowed(column) => return Ok(column.clone()),
            Vector::Const(value) => value,
            Vector::ConstRef(value) => value.clone(),
        };
        let mut column = Column::for_type(ty, rows);
        for _ in 0..rows {
            column.push(&constant);
        }
        Ok(column)
    }

    /// The native values, if the vector holds that type.
    #[inline]
    pub(crate) fn values<T: Native>(&self) -> Option<Values<'_, T>> {
        match self.column() {
            Some(column) => T::slice(column.data()).map(Values::Many),
            None => T::of_datum(self.constant()?).map(Values::One),
        }
    }
}

/// A slice of native values, or one for all rows.
#[derive(Clone, Copy)]
pub(crate) enum Values<'a, T> {
    One(T),
    Many(&'a [T]),
}

impl<T: Copy> Values<'_, T> {
    #[inline]
    pub(crate) fn get(&self, row: usize) -> T {
        match self {
            Values::One(value) => *value,
            Values::Many(values) => values[row],
        }
    }
}

/// A type that columns hold as slices.
pub(crate) trait Native: Copy + Send + Sync + 'static {
    /// The slice, if the column is of this type.
    fn slice(data: &ColumnData) -> Option<&[Self]>;
    /// The value, if it is of this type. NULL is any value.
    fn of_datum(value: &Datum) -> Option<Self>;
    /// As a value of the expression layer.
    fn to_datum(self) -> Datum;
    /// A column of these values.
    fn column(values: Vec<Self>, nulls: Bitmap) -> Column;
}

macro_rules! native {
    ($ty:ty, $variant:ident, $zero:expr) => {
        impl Native for $ty {
            #[inline]
            fn slice(data: &ColumnData) -> Option<&[Self]> {
                match data {
                    ColumnData::$variant(values) => Some(values),
                    _ => None,
                }
            }

            #[inline]
            fn of_datum(value: &Datum) -> Option<Self> {
                match value {
                    Datum::$variant(value) => Some(*value),
                    Datum::Null => Some($zero),
                    _ => None,
                }
            }

            #[inline]
            fn to_datum(self) -> Datum {
                Datum::$variant(self)
            }

            fn column(values: Vec<Self>, nulls: Bitmap) -> Column {
                Column::from_parts(ColumnData::$variant(values), nulls)
            }
        }
    };
}

native!(i64, Int, 0);
native!(u64, UInt, 0);
native!(f32, Float, 0.0);
native!(f64, Double, 0.0);
native!(Decimal, Decimal, Decimal::ZERO);
native!(Time, Time, Time::zero(types::TimeKind::DateTime, 0));
native!(Duration, Duration, Duration::ZERO);

/// Applies `f` to pairs of values; the three shapes get loops of their own.
#[inline]
pub(crate) fn zip<A: Copy, B: Copy, R>(a: Values<'_, A>, b: Values<'_, B>, rows: usize, mut f: impl FnMut(A, B) -> R) -> Vec<R> {
    match (a, b) {
        (Values::Many(a), Values::Many(b)) => a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect(),
        (Values::Many(a), Values::One(b)) => a.iter().map(|a| f(*a, b)).collect(),
        (Values::One(a), Values::Many(b)) => b.iter().map(|b| f(a, *b)).collect(),
        (Values::One(a), Values::One(b)) => (0..rows).map(|_| f(a, b)).collect(),
    }
}

/// NULL where either operand is.
pub(crate) fn merged_nulls(a: &Vector<'_>, b: &Vector<'_>, rows: usize) -> Bitmap {
    match (a.has_nulls(), b.has_nulls()) {
        (false, false) => Bitmap::zeros(rows),
        (true, false) => nulls_of(a, rows),
        (false, true) => nulls_of(b, rows),
        (true, true) => {
            let mut nulls = nulls_of(a, rows);
            for row in 0..rows {
                if b.is_null(row) {
                    nulls.set(row, true);
                }
            }
            nulls
        }
    }
}

/// The NULLs of a vector.
pub(crate) fn nulls_of(a: &Vector<'_>, rows: usize) -> Bitmap {
    match a.column() {
        Some(column) => column.nulls().clone(),
        None if a.has_nulls() => Bitmap::ones(rows),
        None => Bitmap::zeros(rows),
    }
}

impl Expr {
    /// The values for all rows of a chunk, as a column of the expression's type.
    ///
    /// # Errors
    /// As [`eval`](Self::eval), for the first row that fails.
    pub fn eval_chunk(&self, ctx: &EvalCtx, chunk: &Chunk) -> Result<Column> {
        self.eval_vector(ctx, chunk)?.into_column(self.field_type(), chunk.rows())
    }

    /// The values for all rows of a chunk, borrowed where they already stand somewhere.
    ///
    /// # Errors
    /// As [`eval`](Self::eval), for the first row that fails.
    pub fn eval_vector<'a>(&'a self, ctx: &'a EvalCtx, chunk: &'a Chunk) -> Result<Vector<'a>> {
        match self {
            Expr::Column { index, .. } => Ok(Vector::Borrowed(chunk.column(*index))),
            Expr::Constant { value, .. } => Ok(Vector::ConstRef(value)),
            Expr::Param { index, .. } => Ok(Vector::ConstRef(ctx.param(*index)?)),
            Expr::Call(call) => {
                if chunk.rows() == 0 {
                    return Ok(Vector::Owned(Column::for_type(&call.ty, 0)));
                }
                if self.is_constant() {
                    return Ok(Vector::Const(self.eval_const(ctx)?));
                }
                call.eval_vector(ctx, chunk)
            }
        }
    }

    /// Evaluates the expression for all rows although some rows may not need it, and hands the values to `use_it`. If that warned or failed,
    /// nothing happened, and the answer is `None`: rows must be evaluated one by one.
    pub(crate) fn speculate<R>(&self, ctx: &EvalCtx, chunk: &Chunk, use_it: impl FnOnce(Vector<'_>) -> R) -> Option<R> {
        if self.is_silent() {
            return self.eval_vector(ctx, chunk).ok().map(use_it);
        }
        if !self.is_deterministic() {
            return None;
        }
        let scratch = ctx.scratch();
        let values = self.eval_vector(&scratch, chunk).ok()?;
        (scratch.warnings.count() == 0).then(|| use_it(values))
    }

    /// Evaluation never warns, never fails, and has no effect: it may be evaluated for rows that do not need it.
    pub(crate) fn is_silent(&self) -> bool {
        match self {
            Expr::Column { .. } | Expr::Constant { .. } => true,
            Expr::Param { .. } => true,
            Expr::Call(call) => {
                let quiet = match call.func {
                    Func::Op(op, _) => {
                        op.is_comparison()
                            || matches!(op, Op::And | Op::Or | Op::Xor | Op::Not | Op::In | Op::Like { .. })
                            || matches!(
                                op,
                                Op::IsNull | Op::IsTrue | Op::IsFalse | Op::IsUnknown | Op::If | Op::IfNull | Op::Coalesce | Op::Case
                            )
                    }
                    _ => false,
                };
                quiet && call.args.iter().all(Expr::is_silent)
            }
        }
    }
}

impl Call {
    fn eval_vector<'a>(&'a self, ctx: &'a EvalCtx, chunk: &'a Chunk) -> Result<Vector<'a>> {
        let rows = chunk.rows();
        match self.func {
            Func::Op(Op::And | Op::Or, _) => logic::and_or(self, ctx, chunk),
            Func::Op(Op::If | Op::Case | Op::IfNull | Op::Coalesce, _) => match choice::choose(self, ctx, chunk) {
                Some(column) => Ok(Vector::Owned(column)),
                None => self.by_rows(ctx, chunk),
            },
            Func::Op(Op::In, _) => compare::in_list(self, ctx, chunk),
            Func::Op(op, class) => {
                let a = self.args[0].eval_vector(ctx, chunk)?;
                let b = match self.args.get(1) {
                    Some(e) => e.eval_vector(ctx, chunk)?,
                    None => Vector::Const(Datum::Null),
                };
                let kernel = match op {
                    Op::Not | Op::Xor | Op::IsTrue | Op::IsFalse | Op::IsUnknown => logic::eager(op, &a, &b, rows),
                    _ if op.is_comparison() => compare::compare(op, self, &a, &b, rows),
                    Op::IsNull => Some(compare::is_null(&a, rows)),
                    Op::Like { escape } => compare::like(self, escape, &a, &b, rows),
                    _ => arith::eval(op, class, self, ctx, &a, &b, rows)?,
                };
                match kernel {
                    Some(column) => Ok(Vector::Owned(column)),
                    None => self.loop_rows(rows, |row| crate::ops::eager(op, class, self, ctx, a.get(row), b.get(row))),
                }
            }
            Func::Cast { explicit } => {
                let a = self.args[0].eval_vector(ctx, chunk)?;
                match arith::cast(&a, &self.ty, explicit, rows) {
                    Some(column) => Ok(Vector::Owned(column)),
                    None => self.loop_rows(rows, |row| convert::cast_operand(a.get(row), &self.args[0], &self.ty, explicit, ctx)),
                }
            }
            Func::Builtin(builtin) => self.builtin_vector(builtin, ctx, chunk),
        }
    }

    /// A built-in function: its arguments as vectors, the function row by row.
    fn builtin_vector<'a>(&'a self, builtin: &Builtin, ctx: &'a EvalCtx, chunk: &'a Chunk) -> Result<Vector<'a>> {
        // A volatile argument's effects must come in row order, interleaved with the function's own.
        if builtin.is_volatile() || !self.args.iter().all(Expr::is_deterministic) {
            return self.by_rows(ctx, chunk);
        }
        let args = self.args.iter().map(|a| a.eval_vector(ctx, chunk)).collect::<Result<Vec<_>>>()?;
        let mut values = Vec::with_capacity(args.len());
        let mut column = Column::for_type(&self.ty, chunk.rows());
        for row in 0..chunk.rows() {
            values.clear();
            values.extend(args.iter().map(|a| a.get(row)));
            column.push(&self.eval_builtin(builtin, ctx, &values)?);
        }
        Ok(Vector::Owned(column))
    }

    /// Row-wise evaluation of the whole call.
    fn by_rows<'a>(&self, ctx: &EvalCtx, chunk: &Chunk) -> Result<Vector<'a>> {
        self.loop_rows(chunk.rows(), |row| self.eval(ctx, chunk.row(row)))
    }

    fn loop_rows<'a>(&self, rows: usize, mut f: impl FnMut(usize) -> Result<Datum>) -> Result<Vector<'a>> {
        let mut column = Column::for_type(&self.ty, rows);
        for row in 0..rows {
            column.push(&f(row)?);
        }
        Ok(Vector::Owned(column))
    }
}
