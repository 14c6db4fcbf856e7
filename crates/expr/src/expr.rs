//! The expression tree: what the planner builds, rewrites and prints, and the executor evaluates.
//!
//! ```text
//! Expr ── Column(index into the input chunk)
//!      ├─ Constant(value)
//!      ├─ Param(index into EvalCtx.params)
//!      └─ Call(func, args, type)      every cast MySQL does implicitly is a Call of its own
//! ```
//!
//! Invariants:
//! - A tree made by [`build_op`](crate::build_op), [`build_call`](crate::build_call) and
//!   [`build_cast`](crate::build_cast) is fully typed: implementations never look at their operands' declared types to
//!   decide *how* to compute, only at the operation's class ([`Func::Op`]) and at `ty` for the shape of the result.
//! - Equality and hashing ignore column names and coercibility: they are about the value computed.
//! - Rewriting (`remap_columns`, `transform`) never changes types.

use std::sync::Arc;

use types::{Collation, Datum, EvalType, FieldType};

use crate::collation::Coercibility;
use crate::functions::Builtin;
use crate::functions::time::interval::IntervalUnit;
use crate::op::Op;
use crate::ops::in_list::InSet;

/// A typed scalar expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A column of the input chunk.
    Column {
        /// Its position in the chunk.
        index: usize,
        /// Its type.
        ty: FieldType,
        /// Its name for EXPLAIN and messages; takes no part in equality.
        name: Option<Arc<str>>,
    },
    /// A value known when the plan was made.
    Constant {
        /// The value, already of type `ty`.
        value: Datum,
        /// Its type.
        ty: FieldType,
    },
    /// A value known when the plan is executed: `EvalCtx::params[index]`, already of type `ty`.
    Param {
        /// Position in `EvalCtx::params`.
        index: usize,
        /// Its type.
        ty: FieldType,
        /// How strongly it insists on its collation: as a literal, or as the column that a subquery or an outer row gives.
        coercibility: Coercibility,
    },
    /// An operator, function or cast.
    Call(Box<Call>),
}

/// The application of a function to operands.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is computed.
    pub func: Func,
    /// The operands, cast to what `func` expects.
    pub args: Vec<Expr>,
    /// The type of the result.
    pub ty: FieldType,
    /// The collation that string operands are compared with (the result's collation is in `ty`).
    pub collation: Collation,
    /// How strongly the result insists on its collation.
    pub coercibility: Coercibility,
    /// What the function prepared when it was built.
    pub data: CallData,
}

/// A handle to a function: cheap to copy and to compare.
#[derive(Clone, Copy, Debug)]
pub enum Func {
    /// An operator computed in the domain of the given class (for comparisons: the class of the operands).
    Op(Op, EvalType),
    /// Conversion to the call's type; `explicit` if the statement says CAST or CONVERT, which changes warnings and truncation.
    Cast {
        /// Written by the user.
        explicit: bool,
    },
    /// A built-in function of the registry.
    Builtin(&'static Builtin),
}

impl PartialEq for Func {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Func::Op(a, x), Func::Op(b, y)) => a == b && x == y,
            (Func::Cast { .. }, Func::Cast { .. }) => true,
            (Func::Builtin(a), Func::Builtin(b)) => a.name == b.name,
            _ => false,
        }
    }
}

impl Eq for Func {}

impl Func {
    /// The operator, if it is one.
    pub fn op(&self) -> Option<Op> {
        match self {
            Func::Op(op, _) => Some(*op),
            _ => None,
        }
    }

    /// The name in EXPLAIN and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Func::Op(op, _) => op.symbol(),
            Func::Cast { .. } => "cast",
            Func::Builtin(b) => b.name,
        }
    }
}

/// What a function worked out from constant operands while it was built.
#[derive(Clone, Debug, Default)]
pub enum CallData {
    /// Nothing.
    #[default]
    None,
    /// The unit of DATE_ADD, EXTRACT, TIMESTAMPDIFF ….
    Unit(IntervalUnit),
    /// The constants of a long IN list.
    InSet(Arc<InSet>),
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        let unit = match (&self.data, &other.data) {
            (CallData::Unit(a), CallData::Unit(b)) => a == b,
            (CallData::Unit(_), _) | (_, CallData::Unit(_)) => false,
            _ => true,
        };
        unit && self.func == other.func && self.collation == other.collation && self.args == other.args && self.ty == other.ty
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Expr::Column { index: a, .. }, Expr::Column { index: b, .. }) => a == b,
            (Expr::Constant { value: a, ty: x }, Expr::Constant { value: b, ty: y }) => {
                a == b && x.tp == y.tp && x.collation == y.collation
            }
            (Expr::Param { index: a, ty: x, .. }, Expr::Param { index: b, ty: y, .. }) => a == b && x.tp == y.tp,
            (Expr::Call(a), Expr::Call(b)) => a == b,
            _ => false,
        }
    }
}

impl Expr {
    /// A column without a name.
    pub fn column(index: usize, ty: FieldType) -> Expr {
        Expr::Column { index, ty, name: None }
    }

    /// A column with the name EXPLAIN prints.
    pub fn named_column(index: usize, ty: FieldType, name: impl Into<Arc<str>>) -> Expr {
        Expr::Column { index, ty, name: Some(name.into()) }
    }

    /// A constant of the given type.
    pub fn constant(value: Datum, ty: FieldType) -> Expr {
        Expr::Constant { value, ty }
    }

    /// The type of the value.
    pub fn field_type(&self) -> &FieldType {
        match self {
            Expr::Column { ty, .. } | Expr::Constant { ty, .. } | Expr::Param { ty, .. } => ty,
            Expr::Call(call) => &call.ty,
        }
    }

    /// Changes the declared type in place. For nullability and names' sake only: the value must already fit it.
    pub fn field_type_mut(&mut self) -> &mut FieldType {
        match self {
            Expr::Column { ty, .. } | Expr::Constant { ty, .. } | Expr::Param { ty, .. } => ty,
            Expr::Call(call) => &mut call.ty,
        }
    }

    /// The class the value is computed in.
    pub fn eval_type(&self) -> EvalType {
        self.field_type().tp.eval_type()
    }

    /// The call, if it is one.
    pub fn as_call(&self) -> Option<&Call> {
        match self {
            Expr::Call(call) => Some(call),
            _ => None,
        }
    }

    /// Operator and operands, if it is an operator.
    pub fn as_op(&self) -> Option<(Op, &[Expr])> {
        match self {
            Expr::Call(call) => call.func.op().map(|op| (op, call.args.as_slice())),
            _ => None,
        }
    }

    /// The column's index, if it is a bare column.
    pub fn as_column(&self) -> Option<usize> {
        match self {
            Expr::Column { index, .. } => Some(*index),
            _ => None,
        }
    }

    /// The value, if it is a literal constant (not a parameter).
    pub fn as_constant(&self) -> Option<&Datum> {
        match self {
            Expr::Constant { value, .. } => Some(value),
            _ => None,
        }
    }

    /// It is the constant NULL.
    pub fn is_null_constant(&self) -> bool {
        matches!(self, Expr::Constant { value: Datum::Null, .. })
    }

    /// It refers to no column, so that one execution sees one value (if it is also deterministic). Parameters count as constant.
    pub fn is_constant(&self) -> bool {
        match self {
            Expr::Column { .. } => false,
            Expr::Constant { .. } | Expr::Param { .. } => true,
            Expr::Call(call) => call.is_deterministic() && call.args.iter().all(Expr::is_constant),
        }
    }

    /// It is constant and needs no parameter either: its value is known when the plan is made, unless it depends on the
    /// statement's time or the session ([`is_foldable`](Self::is_foldable)).
    pub fn has_params(&self) -> bool {
        match self {
            Expr::Param { .. } => true,
            Expr::Column { .. } | Expr::Constant { .. } => false,
            Expr::Call(call) => call.args.iter().any(Expr::has_params),
        }
    }

    /// Equal inputs give equal values: no RAND(), UUID(), SLEEP(), user variables.
    pub fn is_deterministic(&self) -> bool {
        match self {
            Expr::Call(call) => call.is_deterministic() && call.args.iter().all(Expr::is_deterministic),
            _ => true,
        }
    }

    /// The value may be computed once when the plan is made and kept for all executions of the plan.
    pub fn is_foldable(&self) -> bool {
        match self {
            Expr::Constant { .. } => true,
            Expr::Column { .. } | Expr::Param { .. } => false,
            Expr::Call(call) => call.is_plan_time_pure() && call.args.iter().all(Expr::is_foldable),
        }
    }

    /// Adds the indexes of all columns used to `out`, each once.
    pub fn columns(&self, out: &mut Vec<usize>) {
        self.walk(&mut |e| {
            if let Expr::Column { index, .. } = e
                && !out.contains(index)
            {
                out.push(*index);
            }
        });
    }

    /// The indexes of all columns used, each once.
    pub fn columns_used(&self) -> Vec<usize> {
        let mut out = Vec::new();
        self.columns(&mut out);
        out
    }

    /// Replaces every column index by `f(index)`.
    pub fn remap_columns(&mut self, f: &dyn Fn(usize) -> usize) {
        match self {
            Expr::Column { index, .. } => *index = f(*index),
            Expr::Call(call) => call.args.iter_mut().for_each(|a| a.remap_columns(f)),
            _ => {}
        }
    }

    /// Visits every node, parents first.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        f(self);
        if let Expr::Call(call) = self {
            for arg in &call.args {
                arg.walk(f);
            }
        }
    }

    /// Replaces nodes from the leaves up: `f` gets each node after its operands were transformed. Types must not change.
    pub fn transform(self, f: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        match self {
            Expr::Call(mut call) => {
                call.args = std::mem::take(&mut call.args).into_iter().map(|a| a.transform(f)).collect();
                f(Expr::Call(call))
            }
            leaf => f(leaf),
        }
    }

    /// Splits a tree of ANDs into its conditions.
    pub fn split_conjunction(self, out: &mut Vec<Expr>) {
        match self {
            Expr::Call(mut call) if call.func.op() == Some(Op::And) => {
                for arg in call.args.drain(..) {
                    arg.split_conjunction(out);
                }
            }
            other => out.push(other),
        }
    }
}

impl Call {
    /// The function itself gives equal values for equal operands within one statement.
    pub fn is_deterministic(&self) -> bool {
        match self.func {
            Func::Builtin(b) => !b.is_volatile(),
            _ => true,
        }
    }

    /// The function's value does not even depend on the statement's time or on the session's state.
    pub fn is_plan_time_pure(&self) -> bool {
        match self.func {
            Func::Builtin(b) => b.is_pure(),
            // A cast to or from a temporal type may depend on the time zone or today's date.
            _ => true,
        }
    }
}
