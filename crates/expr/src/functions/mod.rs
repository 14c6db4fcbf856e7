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

pub(crate) mod info;
pub(crate) mod numeric;
pub(crate) mod string;
pub(crate) mod time;

use std::borrow::Cow;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use types::{Collation, Datum, DatumRef, Decimal, Duration, FieldType, Time};

use crate::collation::Derived;
use crate::context::{BuildCtx, EvalCtx};
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

/// The arguments of one evaluation.
pub struct Args<'a> {
    /// The call being evaluated.
    pub call: &'a Call,
    /// The statement's context.
    pub ctx: &'a EvalCtx,
    /// The arguments' values.
    pub values: &'a [DatumRef<'a>],
}

impl<'a> Args<'a> {
    /// Number of arguments.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// There is no argument.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether the argument is NULL or absent.
    pub fn is_null(&self, i: usize) -> bool {
        matches!(self.values.get(i), None | Some(DatumRef::Null))
    }

    /// The argument's value.
    pub fn datum(&self, i: usize) -> DatumRef<'a> {
        self.values.get(i).copied().unwrap_or(DatumRef::Null)
    }

    /// An integer argument; unsigned values above `i64::MAX` saturate.
    pub fn int(&self, i: usize) -> i64 {
        match self.datum(i) {
            DatumRef::Int(v) => v,
            DatumRef::UInt(v) => i64::try_from(v).unwrap_or(i64::MAX),
            _ => 0,
        }
    }

    /// An integer argument's 64 bits.
    pub fn bits(&self, i: usize) -> u64 {
        match self.datum(i) {
            DatumRef::Int(v) => v as u64,
            DatumRef::UInt(v) => v,
            _ => 0,
        }
    }

    /// The integer argument is an unsigned value.
    pub fn is_unsigned(&self, i: usize) -> bool {
        matches!(self.datum(i), DatumRef::UInt(_))
    }

    /// A DOUBLE argument.
    pub fn real(&self, i: usize) -> f64 {
        match self.datum(i) {
            DatumRef::Double(v) => v,
            DatumRef::Float(v) => f64::from(v),
            DatumRef::Int(v) => v as f64,
            DatumRef::UInt(v) => v as f64,
            _ => 0.0,
        }
    }

    /// A DECIMAL argument.
    pub fn decimal(&self, i: usize) -> Decimal {
        match self.datum(i) {
            DatumRef::Decimal(v) => *v,
            DatumRef::Int(v) => Decimal::from(v),
            DatumRef::UInt(v) => Decimal::from(v),
            _ => Decimal::default(),
        }
    }

    /// A string argument's bytes.
    pub fn bytes(&self, i: usize) -> &'a [u8] {
        match self.datum(i) {
            DatumRef::Bytes(v) => v,
            _ => b"",
        }
    }

    /// A string argument as text; invalid UTF-8 is replaced.
    pub fn text(&self, i: usize) -> Cow<'a, str> {
        String::from_utf8_lossy(self.bytes(i))
    }

    /// A temporal argument with a date.
    pub fn time(&self, i: usize) -> Option<Time> {
        match self.datum(i) {
            DatumRef::Time(v) => Some(v),
            _ => None,
        }
    }

    /// A TIME argument.
    pub fn duration(&self, i: usize) -> Option<Duration> {
        match self.datum(i) {
            DatumRef::Duration(v) => Some(v),
            _ => None,
        }
    }

    /// The strings are bytes, not characters.
    pub fn is_binary(&self) -> bool {
        self.call.collation == Collation::Binary
    }

    /// The collation strings are compared with.
    pub fn collation(&self) -> Collation {
        self.call.collation
    }

    /// Records a warning.
    pub fn warn(&self, code: u16, message: impl Into<String>) {
        self.ctx.warn(code, message);
    }

    /// NULL with warning 1301 if a result of `len` bytes may not be built.
    pub fn exceeds_packet(&self, len: u64) -> bool {
        let limit = self.ctx.max_allowed_packet;
        if len > limit {
            self.warn(1301, format!("Result of {}() was larger than max_allowed_packet ({limit}) - truncated", self.call.func.name()));
            return true;
        }
        false
    }
}

enum Entry {
    Table(&'static Builtin),
    Special(&'static Special),
}

fn registry() -> &'static FxHashMap<&'static str, Entry> {
    static REGISTRY: OnceLock<FxHashMap<&'static str, Entry>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut map = FxHashMap::default();
        let tables = [string::TABLES, numeric::TABLES, time::TABLES, info::TABLES];
        for builtin in tables.iter().flat_map(|t| t.iter()).flat_map(|t| t.iter()) {
            map.insert(builtin.name, Entry::Table(builtin));
        }
        let specials = [string::SPECIALS, numeric::SPECIALS, time::SPECIALS, info::SPECIALS];
        for special in specials.iter().flat_map(|t| t.iter()).flat_map(|t| t.iter()) {
            map.insert(special.name, Entry::Special(special));
        }
        for (alias, name) in ALIASES {
            let entry = match map.get(name) {
                Some(Entry::Table(b)) => Entry::Table(b),
                Some(Entry::Special(s)) => Entry::Special(s),
                None => continue,
            };
            map.insert(alias, entry);
        }
        map
    })
}

/// Second names.
const ALIASES: &[(&str, &str)] = &[
    ("ceil", "ceiling"),
    ("power", "pow"),
    ("character_length", "char_length"),
    ("octet_length", "length"),
    ("lcase", "lower"),
    ("ucase", "upper"),
    ("mid", "substring"),
    ("substr", "substring"),
    ("position", "locate"),
    ("sha", "sha1"),
    ("current_timestamp", "now"),
    ("localtime", "now"),
    ("localtimestamp", "now"),
    ("current_date", "curdate"),
    ("current_time", "curtime"),
    ("day", "dayofmonth"),
    ("schema", "database"),
    ("session_user", "user"),
    ("system_user", "user"),
];

/// Functions that MySQL has and this server does not: they are an error of their own (1235) instead of an unknown function.
const UNSUPPORTED: &[&str] = &[
    "aes_decrypt",
    "aes_encrypt",
    "asymmetric_decrypt",
    "asymmetric_encrypt",
    "des_decrypt",
    "des_encrypt",
    "extractvalue",
    "format_bytes",
    "format_pico_time",
    "get_lock",
    "grouping",
    "gtid_subset",
    "gtid_subtract",
    "icu_version",
    "is_free_lock",
    "is_used_lock",
    "load_file",
    "master_pos_wait",
    "point",
    "linestring",
    "polygon",
    "ps_current_thread_id",
    "ps_thread_id",
    "release_all_locks",
    "release_lock",
    "roles_graphml",
    "source_pos_wait",
    "statement_digest",
    "statement_digest_text",
    "updatexml",
    "validate_password_strength",
    "wait_for_executed_gtid_set",
];

fn is_unsupported(lower: &str) -> bool {
    UNSUPPORTED.contains(&lower) || ["json_", "st_", "mbr", "geom"].iter().any(|family| lower.starts_with(family))
}

/// Whether a built-in function of this name exists.
pub fn is_builtin(name: &str) -> bool {
    registry().contains_key(name.to_ascii_lowercase().as_str())
}

/// Builds the call of a built-in function by its SQL name: checks the number of arguments, infers the type and inserts
/// the implicit casts.
///
/// # Errors
/// [`Error::UnknownFunction`], [`Error::WrongArity`], [`Error::WrongArguments`], illegal mixes of collations.
pub fn build_call(name: &str, args: Vec<Expr>, ctx: &BuildCtx<'_>) -> Result<Expr> {
    let lower = name.to_ascii_lowercase();
    match registry().get(lower.as_str()) {
        Some(Entry::Table(builtin)) => builtin.build(args, ctx),
        Some(Entry::Special(special)) => {
            Builtin::check_arity(special.name, special.arity, args.len())?;
            for arg in &args {
                crate::build::reject_row(arg)?;
            }
            (special.build)(args, ctx)
        }
        None if is_unsupported(&lower) => Err(Error::NotSupported { feature: lower.to_ascii_uppercase() }),
        None => Err(Error::UnknownFunction { database: ctx.database().to_owned(), name: name.to_owned() }),
    }
}
