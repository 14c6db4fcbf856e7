//! Expressions: the operators, from the loosest to the tightest.
//!
//! | level | operators | operands |
//! |---|---|---|
//! | logical | `OR` `\|\|`, `XOR`, `AND` `&&`, prefix `NOT`, postfix `IS [NOT] TRUE…` | boolean primary |
//! | boolean primary | `= <=> <> < <= > >=`, `IS [NOT] NULL`, `op ANY/ALL (query)`; left-associative | predicate |
//! | predicate | `IN`, `BETWEEN`, `LIKE`, `REGEXP`, `MEMBER OF`, `SOUNDS LIKE`; not associative | bit expression |
//! | bit expression | `\|`, `&`, `<< >>`, `+ -`, `* / % DIV MOD`, `^`, `\|\|` as concatenation | operand |
//! | operand | unary `- + ~ ! BINARY`, postfix `COLLATE`, `-> ->>` | see [`super::operand`] |
//!
//! This is the grammar of `sql_yacc.yy` (`expr`, `bool_pri`, `predicate`, `bit_expr`, `simple_expr`), with two liberties that
//! accept more than MySQL: `NOT` may follow a comparison operator's logical operand, and `IS TRUE` may be chained.

use super::{Parser, Result};
use crate::{
    ast::{BinaryOp, DateArith, Expr, IntervalUnit, IsTest, UnaryOp},
    lexer::{Kw, Tok},
};

/// From this many operands on, a chain of one of AND and OR becomes a balanced tree: the operators are associative,
/// generated conditions have thousands of terms, and the height of the tree is bounded.
const BALANCE_FROM: usize = 64;

/// Binding power of the logical operators.
const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const NOT: u8 = 4;

impl Parser<'_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.deeper(|p| p.logical(0))
    }

    /// `expr, expr, …`.
    pub(super) fn expr_list(&mut self) -> Result<Vec<Expr>> {
        self.comma_list(Self::expr)
    }

    fn logical_operator(&self) -> Option<(BinaryOp, u8)> {
        match self.tok.tok {
            Tok::Kw(Kw::AND) | Tok::AmpAmp => Some((BinaryOp::And, AND)),
            Tok::Kw(Kw::OR) => Some((BinaryOp::Or, OR)),
            Tok::PipePipe if !self.opts.pipes_as_concat => Some((BinaryOp::Or, OR)),
            Tok::Kw(Kw::XOR) => Some((BinaryOp::Xor, XOR)),
            _ => None,
        }
    }

    /// Operators that bind tighter than `above`.
    fn logical(&mut self, above: u8) -> Result<Expr> {
        let mut left = if self.at(Kw::NOT) && !self.opts.high_not_precedence {
            self.bump();
            let expr = self.deeper(|p| p.logical(NOT - 1))?;
            Expr::Unary { op: UnaryOp::Not, expr: Box::new(expr) }
        } else {
            self.truth_test()?
        };
        while let Some((op, power)) = self.logical_operator() {
            if power <= above {
                break;
            }
            left = self.chain(left, op, power)?;
        }
        Ok(left)
    }

    /// `left op x op y …` for one operator.
    fn chain(&mut self, left: Expr, op: BinaryOp, power: u8) -> Result<Expr> {
        let mut operands = vec![left];
        let mut height = self.height;
        while self.logical_operator() == Some((op, power)) {
            self.bump();
            self.height = 0;
            operands.push(self.logical(power)?);
            height = height.max(self.height);
        }
        let balanced = operands.len() >= BALANCE_FROM && op != BinaryOp::Xor;
        let levels = if balanced { operands.len().ilog2() as usize + 1 } else { operands.len() - 1 };
        self.height = height + levels;
        self.check_height()?;
        if balanced {
            return Ok(balance(op, &mut operands.into_iter()));
        }
        let mut operands = operands.into_iter();
        let first = operands.next().expect("a chain has a left operand");
        Ok(operands.fold(first, |left, right| Expr::binary(op, left, right)))
    }

    /// `boolean [IS [NOT] {TRUE | FALSE | UNKNOWN}]`.
    fn truth_test(&mut self) -> Result<Expr> {
        let mut expr = self.boolean()?;
        while self.at(Kw::IS) {
            self.bump();
            let negated = self.eat(Kw::NOT);
            let test = match self.eat_any(&[Kw::NULL, Kw::TRUE, Kw::FALSE, Kw::UNKNOWN]) {
                Some(Kw::NULL) => IsTest::Null,
                Some(Kw::TRUE) => IsTest::True,
                Some(Kw::FALSE) => IsTest::False,
                Some(_) => IsTest::Unknown,
                None => return Err(self.syntax()),
            };
            self.grow(0)?;
            expr = Expr::Is { expr: Box::new(expr), test, negated };
            // `a IS NULL = b` goes on as a comparison.
            if test == IsTest::Null {
                expr = self.comparisons(expr)?;
            }
        }
        Ok(expr)
    }

    fn boolean(&mut self) -> Result<Expr> {
        let left = self.predicate()?;
        self.comparisons(left)
    }

    /// `left op predicate op predicate …`.
    fn comparisons(&mut self, mut left: Expr) -> Result<Expr> {
        loop {
            let op = match self.tok.tok {
                Tok::Eq => BinaryOp::Eq,
                Tok::NullSafeEq => BinaryOp::NullSafeEq,
                Tok::Ne => BinaryOp::Ne,
                Tok::Lt => BinaryOp::Lt,
                Tok::Le => BinaryOp::Le,
                Tok::Gt => BinaryOp::Gt,
                Tok::Ge => BinaryOp::Ge,
                _ => return Ok(left),
            };
            self.bump();
            let below = std::mem::take(&mut self.height);
            if op != BinaryOp::NullSafeEq && matches!(self.tok.tok, Tok::Kw(Kw::ANY | Kw::SOME | Kw::ALL)) && self.peek_is(Tok::LParen) {
                let all = self.bump().tok == Tok::Kw(Kw::ALL);
                let query = Box::new(self.paren_query()?);
                self.grow(below)?;
                left = Expr::Quantified { op, left: Box::new(left), all, query };
                continue;
            }
            let right = self.predicate()?;
            self.grow(below)?;
            left = Expr::binary(op, left, right);
        }
    }

    /// A bit expression, perhaps with one of the operators of this level behind it.
    fn predicate(&mut self) -> Result<Expr> {
        let left = self.bit_expr(0)?;
        let Tok::Kw(kw) = self.tok.tok else { return Ok(left) };
        match kw {
            Kw::NOT => {
                let Tok::Kw(Kw::IN | Kw::BETWEEN | Kw::LIKE | Kw::REGEXP | Kw::RLIKE) = self.peek() else { return Ok(left) };
                self.bump();
                self.negatable(left, true)
            }
            Kw::IN | Kw::BETWEEN | Kw::LIKE | Kw::REGEXP | Kw::RLIKE => self.negatable(left, false),
            Kw::SOUNDS if self.peek_is(Kw::LIKE) => {
                self.bump();
                self.bump();
                let below = std::mem::take(&mut self.height);
                let right = self.bit_expr(0)?;
                self.grow(below)?;
                Ok(Expr::binary(BinaryOp::SoundsLike, left, right))
            }
            Kw::MEMBER if self.peek_is(Kw::OF) || self.peek_is(Tok::LParen) => {
                self.bump();
                self.eat(Kw::OF);
                self.expect(Tok::LParen)?;
                let below = std::mem::take(&mut self.height);
                let right = self.operand()?;
                self.expect(Tok::RParen)?;
                self.grow(below)?;
                Ok(Expr::binary(BinaryOp::MemberOf, left, right))
            }
            _ => Ok(left),
        }
    }

    /// IN, BETWEEN, LIKE or REGEXP behind `left`.
    fn negatable(&mut self, left: Expr, negated: bool) -> Result<Expr> {
        let expr = Box::new(left);
        let below = std::mem::take(&mut self.height);
        let result = match self.bump().tok {
            Tok::Kw(Kw::IN) => self.in_predicate(expr, negated)?,
            Tok::Kw(Kw::BETWEEN) => {
                let low = Box::new(self.bit_expr(0)?);
                self.expect(Kw::AND)?;
                let high = Box::new(self.deeper(Self::predicate)?);
                Expr::Between { expr, low, high, negated }
            }
            Tok::Kw(Kw::LIKE) => {
                let pattern = Box::new(self.operand()?);
                let escape = if self.eat(Kw::ESCAPE) { Some(Box::new(self.operand()?)) } else { None };
                Expr::Like { expr, pattern, escape, negated }
            }
            _ => Expr::Regexp { expr, pattern: Box::new(self.bit_expr(0)?), negated },
        };
        self.grow(below)?;
        Ok(result)
    }

    fn in_predicate(&mut self, expr: Box<Expr>, negated: bool) -> Result<Expr> {
        if !self.at(Tok::LParen) {
            return Err(self.syntax());
        }
        if self.starts_query_behind_paren() {
            let query = Box::new(self.paren_query()?);
            return Ok(Expr::InSubquery { expr, query, negated });
        }
        let mut list = self.paren_list(Self::expr)?;
        // `IN ((SELECT …))` is one subquery in MySQL's grammar, not a list of one value.
        if let [Expr::Subquery(_)] = &list[..]
            && let Some(Expr::Subquery(query)) = list.pop()
        {
            return Ok(Expr::InSubquery { expr, query, negated });
        }
        Ok(Expr::InList { expr, list, negated })
    }

    fn bit_operator(&self) -> Option<(BinaryOp, u8)> {
        Some(match self.tok.tok {
            Tok::Pipe => (BinaryOp::BitOr, 1),
            Tok::Amp => (BinaryOp::BitAnd, 2),
            Tok::Shl => (BinaryOp::Shl, 3),
            Tok::Shr => (BinaryOp::Shr, 3),
            Tok::Plus => (BinaryOp::Add, 4),
            Tok::Minus => (BinaryOp::Sub, 4),
            Tok::Star => (BinaryOp::Mul, 5),
            Tok::Slash => (BinaryOp::Div, 5),
            Tok::Percent | Tok::Kw(Kw::MOD) => (BinaryOp::Mod, 5),
            Tok::Kw(Kw::DIV) => (BinaryOp::IntDiv, 5),
            Tok::Caret => (BinaryOp::BitXor, 6),
            _ => return None,
        })
    }

    /// Arithmetic and bit operators that bind tighter than `above`; all are left-associative.
    pub(super) fn bit_expr(&mut self, above: u8) -> Result<Expr> {
        let mut left = self.concatenation()?;
        while let Some((op, power)) = self.bit_operator() {
            if power <= above {
                break;
            }
            self.bump();
            let below = std::mem::take(&mut self.height);
            if self.at(Kw::INTERVAL) && matches!(op, BinaryOp::Add | BinaryOp::Sub) && !self.at_interval_function() {
                self.bump();
                let (amount, unit) = self.interval_behind()?;
                self.grow(below)?;
                let subtract = op == BinaryOp::Sub;
                left = Expr::DateArith(Box::new(DateArith { date: left, subtract, amount, unit }));
                continue;
            }
            let right = self.bit_expr(power)?;
            self.grow(below)?;
            left = Expr::binary(op, left, right);
        }
        Ok(left)
    }

    /// Operands with `||` between them, when that is concatenation; it binds tighter than `^`.
    fn concatenation(&mut self) -> Result<Expr> {
        let mut left = self.operand()?;
        while self.opts.pipes_as_concat && self.at(Tok::PipePipe) {
            self.bump();
            let below = std::mem::take(&mut self.height);
            let right = self.operand()?;
            self.grow(below)?;
            left = Expr::func("concat", vec![left, right]);
        }
        Ok(left)
    }

    /// `amount unit` behind INTERVAL.
    pub(super) fn interval_behind(&mut self) -> Result<(Expr, IntervalUnit)> {
        let amount = self.expr()?;
        Ok((amount, self.interval_unit()?))
    }

    /// Whether INTERVAL, the current token, is the function `INTERVAL(n, a, …)`: parentheses follow with a comma directly inside.
    pub(super) fn at_interval_function(&mut self) -> bool {
        if !self.peek_is(Tok::LParen) || self.starts_query_behind(1) {
            return false;
        }
        let mut lexer = self.look_from_here();
        let mut depth = 0u32;
        loop {
            match lexer.next().tok {
                Tok::LParen => depth += 1,
                Tok::RParen if depth <= 1 => return false,
                Tok::RParen => depth -= 1,
                Tok::Comma if depth == 1 => return true,
                Tok::Eof | Tok::Bad | Tok::Semi => return false,
                _ => {}
            }
        }
    }

    /// A unit of INTERVAL or EXTRACT.
    pub(super) fn interval_unit(&mut self) -> Result<IntervalUnit> {
        match interval_unit(self.span(self.tok)) {
            Some(unit) if matches!(self.tok.tok, Tok::Ident | Tok::Kw(_)) => {
                self.bump();
                Ok(unit)
            }
            _ => Err(self.syntax()),
        }
    }
}

/// A balanced tree over operands in order.
fn balance(op: BinaryOp, operands: &mut (impl ExactSizeIterator<Item = Expr> + ?Sized)) -> Expr {
    fn build(op: BinaryOp, count: usize, operands: &mut dyn Iterator<Item = Expr>) -> Expr {
        if count <= 1 {
            return operands.next().expect("as many operands as counted");
        }
        let left = build(op, count - count / 2, operands);
        let right = build(op, count / 2, operands);
        Expr::binary(op, left, right)
    }
    let count = operands.len();
    let mut operands = operands;
    build(op, count, &mut operands)
}

fn interval_unit(word: &[u8]) -> Option<IntervalUnit> {
    use IntervalUnit::*;
    const UNITS: &[IntervalUnit] = &[
        Microsecond,
        Second,
        Minute,
        Hour,
        Day,
        Week,
        Month,
        Quarter,
        Year,
        SecondMicrosecond,
        MinuteMicrosecond,
        MinuteSecond,
        HourMicrosecond,
        HourSecond,
        HourMinute,
        DayMicrosecond,
        DaySecond,
        DayMinute,
        DayHour,
        YearMonth,
    ];
    let tsi = word.len() > 8 && word[..8].eq_ignore_ascii_case(b"SQL_TSI_");
    // SQL_TSI_ exists for the simple units from SECOND on only.
    let (name, units) = if tsi { (&word[8..], &UNITS[1..9]) } else { (word, UNITS) };
    units.iter().copied().find(|u| u.name().as_bytes().eq_ignore_ascii_case(name))
}
