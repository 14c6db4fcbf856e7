//! Expressions: building, evaluating row by row and by column, built-in functions and aggregates, as MySQL 8.0 defines them.
//!
//! The planner resolves names and calls [`build_op`], [`build_call`] and [`build_cast`]; the executor and the coprocessor
//! evaluate the [`Expr`] that comes out, over chunks ([`Expr::eval_chunk`], [`Expr::filter`]) or rows ([`Expr::eval`]),
//! with an [`EvalCtx`] made for the statement.
//!
//! ```text
//! syntax ──planner──► build_op / build_call / build_cast ──► Expr ──► eval_chunk, filter, eval
//!                       types, implicit casts, collations              EvalCtx: parameters, time, session, warnings
//! ```
//!
//! | module | |
//! |---|---|
//! | [`expr`], [`op`], `display` | the tree and its EXPLAIN form |
//! | `build` | type inference, implicit casts, constant folding |
//! | [`collation`](mod@collation) | whose collation a string operation uses |
//! | `eval`, `ops`, `convert` | one row; what operators and casts mean |
//! | [`vector`] | whole columns |
//! | [`functions`] | the registry of built-in functions |
//! | [`aggregate`] | aggregate functions |
//! | [`window`] | window functions |
//! | [`context`] | what evaluation knows of statement and session |
//!
//! Invariants:
//! - Evaluation never blocks on I/O; SLEEP goes through [`context::StatementHost`].
//! - Vectorised evaluation gives the values and the errors of row-wise evaluation.
//! - A value has the physical type that [`types::Column::for_type`] picks for its expression's type.

pub mod aggregate;
mod build;
pub mod collation;
pub mod context;
mod convert;
mod display;
pub mod error;
mod eval;
pub mod expr;
pub mod functions;
pub mod op;
mod ops;
pub mod result_type;
mod sql_mode;
pub mod vector;
pub mod window;

pub use aggregate::{AggDesc, AggKind, AggMode, AggState, SortKey, new_state};
pub use build::build_op;
pub use build::cast::{build_assignment, build_cast};
pub use build::fold::fold_constants;
pub use collation::Coercibility;
pub use context::{
    BuildCtx, ConnInfo, EvalCtx, LastInsertId, LockWait, RandStates, SqlMode, StatementHost, UserVars, Warning, WarningLevel, Warnings,
};
pub use error::{Error, Result};
pub use expr::{Call, CallData, Expr, Func};
pub use functions::json::value::{JsonResponse, build_json_value};
pub use functions::string::aes::BlockMode;
pub use functions::time::interval::IntervalUnit;
pub use functions::{build_call, call_waits, is_builtin};
pub use op::Op;
pub use ops::in_list::InSet;
pub use vector::Vector;
