//! The registry of built-in functions.
//!
//! A function is one row of a family's table: its name, how many arguments it takes, the class each argument is read as
//! ([`Want`]; implicit casts are inserted accordingly), how the result's type follows, and the function pointer that
//! computes one value. Functions whose type rules do not fit the table (IF, ROUND, DATE_ADD …) are [`Special`]: they
//! build their expression themselves, often out of operators.
//!
//! | family | what |
//! |---|---|
//! | `string` | strings, digests, encodings, regular expressions |
//! | `numeric` | arithmetic, rounding, trigonometry, RAND |
//! | `time` | calendar arithmetic, formatting, the clock |
//! | `json` | documents: reading, searching, changing |
//! | `info` | session, user variables, control, network addresses |
//!
//! Conventions for arguments that are syntax rather than values (the planner passes them as string constants):
//! `date_add(d, n, 'DAY')`, `date_sub`, `adddate`, `subdate` (with 2 arguments: days), `extract('YEAR', d)`,
//! `timestampadd('DAY', n, d)`, `timestampdiff('DAY', a, b)`, `trim(s[, remove[, 'BOTH'|'LEADING'|'TRAILING']])`,
//! `convert_using(s, 'utf8mb4')`, `collate(s, 'utf8mb4_bin')`, `char(n, …)`, `getvar('name')`, `setvar('name', v)`,
//! `get_format('DATE', 'USA')`, `weight_string(s)`. `POSITION(a IN b)` is `locate(a, b)`.
//!
//! Invariant: an implementation gets arguments of the class it asked for, and never NULL unless it is declared
//! [`Builtin::sees_null`].

mod args;
pub(crate) mod info;
pub(crate) mod json;
pub(crate) mod numeric;
mod registry;
pub(crate) mod string;
pub(crate) mod time;

use types::{Datum, FieldType};

pub use args::Args;
pub use registry::{build_call, call_waits, function_names, is_builtin, is_unsupported, unsupported_functions};

use crate::collation::Derived;
use crate::context::BuildCtx;
use crate::error::{Error, Result};
use crate::expr::{Call, CallData, Expr, Func};

/// The class an argument is read as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Want {
    /// As it is.
    Any,
    /// A string whose collation takes part in the aggregation of the call's collation.
    Str,
    /// A string of bytes whose collation does not matter.
    Raw,
    /// A number written in digits: as [`Raw`](Self::Raw), but a BIT counts as its number.
    Digits,
    /// BIGINT (signed or unsigned as the argument is).
    Int,
    /// DOUBLE.
    Real,
    /// DECIMAL.
    Dec,
    /// DATETIME(6).
    DateTime,
    /// TIME(6).
    Duration,
}

/// What may change a function's value besides its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purity {
    /// Nothing.
    Pure,
    /// The session or the statement's time: constant for one execution.
    Session,
    /// Every call may give another value or has an effect.
    Volatile,
}

/// What a result-type rule may look at.
pub struct Signature<'a> {
    /// The arguments, before casts.
    pub args: &'a [Expr],
    /// The aggregated collation of the `Str` arguments.
    pub derived: Derived,
    /// The build context.
    pub ctx: &'a BuildCtx<'a>,
}

impl Signature<'_> {
    /// A string type of the aggregated collation.
    pub fn string(&self, chars: i64) -> FieldType {
        crate::result_type::string(chars, self.derived.collation)
    }

    /// A string type of the connection's collation, for functions that print numbers or dates.
    pub fn connection_string(&self, chars: i64) -> FieldType {
        crate::result_type::string(chars, self.ctx.eval.collation_connection)
    }

    /// Characters of the `i`th argument's text; -1 if unbounded.
    pub fn chars(&self, i: usize) -> i64 {
        self.args.get(i).map_or(0, |a| crate::result_type::display_chars(a.field_type()))
    }

    /// The integer value of a constant argument.
    pub fn constant_int(&self, i: usize) -> Option<i64> {
        match self.args.get(i)?.as_constant()? {
            Datum::Int(v) => Some(*v),
            Datum::UInt(v) => i64::try_from(*v).ok(),
            _ => None,
        }
    }
}

/// Computes the type of a result.
pub type InferFn = fn(&Signature<'_>) -> FieldType;
/// Computes one value.
pub type EvalFn = fn(&Args<'_>) -> Result<Datum>;
/// Builds an expression for a function with type rules of its own.
pub type BuildFn = fn(Vec<Expr>, &BuildCtx<'_>) -> Result<Expr>;

/// The largest `max_args`: any number.
pub const ANY: u8 = u8::MAX;

/// A function of the registry.
#[derive(Debug)]
pub struct Builtin {
    /// Its SQL name, in lower case.
    pub name: &'static str,
    /// Fewest arguments.
    pub min_args: u8,
    /// Most arguments; [`ANY`] for no limit.
    pub max_args: u8,
    wants: &'static [Want],
    infer: InferFn,
    pub(crate) eval: EvalFn,
    sees_null: bool,
    never_null: bool,
    compares: bool,
    waits: bool,
    purity: Purity,
}

impl Builtin {
    /// A pure function that is NULL if an argument is NULL. `wants` names the class of each argument; the last one repeats.
    pub const fn new(name: &'static str, arity: (u8, u8), wants: &'static [Want], infer: InferFn, eval: EvalFn) -> Builtin {
        Builtin {
            name,
            min_args: arity.0,
            max_args: arity.1,
            wants,
            infer,
            eval,
            sees_null: false,
            never_null: false,
            compares: false,
            waits: false,
            purity: Purity::Pure,
        }
    }

    /// NULL arguments are passed to the implementation.
    pub const fn sees_null(mut self) -> Builtin {
        self.sees_null = true;
        self
    }

    /// The result is never NULL.
    pub const fn never_null(mut self) -> Builtin {
        self.never_null = true;
        self
    }

    /// The function compares its string arguments: an undecided collation is an error.
    pub const fn compares(mut self) -> Builtin {
        self.compares = true;
        self
    }

    /// An evaluation may take as long as the user likes.
    pub const fn waits(mut self) -> Builtin {
        self.waits = true;
        self
    }

    /// The value depends on the session or the statement's time.
    pub const fn of_session(mut self) -> Builtin {
        self.purity = Purity::Session;
        self
    }

    /// Each evaluation may give another value.
    pub const fn volatile(mut self) -> Builtin {
        self.purity = Purity::Volatile;
        self
    }

    /// Whether each evaluation may give another value.
    pub fn is_volatile(&self) -> bool {
        self.purity == Purity::Volatile
    }

    /// Whether the value depends on the arguments alone.
    pub fn is_pure(&self) -> bool {
        self.purity == Purity::Pure
    }

    /// Whether NULL arguments reach the implementation.
    pub fn passes_null(&self) -> bool {
        self.sees_null
    }

    fn want(&self, i: usize) -> Want {
        self.wants.get(i).or(self.wants.last()).copied().unwrap_or(Want::Any)
    }

    /// Checks the number of arguments.
    ///
    /// # Errors
    /// [`Error::WrongArity`].
    fn check_arity(name: &str, bounds: (u8, u8), given: usize) -> Result<()> {
        if given < usize::from(bounds.0) || (bounds.1 != ANY && given > usize::from(bounds.1)) {
            return Err(Error::WrongArity { name: name.to_ascii_uppercase() });
        }
        Ok(())
    }

    /// Types the call and casts its arguments.
    pub(crate) fn build(&'static self, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
        self.build_with(args, ctx, CallData::None)
    }

    /// As [`build`](Self::build), with data the implementation needs.
    pub(crate) fn build_with(&'static self, args: Vec<Expr>, ctx: &BuildCtx<'_>, data: CallData) -> Result<Expr> {
        Self::check_arity(self.name, (self.min_args, self.max_args), args.len())?;
        for arg in &args {
            crate::build::reject_row(arg)?;
        }
        let strings: Vec<&Expr> = args.iter().enumerate().filter(|(i, _)| self.want(*i) == Want::Str).map(|(_, a)| a).collect();
        let derived = crate::collation::aggregate(self.name, &strings, ctx.eval.collation_connection, self.compares)?;
        let takes_strings = !strings.is_empty();
        let mut ty = (self.infer)(&Signature { args: &args, derived, ctx });
        ty.not_null = self.never_null;
        let args = args
            .into_iter()
            .enumerate()
            .map(|(i, a)| crate::build::cast::to_want(a, self.want(i), derived.collation, ctx))
            .collect::<Result<Vec<_>>>()?;
        let is_string = ty.tp.eval_type() == types::EvalType::String;
        let coercibility = match (is_string, !takes_strings, self.purity) {
            (false, _, _) => crate::collation::Coercibility::Numeric,
            (true, true, Purity::Session) => crate::collation::Coercibility::SysConst,
            (true, true, _) => crate::collation::Coercibility::Coercible,
            (true, false, _) => derived.coercibility.min(crate::collation::Coercibility::Coercible),
        };
        Ok(Expr::Call(Box::new(Call { func: Func::Builtin(self), args, ty, collation: derived.collation, coercibility, data })))
    }
}

/// A function with type rules of its own.
pub struct Special {
    /// Its SQL name, in lower case.
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arity: (u8, u8),
    /// Builds the expression.
    pub build: BuildFn,
}
