//! Expressions: from syntax to typed trees.
//!
//! Names are resolved by `scope`, calls with special syntax are turned into plain calls by `function`, subqueries by `subquery`. Types,
//! casts and collations are worked out by the `expr` crate's builders.

use expr::{Expr, Op, build_call, build_cast, build_op};
use parser::ast;

use super::{Aliases, Binder, literal::as_number};
use crate::error::{Clause, Error, Result};

/// What an expression may contain, and where its names are looked up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExprCx {
    pub clause: Clause,
    pub aliases: Aliases,
    /// Aggregate functions of this block may be called.
    pub aggregates: bool,
    /// Literals may become parameters of a cached plan.
    pub params: bool,
    pub windows: Windows,
}

/// Whether window functions may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Windows {
    Allowed,
    Refused,
    /// In the definition of a window, which has an error of its own.
    InDefinition,
}

impl ExprCx {
    /// The select list.
    pub fn select_list() -> Self {
        Self { aggregates: true, windows: Windows::Allowed, ..Self::plain(Clause::FieldList) }
    }

    /// WHERE, ON, inserted and assigned values.
    pub fn condition(clause: Clause) -> Self {
        Self { params: true, ..Self::plain(clause) }
    }

    /// Neither aggregates nor parameters.
    pub fn plain(clause: Clause) -> Self {
        Self { clause, aliases: Aliases::Hidden, aggregates: false, params: false, windows: Windows::Refused }
    }

    /// The same with select aliases visible.
    pub fn with_aliases(self, aliases: Aliases) -> Self {
        Self { aliases, ..self }
    }

    /// The same with select aliases visible and aggregate functions allowed.
    pub fn with_aggregates(self, aliases: Aliases) -> Self {
        Self { aliases, aggregates: true, ..self }
    }

    /// The same with window functions allowed, or refused in their own way.
    pub fn with_windows(self, windows: Windows) -> Self {
        Self { windows, ..self }
    }

    /// The same without parameters.
    pub fn without_params(self) -> Self {
        Self { params: false, ..self }
    }
}

impl<'a> Binder<'a> {
    /// Binds an expression that yields one value or a row constructor.
    pub(crate) fn bind_expr(&mut self, e: &'a ast::Expr, cx: ExprCx) -> Result<Expr> {
        use ast::Expr as E;
        match e {
            E::Literal(literal, id) => self.bind_literal(literal, *id, cx.params),
            E::Param(ordinal) => Ok(self.bind_marker(*ordinal)),
            E::Column(column) => {
                let expr = self.resolve_column(column, cx.clause, cx.aliases)?;
                self.check_alias(column, &expr, cx)?;
                Ok(expr)
            }
            E::UserVar(name) => self.call("getvar", vec![self.text(name)]),
            E::AssignUserVar { name, value } => {
                let value = self.bind_expr(value, cx.without_params())?;
                self.cacheable = false;
                self.call("setvar", vec![self.text(name), value])
            }
            E::SystemVar { scope, name } => self.bind_system_variable(*scope, name),
            E::Unary { op, expr } => self.bind_unary(*op, expr, cx),
            E::Binary { op, left, right } => self.bind_binary(*op, left, right, cx),
            E::Is { expr, test, negated } => {
                let arg = self.bind_expr(expr, cx)?;
                let op = match test {
                    ast::IsTest::Null => Op::IsNull,
                    ast::IsTest::True => Op::IsTrue,
                    ast::IsTest::False => Op::IsFalse,
                    ast::IsTest::Unknown => Op::IsUnknown,
                };
                let test = self.op(op, vec![arg])?;
                self.negate_if(*negated, test)
            }
            E::Between { expr, low, high, negated } => {
                let args = self.bind_all([&**expr, &**low, &**high], cx)?;
                let between = self.op_settled(Op::Between, args)?;
                self.negate_if(*negated, between)
            }
            E::InList { expr, list, negated } => {
                let args = self.bind_all(std::iter::once(&**expr).chain(list), cx)?;
                let within = self.op_settled(Op::In, args)?;
                self.negate_if(*negated, within)
            }
            E::Like { expr, pattern, escape, negated } => {
                let args = self.bind_all([&**expr, &**pattern], cx)?;
                let escape = self.escape_character(escape.as_deref())?;
                let like = self.op_settled(Op::Like { escape }, args)?;
                self.negate_if(*negated, like)
            }
            E::Regexp { expr, pattern, negated } => {
                let args = self.bind_all([&**expr, &**pattern], cx.without_params())?;
                let matched = self.op(Op::Regexp, args)?;
                self.negate_if(*negated, matched)
            }
            E::Row(values) => {
                let args = self.bind_all(values, cx)?;
                self.op(Op::Row, args)
            }
            E::Case(case) => self.bind_case(case, cx),
            E::InSubquery { .. } | E::Exists(_) | E::Subquery(_) | E::Quantified { .. } => self.bind_subquery_expr(e, cx),
            E::Aggregate(call) => self.bind_aggregate(call, cx),
            E::Window(call) => self.bind_window_function(call, cx),
            _ => self.bind_function(e, cx.without_params()),
        }
    }

    pub(super) fn bind_all(&mut self, list: impl IntoIterator<Item = &'a ast::Expr>, cx: ExprCx) -> Result<Vec<Expr>> {
        list.into_iter().map(|e| self.bind_expr(e, cx)).collect()
    }

    /// An operator over bound operands.
    pub(super) fn op(&self, op: Op, args: Vec<Expr>) -> Result<Expr> {
        Ok(build_op(op, args, &self.build())?)
    }

    /// An operator whose literal operands stay parameters only next to operands of their own class.
    fn op_settled(&mut self, op: Op, args: Vec<Expr>) -> Result<Expr> {
        let args = self.settle_operands(args);
        self.op(op, args)
    }

    /// A function by name over bound arguments.
    pub(super) fn call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        if expr::call_waits(name) {
            self.waits.set(true);
        }
        Ok(build_call(name, args, &self.build())?)
    }

    pub(super) fn negate_if(&self, negated: bool, expr: Expr) -> Result<Expr> {
        if negated { self.op(Op::Not, vec![expr]) } else { Ok(expr) }
    }

    /// The expression as a condition: rows are refused, `x` alone means `x` is true.
    pub(super) fn as_condition(&self, expr: Expr) -> Result<Expr> {
        if matches!(expr.as_op(), Some((Op::Row, _))) {
            return Err(Error::OperandColumns { expected: 1 });
        }
        Ok(expr)
    }

    fn bind_unary(&mut self, op: ast::UnaryOp, operand: &'a ast::Expr, cx: ExprCx) -> Result<Expr> {
        let arg = self.bind_expr(operand, cx)?;
        match op {
            ast::UnaryOp::Plus => Ok(arg),
            ast::UnaryOp::Neg => {
                // The smallest BIGINT is a minus over a literal that is no BIGINT itself.
                let arg = as_number(operand, arg);
                let arg = if matches!(&arg, Expr::Param { ty, .. } if ty.unsigned) { self.demote(arg) } else { arg };
                self.op(Op::Neg, vec![arg])
            }
            ast::UnaryOp::BitNot => self.op(Op::BitNeg, vec![arg]),
            ast::UnaryOp::Not => self.op(Op::Not, vec![arg]),
        }
    }

    fn bind_binary(&mut self, op: ast::BinaryOp, left: &'a ast::Expr, right: &'a ast::Expr, cx: ExprCx) -> Result<Expr> {
        use ast::BinaryOp as B;
        // Long chains of AND and OR lean to the left; their spine is walked without recursion.
        if matches!(op, B::And | B::Or | B::Add) {
            return self.bind_chain(op, left, right, cx);
        }
        if op.is_comparison()
            && let Some(compared) = self.bind_row_subquery(op, left, right, cx)?
        {
            return Ok(compared);
        }
        let mut args = self.bind_all([left, right], cx)?;
        let in_numbers = !op.is_comparison() || args.iter().any(|arg| arg.field_type().tp.is_numeric());
        if in_numbers {
            args = [left, right].into_iter().zip(args).map(|(written, arg)| as_number(written, arg)).collect();
        }
        let op = match op {
            B::Xor => Op::Xor,
            B::Eq => Op::Eq,
            B::NullSafeEq => Op::NullEq,
            B::Ne => Op::Ne,
            B::Lt => Op::Lt,
            B::Le => Op::Le,
            B::Gt => Op::Gt,
            B::Ge => Op::Ge,
            B::BitOr => Op::BitOr,
            B::BitAnd => Op::BitAnd,
            B::Shl => Op::Shl,
            B::Shr => Op::Shr,
            B::Sub => Op::Sub,
            B::Mul => Op::Mul,
            B::Div => Op::Div,
            B::IntDiv => Op::IntDiv,
            B::Mod => Op::Mod,
            B::BitXor => Op::BitXor,
            B::SoundsLike => {
                let mut sounds = vec![];
                for arg in args {
                    let arg = self.demote(arg);
                    sounds.push(self.call("soundex", vec![arg])?);
                }
                return self.op(Op::Eq, sounds);
            }
            B::MemberOf => return self.call("member of", args),
            B::JsonExtract => return self.call("json_extract", args),
            B::JsonUnquote => {
                let found = self.call("json_extract", args)?;
                return self.call("json_unquote", vec![found]);
            }
            B::And | B::Or | B::Add => unreachable!("chains are bound above"),
        };
        self.op_settled(op, args)
    }

    fn bind_chain(&mut self, op: ast::BinaryOp, left: &'a ast::Expr, right: &'a ast::Expr, cx: ExprCx) -> Result<Expr> {
        let mut operands = vec![right];
        let mut rest = left;
        while let ast::Expr::Binary { op: inner, left, right } = rest
            && *inner == op
        {
            operands.push(right);
            rest = left;
        }
        let first = rest;
        let mut bound = self.bind_expr(rest, cx)?;
        let mut is_first = true;
        while let Some(written) = operands.pop() {
            let operand = self.bind_expr(written, cx)?;
            bound = match op {
                ast::BinaryOp::Add => {
                    let operands = vec![if is_first { as_number(first, bound) } else { bound }, as_number(written, operand)];
                    self.op_settled(Op::Add, operands)?
                }
                ast::BinaryOp::And => self.op(Op::And, vec![bound, operand])?,
                _ => self.op(Op::Or, vec![bound, operand])?,
            };
            is_first = false;
        }
        Ok(bound)
    }

    fn bind_case(&mut self, case: &'a ast::CaseExpr, cx: ExprCx) -> Result<Expr> {
        let cx = cx.without_params();
        let operand = case.operand.as_ref().map(|operand| self.bind_expr(operand, cx)).transpose()?;
        let mut args = vec![];
        for (when, then) in &case.whens {
            let when = self.bind_expr(when, cx)?;
            args.push(match &operand {
                Some(operand) => self.op(Op::Eq, vec![operand.clone(), when])?,
                None => when,
            });
            args.push(self.bind_expr(then, cx)?);
        }
        if let Some(otherwise) = &case.otherwise {
            args.push(self.bind_expr(otherwise, cx)?);
        }
        self.op(Op::Case, args)
    }

    fn escape_character(&mut self, escape: Option<&'a ast::Expr>) -> Result<Option<char>> {
        match escape {
            None if self.cx.eval.sql_mode.contains(expr::SqlMode::NO_BACKSLASH_ESCAPES) => Ok(None),
            None => Ok(Some('\\')),
            Some(ast::Expr::Literal(ast::Literal::Str(text), id)) => {
                self.cacheable &= self.cx.literal_count.is_none() || id.ordinal().is_none();
                let text = String::from_utf8_lossy(text);
                let mut characters = text.chars();
                match (characters.next(), characters.next()) {
                    (first, None) => Ok(first),
                    _ => Err(Error::Expr(expr::Error::WrongArguments { name: "ESCAPE".to_owned() })),
                }
            }
            Some(_) => Err(Error::unsupported("ESCAPE that is not a string literal")),
        }
    }

    fn bind_system_variable(&mut self, scope: Option<ast::VarScope>, name: &str) -> Result<Expr> {
        let (value, ty) = self.cx.variables.system_variable(scope, name).map_err(Error::Mysql)?;
        self.cacheable = false;
        // It gives way to columns, and never disagrees with literals.
        let ty = if ty.eval_type() == types::EvalType::String { ty.with_collation(self.cx.eval.collation_connection) } else { ty };
        Ok(Expr::constant(value, ty))
    }

    pub(super) fn cast(&self, arg: Expr, ty: types::FieldType) -> Result<Expr> {
        Ok(build_cast(arg, ty, &self.build())?)
    }
}
