//! Which collation a string operation uses: MySQL's coercibility rules (manual, "Collation Coercibility in Expressions").
//!
//! Every operand has a collation and a *coercibility*, how weakly it insists on it. The strongest wins; equally strong
//! operands of different collations are an error, unless one side is binary. For operations that compare, a tie between
//! two different non-binary collations is an error too (1267); operations that only build strings fall back to the
//! character set's binary collation.

use types::{Collation, EvalType};

use crate::error::{Error, Result};
use crate::expr::{Expr, Func};

/// How weakly an expression insists on its collation: the smaller, the stronger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Coercibility {
    /// A COLLATE clause.
    Explicit = 0,
    /// The concatenation of strings of different collations.
    None = 1,
    /// A column.
    Implicit = 2,
    /// A system constant such as USER() or a user variable.
    SysConst = 3,
    /// A literal.
    Coercible = 4,
    /// A number or temporal value.
    Numeric = 5,
    /// NULL.
    Ignorable = 6,
}

impl Coercibility {
    fn name(self) -> &'static str {
        match self {
            Coercibility::Explicit => "EXPLICIT",
            Coercibility::None => "NONE",
            Coercibility::Implicit => "IMPLICIT",
            Coercibility::SysConst => "SYSCONST",
            Coercibility::Coercible => "COERCIBLE",
            Coercibility::Numeric => "NUMERIC",
            Coercibility::Ignorable => "IGNORABLE",
        }
    }
}

impl Expr {
    /// How weakly the expression insists on its collation.
    pub fn coercibility(&self) -> Coercibility {
        match self {
            Expr::Constant { value: types::Datum::Null, .. } => Coercibility::Ignorable,
            Expr::Call(call) => call.coercibility,
            _ if self.eval_type() != EvalType::String => Coercibility::Numeric,
            Expr::Column { .. } => Coercibility::Implicit,
            Expr::Constant { .. } => Coercibility::Coercible,
            Expr::Param { coercibility, .. } => *coercibility,
        }
    }
}

/// A collation with the strength it is held with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Derived {
    /// The collation.
    pub collation: Collation,
    /// How strongly.
    pub coercibility: Coercibility,
}

/// The collation and strength of one operand seen as a string. What is not a string is compared in the connection's collation.
fn operand(e: &Expr, connection: Collation) -> Derived {
    let coercibility = e.coercibility();
    let is_string = e.eval_type() == EvalType::String;
    // The text of a number takes part in a comparison with the connection's collation, and gives way to everything.
    let implicit_cast = matches!(e, Expr::Call(c) if matches!(c.func, Func::Cast { explicit: false }));
    let collation = if is_string && !implicit_cast { e.field_type().collation } else { connection };
    Derived { collation, coercibility }
}

fn merge(a: Derived, b: Derived) -> Option<Derived> {
    if a.collation == b.collation {
        return Some(if a.coercibility <= b.coercibility { a } else { b });
    }
    let same_charset = a.collation.charset() == b.collation.charset();
    if !same_charset {
        if a.collation == Collation::Binary {
            return Some(if a.coercibility <= b.coercibility { a } else { b });
        }
        if b.collation == Collation::Binary {
            return Some(if b.coercibility <= a.coercibility { b } else { a });
        }
    }
    if a.coercibility != b.coercibility {
        return Some(if a.coercibility < b.coercibility { a } else { b });
    }
    if a.coercibility == Coercibility::Explicit || !same_charset {
        return None;
    }
    if is_bin(a.collation) {
        return Some(a);
    }
    if is_bin(b.collation) {
        return Some(b);
    }
    Some(Derived { collation: bin_of(a.collation), coercibility: Coercibility::None })
}

/// The collation compares code points or bytes.
fn is_bin(c: Collation) -> bool {
    c == Collation::Binary || c.name().ends_with("_bin")
}

fn bin_of(c: Collation) -> Collation {
    if c == Collation::Binary { c } else { Collation::Utf8mb4Bin }
}

/// Aggregates the collations of `args`. With `comparing`, an undecided result is an error.
///
/// # Errors
/// [`Error::IllegalMixOf2`] or [`Error::IllegalMix`].
pub fn aggregate(operation: &str, args: &[&Expr], connection: Collation, comparing: bool) -> Result<Derived> {
    let mut merged: Option<Derived> = None;
    for arg in args {
        let next = operand(arg, connection);
        merged = Some(match merged {
            None => next,
            Some(sofar) => match merge(sofar, next) {
                Some(m) => m,
                None => return Err(illegal_mix(operation, args, connection)),
            },
        });
    }
    let merged = merged.unwrap_or(Derived { collation: connection, coercibility: Coercibility::Coercible });
    if comparing && merged.coercibility == Coercibility::None && args.iter().all(|a| a.coercibility() != Coercibility::None) {
        return Err(illegal_mix(operation, args, connection));
    }
    Ok(merged)
}

fn illegal_mix(operation: &str, args: &[&Expr], connection: Collation) -> Error {
    let operation = operation.to_owned();
    match args {
        [a, b] => {
            let (a, b) = (operand(a, connection), operand(b, connection));
            Error::IllegalMixOf2 {
                left_collation: a.collation.name(),
                left_coercibility: a.coercibility.name(),
                right_collation: b.collation.name(),
                right_coercibility: b.coercibility.name(),
                operation,
            }
        }
        _ => Error::IllegalMix { operation },
    }
}
