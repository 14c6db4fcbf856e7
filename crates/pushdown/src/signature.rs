//! The protocol's names of functions: one name for each operator and class of values.
//!
//! Listed are functions that mean the same to every store of the ecosystem, error and NULL included. Missing on purpose: whatever depends on the
//! session, warns, or looks at the time zone.

use EvalType as C;
use expr::Op;
use proto::tipb::ScalarFuncSig::{self as S, *};
use types::EvalType;

/// How many operands a function takes, and what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// So many, each of the function's class.
    Operands(usize),
    /// At least so many, each of the function's class.
    AtLeast(usize),
    /// So many truth values.
    Conditions(usize),
    /// A condition and two values of the class.
    If,
    /// Conditions and values of the class in turn, and perhaps a last value.
    Case,
}

/// A function of the protocol and the operator it is here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature {
    pub(crate) sig: S,
    pub(crate) op: Op,
    /// The class of the operands that are values.
    pub(crate) class: EvalType,
    pub(crate) shape: Shape,
}

const fn of(sig: S, op: Op, class: EvalType, shape: Shape) -> Signature {
    Signature { sig, op, class, shape }
}

macro_rules! by_class {
    ($op:ident, $shape:expr, $($sig:ident)*) => {
        [$(of($sig, Op::$op, class_of(stringify!($sig)), $shape)),*]
    };
}

/// The class that a name ends with.
const fn class_of(name: &str) -> EvalType {
    let name = name.as_bytes();
    // The last letters tell all classes apart.
    match (name[name.len() - 2], name[name.len() - 1]) {
        (b'n', b't') => C::Int,
        (b'a', b'l') if name[name.len() - 3] == b'e' => C::Real,
        (b'a', b'l') => C::Decimal,
        (b'n', b'g') => C::String,
        (b'm', b'e') => C::Time,
        _ => C::Duration,
    }
}

const TWO: Shape = Shape::Operands(2);

const GROUPS: &[&[Signature]] = &[
    &by_class!(Lt, TWO, LtInt LtReal LtDecimal LtString LtTime LtDuration),
    &by_class!(Le, TWO, LeInt LeReal LeDecimal LeString LeTime LeDuration),
    &by_class!(Gt, TWO, GtInt GtReal GtDecimal GtString GtTime GtDuration),
    &by_class!(Ge, TWO, GeInt GeReal GeDecimal GeString GeTime GeDuration),
    &by_class!(Eq, TWO, EqInt EqReal EqDecimal EqString EqTime EqDuration),
    &by_class!(Ne, TWO, NeInt NeReal NeDecimal NeString NeTime NeDuration),
    &by_class!(NullEq, TWO, NullEqInt NullEqReal NullEqDecimal NullEqString NullEqTime NullEqDuration),
    &by_class!(In, Shape::AtLeast(2), InInt InReal InDecimal InString InTime InDuration),
    &by_class!(If, Shape::If, IfInt IfReal IfDecimal IfString IfTime IfDuration),
    &by_class!(IfNull, TWO, IfNullInt IfNullReal IfNullDecimal IfNullString IfNullTime IfNullDuration),
    &by_class!(Coalesce, Shape::AtLeast(1), CoalesceInt CoalesceReal CoalesceDecimal CoalesceString CoalesceTime CoalesceDuration),
    &by_class!(Case, Shape::Case, CaseWhenInt CaseWhenReal CaseWhenDecimal CaseWhenString CaseWhenTime CaseWhenDuration),
    &[
        of(LogicalAnd, Op::And, C::Int, Shape::Conditions(2)),
        of(LogicalOr, Op::Or, C::Int, Shape::Conditions(2)),
        of(LogicalXor, Op::Xor, C::Int, Shape::Conditions(2)),
        of(UnaryNotInt, Op::Not, C::Int, Shape::Operands(1)),
        of(UnaryNotReal, Op::Not, C::Real, Shape::Operands(1)),
        of(UnaryNotDecimal, Op::Not, C::Decimal, Shape::Operands(1)),
        of(IntIsNull, Op::IsNull, C::Int, Shape::Operands(1)),
        of(RealIsNull, Op::IsNull, C::Real, Shape::Operands(1)),
        of(DecimalIsNull, Op::IsNull, C::Decimal, Shape::Operands(1)),
        of(StringIsNull, Op::IsNull, C::String, Shape::Operands(1)),
        of(TimeIsNull, Op::IsNull, C::Time, Shape::Operands(1)),
        of(DurationIsNull, Op::IsNull, C::Duration, Shape::Operands(1)),
        of(IntIsTrue, Op::IsTrue, C::Int, Shape::Operands(1)),
        of(RealIsTrue, Op::IsTrue, C::Real, Shape::Operands(1)),
        of(DecimalIsTrue, Op::IsTrue, C::Decimal, Shape::Operands(1)),
        of(IntIsFalse, Op::IsFalse, C::Int, Shape::Operands(1)),
        of(RealIsFalse, Op::IsFalse, C::Real, Shape::Operands(1)),
        of(DecimalIsFalse, Op::IsFalse, C::Decimal, Shape::Operands(1)),
        of(PlusInt, Op::Add, C::Int, TWO),
        of(PlusReal, Op::Add, C::Real, TWO),
        of(PlusDecimal, Op::Add, C::Decimal, TWO),
        of(MinusInt, Op::Sub, C::Int, TWO),
        of(MinusReal, Op::Sub, C::Real, TWO),
        of(MinusDecimal, Op::Sub, C::Decimal, TWO),
        of(MultiplyInt, Op::Mul, C::Int, TWO),
        of(MultiplyReal, Op::Mul, C::Real, TWO),
        of(MultiplyDecimal, Op::Mul, C::Decimal, TWO),
    ],
];

/// The name of an operator over values of a class.
pub(crate) fn of_operator(op: Op, class: EvalType) -> Option<&'static Signature> {
    GROUPS.iter().copied().flatten().find(|one| one.op == op && one.class == class)
}

/// What a name means.
pub(crate) fn by_name(sig: S) -> Option<&'static Signature> {
    GROUPS.iter().copied().flatten().find(|one| one.sig == sig)
}

impl Signature {
    /// Whether the result is a truth value.
    pub(crate) fn is_condition(&self) -> bool {
        !matches!(self.op, Op::Add | Op::Sub | Op::Mul | Op::If | Op::IfNull | Op::Coalesce | Op::Case)
    }

    /// What the operand at a position has to be, of `count` in all: a value of the class, or else a condition.
    pub(crate) fn takes_value_at(&self, at: usize, count: usize) -> bool {
        match self.shape {
            Shape::Operands(_) | Shape::AtLeast(_) => true,
            Shape::Conditions(_) => false,
            Shape::If => at > 0,
            Shape::Case => at % 2 == 1 || at + 1 == count,
        }
    }

    /// Whether so many operands are right.
    pub(crate) fn takes(&self, count: usize) -> bool {
        match self.shape {
            Shape::Operands(wanted) | Shape::Conditions(wanted) => count == wanted,
            Shape::AtLeast(least) => count >= least,
            Shape::If => count == 3,
            Shape::Case => count >= 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_class() {
        for (op, class, sig, number) in [
            (Op::Lt, C::Int, LtInt, 100),
            (Op::Ge, C::Real, GeReal, 131),
            (Op::Eq, C::Decimal, EqDecimal, 142),
            (Op::Ne, C::String, NeString, 153),
            (Op::Gt, C::Time, GtTime, 124),
            (Op::NullEq, C::Duration, NullEqDuration, 165),
            (Op::In, C::String, InString, 4004),
            (Op::Case, C::Duration, CaseWhenDuration, 4213),
        ] {
            assert_eq!((of_operator(op, class).expect("listed").sig, sig as i32), (sig, number));
            assert_eq!((by_name(sig).expect("listed").op, by_name(sig).expect("listed").class), (op, class));
        }
    }

    #[test]
    fn each_operator_and_class_and_each_name_stands_once() {
        let all = GROUPS.iter().copied().flatten().collect::<Vec<_>>();
        for (at, one) in all.iter().enumerate() {
            let again = all[at + 1..].iter().find(|other| other.sig == one.sig || (other.op == one.op && other.class == one.class));
            assert!(again.is_none(), "{one:?} and {again:?}");
        }
    }
}
