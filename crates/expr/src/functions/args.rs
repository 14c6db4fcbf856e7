//! The arguments of one evaluation of a built-in function, read as the classes it asked for.

use std::borrow::Cow;

use types::{Collation, DatumRef, Decimal, Duration, Time};

use crate::context::EvalCtx;
use crate::expr::Call;

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
